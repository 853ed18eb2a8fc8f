/* Trapezoidal sums in two coordinates that are no rows of Z, in every chart of a fibre.
 *
 * The coordinates are those of a model which takes care that its posterior is smooth in them and falls off
 * like a Gaussian in all directions, whatever its shape: equidistant nodes are then exact beyond all powers
 * once they resolve it.  Steps are those of the leading mode.  From every mode nodes spread to their
 * neighbours as long as the integrand, weight included, is within the cutoff, so that bent ridges and
 * tails are followed as far as they go.
 *
 * The nodes of one step and those in the middles of their cells are two halves; then those on the middles of
 * edges follow.  The error is what two differences of halves say of the alias that is left, as in lattice.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/rules.h"

enum {
    SIDE = 8192, /* places along each axis, a bit each: thin ridges that are not along one take many */
    MOST_QUEUED = 1 << 17, /* nodes of one coset */
    COSETS = 4
};

static const struct {
    double step;   /* of one coset, over sqrt(log(1/precision)), in deviations of the leading mode, */
    double finer;  /* and after all cosets were not enough */
    double weak;   /* times the last difference that is left, at least */
    int stalls;    /* finer steps without a smaller error that are enough */
    double beyond; /* added to the cutoff: tails are wide */
} tuning = {.step = 3.6, .finer = 0.6, .weak = 1, .stalls = 3, .beyond = 5};

typedef struct {
    double centre[2], lower[4], log_det; /* of the frame: the leading mode */
    double seed[STAIR_MOST_MODES][2];    /* modes, in units of the frame */
    int seeds;
    double narrow; /* the narrowest of them, in the same units */
} plane_chart;

typedef struct {
    plane_chart chart[2];
    unsigned char seen[SIDE * SIDE / 8];
    short queue[MOST_QUEUED][2]; /* of nodes to visit, in steps */
} plane;

/* Narrowest width of a mode in the frame: of lower^T precision lower. */
static double width_of(const plane_chart *c, const double *precision)
{
    const double *l = c->lower, *p = precision;
    double top = p[0] * l[0] + p[1] * l[2], bottom = p[2] * l[0] + p[3] * l[2];
    double a = l[0] * top + l[2] * bottom, b = l[3] * bottom, d = l[3] * p[3] * l[3];
    return 1 / sqrt(0.5 * (a + d) + hypot(0.5 * (a - d), b));
}

static bool look(stair_worker *w, int chart, double cutoff, plane_chart *c)
{
    stair_integrand *f = &w->f;
    f->chart = chart;
    stair_modes_find(f, cutoff, &w->modes);
    if (!w->modes.count) return false;
    const stair_mode *lead = &w->modes.mode[0];
    memcpy(c->centre, lead->u, sizeof c->centre);
    memcpy(c->lower, lead->lower, sizeof c->lower);
    c->log_det = log(fabs(c->lower[0] * c->lower[3]));
    c->seeds = w->modes.count;
    c->narrow = 1;
    for (int k = 0; k < c->seeds; k++) {
        double x = w->modes.mode[k].u[0] - c->centre[0], y = w->modes.mode[k].u[1] - c->centre[1];
        c->seed[k][0] = x / c->lower[0];
        c->seed[k][1] = (y - c->lower[2] * c->seed[k][0]) / c->lower[3];
        c->narrow = fmin(c->narrow, width_of(c, w->modes.mode[k].precision));
    }
    return isfinite(c->log_det);
}

/* Queues a place that has not been; false when it is beyond the table. */
static bool visit(plane *p, int i, int j, int *queued)
{
    int x = i + SIDE / 2, y = j + SIDE / 2;
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || *queued == MOST_QUEUED) return false;
    unsigned char *seen = &p->seen[(x * SIDE + y) / 8], bit = (unsigned char)(1u << (y % 8));
    if (*seen & bit) return true;
    *seen |= bit;
    p->queue[*queued][0] = (short)i;
    p->queue[(*queued)++][1] = (short)j;
    return true;
}

static bool visit_around(plane *p, int i, int j, int *queued)
{
    bool inside = true;
    for (int k = 0; k < 9; k++) inside &= visit(p, i + k / 3 - 1, j + k % 3 - 1, queued);
    return inside;
}

/* Evaluates n nodes of the queue; value: log of the integrand at each, the larger of both signs. */
static void evaluate_nodes(stair_integrand *f, const plane *p, const plane_chart *c, const double *shift,
                           double step, int from, int n, stair_moments *into, double *value)
{
    for (int i = 0; i < n; i++) {
        double x = (p->queue[from + i][0] + shift[0]) * step, y = (p->queue[from + i][1] + shift[1]) * step;
        f->nodes.u[i] = c->centre[0] + c->lower[0] * x;
        f->nodes.u[STAIR_BLOCK + i] = c->centre[1] + c->lower[2] * x + c->lower[3] * y;
    }
    double top = stair_integrand_energies(f, n);
    for (int i = 0; i < n; i++) {
        double energy = f->shape.mirrored ? fmax(f->nodes.plus[i], f->nodes.minus[i]) : f->nodes.plus[i];
        value[i] = energy + log(f->nodes.weight[i]);
    }
    stair_integrand_add(f, n, NULL, top, into);
}

