/* GAMP on data of the caller's, and what it predicts for new samples.
 *
 *   omega = W x / sqrt(D),  y = g(Z),  Z ~ N(omega, C + prenoise) given the data:
 *   mean of y and its standard deviation, noise on y included, by a randomly shifted lattice in P M
 * dimensions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/qmc.h"
#include "core/rng.h"
#include "core/matrix.h"
#include "core/spectral.h"
#include "gamp/run.h"
#include "io/checkpoint.h"

static const struct {
    int points; /* of the lattice behind one prediction */
} tuning = {.points = 512};

static stair_status check_data(stair_context *context, const stair_model *model, const stair_gamp_data *data)
{
    if (data->dim < 1 || data->dim > STAIR_MOST_DATA_DIM)
        return stair_fail(context, STAIR_BAD_INPUT, "the dimension of x must be between 1 and 2^24, not %d",
                          data->dim);
    size_t end = 0;
    for (size_t k = 0; k < data->part_count && data->parts; k++) {
        if (data->parts[k].end < end)
            return stair_fail(context, STAIR_BAD_INPUT, "part %zu of X ends before it begins", k);
        end = data->parts[k].end;
    }
    if (data->parts && end != data->samples)
        return stair_fail(context, STAIR_BAD_INPUT, "the parts of X have %zu samples, not %zu", end,
                          data->samples);
    return stair_blocks_check(context, model, data->dim);
}

static stair_tiles tiles_of(const stair_model *model, const stair_gamp_data *data)
{
    static const double nothing; /* X of no samples; a NULL would have it drawn */
    return (stair_tiles){.dim = data->dim,
                         .tokens = model->info.tokens,
                         .samples = data->samples,
                         .single = data->single,
                         .x = data->x ? data->x : &nothing,
                         .parts = data->samples ? data->parts : NULL,
                         .part_count = data->part_count};
}

typedef struct {
    const stair_tiles *tiles;
    uint64_t *marks; /* of blocks of X */
    char *room;      /* (threads, bytes of a tile) */
} mark_job;

static stair_status mark_block(void *user, size_t block, int thread, stair_context *local)
{
    const mark_job *job = user;
    size_t lo, hi, most = stair_tile_samples(job->tiles), row = stair_tile_bytes(job->tiles) / most;
    char *room = job->room + (size_t)thread * stair_tile_room(job->tiles);
    uint64_t mark = 0;
    (void)local;
    stair_block_range(job->tiles, block, &lo, &hi);
    for (size_t first = lo; first < hi; first += most) {
        size_t n = hi - first < most ? hi - first : most;
        mark = stair_mark_bytes(mark, stair_tile_open(job->tiles, first, n, room), n * row);
    }
    job->marks[block] = mark;
    return STAIR_OK;
}

/* Tells one data set from another, so that no checkpoint is continued with other data: all labels, all of X.
 * Each rank looks at its own samples. */
static stair_status mark_data(stair_context *context, const stair_tiles *tiles, const double *labels,
                              size_t count, uint64_t *mark)
{
    size_t blocks = stair_tiles_blocks(tiles);
    size_t width = (size_t)stair_parallel_width(context, blocks);
    mark_job job = {tiles, malloc(blocks * sizeof *job.marks), malloc(width * stair_tile_room(tiles) + 1)};
    stair_status status = job.marks && job.room ? stair_tiles_parallel(context, tiles, mark_block, &job)
                                                : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) status = stair_tiles_gather_blocks(context, tiles, sizeof *job.marks, job.marks);
    if (status == STAIR_OK)
        *mark = stair_mark_bytes(stair_mark_bytes(*mark, labels, count * sizeof(double)), job.marks,
                                 blocks * sizeof *job.marks);
    free(job.marks);
    free(job.room);
    return status;
}

stair_status stair_gamp_fit(stair_context *context, const stair_model *model,
                            const stair_gamp_options *options, const stair_gamp_data *data,
                            stair_gamp_result **result)
{
    *result = NULL;
    STAIR_TRY(stair_gamp_check(context, options));
    STAIR_TRY(check_data(context, model, data));
    if (options->start_overlap > 0 || options->side > 0)
        return stair_fail(context, STAIR_BAD_INPUT, "given data have no teacher to start from or to look at");
    STAIR_TRY(stair_state_probe_runs(context, options->checkpoint, 1));
    stair_gamp_problem problem = {.tiles = tiles_of(model, data), .labels = data->labels};
    STAIR_TRY(stair_gamp_result_create(context, model, 1, data->dim, data->samples, result));
    stair_gamp_run *run = (*result)->run;
    run->seed = options->seed;
    run->alpha = (double)data->samples / data->dim;
    uint64_t fingerprint = stair_gamp_fingerprint(model, options, data->samples);
    stair_status status = STAIR_OK;
    if (options->checkpoint) /* which alone has a use for it */
        status = mark_data(context, &problem.tiles, data->labels,
                           data->samples * (size_t)model->info.label_size, &fingerprint);
    if (status == STAIR_OK) status = stair_gamp_hold(context, model, options, &problem);
    if (status == STAIR_OK)
        status = stair_gamp_run_one(context, model, options, &problem, 0, 1, fingerprint, run);
    stair_gamp_let_go(&problem);
    if (status != STAIR_OK) stair_gamp_result_destroy(result);
    return status;
}

