/* stair_evolve: where state evolution ends, from either start.
 *
 * Uninformed, without side information: Q = 0 is a fixed point of every even model.  What side information
 * lambda -> 0 reaches is found by asking for stability instead of waiting for growth: solve on the learned
 * subspace, and as long as alpha times the leading eigenvalue of F on the rest exceeds 1, learn its range.
 * Unlearned directions stay at exactly zero and there is no critical slowing down.  By monotonicity the
 * fixed point at a smaller alpha lies below and may serve as the start.
 *
 * Informed: from V = 1e-6 along the ratios state evolution itself selects.  With side information nothing is
 * ever unlearned and both starts iterate on all of Q. */
#include "asymptotics/branch.h"
#include "asymptotics/perfect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    double informed;  /* 1 - Q of full knowledge, to begin with */
    int more;         /* times that the number of samples may be multiplied by up to sixteen */
    double finer;     /* fineness each time */
    double seed;      /* overlap along a direction that has just become unstable */
    double doubt;     /* errors of f that alpha has to be away from a jump */
    double far;       /* the first look beside it, relative, */
    double nearer;    /* but no nearer to the least alpha of perfect recovery */
    double steep;     /* overlap just above a step, over alpha / step - 1; attention has 1 to 2 */
    double no_better; /* relative distance of two alphas that are the same */
    int perfect_points, perfect_replicates; /* behind the least alpha of perfect recovery */
} tuning = {.informed = 1e-6,
            .more = 2,
            .finer = 1.1,
            .seed = 0.05,
            .doubt = 3,
            .far = 0.1,
            .nearer = 0.3,
            .steep = 3,
            .no_better = 1e-9,
            .perfect_points = 256,
            .perfect_replicates = 2};

/* Everything known: V small and of no particular shape. */
static void start_everywhere(stair_branch *b, double rest)
{
    int p = b->model->info.indices;
    double q[STAIR_SQUARE] = {0};
    for (int i = 0; i < p; i++) q[i * (p + 1)] = 1 - rest;
    stair_branch_place(b, q);
}

/* Directions x (P, P) that grew from zero and shrank again: their overlap is below what the samples resolve,
 * and the seed they were given bounds it. */
static void blur(int p, const double *x, stair_branch_point *point)
{
    double top = 0;
    for (int i = 0; i < p; i++) top = fmax(top, x[i * (p + 1)]);
    for (int i = 0; i < p * p && top > 0; i++)
        point->q_error[i] = fmax(point->q_error[i], tuning.seed * fabs(x[i]) / top);
}

/* A direction that is stable, but not by more than the error of its eigenvalue tells: its overlap may have
 * begun to grow. */
static void doubt_stability(int p, double alpha, stair_branch_point *point)
{
    double top = 0, *x = point->leading.x, growth = alpha * (point->leading.value + point->leading.error) - 1;
    for (int i = 0; i < p; i++) top = fmax(top, x[i * (p + 1)]);
    for (int i = 0; i < p * p && top > 0 && growth > 0; i++)
        point->q_error[i] = fmin(1, hypot(point->q_error[i], tuning.steep * growth * fabs(x[i]) / top));
}

/* No fixed point was found: overlaps are known to no better than the size of a first step. */
static void never_settled(int p, stair_branch_point *point)
{
    for (int i = 0; i < p; i++)
        if (point->q[i * (p + 1)] > 0)
            point->q_error[i * (p + 1)] = fmax(point->q_error[i * (p + 1)], tuning.seed);
}

static bool is_unstable(double alpha, const stair_branch_point *point)
{
    return point->drifts || alpha * point->leading.value > 1;
}

/* A drift begins with what one step of state evolution makes of it; what grows from zero gets a seed. */
static void learn_unstable(stair_branch *b, double alpha, const stair_branch_point *point)
{
    int p = b->model->info.indices;
    double top = 0;
    for (int i = 0; i < p && point->drifts; i++) top = fmax(top, alpha * point->drift[i * (p + 1)]);
    if (point->drifts)
        stair_branch_learn(b, point->drift, top / (1 + top));
    else
        stair_branch_learn(b, point->leading.x, tuning.seed);
}

/* Learns until nothing more is unstable, or what is was let go already: the rules for zero and for small
 * overlaps have different errors and need not agree right at a step. */
