/* Two lattices, one in the head of a fibre and one in its tail.
 *
 * Where the first layers only mix the tokens of the others, Z[p] = A(u) t[p] with u the head and t a function
 * of tail coordinates v: t is tabulated once for a sample, and at each head node the exponent is a quadratic
 * form in (v, t(v)).  No hidden layer is evaluated twice, no mode has to be found, and the prior alone bounds
 * where anything can be, since the exponent is at most the part of it that u has, or that u and v have.
 *
 * In units of the steps the nodes (u, v) are all integers or all half-integers, the body-centred lattice of
 * four dimensions. */
#include "channel/layered.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/lattice_points.h"
#include "channel/passes.h"
#include "core/isa.h"

enum {
    COSETS = 2,     /* integers and half-integers */
    ROOM = 1 << 15, /* tail nodes of one coset: 2 MB of tables a thread */
    SLACK = 64,     /* of lists that are written one group beyond their end */
    SIZE = 6,       /* rows times tokens: the kernel is made for one head row, two of the tail, two tokens */
    COUNT = STAIR_PASS_COUNT
};

static const struct {
    double head_step; /* of the first pass, over sqrt(log(1/precision)), in deviations of the prior */
    double tail_step; /* likewise */
    int cheap;        /* nodes of a table that cost no more than one evaluation of all layers */
    double finest;    /* precision, at which a short exp begins to be felt */
    double far;       /* where nothing is visible: padding */
} tuning = {.head_step = 3.2, .tail_step = 2.88, .cheap = 4, .finest = 1e-8, .far = 1e60};

STAIR_HOT_TABLE(int, stair_tail_sum,
                (const stair_tail_table *table, const stair_tail_form *form, double cutoff,
                 const stair_tail_scratch *scratch, double *top, double (*sums)[TAIL_SUMS]));

struct stair_layered {
    stair_tail_table table[COSETS];
    double *nodes; /* (COSETS, 3, ROOM), and room for energies */
    int *places;
    stair_tail_scratch scratch;
};

typedef struct {
    stair_passes *passes;
    stair_integrand *f;
    const stair_split_ops *split;
    struct stair_layered *s;
    double along[2], across[2]; /* the tail lattice */
    double q_low, q_high, r_low, r_high;
} layered_plan;

static bool fits(const stair_integrand *f, bool forced)
{
    const stair_split_ops *split = stair_fibre_split(&f->fibre);
    (void)forced;
    return split && split->rows(f->fibre.model) == 1 && !f->fibre.rough && f->shape.rows == 3 &&
           f->shape.tokens == 2 && f->dim == 4 && f->shape.mirrored && f->fibre.charts == 1 &&
           !f->fibre.angles;
}

void stair_layered_destroy(struct stair_layered *s)
{
    if (!s) return;
    free(s->nodes);
    free(s->places);
    free(s);
}

static struct stair_layered *create(void)
{
    struct stair_layered *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->nodes = malloc(sizeof(double) * (COSETS * 3 * ROOM + 2 * (ROOM + SLACK)));
    s->places = malloc(sizeof(int) * 2 * 2 * (ROOM + SLACK));
    if (!s->nodes || !s->places) {
        stair_layered_destroy(s);
        return NULL;
    }
    for (int k = 0; k < 2; k++) {
        stair_tail_list *list = &s->scratch.visible[k];
        list->energy = s->nodes + COSETS * 3 * ROOM + k * (ROOM + SLACK);
        list->place = s->places + 2 * k * (ROOM + SLACK);
        list->row = list->place + ROOM + SLACK;
    }
    return s;
}

/* ---- one head node --------------------------------------------------------------------------- */

typedef struct {
    double u[2], mix[4], weight, energy; /* the head row, A, its density, its part of the exponent */
} head_node;

