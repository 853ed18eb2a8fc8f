/* Owen, Monte Carlo theory, methods and examples, chapter 8. */
#include "average/controls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"

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
    c->total = calloc((r + 1) * group_size(c) + 2 * k * t + 2 * k * k + 2 * k, sizeof(double));
    if (!c->total) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    c->sum = c->total + r;
    c->size = c->sum + r * all;
    c->cross = c->size + r * k;
    c->others = c->cross + r * k * all;
    c->coefficient = c->others + group_size(c);
    return STAIR_OK;
}

void stair_controls_destroy(stair_controls *c)
{
    free(c->total);
    *c = (stair_controls){0};
}

void stair_controls_add(stair_controls *c, int replicate, const double *features)
{
    size_t all = (size_t)(c->targets + c->controls), k = (size_t)c->controls, r = (size_t)replicate;
    double *sum = c->sum + r * all, *size = c->size + r * k, *cross = c->cross + r * k * all;
    c->total[r]++;
    for (size_t i = 0; i < all; i++) sum[i] += features[i];
    for (size_t i = 0; i < k; i++) {
        size[i] += features[all + i] * features[all + i];
        for (size_t j = 0; j < all; j++) cross[i * all + j] += features[(size_t)c->targets + i] * features[j];
    }
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

static summary sum_others(stair_controls *c, int without)
{
    size_t all = (size_t)(c->targets + c->controls), k = (size_t)c->controls;
    summary s = {.targets = c->targets, .all = (int)all, .total = c->others};
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

/* Coefficients by all replicates but one. */
static void solve(stair_controls *c, int without)
{
    int k = c->controls, n = c->targets;
    double *vectors = c->coefficient + k * n, *right = vectors + k * k, *matrix = right + k * n,
           *scale = matrix + k * k, *values = scale + k;
    summary s = sum_others(c, without);
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
    memset(c->coefficient, 0, sizeof(double) * (size_t)(k * n));
    for (int e = 0; e < k; e++) {
        if (!(values[e] > least)) continue;
        for (int t = 0; t < n; t++) {
            double along = 0;
            for (int i = 0; i < k; i++) along += vectors[i * k + e] * right[i * n + t];
            for (int i = 0; i < k; i++)
                c->coefficient[i * n + t] += scale[i] * vectors[i * k + e] * along / values[e];
        }
    }
}

void stair_controls_apply(stair_controls *c, int replicate, const double *averages, double *out)
{
    solve(c, replicate);
    for (int t = 0; t < c->targets; t++) {
        out[t] = averages[t];
        for (int i = 0; i < c->controls; i++)
            out[t] -= c->coefficient[i * c->targets + t] * averages[c->targets + i];
    }
}
