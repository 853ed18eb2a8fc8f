/* E[phi(y)] at omega = 0, V = 1 where a label leaves only {Z, -Z}: products of second derivatives are
 * polynomials in Z of degree at most 4, and three Gauss-Hermite nodes in each coordinate are exact.  The grid
 * is turned, for at its nodes tokens would tie. */
#include "asymptotics/point_fibre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

#define MOST_NODES 60000 /* ten coordinates */
#define MOST_SIZE  12
#define ASIDE      1e-7 /* the centre node is a tie as well: step aside, at a cost of 1e-14 */

bool stair_point_fibre_fits(stair_context *context, const stair_model *model)
{
    int size = model->info.indices * model->info.tokens;
    stair_context local = *context;
    stair_fibre fibre;
    double z[STAIR_MAX_INDICES * STAIR_MAX_TOKENS], omega[STAIR_MAX_INDICES * STAIR_MAX_TOKENS] = {0};
    double label[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS];
    if (model->info.output_noisy || pow(3, size) > MOST_NODES || model->info.indices > STAIR_MOST_KERNEL)
        return false;
    if (stair_fibre_create(&local, model, &fibre) != STAIR_OK) return false;
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, size, z);
    model->ops->forward(model, z, NULL, label);
    bool fits = stair_fibre_open(&local, label, omega, &fibre) == STAIR_OK && fibre.dim == 0 &&
                fibre.mirrored && fibre.charts == 1;
    stair_fibre_destroy(&fibre);
    return fits;
}

/* Node i of 3^size, turned; its weight is returned. */
static double node_of(size_t i, int size, const double *turn, double *z)
{
    static const double node[3] = {-1.7320508075688772935, 0, 1.7320508075688772935},
                        share[3] = {1. / 6, 2. / 3, 1. / 6};
    double x[MOST_SIZE], weight = 1;
    for (int k = 0; k < size; k++, i /= 3) {
        x[k] = node[i % 3];
        weight *= share[i % 3];
    }
    for (int k = 0; k < size; k++) {
        z[k] = ASIDE * (k + 1);
        for (int j = 0; j < size; j++) z[k] += turn[k * size + j] * x[j];
    }
    return weight;
}

/* One rotation into one row of the result. */
static stair_status rotated(stair_context *context, const stair_model *model,
                            const stair_channel_options *channel, const stair_subspace *rest, int r, size_t n,
                            double *memory, stair_outer *outer)
{
    int p = model->info.indices, size = p * model->info.tokens;
    size_t k = (size_t)model->info.label_size, pm = (size_t)size;
    double turn[MOST_SIZE * MOST_SIZE], identity[STAIR_MAX_INDICES * STAIR_MAX_INDICES] = {0};
    double *z = memory, *omega = z + n * pm, *g = omega + n * pm, *labels = g + n * pm,
           *weight = labels + n * k;
    double *logz = weight + n, *dg = logz + n, *features = dg + n * pm * pm,
           *row = outer->sample + r * outer->count;
    for (int i = 0; i < p; i++) identity[i * (p + 1)] = 1;
    stair_rng_normals(1 + (uint64_t)r, STAIR_RNG_POINTS, 1, size * size, turn);
    stair_matrix_orthonormalise(size, turn);
    for (size_t i = 0; i < n; i++) weight[i] = node_of(i, size, turn, z + i * pm);
    memset(omega, 0, n * pm * sizeof(double));
    memset(row, 0, sizeof(double) * (size_t)outer->count);
    stair_channel_result result = {.logz = logz, .g = g, .dg = dg};
    STAIR_TRY(stair_model_forward(context, model, n, z, labels));
    STAIR_TRY(stair_channel_evaluate(context, model, channel, 0, n, labels, omega, 1, identity, &result));
    for (size_t i = 0; i < n; i++) {
        stair_outer_features(outer, rest, model->info.tokens, logz[i], g + i * pm, dg + i * pm * pm,
                             features);
        for (int a = 0; a < outer->count; a++) row[a] += weight[i] * features[a];
    }
    outer->calls += n;
    return STAIR_OK;
}

stair_status stair_point_fibre_evaluate(stair_context *context, const stair_model *model,
                                        const stair_channel_options *channel, const double *basis,
                                        stair_outer *outer)
{
    size_t n = 1, pm = (size_t)(model->info.indices * model->info.tokens), k = (size_t)model->info.label_size;
    double zero[STAIR_MAX_INDICES * STAIR_MAX_INDICES] = {0};
    stair_subspace rest;
    for (size_t i = 0; i < pm; i++) n *= 3;
    double *memory = malloc((n * (3 * pm + k + 2 + pm * pm) + (size_t)outer->count) * sizeof(double));
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_subspace_set(model, zero, basis, &rest);
    outer->calls = 0;
    outer->inner = outer->bias = outer->logz_bias = 0;
    outer->random = false;
    outer->replicates = 2; /* two rotations: they agree to rounding */
    stair_status status = STAIR_OK;
    for (int r = 0; r < 2 && status == STAIR_OK; r++)
        status = rotated(context, model, channel, &rest, r, n, memory, outer);
    for (int a = 0; a < outer->count; a++)
        outer->mean[a] = 0.5 * (outer->sample[a] + outer->sample[outer->count + a]);
    free(memory);
    return status;
}
