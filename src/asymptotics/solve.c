/* Fixed points on a branch, at given alpha or at a given mean rest v.
 *
 * In y = log Qhat growth from small overlaps is linear and so is the approach to perfect recovery.  The map
 * is first iterated on few points with Anderson mixing (core/mixing.h), each step limited; its Jacobian is
 * then taken by differences, and the full rule is solved by one Newton step with that Jacobian and mixing
 * again. Both rules keep their random numbers, so each map is a smooth deterministic function; the Jacobian
 * also turns the spread of f over replicates into the error of Q. */
#include "asymptotics/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/mixing.h"
#include "core/spectral.h"

static const struct {
    double most_move;        /* largest change of log Qhat in a step */
    double slope_doubt;      /* relative error of a Jacobian, */
    double noisy_doubt;      /* and of one of a map with random nodes */
    double unstable;         /* alpha times the leading eigenvalue, less three errors, beyond doubt */
    double lost;             /* log Qhat of a direction that no longer counts as learned */
    double coarse_tolerance; /* times the tolerance is enough on the way, */
    double loosest[2];       /* by mean also this, at a point of the walk and before the full rule: the
                                coarse rule is wrong by more, and no smoother */
    int coarse_changes;      /* of the coarse rule on the way: the first steps may go far */
    double linear;           /* times the tolerance: squares of a residual that Newton's step takes care of */
    double most_stale;       /* change of log Qhat, */
    double most_gain;        /* or largest response to a change of f, beyond which a Jacobian is taken anew */
    double small;            /* change of log Qhat over which Q is linear in it */
    int fewer_points;        /* times fewer samples, to come close to the solution of the full rule, */
    int fewer_nodes;         /* and hidden nodes */
    double drift_errors;     /* errors by which f has to exceed zero on what is not learned, */
    double least_drift;      /* and what counts as rounding */
    double finer;            /* fineness from grid to grid at Q = 0, */
    double finest;           /* at most */
} tuning = {.most_move = 2.0,
            .slope_doubt = 0.05,
            .noisy_doubt = 0.1,
            .unstable = 1.2,
            .lost = -16.0,
            .coarse_tolerance = 100.0,
            .loosest = {1e-3, 1e-4},
            .coarse_changes = 1,
            .linear = 1.0,
            .most_stale = 0.3,
            .most_gain = 8.0,
            .small = 0.1,
            .fewer_points = 8,
            .fewer_nodes = 4,
            .drift_errors = 5.0,
            .least_drift = 1e-10,
            .finer = 1.2,
            .finest = 3.0};

static int most_replicates(const stair_branch *b)
{
    return b->fine.replicates > b->coarse.replicates ? b->fine.replicates : b->coarse.replicates;
}

/* What a solve needs room for: a Jacobian, and the iterates that mixing remembers. */
typedef struct {
    stair_newton newton;
    double memory[STAIR_MIXING_ROOM(STAIR_SQUARE)];
} solve_room;

/* ---- iteration ---------------------------------------------------------------------------------- */

/* A mix that turns against the plain step is not trusted: state evolution is monotone. */
static void keep_direction(const stair_branch *b, const double *image, double *next)
{
    int cells = b->learned * b->learned;
    double along = 0;
    for (int c = 0; c < cells; c++) along += (next[c] - b->y[c]) * (image[c] - b->y[c]);
    if (!(along > 0)) memcpy(next, image, sizeof(double) * (size_t)cells);
}

/* Moves y towards `next`, no entry by more than `most`. */
static void move(stair_branch *b, const double *next, double most)
{
    double largest = 0;
    int cells = b->learned * b->learned;
    for (int c = 0; c < cells; c++) largest = fmax(largest, fabs(next[c] - b->y[c]));
    double scale = largest > most ? most / largest : 1;
    for (int c = 0; c < cells; c++) b->y[c] += scale * (next[c] - b->y[c]);
}

