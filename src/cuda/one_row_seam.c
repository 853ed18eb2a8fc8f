/* Posteriors of one_row.c on a card: its nodes are copied once, samples go up and sums come down. */
#include "posterior/one_row_seam.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/one_row.h"
#include "cuda/seams.h"

static const struct {
    int slice; /* nodes of a table that one block of threads takes, about */
    size_t most;
} tuning = {.slice = 4096, .most = 65536};

static void close_nodes(void *kept)
{
    stair_cuda_nodes *nodes = kept;
    for (int half = 0; half < 2; half++) {
        stair_cuda_free(nodes->device, nodes->data[half]);
        stair_cuda_free(nodes->device, nodes->measure[half]);
    }
    free(nodes);
}

static stair_status copy(stair_context *context, const stair_device *device, const double *from, size_t count,
                         double **to)
{
    void *memory;
    STAIR_TRY(stair_cuda_alloc(context, device, count * sizeof(double), "hidden nodes", &memory));
    *to = memory;
    return stair_cuda_up(context, device, memory, from, count * sizeof(double));
}

static stair_status copy_half(stair_context *context, const stair_one_row_tables *t, int half,
                              stair_cuda_nodes *nodes)
{
    size_t rows = (size_t)t->shape.rows, count = t->blocks[half] * STAIR_BLOCK;
    nodes->nodes[half] = (int)count;
    if (nodes->kind == STAIR_NODES_FIXED) {
        const stair_one_row_plane *plane = &t->plane[half];
        nodes->grid[half] = (stair_one_row_grid){plane->low, plane->step, plane->side};
        return copy(context, nodes->device, plane->nodes,
                    (size_t)(plane->side * plane->side) * 5 * STAIR_CELL, &nodes->data[half]);
    }
    if (nodes->kind == STAIR_NODES_TABLE)
        return copy(context, nodes->device, t->table[half], count * (5 + 2 * rows), &nodes->data[half]);
    STAIR_TRY(copy(context, nodes->device, t->place[half], count * 2 * rows, &nodes->data[half]));
    return copy(context, nodes->device, t->measure[half], count, &nodes->measure[half]);
}

/* (levels, sets of the level, halves) of lattices, one after the other. */
static stair_status copy_following(stair_context *context, const stair_one_row_tables *t,
                                   stair_cuda_nodes *nodes)
{
    size_t dim = 2 * (size_t)t->shape.rows, at = 0, all = 0;
    for (int level = 0; level < STAIR_FOLLOW_LEVELS; level++) {
        size_t count = t->following[level * 2].blocks * STAIR_BLOCK;
        nodes->level_nodes[level] = (int)count;
        nodes->level_first[level] = all;
        all += (size_t)(STAIR_FOLLOW_SETS / stair_hd_follow_alike(level)) * 2 * count * dim;
    }
    double *room = malloc(all * sizeof(double));
    if (!room) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int level = 0; level < STAIR_FOLLOW_LEVELS; level++)
        for (int set = 0; set < STAIR_FOLLOW_SETS; set += stair_hd_follow_alike(level))
            for (int half = 0; half < 2; half++) {
                size_t size = (size_t)nodes->level_nodes[level] * dim;
                memcpy(room + at, t->following[(set * STAIR_FOLLOW_LEVELS + level) * 2 + half].place,
                       size * sizeof(double));
                at += size;
            }
    stair_status status = copy(context, nodes->device, room, all, &nodes->data[0]);
    free(room);
    return status;
}

