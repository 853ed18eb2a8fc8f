/* Two lattices, one in the head of a fibre and one in its tail.
 *
 * Where the first layers only mix the tokens of the others, Z[p] = A(u) t[p] with u the head and t a function of
 * tail coordinates v: t is tabulated once for a sample, and at each head node the exponent is a quadratic form in
 * (v, t(v)).  No hidden layer is evaluated twice, no mode has to be found, and the prior alone bounds where
 * anything can be, since the exponent is at most the part of it that u has, or that u and v have.
 *
 * In units of the steps the nodes (u, v) are all integers or all half-integers, the body-centred lattice of four dimensions. */
#include "channel/layered.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/lattice_points.h"
#include "channel/rules.h"
#include "core/isa.h"
#include "core/matrix.h"

#define HEAD_STEP 3.2     /* of the first pass, over sqrt(log(1/precision)), in deviations of the prior */
#define TAIL_STEP 2.88
#define DEFICIT   6.0     /* first guess how far the largest exponent is below zero */
#define LEAST     1.2     /* ratio of the steps of two passes */
#define MOST      1.6
#define BY_HALVES 0.5     /* error of one pass, by the difference of its halves */
#define BY_ODD    0.1     /* and the squares of those of even and odd nodes of each lattice */
#define TYPICAL   0.15    /* a likely error, by the halves */
#define ROUGH     0.9     /* most of an error that is left by the next pass */
#define LESSER    0.4     /* a lattice that much better than the other is refined no more than it must */
#define CUT       0.6     /* of the worst case that lattices leave out beyond the cutoff */
#define LEFT      27.0    /* times exp(-cutoff) of the precision, for that: 0.3 by default */
#define CHEAP     4       /* nodes of a table that cost no more than one evaluation of all layers */
#define FINEST    1e-8    /* precision, at which a short exp begins to be felt */
#define ROOM      (1 << 15) /* tail nodes of one coset */
#define FAR       1e60      /* where nothing is visible: padding */
#define SLACK     64        /* of lists that are written one group beyond their end */
#define SIZE      6         /* rows times tokens: the kernel is made for one head row, two of the tail, two tokens */
#define COUNT     (1 + SIZE + SIZE * (SIZE + 1) / 2)

STAIR_HOT_TABLE(int, stair_tail_sum,
                (const stair_tail_table *table, const stair_tail_form *form, double cutoff,
                 const stair_tail_scratch *scratch, double *top, double (*sums)[TAIL_SUMS]));

/* Sums are kept apart for integer and half-integer nodes, and for even and odd sums of the coordinates of the head node and
 * of the tail node (rounded down), as bits of a number. */
enum { COSETS = 2, HALVES = 1, HEAD_ODD = 2, TAIL_ODD = 4, PARTS = 8 };

struct stair_layered {
    stair_tail_table table[COSETS];
    double *nodes; /* (COSETS, 3, ROOM), and room for energies */
    int *places;
    stair_tail_scratch scratch;
    double sums[PARTS][COUNT];
    stair_moments part[PARTS]; /* of Z */
};

typedef struct {
    stair_worker *w;
    struct stair_layered *s;
    double cutoff, top;         /* of the exponent; the largest seen, */
    double floor;               /* which is not expected to be less than this */
    int64_t budget;
    double step[2];             /* of head and tail */
    double along[2], across[2]; /* the tail lattice */
    double q_low, q_high, r_low, r_high;
} layered_plan;

enum { HEAD, TAIL };

bool stair_layered_fits(const stair_integrand *f)
{
    return f->fibre.head_rows == 1 && !f->fibre.rough && f->shape.rows == 3 && f->shape.tokens == 2 && f->dim == 4 && f->shape.mirrored && f->fibre.charts == 1 &&
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
    for (int i = 0; i < PARTS; i++) s->part[i].sum = s->sums[i];
    return s;
}

/* How much of the cutoff is left at this exponent. */
static double left_at(const layered_plan *plan, double energy) { return plan->cutoff + energy - fmax(plan->top, plan->floor); }

/* ---- one head node --------------------------------------------------------------------------- */

typedef struct {
    double u[2], mix[4], weight, energy; /* the head row, A, its density, its part of the exponent */
} head_node;