static stair_status check_posterior(stair_context *context, int p, int dim, const double *weights,
                                    const double *cov)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    for (size_t i = 0; i < (size_t)p * (size_t)dim; i++)
        if (!isfinite(weights[i]))
            return stair_fail(context, STAIR_BAD_INPUT, "weights: entry %zu is not a finite number", i);
    for (int i = 0; i < p * p; i++)
        if (!isfinite(cov[i]) || cov[i] != cov[i % p * p + i / p])
            return stair_fail(context, STAIR_BAD_INPUT, "cov must be finite and symmetric");
    stair_matrix_eigen(p, cov, values, vectors);
    for (int i = 0; i < p; i++)
        if (values[i] < -1e-9)
            return stair_fail(context, STAIR_BAD_INPUT, "cov has the eigenvalue %.3g: no covariance",
                              values[i]);
    return STAIR_OK;
}

stair_status stair_gamp_result_from(stair_context *context, const stair_model *model, int dim,
                                    const double *weights, const double *cov, uint64_t seed,
                                    stair_gamp_result **result)
{
    *result = NULL;
    size_t p = (size_t)model->info.indices;
    STAIR_TRY(check_data(context, model, &(stair_gamp_data){.dim = dim}));
    STAIR_TRY(check_posterior(context, (int)p, dim, weights, cov));
    STAIR_TRY(stair_gamp_result_create(context, model, 1, dim, 0, result));
    stair_gamp_run *run = (*result)->run;
    run->seed = seed;
    run->weights = malloc(p * (size_t)dim * sizeof(double));
    run->cov = malloc(p * p * sizeof(double));
    if (!run->weights || !run->cov) {
        stair_gamp_result_destroy(result);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    memcpy(run->weights, weights, p * (size_t)dim * sizeof(double));
    stair_blocks_keep(model, dim, run->weights);
    memcpy(run->cov, cov, p * p * sizeof(double));
    return STAIR_OK;
}

typedef struct {
    const stair_model *model;
    const stair_tiles *tiles;
    const double *omega;
    double root[STAIR_SQUARE]; /* of C + prenoise */
    double *normals;           /* (points, P, M) */
    double *mean, *deviation, *plugin;
} predict_job;

static void predict_sample(const predict_job *job, size_t i)
{
    const stair_model_info *info = &job->model->info;
    int p = info->indices, m = info->tokens, outputs = info->label_size;
    const double *omega = job->omega + i * (size_t)(p * m);
    double z[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL], first[STAIR_MAX_LABEL] = {0},
                                                   second[STAIR_MAX_LABEL] = {0};
    for (int n = 0; n < tuning.points; n++) {
        const double *normal = job->normals + n * p * m;
        for (int a = 0; a < p; a++)
            for (int t = 0; t < m; t++) {
                z[a * m + t] = omega[a * m + t];
                for (int k = 0; k < p; k++) z[a * m + t] += job->root[a * p + k] * normal[k * m + t];
            }
        job->model->ops->forward(job->model, z, y, NULL);
        for (int k = 0; k < outputs; k++) {
            first[k] += y[k] / tuning.points;
            second[k] += y[k] * y[k] / tuning.points;
        }
    }
    for (int k = 0; k < outputs; k++) {
        job->mean[i * (size_t)outputs + (size_t)k] = first[k];
        job->deviation[i * (size_t)outputs + (size_t)k] =
            sqrt(fmax(0, second[k] - first[k] * first[k]) + info->noise);
    }
    if (job->plugin) job->model->ops->forward(job->model, omega, job->plugin + i * (size_t)outputs, NULL);
}

static stair_status predict_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread, (void)local;
    const predict_job *job = user;
    size_t lo, hi;
    stair_block_range(job->tiles, block, &lo, &hi);
    for (size_t i = lo; i < hi; i++) predict_sample(job, i);
    return STAIR_OK;
}

stair_status stair_gamp_predict(stair_context *context, const stair_model *model, const stair_gamp_run *run,
                                const stair_gamp_data *fresh, double *mean, double *deviation, double *plugin)
{
    STAIR_TRY(check_data(context, model, fresh));
    int cells = model->info.indices * model->info.tokens;
    double *omega = malloc((fresh->samples * (size_t)cells + 1) * sizeof(double));
    stair_tiles tiles = tiles_of(model, fresh);
    predict_job job = {.model = model,
                       .tiles = &tiles,
                       .omega = omega,
                       .mean = mean,
                       .deviation = deviation,
                       .plugin = plugin,
                       .normals = malloc(sizeof(double) * (size_t)(tuning.points * cells))};
    stair_status status =
        omega && job.normals ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        double shift[STAIR_MAX_CELLS];
        stair_rng_uniforms(run->seed, STAIR_RNG_SHIFT, (uint64_t)1 << 41, cells, shift);
        for (int n = 0; n < tuning.points; n++)
            stair_qmc_gaussian(cells, (uint64_t)tuning.points, (uint64_t)n, shift, job.normals + n * cells);
        stair_spectral_map(model->info.indices, run->cov, stair_shifted_root, model->info.prenoise, job.root);
        status = stair_gamp_project(context, &tiles, model, run->weights, omega);
    }
    if (status == STAIR_OK) status = stair_tiles_parallel(context, &tiles, predict_block, &job);
    size_t bytes = (size_t)model->info.label_size * sizeof(double);
    double *const results[] = {mean, deviation, plugin};
    for (int k = 0; k < 3 && status == STAIR_OK; k++)
        if (results[k]) status = stair_tiles_gather(context, &tiles, bytes, results[k], -1);
    free(omega);
    free(job.normals);
    return status;
}