/* Perfect recovery of everything, or back to zero where side information does not hold it. */
static bool has_left(const stair_branch *b, stair_map_target target)
{
    return !target.by_mean && ((!b->kernel && stair_branch_largest(b) < b->perfect) ||
                               (b->side == 0 && stair_branch_least(b) > 1 - 1e-9));
}

/* A learned direction on its way back to zero while others stay: it has to be let go. */
static bool is_shrinking(const stair_branch *b, stair_map_target target)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    if (target.by_mean || b->side > 0 || b->learned < 2) return false;
    stair_matrix_eigen(b->learned, b->y, values, vectors);
    return values[0] < tuning.lost && values[b->learned - 1] > tuning.lost / 2;
}

/* State evolution is monotone: what is unstable below a fixed point is unstable at it. */
static bool is_growing(const stair_branch *b, const stair_average *average, stair_map_target target,
                       stair_branch_point *point)
{
    if (!b->rising || target.by_mean || !b->kernel) return false;
    stair_operator_leading(average, &b->structure->symmetry, b->rest, &point->leading);
    return target.value * (point->leading.value - 3 * point->leading.error) > tuning.unstable;
}

/* Whether another set of directions has to be learned: this is no fixed point. */
static bool learns_others(const stair_branch *b, stair_map_target target, stair_branch_point *point)
{
    point->shrinking = !point->growing && is_shrinking(b, target);
    return point->growing || point->shrinking;
}

static stair_status approach(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                             stair_map_target target, double tolerance, solve_room *room,
                             stair_branch_point *point)
{
    stair_mixing mixing = {.cells = b->learned * b->learned, .memory = room->memory};
    stair_map_value at;
    double next[STAIR_SQUARE];
    for (; point->steps < b->most_steps; point->steps++) {
        STAIR_TRY(stair_map_at(b, effort, average, target, &at));
        point->residual = at.residual;
        if (at.residual <= tolerance) return STAIR_OK;
        point->growing = is_growing(b, average, target, point);
        if (point->growing) return STAIR_OK;
        stair_mixing_add(&mixing, b->y, at.image);
        stair_mixing_next(&mixing, next);
        keep_direction(b, at.image, next);
        double most = fmin(tuning.most_move, fmax(0.5, 20 * at.residual));
        move(b, mixing.count > 1 ? next : at.image, most);
        if (has_left(b, target) || is_shrinking(b, target)) return STAIR_OK;
    }
    return STAIR_OK;
}

/* ---- Newton and errors ------------------------------------------------------------------------- */

/* A Newton step with the coarse Jacobian, then Anderson mixing: both on the rule given. */
static stair_status polish(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                           stair_map_target target, solve_room *room, stair_branch_point *point)
{
    stair_map_value at;
    double step[STAIR_SQUARE], next[STAIR_SQUARE];
    int cells = b->learned * b->learned;
    stair_mixing mixing = {.cells = cells, .memory = room->memory};
    for (int k = 0;; k++) {
        STAIR_TRY(stair_map_at(b, effort, average, target, &at));
        point->steps++;
        point->residual = at.residual;
        point->alpha = at.alpha;
        if (at.residual <= b->tolerance || point->steps >= b->most_steps) return STAIR_OK;
        if (target.by_mean && at.residual * at.residual <= tuning.linear * b->tolerance)
            return STAIR_OK; /* see spread() */
        stair_mixing_add(&mixing, b->y, at.image);
        stair_newton_step(b, &room->newton, at.image, step);
        for (int c = 0; c < cells; c++) next[c] = b->y[c] + step[c];
        if (k > 0) stair_mixing_next(&mixing, next);
        keep_direction(b, at.image, next);
        move(b, next, fmin(tuning.most_move, k > 0 ? fmax(0.2, 20 * at.residual) : 0.5));
        if (has_left(b, target)) return STAIR_OK;
    }
}

/* To the solution of the full rule, by mean over one with fewer samples or random nodes: then a single full
 * evaluation is enough.  Grids without random nodes, coarse and fine, are so close to each other that it is
 * in any case. */