/* The exponent over the tail at one head node, and the ellipse outside of which nothing is visible. */
static void tail_form(const layered_plan *plan, const head_node *head, stair_tail_form *form)
{
    const stair_integrand *f = &plan->w->f;
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
    double left = 2 * left_at(plan, head->energy), scale = 1 / (w22 * w22 * qq);
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
    double first[SIZE] = {head->u[0] * s[TAIL_1], head->u[1] * s[TAIL_1], v[0], v[1],
                          a[0] * s[TAIL_A0] + a[1] * s[TAIL_A1], a[2] * s[TAIL_A0] + a[3] * s[TAIL_A1]};
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
                sum = s[TAIL_QQ] * along[m] * along[n] + s[TAIL_QR] * (along[m] * across[n] + across[m] * along[n]) +
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
    stair_integrand *f = &plan->w->f;
    const stair_tail_table *table = &plan->s->table[part % COSETS];
    double sums[2][TAIL_SUMS], moments[COUNT];
    stair_tail_form form;
    if (!(left_at(plan, head->energy) > 0)) return;
    tail_form(plan, head, &form);
    f->visited += stair_tail_sum_table[stair_isa()](table, &form, plan->cutoff, &plan->s->scratch, &plan->top, sums);
    for (int k = 0; k < 2; k++) {
        if (!(sums[k][TAIL_1] > 0)) continue;
        head_moments(plan, head, sums[k], moments);
        stair_moments_merge(f, &plan->s->part[part + k * TAIL_ODD], &(stair_moments){.top = plan->top, .sum = moments}, 0);
    }
}

/* ---- lattices -------------------------------------------------------------------------------- */

/* Makes the box of tail nodes hold all that is visible at one head node. */
static void widen_box(layered_plan *plan, const head_node *head)
{
    const stair_integrand *f = &plan->w->f;
    const double *a = head->mix, *w = f->whiten;
    double left = left_at(plan, head->energy), grid[2][2], x[2];
    if (!(left > 0)) return;
    for (int m = 0; m < 2; m++) {
        x[m] = w[3] * head->u[m] - f->offset[2 + m];
        grid[m][0] = w[4] * (a[2 * m] * plan->along[0] + a[2 * m + 1] * plan->along[1]);
        grid[m][1] = w[4] * (a[2 * m] * plan->across[0] + a[2 * m + 1] * plan->across[1]);
    }
    double det = grid[0][0] * grid[1][1] - grid[0][1] * grid[1][0], radius = sqrt(2 * left) / fabs(det);
    double q = -(grid[1][1] * x[0] - grid[0][1] * x[1]) / det, r = -(grid[0][0] * x[1] - grid[1][0] * x[0]) / det;
    double q_reach = radius * sqrt(grid[1][1] * grid[1][1] + grid[0][1] * grid[0][1]);
    double r_reach = radius * sqrt(grid[0][0] * grid[0][0] + grid[1][0] * grid[1][0]);
    plan->q_low = fmin(plan->q_low, q - q_reach);
    plan->q_high = fmax(plan->q_high, q + q_reach);
    plan->r_low = fmin(plan->r_low, r - r_reach);
    plan->r_high = fmax(plan->r_high, r + r_reach);
}

