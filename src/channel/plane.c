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
    COSETS = 4,
    SCAN = 22, /* places of a first look along each axis */
    SEEDS = 2 * (STAIR_MOST_MODES + SCAN * SCAN)
};

static const struct {
    double step;     /* of one coset, over sqrt(log(1/precision)), in deviations of the narrowest mode, */
    double finer;    /* and after all cosets were not enough */
    int stalls;      /* finer steps without a smaller error that are enough */
    double beyond;   /* added to the cutoff: tails are wide */
    double scan;     /* step of the first look, on the scale of one that coordinates have */
    double enough;   /* effective number of its places that tell the shape of the integrand */
    double shore;    /* times the outermost nodes that is left beyond them */
    double coarsest; /* precision: what is asked for less may agree with itself and miss a narrow ridge */
    double unseen;   /* error of what may stand apart from all that is seen: 1 of 100 posteriors of sequences
                        have more, up to 5e-2 */
} tuning = {.step = 4.5,
            .finer = 0.6,
            .stalls = 4,
            .beyond = 3,
            .scan = 0.75,
            .enough = 8,
            .shore = 10,
            .coarsest = 1e-4,
            .unseen = 2e-4};

typedef struct {
    double centre[2], lower[4], log_det; /* of the frame: the leading mode */
    double narrow;                       /* the narrowest mode, in its units */
} plane_chart;

typedef struct stair_plane {
    plane_chart chart[2];
    double seed[SEEDS]
               [2]; /* u of modes and of places that a first look sees: nodes spread from all of them */
    int seeds;
    double top;         /* of the logarithm of the integrand, */
    double mass, shore; /* and sums of it over top: over all nodes, over the outermost, below the cutoff */
    unsigned char seen[SIDE * SIDE / 8];
    short queue[MOST_QUEUED][2]; /* of nodes to visit, in steps */
} plane;

void stair_plane_destroy(struct stair_plane *p)
{
    free(p);
}

/* Narrowest width of a mode in the frame: of lower^T precision lower. */
static double width_of(const plane_chart *c, const double *precision)
{
    const double *l = c->lower, *p = precision;
    double top = p[0] * l[0] + p[1] * l[2], bottom = p[2] * l[0] + p[3] * l[2];
    double a = l[0] * top + l[2] * bottom, b = l[3] * bottom, d = l[3] * p[3] * l[3];
    return 1 / sqrt(0.5 * (a + d) + hypot(0.5 * (a - d), b));
}

/* Place i of the first look along an axis. */
static double scanned(int i)
{
    return (i - 0.5 * (SCAN - 1)) * tuning.scan;
}

/* The log of the integrand, the larger of both signs, at node i of the block evaluated last. */
static double value_at(const stair_integrand *f, int i)
{
    double energy = f->shape.mirrored ? fmax(f->nodes.plus[i], f->nodes.minus[i]) : f->nodes.plus[i];
    return energy + log(f->nodes.weight[i]);
}

/* A first look: a wide and coarse grid, value (SCAN^2) of the log integrand on it; returns the largest. */
static double scan(stair_integrand *f, double *value)
{
    double top = -INFINITY;
    for (int from = 0, n; from < SCAN * SCAN; from += n) {
        n = SCAN * SCAN - from < STAIR_BLOCK ? SCAN * SCAN - from : STAIR_BLOCK;
        for (int i = 0; i < n; i++) {
            f->nodes.u[i] = scanned((from + i) / SCAN);
            f->nodes.u[STAIR_BLOCK + i] = scanned((from + i) % SCAN);
        }
        stair_integrand_energies(f, n);
        for (int i = 0; i < n; i++) top = fmax(top, value[from + i] = value_at(f, i));
    }
    return top;
}

/* The frame from mean and covariance over the grid, widened by its cell; false where too few of its places
 * count to tell them. */