/* The exponent over the tail at one head node, and the ellipse outside of which nothing is visible. */
static void tail_form(const layered_plan *plan, const head_node *head, stair_tail_form *form)
{
    const stair_integrand *f = plan->f;
    const double *w = f->whiten, *a = head->mix;
    double x2[2], x3[2], along[2], across[2]; /* residuals at v = 0, a = 0; A times the lattice */
    for (int m = 0; m < 2; m++) {
        x2[m] = w[3] * head->u[m] - f->offset[2 + m];
        x3[m] = w[6] * head->u[m] - f->offset[4 + m];
        along[m] = a[2 * m] * plan->along[0] + a[2 * m + 1] * plan->along[1];
        across[m] = a[2 * m] * plan->across[0] + a[2 * m + 1] * plan->across[1];
    }
    double w22 = w[4], w32 = w[7], w33 = w[8], vv = -0.5 * (w22 * w22 + w32 * w32);
    double pull[2] = {w22 * x2[0] + w32 * x3[0], w22 * x2[1] + w32 * x3[1]};
    double qq = along[0] * along[0] + along[1] * along[1], qr = along[0] * across[0] + along[1] * across[1];
    double rr = across[0] * across[0] + across[1] * across[1];
    form->constant = head->energy - 0.5 * (x2[0] * x2[0] + x2[1] * x2[1] + x3[0] * x3[0] + x3[1] * x3[1]);
    form->q_0 = -(pull[0] * along[0] + pull[1] * along[1]);
    form->r_r = -(pull[0] * across[0] + pull[1] * across[1]);
    form->q_qq = vv * qq;
    form->q_r = 2 * vv * qr;
    form->r_rr = vv * rr;
    double aa = -0.5 * w33 * w33, va = -w32 * w33;
    form->g00 = aa * (a[0] * a[0] + a[2] * a[2]);
    form->g01 = aa * (a[0] * a[1] + a[2] * a[3]);
    form->g11 = aa * (a[1] * a[1] + a[3] * a[3]);
    form->a0_0 = -w33 * (a[0] * x3[0] + a[2] * x3[1]);
    form->a1_0 = -w33 * (a[1] * x3[0] + a[3] * x3[1]);
    form->a0_q = va * (a[0] * along[0] + a[2] * along[1]);
    form->a1_q = va * (a[1] * along[0] + a[3] * along[1]);
    form->a0_r = va * (a[0] * across[0] + a[2] * across[1]);
    form->a1_r = va * (a[1] * across[0] + a[3] * across[1]);
    /* |x2 + w22 (q along + r across)|^2 / 2 <= what is left of the cutoff */
    double left = 2 * stair_passes_left(plan->passes, head->energy), scale = 1 / (w22 * w22 * qq);
    form->edge_0 = scale * (x2[0] * x2[0] + x2[1] * x2[1] - left);
    form->edge_q = scale * w22 * (x2[0] * along[0] + x2[1] * along[1]);
    form->edge_r = scale * w22 * (x2[0] * across[0] + x2[1] * across[1]);
    form->edge_qr = qr / qq;
    form->edge_rr = rr / qq;
}

/* Moments of Z = (u, A v, A a) from those of (q, r, a), as a stair_moments. */
static void head_moments(const layered_plan *plan, const head_node *head, const double *s, double *out)
{
    const double *a = head->mix;
    double along[2], across[2], z[2][2], v[2]; /* z[m]: sums of A a times q and r */
    for (int m = 0; m < 2; m++) {
        along[m] = a[2 * m] * plan->along[0] + a[2 * m + 1] * plan->along[1];
        across[m] = a[2 * m] * plan->across[0] + a[2 * m + 1] * plan->across[1];
        v[m] = s[TAIL_Q] * along[m] + s[TAIL_R] * across[m];
        z[m][0] = a[2 * m] * s[TAIL_QA0] + a[2 * m + 1] * s[TAIL_QA1];
        z[m][1] = a[2 * m] * s[TAIL_RA0] + a[2 * m + 1] * s[TAIL_RA1];
    }
    double first[SIZE] = {head->u[0] * s[TAIL_1],
                          head->u[1] * s[TAIL_1],
                          v[0],
                          v[1],
                          a[0] * s[TAIL_A0] + a[1] * s[TAIL_A1],
                          a[2] * s[TAIL_A0] + a[3] * s[TAIL_A1]};
    double *second = out + 1 + SIZE;
    out[0] = head->weight * s[TAIL_1];
    for (int i = 0, k = 0; i < SIZE; i++) {
        out[1 + i] = head->weight * first[i];
        for (int j = 0; j <= i; j++, k++) {
            int m = i % 2, n = j % 2;
            double sum;
            if (j < 2) /* the head is one number */
                sum = first[i] * head->u[n];
            else if (i < 4)
                sum = s[TAIL_QQ] * along[m] * along[n] +
                      s[TAIL_QR] * (along[m] * across[n] + across[m] * along[n]) +
                      s[TAIL_RR] * across[m] * across[n];
            else if (j < 4)
                sum = z[m][0] * along[n] + z[m][1] * across[n];
            else
                sum = a[2 * m] * (s[TAIL_A00] * a[2 * n] + s[TAIL_A01] * a[2 * n + 1]) +
                      a[2 * m + 1] * (s[TAIL_A01] * a[2 * n] + s[TAIL_A11] * a[2 * n + 1]);
            second[k] = head->weight * sum;
        }
    }
}

