/* Errors of prediction at overlap Q: forward passes only, no posterior.
 *
 *   omega = sqrt(Q) xi,  Z = omega + sqrt(1-Q) U,  Z' = omega + sqrt(1-Q) U'
 *   Bayes    E|g(Z)|^2 - E<g(Z), g(Z')> = E|g(Z) - g(Z')|^2 / 2
 *   plug-in  E|g(Z) - g(omega)|^2
 *
 * `prenoise` belongs to the label and widens 1 - Q here as it does in the channel; noise on y would add its own
 * variance to both and is left out. */
#include <math.h>
#include <string.h>

#include "asymptotics/expectation.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

#define POINTS 8192
#define CELLS  (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)
#define SQUARE (STAIR_MAX_INDICES * STAIR_MAX_INDICES)
#define LABEL  (STAIR_MAX_TOKENS * STAIR_MAX_TOKENS)

static void root(int n, const double *a, double *out)
{
    double values[STAIR_MAX_INDICES], vectors[SQUARE];
    stair_matrix_eigen(n, a, values, vectors);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            out[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                out[i * n + j] += vectors[i * n + k] * sqrt(fmax(0, values[k])) * vectors[j * n + k];
        }
}

/* out (P, M) += a (P, P) normals (P, M) */
static void add(int p, int m, const double *a, const double *normals, double *out)
{
    for (int i = 0; i < p; i++)
        for (int k = 0; k < p; k++)
            for (int t = 0; t < m; t++) out[i * m + t] += a[i * p + k] * normals[k * m + t];
}

static void one_point(const stair_model *model, const double *root_q, const double *root_v, const double *normals,
                      double *bayes, double *plugin)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    double omega[CELLS] = {0}, z[CELLS], other[CELLS], y[LABEL], y_other[LABEL], y_mean[LABEL];
    add(p, m, root_q, normals, omega);
    memcpy(z, omega, sizeof z);
    memcpy(other, omega, sizeof other);
    add(p, m, root_v, normals + size, z);
    add(p, m, root_v, normals + 2 * size, other);
    model->ops->forward(model, z, y, NULL);
    model->ops->forward(model, other, y_other, NULL);
    model->ops->forward(model, omega, y_mean, NULL);
    for (int k = 0; k < model->info.label_size; k++) {
        *bayes += 0.5 * (y[k] - y_other[k]) * (y[k] - y_other[k]);
        *plugin += (y[k] - y_mean[k]) * (y[k] - y_mean[k]);
    }
}

stair_status stair_errors_at(stair_context *context, const stair_model *model, const stair_asymptotics_options *options,
                             const double *q, stair_errors *errors)
{
    (void)context;
    int p = model->info.indices, size = p * model->info.tokens;
    double root_q[SQUARE], root_v[SQUARE], rest[SQUARE], shift[3 * CELLS], u[3 * CELLS], norm = 0;
    double bayes[STAIR_MOST_REPLICATES], plugin[STAIR_MOST_REPLICATES];
    for (int i = 0; i < p * p; i++) {
        rest[i] = (i % (p + 1) == 0 ? 1 + model->info.prenoise : 0) - q[i];
        norm += q[i] * q[i];
    }
    root(p, q, root_q);
    root(p, rest, root_v);
    *errors = (stair_errors){.weights = 1 - norm / p};
    for (int r = 0; r < options->replicates; r++) {
        bayes[r] = plugin[r] = 0;
        stair_rng_uniforms(options->seed + 1, STAIR_RNG_SHIFT, (uint64_t)r, 3 * size, shift);
        for (uint64_t i = 0; i < POINTS; i++) {
            stair_qmc_point(3 * size, POINTS, i, shift, u);
            for (int k = 0; k < 3 * size; k++) u[k] = stair_qmc_normal(u[k]);
            one_point(model, root_q, root_v, u, &bayes[r], &plugin[r]);
        }
        errors->bayes += (bayes[r] /= POINTS) / options->replicates;
        errors->plugin += (plugin[r] /= POINTS) / options->replicates;
    }
    errors->gibbs = 2 * errors->bayes;
    errors->bayes_error = stair_replicate_error(options->replicates, bayes);
    errors->plugin_error = stair_replicate_error(options->replicates, plugin);
    return STAIR_OK;
}
