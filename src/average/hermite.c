/* E[phi(y)] at omega = 0, V = 1 where a label leaves only {Z, -Z}: products of second derivatives are
 * polynomials in Z of degree at most 4, and three Gauss-Hermite nodes in each coordinate are exact.  The grid
 * is turned, for at its nodes tokens would tie. */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

#define MOST_SIZE 12 /* coordinates: 3^10 nodes are the most that are taken */

static const struct {
    int most_nodes; /* ten coordinates */
    double aside;   /* the centre node is a tie as well: step aside, at a cost of 1e-14 */
} tuning = {.most_nodes = 60000, .aside = 1e-7};

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    const stair_model_info *info = &structure->model->info;
    if (!structure->point || pow(3, info->indices * info->tokens) > tuning.most_nodes ||
        info->indices > STAIR_MOST_KERNEL)
        return false;
    for (int i = 0; i < info->indices * info->indices; i++)
        if (q[i] != 0) return false;
    return !effort->relative; /* log Z is no polynomial */
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
        z[k] = tuning.aside * (k + 1);
        for (int j = 0; j < size; j++) z[k] += turn[k * size + j] * x[j];
    }
    return weight;
}

/* One rotation into one row of the result. */
static stair_status rotated(stair_context *context, const stair_model *model,
                            const stair_channel_options *channel, const stair_subspace *rest, int r, size_t n,
                            double *memory, stair_average *outer)
{
    int p = model->info.indices, size = p * model->info.tokens;
    size_t k = (size_t)model->info.label_size, pm = (size_t)size;
    double turn[MOST_SIZE * MOST_SIZE], identity[STAIR_SQUARE] = {0};
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
        stair_average_features(outer, rest, model->info.tokens, logz[i], g + i * pm, dg + i * pm * pm,
                               features);
        for (int a = 0; a < outer->count; a++) row[a] += weight[i] * features[a];
    }
    outer->calls += n;
    return STAIR_OK;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    size_t n = 1, pm = (size_t)(model->info.indices * model->info.tokens), k = (size_t)model->info.label_size;
    stair_subspace rest;
    for (size_t i = 0; i < pm; i++) n *= 3;
    double *memory = malloc((n * (3 * pm + k + 2 + pm * pm) + (size_t)average->count) * sizeof(double));
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_subspace_set(structure, q, basis, average->kernel, &rest);
    stair_average_begin(average, 2, false); /* two rotations: they agree to rounding */
    stair_status status = STAIR_OK;
    for (int r = 0; r < 2 && status == STAIR_OK; r++)
        status = rotated(context, model, &effort->channel, &rest, r, n, memory, average);
    for (int a = 0; a < average->count; a++)
        average->mean[a] = 0.5 * (average->sample[a] + average->sample[average->count + a]);
    free(memory);
    return status;
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return false;
}

const stair_average_rule stair_average_hermite = {
    .name = "hermite",
    .text = "at Q = 0, where a label leaves {Z, -Z}: Gauss-Hermite nodes, exact",
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate};
