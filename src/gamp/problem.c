/* The teacher and the samples of one synthetic run:
 *
 *   W* (P, D), x (M, D) i.i.d. N(0,1);  Z = W* x / sqrt(D);  y = g(Z + sqrt(prenoise) n) + sqrt(noise) n
 *   side information S = sqrt(lambda) W* + sqrt(1 - lambda) n
 *
 * with D the dimension of a row and rows zero outside of their blocks, where the embedding has several;
 * in the numbering of gradient descent, so that both see the same teacher and samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "gamp/gamp.h"

void stair_gamp_label(const stair_model *model, const double *z, const double *noise, double *label)
{
    const stair_model_info *info = &model->info;
    int cells = info->indices * info->tokens;
    double moved[STAIR_MAX_CELLS];
    for (int k = 0; k < cells; k++)
        moved[k] = info->prenoise > 0 ? z[k] + sqrt(info->prenoise) * noise[k] : z[k];
    model->ops->forward(model, moved, info->output_noisy ? label : NULL, info->output_noisy ? NULL : label);
    for (int k = 0; k < info->label_size && info->output_noisy; k++)
        label[k] += sqrt(info->noise) * noise[cells + k];
}

typedef struct {
    const stair_model *model;
    const stair_tiles *tiles;
    uint64_t seed;
    const double *z;
    double *labels;
} label_job;

static void label_sample(const label_job *job, size_t i)
{
    const stair_model_info *info = &job->model->info;
    int cells = info->indices * info->tokens, outputs = info->label_size;
    double noise[STAIR_MAX_CELLS + STAIR_MAX_LABEL];
    if (info->prenoise > 0 || info->noise > 0)
        stair_rng_normals(job->seed, STAIR_RNG_NOISE, i, cells + outputs, noise);
    stair_gamp_label(job->model, job->z + i * (size_t)cells, noise, job->labels + i * (size_t)outputs);
}

static stair_status label_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread, (void)local;
    const label_job *job = user;
    size_t lo, hi;
    stair_block_range(job->tiles, block, &lo, &hi);
    for (size_t i = lo; i < hi; i++) label_sample(job, i);
    return STAIR_OK;
}

static stair_status draw_labels(stair_context *context, const stair_model *model, uint64_t seed,
                                stair_gamp_problem *problem)
{
    size_t n = problem->tiles.samples, cells = (size_t)(model->info.indices * model->info.tokens);
    double *z = malloc((n * cells + 1) * sizeof(double));
    if (!z) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    label_job job = {model, &problem->tiles, seed, z, problem->own_labels};
    stair_status status = stair_gamp_project(context, &problem->tiles, model, problem->teacher, z);
    if (status == STAIR_OK) status = stair_tiles_parallel(context, &problem->tiles, label_block, &job);
    free(z);
    return status;
}

static void draw_side(const stair_model *model, double lambda, uint64_t seed, int dim,
                      stair_gamp_problem *problem)
{
    int p = model->info.indices;
    stair_rng_rows(seed, STAIR_RNG_SIDE, p, dim, sqrt(1 - lambda), problem->side);
    stair_blocks_keep(model, dim, problem->side);
    for (size_t i = 0; i < (size_t)p * (size_t)dim; i++)
        problem->side[i] += sqrt(lambda) * problem->teacher[i];
}

static stair_status allocate(stair_context *context, const stair_model *model,
                             const stair_gamp_options *options, stair_gamp_problem *problem)
{
    const stair_tiles *t = &problem->tiles;
    size_t weights = (size_t)model->info.indices * (size_t)options->dim, k = (size_t)model->info.label_size;
    size_t row = (size_t)t->tokens * (size_t)t->dim * (t->single ? sizeof(float) : sizeof(double)), lo, hi;
    stair_tiles_own(context, t, &lo, &hi);
    problem->teacher = malloc(weights * sizeof(double));
    problem->side = options->side > 0 ? malloc(weights * sizeof(double)) : NULL;
    problem->own_labels =
        t->samples < SIZE_MAX / 16 / k ? malloc((t->samples * k + 1) * sizeof(double)) : NULL;
    bool store = !options->regenerate && !t->resident;
    double bytes = (double)(hi - lo) * (double)row, room = store ? stair_memory_room() : 0;
    if (store && t->samples < SIZE_MAX / 2 / row && bytes <= room)
        problem->stored = stair_products_memory((hi - lo) * row);
    if (store && !problem->stored)
        return stair_fail(context, STAIR_NO_MEMORY,
                          "no memory for %zu samples of %d tokens in dimension %d: %.3g GB, and %.3g GB are "
                          "free; regenerate needs none",
                          t->samples, t->tokens, t->dim, 1e-9 * bytes, 1e-9 * room);
    if (!problem->teacher || (options->side > 0 && !problem->side) || !problem->own_labels)
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    problem->labels = problem->own_labels;
    return STAIR_OK;
}

/* Ranks share X, doubles stay doubles, and the verification variants look at single entries of X. */
bool stair_gamp_goes_to_card(const stair_context *context, const stair_gamp_options *options, bool single)
{
    int variant = stair_gamp_variant_of(options->variant);
    bool plain =
        variant == STAIR_GAMP_PLAIN || variant == STAIR_GAMP_NO_ONSAGER || variant == STAIR_GAMP_PRINTED_SIDE;
    return plain && single && !stair_ranks_many(context);
}

