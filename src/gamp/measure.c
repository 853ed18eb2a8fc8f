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
    double lost;    /* pivot, relative to its diagonal entry, that is rounding */
    double angle;   /* of a rotation that is tried: no multiple of pi is near, */
    double same;    /* labels that differ by less are equal, */
    uint64_t point; /* and number of the random Z */
} tuning = {.lost = 1e-14, .angle = 0.7, .same = 1e-9, .point = 2000};

void stair_gamp_overlap(const stair_model *model, int dim, const double *a, const double *b, double *out)
{
    int p = model->info.indices, one = stair_blocks_dim(model, dim);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            const double *x = a + (size_t)i * (size_t)dim, *y = b + (size_t)j * (size_t)dim;
            double sum = 0;
            for (int d = 0; d < dim; d++) sum += x[d] * y[d];
            out[i * p + j] = sum / one;
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

/* Whether rows i and j may be turned into each other: the label allows it, and they act on the same block. */
static bool turn_together(const stair_structure *s, int i, int j)
{
    return s->symmetry.turn[i] == s->symmetry.turn[j] && s->model->block[i] == s->model->block[j];
}

/* The rotation (n, n) that brings block (n, n) closest to a positive matrix. */
static void best_rotation(int n, const double *block, double *rotation)
{
    double best[STAIR_SQUARE], other[STAIR_SQUARE], trace[2] = {0, 0};
    stair_matrix_procrustes(n, block, 1, best);
    stair_matrix_procrustes(n, block, -1, other);
    for (int i = 0; i < n * n; i++) {
        trace[0] += best[i] * block[i];
        trace[1] += other[i] * block[i];
    }
    memcpy(rotation, trace[0] >= trace[1] ? best : other, sizeof(double) * (size_t)(n * n));
}

/* r for the rows that turn with row `first`. */
static void block_rotation(int p, const stair_structure *s, int first, const double *m, double *r)
{
    double block[STAIR_SQUARE], best[STAIR_SQUARE];
    int row[STAIR_MAX_INDICES], n = 0;
    for (int i = first; i < p; i++)
        if (turn_together(s, i, first)) row[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) block[i * n + j] = m[row[i] * p + row[j]];
    best_rotation(n, block, best);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) r[row[i] * p + row[j]] = best[i * n + j];
}

/* The first of the rows that turn with row i, and whether there are others. */
static int first_turning(const stair_structure *s, int i, bool *others)
{
    int first = -1;
    *others = false;
    for (int j = 0; j < s->symmetry.indices; j++) {
        if (!turn_together(s, i, j)) continue;
        if (first < 0) first = j;
        *others |= j != i;
    }
    return first;
}

/* r for the rows that do not turn: each goes to a place where the symmetries allow it, on the block it acts
 * on, with the sign that makes its entry of m positive; the largest entries of m choose first. */
static void exchange(int p, const stair_structure *structure, const double *m, double *r)
{
    const stair_symmetry *s = &structure->symmetry;
    const int *block = structure->model->block;
    bool row[STAIR_MAX_INDICES] = {false}, column[STAIR_MAX_INDICES] = {false};
    for (int i = 0; i < p; i++) {
        first_turning(structure, i, &row[i]);
        column[i] = row[i];
    }
    for (int step = 0; step < p; step++) {
        int a = -1, b = -1;
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                if (!row[i] && !column[j] && s->kind[i] == s->kind[j] && block[i] == block[j] &&
                    (a < 0 || fabs(m[i * p + j]) > fabs(m[a * p + b])))
                    a = i, b = j;
        if (a < 0) return;
        row[a] = column[b] = true;
        r[a * p + b] = s->even[a] && m[a * p + b] < 0 ? -1 : 1;
    }
}

/* Rows that only change sign together, `rank` of each matrix: those of one head, or a query and its key. */
typedef struct {
    int rows[STAIR_MAX_INDICES], count, rank;
} joint_rows;

