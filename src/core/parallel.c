/* Blocks handed to threads: a run of neighbours for each, so that what one fetches ahead is its own,
 * and the last of another's run for whoever has finished.
 *
 * Every block below the lowest failing one is always run, so which error is reported does not
 * depend on timing.  Each thread has a context of its own; the winner's message is copied back. */
#include "core/parallel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/pool.h"
#include "core/ranks.h"

/* Blocks first .. last-1 that are still to be run. */
typedef struct {
    uint32_t first, last;
} run;

typedef struct {
    stair_parallel_body *body;
    void *user;
    size_t blocks;
    int width;
    bool deaf;            /* to requests to stop */
    _Atomic run *runs;    /* per thread */
    atomic_size_t failed; /* lowest failing block so far */
    atomic_size_t done;
} job;

typedef struct {
    job *shared;
    int thread;
    stair_context local;
    size_t failed;
    stair_status status;
} worker;

static void run_block(worker *self, size_t block)
{
    job *shared = self->shared;
    if (block > atomic_load(&shared->failed)) return;
    stair_status status = shared->body(shared->user, block, self->thread, &self->local);
    if (status == STAIR_OK) return;
    if (block < self->failed) {
        self->failed = block;
        self->status = status;
    }
    size_t lowest = atomic_load(&shared->failed);
    while (block < lowest && !atomic_compare_exchange_weak(&shared->failed, &lowest, block)) {
    }
}

/* The first block of a thread's own run, or the last of another's. */
static bool take(_Atomic run *from, bool own, size_t *block)
{
    run now = atomic_load(from);
    while (now.first < now.last) {
        run less = {now.first + own, now.last - !own};
        if (atomic_compare_exchange_weak(from, &now, less)) {
            *block = own ? now.first : less.last;
            return true;
        }
    }
    return false;
}

static bool next_block(const worker *self, size_t *block)
{
    const job *shared = self->shared;
    for (int t = 0; t < shared->width; t++)
        if (take(&shared->runs[(self->thread + t) % shared->width], t == 0, block)) return true;
    return false;
}

static void *work(void *argument)
{
    worker *self = argument;
    for (size_t block; next_block(self, &block);) {
        run_block(self, block);
        size_t done = atomic_fetch_add(&self->shared->done, 1) + 1;
        /* only the calling thread carries a progress callback */
        if (!stair_context_progress(&self->local, (double)done, (double)self->shared->blocks) &&
            !self->shared->deaf) {
            if (self->failed > block) {
                self->failed = block;
                self->status = stair_fail(&self->local, STAIR_FAILED, "stopped on request");
            }
            atomic_store(&self->shared->failed, 0);
            return NULL;
        }
    }
    return NULL;
}

int stair_parallel_width(const stair_context *context, size_t blocks)
{
    size_t width = (size_t)context->threads < blocks ? (size_t)context->threads : blocks;
    return width < 1 ? 1 : (int)width;
}

/* All workers but the first, on threads of the pool or on new ones; how many: fewer will do. */
static int start_others(stair_pool *pool, int width, worker *workers, stair_thread *threads)
{
    int started = 0;
    if (pool && width > 1) return stair_pool_start(pool, width - 1, work, workers + 1, sizeof *workers);
    while (started < width - 1 && stair_thread_start(&threads[started + 1], work, &workers[started + 1]))
        started++;
    return started;
}

static stair_status run_all(stair_context *context, size_t blocks, stair_parallel_body *body, void *user,
                            bool deaf)
{
    int width = stair_parallel_width(context, blocks);
    worker *workers = calloc((size_t)width, sizeof *workers);
    stair_thread *threads = calloc((size_t)width, sizeof *threads);
    _Atomic run *runs = calloc((size_t)width, sizeof *runs);
    if (!workers || !threads || !runs) {
        free(workers);
        free(threads);
        free(runs);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    job shared = {.body = body, .user = user, .blocks = blocks, .width = width, .deaf = deaf, .runs = runs};
    atomic_init(&shared.failed, SIZE_MAX);
    for (int t = 0; t < width; t++)
        atomic_init(&runs[t], ((run){(uint32_t)(blocks * (size_t)t / (size_t)width),
                                     (uint32_t)(blocks * ((size_t)t + 1) / (size_t)width)}));

    int started = 1;
    for (int t = 0; t < width; t++)
        workers[t] =
            (worker){.shared = &shared,
                     .thread = t,
                     .failed = SIZE_MAX,
                     .local = {.threads = 1, .backend = context->backend, .device = context->device}};
    workers[0].local.progress = context->progress;
    workers[0].local.progress_user = context->progress_user;
    started += start_others(context->pool, width, workers, threads);
    work(&workers[0]);
    if (context->pool) stair_pool_finish(context->pool, started - 1);
    for (int t = 1; t < started && !context->pool; t++) stair_thread_join(&threads[t]);

    int first = 0;
    for (int t = 1; t < started; t++)
        if (workers[t].failed < workers[first].failed) first = t;
    stair_status status = STAIR_OK;
    if (workers[first].failed != SIZE_MAX)
        status = stair_fail(context, workers[first].status, "%s", workers[first].local.message);
    free(workers);
    free(threads);
    free(runs);
    return status;
}

stair_status stair_parallel(stair_context *context, size_t blocks, stair_parallel_body *body, void *user)
{
    return run_all(context, blocks, body, user, stair_ranks_many(context));
}

stair_status stair_parallel_own(stair_context *context, size_t blocks, stair_parallel_body *body, void *user)
{
    return run_all(context, blocks, body, user, false);
}

typedef struct {
    stair_parallel_body *body;
    void *user;
    size_t first;
} range_job;

static stair_status range_block(void *user, size_t block, int thread, stair_context *local)
{
    const range_job *range = user;
    return range->body(range->user, range->first + block, thread, local);
}

stair_status stair_parallel_range(stair_context *context, size_t first, size_t last,
                                  stair_parallel_body *body, void *user)
{
    range_job range = {body, user, first};
    return stair_parallel_own(context, last - first, range_block, &range);
}