static bool frame_of_scan(const double *value, double top, plane_chart *c)
{
    double sum = 0, square = 0, mean[2] = {0}, second[3] = {0}, cell = tuning.scan * tuning.scan / 12;
    for (int k = 0; k < SCAN * SCAN; k++) {
        double mass = exp(value[k] - top), x = scanned(k / SCAN), y = scanned(k % SCAN);
        sum += mass;
        square += mass * mass;
        mean[0] += mass * x;
        mean[1] += mass * y;
        second[0] += mass * x * x;
        second[1] += mass * x * y;
        second[2] += mass * y * y;
    }
    if (!(sum * sum > tuning.enough * square)) return false;
    for (int i = 0; i < 2; i++) c->centre[i] = mean[i] / sum;
    double xx = second[0] / sum - c->centre[0] * c->centre[0] + cell,
           xy = second[1] / sum - c->centre[0] * c->centre[1],
           yy = second[2] / sum - c->centre[1] * c->centre[1] + cell;
    c->lower[0] = sqrt(xx);
    c->lower[1] = 0;
    c->lower[2] = xy / c->lower[0];
    c->lower[3] = sqrt(yy - c->lower[2] * c->lower[2]);
    c->narrow = 1;
    return true;
}

/* The frame of the leading mode, and how narrow the others are; their places are seeds. */
static bool frame_of_modes(stair_worker *w, double cutoff, plane *p, plane_chart *c, double *top)
{
    const stair_modes *modes = &w->modes;
    stair_modes_find(&w->f, cutoff, &w->modes);
    if (!modes->count) return false;
    memcpy(c->centre, modes->mode[0].u, sizeof c->centre);
    memcpy(c->lower, modes->mode[0].lower, sizeof c->lower);
    c->narrow = 1;
    for (int k = 0; k < modes->count; k++) {
        memcpy(p->seed[p->seeds++], modes->mode[k].u, sizeof p->seed[0]);
        c->narrow = fmin(c->narrow, width_of(c, modes->mode[k].precision));
        *top = fmax(*top, modes->mode[k].value);
    }
    return true;
}

