/* Labels that are few: discrete ones are summed, and only the prior means are integrated over.
 *
 *   E phi = int dxi N(xi) sum_y Z_out(y, omega, V) phi(y, omega, V),     omega = sqrt(Q) xi
 *
 * xi has a coordinate for each learned direction and token.  Without any the sum is exact; one or two are
 * laid on two interlaced grids, whose distance is the error; more on randomly shifted lattices.  The values
 * that labels take are those of many random Z; what these leave of the probability is part of the error. */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/rules.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"
#include "model/formula.h"

#define MOST_VALUES 64 /* labels that differ */

static const struct {
    int trials;         /* random Z that labels are looked for at */
    double same;        /* labels that differ by less are equal */
    double step;        /* of the grids at fineness 1, in standard deviations, */
    double narrow;      /* and in those of V, relative to it, */
    double radius;      /* and where they end */
    int most_on_grid;   /* coordinates of xi on grids */
    double none;        /* eigenvalues of Q below this times the largest are zero */
    size_t most_points; /* of xi in all */
    double rare;        /* log of a probability that is not told from none, */
    double whole;       /* and what all may be short of one */
} tuning = {.trials = 16384,
            .same = 1e-9,
            .step = 0.3,
            .narrow = 3,
            .radius = 6.5,
            .most_on_grid = 2,
            .none = 1e-12,
            .most_points = 1 << 18,
            .rare = -25,
            .whole = 1e-9};

typedef struct {
    const stair_model *model;
    int p, m, pm, labels, values;
    double *label;                                /* (values, K) */
    int rank;                                     /* learned directions */
    double least;                                 /* eigenvalue of V with prenoise */
    double root[STAIR_SQUARE], cov[STAIR_SQUARE]; /* (P, rank): omega = root xi; V */
} label_job;

static bool is_flat(const stair_model *model)
{
    return model->ops->program && !model->info.output_noisy && model->ops->program(model)->flat;
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    (void)q;
    return is_flat(structure->model) && effort->fineness > 0;
}

static bool known(const label_job *job, const double *label)
{
    for (int v = 0; v < job->values; v++) {
        double away = 0;
        for (int k = 0; k < job->labels; k++)
            away = fmax(away, fabs(job->label[v * job->labels + k] - label[k]));
        if (away <= tuning.same) return true;
    }
    return false;
}

/* False: there are too many. */
static bool find_labels(label_job *job)
{
    double z[STAIR_MAX_CELLS], label[STAIR_MAX_LABEL];
    for (int i = 0; i < tuning.trials; i++) {
        stair_rng_normals(11, STAIR_RNG_POINTS, (uint64_t)i, job->pm, z);
        job->model->ops->forward(job->model, z, NULL, label);
        if (known(job, label)) continue;
        if (job->values == MOST_VALUES) return false;
        memcpy(job->label + job->values++ * job->labels, label, sizeof(double) * (size_t)job->labels);
    }
    return true;
}

static void set_overlap(label_job *job, const double *q)
{
    int p = job->p;
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    stair_matrix_eigen(p, q, values, vectors);
    job->rank = 0;
    job->least = fmax(1e-8, 1 - values[p - 1] + job->model->info.prenoise);
    for (int k = p - 1; k >= 0; k--) {
        if (!(values[k] > tuning.none * fmax(1e-30, values[p - 1]))) continue;
        for (int i = 0; i < p; i++) job->root[i * p + job->rank] = sqrt(values[k]) * vectors[i * p + k];
        job->rank++;
    }
    for (int i = 0; i < p * p; i++) job->cov[i] = (i % (p + 1) == 0) - q[i];
}

/* Points of xi with their weights, (n, rank M) and (n), and the row of the average each belongs to. */
typedef struct {
    size_t n;
    int rows, dims;
    bool random;
    double *xi, *weight;
    int *row;
} point_set;

