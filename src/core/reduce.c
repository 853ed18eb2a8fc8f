/* Blocks to units on threads, units to the total: one tree. */
#include "core/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/ranks.h"

static const struct {
    size_t align; /* doubles of a cache line: sums of neighbouring units do not share one */
    size_t each;  /* units per worker, so that nobody waits long for the last */
    size_t small; /* doubles of all units together that ranks simply tell each other */
} tuning = {.align = 8, .each = 4, .small = 8192};

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
    return stair_sum_units(sum, (size_t)stair_ranks_threads(context));
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

/* Whether ranks gather whole sums of units; else each adds up a stretch of their entries. */
static bool is_small(const stair_sum *sum, size_t units)
{
    return units * stair_sum_stride(sum) <= tuning.small;
}

/* Entries of a sum that rank r adds up: whole cache lines. */
static size_t stretch(const stair_sum *sum, int r, int ranks)
{
    size_t lines = stair_sum_stride(sum) / tuning.align,
           at = lines * (size_t)r / (size_t)ranks * tuning.align;
    return at < sum->size ? at : sum->size;
}

/* The node of the tree that has `step` units from u on to the left and as many, or fewer, to the right:
 * whether all of them are among first .. last-1. */
static bool holds(size_t units, size_t first, size_t last, size_t u, size_t step)
{
    size_t end = u + 2 * step < units ? u + 2 * step : units;
    return u >= first && end <= last;
}

/* Whether unit u of first .. last-1 is where a subtree begins that these have whole, and no larger one. */
static bool is_root(size_t units, size_t first, size_t last, size_t u)
{
    size_t step = u & (~u + 1); /* u is the right half of one node only, of this step */
    return !u || !holds(units, first, last, u - step, step);
}

static size_t count_roots(size_t units, size_t first, size_t last)
{
    size_t count = 0;
    for (size_t u = first; u < last; u++) count += is_root(units, first, last, u);
    return count;
}

size_t stair_sum_room(const stair_context *context, const stair_sum *sum)
{
    size_t units = units_here(context, sum), stack = stair_sum_stack(context, sum, units), first, last;
    if (!stair_ranks_many(context) || is_small(sum, units)) return units * stair_sum_stride(sum) + stack;
    int rank = stair_context_rank(context), ranks = stair_context_ranks(context);
    size_t mine = stretch(sum, rank + 1, ranks) - stretch(sum, rank, ranks);
    size_t all = 0, own = 0, count = 0;
    for (int r = 0; r < ranks; r++) {
        stair_ranks_run(context, units, r, &first, &last);
        size_t roots = count_roots(units, first, last);
        all += roots;
        if (r == rank) own = roots, count = last - first;
    }
    return count * stair_sum_stride(sum) + stack + (own + 1) * sum->size + all * mine;
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
    return stair_parallel_own(context, last - first, sum_unit, &job);
}

void stair_sum_combine(const stair_sum *sum, size_t units, double *partial, double *out)
{
    size_t stride = stair_sum_stride(sum);
    for (size_t step = 1; step < units; step *= 2)
        for (size_t u = 0; u + step < units; u += 2 * step)
            add(sum->size, partial + (u + step) * stride, partial + u * stride);
    if (units)
        memcpy(out, partial, sum->size * sizeof *out);
    else
        memset(out, 0, sum->size * sizeof *out);
}

/* ---- ranks ---------------------------------------------------------------------------------------- */

typedef struct {
    size_t units;
    size_t *cut;       /* (ranks + 1): units of each rank */
    size_t *to, *from; /* (ranks): bytes */
    size_t *place;     /* (units): of a root among all roots */
} shares;

/* Few numbers: every rank hears all units and adds them up. */
static stair_status share_small(stair_context *context, const stair_sum *sum, const shares *s,
                                stair_status status, double *partial, double *out)
{
    for (int r = 0; r < stair_context_ranks(context); r++)
        s->to[r] = (s->cut[r + 1] - s->cut[r]) * stair_sum_stride(sum) * sizeof *out;
    STAIR_TRY(stair_ranks_gather(context, status, s->to, partial, -1));
    stair_sum_combine(sum, s->units, partial, out);
    return STAIR_OK;
}

/* The nodes that units first .. last-1 have whole; partial begins with unit `first`. */
static void add_own(const stair_sum *sum, size_t units, size_t first, size_t last, double *partial)
{
    size_t stride = stair_sum_stride(sum);
    for (size_t step = 1; step < units; step *= 2)
        for (size_t u = (first + 2 * step - 1) / (2 * step) * (2 * step); u + step < last; u += 2 * step)
            if (holds(units, first, last, u, step))
                add(sum->size, partial + (u + step - first) * stride, partial + (u - first) * stride);
}

