/* Owen, Monte Carlo theory, methods and examples, chapter 8.  Coefficients come from one regression over all that
 * was averaged; they cost a bias of order 1/samples, far below the error. */
#include "asymptotics/controls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"

#define LEAST_SPREAD 1e-9 /* of a control, relative to the terms it is the difference of: less is their rounding */
#define LEAST_VALUE  1e-9 /* eigenvalues of the correlations below are combinations that do not vary */

stair_status stair_controls_create(stair_context *context, int targets, int controls, stair_controls *c)
{
    size_t t = (size_t)targets, k = (size_t)controls, all = t + k;
    *c = (stair_controls){.targets = targets, .controls = controls};
    c->sum = calloc(all + k + k * all + 2 * k * t + 2 * k * k + 2 * k, sizeof(double));
    if (!c->sum) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    c->size = c->sum + all;
    c->cross = c->size + k;
    c->coefficient = c->cross + k * all;
    return STAIR_OK;
}

void stair_controls_destroy(stair_controls *c)
{
    free(c->sum);
    *c = (stair_controls){0};
}

void stair_controls_add(stair_controls *c, const double *features)
{
    int all = c->targets + c->controls;
    c->total++;
    for (int k = 0; k < all; k++) c->sum[k] += features[k];
    for (int i = 0; i < c->controls; i++) {
        c->size[i] += features[all + i] * features[all + i];
        for (int k = 0; k < all; k++) c->cross[i * all + k] += features[c->targets + i] * features[k];
    }
}

static double covariance(const stair_controls *c, int i, int k)
{
    int all = c->targets + c->controls;
    return c->cross[i * all + k] / c->total - c->sum[c->targets + i] / c->total * c->sum[k] / c->total;
}

void stair_controls_solve(stair_controls *c)
{
    int k = c->controls, n = c->targets;
    double *vectors = c->coefficient + k * n, *right = vectors + k * k, *matrix = right + k * n, *scale = matrix + k * k,
           *values = scale + k;
    for (int i = 0; i < k; i++) {
        double spread = covariance(c, i, n + i);
        scale[i] = spread > LEAST_SPREAD * LEAST_SPREAD * c->size[i] / c->total ? 1 / sqrt(spread) : 0;
    }
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++) matrix[i * k + j] = covariance(c, i, n + j) * scale[i] * scale[j];
        for (int t = 0; t < n; t++) right[i * n + t] = covariance(c, i, t) * scale[i];
    }
    stair_matrix_eigen(k, matrix, values, vectors);
    memset(c->coefficient, 0, sizeof(double) * (size_t)(k * n));
    for (int e = 0; e < k; e++) {
        if (!(values[e] > LEAST_VALUE)) continue;
        for (int t = 0; t < n; t++) {
            double along = 0;
            for (int i = 0; i < k; i++) along += vectors[i * k + e] * right[i * n + t];
            for (int i = 0; i < k; i++) c->coefficient[i * n + t] += scale[i] * vectors[i * k + e] * along / values[e];
        }
    }
}

void stair_controls_apply(const stair_controls *c, const double *averages, double *out)
{
    for (int t = 0; t < c->targets; t++) {
        out[t] = averages[t];
        for (int i = 0; i < c->controls; i++) out[t] -= c->coefficient[i * c->targets + t] * averages[c->targets + i];
    }
}