static stair_status make_room(stair_context *context, size_t n, point_set *set)
{
    set->n = n;
    set->xi = calloc(n * (size_t)(set->dims + 1), sizeof(double));
    set->weight = malloc(n * sizeof(double));
    set->row = calloc(n, sizeof(int));
    return set->xi && set->weight && set->row ? STAIR_OK
                                              : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

static void free_points(point_set *set)
{
    free(set->xi);
    free(set->weight);
    free(set->row);
}

/* Two grids, the second between the nodes of the first: row 0 and row 1. */
static stair_status grids(stair_context *context, double step, point_set *set)
{
    int half = (int)ceil(tuning.radius / step), side = 2 * half;
    size_t each = set->dims == 1 ? (size_t)side : (size_t)(side * side), at = 0;
    set->rows = 2;
    STAIR_TRY(make_room(context, 2 * each, set));
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < side; i++)
            for (int j = 0; j < (set->dims == 1 ? 1 : side); j++, at++) {
                double x = (i - half + 0.25 + 0.5 * r) * step, y = (j - half + 0.25 + 0.5 * r) * step;
                set->xi[at * (size_t)set->dims] = x;
                set->weight[at] = step * exp(-0.5 * x * x) / sqrt(2 * M_PI);
                if (set->dims == 2) {
                    set->xi[2 * at + 1] = y;
                    set->weight[at] *= step * exp(-0.5 * y * y) / sqrt(2 * M_PI);
                }
                set->row[at] = r;
            }
    return STAIR_OK;
}

static stair_status lattices(stair_context *context, const stair_average_effort *effort, point_set *set)
{
    double shift[STAIR_MAX_CELLS], u[STAIR_MAX_CELLS];
    size_t at = 0;
    set->rows = effort->replicates;
    set->random = true;
    STAIR_TRY(make_room(context, effort->points * (size_t)set->rows, set));
    for (int r = 0; r < set->rows; r++) {
        stair_rng_uniforms(effort->seed, STAIR_RNG_SHIFT, (uint64_t)r, set->dims, shift);
        for (size_t i = 0; i < effort->points; i++, at++) {
            stair_qmc_point(set->dims, effort->points, i, shift, u);
            for (int k = 0; k < set->dims; k++)
                set->xi[at * (size_t)set->dims + (size_t)k] = stair_qmc_normal(u[k]);
            set->weight[at] = 1 / (double)effort->points;
            set->row[at] = r;
        }
    }
    return STAIR_OK;
}

/* least: eigenvalue of V, whose root is how far posteriors vary over. */
static stair_status choose_points(stair_context *context, const stair_average_effort *effort, double least,
                                  point_set *set)
{
    double step = tuning.step / fmax(0.5, effort->fineness) * fmin(1, tuning.narrow * sqrt(least));
    if (set->dims > tuning.most_on_grid || pow(2 * tuning.radius / step, set->dims) > tuning.most_points)
        return lattices(context, effort, set);
    if (set->dims > 0) return grids(context, step, set);
    set->rows = 2;
    STAIR_TRY(make_room(context, 2, set));
    set->weight[0] = set->weight[1] = 1;
    set->row[1] = 1;
    return STAIR_OK;
}

static void prior_mean(const label_job *job, const double *xi, double *omega)
{
    for (int i = 0; i < job->p; i++)
        for (int t = 0; t < job->m; t++) {
            omega[i * job->m + t] = 0;
            for (int k = 0; k < job->rank; k++)
                omega[i * job->m + t] += job->root[i * job->p + k] * xi[k * job->m + t];
        }
}

/* Adds the labels of one prior mean, weighted by their probability; returns the probability of all. */
static double add_labels(const label_job *job, const stair_subspace *rest, const stair_channel_result *result,
                         size_t at, double weight, bool relative, stair_average *out, double *features,
                         double *row)
{
    double all = 0;
    size_t pm = (size_t)job->pm;
    for (int v = 0; v < job->values; v++) {
        size_t i = at * (size_t)job->values + (size_t)v;
        double probability = exp(result->logz[i]);
        if (!(probability > 0)) continue;
        all += probability;
        stair_average_features(out, rest, job->m, relative ? 0 : result->logz[i], result->g + i * pm,
                               result->dg + i * pm * pm, features);
        for (int a = 0; a < out->count; a++) row[a] += weight * probability * features[a];
        out->inner += weight * probability * fmin(1, result->error[i]) / out->replicates;
    }
    return all;
}

