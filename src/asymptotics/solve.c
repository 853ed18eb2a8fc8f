/* Fixed points on a branch, at given alpha or at a given mean rest v.
 *
 * In y = log Qhat growth from small overlaps is linear and so is the approach to perfect recovery.  The map
 * is first iterated on few points with Anderson mixing (core/mixing.h), each step limited; its Jacobian is
 * then taken by differences, and the full rule is solved by one Newton step with that Jacobian and mixing
 * again. Both rules keep their random numbers, so each map is a smooth deterministic function; the Jacobian
 * also turns the spread of f over replicates into the error of Q. */
#include "asymptotics/branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/mixing.h"
#include "core/spectral.h"

static const struct {
    double most_move;        /* largest change of log Qhat in a step */
    double difference;       /* step of the Jacobian, in log Qhat, */
    double noisy_difference; /* and of a map with random nodes, which are not quite the same at both its ends:
                                slopes over 0.05 were mostly noise for three layers, over 0.3 seeds agree to a
                                tenth */
    double slope_doubt;      /* relative error of a Jacobian, */
    double noisy_doubt;      /* and of such a one */
    double least_log;        /* log Qhat of nothing */
    double lost;             /* log Qhat of a direction that no longer counts as learned */
    double coarse_tolerance; /* times the tolerance is enough on the way */
    double linear;           /* times the tolerance: squares of a residual that Newton's step takes care of */
    double most_stale;       /* change of log Qhat, */
    double most_gain;        /* or largest response to a change of f, beyond which a Jacobian is taken anew */
    double small;            /* change of log Qhat over which Q is linear in it */
    int fewer_points;        /* times fewer samples, to come close to the solution of the full rule, */
    int fewer_nodes;         /* and hidden nodes */
    double finer;            /* fineness from grid to grid at Q = 0, */
    double finest;           /* at most */
    double log_alpha;        /* alpha is looked for within exp(+-log_alpha) */
} tuning = {.most_move = 2.0,
            .difference = 0.05,
            .noisy_difference = 0.3,
            .slope_doubt = 0.05,
            .noisy_doubt = 0.1,
            .least_log = -60.0,
            .lost = -16.0,
            .coarse_tolerance = 100.0,
            .linear = 1.0,
            .most_stale = 0.3,
            .most_gain = 8.0,
            .small = 0.1,
            .fewer_points = 8,
            .fewer_nodes = 4,
            .finer = 1.2,
            .finest = 3.0,
            .log_alpha = 60.0};

static double safe_log(double x, double least)
{
    return x > 0 ? fmax(least, log(x)) : least;
}

/* log(alpha f + side) on the learned subspace, from f (P, P) */
static void image(const stair_branch *b, const double *f, double alpha, double *out)
{
    int p = b->model->info.indices, d = b->learned;
    double inside[STAIR_SQUARE], symmetric[STAIR_SQUARE];
    memcpy(symmetric, f, sizeof(double) * (size_t)(p * p));
    stair_symmetrise(&b->structure->symmetry, symmetric);
    stair_spectral_project(p, d, b->axes, symmetric, inside);
    for (int i = 0; i < d * d; i++)
        inside[i] = alpha * inside[i] + (i % (d + 1) == 0 ? b->side / (1 - b->side) : 0);
    stair_spectral_map(d, inside, safe_log, tuning.least_log, out);
}

/* alpha at which the image of f has mean rest v. */
static double alpha_for_mean(const stair_branch *b, const double *f, double v)
{
    int p = b->model->info.indices, d = b->learned;
    double inside[STAIR_SQUARE], symmetric[STAIR_SQUARE], values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    memcpy(symmetric, f, sizeof(double) * (size_t)(p * p));
    stair_symmetrise(&b->structure->symmetry, symmetric);
    stair_spectral_project(p, d, b->axes, symmetric, inside);
    stair_matrix_eigen(d, inside, values, vectors);
    double low = -tuning.log_alpha, high = tuning.log_alpha, extra = b->side / (1 - b->side);
    for (int step = 0; step < 200; step++) {
        double middle = 0.5 * (low + high), mean = 0;
        for (int k = 0; k < d; k++) mean += 1 / (1 + fmax(0, exp(middle) * values[k]) + extra) / d;
        *(mean > v ? &low : &high) = middle;
    }
    return exp(0.5 * (low + high));
}