static stair_status refine(stair_branch *b, stair_average *average, stair_map_target target, solve_room *room,
                           stair_branch_point *point)
{
    stair_average_effort middle = b->fine;
    middle.points /= tuning.fewer_points;
    middle.nodes /= tuning.fewer_nodes;
    bool grid = average->rule->refines;
    if (grid && middle.replicates > b->coarse.replicates) middle.replicates /= 2;
    if (target.by_mean && (grid ? average->random : middle.points > b->coarse.points)) {
        stair_map_value at;
        double step[STAIR_SQUARE];
        STAIR_TRY(stair_map_at(b, &middle, average, target, &at));
        stair_newton_step(b, &room->newton, at.image, step);
        for (int c = 0; c < b->learned * b->learned; c++) b->y[c] += fmax(-1, fmin(1, step[c]));
    }
    return polish(b, &b->fine, average, target, room, point);
}

/* Newton's step from the last evaluation, by the map of replicate r (or their mean), and the alpha it leads
 * to. */
static double settle(const stair_branch *b, const stair_average *average, int r, stair_map_target target,
                     const stair_newton *n, double *step)
{
    stair_map_value at;
    stair_map_from(b, average, r, target, &at);
    stair_newton_step(b, n, at.image, step);
    return target.by_mean ? at.alpha * exp(stair_newton_slope(b, n, step)) : target.value;
}

/* How the numbers of a point were averaged. */
static void note_rule(const stair_average *average, stair_branch_point *point)
{
    point->replicates = average->replicates;
    point->bias = average->bias;
    point->rule = average->rule;
    point->random = average->random;
}

bool stair_branch_may_drift(const stair_branch *b)
{
    int p = b->model->info.indices, k = b->kernel;
    if (!b->learned && b->structure->even) return false; /* Z and -Z are equally likely */
    for (int i = 0; i < p; i++)
        for (int j = 0; j < k; j++)
            if (!b->structure->symmetry.even[i] && fabs(b->rest[i * k + j]) > tuning.least_drift) return true;
    return false;
}

/* f of replicate r on what is not learned, (P, P): rows that may change sign have none. */
static double drift_of(const stair_branch *b, const stair_average *average, int r, double *drift)
{
    int p = b->model->info.indices, k = b->kernel;
    const bool *even = b->structure->symmetry.even;
    double f[STAIR_SQUARE], inside[STAIR_SQUARE], trace = 0;
    stair_branch_f(b, average, r, f);
    for (int i = 0; i < p * p; i++)
        if (even[i / p] || even[i % p]) f[i] = 0;
    stair_symmetrise(&b->structure->symmetry, f);
    stair_spectral_project(p, k, b->rest, f, inside);
    stair_spectral_lift(p, k, b->rest, inside, drift);
    for (int i = 0; i < p; i++) trace += drift[i * (p + 1)];
    return trace;
}

/* Where the label tells of a direction by itself, E[z | y] is not zero and no threshold has to be passed. */
static void note_drift(const stair_branch *b, const stair_average *average, stair_branch_point *point)
{
    double by_replicate[STAIR_MOST_REPLICATES], unused[STAIR_SQUARE];
    if (!b->kernel || !stair_branch_may_drift(b)) return;
    for (int r = 0; r < average->replicates; r++) by_replicate[r] = drift_of(b, average, r, unused);
    double trace = drift_of(b, average, -1, point->drift);
    double error = hypot(stair_average_spread(average, by_replicate), average->bias * trace);
    point->drifts = trace > tuning.least_drift && trace > tuning.drift_errors * error;
}

/* Q (P, P) at y. */
static void overlap_at(stair_branch *b, const double *y, double *q)
{
    double kept[STAIR_SQUARE];
    size_t size = sizeof(double) * (size_t)(b->learned * b->learned);
    memcpy(kept, b->y, size);
    memcpy(b->y, y, size);
    stair_branch_overlap(b, q);
    memcpy(b->y, kept, size);
}

