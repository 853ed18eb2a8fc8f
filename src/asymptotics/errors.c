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

/* Points of one replicate grow until the error of both is a small share of the precision that was asked for:
 * overlaps decide how good a curve is, and forward passes of deep models are not cheap. */
static const struct {
    uint64_t fewest, growth, most;
    double share;
} tuning = {.fewest = 512, .growth = 4, .most = 8192, .share = 0.3};

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

/* Overlaps that share their random numbers, which cost more than all else: the overlap itself, and the same
 * moved by its error, up and down. */
typedef struct {
    double root_q[STAIR_SQUARE], root_v[STAIR_SQUARE];
    double bayes[STAIR_MOST_REPLICATES], plugin[STAIR_MOST_REPLICATES]; /* by replicate, for their spread */
} errors_place;

typedef struct {
    const stair_model *model;
    uint64_t seed;
    int replicates, places;
    uint64_t points;
    errors_place place[3];
} errors_job;

/* Both errors of replicate r, at every place. */
static stair_status one_replicate(void *user, size_t r, int thread, stair_context *local)
{
    errors_job *job = user;
    int size = job->model->info.indices * job->model->info.tokens;
    double shift[3 * STAIR_MAX_CELLS], u[3 * STAIR_MAX_CELLS];
    (void)thread, (void)local;
    for (int k = 0; k < job->places; k++) job->place[k].bayes[r] = job->place[k].plugin[r] = 0;
    stair_rng_uniforms(job->seed + 1, STAIR_RNG_SHIFT, (uint64_t)r, 3 * size, shift);
    for (uint64_t i = 0; i < job->points; i++) {
        (job->model->ops->even ? stair_qmc_even_point : stair_qmc_point)(3 * size, job->points, i, shift, u);
        for (int k = 0; k < 3 * size; k++) u[k] = stair_qmc_normal(u[k]);
        for (errors_place *x = job->place; x < job->place + job->places; x++)
            one_point(job->model, x->root_q, x->root_v, u, &x->bayes[r], &x->plugin[r]);
    }
    for (int k = 0; k < job->places; k++) {
        errors_place *x = &job->place[k];
        x->bayes[r] /= (double)job->points;
        x->plugin[r] /= (double)job->points;
    }
    return STAIR_OK;
}

static void put_overlap(errors_job *job, const double *q)
{
    int p = job->model->info.indices;
    errors_place *x = &job->place[job->places++];
    double rest[STAIR_SQUARE];
    for (int i = 0; i < p * p; i++) rest[i] = (i % (p + 1) == 0 ? 1 + job->model->info.prenoise : 0) - q[i];
    stair_spectral_map(p, q, stair_shifted_root, 0, x->root_q);
    stair_spectral_map(p, rest, stair_shifted_root, 0, x->root_v);
}

/* mean (places, 2): over replicates. */
static stair_status evaluate(stair_context *context, errors_job *job, double *mean)
{
    size_t one = sizeof(double), all = (size_t)job->replicates * one;
    stair_filled arrays[6];
    for (int k = 0; k < job->places; k++) {
        arrays[2 * k] = (stair_filled){job->place[k].bayes, one, all};
        arrays[2 * k + 1] = (stair_filled){job->place[k].plugin, one, all};
    }
    STAIR_TRY(
        stair_parallel_shared(context, (size_t)job->replicates, one_replicate, job, arrays, 2 * job->places));
    for (int k = 0; k < job->places; k++) {
        mean[2 * k] = mean[2 * k + 1] = 0;
        for (int r = 0; r < job->replicates; r++) {
            mean[2 * k] += job->place[k].bayes[r] / job->replicates;
            mean[2 * k + 1] += job->place[k].plugin[r] / job->replicates;
        }
    }
    return STAIR_OK;
}

/* q with its diagonal moved by its error, all rows up or all down: prediction gets better or worse with each
 * of them, so that no two make up for each other.  All else in proportion: a legal overlap. */
static void move_overlap(int p, const double *q, const double *q_error, double sign, double *moved)
{
    double scale[STAIR_MAX_INDICES];
    for (int i = 0; i < p; i++) {
        double here = q[i * (p + 1)], to = here + sign * q_error[i * (p + 1)];
        scale[i] = here > 0 ? sqrt(fmin(1, fmax(0, to)) / here) : 0;
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) moved[i * p + j] = scale[i] * q[i * p + j] * scale[j];
    for (int i = 0; i < p; i++)
        if (q[i * (p + 1)] == 0) moved[i * (p + 1)] = fmax(0, fmin(1, sign * q_error[i * (p + 1)]));
}

/* What the error of q does to the errors: the larger of both ways. */
static void add_error_of_overlap(int p, const double moved_norm[2], const double *mean, stair_errors *errors)
{
    double bayes = 0, plugin = 0;
    for (int k = 1; k <= 2; k++) {
        bayes = fmax(bayes, fabs(mean[2 * k] - mean[0]));
        plugin = fmax(plugin, fabs(mean[2 * k + 1] - mean[1]));
        errors->weights_error =
            fmax(errors->weights_error, fabs(1 - moved_norm[k - 1] / p - errors->weights));
    }
    errors->bayes_error = hypot(errors->bayes_error, bayes);
    errors->plugin_error = hypot(errors->plugin_error, plugin);
}

stair_status stair_errors_at(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, const double *q, const double *q_error,
                             stair_errors *errors)
{
    int p = model->info.indices, n = options->replicates;
    double norm = 0, most = 0, moved[STAIR_SQUARE], moved_norm[2] = {0}, mean[6] = {0},
           allowed = tuning.share * options->precision;
    errors_job *job = calloc(1, sizeof *job);
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->model = model;
    job->seed = options->seed;
    job->replicates = n;
    for (int i = 0; i < p * p; i++) {
        norm += q[i] * q[i];
        if (q_error) most = fmax(most, q_error[i]);
    }
    put_overlap(job, q);
    for (int way = 0; way < 2 && most > 0; way++) {
        move_overlap(p, q, q_error, way ? -1 : 1, moved);
        for (int i = 0; i < p * p; i++) moved_norm[way] += moved[i] * moved[i];
        put_overlap(job, moved);
    }
    stair_status status = STAIR_OK;
    *errors = (stair_errors){.weights = 1 - norm / p};
    bool enough = false;
    for (job->points = tuning.fewest; status == STAIR_OK && !enough; job->points *= tuning.growth) {
        status = evaluate(context, job, mean);
        errors->bayes_error = stair_replicate_error(n, job->place[0].bayes);
        errors->plugin_error = stair_replicate_error(n, job->place[0].plugin);
        enough = job->points >= tuning.most ||
                 (errors->bayes_error <= allowed * mean[0] && errors->plugin_error <= allowed * mean[1]);
    }
    errors->bayes = mean[0];
    errors->plugin = mean[1];
    if (job->places > 1) add_error_of_overlap(p, moved_norm, mean, errors);
    errors->gibbs = 2 * errors->bayes;
    errors->gibbs_error = 2 * errors->bayes_error;
    free(job);
    return status;
}
