/* Errors of prediction at overlap Q: forward passes only, no posterior.
 *
 *   omega = sqrt(Q) xi,  Z = omega + sqrt(1-Q) U,  Z' = omega + sqrt(1-Q) U'
 *   Bayes    E|g(Z)|^2 - E<g(Z), g(Z')> = E|g(Z) - g(Z')|^2 / 2
 *   plug-in  E|g(Z) - g(omega)|^2
 *
 * The errors of a run of GAMP, which is not on the Nishimori line, are in gamp/measure.c: prediction.h says
 * what both share and why they are two.  `prenoise` belongs to the label and widens 1 - Q here as it does in
 * the channel; noise on y would add its own variance to both and is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/prediction.h"
#include "average/average.h"
#include "core/qmc.h"
#include "core/ranks.h"
#include "core/rng.h"
#include "core/spectral.h"

static const struct {
    uint64_t points; /* of one replicate */
} tuning = {.points = 8192};

static void one_point(const stair_model *model, const double *root_q, const double *root_v,
                      const double *normals, double *bayes, double *plugin)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m, outputs = model->info.label_size;
    double omega[STAIR_MAX_CELLS], z[STAIR_MAX_CELLS];
    double y[STAIR_MAX_LABEL], y_other[STAIR_MAX_LABEL], y_mean[STAIR_MAX_LABEL];
    stair_prediction_spread(p, m, root_q, false, NULL, normals, omega);
    model->ops->forward(model, omega, y_mean, NULL);
    stair_prediction_spread(p, m, root_v, false, omega, normals + size, z);
    model->ops->forward(model, z, y, NULL);
    stair_prediction_spread(p, m, root_v, false, omega, normals + 2 * size, z);
    model->ops->forward(model, z, y_other, NULL);
    stair_prediction_add(outputs, 0.5, y, y_other, bayes);
    stair_prediction_add(outputs, 1, y, y_mean, plugin);
}

typedef struct {
    const stair_model *model;
    uint64_t seed;
    int replicates;
    double root_q[STAIR_SQUARE], root_v[STAIR_SQUARE];
    double bayes[STAIR_MOST_REPLICATES], plugin[STAIR_MOST_REPLICATES]; /* by replicate, for their spread */
} errors_job;

/* Both errors of replicate r. */
static stair_status one_replicate(void *user, size_t r, int thread, stair_context *local)
{
    errors_job *job = user;
    int size = job->model->info.indices * job->model->info.tokens;
    double shift[3 * STAIR_MAX_CELLS], u[3 * STAIR_MAX_CELLS];
    (void)thread, (void)local;
    job->bayes[r] = job->plugin[r] = 0;
    stair_rng_uniforms(job->seed + 1, STAIR_RNG_SHIFT, (uint64_t)r, 3 * size, shift);
    for (uint64_t i = 0; i < tuning.points; i++) {
        (job->model->ops->even ? stair_qmc_even_point : stair_qmc_point)(3 * size, tuning.points, i, shift,
                                                                         u);
        for (int k = 0; k < 3 * size; k++) u[k] = stair_qmc_normal(u[k]);
        one_point(job->model, job->root_q, job->root_v, u, &job->bayes[r], &job->plugin[r]);
    }
    job->bayes[r] /= (double)tuning.points;
    job->plugin[r] /= (double)tuning.points;
    return STAIR_OK;
}

/* Means over replicates of what is at overlap q (P, P); by replicate in the job. */
static stair_status evaluate(stair_context *context, errors_job *job, const double *q, double *bayes,
                             double *plugin)
{
    int p = job->model->info.indices;
    double rest[STAIR_SQUARE];
    size_t one = sizeof(double), all = (size_t)job->replicates * one;
    stair_filled arrays[] = {{job->bayes, one, all}, {job->plugin, one, all}};
    for (int i = 0; i < p * p; i++) rest[i] = (i % (p + 1) == 0 ? 1 + job->model->info.prenoise : 0) - q[i];
    stair_spectral_map(p, q, stair_shifted_root, 0, job->root_q);
    stair_spectral_map(p, rest, stair_shifted_root, 0, job->root_v);
    STAIR_TRY(stair_parallel_shared(context, (size_t)job->replicates, one_replicate, job, arrays, 2));
    *bayes = *plugin = 0;
    for (int r = 0; r < job->replicates; r++) {
        *bayes += job->bayes[r] / job->replicates;
        *plugin += job->plugin[r] / job->replicates;
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
static stair_status add_error_of_overlap(stair_context *context, errors_job *job, const double *q,
                                         const double *q_error, stair_errors *errors)
{
    int p = job->model->info.indices;
    double moved[STAIR_SQUARE], bayes, plugin, norm = 0;
    move_overlap(p, q, q_error, moved);
    for (int i = 0; i < p * p; i++) norm += moved[i] * moved[i];
    STAIR_TRY(evaluate(context, job, moved, &bayes, &plugin));
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
    job->replicates = n;
    for (int i = 0; i < p * p; i++) {
        norm += q[i] * q[i];
        if (q_error) most = fmax(most, q_error[i]);
    }
    *errors = (stair_errors){.weights = 1 - norm / p};
    stair_status status = evaluate(context, job, q, &errors->bayes, &errors->plugin);
    errors->bayes_error = stair_replicate_error(n, job->bayes);
    errors->plugin_error = stair_replicate_error(n, job->plugin);
    if (status == STAIR_OK && most > 0) status = add_error_of_overlap(context, job, q, q_error, errors);
    errors->gibbs = 2 * errors->bayes;
    errors->gibbs_error = 2 * errors->bayes_error;
    free(job);
    return status;
}