/* Change of Q (P, P) by a step of y, to first order: next to a step of the staircase y is uncertain by more
 * than one, and overlaps are small. */
static void overlap_change(stair_branch *b, const double *step, double *change)
{
    int p = b->model->info.indices, cells = b->learned * b->learned;
    double here[STAIR_SQUARE], moved[STAIR_SQUARE], most = 0;
    for (int c = 0; c < cells; c++) most = fmax(most, fabs(step[c]));
    double part = most > tuning.small ? tuning.small / most : 1;
    for (int c = 0; c < cells; c++) moved[c] = b->y[c] + part * step[c];
    overlap_at(b, moved, change);
    stair_branch_overlap(b, here);
    for (int i = 0; i < p * p; i++) change[i] = (change[i] - here[i]) / part;
}

/* At given alpha: what is left of the residual, and what a bias of f does, move the fixed point. */
static void add_shared_errors(stair_branch *b, const stair_average *average, stair_map_target target,
                              const stair_newton *n, stair_branch_point *point)
{
    int cells = b->model->info.indices * b->model->info.indices;
    double step[STAIR_SQUARE], settled[STAIR_SQUARE], biased[STAIR_SQUARE];
    settle(b, average, -1, target, n, step);
    overlap_change(b, step, settled);
    target.value *= 1 + average->bias;
    settle(b, average, -1, target, n, step);
    overlap_change(b, step, biased);
    for (int i = 0; i < cells; i++)
        point->q_error[i] = fmin(1, hypot(point->q_error[i], hypot(settled[i], biased[i] - settled[i])));
}

/* Relative, on average over the learned directions. */
static double error_of_f(const stair_branch *b, const stair_average *average, stair_map_target target)
{
    double level[STAIR_MOST_REPLICATES];
    for (int r = 0; r < average->replicates; r++) {
        stair_map_value at;
        stair_map_from(b, average, r, target, &at);
        level[r] = 0;
        for (int i = 0; i < b->learned; i++) level[r] += at.image[i * (b->learned + 1)] / b->learned;
    }
    return stair_average_spread(average, level);
}

/* Errors of alpha and Q: each replicate has its own map, hence its own fixed point nearby.  By mean, where
 * nothing is close to unstable, Newton's step also brings the solution from the last evaluation to where its
 * square is negligible. */
static void spread(stair_branch *b, const stair_average *average, stair_map_target target,
                   const stair_newton *n, stair_branch_point *point)
{
    int p = b->model->info.indices, count = average->replicates;
    double y[STAIR_SQUARE], step[STAIR_SQUARE], change[STAIR_SQUARE], sum[STAIR_SQUARE] = {0},
                                                                      square[STAIR_SQUARE] = {0};
    memcpy(y, b->y, sizeof y);
    note_rule(average, point);
    point->doubt = 0;
    if (target.by_mean) {
        double evaluated = point->alpha;
        point->alpha = settle(b, average, -1, target, n, step);
        for (int c = 0; c < b->learned * b->learned; c++) y[c] += fmax(-1, fmin(1, step[c]));
        point->residual *= point->residual;
        point->doubt = (average->random ? tuning.noisy_doubt : tuning.slope_doubt) *
                           fabs(log(point->alpha / evaluated)) +
                       point->residual;
        overlap_at(b, y, point->q);
    }
    for (int r = 0; r < count; r++) {
        point->alpha_by_replicate[r] = settle(b, average, r, target, n, step);
        overlap_change(b, step, change);
        for (int i = 0; i < p * p; i++) {
            sum[i] += change[i];
            square[i] += change[i] * change[i];
        }
    }
    if (!target.by_mean) point->f_error = hypot(error_of_f(b, average, target), average->bias);
    double widen = average->random ? stair_student(count) : 1; /* two grids: half their distance */
    point->alpha_error = hypot(stair_average_spread(average, point->alpha_by_replicate),
                               hypot(average->bias, point->doubt) * point->alpha);
    for (int i = 0; i < p * p; i++)
        point->q_error[i] =
            fmin(1, widen * sqrt(fmax(0, square[i] - sum[i] * sum[i] / count) / (count - 1) / count));
    if (!target.by_mean) add_shared_errors(b, average, target, n, point);
    memcpy(b->y, y, sizeof y);
}

