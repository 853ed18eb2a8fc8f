/* Randomly shifted lattices through the Gaussian map, with importance weights and control variates.
 *
 * Coordinates come in the order U (all rows), xi (rows with overlap), noise: what the label depends on
 * most gets the best coordinates of the lattice.  U and xi are drawn `widening` times wider than the
 * Gaussian: products of second derivatives grow like |Z|^4, and lattice points alone miss such tails.
 *
 * Controls, all of mean zero: dg_mm + g_m g_m^T summed over tokens (the Nishimori identity behind
 * A = Qhat), and weight - 1.  Their coefficients come from one regression over all samples; they cost
 * a bias of order 1/samples, far below the error.  References: Kuo, Cools, Nuyens, SIAM J. Sci. Comput.
 * 28 (2006) for the lattice; Owen, Monte Carlo theory, chapter 8 for the controls.
 *
 * Sums run in sample order inside a block and in block order: the result does not depend on threads. */
#include "asymptotics/expectation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/denoiser.h"
#include "asymptotics/label_grid.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

#define BATCH 2048
#define MOST_FINENESS 0.85 /* of hidden nodes: their error is then far below that of the samples */
#define MOST_FULL 6
#define SQUARE (STAIR_MAX_INDICES * STAIR_MAX_INDICES)
#define CELLS  (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)

typedef struct {
    const stair_model *model;
    const stair_outer_rule *rule;
    stair_outer *out;
    int p, m, controls;
    bool full; /* controls for every entry, not only the diagonal */
    double root_q[SQUARE], root_v[SQUARE], cov[SQUARE]; /* sqrt(Q), sqrt(V + prenoise), V */
    bool flat[STAIR_MAX_INDICES];                       /* rows of sqrt(Q) that are zero */
    stair_subspace rest;
    stair_denoiser denoiser;
    double *labels, *omega, *weight; /* one batch */
    stair_denoised moments;
    double *features, *part;         /* (targets + controls) of one sample, and of one estimate of it */
    double *sums;                                            /* (replicates, targets + controls) */
    double *cross; /* (controls, targets + controls): sums of products */
} outer_job;

static int packed(int i, int j) { return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; }

stair_status stair_outer_create(stair_context *context, const stair_model *model, int kernel, int replicates,
                                stair_outer *outer)
{
    int p = model->info.indices;
    memset(outer, 0, sizeof *outer);
    if (kernel > STAIR_MOST_KERNEL)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "the weak-recovery operator of %d unlearned directions is too large; at most %d", kernel,
                          STAIR_MOST_KERNEL);
    outer->indices = p;
    outer->kernel = kernel;
    outer->replicates = replicates;
    outer->pairs = kernel * (kernel + 1) / 2;
    outer->count = p * (p + 1) / 2 + 1 + outer->pairs * outer->pairs;
    outer->memory = calloc((size_t)(1 + replicates) * (size_t)outer->count, sizeof(double));
    if (!outer->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    outer->mean = outer->memory;
    outer->sample = outer->memory + outer->count;
    return STAIR_OK;
}

void stair_outer_destroy(stair_outer *outer)
{
    free(outer->memory);
    memset(outer, 0, sizeof *outer);
}

static const double *row_of(const stair_outer *outer, int r)
{
    return r < 0 ? outer->mean : outer->sample + (size_t)r * (size_t)outer->count;
}

void stair_outer_f(const stair_outer *outer, int r, double *f)
{
    const double *row = row_of(outer, r);
    for (int i = 0; i < outer->indices; i++)
        for (int j = 0; j < outer->indices; j++) f[i * outer->indices + j] = row[packed(i, j)];
}

double stair_outer_logz(const stair_outer *outer, int r)
{
    return row_of(outer, r)[outer->indices * (outer->indices + 1) / 2];
}

void stair_outer_apply(const stair_outer *outer, int r, const double *x, double *out)
{
    int k = outer->kernel;
    const double *op = row_of(outer, r) + outer->indices * (outer->indices + 1) / 2 + 1;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int a = 0; a < k; a++)
                for (int b = 0; b < k; b++) sum += op[packed(i, j) * outer->pairs + packed(a, b)] * x[a * k + b];
            out[i * k + j] = out[j * k + i] = sum;
        }
}

double stair_replicate_error(int n, const double *values)
{
    double mean = 0, spread = 0;
    for (int r = 0; r < n; r++) mean += values[r] / n;
    for (int r = 0; r < n; r++) spread += (values[r] - mean) * (values[r] - mean);
    return n > 1 ? sqrt(spread / (n - 1) / n) : INFINITY;
}

/* Symmetric square root; eigenvalues below zero by rounding count as zero. */
static void root(int n, const double *a, double shift, double *out)
{
    double values[STAIR_MAX_INDICES], vectors[SQUARE];
    stair_matrix_eigen(n, a, values, vectors);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += vectors[i * n + k] * sqrt(fmax(0, values[k] + shift)) * vectors[j * n + k];
            out[i * n + j] = sum;
        }
}

