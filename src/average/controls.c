/* Owen, Monte Carlo theory, methods and examples, chapter 8. */
#include "average/controls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/parallel.h"

static const struct {
    double least_spread; /* of a control, relative to the terms it is the difference of: less is rounding,
                            also of slopes */
    double noise;        /* times that of the posteriors: what a combination has to vary by, relative */
    double common;       /* share of the noise of posteriors that may be common to all of them */
    double least_value;  /* eigenvalues of the correlations below are combinations that do not vary */
} tuning = {.least_spread = 1e-6, .noise = 3, .common = 0.1, .least_value = 1e-8};

/* Doubles that one replicate has: total, sum, size, cross. */
static size_t group_size(const stair_controls *c)
{
    size_t all = (size_t)(c->targets + c->controls), k = (size_t)c->controls;
    return 1 + all + k + k * all;
}

stair_status stair_controls_create(stair_context *context, int targets, int controls, int replicates,
                                   stair_controls *c)
{
    size_t t = (size_t)targets, k = (size_t)controls, all = t + k, r = (size_t)replicates;
    *c = (stair_controls){.targets = targets, .controls = controls, .replicates = replicates};
    c->total = calloc(r * group_size(c), sizeof(double));
    if (!c->total) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    c->sum = c->total + r;
    c->size = c->sum + r * all;
    c->cross = c->size + r * k;
    return STAIR_OK;
}

void stair_controls_destroy(stair_controls *c)
{
    free(c->total);
    *c = (stair_controls){0};
}

typedef struct {
    stair_controls *controls;
    size_t replicate, n, width;
    const double *features;
} add_job;

/* Row i of the products, in the order of samples; behind the last one what is not of a row. */
static stair_status add_row(void *user, size_t i, int thread, stair_context *local)
{
    const add_job *job = user;
    stair_controls *c = job->controls;
    size_t all = (size_t)(c->targets + c->controls), k = (size_t)c->controls, r = job->replicate;
    double *sum = c->sum + r * all, *size = c->size + r * k, *cross = c->cross + (r * k + i) * all;
    (void)thread, (void)local;
    for (size_t n = 0; n < job->n; n++) {
        const double *features = job->features + n * job->width;
        if (i == k) {
            c->total[r]++;
            for (size_t j = 0; j < all; j++) sum[j] += features[j];
            continue;
        }
        size[i] += features[all + i] * features[all + i];
        for (size_t j = 0; j < all; j++) cross[j] += features[(size_t)c->targets + i] * features[j];
    }
    return STAIR_OK;
}

stair_status stair_controls_add(stair_context *context, stair_controls *c, int replicate, size_t n,
                                size_t width, const double *features)
{
    add_job job = {c, (size_t)replicate, n, width, features};
    return stair_parallel(context, (size_t)c->controls + 1, add_row, &job);
}

/* out (n) = the sum over all replicates but one. */
static void add_others(const stair_controls *c, int without, size_t n, const double *parts, double *out)
{
    memset(out, 0, n * sizeof(double));
    for (int r = 0; r < c->replicates; r++)
        for (size_t i = 0; i < n && r != without; i++) out[i] += parts[(size_t)r * n + i];
}

typedef struct {
    int targets, all;
    double *total, *sum, *size, *cross;
} summary;

static summary sum_others(const stair_controls *c, int without, double *others)
{
    size_t all = (size_t)(c->targets + c->controls), k = (size_t)c->controls;
    summary s = {.targets = c->targets, .all = (int)all, .total = others};
    s.sum = s.total + 1;
    s.size = s.sum + all;
    s.cross = s.size + k;
    add_others(c, without, 1, c->total, s.total);
    add_others(c, without, all, c->sum, s.sum);
    add_others(c, without, k, c->size, s.size);
    add_others(c, without, k * all, c->cross, s.cross);
    return s;
}

/* Of control i with number k, targets before controls. */
static double covariance(const summary *s, int i, int k)
{
    double n = *s->total;
    return s->cross[i * s->all + k] / n - s->sum[s->targets + i] / n * s->sum[k] / n;
}

/* Doubles that `solve` takes. */
static size_t solve_size(const stair_controls *c)
{
    size_t t = (size_t)c->targets, k = (size_t)c->controls;
    return group_size(c) + 2 * k * t + 2 * k * k + 2 * k;
}

/* Coefficients (controls, targets) by all replicates but one: the first numbers of `room`. */
static void solve(const stair_controls *c, int without, double *room)
{
    int k = c->controls, n = c->targets;
    double *coefficient = room, *vectors = coefficient + k * n, *right = vectors + k * k,
           *matrix = right + k * n, *scale = matrix + k * k, *values = scale + k;
    summary s = sum_others(c, without, values + k);
    for (int i = 0; i < k; i++) {
        double spread = covariance(&s, i, n + i);
        scale[i] =
            spread > tuning.least_spread * tuning.least_spread * s.size[i] / *s.total ? 1 / sqrt(spread) : 0;
    }
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++) matrix[i * k + j] = covariance(&s, i, n + j) * scale[i] * scale[j];
        for (int t = 0; t < n; t++) right[i * n + t] = covariance(&s, i, t) * scale[i];
    }
    /* What posteriors have wrong in common is not averaged out, and a control that hardly varies would bring
     * much of it in: its variance for n samples counts like any other. */
    for (int i = 0; i < k; i++)
        matrix[i * (k + 1)] +=
            tuning.common * tuning.common * c->noise * c->noise * s.size[i] * scale[i] * scale[i];
    stair_matrix_eigen(k, matrix, values, vectors);
    double least = fmax(tuning.least_value, tuning.noise * tuning.noise * c->noise * c->noise);
    memset(coefficient, 0, sizeof(double) * (size_t)(k * n));
    for (int e = 0; e < k; e++) {
        if (!(values[e] > least)) continue;
        for (int t = 0; t < n; t++) {
            double along = 0;
            for (int i = 0; i < k; i++) along += vectors[i * k + e] * right[i * n + t];
            for (int i = 0; i < k; i++)
                coefficient[i * n + t] += scale[i] * vectors[i * k + e] * along / values[e];
        }
    }
}

typedef struct {
    const stair_controls *controls;
    const double *averages;
    double *out;
    size_t stride;
} apply_job;

static stair_status apply_one(void *user, size_t r, int thread, stair_context *local)
{
    const apply_job *job = user;
    const stair_controls *c = job->controls;
    const double *averages = job->averages + r * (size_t)(c->targets + c->controls);
    double *out = job->out + r * job->stride, *coefficient = malloc(solve_size(c) * sizeof(double));
    (void)thread;
    if (!coefficient) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    solve(c, (int)r, coefficient);
    for (int t = 0; t < c->targets; t++) {
        out[t] = averages[t];
        for (int i = 0; i < c->controls; i++)
            out[t] -= coefficient[i * c->targets + t] * averages[c->targets + i];
    }
    free(coefficient);
    return STAIR_OK;
}

stair_status stair_controls_apply(stair_context *context, const stair_controls *c, const double *averages,
                                  size_t stride, double *out)
{
    apply_job job = {c, averages, out, stride};
    return stair_parallel(context, (size_t)c->replicates, apply_one, &job);
}
