/* Between two steps the fixed points of state evolution are one smooth branch: it is solved at a few places
 * and the overlaps at any alpha are read off a fit, instead of solving each alpha anew.
 *
 * A branch is parametrised by the mean v of the eigenvalues of V = 1 - Q on what is learned; solving at given
 * v has no critical slowing down.  From v_0 at its step on, v = v_0 cos^2(x): x is like the square root of
 * the new overlap at one end and like that of what is left at the other, which is how the branch is not
 * smooth in Q.  Its ends are steps and known well.  Fitted are polynomials in x to the entries of log(V/v),
 * and to log alpha, or, where the branch ends in perfect recovery at alpha_p, to log((alpha_p - alpha)/v), on
 * all of the way to alpha_p.  Nodes have independent random numbers.  That the branch is smooth is put in as
 * a prior for the coefficients of Chebyshev polynomials, which fall at least like DECAY^k (they do, by a
 * factor of two and more, on the branches that are known to 1e-5); where the nodes show larger ones the prior
 * is made as wide.  The error is that of the posterior: it grows beyond the last node, and is larger where
 * nodes are off by more than their own.
 *
 * Where alpha does not grow along a branch, or a step is a jump, there is no curve and STAIR_UNSUPPORTED is
 * returned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/branch.h"
#include "asymptotics/perfect.h"
#include "asymptotics/staircase.h"
#include "core/chebyshev.h"
#include "core/matrix.h"
#include "core/spectral.h"

#define MOST_NODES 16 /* of one branch */

static const struct {
    double least_error; /* relative, of a node: what the fit can tell from zero */
    int noisy_nodes;  /* of a branch whose nodes are not cheap, if it goes all the way; else in proportion, */
    int fewest_nodes; /* and at least these */
    int finer_grids;  /* grids are made finer at most so often, */
    double finer;     /* each time by this factor, */
    double grid_share;   /* until the error is that part of what is wanted */
    double close_enough; /* times what is wanted is near enough where it takes more samples */
    double node_share;   /* error of a node, relative to the error wanted of the fit */
    int more_nodes;      /* one after the other where the fit is worst, until it is good */
    double least_change; /* of an overlap along a branch, for how well its nodes have to be known */
    double last_rest;    /* v of the last node before perfect recovery, in units of the precision, */
    double furthest;     /* and at most that: beyond it the branch is a guess */
    double no_rest;      /* v, in units of the precision, beyond which no node is put in later */
    double widening; /* of samples when everything is learned: only the operator has tails that need more */
    double beyond;   /* the last branch is followed to that much more than the largest alpha */
    int checks;      /* places where alpha is seen to grow, and the error of the fit is looked at */
    double doubt;    /* standard errors by which alpha may seem to fall */
} tuning = {.least_error = 1e-5,
            .noisy_nodes = 9,
            .fewest_nodes = 3,
            .finer_grids = 4,
            .finer = 1.2,
            .grid_share = 0.5,
            .close_enough = 1.15,
            .node_share = 0.9,
            .more_nodes = 4,
            .least_change = 0.1,
            .last_rest = 3.0,
            .furthest = 0.05,
            .no_rest = 0.5,
            .widening = 1.1,
            .beyond = 1.05,
            .checks = 400,
            .doubt = 3.0};

typedef struct {
    double v, x, alpha, error;
    double shape[STAIR_SQUARE]; /* (d, d): log(V/v) */
    double shape_error[STAIR_SQUARE];
} curve_node;

typedef struct {
    int learned;
    double axes[STAIR_SQUARE]; /* (P, learned) */
    double from, to;           /* alpha */
    double start;              /* v_0 */
    double x_to;               /* x of the last node */
    double limit;              /* alpha of perfect recovery at x = pi/2, or 0 */
    stair_chebyshev alpha;
    stair_chebyshev shape[STAIR_MAX_INDICES * (STAIR_MAX_INDICES + 1) / 2];
} curve_branch;

struct stair_curve {
    int p;
    const stair_structure *structure; /* the model's */
    stair_step steps[STAIR_MOST_STEPS];
    int step_count;
    curve_branch *branches;
    int branch_count;
};

/* ---- fits ------------------------------------------------------------------------------------- */

/* x of perfect recovery, or of the last node. */
static double end_of(const curve_branch *c)
{
    return c->limit > 0 ? M_PI_2 : c->x_to;
}