/* Two tokens and few hidden rows; nodes that move need the formula of T(u). */
static stair_status open_nodes(stair_context *context, const stair_one_row_tables *t, void **kept)
{
    int rows = t->shape.rows;
    *kept = NULL;
    if (t->shape.tokens != 2 || rows > STAIR_MIXING_ROWS || (!t->flat && !t->plane && !t->mixed))
        return STAIR_OK;
    stair_cuda_nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *nodes = (stair_cuda_nodes){.device = context->device,
                                .kind = t->flat        ? STAIR_NODES_TABLE
                                        : t->plane     ? STAIR_NODES_FIXED
                                        : t->following ? STAIR_NODES_FOLLOWING
                                                       : STAIR_NODES_MOVING,
                                .rows = rows,
                                .sums = t->shape.sums,
                                .half_inverse = t->half_inverse,
                                .prior = 0.5 / (t->deviation[0] * t->deviation[0]),
                                .reach = t->reach,
                                .mixing = t->mixing,
                                .agreed = t->agreed,
                                .disagree = t->disagree};
    for (int row = 0; row < rows; row++) nodes->deviation[row] = t->deviation[row];
    nodes->slices = ((int)t->blocks[0] * STAIR_BLOCK + tuning.slice - 1) / tuning.slice;
    if (nodes->slices < 1) nodes->slices = 1;
    stair_status status = STAIR_OK;
    if (nodes->kind == STAIR_NODES_FOLLOWING) status = copy_following(context, t, nodes);
    for (int half = 0; half < 2 && status == STAIR_OK && nodes->kind != STAIR_NODES_FOLLOWING; half++)
        status = copy_half(context, t, half, nodes);
    if (status == STAIR_OK)
        *kept = nodes;
    else
        close_nodes(nodes);
    return status;
}

static stair_status some_sums(stair_context *context, stair_cuda_slot *slot, const stair_cuda_nodes *nodes,
                              size_t n, const double *samples, const stair_follow *followers, double *sums)
{
    size_t in = n * (4 + 2 * (size_t)nodes->rows) * sizeof(double),
           out = n * 2 * (size_t)nodes->sums * sizeof(double);
    void *up, *down, *from, *part, *to, *followed = NULL, *pinned;
    STAIR_TRY(stair_cuda_slot_host(context, slot, 0, in, &up));
    STAIR_TRY(stair_cuda_slot_host(context, slot, 1, out, &down));
    STAIR_TRY(stair_cuda_slot_room(context, slot, 0, in, "samples", &from));
    STAIR_TRY(stair_cuda_slot_room(context, slot, 1, out, "sums", &to));
    STAIR_TRY(stair_cuda_slot_room(context, slot, 2, out * (size_t)nodes->slices, "sums", &part));
    if (followers) {
        size_t bytes = n * sizeof *followers;
        STAIR_TRY(stair_cuda_slot_room(context, slot, 3, bytes, "samples", &followed));
        STAIR_TRY(stair_cuda_slot_host(context, slot, 3, bytes, &pinned));
        memcpy(pinned, followers, bytes);
        STAIR_TRY(stair_cuda_slot_up(context, slot, followed, pinned, bytes));
    }
    memcpy(up, samples, in);
    STAIR_TRY(stair_cuda_slot_up(context, slot, from, up, in));
    STAIR_TRY(stair_cuda_one_row(context, slot, nodes, n, from, followed, part, to));
    STAIR_TRY(stair_cuda_slot_down(context, slot, down, to, out));
    STAIR_TRY(stair_cuda_slot_wait(context, slot));
    memcpy(sums, down, out);
    return STAIR_OK;
}

/* Followers count sets from the first sample of all: `most` is a multiple of them. */
static stair_status sums(stair_context *context, void *kept, size_t n, const double *samples,
                         const stair_follow *followers, double *out)
{
    const stair_cuda_nodes *nodes = kept;
    stair_cuda_slot *slot;
    STAIR_TRY(stair_cuda_slot_take(context, &slot));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < n && status == STAIR_OK; i += tuning.most)
        status = some_sums(context, slot, nodes, n - i < tuning.most ? n - i : tuning.most,
                           samples + i * (size_t)(4 + 2 * nodes->rows), followers ? followers + i : NULL,
                           out + i * 2 * (size_t)nodes->sums);
    stair_cuda_slot_give(slot);
    return status;
}

const stair_one_row_seam stair_cuda_one_row_seam = {.open = open_nodes, .close = close_nodes, .sums = sums};