/* Frame and seeds of one chart; seeds are for all charts, where images of modes may be. */
static bool look(stair_worker *w, int chart, double cutoff, plane *p)
{
    plane_chart *c = &p->chart[chart];
    double value[SCAN * SCAN];
    w->f.chart = chart;
    double top = scan(&w->f, value);
    if (!frame_of_scan(value, top, c) && !frame_of_modes(w, cutoff, p, c, &top)) return false;
    c->log_det = log(fabs(c->lower[0] * c->lower[3]));
    for (int k = 0; k < SCAN * SCAN; k++)
        if (value[k] > top - cutoff) {
            p->seed[p->seeds][0] = scanned(k / SCAN);
            p->seed[p->seeds++][1] = scanned(k % SCAN);
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
    for (int i = 0; i < n; i++) value[i] = value_at(f, i);
    stair_integrand_add(f, n, NULL, top, into);
}

/* Adds one coset, nodes (i + shift_0, j + shift_1) step, of one chart; false when the table or the budget
 * ends before the integrand. */
static bool add_chart(stair_worker *w, plane *p, const plane_chart *c, const double *shift, double step,
                      double cutoff, int64_t budget, stair_moments *into)
{
    stair_integrand *f = &w->f;
    double value[STAIR_BLOCK];
    int queued = 0;
    bool whole = true;
    for (int k = 0; k < p->seeds; k++) {
        double x = (p->seed[k][0] - c->centre[0]) / c->lower[0],
               y = (p->seed[k][1] - c->centre[1] - c->lower[2] * x) / c->lower[3];
        visit_around(p, (int)lround(fmin(fmax(x / step, -SIDE), SIDE)),
                     (int)lround(fmin(fmax(y / step, -SIDE), SIDE)), &queued);
    }
    for (int from = 0, n; from < queued && whole; from += n) {
        n = queued - from < STAIR_BLOCK ? queued - from : STAIR_BLOCK;
        whole = f->visited + n <= budget;
        if (!whole) break;
        evaluate_nodes(f, p, c, shift, step, from, n, into, value);
        double before = p->top;
        for (int i = 0; i < n; i++) p->top = fmax(p->top, value[i]);
        p->mass *= exp(before - p->top);
        p->shore *= exp(before - p->top);
        for (int i = 0; i < n; i++) {
            *(value[i] > p->top - cutoff ? &p->mass : &p->shore) += exp(value[i] - p->top);
            if (value[i] > p->top - cutoff)
                whole &= visit_around(p, p->queue[from + i][0], p->queue[from + i][1], &queued);
        }
    }
    for (int k = 0; k < queued; k++)
        p->seen[((p->queue[k][0] + SIDE / 2) * SIDE + p->queue[k][1] + SIDE / 2) / 8] = 0;
    return whole;
}

/* into += one coset of all charts */
static bool add_coset(stair_worker *w, plane *p, int coset, double step, double cutoff, int64_t budget,
                      stair_moments *into)
{
    static const double shift[COSETS][2] = {{0, 0}, {0.5, 0.5}, {0.5, 0}, {0, 0.5}};
    for (int k = 0; k < w->f.fibre.charts; k++) {
        w->f.chart = k;
        stair_moments_clear(&w->f, &w->extra);
        double chart_step = step * p->chart[k].narrow;
        if (!add_chart(w, p, &p->chart[k], shift[coset], chart_step, cutoff, budget, &w->extra)) return false;
        stair_moments_merge(&w->f, into, &w->extra, 2 * log(chart_step) + p->chart[k].log_det);
    }
    return true;
}

/* Doubles the cosets of one step, first one and one, then two and two; the error that is left, or infinite.
 */
static double integrate(stair_worker *w, plane *p, double step, double cutoff, int64_t budget,
                        double *truncation, stair_posterior *out)
{
    stair_integrand *f = &w->f;
    double difference = 0, earlier, error = INFINITY;
    p->top = -1e300;
    p->mass = p->shore = 0;
    stair_moments_clear(f, &w->part[0]);
    if (!add_coset(w, p, 0, step, cutoff, budget, &w->part[0])) return INFINITY;
    for (int done = 1; done < COSETS; done *= 2) {
        earlier = difference;
        stair_moments_clear(f, &w->part[1]);
        for (int coset = done; coset < 2 * done; coset++)
            if (!add_coset(w, p, coset, step, cutoff, budget, &w->part[1])) return INFINITY;
        stair_moments_finish(f, &w->part[0], &w->first);
        stair_moments_finish(f, &w->part[1], &w->second);
        difference = stair_posterior_distance(f, &w->first, &w->second);
        stair_moments_merge(f, &w->part[0], &w->part[1], 0);
        stair_moments_finish(f, &w->part[0], out);
        out->logz -= log(2 * done);
        if (done == 1) continue; /* one difference says nothing of its own reliability */
        double sensitivity = stair_posterior_sensitivity(f, out);
        error = fmax(difference, earlier * earlier / sensitivity);
        *truncation = sensitivity * tuning.shore * p->shore / p->mass;
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
    if (!w->plane && !(w->plane = calloc(1, sizeof *w->plane))) return result;
    plane *p = w->plane; /* nothing is marked as seen between samples */
    do {
        int64_t budget = w->f.visited + options->max_nodes;
        goal.precision = fmin(goal.precision, tuning.coarsest);
        double cutoff = goal.cutoff - log(goal.precision) + tuning.beyond, step = tuning.step;
        bool found = true;
        p->seeds = 0;
        for (int k = 0; k < w->f.fibre.charts && found; k++) found = look(w, k, cutoff, p);
        if (!found) break;
        w->f.chart = 0;
        step /= sqrt(-log(fmin(goal.precision, 1e-2)));
        result.error = INFINITY;
        for (int stalled = 0; !(result.error <= goal.precision) && stalled < tuning.stalls;) {
            double truncation = 0, error = integrate(w, p, step, cutoff, budget, &truncation, out);
            if (!isfinite(error)) break;
            error += truncation;
            if (truncation > 0.5 * goal.precision) { /* tails are followed farther */
                cutoff += log(4 * truncation / goal.precision);
                result.error = error;
                stalled++;
                continue;
            }
            stalled = error > 0.5 * result.error ? stalled + 1 : 0; /* by rounding, or a ridge not seen yet */
            result.error = error;
            step *= tuning.finer;
        }
    } while (!stair_rule_accept(&w->f, options, out, &goal, &result));
    result.error += tuning.unseen;
    return result;
}

const stair_channel_rule stair_rule_plane = {
    .name = "plane", .number = STAIR_RULE_PLANE, .cost = 20, .fits = fits, .evaluate = evaluate};