static void prepare(outer_job *job, const double *q)
{
    int p = job->p;
    for (int i = 0; i < p * p; i++) job->cov[i] = (i % (p + 1) == 0) - q[i];
    root(p, q, 0, job->root_q);
    root(p, job->cov, job->model->info.prenoise, job->root_v);
    for (int i = 0; i < p; i++) {
        job->flat[i] = true;
        for (int j = 0; j < p; j++) job->flat[i] &= q[i * p + j] == 0;
        for (int j = 0; j < p && job->flat[i]; j++) job->root_q[i * p + j] = job->root_q[j * p + i] = 0;
    }
}

/* One widened Gaussian and the logarithm of its weight. */
static double wide(double u, double s, double *log_weight)
{
    double x = stair_qmc_normal(u);
    *log_weight += log(s) - 0.5 * x * x * (s * s - 1);
    return s * x;
}

static void draw(const outer_job *job, const double *shift, size_t i, double *omega, double *label, double *weight)
{
    int p = job->p, m = job->m, k_label = job->model->info.label_size, at = 0;
    double u[2 * CELLS + STAIR_MAX_TOKENS * STAIR_MAX_TOKENS], xi[CELLS], normal[CELLS], z[CELLS], log_weight = 0;
    bool noisy = job->model->info.output_noisy;
    int dims = p * m + (noisy ? k_label : 0);
    for (int r = 0; r < p; r++) dims += job->flat[r] ? 0 : m;
    stair_qmc_point(dims, job->rule->points, i, shift, u);
    for (int k = 0; k < p * m; k++) normal[k] = wide(u[at++], job->rule->widening, &log_weight);
    for (int k = 0; k < p * m; k++) xi[k] = job->flat[k / m] ? 0 : wide(u[at++], job->rule->widening, &log_weight);
    for (int r = 0; r < p; r++)
        for (int t = 0; t < m; t++) {
            double mean = 0, rest = 0;
            for (int k = 0; k < p; k++) {
                mean += job->root_q[r * p + k] * xi[k * m + t];
                rest += job->root_v[r * p + k] * normal[k * m + t];
            }
            omega[r * m + t] = mean;
            z[r * m + t] = mean + rest;
        }
    *weight = exp(log_weight);
    job->model->ops->forward(job->model, z, noisy ? label : NULL, noisy ? NULL : label);
    for (int k = 0; noisy && k < k_label; k++) label[k] += sqrt(job->model->info.noise) * stair_qmc_normal(u[at++]);
}

void stair_subspace_set(const stair_model *model, const double *q, const double *basis, stair_subspace *rest)
{
    int p = model->info.indices;
    stair_symmetry symmetry;
    stair_symmetry_find(model, &symmetry);
    rest->basis = basis;
    for (int i = 0; i < p; i++) {
        rest->apart[i] = symmetry.even[i];
        for (int j = 0; j < p; j++) rest->apart[i] &= q[i * p + j] == 0;
    }
}

/* Products of dg on the unlearned subspace: pairs (ij) by (kl), symmetrised over k, l. */
static void operator_features(const stair_outer *outer, const stair_subspace *rest, int m, const double *dg, double *out)
{
    int p = outer->indices, k = outer->kernel, pm = p * m, pairs = outer->pairs;
    double g[STAIR_MOST_KERNEL][STAIR_MOST_KERNEL];
    memset(out, 0, sizeof(double) * (size_t)(pairs * pairs));
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++) {
            for (int i = 0; i < k; i++)
                for (int j = 0; j < k; j++) {
                    double sum = 0;
                    for (int r = 0; r < p; r++)
                        for (int s = 0; s < p; s++)
                            if (r == s || (!rest->apart[r] && !rest->apart[s]))
                                sum += rest->basis[r * k + i] * dg[(r * m + a) * pm + s * m + b] * rest->basis[s * k + j];
                    g[i][j] = sum;
                }
            for (int i = 0; i < k; i++)
                for (int j = 0; j <= i; j++)
                    for (int c = 0; c < k; c++)
                        for (int d = 0; d < k; d++)
                            out[packed(i, j) * pairs + packed(c, d)] +=
                                0.5 * (g[i][c] * g[j][d] + g[i][d] * g[j][c]) / (c == d ? 1 : 2);
        }
}

void stair_outer_features(const stair_outer *outer, const stair_subspace *rest, int m, double logz, const double *g,
                          const double *dg, double *out)
{
    int p = outer->indices, half = p * (p + 1) / 2;
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++) {
            double product = 0;
            for (int t = 0; t < m; t++) product += g[i * m + t] * g[j * m + t];
            out[packed(i, j)] = product;
        }
    out[half] = logz;
    if (outer->kernel) operator_features(outer, rest, m, dg, out + half + 1);
}