/* Adds the tail of one head node to a part and its odd twin. */
static void add_head_node(layered_plan *plan, const head_node *head, int part)
{
    stair_integrand *f = plan->f;
    const stair_tail_table *table = &plan->s->table[part / STAIR_HALVES];
    double sums[2][TAIL_SUMS], moments[COUNT];
    stair_tail_form form;
    if (!(stair_passes_left(plan->passes, head->energy) > 0)) return;
    tail_form(plan, head, &form);
    f->visited += stair_tail_sum_table[stair_isa()](table, &form, plan->passes->cutoff, &plan->s->scratch,
                                                    &plan->passes->top, sums);
    for (int k = 0; k < 2; k++) {
        if (!(sums[k][TAIL_1] > 0)) continue;
        head_moments(plan, head, sums[k], moments);
        stair_moments_merge(f, &plan->passes->part[part + k * STAIR_TAIL_ODD],
                            &(stair_moments){.top = plan->passes->top, .sum = moments}, 0);
    }
}

/* ---- lattices -------------------------------------------------------------------------------- */

/* Makes the box of tail nodes hold all that is visible at one head node. */
static void widen_box(layered_plan *plan, const head_node *head)
{
    const stair_integrand *f = plan->f;
    const double *a = head->mix, *w = f->whiten;
    double left = stair_passes_left(plan->passes, head->energy), grid[2][2], x[2];
    if (!(left > 0)) return;
    for (int m = 0; m < 2; m++) {
        x[m] = w[3] * head->u[m] - f->offset[2 + m];
        grid[m][0] = w[4] * (a[2 * m] * plan->along[0] + a[2 * m + 1] * plan->along[1]);
        grid[m][1] = w[4] * (a[2 * m] * plan->across[0] + a[2 * m + 1] * plan->across[1]);
    }
    double det = grid[0][0] * grid[1][1] - grid[0][1] * grid[1][0], radius = sqrt(2 * left) / fabs(det);
    double q = -(grid[1][1] * x[0] - grid[0][1] * x[1]) / det,
           r = -(grid[0][0] * x[1] - grid[1][0] * x[0]) / det;
    double q_reach = radius * sqrt(grid[1][1] * grid[1][1] + grid[0][1] * grid[0][1]);
    double r_reach = radius * sqrt(grid[0][0] * grid[0][0] + grid[1][0] * grid[1][0]);
    plan->q_low = fmin(plan->q_low, q - q_reach);
    plan->q_high = fmax(plan->q_high, q + q_reach);
    plan->r_low = fmin(plan->r_low, r - r_reach);
    plan->r_high = fmax(plan->r_high, r + r_reach);
}

/* Visits the head nodes outwards: sums over their tails, or asks how far these reach.  False when they are
 * too many. */
static bool each_head_node(layered_plan *plan, int coset, bool sum)
{
    stair_integrand *f = plan->f;
    double mix[4 * STAIR_BLOCK], weight[STAIR_BLOCK], step = plan->passes->step[STAIR_HEAD] * f->lower[0];
    const stair_lattice_points *points = NULL;
    double matrix[4] = {step, 0, 0, step},
           centre[2] = {f->lower[0] * f->offset[0], f->lower[0] * f->offset[1]};
    for (int size = 0, start = 0;; start += STAIR_BLOCK) {
        int bin = (int)fmin(sqrt(2 * fmax(stair_passes_left(plan->passes, 0), 0)) /
                                plan->passes->step[STAIR_HEAD] * STAIR_LATTICE_FINE,
                            1e6) +
                  1;
        while (!points || bin > points->bins) {
            if (size == STAIR_LATTICE_SIZES) return false;
            if (!(points = stair_lattice_points_of(2, coset, size++))) return false;
        }
        int n = points->within[bin] - start;
        if (n <= 0) return true;
        if (n > STAIR_BLOCK) n = STAIR_BLOCK;
        stair_affine(2, matrix, centre, points->point + start, (size_t)points->stride, f->nodes.u);
        plan->split->head(&f->fibre, n, f->nodes.u, mix, weight);
        for (int i = 0; i < n; i++) {
            double radius = plan->passes->step[STAIR_HEAD] * points->radius[start + i];
            int odd = ((int)floor(points->point[start + i]) +
                       (int)floor(points->point[points->stride + start + i])) &
                      1;
            head_node head = {.u = {f->nodes.u[i], f->nodes.u[STAIR_BLOCK + i]},
                              .weight = weight[i],
                              .energy = -0.5 * radius * radius};
            for (int k = 0; k < 4; k++) head.mix[k] = mix[k * STAIR_BLOCK + i];
            if (sum)
                add_head_node(plan, &head, coset * STAIR_HALVES + odd * STAIR_HEAD_ODD);
            else
                widen_box(plan, &head);
        }
        if (f->visited > plan->passes->budget) return false;
    }
}

