/* At Q = 0 all prior means vanish and E[phi] = integral mu(dy) exp(log Z_out(y)) phi(y) is over the half
 * plane x_1 > x_2 of labels (stair_two_rows_label_measure).  Mean and difference of x_1 and x_2 get
 * equidistant nodes, the difference as log(1 + exp t), as in hidden_nodes.c.  The mass found must be 1. */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posterior/two_rows.h"

static const struct {
    double fineness;   /* of the hidden nodes: errors of 1e-8 */
    double label_step; /* in units of the width of labels */
    double first;      /* of t: differences of x below exp(t) are not looked at */
    double reach;      /* standard deviations of x where T = 1, */
    double further;    /* times that, until nothing is missed, */
    int attempts;      /* at most so often */
    double missed;     /* mass that counts as nothing */
} tuning = {.fineness = 0.8,
            .label_step = 0.5,
            .first = -10.0,
            .reach = 8.0,
            .further = 1.5,
            .attempts = 5,
            .missed = 1e-7};

typedef struct {
    const stair_model *model;
    const stair_structure *structure;
    stair_average *out;
    stair_subspace rest;
    stair_two_rows *posterior;
    double deviation; /* of the last rows */
    size_t n;
    double *x, *share;      /* (n, 2), (n) */
    double *omega, *memory; /* zeros */
    stair_denoised moments; /* (n, parts) ... */
    double *features;       /* (count) */
    double mass;
} label_job;

/* Nodes of the grid with the given offset, in steps. */
static size_t place(const label_job *job, double offset, double reach, double *x, double *share)
{
    double step = tuning.label_step * job->deviation / stair_two_rows_steepest(job->posterior),
           gap_step = 2 * step / job->deviation;
    int most = (int)ceil(reach * job->deviation / step);
    size_t n = 0;
    for (int i = -most; i <= most; i++)
        for (int j = 0;; j++) {
            double mean = (i + offset) * step, t = tuning.first + (j + offset) * gap_step,
                   gap = job->deviation * log1p(exp(t));
            if (gap > 2 * reach * job->deviation) break;
            if (x) {
                x[2 * n] = mean + 0.5 * gap;
                x[2 * n + 1] = mean - 0.5 * gap;
                share[n] = step * gap_step * job->deviation / (1 + exp(-t)) *
                           stair_two_rows_label_measure(job->posterior, x + 2 * n);
            }
            n++;
        }
    return n;
}

static stair_status reserve(stair_context *context, label_job *job, size_t n)
{
    size_t pm = (size_t)(2 * job->model->info.indices), parts = STAIR_PARTS_OF_RULE;
    double *at = job->memory = calloc(n * (3 + pm + parts * (1 + pm + pm * pm)), sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->n = n;
    job->x = at;
    job->share = job->x + 2 * n;
    job->omega = job->share + n;
    job->moments.logz = job->omega + n * pm;
    job->moments.g = job->moments.logz + n * parts;
    job->moments.dg = job->moments.g + n * parts * pm;
    return STAIR_OK;
}

/* Adds all nodes to row (count). */
static stair_status add(stair_context *context, label_job *job, double *row)
{
    size_t pm = (size_t)(2 * job->model->info.indices);
    double *features = job->features;
    STAIR_TRY(stair_two_rows_evaluate(context, job->posterior, job->n, job->x, job->omega, &job->moments));
    job->mass = 0;
    memset(row, 0, sizeof(double) * (size_t)job->out->count);
    for (size_t i = 0; i < job->n; i++) {
        size_t k = i * STAIR_PARTS_OF_RULE; /* the whole rule */
        double portion = job->share[i] * exp(job->moments.logz[k]);
        job->mass += portion;
        stair_average_features(job->out, &job->rest, 2, job->moments.logz[k], job->moments.g + k * pm,
                               job->moments.dg + k * pm * pm, features);
        for (int c = 0; c < job->out->count && portion != 0; c++) row[c] += portion * features[c];
    }
    for (int c = 0; c < job->out->count; c++) row[c] /= job->mass;
    job->out->calls += job->n;
    return STAIR_OK;
}

/* One grid, wide enough for its mass. */
static stair_status replicate(stair_context *context, label_job *job, int r)
{
    double offset = 0.5 * (r % 2), reach = tuning.reach, before = 0;
    for (int attempt = 0; attempt < tuning.attempts; attempt++, reach *= tuning.further) {
        STAIR_TRY(reserve(context, job, place(job, offset, reach, NULL, NULL)));
        place(job, offset, reach, job->x, job->share);
        stair_status status = add(context, job, job->out->sample + r * job->out->count);
        free(job->memory);
        STAIR_TRY(status);
        if (attempt && fabs(job->mass - before) < tuning.missed) break;
        before = job->mass;
    }
    job->out->bias = fmax(job->out->bias, fabs(job->mass - 1));
    return STAIR_OK;
}

static stair_status run(stair_context *context, label_job *job)
{
    int p = job->model->info.indices;
    double cov[STAIR_SQUARE] = {0};
    stair_average *out = job->out;
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = 1;
    STAIR_TRY(stair_two_rows_create(context, job->structure, cov, tuning.fineness, 1, 1, &job->posterior));
    for (int r = 0; r < 2; r++) STAIR_TRY(replicate(context, job, r));
    for (int c = 0; c < out->count; c++) out->mean[c] = 0.5 * (out->sample[c] + out->sample[out->count + c]);
    return STAIR_OK;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    label_job job = {.model = model,
                     .structure = structure,
                     .out = average,
                     .deviation = sqrt(1 + model->info.prenoise),
                     .features = malloc(sizeof(double) * (size_t)average->count)};
    (void)effort;
    if (!job.features) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_average_begin(average, 2, false);
    stair_subspace_set(structure, q, basis, average->kernel, &job.rest);
    stair_status status = run(context, &job);
    stair_two_rows_destroy(&job.posterior);
    free(job.features);
    return status;
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    int p = structure->model->info.indices;
    double cov[STAIR_SQUARE] = {0};
    for (int i = 0; i < p * p; i++)
        if (q[i] != 0) return false;
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = 1;
    return p <= STAIR_MOST_KERNEL && effort->fineness > 0 && !effort->relative &&
           stair_two_rows_has_plane(structure) && stair_denoiser_two_rows.fits(structure, cov);
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return false;
}

const stair_average_rule stair_average_label_plane = {
    .name = "label-plane",
    .text = "at Q = 0, for two last rows: interlaced grids of labels in a half plane",
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate};