typedef struct {
    bool by_mean;
    double value; /* alpha, or v */
} target_spec;

typedef struct {
    double image[STAIR_SQUARE]; /* (d, d): where the map leads */
    double alpha;
    double residual; /* largest change */
} map_value;

static int most_replicates(const stair_branch *b)
{
    return b->fine.replicates > b->coarse.replicates ? b->fine.replicates : b->coarse.replicates;
}

static stair_status evaluate(stair_branch *b, const stair_average_effort *rule, stair_average *outer)
{
    double q[STAIR_SQUARE];
    stair_average_effort now = *rule;
    bool full = rule == &b->fine;
    if (full && b->off_grid) now.rule = &stair_average_samples;
    stair_branch_overlap(b, q);
    stair_status status = stair_average_evaluate(b->context, b->structure, &now, q, b->rest, outer);
    if (full) {
        b->off_grid |= b->evaluations++ && b->served != outer->rule;
        b->served = outer->rule;
    }
    b->calls += outer->calls;
    return status;
}

static void map_from(const stair_branch *b, const stair_average *outer, int r, target_spec target,
                     map_value *out)
{
    double f[STAIR_SQUARE];
    stair_average_f(outer, r, f);
    out->alpha = target.by_mean ? alpha_for_mean(b, f, target.value) : target.value;
    image(b, f, out->alpha, out->image);
    out->residual = 0;
    for (int i = 0; i < b->learned * b->learned; i++)
        out->residual = fmax(out->residual, fabs(out->image[i] - b->y[i]));
}

static stair_status map_at(stair_branch *b, const stair_average_effort *rule, stair_average *outer,
                           target_spec target, map_value *out)
{
    STAIR_TRY(evaluate(b, rule, outer));
    map_from(b, outer, -1, target, out);
    return STAIR_OK;
}

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

/* Perfect recovery, or back to zero where side information does not hold it. */
static bool has_left(const stair_branch *b, target_spec target)
{
    return !target.by_mean &&
           (stair_branch_largest(b) < b->perfect || (b->side == 0 && stair_branch_least(b) > 1 - 1e-9));
}

/* A learned direction on its way back to zero while others stay: it has to be let go. */
static bool is_shrinking(const stair_branch *b, target_spec target)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    if (target.by_mean || b->side > 0 || b->learned < 2) return false;
    stair_matrix_eigen(b->learned, b->y, values, vectors);
    return values[0] < tuning.lost && values[b->learned - 1] > tuning.lost / 2;
}

static stair_status approach(stair_branch *b, const stair_average_effort *rule, stair_average *outer,
                             target_spec target, double tolerance, stair_branch_point *point)
{
    double memory[STAIR_MIXING_ROOM(STAIR_SQUARE)];
    stair_mixing mixing = {.cells = b->learned * b->learned, .memory = memory};
    map_value at;
    double next[STAIR_SQUARE];
    for (; point->steps < b->most_steps; point->steps++) {
        STAIR_TRY(map_at(b, rule, outer, target, &at));
        point->residual = at.residual;
        if (at.residual <= tolerance) return STAIR_OK;
        stair_mixing_add(&mixing, b->y, at.image);
        stair_mixing_next(&mixing, next);
        keep_direction(b, at.image, next);
        double most = fmin(tuning.most_move, fmax(0.5, 20 * at.residual));
        move(b, mixing.count > 1 ? next : at.image, most);
        if (has_left(b, target) || is_shrinking(b, target)) return STAIR_OK;
    }
    return STAIR_OK;
}

/* ---- Newton and errors ---------------------------------------------------------------------- */