/* The tail at all nodes of the box; false when there is no room. */
static bool tabulate(layered_plan *plan, int coset)
{
    struct stair_layered *s = plan->s;
    stair_integrand *f = plan->f;
    stair_tail_table *t = &s->table[coset];
    double q = floor(plan->q_low) + 0.5 * coset, r = floor(plan->r_low) + 0.5 * coset;
    double length = ceil(plan->q_high - q) + 1, rows = ceil(plan->r_high - r) + 1,
           *nodes = s->nodes + STAIR_TAIL_PAD + coset * 3 * ROOM;
    if (!(length >= 1 && rows >= 1 && (length + STAIR_TAIL_PAD) * rows <= ROOM - STAIR_TAIL_PAD))
        return false;
    *t = (stair_tail_table){.q = q,
                            .r = r,
                            .length = (int)length,
                            .rows = (int)rows,
                            .stride = (int)length + STAIR_TAIL_PAD,
                            .a0 = nodes,
                            .a1 = nodes + ROOM,
                            .weight = nodes + 2 * ROOM};
    t->a0[-1] = tuning.far;
    t->a1[-1] = t->weight[-1] = 0;
    double *dependent = f->nodes.z + 2 * STAIR_BLOCK, *v = f->nodes.u;
    for (int from = 0, total = t->rows * t->stride; from < total; from += STAIR_BLOCK) {
        int n = total - from < STAIR_BLOCK ? total - from : STAIR_BLOCK;
        for (int i = 0; i < n; i++) {
            double at_q = t->q + (from + i) % t->stride, at_r = t->r + (from + i) / t->stride;
            for (int m = 0; m < 2; m++)
                v[m * STAIR_BLOCK + i] = at_q * plan->along[m] + at_r * plan->across[m];
        }
        plan->split->tail(&f->fibre, f->chart, f->digits, n, v, f->nodes.z, f->nodes.weight);
        for (int i = 0; i < n; i++) {
            bool inside = (from + i) % t->stride < t->length;
            t->a0[from + i] = inside ? dependent[i] : tuning.far;
            t->a1[from + i] = inside ? dependent[STAIR_BLOCK + i] : 0;
            t->weight[from + i] = inside ? f->nodes.weight[i] : 0;
        }
    }
    return true;
}

/* The lattice of the tail at the mixing of the prior mean, and the box its nodes fill. */
static bool lay_tail(layered_plan *plan)
{
    stair_integrand *f = plan->f;
    double mix[4 * STAIR_BLOCK], weight[STAIR_BLOCK], step = plan->passes->step[STAIR_TAIL] / f->whiten[4];
    for (int m = 0; m < 2; m++) f->nodes.u[m * STAIR_BLOCK] = f->lower[0] * f->offset[m];
    plan->split->head(&f->fibre, 1, f->nodes.u, mix, weight);
    double det = mix[0] * mix[3 * STAIR_BLOCK] - mix[STAIR_BLOCK] * mix[2 * STAIR_BLOCK];
    plan->along[0] = step * mix[3 * STAIR_BLOCK] / det; /* columns of A^{-1} */
    plan->along[1] = -step * mix[2 * STAIR_BLOCK] / det;
    plan->across[0] = -step * mix[STAIR_BLOCK] / det;
    plan->across[1] = step * mix[0] / det;
    plan->q_low = plan->r_low = INFINITY;
    plan->q_high = plan->r_high = -INFINITY;
    if (!each_head_node(plan, 0, false)) return false;
    for (int c = 0; c < COSETS; c++)
        if (!tabulate(plan, c)) return false;
    return true;
}

static bool sum_all(stair_passes *passes)
{
    layered_plan *plan = passes->user;
    double step = passes->step[STAIR_HEAD] * plan->f->lower[0];
    if (!lay_tail(plan)) return false;
    passes->cell =
        step * step / COSETS * fabs(plan->along[0] * plan->across[1] - plan->along[1] * plan->across[0]);
    for (int c = 0; c < COSETS; c++)
        if (!each_head_node(plan, c, true)) return false;
    return true;
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    double fine = 1 / sqrt(-log(fmin(options->precision, 1e-2)));
    if (options->precision < tuning.finest) return result;
    if (!w->layered && !(w->layered = create())) return result;
    layered_plan plan = {.f = &w->f, .split = stair_fibre_split(&w->f.fibre), .s = w->layered};
    stair_passes passes = {.w = w,
                           .lattices = 2,
                           .step = {tuning.head_step * fine, tuning.tail_step * fine},
                           .sum = sum_all,
                           .user = &plan,
                           .budget = w->f.visited + tuning.cheap * options->max_nodes};
    plan.passes = &passes;
    w->f.digits = STAIR_NINE_DIGITS;
    result.error = stair_passes_run(&passes, options, out);
    w->f.digits = STAIR_ALL_DIGITS;
    result.converged = result.error <= options->precision;
    return result;
}

const stair_channel_rule stair_rule_layered = {
    .name = "layered", .number = STAIR_RULE_LAYERED, .fits = fits, .evaluate = evaluate};
