/* One pass over X for one iteration: tile by tile project, denoise, accumulate.
 *
 * What is summed over the samples is one ordered sum over the blocks of gamp/tiles.h.  What a pass reads of
 * the run it does not write, so a pass that is stopped leaves the run where it was. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "gamp/gamp.h"

/* What a block adds, one after the other in its doubles. */
typedef struct {
    double *b;       /* (P, D): X^T g / sqrt(D) */
    double *a, *gg;  /* (P, P): A before it is made symmetric, (1/D) sum g g^T */
    double *error;   /* of the channel */
    double *seconds; /* (3): pass, drawing, channel */
} sums;

size_t stair_gamp_sum_size(const stair_gamp_state *s)
{
    return (size_t)s->p * (size_t)s->dim + 2 * (size_t)(s->p * s->p) + 4;
}

static sums sums_in(const stair_gamp_state *s, double *all)
{
    size_t square = (size_t)(s->p * s->p);
    double *a = all + (size_t)s->p * (size_t)s->dim;
    return (sums){all, a, a + square, a + 2 * square, a + 2 * square + 1};
}

typedef struct {
    void *tile, *part;
    double *rows, *omega, *dg, *error;
} scratch;

typedef struct {
    stair_gamp_state *state;
    void *w;       /* W in the element type of X */
    scratch *room; /* per thread */
} pass_job;

/* (rows, P) to (n, P, M), times `scale` */
static void rows_to_cells(size_t n, int p, int m, double scale, const double *rows, double *cells)
{
    for (size_t i = 0; i < n; i++)
        for (int t = 0; t < m; t++)
            for (int k = 0; k < p; k++)
                cells[(i * (size_t)p + (size_t)k) * (size_t)m + (size_t)t] =
                    scale * rows[(i * (size_t)m + (size_t)t) * (size_t)p + (size_t)k];
}

static void cells_to_rows(size_t n, int p, int m, const double *cells, double *rows)
{
    for (size_t i = 0; i < n; i++)
        for (int t = 0; t < m; t++)
            for (int k = 0; k < p; k++)
                rows[(i * (size_t)m + (size_t)t) * (size_t)p + (size_t)k] =
                    cells[(i * (size_t)p + (size_t)k) * (size_t)m + (size_t)t];
}

/* out (P, M) = a (P, P) x (P, M) */
static void apply(int p, int m, const double *a, const double *x, double *out)
{
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int k = 0; k < p; k++) sum += a[i * p + k] * x[k * m + t];
            out[i * m + t] = sum;
        }
}

/* The memory o of this iteration, and omega -= o. */
static void react(const stair_gamp_state *s, size_t first, size_t n, double *omega)
{
    size_t cells = (size_t)(s->p * s->m);
    for (size_t i = 0; i < n; i++) {
        double now[STAIR_MAX_CELLS];
        size_t at = (first + i) * cells;
        apply(s->p, s->m, s->f, s->g + at, now);
        for (size_t k = 0; k < cells; k++) {
            double o = s->variant == STAIR_GAMP_NO_ONSAGER
                           ? 0
                           : (1 - s->damping) * now[k] + s->damping * s->o[at + k];
            s->next_o[at + k] = o;
            if (s->variant != STAIR_GAMP_PRINTED_ONSAGER) omega[i * cells + k] -= o;
        }
    }
}

static stair_status denoise(stair_context *local, const stair_gamp_state *s, size_t first, size_t n,
                            scratch *room)
{
    size_t cells = (size_t)(s->p * s->m), k = (size_t)s->model->info.label_size;
    stair_channel_result result = {.g = s->next_g + first * cells, .dg = room->dg, .error = room->error};
    const double *labels = s->problem->labels + first * k;
    STAIR_TRY(stair_channel_evaluate(local, s->model, &s->channel, first, n, labels, room->omega, 1, s->c,
                                     &result));
    if (s->variant == STAIR_GAMP_PRINTED_ONSAGER) { /* omega of the print: its own g taken off */
        for (size_t i = 0; i < n; i++) {
            double own[STAIR_MAX_CELLS];
            apply(s->p, s->m, s->c, result.g + i * cells, own);
            for (size_t j = 0; j < cells; j++) room->omega[i * cells + j] -= own[j];
        }
        STAIR_TRY(stair_channel_evaluate(local, s->model, &s->channel, first, n, labels, room->omega, 1, s->c,
                                         &result));
    }
    for (size_t i = 0; i < n && s->variant == STAIR_GAMP_PRINTED_G; i++) { /* E[Z|y] = omega + V g_out */
        double own[STAIR_MAX_CELLS];
        apply(s->p, s->m, s->c, result.g + i * cells, own);
        for (size_t j = 0; j < cells; j++) result.g[i * cells + j] = room->omega[i * cells + j] + own[j];
    }
    return STAIR_OK;
}

