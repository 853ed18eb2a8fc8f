/* At Q = 0 all prior means vanish and E[phi] = integral mu(dy) exp(log Z_out(y)) phi(y) is over the half
 * plane x_1 > x_2 of labels (stair_pair_label_measure).  Mean and difference of x_1 and x_2 get equidistant
 * nodes, the difference as log(1 + exp t), as in hidden_nodes.c.  The mass found must be 1. */
#include "asymptotics/pair_labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/pair.h"

#define FINENESS   0.8 /* of the hidden nodes: errors of 1e-8 */
#define LABEL_STEP 0.5 /* in units of the width of labels */
#define FIRST      -10.0
#define REACH      8.0 /* standard deviations of x where T = 1 */
#define FURTHER    1.5 /* times that, until nothing is missed */
#define ATTEMPTS   5
#define MISSED     1e-7
#define CELLS      (STAIR_MAX_INDICES * STAIR_MAX_INDICES)

typedef struct {
    const stair_model *model;
    stair_outer *out;
    stair_subspace rest;
    stair_pair *pair;
    double deviation; /* of the last rows */
    size_t n;
    double *x, *share;           /* (n, 2), (n) */
    double *omega, *memory;      /* zeros */
    stair_hidden_result moments; /* (n, parts) ... */
    double mass;
} label_job;

bool stair_pair_labels_fit(stair_context *context, const stair_model *model, const double *q)
{
    int p = model->info.indices;
    double cov[CELLS] = {0};
    for (int i = 0; i < p * p; i++)
        if (q[i] != 0) return false;
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = 1;
    return p <= STAIR_MOST_KERNEL && stair_pair_fits(context, model, cov) &&
           stair_pair_has_plane(context, model);
}

/* Nodes of the grid with the given offset, in steps. */
static size_t place(const label_job *job, double offset, double reach, double *x, double *share)
{
    double step = LABEL_STEP * job->deviation / stair_pair_steepest(job->pair),
           gap_step = 2 * step / job->deviation;
    int most = (int)ceil(reach * job->deviation / step);
    size_t n = 0;
    for (int i = -most; i <= most; i++)
        for (int j = 0;; j++) {
            double mean = (i + offset) * step, t = FIRST + (j + offset) * gap_step,
                   gap = job->deviation * log1p(exp(t));
            if (gap > 2 * reach * job->deviation) break;
            if (x) {
                x[2 * n] = mean + 0.5 * gap;
                x[2 * n + 1] = mean - 0.5 * gap;
                share[n] = step * gap_step * job->deviation / (1 + exp(-t)) *
                           stair_pair_label_measure(job->pair, x + 2 * n);
            }
            n++;
        }
    return n;
}

static stair_status reserve(stair_context *context, label_job *job, size_t n)
{
    size_t pm = (size_t)(2 * job->model->info.indices), parts = STAIR_HIDDEN_PARTS;
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
    double features[CELLS * CELLS / 4];
    STAIR_TRY(stair_pair_evaluate(context, job->pair, job->n, job->x, job->omega, &job->moments));
    job->mass = 0;
    memset(row, 0, sizeof(double) * (size_t)job->out->count);
    for (size_t i = 0; i < job->n; i++) {
        size_t k = i * STAIR_HIDDEN_PARTS; /* the whole rule */
        double portion = job->share[i] * exp(job->moments.logz[k]);
        job->mass += portion;
        stair_outer_features(job->out, &job->rest, 2, job->moments.logz[k], job->moments.g + k * pm,
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
    double offset = 0.5 * (r % 2), reach = REACH, before = 0;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, reach *= FURTHER) {
        STAIR_TRY(reserve(context, job, place(job, offset, reach, NULL, NULL)));
        place(job, offset, reach, job->x, job->share);
        stair_status status = add(context, job, job->out->sample + r * job->out->count);
        free(job->memory);
        STAIR_TRY(status);
        if (attempt && fabs(job->mass - before) < MISSED) break;
        before = job->mass;
    }
    job->out->bias = fmax(job->out->bias, fabs(job->mass - 1));
    return STAIR_OK;
}

static stair_status run(stair_context *context, label_job *job)
{
    int p = job->model->info.indices;
    double cov[CELLS] = {0};
    stair_outer *out = job->out;
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = 1;
    STAIR_TRY(stair_pair_create(context, job->model, cov, FINENESS, 1, 1, &job->pair));
    out->random = false;
    out->replicates = 2;
    for (int r = 0; r < 2; r++) STAIR_TRY(replicate(context, job, r));
    for (int c = 0; c < out->count; c++) out->mean[c] = 0.5 * (out->sample[c] + out->sample[out->count + c]);
    return STAIR_OK;
}

stair_status stair_pair_labels_evaluate(stair_context *context, const stair_model *model, const double *basis,
                                        stair_outer *outer)
{
    double q[CELLS] = {0};
    label_job job = {.model = model, .out = outer, .deviation = sqrt(1 + model->info.prenoise)};
    outer->inner = outer->bias = outer->logz_bias = 0;
    outer->calls = 0;
    stair_subspace_set(model, q, basis, &job.rest);
    stair_status status = run(context, &job);
    stair_pair_destroy(&job.pair);
    return status;
}
