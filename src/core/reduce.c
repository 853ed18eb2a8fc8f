/* Blocks to units on threads, units to parts as a tree, parts to the total in order. */
#include "core/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"

static const struct {
    size_t align; /* doubles of a cache line: sums of neighbouring units do not share one */
    size_t each;  /* units per worker, so that nobody waits long for the last */
} tuning = {.align = 8, .each = 4};

size_t stair_sum_stride(const stair_sum *sum)
{
    return (sum->size + tuning.align - 1) / tuning.align * tuning.align;
}

/* Whole parts where they are enough, subtrees of them where they are not. */
size_t stair_sum_units(const stair_sum *sum, size_t workers)
{
    int depth = 0;
    while (depth < sum->levels && sum->parts << depth < tuning.each * workers) depth++;
    return sum->parts << depth;
}

static size_t units_here(const stair_context *context, const stair_sum *sum)
{
    return stair_sum_units(sum, (size_t)context->threads);
}

int stair_sum_width(const stair_context *context, const stair_sum *sum)
{
    return stair_parallel_width(context, units_here(context, sum));
}

/* Levels within a unit. */
static int depth_of(const stair_sum *sum, size_t units)
{
    int depth = sum->levels;
    for (size_t k = sum->parts; k < units; k *= 2) depth--;
    return depth;
}

size_t stair_sum_stack(const stair_context *context, const stair_sum *sum, size_t units)
{
    return (size_t)stair_parallel_width(context, units) * (size_t)depth_of(sum, units) *
           stair_sum_stride(sum);
}

size_t stair_sum_room(const stair_context *context, const stair_sum *sum)
{
    size_t units = units_here(context, sum);
    return units * stair_sum_stride(sum) + stair_sum_stack(context, sum, units);
}

static void add(size_t size, const double *restrict x, double *restrict to)
{
    for (size_t i = 0; i < size; i++) to[i] += x[i];
}

typedef struct {
    const stair_sum *sum;
    stair_sum_body *body;
    void *user;
    size_t first; /* unit */
    int depth;
    double *stack, *partial;
} range_job;

/* The tree of 2^depth blocks from `block` on; the right half of each level waits in its row of the stack. */
static stair_status sum_tree(const range_job *job, size_t block, int depth, int thread, stair_context *local,
                             double *stack, double *out)
{
    if (depth == 0) return job->body(job->user, block, thread, local, out);
    depth--;
    double *right = stack + (size_t)depth * stair_sum_stride(job->sum);
    STAIR_TRY(sum_tree(job, block, depth, thread, local, stack, out));
    STAIR_TRY(sum_tree(job, block + ((size_t)1 << depth), depth, thread, local, stack, right));
    add(job->sum->size, right, out);
    return STAIR_OK;
}

static stair_status sum_unit(void *user, size_t unit, int thread, stair_context *local)
{
    const range_job *job = user;
    size_t stride = stair_sum_stride(job->sum);
    double *stack = job->depth ? job->stack + (size_t)(thread * job->depth) * stride : NULL;
    return sum_tree(job, (job->first + unit) << job->depth, job->depth, thread, local, stack,
                    job->partial + unit * stride);
}

stair_status stair_sum_range(stair_context *context, const stair_sum *sum, size_t units, size_t first,
                             size_t last, stair_sum_body *body, void *user, double *room, double *partial)
{
    range_job job = {sum, body, user, first, depth_of(sum, units), room, partial};
    return stair_parallel(context, last - first, sum_unit, &job);
}

void stair_sum_combine(const stair_sum *sum, size_t units, double *partial, double *out)
{
    size_t stride = stair_sum_stride(sum), each = sum->parts ? units / sum->parts : 1;
    for (size_t step = 1; step < each; step *= 2)
        for (size_t u = 0; u < units; u += 2 * step)
            add(sum->size, partial + (u + step) * stride, partial + u * stride);
    memset(out, 0, sum->size * sizeof *out);
    for (size_t u = 0; u < units; u += each) add(sum->size, partial + u * stride, out);
}

stair_status stair_sum_blocks(stair_context *context, const stair_sum *sum, stair_sum_body *body, void *user,
                              double *room, double *out)
{
    size_t units = units_here(context, sum);
    double *own = room ? NULL : malloc((stair_sum_room(context, sum) + 1) * sizeof *own);
    double *partial = room ? room : own;
    if (!partial) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_sum_range(context, sum, units, 0, units, body, user,
                                          partial + units * stair_sum_stride(sum), partial);
    if (status == STAIR_OK) stair_sum_combine(sum, units, partial, out);
    free(own);
    return status;
}
