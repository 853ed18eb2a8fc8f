/* Errors of prediction at overlap Q: forward passes only, no posterior.
 *
 *   omega = sqrt(Q) xi,  Z = omega + sqrt(1-Q) U,  Z' = omega + sqrt(1-Q) U'
 *   Bayes    E|g(Z)|^2 - E<g(Z), g(Z')> = E|g(Z) - g(Z')|^2 / 2
 *   plug-in  E|g(Z) - g(omega)|^2
 *
 * `prenoise` belongs to the label and widens 1 - Q here as it does in the channel; noise on y would add its
 * own variance to both and is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "average/average.h"
#include "core/matrix.h"
#include "core/parallel.h"
#include "core/qmc.h"
#include "core/rng.h"

#define POINTS 8192 /* of one replicate */

static void root(int n, const double *a, double *out)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
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

static void one_point(const stair_model *model, const double *root_q, const double *root_v,
                      const double *normals, double *bayes, double *plugin)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    double omega[STAIR_MAX_CELLS] = {0}, z[STAIR_MAX_CELLS], other[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL],
           y_other[STAIR_MAX_LABEL], y_mean[STAIR_MAX_LABEL];
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

typedef struct {
    const stair_model *model;
    uint64_t seed;
    double root_q[STAIR_SQUARE], root_v[STAIR_SQUARE];
    double bayes[STAIR_MOST_REPLICATES], plugin[STAIR_MOST_REPLICATES];
} errors_job;

static stair_status one_replicate(void *user, size_t r, int thread, stair_context *local)
{
    errors_job *job = user;
    int size = job->model->info.indices * job->model->info.tokens;
    double shift[3 * STAIR_MAX_CELLS], u[3 * STAIR_MAX_CELLS];
    (void)thread, (void)local;
    stair_rng_uniforms(job->seed + 1, STAIR_RNG_SHIFT, (uint64_t)r, 3 * size, shift);
    for (uint64_t i = 0; i < POINTS; i++) {
        (job->model->ops->even ? stair_qmc_even_point : stair_qmc_point)(3 * size, POINTS, i, shift, u);
        for (int k = 0; k < 3 * size; k++) u[k] = stair_qmc_normal(u[k]);
        one_point(job->model, job->root_q, job->root_v, u, &job->bayes[r], &job->plugin[r]);
    }
    job->bayes[r] /= POINTS;
    job->plugin[r] /= POINTS;
    return STAIR_OK;
}

/* Means over replicates of what is at overlap q (P, P); by replicate in the job. */
static stair_status evaluate(stair_context *context, errors_job *job, int n, const double *q, double *bayes,
                             double *plugin)
{
    int p = job->model->info.indices;
    double rest[STAIR_SQUARE];
    for (int i = 0; i < p * p; i++) rest[i] = (i % (p + 1) == 0 ? 1 + job->model->info.prenoise : 0) - q[i];
    root(p, q, job->root_q);
    root(p, rest, job->root_v);
    memset(job->bayes, 0, sizeof job->bayes);
    memset(job->plugin, 0, sizeof job->plugin);
    STAIR_TRY(stair_parallel(context, (size_t)n, one_replicate, job));
    *bayes = *plugin = 0;
    for (int r = 0; r < n; r++) {
        *bayes += job->bayes[r] / n;
        *plugin += job->plugin[r] / n;
    }
    return STAIR_OK;
}

/* q with its diagonal moved by its error towards the middle, all else in proportion: a legal overlap. */
static void move_overlap(int p, const double *q, const double *q_error, double *moved)
{
    double scale[STAIR_MAX_INDICES];
    for (int i = 0; i < p; i++) {
        double here = q[i * (p + 1)], error = q_error[i * (p + 1)],
               to = here > 0.5 ? here - error : here + error;
        scale[i] = here > 0 ? sqrt(fmin(1, fmax(0, to)) / here) : 0;
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) moved[i * p + j] = scale[i] * q[i * p + j] * scale[j];
    for (int i = 0; i < p; i++)
        if (q[i * (p + 1)] == 0) moved[i * (p + 1)] = fmin(1, q_error[i * (p + 1)]);
}

/* Adds what the error of q does to the errors; the same random numbers at both places. */
static stair_status add_error_of_overlap(stair_context *context, errors_job *job, int n, const double *q,
                                         const double *q_error, stair_errors *errors)
{
    int p = job->model->info.indices;
    double moved[STAIR_SQUARE], bayes, plugin, norm = 0;
    move_overlap(p, q, q_error, moved);
    for (int i = 0; i < p * p; i++) norm += moved[i] * moved[i];
    STAIR_TRY(evaluate(context, job, n, moved, &bayes, &plugin));
    errors->bayes_error = hypot(errors->bayes_error, bayes - errors->bayes);
    errors->plugin_error = hypot(errors->plugin_error, plugin - errors->plugin);
    errors->weights_error = fabs(1 - norm / p - errors->weights);
    return STAIR_OK;
}

stair_status stair_errors_at(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, const double *q, const double *q_error,
                             stair_errors *errors)
{
    int p = model->info.indices, n = options->replicates;
    double norm = 0, most = 0;
    errors_job *job = calloc(1, sizeof *job);
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->model = model;
    job->seed = options->seed;
    for (int i = 0; i < p * p; i++) {
        norm += q[i] * q[i];
        if (q_error) most = fmax(most, q_error[i]);
    }
    *errors = (stair_errors){.weights = 1 - norm / p};
    stair_status status = evaluate(context, job, n, q, &errors->bayes, &errors->plugin);
    errors->bayes_error = stair_replicate_error(n, job->bayes);
    errors->plugin_error = stair_replicate_error(n, job->plugin);
    if (status == STAIR_OK && most > 0) status = add_error_of_overlap(context, job, n, q, q_error, errors);
    errors->gibbs = 2 * errors->bayes;
    errors->gibbs_error = 2 * errors->bayes_error;
    free(job);
    return status;
}