static double place(const curve_branch *c, double x)
{
    return 2 * x / end_of(c) - 1;
}

static double mean_at(const curve_branch *c, double x)
{
    return c->start * cos(x) * cos(x);
}
static double place_of(const curve_branch *c, double v)
{
    return acos(sqrt(fmin(1, v / c->start)));
}

/* ---- a branch --------------------------------------------------------------------------------- */

static double alpha_at(const curve_branch *c, double x)
{
    double value = exp(stair_chebyshev_value(&c->alpha, place(c, x)));
    return c->limit > 0 ? c->limit - mean_at(c, x) * value : value;
}

static double alpha_error_at(const curve_branch *c, double x)
{
    double relative = stair_chebyshev_error(&c->alpha, place(c, x));
    return relative * (c->limit > 0 ? c->limit - alpha_at(c, x) : alpha_at(c, x));
}

/* V (d, d) at x: the exponential of the fitted logarithm, with its mean eigenvalue made v. */
static void rest_at(const curve_branch *c, double x, double *v)
{
    int d = c->learned;
    double shape[STAIR_SQUARE] = {0}, values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], mean = 0;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            shape[i * d + j] = stair_chebyshev_value(&c->shape[stair_packed(i, j)], place(c, x));
    stair_matrix_eigen(d, shape, values, vectors);
    for (int k = 0; k < d; k++) mean += (values[k] = exp(values[k])) / d;
    for (int k = 0; k < d; k++) values[k] = fmin(1, mean_at(c, x) * values[k] / mean);
    stair_spectral_compose(d, values, vectors, v);
}

static void overlap_at(const curve_branch *c, int p, double x, double *q)
{
    double v[STAIR_SQUARE];
    rest_at(c, x, v);
    for (int i = 0; i < c->learned * c->learned; i++) v[i] = (i % (c->learned + 1) == 0) - v[i];
    stair_spectral_lift(p, c->learned, c->axes, v, q);
}

