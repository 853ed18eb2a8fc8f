/* f(Q) is an average (average/average.h); alpha f(Q) plus side information is Qhat, and its logarithm on the
 * learned subspace is where the map leads.  The Jacobian is taken by differences along the coordinates that
 * the symmetries of the model leave free. */
#include "asymptotics/map.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/spectral.h"

static const struct {
    double least_log;        /* log Qhat of nothing */
    double log_alpha;        /* alpha is looked for within exp(+-log_alpha) */
    int halvings;            /* of that interval */
    double difference;       /* step of the Jacobian, in log Qhat, */
    double noisy_difference; /* and of a map with random nodes, which are not quite the same at both its ends:
                                slopes over 0.05 were mostly noise for three layers, over 0.3 seeds agree to a
                                tenth */
    double independent;      /* size of a direction beyond those before it */
} tuning = {.least_log = -60.0,
            .log_alpha = 60.0,
            .halvings = 200,
            .difference = 0.05,
            .noisy_difference = 0.3,
            .independent = 1e-6};

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
    for (int step = 0; step < tuning.halvings; step++) {
        double middle = 0.5 * (low + high), mean = 0;
        for (int k = 0; k < d; k++) mean += 1 / (1 + fmax(0, exp(middle) * values[k]) + extra) / d;
        *(mean > v ? &low : &high) = middle;
    }
    return exp(0.5 * (low + high));
}

/* What has served an effort of b; NULL: another one, which is asked once. */
static stair_branch_served *served_by(stair_branch *b, const stair_average_effort *effort)
{
    return effort == &b->fine ? &b->fully : effort == &b->coarse ? &b->coarsely : NULL;
}

stair_status stair_map_average(stair_branch *b, const stair_average_effort *effort, stair_average *average)
{
    double q[STAIR_SQUARE];
    stair_average_effort now = *effort;
    stair_branch_served *served = served_by(b, effort);
    stair_branch_overlap(b, q);
    if (served && served->changes > served->most && stair_average_samples.fits(b->structure, effort, q))
        now.rule = &stair_average_samples;
    stair_status status = stair_average_evaluate(b->context, b->structure, &now, q, b->rest, average);
    if (served) {
        served->changes += served->rule && served->rule != average->rule;
        served->rule = average->rule;
    }
    b->calls += average->calls;
    return status;
}

void stair_map_from(const stair_branch *b, const stair_average *average, int r, stair_map_target target,
                    stair_map_value *out)
{
    double f[STAIR_SQUARE];
    stair_branch_f(b, average, r, f);
    out->alpha = target.by_mean ? alpha_for_mean(b, f, target.value) : target.value;
    image(b, f, out->alpha, out->image);
    out->residual = 0;
    for (int i = 0; i < b->learned * b->learned; i++)
        out->residual = fmax(out->residual, fabs(out->image[i] - b->y[i]));
}

stair_status stair_map_at(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                          stair_map_target target, stair_map_value *out)
{
    STAIR_TRY(stair_map_average(b, effort, average));
    stair_map_from(b, average, -1, target, out);
    return STAIR_OK;
}

/* ---- Jacobian ---------------------------------------------------------------------------------- */

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Independent directions among the symmetric coordinates, seen from the learned subspace. */
static void choose_directions(const stair_branch *b, stair_newton *n)
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
        if (size < tuning.independent) continue;
        for (int c = 0; c < cells; c++) d[c] /= size;
        n->count++;
    }
}

/* matrix (count, count): 1 - J, and slopes of log alpha, by differences. */
static stair_status differences(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                                stair_map_target target, stair_newton *n, double *matrix)
{
    int cells = b->learned * b->learned;
    stair_map_value base, moved;
    double y[STAIR_SQUARE];
    memcpy(y, b->y, sizeof y);
    STAIR_TRY(stair_map_at(b, effort, average, target, &base));
    double step = average->random ? tuning.noisy_difference : tuning.difference;
    for (int k = 0; k < n->count; k++) {
        for (int c = 0; c < cells; c++) b->y[c] = y[c] + step * n->direction[k][c];
        STAIR_TRY(stair_map_at(b, effort, average, target, &moved));
        memcpy(b->y, y, sizeof y);
        n->slope[k] = log(moved.alpha / base.alpha) / step;
        for (int i = 0; i < n->count; i++) {
            double slope = 0;
            for (int c = 0; c < cells; c++)
                slope += n->direction[i][c] * (moved.image[c] - base.image[c]) / step;
            matrix[i * n->count + k] = (i == k) - slope;
        }
    }
    return STAIR_OK;
}

stair_status stair_newton_find(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                               stair_map_target target, stair_newton *n)
{
    double matrix[STAIR_SQUARE];
    stair_branch_served *served = served_by(b, effort);
    int before = served ? served->changes : 0;
    choose_directions(b, n);
    STAIR_TRY(differences(b, effort, average, target, n, matrix));
    if (served && served->changes > before) { /* of two rules */
        served->most = 0;
        STAIR_TRY(differences(b, effort, average, target, n, matrix));
    }
    for (int i = 0; i < n->count * n->count; i++) n->inverse[i] = i % (n->count + 1) == 0;
    if (!stair_matrix_solve(n->count, matrix, n->count, n->inverse, NULL))
        for (int i = 0; i < n->count * n->count; i++) n->inverse[i] = i % (n->count + 1) == 0;
    return STAIR_OK;
}

void stair_newton_step(const stair_branch *b, const stair_newton *n, const double *to, double *step)
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

double stair_newton_slope(const stair_branch *b, const stair_newton *n, const double *step)
{
    double slope = 0;
    for (int i = 0; i < n->count; i++)
        slope += n->slope[i] * dot(b->learned * b->learned, n->direction[i], step);
    return slope;
}