static stair_status climb(stair_branch *b, double alpha, stair_branch_point *point)
{
    int steps = 0, p = b->model->info.indices;
    bool let_go = false, grown = false;
    double first[STAIR_SQUARE] = {0}; /* what was learned from nothing */
    if (b->learned)
        STAIR_TRY(stair_branch_at_alpha(b, alpha, point));
    else
        STAIR_TRY(stair_branch_at_zero(b, fmin(1e-3, b->tolerance), point));
    for (;;) {
        steps += point->steps;
        if (point->shrinking) {
            let_go |= grown;
            b->rising &= !let_go;
            stair_branch_place(b, point->q);
            STAIR_TRY(stair_branch_at_alpha(b, alpha, point));
            continue;
        }
        if (point->stop == STAIR_STOP_ITERATIONS) never_settled(p, point);
        if (!b->kernel || point->stop == STAIR_STOP_ITERATIONS || !is_unstable(alpha, point)) {
            if (b->kernel) doubt_stability(p, alpha, point);
            break;
        }
        if (let_go) {
            blur(p, point->leading.x, point);
            break;
        }
        grown = true;
        if (!b->learned) memcpy(first, point->leading.x, sizeof first);
        learn_unstable(b, alpha, point);
        STAIR_TRY(stair_branch_at_alpha(b, alpha, point));
    }
    if (point->stop == STAIR_STOP_ZERO) blur(p, first, point);
    point->steps = steps;
    return STAIR_OK;
}

/* Without noise Q = 1 is a fixed point of its own, and stable or not: no iteration could tell. */
static stair_status stays_perfect(stair_branch *b, double alpha, stair_branch_point *point)
{
    stair_perfect limit;
    if (b->model->info.prenoise > 0 || b->model->info.output_noisy) return STAIR_OK;
    STAIR_TRY(stair_perfect_find(b->context, b->structure, (size_t)tuning.perfect_points,
                                 tuning.perfect_replicates, b->fine.seed, &limit));
    if (alpha > limit.alpha) point->stop = STAIR_STOP_PERFECT;
    return STAIR_OK;
}

/* Where a solve starts: `from` (P, P), full knowledge, side information, or nothing. */
typedef struct {
    bool informed;
    const double *from; /* or NULL */
} solve_start;

static void begin(stair_branch *b, solve_start start)
{
    stair_branch_start(b);
    b->rising = !start.informed && !start.from;
    if (start.from)
        stair_branch_place(b, start.from);
    else if (start.informed)
        start_everywhere(b, tuning.informed);
    else if (b->side > 0)
        start_everywhere(b, 1 - fmin(0.5, b->side));
}

/* What is reached at another alpha: from the start, or from where b is where that is NULL. */
static stair_status look_at_other_side(const stair_branch *b, double alpha, const solve_start *start,
                                       stair_branch_point *other)
{
    stair_branch *copy = malloc(sizeof *copy);
    if (!copy) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    *copy = *b;
    if (start) begin(copy, *start);
    stair_status status = climb(copy, alpha, other);
    free(copy);
    return status;
}

/* alpha seems to be above a jump: looks below it, nearer and nearer, as long as the error of f that is found
 * there leaves room.  What the last look found is the error. */
static stair_status doubt_above(const stair_branch *b, double alpha, double least, solve_start start,
                                stair_branch_point *point, stair_branch_point *other)
{
    int p = b->model->info.indices;
    bool doubtful = true;
    for (double below = fmax(least, alpha * (1 - tuning.far)); doubtful && below < alpha;) {
        STAIR_TRY(look_at_other_side(b, below, &start, other));
        doubtful = other->stop == STAIR_STOP_CONVERGED;
        double nearer = alpha * (1 - tuning.doubt * other->f_error);
        if (!doubtful || nearer <= below * (1 + tuning.no_better)) break;
        below = nearer;
    }
    for (int i = 0; i < p * p && doubtful; i++) point->q_error[i] = fabs(other->q[i] - (i % (p + 1) == 0));
    point->random = other->random; /* how more samples would help */
    point->rule = other->rule;
    return STAIR_OK;
}

/* Overlaps may jump to perfect recovery.  Next to such a place the error of f decides on which side alpha is:
 * the other side is looked at, at an alpha that differs by as much. */
static stair_status doubt_jump(const stair_branch *b, double alpha, solve_start start,
                               stair_branch_point *point)
{
    int p = b->model->info.indices;
    stair_perfect limit;
    if (b->model->info.prenoise > 0 || b->model->info.output_noisy || b->side > 0) return STAIR_OK;
    STAIR_TRY(stair_perfect_find(b->context, b->structure, (size_t)tuning.perfect_points,
                                 tuning.perfect_replicates, b->fine.seed, &limit));
    if (alpha <= limit.alpha) return STAIR_OK; /* it is reached continuously, or not yet */
    stair_branch_point *other = malloc(sizeof *other);
    if (!other) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    stair_status status;
    if (point->stop == STAIR_STOP_PERFECT)
        status =
            doubt_above(b, alpha, limit.alpha + tuning.nearer * (alpha - limit.alpha), start, point, other);
    else {
        status = look_at_other_side(b, alpha * (1 + tuning.doubt * point->f_error), NULL, other);
        bool lost = status == STAIR_OK && other->stop == STAIR_STOP_PERFECT;
        /* if not lost, three errors have to reach that far */
        for (int i = 0; i < p * p && status == STAIR_OK; i++) {
            double away = fabs(point->q[i] - (lost ? i % (p + 1) == 0 : other->q[i]));
            point->q_error[i] = fmax(point->q_error[i], away / (lost ? 1 : tuning.doubt));
        }
    }
    free(other);
    return status;
}