/* The others: roots (all of them, size) become the total, in its first row. */
static void add_rest(int ranks, const shares *s, size_t size, double *roots)
{
    for (size_t step = 1; step < s->units; step *= 2) {
        int r = 0; /* whose unit u is */
        for (size_t u = 0; u + step < s->units; u += 2 * step) {
            while (r < ranks - 1 && s->cut[r + 1] <= u) r++;
            if (!holds(s->units, s->cut[r], s->cut[r + 1], u, step))
                add(size, roots + s->place[u + step] * size, roots + s->place[u] * size);
        }
    }
}

/* Many: every rank adds up what it can, then its stretch of the entries of all roots, and hears the other
 * stretches. */
static stair_status share_large(stair_context *context, const stair_sum *sum, const shares *s,
                                stair_status status, double *partial, double *room, double *out)
{
    int ranks = stair_context_ranks(context), rank = stair_context_rank(context);
    size_t first = s->cut[rank], last = s->cut[rank + 1], stride = stair_sum_stride(sum), roots = 0, own = 0;
    size_t at = stretch(sum, rank, ranks), mine = stretch(sum, rank + 1, ranks) - at;
    for (int r = 0; r < ranks; r++) {
        size_t before = roots;
        for (size_t u = s->cut[r]; u < s->cut[r + 1]; u++) {
            s->place[u] = roots;
            roots += is_root(s->units, s->cut[r], s->cut[r + 1], u);
        }
        s->from[r] = (roots - before) * mine * sizeof *out;
        if (r == rank) own = roots - before;
    }
    if (status == STAIR_OK) add_own(sum, s->units, first, last, partial);
    double *send = room, *received = send + own * sum->size, *total = received + roots * mine, *next = send;
    for (int r = 0; r < ranks; r++) {
        size_t from = stretch(sum, r, ranks), size = stretch(sum, r + 1, ranks) - from;
        for (size_t u = first; status == STAIR_OK && u < last; u++) {
            if (!is_root(s->units, first, last, u)) continue;
            memcpy(next, partial + (u - first) * stride + from, size * sizeof *next);
            next += size;
        }
        s->to[r] = own * size * sizeof *next;
    }
    STAIR_TRY(stair_ranks_exchange(context, status, s->to, send, s->from, received));
    add_rest(ranks, s, mine, received);
    if (s->units)
        memcpy(total + at, received, mine * sizeof *total);
    else
        memset(total + at, 0, mine * sizeof *total);
    for (int r = 0; r < ranks; r++)
        s->to[r] = (stretch(sum, r + 1, ranks) - stretch(sum, r, ranks)) * sizeof *total;
    STAIR_TRY(stair_ranks_gather(context, STAIR_OK, s->to, total, -1));
    memcpy(out, total, sum->size * sizeof *out);
    return STAIR_OK;
}

static stair_status sum_on_ranks(stair_context *context, const stair_sum *sum, stair_sum_body *body,
                                 void *user, double *room, double *out)
{
    size_t units = units_here(context, sum), ranks = (size_t)stair_context_ranks(context);
    size_t rank = (size_t)stair_context_rank(context), stride = stair_sum_stride(sum);
    size_t *memory = calloc(3 * ranks + 1 + units, sizeof *memory);
    if (!memory) return stair_ranks_check(context, stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    shares s = {units, memory, memory + ranks + 1, memory + 2 * ranks + 1, memory + 3 * ranks + 1};
    stair_ranks_cut(context, units, s.cut);
    size_t first = s.cut[rank], last = s.cut[rank + 1];
    bool small = is_small(sum, units);
    double *stack = room + (small ? units : last - first) * stride;
    double *partial = small ? room + first * stride : room;
    stair_status status = stair_sum_range(context, sum, units, first, last, body, user, stack, partial);
    status = small ? share_small(context, sum, &s, status, room, out)
                   : share_large(context, sum, &s, status, partial,
                                 stack + stair_sum_stack(context, sum, units), out);
    free(memory);
    return status;
}

stair_status stair_sum_blocks(stair_context *context, const stair_sum *sum, stair_sum_body *body, void *user,
                              double *room, double *out)
{
    size_t units = units_here(context, sum);
    double *own = room ? NULL : malloc((stair_sum_room(context, sum) + 1) * sizeof *own);
    double *partial = room ? room : own;
    if (!partial) return stair_ranks_check(context, stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    stair_status status = STAIR_OK;
    if (stair_ranks_many(context))
        status = sum_on_ranks(context, sum, body, user, partial, out);
    else {
        status = stair_sum_range(context, sum, units, 0, units, body, user,
                                 partial + units * stair_sum_stride(sum), partial);
        if (status == STAIR_OK) stair_sum_combine(sum, units, partial, out);
    }
    free(own);
    return status;
}