stair_status stair_gamp_hold(stair_context *context, const stair_model *model,
                             const stair_gamp_options *options, stair_gamp_problem *problem)
{
    const stair_backend *backend = context->backend;
    if (!backend || !backend->hold || !stair_gamp_goes_to_card(context, options, problem->tiles.single))
        return STAIR_OK;
    problem->release = backend->release;
    return backend->hold(context, &problem->tiles, model->info.indices, !options->regenerate,
                         &problem->tiles.resident);
}

void stair_gamp_let_go(stair_gamp_problem *problem)
{
    if (problem->tiles.resident) problem->release(problem->tiles.resident);
    problem->tiles.resident = NULL;
}

stair_status stair_gamp_problem_draw(stair_context *context, const stair_model *model,
                                     const stair_gamp_options *options, uint64_t seed,
                                     stair_gamp_problem *problem)
{
    int p = model->info.indices;
    *problem = (stair_gamp_problem){.tiles = {.dim = options->dim,
                                              .tokens = model->info.tokens,
                                              .samples = (size_t)llround(options->alpha * options->dim),
                                              .single = !options->wide,
                                              .seed = seed}};
    stair_status status = stair_model_has_all_rows(context, model);
    if (status == STAIR_OK) status = stair_gamp_hold(context, model, options, problem);
    if (status == STAIR_OK) status = allocate(context, model, options, problem);
    if (status == STAIR_OK && problem->stored) {
        status = stair_tiles_draw(context, &problem->tiles, problem->stored);
        problem->tiles.x = problem->stored;
        size_t end;
        stair_tiles_own(context, &problem->tiles, &problem->tiles.held, &end);
    }
    if (status == STAIR_OK) {
        stair_rng_rows(seed, STAIR_RNG_TEACHER, p, options->dim, 1, problem->teacher);
        stair_blocks_keep(model, options->dim, problem->teacher);
        if (problem->side) draw_side(model, options->side, seed, options->dim, problem);
        status = draw_labels(context, model, seed, problem);
    }
    if (status != STAIR_OK) stair_gamp_problem_destroy(problem);
    return status;
}

void stair_gamp_problem_destroy(stair_gamp_problem *problem)
{
    stair_gamp_let_go(problem);
    free(problem->stored);
    free(problem->own_labels);
    free(problem->teacher);
    free(problem->side);
    *problem = (stair_gamp_problem){0};
}