/* Posteriors of n labels; one that no Z near its prior mean gives has probability zero. */
static stair_status evaluate_all(stair_context *context, const label_job *job,
                                 const stair_channel_options *channel, size_t first, size_t n,
                                 const double *label, const double *omega, stair_channel_result *result)
{
    size_t pm = (size_t)job->pm, k = (size_t)job->labels;
    stair_status status =
        stair_channel_evaluate(context, job->model, channel, first, n, label, omega, 1, job->cov, result);
    if (status != STAIR_BAD_INPUT) return status;
    for (size_t i = 0; i < n; i++) {
        stair_channel_result one = {.logz = result->logz + i,
                                    .error = result->error + i,
                                    .g = result->g + i * pm,
                                    .dg = result->dg + i * pm * pm};
        status = stair_channel_evaluate(context, job->model, channel, first + i, 1, label + i * k,
                                        omega + i * pm, 1, job->cov, &one);
        if (status == STAIR_BAD_INPUT)
            *one.logz = -INFINITY;
        else
            STAIR_TRY(status);
    }
    return STAIR_OK;
}

/* The same where sums over boxes tell: of labels that are hardly ever seen these know nothing but that, and
 * that is all there is to know.  Prior means whose labels do not add up to one are asked for again. */
static stair_status evaluate_boxes(stair_context *context, const label_job *job,
                                   const stair_channel_options *channel, size_t first, size_t n,
                                   const double *label, const double *omega, stair_channel_result *result)
{
    size_t pm = (size_t)job->pm, k = (size_t)job->labels, v = (size_t)job->values;
    stair_channel_options boxes = *channel;
    boxes.method = "boxes";
    if (!stair_boxes_serve(job->model))
        return evaluate_all(context, job, channel, first, n, label, omega, result);
    STAIR_TRY(
        stair_channel_evaluate(context, job->model, &boxes, first, n, label, omega, 1, job->cov, result));
    for (size_t i = 0; i < n; i += v) {
        double all = 0;
        for (size_t j = i; j < i + v; j++) {
            if (!(result->logz[j] > tuning.rare)) result->logz[j] = -INFINITY;
            all += exp(result->logz[j]);
        }
        if (fabs(all - 1) < tuning.whole) continue;
        stair_channel_result some = {.logz = result->logz + i,
                                     .error = result->error + i,
                                     .g = result->g + i * pm,
                                     .dg = result->dg + i * pm * pm};
        STAIR_TRY(evaluate_all(context, job, channel, first + i, v, label + i * k, omega + i * pm, &some));
    }
    return STAIR_OK;
}

#define BATCH 256 /* prior means at a time */

static stair_status run(stair_context *context, label_job *job, const stair_average_effort *effort,
                        const stair_subspace *rest, const point_set *set, stair_average *out)
{
    size_t pm = (size_t)job->pm, k = (size_t)job->labels, most = BATCH * (size_t)job->values;
    double *memory = malloc((most * (pm + k + 2 + pm + pm * pm) + (size_t)out->count) * sizeof(double));
    double missing = 0;
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    double *omega = memory, *label = omega + most * pm, *features = label + most * (k + 2 + pm + pm * pm);
    stair_channel_result result = {.logz = label + most * k};
    result.error = result.logz + most;
    result.g = result.error + most;
    result.dg = result.g + most * pm;
    stair_status status = STAIR_OK;
    for (size_t first = 0; first < set->n && status == STAIR_OK; first += BATCH) {
        size_t n = set->n - first < BATCH ? set->n - first : BATCH, v = (size_t)job->values;
        for (size_t i = 0; i < n; i++) {
            prior_mean(job, set->xi + (first + i) * (size_t)set->dims, omega + i * v * pm);
            for (size_t j = 1; j < v; j++)
                memcpy(omega + (i * v + j) * pm, omega + i * v * pm, pm * sizeof(double));
            memcpy(label + i * v * k, job->label, v * k * sizeof(double));
        }
        status = evaluate_boxes(context, job, &effort->channel, first * v, n * v, label, omega, &result);
        for (size_t i = 0; i < n && status == STAIR_OK; i++) {
            double *row = out->sample + set->row[first + i] * out->count;
            double all = add_labels(job, rest, &result, i, set->weight[first + i], false, out, features, row);
            missing += set->weight[first + i] * (1 - all) / set->rows;
        }
        out->calls += n * v;
    }
    out->bias = fmax(0, fabs(missing) - 1e-9);
    free(memory);
    return status;
}