/* alpha at the overlap just evaluated. */
static void settle_quickly(stair_branch *b, const stair_average *average, stair_map_target target,
                           stair_branch_point *point)
{
    stair_map_value at;
    stair_map_from(b, average, -1, target, &at);
    point->alpha = at.alpha;
    note_rule(average, point);
    for (int r = 0; r < average->replicates; r++) {
        stair_map_from(b, average, r, target, &at);
        point->alpha_by_replicate[r] = at.alpha;
    }
    point->alpha_error =
        hypot(stair_average_spread(average, point->alpha_by_replicate), average->bias * point->alpha);
}

/* What is not learned and is about to be. */
static void find_unstable(const stair_branch *b, const stair_average *average, stair_branch_point *point)
{
    stair_operator_leading(average, &b->structure->symmetry, b->rest, &point->leading);
    note_drift(b, average, point);
}

/* One learned direction and its rest v: the overlap is known, only alpha is not. */
static stair_status look_up(stair_branch *b, double v, const stair_average_effort *effort,
                            stair_branch_point *point)
{
    stair_map_target target = {.by_mean = true, .value = v};
    stair_average average;
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &average));
    b->y[0] = log(1 / v - 1);
    stair_branch_overlap(b, point->q);
    stair_status status = stair_map_average(b, effort, &average);
    if (status == STAIR_OK) {
        settle_quickly(b, &average, target, point);
        find_unstable(b, &average, point);
    }
    point->steps = 1;
    stair_average_destroy(&average);
    return status;
}

/* Whether the Jacobian at `coarse` (d, d) is not that of where the full rule has led: overlaps are elsewhere,
 * or the map is nearly neutral, and its slope matters. */
static bool jacobian_is_stale(const stair_branch *b, const stair_newton *n, const double *coarse)
{
    double moved = 0, gain = 0;
    for (int c = 0; c < b->learned * b->learned; c++) moved = fmax(moved, fabs(b->y[c] - coarse[c]));
    for (int i = 0; i < n->count * n->count; i++) gain = fmax(gain, fabs(n->inverse[i]));
    return moved > tuning.most_stale || gain > tuning.most_gain;
}

/* The full rule at given alpha.  Next to where a fixed point ends, the coarse rule may still have one that
 * the full rule does not: that goes on by itself, and may let go of directions.  Leaves the map of the full
 * rule and a Jacobian that the errors can rely on. */
static stair_status settle_in(stair_branch *b, stair_average *average, stair_map_target target,
                              solve_room *room, const double *coarse, stair_branch_point *point)
{
    if (point->residual > b->tolerance) {
        point->steps = 0;
        STAIR_TRY(approach(b, &b->fine, average, target, b->tolerance, room, point));
    }
    if (has_left(b, target) || learns_others(b, target, point) ||
        !jacobian_is_stale(b, &room->newton, coarse))
        return STAIR_OK;
    STAIR_TRY(stair_newton_find(b, &b->fine, average, target, &room->newton));
    stair_map_value at;
    STAIR_TRY(stair_map_at(b, &b->fine, average, target, &at));
    point->residual = at.residual;
    return STAIR_OK;
}

/* Residual that is enough of the coarse rule. */
static double coarse_tolerance(const stair_branch *b, stair_map_target target, bool fine)
{
    return fmax(tuning.coarse_tolerance * b->tolerance, target.by_mean ? tuning.loosest[fine] : 0);
}

