/* Any model: randomly shifted lattices through the Gaussian map, with importance weights and control
 * variates.
 *
 * Coordinates come in the order xi (rows with overlap), U (all rows), noise: what is left once the controls
 * are out depends on omega most, and that gets the best coordinates of the lattice.  U and xi are drawn
 * `widening` times wider than the Gaussian: products of second derivatives grow like |Z|^4, and lattice
 * points alone miss such tails.
 *
 * Controls, all of mean zero.  Given omega: g, and g g^T + dg (the Nishimori identity behind A = Qhat), times
 * functions of omega.  What the label would tell if it were linear (linear.h) at omega, less its mean
 * over a lattice of its own: all that varies once V is small.  And weight - 1.  References: Kuo, Cools,
 * Nuyens, SIAM J. Sci. Comput. 28 (2006) for the lattice; controls.c.
 *
 * Sums run in sample order inside a block and in block order: the result does not depend on threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "average/sample_features.h"
#include "model/linear.h"
#include "core/matrix.h"
#include "core/ranks.h"
#include "core/qmc.h"
#include "core/reduce.h"
#include "core/rng.h"

#define BATCH         2048 /* samples whose posteriors are kept at a time, or so many times more: */
#define BATCHES       8    /* as long as they take */
#define BATCH_BYTES   (32 << 20)
#define EXPECT_BLOCKS 64 /* pieces of the lattice that averages what a linear label tells */
#define BLOCK         64 /* samples of one piece of work */
#define PILOT         16 /* samples that show what all of them will cost */

static const struct {
    double whole;       /* fineness of hidden nodes, relative: both halves together have twice the nodes */
    int enough;         /* samples for each further control of a row */
    double most_moved;  /* errors of a plain average by which controls may move it */
    size_t fewer_nodes; /* hidden nodes of a sample, relative to those that a grid of labels shares, */
    size_t least_nodes; /* but at least these */
    size_t fewer;       /* samples for each point of the lattice that averages what a linear label tells, */
    int most_wide;      /* numbers of Z that are drawn as much wider as was asked for */
    int most_linear;    /* numbers of Z for which it is worth it: each is a forward pass of every sample */
    int more;           /* or points for each sample, where a posterior takes as much longer, */
    int kept;           /* or so many, where a backend sums posteriors: these points are the processor's */
    double points_at_once; /* times more samples, at most, where an error was missed */
    double rate;           /* errors fall like samples^-rate */
    int tries;             /* to move tokens apart that tie, */
    double aside;          /* by so much */
} tuning = {.whole = 0.52,
            .enough = 100,
            .most_moved = 4.0,
            .fewer_nodes = 4,
            .least_nodes = 1024,
            .fewer = 4,
            .most_wide = 12,
            .most_linear = 12,
            .more = 16,
            .kept = 1,
            .points_at_once = 16.0,
            .rate = 0.6,
            .tries = 3,
            .aside = 1e-7};

static void prepare(stair_sample_job *job, const double *q)
{
    int p = job->p;
    for (int i = 0; i < p * p; i++) {
        job->unit[i] = i % (p + 1) == 0;
        job->cov[i] = job->unit[i] - q[i];
    }
    stair_spectral_map(p, q, stair_shifted_root, 0, job->root_q);
    stair_spectral_map(p, job->cov, stair_shifted_root, job->model->info.prenoise, job->root_v);
    double wide_cov[STAIR_SQUARE];
    for (int i = 0; i < p * p; i++)
        wide_cov[i] = job->cov[i] + (i % (p + 1) == 0 ? job->model->info.prenoise : 0);
    stair_linear_roots(p, wide_cov, job->root, job->inverse);
    for (int i = 0; i < p; i++) {
        job->flat[i] = true;
        for (int j = 0; j < p; j++) job->flat[i] &= q[i * p + j] == 0;
        for (int j = 0; j < p && job->flat[i]; j++) job->root_q[i * p + j] = job->root_q[j * p + i] = 0;
    }
}

/* In many dimensions weights would vary more than what they are for: less widening in each. */
static double narrower(int cells, double widening)
{
    return cells > tuning.most_wide ? 1 + (widening - 1) * sqrt((double)tuning.most_wide / cells) : widening;
}

/* One widened Gaussian and the logarithm of its weight. */
static double wide(double u, double s, double *log_weight)
{
    double x = stair_qmc_normal(u);
    *log_weight += log(s) - 0.5 * x * x * (s * s - 1);
    return s * x;
}