/* Whether the label stays when the rows of all matrices are turned alike, at one random Z. */
static bool turn_jointly(const stair_model *model, const joint_rows *g)
{
    int m = model->info.tokens;
    bool plain = model->info.output_noisy;
    double z[STAIR_MAX_CELLS], y[2][STAIR_MAX_LABEL], c = cos(tuning.angle), s = sin(tuning.angle);
    stair_rng_normals(1, STAIR_RNG_POINTS, tuning.point, model->info.indices * m, z);
    for (int turned = 0; turned < 2; turned++) {
        for (int k = 0; turned && k + 1 < g->count; k++) {
            if (k % g->rank == g->rank - 1) continue; /* the next row is of another matrix */
            for (int t = 0; t < m; t++) {
                double *a = z + g->rows[k] * m + t, *b = z + g->rows[k + 1] * m + t, kept = *a;
                *a = c * kept + s * *b;
                *b = c * *b - s * kept;
            }
        }
        model->ops->forward(model, z, plain ? y[turned] : NULL, plain ? NULL : y[turned]);
    }
    for (int k = 0; k < model->info.label_size; k++)
        if (!(fabs(y[0][k] - y[1][k]) <= tuning.same * (1 + fabs(y[0][k])))) return false;
    return true;
}

/* The rows that change sign with row i, which is the first of them. */
static joint_rows rows_with(const stair_structure *s, int i)
{
    const stair_model *model = s->model;
    joint_rows g = {.rank = model->layer[i] < model->info.layers ? model->info.ranks[model->layer[i]] : 1};
    for (int j = i; j < s->symmetry.indices; j++)
        if (s->symmetry.sign[j] == s->symmetry.sign[i]) g.rows[g.count++] = j;
    if (g.rank > 1 && (g.count % g.rank || !turn_jointly(model, &g))) g.rank = 1;
    return g;
}

/* r for rows that change sign, or turn, together: by the sum of their matrices' blocks of m. */
static void joint_rotation(int p, const joint_rows *g, const double *m, double *r)
{
    double block[STAIR_SQUARE] = {0}, best[STAIR_SQUARE];
    int n = g->rank;
    for (int k = 0; k < g->count; k++)
        for (int j = 0; j < n; j++) block[k % n * n + j] += m[g->rows[k] * p + g->rows[k / n * n + j]];
    best_rotation(n, block, best);
    for (int k = 0; k < g->count; k++)
        for (int j = 0; j < n; j++) r[g->rows[k] * p + g->rows[k / n * n + j]] = best[k % n * n + j];
}

/* Signs and rotations that act on several rows at once. */
static void align_jointly(const stair_structure *s, double *q, double *m)
{
    int p = s->symmetry.indices;
    const int *sign = s->symmetry.sign;
    double r[STAIR_SQUARE] = {0};
    bool any = false, done[STAIR_MAX_INDICES] = {false};
    for (int i = 0; i < p; i++) {
        if (done[i]) continue;
        r[i * (p + 1)] = 1;
        if (!sign[i]) continue;
        joint_rows g = rows_with(s, i);
        r[i * (p + 1)] = 0;
        joint_rotation(p, &g, m, r);
        for (int k = 0; k < g.count; k++) done[g.rows[k]] = true;
        any = true;
    }
    if (any) turn(p, r, q, m);
}

/* Signs and places of rows, rotations of those that turn into each other, alone or with others; and, where
 * that is a symmetry though no single sign is (as for z1 z2), the sign of all of Z.
 *
 * Not divided out, since no posterior has them: the scale between a query and its key, which the Gaussian
 * prior of the weights fixes, and exchanges of heads, which are told apart by the block that each one mixes.
 */
void stair_gamp_align(const stair_structure *structure, double *q, double *m)
{
    int p = structure->symmetry.indices;
    double r[STAIR_SQUARE] = {0}, trace = 0;
    for (int i = 0; i < p; i++) {
        bool others;
        if (first_turning(structure, i, &others) == i && others) block_rotation(p, structure, i, m, r);
    }
    exchange(p, structure, m, r);
    turn(p, r, q, m);
    align_jointly(structure, q, m);
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
