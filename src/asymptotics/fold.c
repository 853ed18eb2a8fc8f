/* log alpha_j = log alpha_k + mean over replicates of (log alpha_j - log alpha_k), for a point k whose alpha
 * is known. */
#include "asymptotics/fold.h"

#include <math.h>

#include "core/stats.h"

static const struct {
    double decade;  /* of v before the end: by how much alpha changed there is what may be left to change */
    double nearest; /* times v is where what it is away by is taken from, up to a decade on, */
    int enough;     /* from so many points, */
    double share;   /* and of which so much may be above */
    double rounding;
} tuning = {.decade = 10, .nearest = 2, .enough = 3, .share = 1.0 / 3, .rounding = 1e-12};

void stair_fold_note(stair_fold *fold, double v, const stair_branch_point *point)
{
    if (fold->count && (point->replicates != fold->replicates || point->random != fold->random))
        fold->count = 0; /* another rule: no ratios */
    if (fold->count == STAIR_FOLD_POINTS) return;
    fold->replicates = point->replicates;
    fold->random = point->random;
    int k = fold->count++;
    fold->point[k].v = v;
    fold->point[k].alpha = log(point->alpha);
    fold->point[k].noise = point->alpha_error / point->alpha;
    fold->point[k].known_noise = 0;
    for (int r = 0; r < point->replicates; r++)
        fold->point[k].by_replicate[r] = log(point->alpha_by_replicate[r]);
}

void stair_fold_solved(stair_fold *fold, int k, const stair_branch_point *point)
{
    fold->point[k].known = log(point->alpha);
    fold->point[k].known_noise = fmax(tuning.rounding, point->alpha_error / point->alpha);
}

/* By how much alpha changed in the last decade. */
static double left_to_change(const stair_fold *fold)
{
    int end = fold->count - 1;
    double most = 0;
    for (int k = end; k >= 0 && fold->point[k].v <= tuning.decade * fold->point[end].v; k--)
        most = fmax(most, fabs(fold->point[k].alpha - fold->point[end].alpha));
    return most;
}

/* log alpha at point j as measured from k, where it is `known`. */
static void measure(const stair_fold *fold, int j, int k, double known, double noise, double *value,
                    double *error)
{
    double change[STAIR_MOST_REPLICATES];
    for (int r = 0; r < fold->replicates; r++)
        change[r] = fold->point[j].by_replicate[r] - fold->point[k].by_replicate[r];
    double all = hypot(noise, j == k ? 0 : stair_spread_error(fold->random, fold->replicates, change));
    if (all >= *error) return;
    *value = known + fold->point[j].alpha - fold->point[k].alpha;
    *error = all;
}

/* A top between points: of the parabola through the three of them. */
static double between(const stair_fold *fold, int j)
{
    if (j == 0 || j == fold->count - 1) return 0;
    double left = fold->point[j - 1].alpha - fold->point[j].alpha,
           right = fold->point[j + 1].alpha - fold->point[j].alpha;
    if (left >= 0 || right >= 0) return 0;
    return -0.125 * (right - left) * (right - left) / (left + right);
}

/* log alpha at point j from whatever knows it best. */
static void best(const stair_fold *fold, int j, double end, double left, double *value, double *error)
{
    *value = fold->point[j].alpha;
    *error = fold->point[j].noise;
    measure(fold, j, fold->count - 1, end, left, value, error);
    for (int k = 0; k < fold->count; k++)
        if (fold->point[k].known_noise > 0)
            measure(fold, j, k, fold->point[k].known, fold->point[k].known_noise, value, error);
}

/* Labels are linear in Z - omega but for a share of Z like the root of v, next to where slopes vanish: alpha
 * comes to its end at least as fast, by what it was away over a decade.  A sum of powers that was below, such
 * as -a v + b sqrt(v), comes out above by less still: b^2 / 4a, an eighth of what it was below by where the
 * first is twice the second.  Counted is `share`. */
static double envelope(const stair_fold *fold, double v, double end, double left)
{
    double most = 0;
    int seen = 0;
    for (int k = 0; k < fold->count; k++) {
        double wide = fold->point[k].v / v, value, error;
        if (wide < tuning.nearest || wide > tuning.nearest * tuning.decade) continue;
        best(fold, k, end, left, &value, &error);
        most = fmax(most, (fabs(value - end) + error) / sqrt(wide));
        seen++;
    }
    return seen >= tuning.enough ? tuning.share * most : INFINITY;
}

double stair_fold_doubt(const stair_fold *fold, double limit, int *worst)
{
    double doubt = 0, end = log(limit), left = fold->count ? left_to_change(fold) : 0;
    *worst = -1;
    for (int j = 0; j < fold->count; j++) {
        double value, error;
        best(fold, j, end, left, &value, &error);
        /* one error above, and three times this reaches three errors above */
        double above = value + between(fold, j) - end, one = fmax(above + error, above / 3 + error);
        if (one > doubt) one = fmin(one, envelope(fold, fold->point[j].v, end, left));
        if (!(one > doubt)) continue;
        doubt = one;
        *worst = j;
    }
    return doubt;
}