/* x where the branch has this alpha. */
static double solve_for(const curve_branch *c, double alpha)
{
    double low = 0, high = end_of(c);
    for (int k = 0; k < 100; k++) {
        double middle = 0.5 * (low + high);
        *(alpha_at(c, middle) < alpha ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* The error of alpha moves the point along the branch; those of the shape move it beside. */
static void overlap_errors(const curve_branch *c, int p, double x, double *error)
{
    int d = c->learned;
    double end = end_of(c), low = fmax(x - 1e-4 * end, 0), high = fmin(x + 1e-4 * end, end);
    double near[STAIR_SQUARE], far[STAIR_SQUARE], v[STAIR_SQUARE], beside[STAIR_SQUARE];
    double slope = fabs(alpha_at(c, high) - alpha_at(c, low)),
           move = slope > 0 ? alpha_error_at(c, x) / slope : INFINITY;
    overlap_at(c, p, low, near);
    overlap_at(c, p, high, far);
    rest_at(c, x, v);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            v[i * d + j] = sqrt(v[i * d + i] * v[j * d + j]) *
                           stair_chebyshev_error(&c->shape[stair_packed(i, j)], place(c, x));
    stair_spectral_lift(p, d, c->axes, v, beside);
    for (int i = 0; i < p * p; i++) error[i] = fmin(1, hypot((near[i] - far[i]) * move, beside[i]));
}

static bool grows(const curve_branch *c)
{
    double before = alpha_at(c, 0);
    for (int k = 1; k <= tuning.checks; k++) {
        double x = end_of(c) * k / tuning.checks, now = alpha_at(c, x);
        if (!(now > before - tuning.doubt * alpha_error_at(c, x))) return false;
        before = fmax(before, now);
    }
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/* log(V/v) on the learned axes from q (P, P) */
static void shape_of(const curve_branch *c, int p, const double *q, curve_node *node)
{
    int d = c->learned;
    double v[STAIR_SQUARE] = {0}, values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], mean = 0;
    for (int k = 0; k < d; k++)
        for (int l = 0; l < d; l++) {
            v[k * d + l] = k == l;
            for (int i = 0; i < p; i++)
                for (int j = 0; j < p; j++)
                    v[k * d + l] -= c->axes[i * d + k] * q[i * p + j] * c->axes[j * d + l];
        }
    stair_matrix_eigen(d, v, values, vectors);
    for (int k = 0; k < d; k++) mean += (values[k] = fmax(values[k], 1e-15)) / d;
    for (int k = 0; k < d; k++) values[k] = log(values[k] / mean);
    stair_spectral_compose(d, values, vectors, node->shape);
    node->v = mean;
    node->x = place_of(c, mean);
}

static void read_node(const curve_branch *c, int p, const stair_branch_point *point, curve_node *node)
{
    int d = c->learned;
    shape_of(c, p, point->q, node);
    node->alpha = point->alpha;
    node->error = fmax(point->alpha_error, tuning.least_error * point->alpha);
    double relative[STAIR_MAX_INDICES]; /* errors of V along each axis */
    for (int k = 0; k < d; k++) {
        double moved = 0;
        for (int i = 0; i < p; i++)
            moved += c->axes[i * d + k] * c->axes[i * d + k] * point->q_error[i * (p + 1)];
        relative[k] = moved / (exp(node->shape[k * (d + 1)]) * node->v);
    }
    for (int k = 0; k < d; k++)
        for (int l = 0; l < d; l++)
            node->shape_error[k * d + l] = fmax(tuning.least_error, sqrt(relative[k] * relative[l]));
}

/* One fixed point whose alpha has about the error `wanted`: on finer grids, or with as many more samples as
 * that takes. */
static stair_status solve_node(stair_branch *b, const curve_branch *c, double v, double wanted, uint64_t seed,
                               stair_branch_point *point, curve_node *node)
{
    stair_average_effort fine = b->fine;
    int p = b->model->info.indices;
    b->fine.seed = b->coarse.seed = seed;
    stair_context_allow(b->context, b->patience);
    STAIR_TRY(stair_branch_at_mean(b, v, true, point));
    for (int k = 0;
         k < tuning.finer_grids && !point->random && point->alpha_error > tuning.grid_share * wanted; k++) {
        b->fine.fineness *= tuning.finer;
        STAIR_TRY(stair_branch_at_mean(b, v, true, point));
    }
    double error = point->alpha_error / point->alpha;
    if (point->alpha_error > tuning.close_enough * wanted &&
        stair_branch_sharpen(b, point, error, wanted / point->alpha))
        STAIR_TRY(stair_branch_at_mean(b, v, true, point));
    b->fine = fine;
    read_node(c, p, point, node);
    return point->stop != STAIR_STOP_CONVERGED
               ? stair_fail(b->context, STAIR_UNSUPPORTED, "no fixed point with mean 1 - Q = %g", v)
               : STAIR_OK;
}

/* Fits to the nodes; false where alpha does not grow: at a node beyond perfect recovery it falls again on the
 * way there. */
static bool fit_branch(curve_branch *c, int n, const curve_node *node)
{
    double z[MOST_NODES + 2], value[MOST_NODES + 2], error[MOST_NODES + 2];
    int used = 0, d = c->learned;
    for (int i = 0; i < n; i++) {
        double gap = c->limit > 0 ? (c->limit - node[i].alpha) / node[i].v : node[i].alpha;
        double scale = c->limit > 0 ? c->limit - node[i].alpha : node[i].alpha;
        if (scale < -tuning.doubt * node[i].error) return false;
        if (!(gap > 0) || node[i].error > 0.5 * scale) continue; /* too close to perfect recovery to tell */
        z[used] = place(c, node[i].x);
        value[used] = log(gap);
        error[used++] = node[i].error / scale;
    }
    if (used < 3) return false;
    stair_chebyshev_fit(end_of(c) / M_PI_2, used, z, value, error, &c->alpha);
    for (int k = 0; k < d; k++)
        for (int l = 0; l <= k; l++) {
            for (int i = 0; i < n; i++) {
                z[i] = place(c, node[i].x);
                value[i] = node[i].shape[k * d + l];
                error[i] = node[i].shape_error[k * d + l];
            }
            stair_chebyshev_fit(end_of(c) / M_PI_2, n, z, value, error, &c->shape[stair_packed(k, l)]);
        }
    return grows(c);
}

/* Where on the branch, beyond `from` and up to alpha = `most`, the largest error of an overlap is, and that
 * error. */
static double worst_error(const curve_branch *c, int p, double from, double most, double *x)
{
    double error[STAIR_SQUARE], worst = 0;
    for (int k = 1; k < tuning.checks; k++) {
        double at = from + (end_of(c) - from) * k / tuning.checks;
        if (alpha_at(c, at) > most) break;
        overlap_errors(c, p, at, error);
        for (int i = 0; i < p * p; i++)
            if (error[i] > worst) {
                worst = error[i];
                *x = at;
            }
    }
    return worst;
}

typedef struct {
    stair_context *context;
    const stair_model *model;
    const stair_asymptotics_options *options;
    double most_alpha;
    stair_curve *curve;
    stair_mark *marks;
    stair_branch_point *point;
    curve_node *node; /* (MOST_NODES + 2), of the branch at hand */
} curve_job;

static void end_node(const curve_branch *c, int p, const stair_step *step, const double *q, curve_node *node)
{
    shape_of(c, p, q, node);
    node->alpha = step->alpha;
    node->error = fmax(step->error, tuning.least_error * step->alpha);
    for (int i = 0; i < c->learned * c->learned; i++)
        node->shape_error[i] = fmax(tuning.least_error, 10 * step->error / step->alpha);
}

/* Where the last branch may stop: at perfect recovery, or beyond the largest alpha that is asked for. */
static stair_status last_mean(curve_job *job, curve_branch *c, stair_branch *b, double start, double *end)
{
    stair_perfect limit;
    *end = fmin(tuning.furthest, tuning.last_rest * job->options->precision);
    if (!b->kernel && job->model->info.prenoise == 0 && !job->model->info.output_noisy) {
        STAIR_TRY(stair_perfect_find(job->context, b->structure, 256, 2, job->options->seed, &limit));
        c->limit = limit.alpha;
        if (*end < 0.5 * start) return STAIR_OK;
    }
    stair_branch copy = *b;
    for (*end = 0.7 * start; *end > 1e-6; *end *= 0.7) {
        STAIR_TRY(stair_branch_at_mean(&copy, *end, false, job->point));
        if (job->point->alpha > tuning.beyond * job->most_alpha) return STAIR_OK;
    }
    return STAIR_OK;
}

/* Where the nodes of branch k go, and how well each is to be known. */
typedef struct {
    bool last;     /* the branch ends in perfect recovery, or nowhere */
    bool cheap;    /* nodes cost little: nothing is known of the hidden row, and grids serve */
    int inside;    /* nodes to begin with */
    double first;  /* place of the first, in steps: noisy nodes stay away from the step, which is known */
    double wanted; /* error of their alpha */
    double nearest, furthest; /* x of the first, and beyond which none goes */
} node_plan;

/* Largest change of an overlap along branch k, per alpha. */
static double steepness(const curve_job *job, int k, bool last)
{
    const stair_curve *curve = job->curve;
    const curve_branch *c = &curve->branches[k];
    int p = curve->p;
    double next = !last ? curve->steps[k + 1].alpha : c->limit > 0 ? c->limit : job->most_alpha;
    double most = 0;
    for (int i = 0; i < p; i++)
        most = fmax(most, (last ? 1 : job->marks[k + 1].q[i * (p + 1)]) - job->marks[k].q[i * (p + 1)]);
    return fmax(tuning.least_change, most) / fabs(next - curve->steps[k].alpha);
}

static node_plan plan_nodes(const curve_job *job, int k, bool last, double end)
{
    const curve_branch *c = &job->curve->branches[k];
    const stair_branch *b = &job->marks[k].branch;
    const stair_asymptotics_options *o = job->options;
    const stair_average_rule *rule = stair_average_rule_for(b->structure, &b->fine, job->marks[k].q);
    bool grids = rule && rule->refines && !rule->random(b->structure);
    int part = (int)ceil(tuning.noisy_nodes * c->x_to / M_PI_2);
    node_plan plan = {.last = last, .cheap = grids && k == 0, .first = grids ? 1 : 1.5};
    if (plan.cheap) plan.first = 0.5;
    plan.inside = plan.cheap                   ? MOST_NODES - tuning.more_nodes
                  : part > tuning.fewest_nodes ? part
                                               : tuning.fewest_nodes;
    plan.wanted = o->points ? INFINITY : tuning.node_share * o->precision / steepness(job, k, last);
    plan.nearest = c->x_to * plan.first / (plan.inside + plan.first);
    plan.furthest = place_of(c, fmin(end, tuning.no_rest * o->precision));
    return plan;
}

/* x of node i of those to begin with. */
static double planned_place(const curve_branch *c, const node_plan *plan, int i)
{
    double at = i + plan->first;
    return c->x_to * (plan->cheap ? 0.5 * (1 - cos(M_PI * at / plan->inside))
                                  : at / (plan->inside + plan->first - (plan->last ? 1 : 0)));
}

/* The error of alpha at x with which the largest error of an overlap, there, would be what is wanted. */
static double wanted_at(const curve_branch *c, double x, double worst, double precision)
{
    return tuning.node_share * alpha_error_at(c, x) * precision / worst;
}

/* Solves the nodes one by one and fits; more of them where the fit is worst, until it is good enough. */
static stair_status solve_nodes(curve_job *job, int k, const node_plan *plan, int count, bool *good)
{
    curve_branch *c = &job->curve->branches[k];
    const stair_asymptotics_options *o = job->options;
    double x = 0, wanted = plan->wanted;
    *good = false;
    for (int i = 0; i < plan->inside + tuning.more_nodes; i++) {
        uint64_t seed = o->seed + 7919 * (uint64_t)(16 * k + i + 1);
        if (i < plan->inside)
            x = planned_place(c, plan, i);
        else {
            if (!*good || o->points) break;
            double worst = worst_error(c, job->curve->p, plan->nearest, job->most_alpha, &x);
            if (worst <= o->precision) break;
            wanted = fmin(plan->wanted, wanted_at(c, x, worst, o->precision));
        }
        x = fmin(x, plan->furthest);
        STAIR_TRY(solve_node(&job->marks[k].branch, c, mean_at(c, x), wanted, seed, job->point,
                             &job->node[count++]));
        if (i >= plan->inside - 1) *good = fit_branch(c, count, job->node);
    }
    return STAIR_OK;
}

/* Branch k, from its step to the next one or to the end. */
static stair_status make_branch(curve_job *job, int k)
{
    stair_curve *curve = job->curve;
    curve_branch *c = &curve->branches[k];
    stair_branch *b = &job->marks[k].branch;
    int p = curve->p, count = 0;
    double end;
    bool last = k + 1 == curve->step_count || !isfinite(curve->steps[k + 1].alpha), good;
    c->learned = b->learned;
    memcpy(c->axes, b->axes, sizeof c->axes);
    c->start = job->marks[k].v;
    end_node(c, p, &curve->steps[k], job->marks[k].q, &job->node[count++]);
    if (last) {
        STAIR_TRY(last_mean(job, c, b, c->start, &end));
    } else {
        end_node(c, p, &curve->steps[k + 1], job->marks[k + 1].q, &job->node[count++]);
        end = job->node[1].v;
    }
    c->x_to = place_of(c, end);
    if (!b->kernel) b->fine.widening = fmin(b->fine.widening, tuning.widening);
    node_plan plan = plan_nodes(job, k, last, end);
    STAIR_TRY(solve_nodes(job, k, &plan, count, &good));
    c->from = curve->steps[k].alpha;
    c->to = !last ? curve->steps[k + 1].alpha : c->limit > 0 ? c->limit : alpha_at(c, c->x_to);
    return good ? STAIR_OK
                : stair_fail(job->context, STAIR_UNSUPPORTED, "alpha does not grow along branch %d", k + 1);
}

static stair_status make(curve_job *job)
{
    stair_curve *curve = job->curve;
    for (int k = 0; k < curve->step_count && curve->steps[k].alpha < job->most_alpha; k++) {
        if (curve->steps[k].jump)
            return stair_fail(job->context, STAIR_UNSUPPORTED, "step %d is a jump", k + 1);
        if (curve->steps[k].alpha == 0)
            return stair_fail(job->context, STAIR_UNSUPPORTED, "something is learned at any alpha");
        curve->branch_count++;
    }
    curve->branches =
        calloc((size_t)(curve->branch_count ? curve->branch_count : 1), sizeof *curve->branches);
    if (!curve->branches) return stair_fail(job->context, STAIR_NO_MEMORY, "out of memory");
    for (int k = 0; k < curve->branch_count; k++) STAIR_TRY(make_branch(job, k));
    return STAIR_OK;
}

stair_status stair_curve_from_steps(stair_context *context, const stair_model *model,
                                    const stair_asymptotics_options *options, double most_alpha, int count,
                                    const stair_step *steps, stair_mark *marks, stair_curve **curve)
{
    curve_job job = {
        .context = context, .model = model, .options = options, .most_alpha = most_alpha, .marks = marks};
    *curve = job.curve = calloc(1, sizeof **curve);
    job.point = malloc(sizeof *job.point);
    job.node = malloc((MOST_NODES + 2) * sizeof *job.node);
    stair_status status =
        *curve && job.point && job.node ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        job.curve->p = model->info.indices;
        job.curve->step_count = count;
        memcpy(job.curve->steps, steps, sizeof *steps * (size_t)count);
        status = stair_structure_find(context, model, &job.curve->structure);
    }
    if (status == STAIR_OK) status = make(&job);
    free(job.point);
    free(job.node);
    if (status != STAIR_OK) stair_curve_destroy(curve);
    return status;
}

stair_status stair_curve_create(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *options, double most_alpha,
                                stair_curve **curve)
{
    stair_step steps[STAIR_MOST_STEPS];
    int count;
    *curve = NULL;
    STAIR_TRY(stair_asymptotics_check(context, options));
    if (options->side > 0)
        return stair_fail(context, STAIR_UNSUPPORTED, "with side information there are no steps");
    stair_mark *marks = calloc(STAIR_MOST_STEPS, sizeof *marks);
    if (!marks) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status =
        stair_staircase_marks(context, model, options, STAIR_MOST_STEPS, steps, marks, &count);
    if (status == STAIR_OK)
        status = stair_curve_from_steps(context, model, options, most_alpha, count, steps, marks, curve);
    free(marks);
    return status;
}

void stair_curve_destroy(stair_curve **curve)
{
    if (!*curve) return;
    free((*curve)->branches);
    free(*curve);
    *curve = NULL;
}

/* The overlap at alpha, with the error that the branch itself has. */
static stair_stop read_branch(const stair_curve *curve, double alpha, double *q, double *q_error)
{
    int p = curve->p, k = curve->branch_count - 1;
    const curve_branch *last = curve->branch_count ? &curve->branches[k] : NULL;
    bool perfect = last && last->limit > 0 && alpha >= last->limit;
    while (k >= 0 && alpha <= curve->branches[k].from) k--;
    for (int i = 0; i < p * p; i++) {
        q[i] = perfect && i % (p + 1) == 0;
        q_error[i] = 0;
    }
    if (perfect) return STAIR_STOP_PERFECT;
    if (k < 0) return STAIR_STOP_CONVERGED;
    const curve_branch *c = &curve->branches[k];
    double x = solve_for(c, alpha);
    overlap_at(c, p, x, q);
    overlap_errors(c, p, x, q_error);
    stair_symmetrise(&curve->structure->symmetry, q);
    stair_symmetrise(&curve->structure->symmetry, q_error);
    return STAIR_STOP_CONVERGED;
}

/* Below a step, but not by more than its error tells, more may be learned already. */
stair_stop stair_curve_at(const stair_curve *curve, double alpha, double *q, double *q_error)
{
    int p = curve->p;
    stair_stop stop = read_branch(curve, alpha, q, q_error);
    for (int k = 0; k < curve->branch_count; k++) {
        double error = curve->steps[k].error, beyond[STAIR_SQUARE], unused[STAIR_SQUARE];
        if (!(alpha <= curve->branches[k].from && alpha + tuning.doubt * error > curve->branches[k].from))
            continue;
        read_branch(curve, fmax(alpha + error, curve->branches[k].from), beyond, unused);
        for (int i = 0; i < p * p; i++) q_error[i] = hypot(q_error[i], beyond[i] - q[i]);
    }
    return stop;
}

bool stair_curve_is_whole(const stair_curve *curve)
{
    int weak = 0;
    for (int k = 0; k < curve->step_count; k++) weak += isfinite(curve->steps[k].alpha);
    return weak && curve->branch_count == weak && curve->branches[weak - 1].limit > 0;
}

const stair_step *stair_curve_steps(const stair_curve *curve, int *count)
{
    *count = curve->step_count;
    return curve->steps;
}