/* Targets, and the controls dg_mm + g_m g_m^T, from one estimate. */
static void part_features(const outer_job *job, double logz, const double *g, const double *dg, double *f)
{
    int p = job->p, m = job->m, pm = p * m, count = job->out->count;
    stair_outer_features(job->out, &job->rest, m, logz, g, dg, f);
    for (int i = 0; i < p; i++)
        for (int j = job->full ? 0 : i; j <= i; j++) {
            double slope = 0;
            for (int t = 0; t < m; t++) slope += dg[(i * m + t) * pm + j * m + t];
            f[count + (job->full ? packed(i, j) : i)] = f[packed(i, j)] + slope;
        }
}

static void fill_features(const outer_job *job, size_t n)
{
    int pm = job->p * job->m, all = job->out->count + job->controls, parts = job->denoiser.parts;
    double weight = job->weight[n];
    memset(job->features, 0, sizeof(double) * (size_t)all);
    for (int part = 0; part < parts; part++) {
        size_t at = n * (size_t)parts + (size_t)part;
        double share = stair_denoiser_share(&job->denoiser, part) * weight;
        part_features(job, job->moments.logz[at], job->moments.g + at * (size_t)pm, job->moments.dg + at * (size_t)(pm * pm),
                      job->part);
        for (int k = 0; k < all - 1; k++) job->features[k] += share * job->part[k];
    }
    job->features[all - 1] = weight - 1;
}

static void add_sample(outer_job *job, int replicate)
{
    int all = job->out->count + job->controls;
    double *sum = job->sums + (size_t)replicate * (size_t)all;
    const double *control = job->features + job->out->count;
    for (int k = 0; k < all; k++) sum[k] += job->features[k];
    for (int c = 0; c < job->controls; c++)
        for (int k = 0; k < all; k++) job->cross[c * all + k] += control[c] * job->features[k];
}

static stair_status run_batch(stair_context *context, outer_job *job, int replicate, const double *shift, size_t first,
                              size_t n)
{
    size_t pm = (size_t)(job->p * job->m), k = (size_t)job->model->info.label_size;
    for (size_t i = 0; i < n; i++)
        draw(job, shift, first + i, job->omega + i * pm, job->labels + i * k, job->weight + i);
    STAIR_TRY(stair_denoiser_evaluate(context, &job->denoiser, (uint64_t)replicate * job->rule->points + first, n,
                                      job->labels, job->omega, &job->moments));
    for (size_t i = 0; i < n; i++) {
        fill_features(job, i);
        add_sample(job, replicate);
        job->out->inner += fmin(1, job->moments.error[i]) * job->weight[i];
    }
    job->out->calls += n;
    return STAIR_OK;
}

/* Coefficients (controls, targets) of the regression on the controls that vary at all. */
static void regress(const outer_job *job, double total, double *coefficient)
{
    int c = job->controls, n = job->out->count, all = n + c;
    double *vectors = coefficient + c * n;      /* (c, c) */
    double *right = vectors + c * c;            /* (c, n) */
    double *covariance = right + c * n;         /* (c, c) */
    double *average = covariance + c * c;       /* (all) */
    double *scale = average + all, *values = scale + c;
    for (int k = 0; k < all; k++) {
        average[k] = 0;
        for (int r = 0; r < job->out->replicates; r++) average[k] += job->sums[(size_t)r * (size_t)all + (size_t)k] / total;
    }
    for (int i = 0; i < c; i++) {
        double spread = job->cross[i * all + n + i] / total - average[n + i] * average[n + i];
        scale[i] = spread > 1e-24 ? 1 / sqrt(spread) : 0;
    }
    for (int i = 0; i < c; i++) {
        for (int j = 0; j < c; j++)
            covariance[i * c + j] =
                (job->cross[i * all + n + j] / total - average[n + i] * average[n + j]) * scale[i] * scale[j];
        for (int k = 0; k < n; k++)
            right[i * n + k] = (job->cross[i * all + k] / total - average[n + i] * average[k]) * scale[i];
    }
    stair_matrix_eigen(c, covariance, values, vectors);
    memset(coefficient, 0, sizeof(double) * (size_t)(c * n));
    for (int e = 0; e < c; e++) {
        if (!(values[e] > 1e-9)) continue;
        for (int k = 0; k < n; k++) {
            double along = 0;
            for (int i = 0; i < c; i++) along += vectors[i * c + e] * right[i * n + k];
            for (int i = 0; i < c; i++) coefficient[i * n + k] += scale[i] * vectors[i * c + e] * along / values[e];
        }
    }
}

