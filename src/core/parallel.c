/* Blocks handed to POSIX threads through one atomic counter.
 *
 * Every block below the lowest failing one is always run, so which error is reported does not
 * depend on timing.  Each thread has a context of its own; the winner's message is copied back. */
#include "core/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    stair_parallel_body *body;
    void *user;
    size_t blocks;
    atomic_size_t next;
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
    while (block < lowest && !atomic_compare_exchange_weak(&shared->failed, &lowest, block)) {}
}

static void *work(void *argument)
{
    worker *self = argument;
    for (;;) {
        size_t block = atomic_fetch_add(&self->shared->next, 1);
        if (block >= self->shared->blocks) return NULL;
        run_block(self, block);
        size_t done = atomic_fetch_add(&self->shared->done, 1) + 1;
        /* only the calling thread carries a progress callback */
        if (!stair_context_progress(&self->local, (double)done, (double)self->shared->blocks)) {
            if (self->failed > block) {
                self->failed = block;
                self->status = stair_fail(&self->local, STAIR_FAILED, "stopped on request");
            }
            atomic_store(&self->shared->failed, 0);
            return NULL;
        }
    }
}

int stair_parallel_width(const stair_context *context, size_t blocks)
{
    size_t width = (size_t)context->threads < blocks ? (size_t)context->threads : blocks;
    return width < 1 ? 1 : (int)width;
}

stair_status stair_parallel(stair_context *context, size_t blocks, stair_parallel_body *body, void *user)
{
    int width = stair_parallel_width(context, blocks);
    worker *workers = calloc((size_t)width, sizeof *workers);
    pthread_t *threads = calloc((size_t)width, sizeof *threads);
    if (!workers || !threads) {
        free(workers);
        free(threads);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    job shared = {.body = body, .user = user, .blocks = blocks};
    atomic_init(&shared.failed, SIZE_MAX);

    int started = 1;
    for (int t = 0; t < width; t++)
        workers[t] = (worker){.shared = &shared, .thread = t, .failed = SIZE_MAX, .local = {.threads = 1}};
    workers[0].local.progress = context->progress;
    workers[0].local.progress_user = context->progress_user;
    for (int t = 1; t < width; t++, started++)
        if (pthread_create(&threads[t], NULL, work, &workers[t])) break; /* fewer threads will do */
    work(&workers[0]);
    for (int t = 1; t < started; t++) pthread_join(threads[t], NULL);

    int first = 0;
    for (int t = 1; t < started; t++)
        if (workers[t].failed < workers[first].failed) first = t;
    stair_status status = STAIR_OK;
    if (workers[first].failed != SIZE_MAX)
        status = stair_fail(context, workers[first].status, "%s", workers[first].local.message);
    free(workers);
    free(threads);
    return status;
}