/* Adds one coset, nodes (i + shift_0, j + shift_1) step, of one chart; false when the table or the budget
 * ends before the integrand. */
static bool add_chart(stair_worker *w, plane *p, const plane_chart *c, const double *shift, double step,
                      double cutoff, int64_t budget, double *top, stair_moments *into)
{
    stair_integrand *f = &w->f;
    double value[STAIR_BLOCK];
    int queued = 0;
    bool whole = true;
    for (int k = 0; k < c->seeds; k++)
        whole &=
            visit_around(p, (int)lround(c->seed[k][0] / step), (int)lround(c->seed[k][1] / step), &queued);
    for (int from = 0, n; from < queued && whole; from += n) {
        n = queued - from < STAIR_BLOCK ? queued - from : STAIR_BLOCK;
        whole = f->visited + n <= budget;
        if (!whole) break;
        evaluate_nodes(f, p, c, shift, step, from, n, into, value);
        for (int i = 0; i < n; i++) *top = fmax(*top, value[i]);
        for (int i = 0; i < n; i++)
            if (value[i] > *top - cutoff)
                whole &= visit_around(p, p->queue[from + i][0], p->queue[from + i][1], &queued);
    }
    for (int k = 0; k < queued; k++)
        p->seen[((p->queue[k][0] + SIDE / 2) * SIDE + p->queue[k][1] + SIDE / 2) / 8] = 0;
    return whole;
}

/* into += one coset of all charts */
static bool add_coset(stair_worker *w, plane *p, int coset, double step, double cutoff, int64_t budget,
                      double *top, stair_moments *into)
{
    static const double shift[COSETS][2] = {{0, 0}, {0.5, 0.5}, {0.5, 0}, {0, 0.5}};
    for (int k = 0; k < w->f.fibre.charts; k++) {
        w->f.chart = k;
        stair_moments_clear(&w->f, &w->extra);
        double chart_step = step * p->chart[k].narrow;
        if (!add_chart(w, p, &p->chart[k], shift[coset], chart_step, cutoff, budget, top, &w->extra))
            return false;
        stair_moments_merge(&w->f, into, &w->extra, 2 * log(chart_step) + p->chart[k].log_det);
    }
    return true;
}

/* Doubles the cosets of one step, first one and one, then two and two; the error that is left, or infinite.
 */
static double integrate(stair_worker *w, plane *p, double step, double cutoff, int64_t budget,
                        stair_posterior *out)
{
    stair_integrand *f = &w->f;
    double difference = 0, earlier, top = -INFINITY, error = INFINITY;
    stair_moments_clear(f, &w->part[0]);
    if (!add_coset(w, p, 0, step, cutoff, budget, &top, &w->part[0])) return INFINITY;
    for (int done = 1; done < COSETS; done *= 2) {
        earlier = difference;
        stair_moments_clear(f, &w->part[1]);
        for (int coset = done; coset < 2 * done; coset++)
            if (!add_coset(w, p, coset, step, cutoff, budget, &top, &w->part[1])) return INFINITY;
        stair_moments_finish(f, &w->part[0], &w->first);
        stair_moments_finish(f, &w->part[1], &w->second);
        difference = stair_posterior_distance(f, &w->first, &w->second);
        stair_moments_merge(f, &w->part[0], &w->part[1], 0);
        stair_moments_finish(f, &w->part[0], out);
        out->logz -= log(2 * done);
        if (done == 1) continue; /* one difference says nothing of its own reliability */
        double sensitivity = stair_posterior_sensitivity(f, out);
        error = fmax(tuning.weak * difference, earlier * earlier / sensitivity) +
                stair_posterior_truncation(f, out, cutoff);
    }
    return error;
}

static bool fits(const stair_integrand *f, bool forced)
{
    (void)forced;
    return f->dim == 2 && f->shape.free_rows == 0 && f->fibre.angles == 0 && !f->shape.residuals &&
           f->fibre.charts <= 2;
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    stair_channel_options goal = *options;
    plane *p = calloc(1, sizeof *p);
    if (!p) return result;
    do {
        int64_t budget = w->f.visited + options->max_nodes;
        double cutoff = goal.cutoff - log(goal.precision) + tuning.beyond, step = tuning.step;
        bool found = true;
        for (int k = 0; k < w->f.fibre.charts && found; k++) found = look(w, k, cutoff, &p->chart[k]);
        if (!found) break;
        w->f.chart = 0;
        step /= sqrt(-log(fmin(goal.precision, 1e-2)));
        result.error = INFINITY;
        for (int stalled = 0; !(result.error <= goal.precision) && stalled < tuning.stalls;) {
            double error = integrate(w, p, step, cutoff, budget, out);
            if (!isfinite(error)) break;
            stalled = error > 0.5 * result.error ? stalled + 1 : 0; /* by rounding, or a ridge not seen yet */
            result.error = error;
            step *= tuning.finer;
        }
    } while (!stair_rule_accept(&w->f, options, out, &goal, &result));
    free(p);
    return result;
}

const stair_channel_rule stair_rule_plane = {
    .name = "plane", .number = STAIR_RULE_PLANE, .fits = fits, .evaluate = evaluate};