static void add_moments(const stair_gamp_state *s, size_t first, size_t n, const scratch *room,
                        const sums *add)
{
    int p = s->p, m = s->m, pm = p * m;
    for (size_t i = 0; i < n; i++) {
        const double *g = s->next_g + (first + i) * (size_t)pm, *dg = room->dg + i * (size_t)(pm * pm);
        for (int a = 0; a < p; a++)
            for (int b = 0; b < p; b++)
                for (int t = 0; t < m; t++) {
                    add->a[a * p + b] -= dg[(a * m + t) * pm + b * m + t];
                    add->gg[a * p + b] += g[a * m + t] * g[b * m + t];
                }
        *add->error += fmin(1, room->error[i]);
    }
}

/* Sums over samples become what enters the equations. */
static void scale_sums(const stair_gamp_state *s, const sums *block)
{
    for (size_t i = 0; i < (size_t)s->p * (size_t)s->dim; i++) block->b[i] *= s->scale;
    for (int i = 0; i < s->p * s->p; i++) {
        block->a[i] /= s->one;
        block->gg[i] /= s->one;
    }
}

static stair_status pass_block(void *user, size_t block, int thread, stair_context *local, double *out)
{
    const pass_job *job = user;
    const stair_gamp_state *s = job->state;
    const stair_tiles *tiles = &s->problem->tiles;
    scratch *room = &job->room[thread];
    sums add = sums_in(s, out);
    stair_products shape = stair_tile_products(tiles, s->p);
    stair_products_sum total = {.part = room->part, .sum = add.b};
    size_t lo, hi, most = stair_tile_samples(tiles), cells = (size_t)(s->p * s->m);
    memset(add.a, 0, (size_t)(out + stair_gamp_sum_size(s) - add.a) * sizeof *out);
    stair_block_range(tiles, block, &lo, &hi);
    for (size_t first = lo; first < hi; first += most) {
        size_t n = hi - first < most ? hi - first : most;
        double begun = stair_thread_seconds();
        const void *x = stair_tile_open(tiles, first, n, room->tile);
        double drawn = stair_thread_seconds();
        stair_products_project(&shape, n * (size_t)s->m, x, job->w, room->rows);
        double projected = stair_thread_seconds();
        rows_to_cells(n, s->p, s->m, s->scale, room->rows, room->omega);
        react(s, first, n, room->omega);
        STAIR_TRY(denoise(local, s, first, n, room));
        add_moments(s, first, n, room, &add);
        cells_to_rows(n, s->p, s->m, s->next_g + first * cells, room->rows);
        double denoised = stair_thread_seconds();
        stair_products_collect(&shape, n * (size_t)s->m, x, room->rows, &total);
        add.seconds[1] += drawn - begun;
        add.seconds[2] += denoised - projected;
        add.seconds[0] += projected - drawn + stair_thread_seconds() - denoised;
    }
    stair_products_finish(&shape, &total);
    scale_sums(s, &add);
    return STAIR_OK;
}

void stair_gamp_take_sums(stair_gamp_state *s)
{
    int p = s->p;
    sums all = sums_in(s, s->b);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            s->a[i * p + j] = 0.5 * (all.a[i * p + j] + all.a[j * p + i]);
            s->gg[i * p + j] = all.gg[i * p + j];
        }
    stair_blocks_keep(s->model, s->dim, all.b);
    stair_blocks_keep_pairs(s->model, s->a);
    stair_blocks_keep_pairs(s->model, s->gg);
    for (int i = 0; i < 3; i++) s->seconds[i] += all.seconds[i];
    s->channel_error = s->samples ? *all.error / (double)s->samples : 0;
}