/* out (P): what a linear label at z tells of each row. */
static void tell(const stair_sample_job *job, const stair_linear *linear, const double *z, double *out)
{
    double f[STAIR_SQUARE] = {0};
    stair_linear_add(linear, job->root, job->inverse, z, f);
    for (int i = 0; i < job->p; i++) out[i] = f[i * (job->p + 1)];
}

/* Labels of two tokens closer than rounding are none the model could give: they are moved apart, by far less
 * than anything depends on. */
static void make_label(const stair_sample_job *job, stair_context *local, stair_fibre *fibre,
                       const double *omega, double *z, double *label)
{
    int size = job->p * job->m;
    job->model->ops->forward(job->model, z, NULL, label);
    for (int k = 0; k < tuning.tries && stair_fibre_exists(job->model) &&
                    stair_fibre_open(local, label, omega, fibre) != STAIR_OK;
         k++) {
        for (int c = 0; c < size; c++) z[c] += tuning.aside * (c + 1);
        job->model->ops->forward(job->model, z, NULL, label);
    }
}

static void draw(const stair_sample_job *job, stair_context *local, stair_fibre *fibre,
                 const stair_linear *linear, size_t i)
{
    int p = job->p, m = job->m, k_label = job->model->info.label_size, at = 0;
    double u[2 * STAIR_MAX_CELLS + STAIR_MAX_LABEL], xi[STAIR_MAX_CELLS], normal[STAIR_MAX_CELLS],
        log_weight = 0;
    bool noisy = job->model->info.output_noisy;
    double *z = job->drawn + i * (size_t)(p * m);
    double *omega = job->omega + i * (size_t)(p * m), *label = job->labels + i * (size_t)k_label;
    int dims = p * m + (noisy ? k_label : 0);
    for (int r = 0; r < p; r++) dims += job->flat[r] ? 0 : m;
    (job->even ? stair_qmc_even_point : stair_qmc_point)(dims, job->effort->points, job->first + i,
                                                         job->shift, u);
    for (int k = 0; k < p * m; k++) xi[k] = job->flat[k / m] ? 0 : wide(u[at++], job->widening, &log_weight);
    for (int k = 0; k < p * m; k++) normal[k] = wide(u[at++], job->widening, &log_weight);
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
    job->weight[i] = exp(log_weight);
    if (noisy)
        job->model->ops->forward(job->model, z, label, NULL);
    else
        make_label(job, local, fibre, omega, z, label);
    for (int k = 0; noisy && k < k_label; k++)
        label[k] += sqrt(job->model->info.noise) * stair_qmc_normal(u[at++]);
    if (job->linear_too) tell(job, linear, omega, job->told + i * (size_t)p);
}

static stair_status draw_block(void *user, size_t block, int thread, stair_context *local)
{
    const stair_sample_job *job = user;
    stair_fibre fibre;
    stair_linear linear = {0};
    (void)thread;
    if (job->linear_too) STAIR_TRY(stair_linear_create(local, job->model, job->structure->rank, &linear));
    stair_status status = stair_fibre_create(local, job->model, &fibre);
    for (size_t i = block * BLOCK; i < (block + 1) * BLOCK && i < job->batch && status == STAIR_OK; i++)
        draw(job, local, &fibre, &linear, i);
    if (status == STAIR_OK) stair_fibre_destroy(&fibre);
    stair_linear_destroy(&linear);
    return status;
}

static stair_status feature_block(void *user, size_t block, int thread, stair_context *local)
{
    const stair_sample_job *job = user;
    (void)thread, (void)local;
    for (size_t n = block * BLOCK; n < (block + 1) * BLOCK && n < job->batch; n++)
        stair_sample_features(job, n, job->features + n * (size_t)job->width);
    return STAIR_OK;
}

static void compare_parts(stair_sample_job *job, size_t i, const double *feature)
{
    const double *whole = feature + job->width - job->plain;
    double corrected[STAIR_MAX_INDICES + 2];
    stair_sample_plain(job, feature, corrected);
    for (int k = 0; k < job->plain; k++) {
        job->whole[k] += job->weight[i] * whole[k];
        job->corrected[k] += corrected[k];
    }
}

/* Relative, of the row or operator that suffers most. */
static double bias_left(const stair_sample_job *job)
{
    double most = 0;
    for (int k = 0; k <= job->p; k++)
        if (job->whole[k] > 0 && (k == job->p || !job->flat[k]))
            most = fmax(most, fabs(job->corrected[k] / job->whole[k] - 1));
    return stair_bias_left(most);
}

