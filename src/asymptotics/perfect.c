/* State evolution as V -> 0 is scale-free.  Near the truth the label is a linear map of Z - omega,
 * y - y* = J dZ with J = dy/dZ (K, PM), so the posterior is Gaussian and
 *
 *   -dg = J^T (J V J^T)^+ J,     f(V) = E sum_m [J^T (J V J^T)^+ J]_mm,     V' = (alpha f(V))^-1 :
 *
 * V -> f(V)^-1 is homogeneous of degree one and monotone, so (Perron and Frobenius, nonlinear) it has one
 * eigenvalue mu on positive matrices, V' = (mu/alpha) V, and perfect recovery is stable for alpha > mu.  Since
 * tr V f(V) is the rank of J, an eigenvector V > 0 gives mu = P / rank J: the bound by counting.  mu is
 * nevertheless computed: an eigenvector on the boundary would show. */
#include "asymptotics/perfect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

#define STEPS 200
#define DELTA 1e-5
#define INSIDE 1e-6 /* of the trace: eigenvalues of V above it are positive */
#define LABEL (STAIR_MAX_TOKENS * STAIR_MAX_TOKENS)
#define CELLS (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)
#define MOST_SIZE 128 /* what stair_matrix_eigen holds */

typedef struct {
    const stair_model *model;
    int p, m, k, rank;
    double *gram, *vectors, *jacobian; /* room: (PM, PM) twice, (K, PM) */
} perfect_job;

/* jacobian (K, PM) by central differences of the carried label */
static void differentiate(const perfect_job *job, const double *z, double *jacobian)
{
    int size = job->p * job->m;
    double moved[CELLS], up[LABEL], down[LABEL];
    memcpy(moved, z, sizeof(double) * (size_t)size);
    for (int c = 0; c < size; c++) {
        moved[c] = z[c] + DELTA;
        job->model->ops->forward(job->model, moved, NULL, up);
        moved[c] = z[c] - DELTA;
        job->model->ops->forward(job->model, moved, NULL, down);
        moved[c] = z[c];
        for (int k = 0; k < job->k; k++) jacobian[k * size + c] = (up[k] - down[k]) / (2 * DELTA);
    }
}

/* gram (PM, PM) = A^T A for A = J (root x 1) */
static void whitened_gram(const perfect_job *job, const double *jacobian, const double *root, double *gram)
{
    int p = job->p, m = job->m, size = p * m;
    double row[CELLS];
    memset(gram, 0, sizeof(double) * (size_t)(size * size));
    for (int a = 0; a < job->k; a++) {
        for (int i = 0; i < p; i++)
            for (int t = 0; t < m; t++) {
                row[i * m + t] = 0;
                for (int j = 0; j < p; j++) row[i * m + t] += root[i * p + j] * jacobian[a * size + j * m + t];
            }
        for (int b = 0; b < size; b++)
            for (int c = 0; c < size; c++) gram[b * size + c] += row[b] * row[c];
    }
}

/* Adds sum_m [J^T (J V J^T)^+ J]_mm = sum_m [V^-1/2 Pi V^-1/2]_mm to f (P, P), Pi the projector on the row space of
 * A = J V^1/2: `rank` eigenvectors of A^T A. */
static void add_information(const perfect_job *job, const double *jacobian, const double *root, const double *inverse,
                            double *f)
{
    int p = job->p, m = job->m, size = p * m;
    double values[CELLS], row[CELLS];
    whitened_gram(job, jacobian, root, job->gram);
    stair_matrix_eigen(size, job->gram, values, job->vectors);
    for (int e = size - job->rank; e < size; e++) {
        if (!(values[e] > 0)) continue;
        for (int i = 0; i < p; i++)
            for (int t = 0; t < m; t++) {
                row[i * m + t] = 0;
                for (int j = 0; j < p; j++) row[i * m + t] += inverse[i * p + j] * job->vectors[(j * m + t) * size + e];
            }
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                for (int t = 0; t < m; t++) f[i * p + j] += row[i * m + t] * row[j * m + t];
    }
}

/* V^1/2 and V^-1/2 */
static void roots(int p, const double *v, double *root, double *inverse)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    stair_matrix_eigen(p, v, values, vectors);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            root[i * p + j] = inverse[i * p + j] = 0;
            for (int k = 0; k < p; k++) {
                double size = sqrt(fmax(values[k], 1e-300)), pair = vectors[i * p + k] * vectors[j * p + k];
                root[i * p + j] += pair * size;
                inverse[i * p + j] += pair / size;
            }
        }
}

