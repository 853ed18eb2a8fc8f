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
#include <string.h>

#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

#define STEPS 200
#define DELTA 1e-5
#define INSIDE 1e-6 /* of the trace: eigenvalues of V above it are positive */
#define LABEL (STAIR_MAX_TOKENS * STAIR_MAX_TOKENS)
#define CELLS (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)
#define MOST_LABEL 64

typedef struct {
    const stair_model *model;
    int p, m, k, rank;
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

/* Adds sum_m [J^T (J V J^T)^+ J]_mm of one Z to f (P, P); the pseudo-inverse keeps `rank` eigenvalues. */
static void add_information(const perfect_job *job, const double *jacobian, const double *v, double *f)
{
    int p = job->p, m = job->m, k = job->k, size = p * m;
    static _Thread_local double gram[MOST_LABEL * MOST_LABEL], vectors[MOST_LABEL * MOST_LABEL];
    double values[MOST_LABEL], row[CELLS];
    for (int a = 0; a < k; a++) {
        for (int i = 0; i < p; i++)
            for (int t = 0; t < m; t++) {
                row[i * m + t] = 0;
                for (int j = 0; j < p; j++) row[i * m + t] += v[i * p + j] * jacobian[a * size + j * m + t];
            }
        for (int b = 0; b < k; b++) {
            gram[a * k + b] = 0;
            for (int c = 0; c < size; c++) gram[a * k + b] += row[c] * jacobian[b * size + c];
        }
    }
    stair_matrix_eigen(k, gram, values, vectors);
    for (int e = k - job->rank; e < k; e++) {
        if (!(values[e] > 0)) continue;
        for (int c = 0; c < size; c++) {
            row[c] = 0;
            for (int a = 0; a < k; a++) row[c] += vectors[a * k + e] * jacobian[a * size + c];
        }
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                for (int t = 0; t < m; t++) f[i * p + j] += row[i * m + t] * row[j * m + t] / values[e];
    }
}

static int find_rank(const perfect_job *job)
{
    int size = job->p * job->m, rank = 0;
    for (int trial = 0; trial < 5; trial++) {
        double z[CELLS], jacobian[MOST_LABEL * CELLS], gram[MOST_LABEL * MOST_LABEL], vectors[MOST_LABEL * MOST_LABEL];
        double values[MOST_LABEL];
        int found = 0;
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)trial, size, z);
        differentiate(job, z, jacobian);
        for (int a = 0; a < job->k; a++)
            for (int b = 0; b < job->k; b++) {
                gram[a * job->k + b] = 0;
                for (int c = 0; c < size; c++) gram[a * job->k + b] += jacobian[a * size + c] * jacobian[b * size + c];
            }
        stair_matrix_eigen(job->k, gram, values, vectors);
        for (int a = 0; a < job->k; a++) found += values[a] > 1e-13 * values[job->k - 1];
        if (found > rank) rank = found;
    }
    return rank;
}

static void average(const perfect_job *job, const stair_symmetry *symmetry, size_t points, uint64_t seed, int replicate,
                    const double *v, double *f)
{
    int size = job->p * job->m;
    double shift[CELLS], u[CELLS], z[CELLS], jacobian[MOST_LABEL * CELLS];
    stair_rng_uniforms(seed, STAIR_RNG_SHIFT, (uint64_t)replicate, size, shift);
    memset(f, 0, sizeof(double) * (size_t)(job->p * job->p));
    for (size_t i = 0; i < points; i++) {
        stair_qmc_point(size, points, i, shift, u);
        for (int c = 0; c < size; c++) z[c] = stair_qmc_normal(u[c]);
        differentiate(job, z, jacobian);
        add_information(job, jacobian, v, f);
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

stair_status stair_perfect_find(stair_context *context, const stair_model *model, const stair_symmetry *symmetry,
                                size_t points, int replicates, uint64_t seed, stair_perfect *out)
{
    int p = model->info.indices;
    perfect_job job = {.model = model, .p = p, .m = model->info.tokens, .k = model->info.label_size};
    double v[STAIR_SQUARE] = {0}, f[STAIR_SQUARE], part[STAIR_SQUARE], mu[STAIR_MOST_REPLICATES], before = 0;
    memset(out, 0, sizeof *out);
    if (job.k > MOST_LABEL) return stair_fail(context, STAIR_UNSUPPORTED, "perfect recovery with labels of %d numbers", job.k);
    job.rank = out->equations = find_rank(&job);
    out->counting = out->equations ? (double)p / out->equations : INFINITY;
    for (int i = 0; i < p; i++) v[i * (p + 1)] = 1.0 / p;
    for (int s = 0; s < STEPS; s++) {
        average(&job, symmetry, points, seed, 0, v, f);
        double now = step(&job, f, v);
        if (fabs(now - before) <= 1e-7 * now) break;
        before = now;
    }
    bool inside = true;
    for (int r = 0; r < replicates; r++) {
        double next[STAIR_SQUARE];
        average(&job, symmetry, points, seed, r, v, part);
        memcpy(next, v, sizeof next);
        mu[r] = step(&job, part, next);
        out->alpha += mu[r] / replicates;
    }
    out->error = stair_replicate_error(replicates, mu);
    for (int i = 0; i < p; i++) inside &= v[i * (p + 1)] > INSIDE;
    if (inside) { /* then counting is exact, and the sampled value only shows the noise */
        out->alpha = out->counting;
        out->error = 0;
    }
    for (int i = 0; i < p; i++) out->ratios[i] = v[i * (p + 1)];
    return STAIR_OK;
}