typedef struct {
    int count;
    double direction[STAIR_MAX_INDICES][STAIR_SQUARE]; /* orthonormal, in the space of y */
    double inverse[STAIR_SQUARE];                      /* (1 - J)^-1 */
    double slope[STAIR_MAX_INDICES];                   /* d log alpha along each */
} newton;

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Independent directions among the symmetric coordinates, seen from the learned subspace. */
static void choose_directions(const stair_branch *b, newton *n)
{
    int p = b->model->info.indices, cells = b->learned * b->learned;
    n->count = 0;
    for (int k = 0; k < b->structure->symmetry.count && n->count < STAIR_MAX_INDICES; k++) {
        double full[STAIR_SQUARE], *d = n->direction[n->count];
        for (int c = 0; c < p * p; c++) full[c] = b->structure->symmetry.pair[c] == k;
        stair_spectral_project(p, b->learned, b->axes, full, d);
        for (int i = 0; i < n->count; i++) {
            double along = dot(cells, d, n->direction[i]);
            for (int c = 0; c < cells; c++) d[c] -= along * n->direction[i][c];
        }
        double size = sqrt(dot(cells, d, d));
        if (size < 1e-6) continue;
        for (int c = 0; c < cells; c++) d[c] /= size;
        n->count++;
    }
}

static stair_status differentiate(stair_branch *b, const stair_average_effort *rule, stair_average *outer,
                                  target_spec target, newton *n)
{
    int cells = b->learned * b->learned;
    map_value base, moved;
    double y[STAIR_SQUARE], matrix[STAIR_SQUARE];
    choose_directions(b, n);
    memcpy(y, b->y, sizeof y);
    STAIR_TRY(map_at(b, rule, outer, target, &base));
    double step = outer->random ? tuning.noisy_difference : tuning.difference;
    for (int k = 0; k < n->count; k++) {
        for (int c = 0; c < cells; c++) b->y[c] = y[c] + step * n->direction[k][c];
        STAIR_TRY(map_at(b, rule, outer, target, &moved));
        memcpy(b->y, y, sizeof y);
        n->slope[k] = log(moved.alpha / base.alpha) / step;
        for (int i = 0; i < n->count; i++) {
            double slope = 0;
            for (int c = 0; c < cells; c++)
                slope += n->direction[i][c] * (moved.image[c] - base.image[c]) / step;
            matrix[i * n->count + k] = (i == k) - slope;
        }
    }
    for (int i = 0; i < n->count * n->count; i++) n->inverse[i] = i % (n->count + 1) == 0;
    if (!stair_matrix_solve(n->count, matrix, n->count, n->inverse, NULL))
        for (int i = 0; i < n->count * n->count; i++) n->inverse[i] = i % (n->count + 1) == 0;
    return STAIR_OK;
}

/* Newton step from a residual: (1 - J)^-1 (image - y). */
static void newton_step(const stair_branch *b, const newton *n, const double *to, double *step)
{
    int cells = b->learned * b->learned;
    double along[STAIR_MAX_INDICES], change[STAIR_SQUARE];
    for (int c = 0; c < cells; c++) change[c] = to[c] - b->y[c];
    for (int i = 0; i < n->count; i++) along[i] = dot(cells, n->direction[i], change);
    for (int c = 0; c < cells; c++) step[c] = 0;
    for (int i = 0; i < n->count; i++) {
        double size = 0;
        for (int j = 0; j < n->count; j++) size += n->inverse[i * n->count + j] * along[j];
        for (int c = 0; c < cells; c++) step[c] += size * n->direction[i][c];
    }
}