static stair_status draw_all(stair_context *context, stair_sample_job *job, size_t blocks)
{
    size_t one = sizeof(double), pm = (size_t)(job->p * job->m) * one, p = (size_t)job->p * one,
           k = (size_t)job->model->info.label_size * one, n = job->batch;
    stair_filled arrays[] = {{job->labels, BLOCK * k, n * k},
                             {job->omega, BLOCK * pm, n * pm},
                             {job->drawn, BLOCK * pm, n * pm},
                             {job->weight, BLOCK * one, n * one},
                             {job->told, BLOCK * p, job->linear_too ? n * p : 0}};
    return stair_parallel_shared(context, blocks, draw_block, job, arrays, 5);
}

static stair_status find_features(stair_context *context, stair_sample_job *job, size_t blocks)
{
    size_t each = (size_t)job->width * sizeof(double);
    stair_filled features = {job->features, BLOCK * each, job->batch * each};
    return stair_parallel_shared(context, blocks, feature_block, job, &features, 1);
}

static stair_status run_batch(stair_context *context, stair_sample_job *job)
{
    size_t n = job->batch, blocks = (n + BLOCK - 1) / BLOCK;
    int all = job->controls.targets + job->controls.controls;
    double *sum = job->sums + (size_t)job->replicate * (size_t)all;
    STAIR_TRY(draw_all(context, job, blocks));
    STAIR_TRY(stair_denoiser_evaluate(context, &job->denoiser,
                                      (uint64_t)job->replicate * job->effort->points + job->first, n,
                                      job->labels, job->omega, job->drawn, &job->moments));
    if (job->effort->relative)
        STAIR_TRY(stair_denoiser_evaluate(context, &job->ignorant,
                                          (uint64_t)job->replicate * job->effort->points + job->first, n,
                                          job->labels, job->nothing, job->drawn, &job->before));
    STAIR_TRY(find_features(context, job, blocks));
    for (size_t i = 0; i < n; i++) {
        const double *feature = job->features + i * (size_t)job->width;
        for (int k = 0; k < all; k++) sum[k] += feature[k];
        job->out->inner += fmin(1, job->moments.error[i]) * job->weight[i];
        compare_parts(job, i, feature);
    }
    job->out->calls += n;
    return stair_controls_add(context, &job->controls, job->replicate, n, (size_t)job->width, job->features);
}

/* Controls that move an average by more than its noise without them are not of mean zero, whatever they
 * should be: then target t goes without. */
static void keep_or_drop(stair_sample_job *job, int t)
{
    stair_average *out = job->out;
    int all = job->controls.targets + job->controls.controls;
    double plain[STAIR_MOST_REPLICATES], moved = 0;
    for (int r = 0; r < out->replicates; r++) {
        plain[r] = job->sums[r * all + t];
        moved += (out->sample[r * out->count + t] - plain[r]) / out->replicates;
    }
    if (fabs(moved) <= tuning.most_moved * stair_replicate_error(out->replicates, plain)) return;
    for (int r = 0; r < out->replicates; r++) out->sample[r * out->count + t] = plain[r];
}

static stair_status finish(stair_context *context, stair_sample_job *job)
{
    stair_average *out = job->out;
    int all = job->controls.targets + job->controls.controls;
    double samples = (double)job->effort->points * out->replicates;
    job->controls.noise = out->inner /= samples;
    for (int k = 0; k < out->replicates * all; k++) job->sums[k] /= (double)job->effort->points;
    STAIR_TRY(stair_controls_apply(context, &job->controls, job->sums, (size_t)out->count, out->sample));
    for (int k = 0; k < out->count; k++) {
        keep_or_drop(job, k);
        out->mean[k] = 0;
        for (int r = 0; r < out->replicates; r++)
            out->mean[k] += out->sample[r * out->count + k] / out->replicates;
    }
    out->bias = bias_left(job);
    out->logz_bias = stair_bias_left((job->corrected[job->p + 1] - job->whole[job->p + 1]) / samples);
    return STAIR_OK;
}

/* Moments of n samples from `at` on; returns what is behind them. */
static double *place_moments(const stair_sample_job *job, size_t n, double *at, stair_denoised *moments)
{
    size_t pm = (size_t)(job->p * job->m), parts = STAIR_PARTS_OF_RULE;
    moments->anchors = at;
    moments->error = moments->anchors + n * (size_t)job->m;
    moments->logz = moments->error + n;
    moments->g = moments->logz + n * parts;
    moments->dg = moments->g + n * parts * pm;
    return moments->dg + n * parts * pm * pm;
}