/* Visits the head nodes outwards: sums over their tails, or asks how far these reach.  False when they are too many. */
static bool each_head_node(layered_plan *plan, int coset, bool sum)
{
    stair_integrand *f = &plan->w->f;
    double mix[4 * STAIR_BLOCK], weight[STAIR_BLOCK], step = plan->step[HEAD] * f->lower[0];
    const stair_lattice_points *points = NULL;
    double matrix[4] = {step, 0, 0, step}, centre[2] = {f->lower[0] * f->offset[0], f->lower[0] * f->offset[1]};
    for (int size = 0, start = 0;; start += STAIR_BLOCK) {
        int bin = (int)fmin(sqrt(2 * fmax(left_at(plan, 0), 0)) / plan->step[HEAD] * STAIR_LATTICE_FINE, 1e6) + 1;
        while (!points || bin > points->bins) {
            if (size == STAIR_LATTICE_SIZES) return false;
            if (!(points = stair_lattice_points_of(2, coset, size++))) return false;
        }
        int n = points->within[bin] - start;
        if (n <= 0) return true;
        if (n > STAIR_BLOCK) n = STAIR_BLOCK;
        stair_affine(2, matrix, centre, points->point + start, (size_t)points->stride, f->nodes.u);
        f->fibre.model->ops->fibre_head(&f->fibre, n, f->nodes.u, mix, weight);
        for (int i = 0; i < n; i++) {
            double radius = plan->step[HEAD] * points->radius[start + i];
            int odd = ((int)floor(points->point[start + i]) + (int)floor(points->point[points->stride + start + i])) & 1;
            head_node head = {.u = {f->nodes.u[i], f->nodes.u[STAIR_BLOCK + i]}, .weight = weight[i], .energy = -0.5 * radius * radius};
            for (int k = 0; k < 4; k++) head.mix[k] = mix[k * STAIR_BLOCK + i];
            if (sum)
                add_head_node(plan, &head, coset + odd * HEAD_ODD);
            else
                widen_box(plan, &head);
        }
        if (f->visited > plan->budget) return false;
    }
}

/* The tail at all nodes of the box; false when there is no room. */
static bool tabulate(layered_plan *plan, int coset)
{
    struct stair_layered *s = plan->s;
    stair_integrand *f = &plan->w->f;
    stair_tail_table *t = &s->table[coset];
    double q = floor(plan->q_low) + 0.5 * coset, r = floor(plan->r_low) + 0.5 * coset;
    double length = ceil(plan->q_high - q) + 1, rows = ceil(plan->r_high - r) + 1, *nodes = s->nodes + STAIR_TAIL_PAD + coset * 3 * ROOM;
    if (!(length >= 1 && rows >= 1 && (length + STAIR_TAIL_PAD) * rows <= ROOM - STAIR_TAIL_PAD)) return false;
    *t = (stair_tail_table){.q = q, .r = r, .length = (int)length, .rows = (int)rows, .stride = (int)length + STAIR_TAIL_PAD,
                            .a0 = nodes, .a1 = nodes + ROOM, .weight = nodes + 2 * ROOM};
    t->a0[-1] = FAR;
    t->a1[-1] = t->weight[-1] = 0;
    double *dependent = f->nodes.z + 2 * STAIR_BLOCK, *v = f->nodes.u;
    for (int from = 0, total = t->rows * t->stride; from < total; from += STAIR_BLOCK) {
        int n = total - from < STAIR_BLOCK ? total - from : STAIR_BLOCK;
        for (int i = 0; i < n; i++) {
            double at_q = t->q + (from + i) % t->stride, at_r = t->r + (from + i) / t->stride;
            for (int m = 0; m < 2; m++) v[m * STAIR_BLOCK + i] = at_q * plan->along[m] + at_r * plan->across[m];
        }
        f->fibre.model->ops->fibre_tail(&f->fibre, f->chart, n, v, f->nodes.z, f->nodes.weight);
        for (int i = 0; i < n; i++) {
            bool inside = (from + i) % t->stride < t->length;
            t->a0[from + i] = inside ? dependent[i] : FAR;
            t->a1[from + i] = inside ? dependent[STAIR_BLOCK + i] : 0;
            t->weight[from + i] = inside ? f->nodes.weight[i] : 0;
        }
    }
    return true;
}