static stair_status finish(stair_context *context, outer_job *job)
{
    stair_outer *out = job->out;
    int c = job->controls, n = out->count, all = n + c;
    double points = (double)job->rule->points, total = points * out->replicates;
    double *coefficient = calloc((size_t)(2 * c * n + 2 * c * c + all + 2 * c), sizeof(double));
    if (!coefficient) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    regress(job, total, coefficient);
    memset(out->mean, 0, sizeof(double) * (size_t)n);
    for (int r = 0; r < out->replicates; r++) {
        const double *sum = job->sums + (size_t)r * (size_t)all;
        for (int k = 0; k < n; k++) {
            double value = sum[k];
            for (int i = 0; i < c; i++) value -= coefficient[i * n + k] * sum[n + i];
            out->sample[(size_t)r * (size_t)n + (size_t)k] = value / points;
            out->mean[k] += value / total;
        }
    }
    out->inner /= total;
    free(coefficient);
    return STAIR_OK;
}

static stair_status allocate(stair_context *context, outer_job *job, double **memory)
{
    size_t n = job->rule->points < BATCH ? job->rule->points : BATCH, pm = (size_t)(job->p * job->m);
    size_t all = (size_t)(job->out->count + job->controls), k = (size_t)job->model->info.label_size;
    size_t parts = STAIR_HIDDEN_PARTS, batch = n * (k + 2 + pm + (size_t)job->m + parts * (1 + pm + pm * pm));
    double *at = *memory =
        calloc(batch + all * (2 + (size_t)job->out->replicates + (size_t)job->controls), sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->labels = at;
    job->omega = job->labels + n * k;
    job->weight = job->omega + n * pm;
    job->moments.anchors = job->weight + n;
    job->moments.error = job->moments.anchors + n * (size_t)job->m;
    job->moments.logz = job->moments.error + n;
    job->moments.g = job->moments.logz + n * parts;
    job->moments.dg = job->moments.g + n * parts * pm;
    job->features = job->moments.dg + n * parts * pm * pm;
    job->part = job->features + all;
    job->sums = job->part + all;
    job->cross = job->sums + all * (size_t)job->out->replicates;
    return STAIR_OK;
}

/* Random hidden nodes are new for each replicate, so that their error shows in the spread. */
static stair_status renew_denoiser(stair_context *context, outer_job *job, int replicate)
{
    const stair_outer_rule *rule = job->rule;
    if (replicate && !(job->denoiser.hidden && stair_hidden_is_random(job->denoiser.hidden))) return STAIR_OK;
    stair_denoiser_destroy(&job->denoiser);
    return stair_denoiser_create(context, job->model, &rule->channel, job->cov, fmin(MOST_FINENESS, rule->fineness),
                                 rule->nodes, rule->seed + 1000 * (uint64_t)replicate, &job->denoiser);
}

static stair_status run_all(stair_context *context, outer_job *job)
{
    const stair_outer_rule *rule = job->rule;
    double shift[2 * CELLS + STAIR_MAX_TOKENS * STAIR_MAX_TOKENS];
    int dims = 2 * job->p * job->m + job->model->info.label_size;
    for (int r = 0; r < job->out->replicates; r++) {
        stair_rng_uniforms(rule->seed, STAIR_RNG_SHIFT, (uint64_t)r, dims, shift);
        stair_status status = renew_denoiser(context, job, r);
        for (size_t first = 0; first < rule->points && status == STAIR_OK; first += BATCH) {
            size_t n = rule->points - first < BATCH ? rule->points - first : BATCH;
            status = run_batch(context, job, r, shift, first, n);
        }
        STAIR_TRY(status);
    }
    return finish(context, job);
}

static stair_status sample(stair_context *context, const stair_model *model, const stair_outer_rule *rule, const double *q,
                           const double *basis, stair_outer *outer)
{
    int p = model->info.indices;
    outer_job *job = calloc(1, sizeof *job);
    double *memory = NULL;
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *job = (outer_job){.model = model, .rule = rule, .out = outer, .p = p, .m = model->info.tokens, .full = p <= MOST_FULL};
    job->controls = (job->full ? p * (p + 1) / 2 : p) + 1;
    outer->inner = outer->bias = 0;
    outer->calls = 0;
    outer->replicates = rule->replicates;
    stair_subspace_set(model, q, basis, &job->rest);
    prepare(job, q);
    stair_status status = allocate(context, job, &memory);
    if (status == STAIR_OK) status = run_all(context, job);
    stair_denoiser_destroy(&job->denoiser);
    free(memory);
    free(job);
    return status;
}

stair_status stair_outer_evaluate(stair_context *context, const stair_model *model, const stair_outer_rule *rule,
                                  const double *q, const double *basis, stair_outer *outer)
{
    if (!rule->sampled && stair_label_grid_fits(context, model, rule, q))
        return stair_label_grid_evaluate(context, model, rule, q, basis, outer);
    return sample(context, model, rule, q, basis, outer);
}