static stair_status allocate(stair_context *context, stair_sample_job *job, double **memory)
{
    size_t p = (size_t)job->p, pm = p * (size_t)job->m;
    size_t all = (size_t)(job->controls.targets + job->controls.controls),
           k = (size_t)job->model->info.label_size;
    size_t parts = STAIR_PARTS_OF_RULE, width = (size_t)job->width;
    size_t moments = 1 + (size_t)job->m + parts * (1 + pm + pm * pm), twice = job->effort->relative ? 1 : 0;
    size_t batch = k + 1 + 2 * pm + p + moments + twice * (moments + pm) + width;
    for (job->most = BATCHES * BATCH; job->most > BATCH && job->most * batch * sizeof(double) > BATCH_BYTES;)
        job->most -= BATCH;
    size_t n = job->effort->points < job->most ? job->effort->points : job->most;
    double *at = *memory =
        calloc(n * batch + all * (size_t)job->out->replicates + 2 * (size_t)job->plain, sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->labels = at;
    job->omega = job->labels + n * k;
    job->drawn = job->omega + n * pm;
    job->weight = job->drawn + n * pm;
    job->told = job->weight + n;
    job->features = place_moments(job, n, job->told + n * p, &job->moments);
    if (twice) {
        job->nothing = place_moments(job, n, job->features, &job->before);
        job->features = job->nothing + n * pm;
    }
    job->sums = job->features + n * width;
    job->whole = job->sums + all * (size_t)job->out->replicates;
    job->corrected = job->whole + job->plain;
    return STAIR_OK;
}

/* Random hidden nodes are new for each replicate, so that their error shows in the spread. */
static stair_status renew_denoiser(stair_context *context, stair_sample_job *job)
{
    const stair_average_effort *effort = job->effort;
    if (job->replicate && !stair_denoiser_is_random(&job->denoiser)) return STAIR_OK;
    stair_denoiser_effort how = {.fineness = tuning.whole * effort->fineness,
                                 .nodes = effort->nodes / tuning.fewer_nodes > tuning.least_nodes
                                              ? effort->nodes / tuning.fewer_nodes
                                              : tuning.least_nodes,
                                 .seed = effort->seed + 1000 * (uint64_t)job->replicate,
                                 .channel = effort->channel};
    for (int k = 0; k < (effort->relative ? 2 : 1); k++) {
        stair_denoiser *denoiser = k ? &job->ignorant : &job->denoiser;
        stair_denoiser_destroy(denoiser);
        STAIR_TRY(stair_denoiser_create(context, job->structure, k ? job->unit : job->cov, &how, denoiser));
    }
    return STAIR_OK;
}

static size_t told_points(const stair_sample_job *job)
{
    if (!job->structure->many_hidden) return job->effort->points / tuning.fewer;
    return (size_t)(stair_denoiser_is_kept(&job->denoiser) ? tuning.kept : tuning.more) * job->effort->points;
}

/* sum (P): what block b of the lattice adds to what a linear label tells on average. */
static stair_status expect_block(void *user, size_t block, int thread, stair_context *local, double *sum)
{
    const stair_sample_job *job = user;
    int p = job->p, m = job->m, pm = p * m;
    double u[STAIR_MAX_CELLS], omega[STAIR_MAX_CELLS], told[STAIR_MAX_INDICES];
    size_t points = told_points(job), share = points / EXPECT_BLOCKS;
    stair_linear linear;
    (void)thread;
    STAIR_TRY(stair_linear_create(local, job->model, job->structure->rank, &linear));
    memset(sum, 0, sizeof(double) * (size_t)p);
    for (size_t i = block * share; i < (block + 1) * share; i++) {
        (job->even ? stair_qmc_even_point : stair_qmc_point)(pm, points, i, job->shift, u);
        for (int c = 0; c < pm; c++) u[c] = stair_qmc_normal(u[c]);
        for (int r = 0; r < p; r++)
            for (int t = 0; t < m; t++) {
                omega[r * m + t] = 0;
                for (int k = 0; k < p; k++) omega[r * m + t] += job->root_q[r * p + k] * u[k * m + t];
            }
        tell(job, &linear, omega, told);
        for (int c = 0; c < p; c++) sum[c] += told[c] / (double)points;
    }
    stair_linear_destroy(&linear);
    return STAIR_OK;
}

/* By replicate, so that its error is part of the spread. */
static stair_status expect(stair_context *context, stair_sample_job *job)
{
    stair_sum sum = {.parts = EXPECT_BLOCKS, .size = (size_t)job->p};
    if (!job->linear_too) return STAIR_OK;
    stair_rng_uniforms(job->effort->seed + 3, STAIR_RNG_SHIFT, (uint64_t)job->replicate, job->p * job->m,
                       job->shift);
    return stair_sum_blocks(context, &sum, expect_block, job, NULL, job->expected);
}

/* Refuses, by the first few posteriors, what would take too long: one, then more. */
static stair_status foresee(stair_context *context, stair_sample_job *job)
{
    double all = (double)job->effort->points * job->out->replicates;
    char what[80];
    if (!isfinite(context->most_work)) return STAIR_OK;
    snprintf(what, sizeof what, "an average over %.0f posteriors", all);
    for (job->first = 0, job->batch = 1; job->batch <= PILOT && job->batch <= job->effort->points;
         job->batch *= 4) {
        double before = context->work;
        STAIR_TRY(stair_parallel(context, 1, draw_block, job));
        STAIR_TRY(stair_denoiser_evaluate(context, &job->denoiser, 0, job->batch, job->labels, job->omega,
                                          job->drawn, &job->moments));
        STAIR_TRY(stair_context_afford(context, (context->work - before) / (double)job->batch * all, what));
    }
    return STAIR_OK;
}

static stair_status run_all(stair_context *context, stair_sample_job *job)
{
    const stair_average_effort *effort = job->effort;
    int dims = 2 * job->p * job->m + job->model->info.label_size;
    for (job->replicate = 0; job->replicate < job->out->replicates; job->replicate++) {
        STAIR_TRY(renew_denoiser(context, job));
        STAIR_TRY(expect(context, job));
        stair_rng_uniforms(effort->seed, STAIR_RNG_SHIFT, (uint64_t)job->replicate, dims, job->shift);
        if (!job->replicate) STAIR_TRY(foresee(context, job));
        for (job->first = 0; job->first < effort->points; job->first += job->most) {
            job->batch = effort->points - job->first < job->most ? effort->points - job->first : job->most;
            STAIR_TRY(run_batch(context, job));
        }
    }
    return finish(context, job);
}

/* Which controls: the more there are the more samples their coefficients take. */
static stair_status choose_controls(stair_context *context, stair_sample_job *job)
{
    const stair_model_info *info = &job->model->info;
    double samples = (double)job->effort->points * job->effort->replicates;
    job->rich = samples >= tuning.enough * STAIR_SAMPLE_RICH * job->p &&
                2 * (stair_sample_pairs(job) + (STAIR_SAMPLE_RICH + 2) * job->p) + job->out->count <
                    STAIR_SAMPLE_MOST;
    job->linear_too = job->rich && !info->output_noisy &&
                      job->effort->points >= tuning.fewer * EXPECT_BLOCKS && job->structure->rank >= 0 &&
                      job->p * job->m <= tuning.most_linear;
    job->plain = job->p + 2;
    job->width = job->out->count + 2 * stair_sample_controls(job) + job->plain;
    return stair_controls_create(context, job->out->count, stair_sample_controls(job), job->out->replicates,
                                 &job->controls);
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    stair_sample_job *job = calloc(1, sizeof *job);
    double *memory = NULL;
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *job = (stair_sample_job){.model = model,
                              .structure = structure,
                              .effort = effort,
                              .out = average,
                              .p = model->info.indices,
                              .m = model->info.tokens,
                              .even = structure->even && !model->info.output_noisy};
    job->widening = narrower(job->p * job->m, effort->widening);
    stair_average_begin(average, effort->replicates, true);
    stair_subspace_set(structure, q, basis, average->kernel, &job->rest);
    prepare(job, q);
    stair_status status = choose_controls(context, job);
    if (status == STAIR_OK) status = allocate(context, job, &memory);
    if (status == STAIR_OK) status = run_all(context, job);
    stair_denoiser_destroy(&job->denoiser);
    stair_denoiser_destroy(&job->ignorant);
    stair_controls_destroy(&job->controls);
    free(memory);
    free(job);
    return status;
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    (void)effort, (void)q;
    return !structure->model->unseen; /* layers that a row stands for cannot be drawn */
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return true;
}

/* Twice the samples at least once: an error that is missed by little is missed. */
static bool sharpen(stair_average_effort *effort, double bias, double error, double wanted)
{
    double excess = stair_average_excess(bias, error, wanted);
    bool sharper = stair_average_more_nodes(effort, bias, wanted);
    sharper |= stair_average_safe_replicates(effort, &excess);
    for (double left = fmin(tuning.points_at_once, pow(excess, 1 / tuning.rate));
         left > (sharper ? M_SQRT2 : 1); left /= 2) {
        effort->points *= 2;
        sharper = true;
    }
    return sharper;
}

const stair_average_rule stair_average_samples = {.name = "samples",
                                                  .text = "randomly shifted lattices with control variates",
                                                  .fits = fits,
                                                  .random = is_random,
                                                  .evaluate = evaluate,
                                                  .sharpen = sharpen};