static void free_scratch(int width, scratch *room)
{
    for (int t = 0; room && t < width; t++) {
        free(room[t].tile);
        free(room[t].part);
        free(room[t].rows);
    }
    free(room);
}

/* rows, omega, dg and error of a tile are one allocation */
static scratch *make_scratch(int width, const stair_tiles *tiles, int indices)
{
    size_t cells = (size_t)(indices * tiles->tokens);
    size_t n = stair_tile_samples(tiles), tile = stair_tile_room(tiles);
    scratch *room = calloc((size_t)width, sizeof *room);
    for (int t = 0; room && t < width; t++) {
        room[t].tile = tile ? malloc(tile) : NULL;
        size_t part = (size_t)indices * (size_t)tiles->dim * sizeof(double);
        room[t].part = stair_products_memory(part);
        room[t].rows = malloc(n * (2 * cells + cells * cells + 1) * sizeof(double));
        if (!room[t].rows || !room[t].part || (tile && !room[t].tile)) {
            free_scratch(width, room);
            return NULL;
        }
        memset(room[t].part, 0, part);
        room[t].omega = room[t].rows + n * cells;
        room[t].dg = room[t].omega + n * cells;
        room[t].error = room[t].dg + n * cells * cells;
    }
    return room;
}

/* Kept from pass to pass: the pages of a large sum cost more than their use. */
static bool make_room(stair_gamp_state *s, size_t size)
{
    if (s->room_size >= size) return true;
    free(s->room);
    s->room = stair_products_memory(size * sizeof(double));
    s->room_size = s->room ? size : 0;
    return s->room;
}

stair_status stair_gamp_pass(stair_context *context, stair_gamp_state *state)
{
    const stair_tiles *tiles = &state->problem->tiles;
    stair_sum sum = stair_tiles_sum(tiles, stair_gamp_sum_size(state));
    int width = stair_sum_width(context, &sum);
    pass_job job = {.state = state,
                    .w = stair_tile_weights(tiles, state->p, state->w),
                    .room = make_scratch(width, tiles, state->p)};
    stair_status status = job.w && job.room && make_room(state, stair_sum_room(context, &sum))
                              ? stair_sum_blocks(context, &sum, pass_block, &job, state->room, state->b)
                              : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) stair_gamp_take_sums(state);
    free(job.w);
    free_scratch(width, job.room);
    return status;
}

typedef struct {
    const stair_tiles *tiles;
    int indices;
    double scale; /* 1/sqrt(D) */
    void *w;
    double *z;
    scratch *room;
} project_job;

static stair_status project_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)local;
    project_job *job = user;
    stair_products shape = stair_tile_products(job->tiles, job->indices);
    size_t lo, hi, most = stair_tile_samples(job->tiles), cells = (size_t)(job->indices * job->tiles->tokens);
    stair_block_range(job->tiles, block, &lo, &hi);
    for (size_t first = lo; first < hi; first += most) {
        size_t n = hi - first < most ? hi - first : most;
        const void *x = stair_tile_open(job->tiles, first, n, job->room[thread].tile);
        stair_products_project(&shape, n * (size_t)job->tiles->tokens, x, job->w, job->room[thread].rows);
        rows_to_cells(n, job->indices, job->tiles->tokens, job->scale, job->room[thread].rows,
                      job->z + first * cells);
    }
    return STAIR_OK;
}

stair_status stair_gamp_project(stair_context *context, const stair_tiles *tiles, const stair_model *model,
                                const double *w, double *z)
{
    if (tiles->resident)
        return context->backend->project(context, tiles,
                                         1 / sqrt((double)stair_blocks_dim(model, tiles->dim)), w, z);
    size_t blocks = stair_tiles_blocks(tiles);
    int width = stair_parallel_width(context, blocks), indices = model->info.indices;
    project_job job = {.tiles = tiles,
                       .indices = indices,
                       .scale = 1 / sqrt((double)stair_blocks_dim(model, tiles->dim)),
                       .w = stair_tile_weights(tiles, indices, w),
                       .z = z,
                       .room = make_scratch(width, tiles, indices)};
    stair_status status = job.w && job.room ? stair_tiles_parallel(context, tiles, project_block, &job)
                                            : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    free(job.w);
    free_scratch(width, job.room);
    return status;
}
