/* What is known of W at an iteration: overlaps, their alignment with the teacher, errors of prediction.
 *
 * Given W and W*, a fresh sample enters the errors through Z = W* x/sqrt(D) and omega = W x/sqrt(D) alone,
 * and these are Gaussian with the overlaps as covariance.  So the errors on fresh data are averages over P x
 * M Gaussians, no sample of dimension D being needed; with U, U' independent given omega the Bayes predictor
 * needs no inner loop:
 *
 *   Bayes    E|y|^2 - E<y, g(U) + g(U')> + E<g(U), g(U')>,   U, U' ~ N(omega, C + prenoise)
 *   plug-in  E|y - g(omega)|^2,                              y = g(Z + sqrt(prenoise) n)
 *
 * Noise on y adds its own variance to both and is left out, as in state evolution, whose own estimator is in
 * asymptotics/errors.c: prediction.h says why they are two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/prediction.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"
#include "core/stats.h"
#include "gamp/gamp.h"

enum {
    REPLICATES = 8
}; /* random shifts of the lattice behind the errors; their spread is the error of these */

static const struct {
    double lost; /* pivot, relative to its diagonal entry, that is rounding */
} tuning = {.lost = 1e-14};

void stair_gamp_overlap(int p, int dim, const double *a, const double *b, double *out)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            const double *x = a + (size_t)i * (size_t)dim, *y = b + (size_t)j * (size_t)dim;
            double sum = 0;
            for (int d = 0; d < dim; d++) sum += x[d] * y[d];
            out[i * p + j] = sum / dim;
        }
}

/* q <- r^T q r, m <- r^T m for r (P, P) orthogonal; one product after the other, which is not the order of
 * stair_spectral_project() and so not its last digit */
static void turn(int p, const double *r, double *q, double *m)
{
    double half[STAIR_SQUARE], turned[STAIR_SQUARE];
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            half[i * p + j] = turned[i * p + j] = 0;
            for (int k = 0; k < p; k++) {
                turned[i * p + j] += r[k * p + i] * m[k * p + j];
                if (q) half[i * p + j] += r[k * p + i] * q[k * p + j];
            }
        }
    memcpy(m, turned, sizeof(double) * (size_t)(p * p));
    for (int i = 0; q && i < p; i++)
        for (int j = 0; j < p; j++) {
            q[i * p + j] = 0;
            for (int k = 0; k < p; k++) q[i * p + j] += half[i * p + k] * r[k * p + j];
        }
}

/* r for the rows that turn with row `first`: the rotation that brings their block of m closest to a positive
 * matrix. */