static int find_rank(const perfect_job *job)
{
    int size = job->p * job->m, rank = 0;
    double identity[STAIR_SQUARE] = {0};
    for (int i = 0; i < job->p; i++) identity[i * (job->p + 1)] = 1;
    for (int trial = 0; trial < 5; trial++) {
        double z[CELLS], values[CELLS];
        int found = 0;
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)trial, size, z);
        differentiate(job, z, job->jacobian);
        whitened_gram(job, job->jacobian, identity, job->gram);
        stair_matrix_eigen(size, job->gram, values, job->vectors);
        for (int a = 0; a < size; a++) found += values[a] > 1e-13 * values[size - 1];
        if (found > rank) rank = found;
    }
    return rank;
}

static void average(const perfect_job *job, const stair_symmetry *symmetry, size_t points, uint64_t seed, int replicate,
                    const double *v, double *f)
{
    int size = job->p * job->m;
    double shift[CELLS], u[CELLS], z[CELLS], root[STAIR_SQUARE], inverse[STAIR_SQUARE];
    roots(job->p, v, root, inverse);
    stair_rng_uniforms(seed, STAIR_RNG_SHIFT, (uint64_t)replicate, size, shift);
    memset(f, 0, sizeof(double) * (size_t)(job->p * job->p));
    for (size_t i = 0; i < points; i++) {
        stair_qmc_point(size, points, i, shift, u);
        for (int c = 0; c < size; c++) z[c] = stair_qmc_normal(u[c]);
        differentiate(job, z, job->jacobian);
        add_information(job, job->jacobian, root, inverse, f);
    }
    for (int i = 0; i < job->p * job->p; i++) f[i] /= (double)points;
    stair_symmetrise(symmetry, f);
}

/* One step V -> f(V)^-1, scaled to trace one; the scale is mu. */
static double step(const perfect_job *job, const double *f, double *v)
{
    int p = job->p;
    double a[STAIR_SQUARE], trace = 0;
    memcpy(a, f, sizeof(double) * (size_t)(p * p));
    for (int i = 0; i < p * p; i++) v[i] = i % (p + 1) == 0;
    if (!stair_matrix_solve(p, a, p, v, NULL)) return INFINITY;
    for (int i = 0; i < p; i++) trace += v[i * (p + 1)];
    for (int i = 0; i < p * p; i++) v[i] /= trace;
    return trace;
}

static void find(perfect_job *job, const stair_symmetry *symmetry, size_t points, int replicates, uint64_t seed,
                 stair_perfect *out)
{
    int p = job->p;
    double v[STAIR_SQUARE] = {0}, f[STAIR_SQUARE], part[STAIR_SQUARE], mu[STAIR_MOST_REPLICATES], before = 0;
    job->rank = out->equations = find_rank(job);
    out->counting = out->equations ? (double)p / out->equations : INFINITY;
    for (int i = 0; i < p; i++) v[i * (p + 1)] = 1.0 / p;
    for (int s = 0; s < STEPS; s++) {
        average(job, symmetry, points, seed, 0, v, f);
        double now = step(job, f, v);
        if (fabs(now - before) <= 1e-7 * now) break;
        before = now;
    }
    bool inside = true;
    for (int r = 0; r < replicates; r++) {
        double next[STAIR_SQUARE];
        average(job, symmetry, points, seed, r, v, part);
        memcpy(next, v, sizeof next);
        mu[r] = step(job, part, next);
        out->alpha += mu[r] / replicates;
    }
    out->error = stair_replicate_error(replicates, mu);
    for (int i = 0; i < p; i++) inside &= v[i * (p + 1)] > INSIDE;
    if (inside) { /* then counting is exact, and the sampled value only shows the noise */
        out->alpha = out->counting;
        out->error = 0;
    }
    for (int i = 0; i < p; i++) out->ratios[i] = v[i * (p + 1)];
}

stair_status stair_perfect_find(stair_context *context, const stair_model *model, const stair_symmetry *symmetry,
                                size_t points, int replicates, uint64_t seed, stair_perfect *out)
{
    perfect_job job = {.model = model, .p = model->info.indices, .m = model->info.tokens, .k = model->info.label_size};
    size_t size = (size_t)(job.p * job.m);
    memset(out, 0, sizeof *out);
    if (size > MOST_SIZE) return stair_fail(context, STAIR_UNSUPPORTED, "perfect recovery of %zu numbers", size);
    job.gram = malloc((2 * size * size + (size_t)job.k * size) * sizeof(double));
    if (!job.gram) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job.vectors = job.gram + size * size;
    job.jacobian = job.vectors + size * size;
    find(&job, symmetry, points, replicates, seed, out);
    free(job.gram);
    return STAIR_OK;
}