/* log Z of the same label when nothing is known: sum_y P(y) log P(y), which does not depend on Q. */
static stair_status subtract_nothing(stair_context *context, label_job *job,
                                     const stair_average_effort *effort, stair_average *out)
{
    double omega[STAIR_MAX_CELLS * 1] = {0}, unit[STAIR_SQUARE] = {0}, logz, entropy = 0;
    stair_channel_result result = {.logz = &logz};
    for (int i = 0; i < job->p; i++) unit[i * (job->p + 1)] = 1;
    for (int v = 0; v < job->values; v++) {
        STAIR_TRY(stair_channel_evaluate(context, job->model, &effort->channel, 0, 1,
                                         job->label + v * job->labels, omega, 1, unit, &result));
        entropy += exp(logz) * logz;
    }
    int half = job->p * (job->p + 1) / 2;
    for (int r = 0; r < out->replicates; r++) out->sample[r * out->count + half] -= entropy;
    return STAIR_OK;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    label_job job = {.model = model, .p = model->info.indices, .m = model->info.tokens};
    point_set set = {0};
    stair_subspace rest;
    job.pm = job.p * job.m;
    job.labels = model->info.label_size;
    job.label = malloc(sizeof(double) * MOST_VALUES * (size_t)job.labels);
    stair_status status = job.label ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK && !find_labels(&job))
        status = stair_fail(context, STAIR_UNSUPPORTED, "labels take more than %d values", MOST_VALUES);
    set_overlap(&job, q);
    set.dims = job.rank * job.m;
    if (status == STAIR_OK) status = choose_points(context, effort, job.least, &set);
    if (status == STAIR_OK) {
        stair_subspace_set(structure, q, basis, average->kernel, &rest);
        stair_average_begin(average, set.rows, set.random);
        memset(average->sample, 0, sizeof(double) * (size_t)average->count * (size_t)set.rows);
        status = run(context, &job, effort, &rest, &set, average);
    }
    if (status == STAIR_OK && effort->relative) status = subtract_nothing(context, &job, effort, average);
    for (int a = 0; a < average->count && status == STAIR_OK; a++) {
        average->mean[a] = 0;
        for (int r = 0; r < set.rows; r++)
            average->mean[a] += average->sample[r * average->count + a] / set.rows;
    }
    free_points(&set);
    free(job.label);
    return status;
}

/* On lattices, which are for three coordinates of xi and more. */
static bool is_random(const stair_structure *structure)
{
    return structure->model->info.indices * structure->model->info.tokens > tuning.most_on_grid;
}

static bool sharpen(stair_average_effort *effort, double bias, double error, double wanted)
{
    double excess = stair_average_excess(bias, error, wanted);
    if (!(excess > 1)) return false;
    effort->fineness = fmin(8, effort->fineness * 1.5);
    effort->points *= excess > 2 ? 4 : 2;
    return true;
}

const stair_average_rule stair_average_label_sum = {
    .name = "label-sum",
    .text = "discrete labels are summed; prior means on grids or lattices",
    .refines = true,
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate,
    .sharpen = sharpen};