/* A Newton step with the coarse Jacobian, then Anderson mixing: both on the rule given. */
static stair_status polish(stair_branch *b, const stair_average_effort *rule, stair_average *outer,
                           target_spec target, newton *n, stair_branch_point *point)
{
    map_value at;
    double step[STAIR_SQUARE], next[STAIR_SQUARE];
    int cells = b->learned * b->learned;
    double memory[STAIR_MIXING_ROOM(STAIR_SQUARE)];
    stair_mixing mixing = {.cells = cells, .memory = memory};
    for (int k = 0;; k++) {
        STAIR_TRY(map_at(b, rule, outer, target, &at));
        point->steps++;
        point->residual = at.residual;
        point->alpha = at.alpha;
        if (at.residual <= b->tolerance || point->steps >= b->most_steps) return STAIR_OK;
        if (target.by_mean && at.residual * at.residual <= tuning.linear * b->tolerance)
            return STAIR_OK; /* see spread() */
        stair_mixing_add(&mixing, b->y, at.image);
        newton_step(b, n, at.image, step);
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
static stair_status refine(stair_branch *b, stair_average *outer, target_spec target, newton *n,
                           stair_branch_point *point)
{
    stair_average_effort middle = b->fine;
    middle.points /= tuning.fewer_points;
    middle.nodes /= tuning.fewer_nodes;
    bool grid = outer->rule->refines;
    if (grid && middle.replicates > b->coarse.replicates) middle.replicates /= 2;
    if (target.by_mean && (grid ? outer->random : middle.points > b->coarse.points)) {
        map_value at;
        double step[STAIR_SQUARE];
        STAIR_TRY(map_at(b, &middle, outer, target, &at));
        newton_step(b, n, at.image, step);
        for (int c = 0; c < b->learned * b->learned; c++) b->y[c] += fmax(-1, fmin(1, step[c]));
    }
    return polish(b, &b->fine, outer, target, n, point);
}

/* Newton's step from the last evaluation, by the map of replicate r (or their mean), and the alpha it leads
 * to. */
static double settle(const stair_branch *b, const stair_average *outer, int r, target_spec target,
                     const newton *n, double *step)
{
    int cells = b->learned * b->learned;
    double slope = 0;
    map_value at;
    map_from(b, outer, r, target, &at);
    newton_step(b, n, at.image, step);
    for (int i = 0; i < n->count; i++) slope += n->slope[i] * dot(cells, n->direction[i], step);
    return target.by_mean ? at.alpha * exp(slope) : target.value;
}

/* How the numbers of a point were averaged. */
static void note_rule(const stair_average *outer, stair_branch_point *point)
{
    point->replicates = outer->replicates;
    point->bias = outer->bias;
    point->rule = outer->rule;
    point->random = outer->random;
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
static void add_shared_errors(stair_branch *b, const stair_average *outer, target_spec target,
                              const newton *n, stair_branch_point *point)
{
    int cells = b->model->info.indices * b->model->info.indices;
    double step[STAIR_SQUARE], settled[STAIR_SQUARE], biased[STAIR_SQUARE];
    settle(b, outer, -1, target, n, step);
    overlap_change(b, step, settled);
    target.value *= 1 + outer->bias;
    settle(b, outer, -1, target, n, step);
    overlap_change(b, step, biased);
    for (int i = 0; i < cells; i++)
        point->q_error[i] = fmin(1, hypot(point->q_error[i], hypot(settled[i], biased[i] - settled[i])));
}

/* Relative, on average over the learned directions. */
static double error_of_f(const stair_branch *b, const stair_average *outer, target_spec target)
{
    double level[STAIR_MOST_REPLICATES];
    for (int r = 0; r < outer->replicates; r++) {
        map_value at;
        map_from(b, outer, r, target, &at);
        level[r] = 0;
        for (int i = 0; i < b->learned; i++) level[r] += at.image[i * (b->learned + 1)] / b->learned;
    }
    return stair_average_spread(outer, level);
}

/* Errors of alpha and Q: each replicate has its own map, hence its own fixed point nearby.  By mean, where
 * nothing is close to unstable, Newton's step also brings the solution from the last evaluation to where its
 * square is negligible. */
static void spread(stair_branch *b, const stair_average *outer, target_spec target, const newton *n,
                   stair_branch_point *point)
{
    int p = b->model->info.indices, count = outer->replicates;
    double y[STAIR_SQUARE], step[STAIR_SQUARE], change[STAIR_SQUARE], sum[STAIR_SQUARE] = {0},
                                                                      square[STAIR_SQUARE] = {0};
    memcpy(y, b->y, sizeof y);
    note_rule(outer, point);
    point->doubt = 0;
    if (target.by_mean) {
        double evaluated = point->alpha;
        point->alpha = settle(b, outer, -1, target, n, step);
        for (int c = 0; c < b->learned * b->learned; c++) y[c] += fmax(-1, fmin(1, step[c]));
        point->residual *= point->residual;
        point->doubt =
            (outer->random ? tuning.noisy_doubt : tuning.slope_doubt) * fabs(log(point->alpha / evaluated)) +
            point->residual;
        overlap_at(b, y, point->q);
    }
    for (int r = 0; r < count; r++) {
        point->alpha_by_replicate[r] = settle(b, outer, r, target, n, step);
        overlap_change(b, step, change);
        for (int i = 0; i < p * p; i++) {
            sum[i] += change[i];
            square[i] += change[i] * change[i];
        }
    }
    if (!target.by_mean) point->f_error = hypot(error_of_f(b, outer, target), outer->bias);
    double widen = outer->random ? stair_student(count) : 1; /* two grids: half their distance */
    point->alpha_error = hypot(stair_average_spread(outer, point->alpha_by_replicate),
                               hypot(outer->bias, point->doubt) * point->alpha);
    for (int i = 0; i < p * p; i++)
        point->q_error[i] =
            fmin(1, widen * sqrt(fmax(0, square[i] - sum[i] * sum[i] / count) / (count - 1) / count));
    if (!target.by_mean) add_shared_errors(b, outer, target, n, point);
    memcpy(b->y, y, sizeof y);
}

/* alpha at the overlap just evaluated. */
static void settle_quickly(stair_branch *b, const stair_average *outer, target_spec target,
                           stair_branch_point *point)
{
    map_value at;
    map_from(b, outer, -1, target, &at);
    point->alpha = at.alpha;
    note_rule(outer, point);
    for (int r = 0; r < outer->replicates; r++) {
        map_from(b, outer, r, target, &at);
        point->alpha_by_replicate[r] = at.alpha;
    }
    point->alpha_error =
        hypot(stair_average_spread(outer, point->alpha_by_replicate), outer->bias * point->alpha);
}

/* One learned direction and its rest v: the overlap is known, only alpha is not. */
static stair_status look_up(stair_branch *b, double v, const stair_average_effort *rule,
                            stair_branch_point *point)
{
    target_spec target = {.by_mean = true, .value = v};
    stair_average outer;
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &outer));
    b->y[0] = log(1 / v - 1);
    stair_branch_overlap(b, point->q);
    stair_status status = evaluate(b, rule, &outer);
    if (status == STAIR_OK) {
        settle_quickly(b, &outer, target, point);
        stair_operator_leading(&outer, &b->structure->symmetry, b->rest, &point->leading);
    }
    point->steps = 1;
    stair_average_destroy(&outer);
    return status;
}

/* Whether the Jacobian at `coarse` (d, d) is not that of where the full rule has led: overlaps are elsewhere,
 * or the map is nearly neutral, and its slope matters. */
static bool jacobian_is_stale(const stair_branch *b, const newton *n, const double *coarse)
{
    double moved = 0, gain = 0;
    for (int c = 0; c < b->learned * b->learned; c++) moved = fmax(moved, fabs(b->y[c] - coarse[c]));
    for (int i = 0; i < n->count * n->count; i++) gain = fmax(gain, fabs(n->inverse[i]));
    return moved > tuning.most_stale || gain > tuning.most_gain;
}

/* The full rule at given alpha.  Next to where a fixed point ends, the coarse rule may still have one that
 * the full rule does not: that goes on by itself.  Leaves the map of the full rule and a Jacobian that the
 * errors can rely on. */
static stair_status settle_in(stair_branch *b, stair_average *outer, target_spec target, newton *n,
                              const double *coarse, stair_branch_point *point)
{
    if (point->residual > b->tolerance) {
        point->steps = 0;
        STAIR_TRY(approach(b, &b->fine, outer, target, b->tolerance, point));
    }
    if (has_left(b, target) || !jacobian_is_stale(b, n, coarse)) return STAIR_OK;
    STAIR_TRY(differentiate(b, &b->fine, outer, target, n));
    map_value at;
    STAIR_TRY(map_at(b, &b->fine, outer, target, &at));
    point->residual = at.residual;
    return STAIR_OK;
}

/* With room for a Jacobian n. */
static stair_status solve_with(stair_branch *b, target_spec target, bool fine, newton *n,
                               stair_branch_point *point)
{
    stair_average outer;
    b->evaluations = 0;
    b->off_grid = false;
    point->stop = STAIR_STOP_CONVERGED;
    if (target.by_mean && b->learned == 1)
        return look_up(b, target.value, fine ? &b->fine : &b->coarse, point);
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &outer));
    stair_status status =
        approach(b, &b->coarse, &outer, target, tuning.coarse_tolerance * b->tolerance, point);
    if (status == STAIR_OK && is_shrinking(b, target)) {
        stair_branch_overlap(b, point->q);
        point->shrinking = true;
        stair_average_destroy(&outer);
        return STAIR_OK;
    }
    if (status == STAIR_OK && fine && !has_left(b, target)) {
        double coarse[STAIR_SQUARE];
        memcpy(coarse, b->y, sizeof coarse);
        status = differentiate(b, &b->coarse, &outer, target, n);
        if (status == STAIR_OK) status = refine(b, &outer, target, n, point);
        if (status == STAIR_OK && !target.by_mean && !has_left(b, target))
            status = settle_in(b, &outer, target, n, coarse, point);
    }
    stair_branch_overlap(b, point->q);
    if (status == STAIR_OK && !has_left(b, target)) {
        if (fine)
            spread(b, &outer, target, n, point);
        else
            settle_quickly(b, &outer, target, point);
        stair_operator_leading(&outer, &b->structure->symmetry, b->rest, &point->leading);
        if (point->residual > (fine ? 1 : tuning.coarse_tolerance) * b->tolerance)
            point->stop = STAIR_STOP_ITERATIONS;
    } else if (status == STAIR_OK) {
        note_rule(&outer, point);
        point->stop = stair_branch_least(b) > 0.5 ? STAIR_STOP_ZERO : STAIR_STOP_PERFECT;
    }
    stair_average_destroy(&outer);
    return status;
}