static stair_status solve_with(stair_branch *b, stair_map_target target, bool fine, solve_room *room,
                               stair_branch_point *point)
{
    stair_average average;
    b->coarsely = (stair_branch_served){.most = tuning.coarse_changes};
    b->fully = (stair_branch_served){0};
    point->stop = STAIR_STOP_CONVERGED;
    if (target.by_mean && b->learned == 1)
        return look_up(b, target.value, fine ? &b->fine : &b->coarse, point);
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &average));
    stair_status status =
        approach(b, &b->coarse, &average, target, coarse_tolerance(b, target, fine), room, point);
    if (status == STAIR_OK && fine && !learns_others(b, target, point) && !has_left(b, target)) {
        double coarse[STAIR_SQUARE];
        memcpy(coarse, b->y, sizeof coarse);
        status = stair_newton_find(b, &b->coarse, &average, target, &room->newton);
        if (status == STAIR_OK) status = refine(b, &average, target, room, point);
        if (status == STAIR_OK && !target.by_mean && !has_left(b, target))
            status = settle_in(b, &average, target, room, coarse, point);
    }
    stair_branch_overlap(b, point->q);
    if (status != STAIR_OK || learns_others(b, target, point)) {
        stair_average_destroy(&average);
        return status;
    }
    if (!has_left(b, target)) {
        if (fine)
            spread(b, &average, target, &room->newton, point);
        else
            settle_quickly(b, &average, target, point);
        find_unstable(b, &average, point);
        if (point->residual > (fine ? b->tolerance : coarse_tolerance(b, target, fine)))
            point->stop = STAIR_STOP_ITERATIONS;
    } else {
        note_rule(&average, point);
        point->stop = stair_branch_least(b) > 0.5 ? STAIR_STOP_ZERO : STAIR_STOP_PERFECT;
    }
    stair_average_destroy(&average);
    return status;
}

static stair_status solve(stair_branch *b, stair_map_target target, bool fine, stair_branch_point *point)
{
    solve_room *room = malloc(sizeof *room);
    if (!room) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = solve_with(b, target, fine, room, point);
    free(room);
    return status;
}

stair_status stair_branch_at_alpha(stair_branch *b, double alpha, stair_branch_point *point)
{
    memset(point, 0, sizeof *point);
    point->alpha = alpha;
    stair_context_allow(b->context, b->patience);
    return solve(b, (stair_map_target){.value = alpha}, true, point);
}

stair_status stair_branch_at_mean(stair_branch *b, double v, bool fine, stair_branch_point *point)
{
    memset(point, 0, sizeof *point);
    return solve(b, (stair_map_target){.by_mean = true, .value = v}, fine, point);
}

/* On finer and finer grids until the leading eigenvalue is known to `precision`. */
static stair_status refine_at_zero(stair_branch *b, double precision, stair_average *average,
                                   stair_branch_point *point)
{
    double q[STAIR_SQUARE] = {0};
    stair_average_effort effort = b->fine;
    effort.channel.precision = fmax(1e-12, 0.1 * precision);
    for (effort.fineness = 1;; effort.fineness *= tuning.finer) {
        STAIR_TRY(stair_average_evaluate(b->context, b->structure, &effort, q, b->rest, average));
        stair_operator_leading(average, &b->structure->symmetry, b->rest, &point->leading);
        if (average->random /* hidden nodes are, and a finer grid does not help them */ ||
            effort.fineness > tuning.finest || point->leading.error <= precision * point->leading.value)
            return STAIR_OK;
    }
}

stair_status stair_branch_at_zero(stair_branch *b, double precision, stair_branch_point *point)
{
    stair_average average;
    double q[STAIR_SQUARE] = {0};
    memset(point, 0, sizeof *point);
    point->stop = STAIR_STOP_CONVERGED;
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &average));
    const stair_average_rule *rule = stair_average_rule_for(b->structure, &b->fine, q);
    stair_status status = rule && rule->refines ? refine_at_zero(b, precision, &average, point)
                                                : stair_average_evaluate(b->context, b->structure, &b->fine,
                                                                         q, b->rest, &average);
    b->calls += average.calls;
    note_rule(&average, point);
    if (status == STAIR_OK) find_unstable(b, &average, point);
    stair_average_destroy(&average);
    return status;
}