static void block_rotation(int p, const stair_symmetry *s, int first, const double *m, double *r)
{
    double block[STAIR_SQUARE], best[STAIR_SQUARE], other[STAIR_SQUARE], trace[2] = {0, 0};
    int row[STAIR_MAX_INDICES], n = 0;
    for (int i = first; i < p; i++)
        if (s->turn[i] == first) row[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) block[i * n + j] = m[row[i] * p + row[j]];
    stair_matrix_procrustes(n, block, 1, best);
    stair_matrix_procrustes(n, block, -1, other);
    for (int i = 0; i < n * n; i++) {
        trace[0] += best[i] * block[i];
        trace[1] += other[i] * block[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) r[row[i] * p + row[j]] = (trace[0] >= trace[1] ? best : other)[i * n + j];
}

/* Whether other rows turn with row i. */
static bool turns(int p, const stair_symmetry *s, int i)
{
    for (int j = 0; j < p; j++)
        if (j != i && s->turn[j] == s->turn[i]) return true;
    return false;
}

/* r for the rows that do not turn: each goes to a place where the symmetries allow it, with the sign that
 * makes its entry of m positive; the largest entries of m choose first. */
static void exchange(int p, const stair_symmetry *s, const double *m, double *r)
{
    bool row[STAIR_MAX_INDICES] = {false}, column[STAIR_MAX_INDICES] = {false};
    for (int i = 0; i < p; i++) row[i] = column[i] = turns(p, s, i);
    for (int step = 0; step < p; step++) {
        int a = -1, b = -1;
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                if (!row[i] && !column[j] && s->kind[i] == s->kind[j] &&
                    (a < 0 || fabs(m[i * p + j]) > fabs(m[a * p + b])))
                    a = i, b = j;
        if (a < 0) return;
        row[a] = column[b] = true;
        r[a * p + b] = s->even[a] && m[a * p + b] < 0 ? -1 : 1;
    }
}

/* Signs and places of rows, rotations of those that turn into each other; and, where that is a symmetry
 * though no single sign is (as for z1 z2), the sign of all of Z. */
void stair_gamp_align(const stair_structure *structure, double *q, double *m)
{
    const stair_symmetry *s = &structure->symmetry;
    int p = s->indices;
    double r[STAIR_SQUARE] = {0}, trace = 0;
    for (int i = 0; i < p; i++)
        if (s->turn[i] == i && turns(p, s, i)) block_rotation(p, s, i, m, r);
    exchange(p, s, m, r);
    turn(p, r, q, m);
    for (int i = 0; i < p; i++) trace += m[i * (p + 1)];
    if (trace >= 0 || !structure->even) return;
    for (int i = 0; i < p * p; i++) m[i] = -m[i];
}

/* lower (n, n) with lower lower^T = a for a that is only nearly positive: pivots below zero count as zero */
static void factor(int n, const double *a, double *lower)
{
    memset(lower, 0, sizeof(double) * (size_t)(n * n));
    for (int j = 0; j < n; j++) {
        double pivot = a[j * n + j];
        for (int k = 0; k < j; k++) pivot -= lower[j * n + k] * lower[j * n + k];
        if (!(pivot > tuning.lost * a[j * n + j])) continue;
        lower[j * n + j] = sqrt(pivot);
        for (int i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= lower[i * n + k] * lower[j * n + k];
            lower[i * n + j] = sum / lower[j * n + j];
        }
    }
}

/* Adds what one point, normals (4, P, M), has to say; joint and rest are factors of the covariances of (Z,
 * omega) and of Z given omega. */
static void one_point(const stair_model *model, const double *joint, const double *rest,
                      const double *normals, double *bayes, double *plugin)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m, outputs = model->info.label_size;
    double z[2 * STAIR_MAX_CELLS], u[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL], mean[STAIR_MAX_LABEL],
        first[STAIR_MAX_LABEL], second[STAIR_MAX_LABEL];
    double *omega = z + size;
    stair_prediction_spread(2 * p, m, joint, true, NULL, normals, z); /* Z + sqrt(prenoise) n, then omega */
    model->ops->forward(model, z, y, NULL);
    model->ops->forward(model, omega, mean, NULL);
    stair_prediction_spread(p, m, rest, true, omega, normals + 2 * size, u);
    model->ops->forward(model, u, first, NULL);
    stair_prediction_spread(p, m, rest, true, omega, normals + 3 * size, u);
    model->ops->forward(model, u, second, NULL);
    for (int k = 0; k < outputs; k++)
        *bayes += y[k] * y[k] - y[k] * (first[k] + second[k]) + first[k] * second[k];
    stair_prediction_add(outputs, 1, y, mean, plugin);
}

static int points_each(int points)
{
    return (points + REPLICATES - 1) / REPLICATES;
}

double *stair_gamp_error_normals(const stair_model *model, int points, uint64_t seed)
{
    int size = 4 * model->info.indices * model->info.tokens, each = points_each(points);
    double shift[4 * STAIR_MAX_CELLS],
        *normals = malloc(sizeof(double) * (size_t)size * (size_t)each * REPLICATES), *at = normals;
    for (int r = 0; normals && r < REPLICATES; r++) {
        stair_rng_uniforms(seed, STAIR_RNG_SHIFT, (uint64_t)1 << 40 | (uint64_t)r, size, shift);
        for (int i = 0; i < each; i++, at += size)
            stair_qmc_gaussian(size, (uint64_t)each, (uint64_t)i, shift, at);
    }
    return normals;
}

void stair_gamp_errors_at(const stair_model *model, int points, const double *normals, const double *t,
                          const double *m, const double *q, const double *v, stair_gamp_errors *errors)
{
    int p = model->info.indices, n = 2 * p, size = p * model->info.tokens, each = points_each(points);
    double both[4 * STAIR_SQUARE], joint[4 * STAIR_SQUARE], wide[STAIR_SQUARE], rest[STAIR_SQUARE];
    double bayes[REPLICATES] = {0}, plugin[REPLICATES] = {0};
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            both[i * n + j] = t[i * p + j] + (i == j ? model->info.prenoise : 0);
            both[(p + i) * n + p + j] = q[i * p + j];
            both[(p + i) * n + j] = both[j * n + p + i] = m[i * p + j];
            wide[i * p + j] = v[i * p + j] + (i == j ? model->info.prenoise : 0);
        }
    factor(n, both, joint);
    factor(p, wide, rest);
    for (int r = 0; r < REPLICATES; r++) {
        for (int i = 0; i < each; i++, normals += 4 * size)
            one_point(model, joint, rest, normals, &bayes[r], &plugin[r]);
        bayes[r] /= each;
        plugin[r] /= each;
    }
    stair_prediction_average(REPLICATES, bayes, &errors->bayes, &errors->bayes_error);
    stair_prediction_average(REPLICATES, plugin, &errors->plugin, &errors->plugin_error);
}