static stair_status solve(stair_branch *b, target_spec target, bool fine, stair_branch_point *point)
{
    newton *n = malloc(sizeof *n);
    if (!n) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = solve_with(b, target, fine, n, point);
    free(n);
    return status;
}

stair_status stair_branch_at_alpha(stair_branch *b, double alpha, stair_branch_point *point)
{
    memset(point, 0, sizeof *point);
    point->alpha = alpha;
    return solve(b, (target_spec){.value = alpha}, true, point);
}

stair_status stair_branch_at_mean(stair_branch *b, double v, bool fine, stair_branch_point *point)
{
    memset(point, 0, sizeof *point);
    return solve(b, (target_spec){.by_mean = true, .value = v}, fine, point);
}

/* On finer and finer grids until the leading eigenvalue is known to `precision`. */
static stair_status refine_at_zero(stair_branch *b, double precision, stair_average *outer,
                                   stair_branch_point *point)
{
    double q[STAIR_SQUARE] = {0};
    stair_average_effort effort = b->fine;
    effort.channel.precision = fmax(1e-12, 0.1 * precision);
    for (effort.fineness = 1;; effort.fineness *= tuning.finer) {
        STAIR_TRY(stair_average_evaluate(b->context, b->structure, &effort, q, b->rest, outer));
        stair_operator_leading(outer, &b->structure->symmetry, b->rest, &point->leading);
        if (outer->random /* hidden nodes are, and a finer grid does not help them */ ||
            effort.fineness > tuning.finest || point->leading.error <= precision * point->leading.value)
            return STAIR_OK;
    }
}

stair_status stair_branch_at_zero(stair_branch *b, double precision, stair_branch_point *point)
{
    stair_average outer;
    double q[STAIR_SQUARE] = {0};
    memset(point, 0, sizeof *point);
    point->stop = STAIR_STOP_CONVERGED;
    STAIR_TRY(stair_average_create(b->context, b->structure, b->kernel, most_replicates(b), &outer));
    const stair_average_rule *rule = stair_average_rule_for(b->structure, &b->fine, q);
    stair_status status = rule && rule->refines ? refine_at_zero(b, precision, &outer, point)
                                                : stair_average_evaluate(b->context, b->structure, &b->fine,
                                                                         q, b->rest, &outer);
    b->calls += outer.calls;
    note_rule(&outer, point);
    if (status == STAIR_OK) stair_operator_leading(&outer, &b->structure->symmetry, b->rest, &point->leading);
    stair_average_destroy(&outer);
    return status;
}