static double worst(int p, const stair_branch_point *point)
{
    double error = 0;
    for (int i = 0; i < p * p; i++) error = fmax(error, point->q_error[i]);
    return error;
}

static stair_status settle_at(stair_branch *b, double alpha, solve_start start, stair_branch_point *point)
{
    STAIR_TRY(climb(b, alpha, point));
    bool settled = point->stop == STAIR_STOP_CONVERGED || point->stop == STAIR_STOP_PERFECT;
    return settled && !start.informed ? doubt_jump(b, alpha, start, point) : STAIR_OK;
}

static stair_status run(stair_branch *b, const stair_asymptotics_options *o, double alpha, solve_start start,
                        stair_branch_point *point)
{
    double precision = o->precision;
    int rounds = o->points ? 0 : tuning.more;
    int p = b->model->info.indices;
    memset(point, 0, sizeof *point);
    point->stop = STAIR_STOP_CONVERGED;
    for (int i = 0; i < p; i++) point->q[i * (p + 1)] = b->side; /* no samples: what side information says */
    if (alpha == 0) return STAIR_OK;
    begin(b, start);
    STAIR_TRY(start.informed ? stays_perfect(b, alpha, point) : STAIR_OK);
    if (point->stop != STAIR_STOP_PERFECT) STAIR_TRY(settle_at(b, alpha, start, point));
    for (int round = 0; round < rounds && worst(p, point) > precision; round++) {
        size_t points = b->fine.points; /* the error asked for was missed: more samples, from where we are */
        stair_branch_sharpen(b, point, worst(p, point), precision);
        b->coarse.points *= b->fine.points / points;
        b->fine.fineness *= tuning.finer;
        if (point->stop != STAIR_STOP_CONVERGED) begin(b, start);
        STAIR_TRY(settle_at(b, alpha, start, point));
    }
    for (int i = 0; i < p * p && point->stop == STAIR_STOP_PERFECT; i++) point->q[i] = i % (p + 1) == 0;
    for (int i = 0; i < p * p && point->stop == STAIR_STOP_ZERO; i++) point->q[i] = 0;
    return STAIR_OK;
}

stair_status stair_evolve(stair_context *context, const stair_model *model,
                          const stair_asymptotics_options *options, double alpha, bool informed,
                          const double *from, stair_evolution *result)
{
    STAIR_TRY(stair_asymptotics_check(context, options));
    if (!(alpha >= 0 && alpha < 1e9))
        return stair_fail(context, STAIR_BAD_INPUT, "alpha must not be negative, or %g", alpha);
    size_t cells = (size_t)(model->info.indices * model->info.indices);
    stair_branch *b = malloc(sizeof *b);
    stair_branch_point *point = malloc(sizeof *point);
    stair_status status = b && point ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) status = stair_branch_prepare(b, context, model, options);
    if (status == STAIR_OK)
        status = run(b, options, alpha, (solve_start){.informed = informed, .from = from}, point);
    if (status == STAIR_OK) {
        memcpy(result->q, point->q, cells * sizeof(double));
        memcpy(result->q_error, point->q_error, cells * sizeof(double));
        result->iterations = point->steps;
        result->residual = point->residual;
        result->stop = point->stop;
        status = stair_errors_at(context, model, options, result->q, result->q_error, &result->errors);
    }
    double missed = status == STAIR_OK ? worst(model->info.indices, point) : 0;
    free(b);
    free(point);
    if (status == STAIR_OK && result->stop == STAIR_STOP_ITERATIONS)
        return stair_fail(context, STAIR_NOT_CONVERGED,
                          "state evolution at alpha = %g stopped after %d iterations, residual %.2g", alpha,
                          result->iterations, result->residual);
    if (missed > options->precision)
        return stair_fail(context, STAIR_NOT_CONVERGED,
                          "an overlap at alpha = %g has an error of %.2g, above the precision %.2g", alpha,
                          missed, options->precision);
    return status;
}