/* The lattice of the tail at the mixing of the prior mean, and the box its nodes fill. */
static bool lay_tail(layered_plan *plan)
{
    stair_integrand *f = &plan->w->f;
    double mix[4 * STAIR_BLOCK], weight[STAIR_BLOCK], step = plan->step[TAIL] / f->whiten[4];
    for (int m = 0; m < 2; m++) f->nodes.u[m * STAIR_BLOCK] = f->lower[0] * f->offset[m];
    f->fibre.model->ops->fibre_head(&f->fibre, 1, f->nodes.u, mix, weight);
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

/* One pass over both lattices, over all that is visible. */
static bool sum_all(layered_plan *plan)
{
    stair_integrand *f = &plan->w->f;
    for (;; plan->floor = plan->top - 1) {
        plan->top = -1e300;
        if (!lay_tail(plan)) return false;
        for (int i = 0; i < PARTS; i++) stair_moments_clear(f, &plan->s->part[i]);
        for (int c = 0; c < COSETS; c++)
            if (!each_head_node(plan, c, true)) return false;
        if (plan->top >= plan->floor) break;
    }
    plan->floor = plan->top - 1; /* the next pass will not be far from this */
    return true;
}

/* ---- refinement ------------------------------------------------------------------------------ */

/* Moments of x = L^{-1} (Z - omega) from those of Z, and what follows from them. */
static void finish(const layered_plan *plan, const stair_moments *z, double log_cell, stair_posterior *out)
{
    stair_integrand *f = &plan->w->f;
    double mean[SIZE], x[SIZE], half[SIZE][SIZE], sums[COUNT] = {1};
    const double *second = z->sum + 1 + SIZE, *w = f->whiten;
    for (int i = 0; i < SIZE; i++) mean[i] = z->sum[1 + i] / z->sum[0];
    for (int i = 0; i < SIZE; i++) {
        x[i] = -f->offset[i];
        for (int p = 0; p <= i / 2; p++) x[i] += w[(i / 2) * 3 + p] * mean[2 * p + i % 2];
        for (int j = 0; j < SIZE; j++) {
            half[i][j] = 0;
            for (int p = 0; p <= i / 2; p++) {
                int k = 2 * p + i % 2, high = k > j ? k : j, low = k > j ? j : k;
                half[i][j] += w[(i / 2) * 3 + p] * (second[high * (high + 1) / 2 + low] / z->sum[0] - mean[k] * mean[j]);
            }
        }
    }
    for (int i = 0, k = 1 + SIZE; i < SIZE; i++) {
        sums[1 + i] = x[i];
        for (int j = 0; j <= i; j++, k++) {
            sums[k] = x[i] * x[j];
            for (int p = 0; p <= j / 2; p++) sums[k] += half[i][2 * p + j % 2] * w[(j / 2) * 3 + p];
        }
    }
    stair_moments_finish(f, &(stair_moments){.top = z->top + log(z->sum[0]) + log_cell, .sum = sums}, out);
}

/* The posterior from the parities marked in the bits of `set`, the part `share` of all nodes. */
static void posterior_of(const layered_plan *plan, unsigned set, double share, stair_posterior *out)
{
    stair_integrand *f = &plan->w->f;
    double step = plan->step[HEAD] * f->lower[0];
    double cell = step * step / COSETS * fabs(plan->along[0] * plan->across[1] - plan->along[1] * plan->across[0]);
    stair_moments_clear(f, &plan->w->total);
    for (int k = 0; k < PARTS; k++)
        if (set >> k & 1) stair_moments_merge(f, &plan->w->total, &plan->s->part[k], 0);
    finish(plan, &plan->w->total, log(cell / share), out);
}

/* How far the posteriors of the two halves of all nodes are apart that the bits of `direction` tell apart. */
static double difference(const layered_plan *plan, int direction)
{
    stair_worker *w = plan->w;
    unsigned set = 0;
    for (int k = 0; k < PARTS; k++) set |= (unsigned)(__builtin_popcount(k & direction) & 1) << k;
    posterior_of(plan, set, 0.5, &w->first);
    posterior_of(plan, ~set, 0.5, &w->second);
    return stair_posterior_distance(&w->f, &w->first, &w->second);
}

/* Part of E[r^2] of a Gaussian in four dimensions where r^2 / 2 is beyond the cutoff. */
static double beyond(double cutoff) { return exp(-cutoff) * (1 + cutoff + 0.5 * cutoff * cutoff); }

/* The cutoff beyond which the part `wanted` of E[r^2] is left. */
static double cutoff_for(double wanted)
{
    double cutoff = -log(wanted);
    for (int k = 0; k < 8; k++) cutoff += log(beyond(cutoff) / wanted);
    return cutoff;
}

/* The error e^ratio of a pass where that of the one before was e, and the change e - e^ratio. */
static double error_after(double change, double ratio)
{
    double before = change;
    for (int k = 0; k < 6; k++) before = change + pow(fmin(before, 1), ratio);
    return pow(fmin(before, 1), ratio);
}

/* Of the exponent, as a polynomial that begins with squares of the offset. */
static double rounding(const stair_integrand *f)
{
    double largest2 = 1;
    for (int i = 0; i < SIZE; i++) largest2 = fmax(largest2, f->offset[i] * f->offset[i]);
    return 1e-15 * largest2;
}

/* What is known of the aliases of a pass. */
typedef struct {
    double halves; /* how far apart integer and half-integer nodes are, */
    double odd[2]; /* and even and odd ones of either lattice */
} layered_view;

static layered_view look_at(const layered_plan *plan)
{
    return (layered_view){.halves = difference(plan, HALVES),
                          .odd = {fmax(difference(plan, HEAD_ODD), difference(plan, HEAD_ODD | HALVES)),
                                  fmax(difference(plan, TAIL_ODD), difference(plan, TAIL_ODD | HALVES))}};
}

/* The alias of one pass: a bound of what was seen, several times what is usual. */
static double alias_at_once(const layered_view *view)
{
    return BY_HALVES * view->halves + BY_ODD * (view->odd[HEAD] * view->odd[HEAD] + view->odd[TAIL] * view->odd[TAIL]);
}

/* The alias of a pass by the change from the one before.  That change is the error of the former, and an error falls at least
 * like exp(-const / step) if the integrand is analytic: that of the latter is the change to the power of the ratio of the
 * steps.  The lattice whose halves differ less has the smaller part of it.  Where layers switch within a step nothing falls
 * so fast yet: hence the part that is left of the difference of halves. */
static double alias_by_change(double change, const layered_view *before, const layered_view *view, const double *ratio)
{
    double most = fmax(before->odd[HEAD], before->odd[TAIL]), rest = fmin(view->halves / before->halves, ROUGH);
    double alias = change * rest / (1 - rest);
    for (int k = 0; k < 2; k++) alias = fmax(alias, error_after(change * sqrt(before->odd[k] / most), ratio[k]));
    return alias;
}

/* Passes at ever shorter steps. */
static double integrate(layered_plan *plan, const stair_channel_options *options, stair_posterior *out)
{
    stair_worker *w = plan->w;
    stair_integrand *f = &w->f;
    layered_view before;
    double error = INFINITY, ratio[2], left = LEFT * exp(-options->cutoff) * options->precision;
    plan->floor = -DEFICIT;
    plan->cutoff = cutoff_for(left);
    for (int pass = 0;; pass++) {
        if (!sum_all(plan)) return error;
        posterior_of(plan, ~0u, 1, out);
        layered_view view = look_at(plan);
        double sensitivity = stair_posterior_sensitivity(f, out);
        double truncation = sensitivity * (CUT * beyond(plan->cutoff) + rounding(f)), allowed = fmax(options->precision - truncation, truncation);
        double alias = alias_at_once(&view), likely = TYPICAL * view.halves;
        if (pass) likely = alias = fmin(alias, alias_by_change(stair_posterior_distance(f, out, &w->coarse), &before, &view, ratio));
        error = alias + truncation;
        if (alias <= allowed && (truncation <= options->precision || pass)) return error;
        plan->cutoff = cutoff_for(left / (CUT * sensitivity));
        double finer = likely < 0.5 ? fmin(fmax(log(0.8 * allowed) / log(likely), LEAST), MOST) : MOST;
        for (int k = 0; k < 2; k++) {
            ratio[k] = view.odd[k] > LESSER * view.odd[1 - k] ? finer : LEAST;
            plan->step[k] /= ratio[k];
        }
        before = view;
        w->coarse.logz = out->logz;
        memcpy(w->coarse.g, out->g, sizeof(double) * (size_t)(f->size * (1 + f->size))); /* dg follows g */
    }
}

stair_rule_result stair_rule_layered(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    double fine = 1 / sqrt(-log(fmin(options->precision, 1e-2)));
    if (options->precision < FINEST) return result;
    if (!w->layered && !(w->layered = create())) return result;
    layered_plan plan = {.w = w, .s = w->layered, .budget = w->f.visited + CHEAP * options->max_nodes, .step = {HEAD_STEP * fine, TAIL_STEP * fine}};
    result.error = integrate(&plan, options, out);
    result.converged = result.error <= options->precision;
    return result;
}
