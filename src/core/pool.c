/* A piece of work is often over within a tenth of a millisecond, and to wake a thread takes as long.  So who
 * waits first watches an atomic for a while, and sleeps only then; where there are more threads than cores it
 * sleeps at once.  Each member has a ticket: the round it is to take part in.  Tickets and the count of
 * sleepers are written in one order and read in the other, so that either the sleeper sees its ticket or the
 * caller sees the sleeper. */
#include "core/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/cores.h"

static const struct {
    double watch; /* seconds before a thread that waits goes to sleep: gaps between rounds are shorter */
    int looks;    /* at the atomic, between two at the clock */
} tuning = {.watch = 100e-6, .looks = 64};

typedef struct {
    stair_pool *pool;
    int number;
    atomic_uint ticket;
    unsigned seen; /* the last one that it knows of */
    stair_thread thread;
} member;

struct stair_pool {
    long process; /* whose threads they are */
    stair_lock lock;
    stair_signal wake, idle;
    member **members; /* they keep their address when there are more */
    int count, cores;
    unsigned round;     /* of work */
    atomic_int running; /* members that are not done with it */
    atomic_int asleep;
    atomic_bool ends, crowded; /* crowded: more threads than cores */
    bool busy;
    stair_thread_body *body;
    char *arguments;
    size_t size;
};

static bool is_called(const member *self)
{
    return atomic_load(&self->ticket) != self->seen || atomic_load(&self->pool->ends);
}

static bool is_idle(const stair_pool *pool)
{
    return atomic_load(&pool->running) == 0;
}

/* Looks for a while whether a member is called, or, without one, all are done. */
static bool watch(const stair_pool *pool, const member *self)
{
    if (atomic_load(&pool->crowded)) return false;
    for (double end = stair_seconds() + tuning.watch; stair_seconds() < end;)
        for (int k = 0; k < tuning.looks; k++) {
            if (self ? is_called(self) : is_idle(pool)) return true;
            stair_thread_pause();
        }
    return false;
}

static void wait_for_call(member *self)
{
    stair_pool *pool = self->pool;
    if (is_called(self) || watch(pool, self)) return;
    stair_lock_take(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    while (!is_called(self)) stair_signal_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->asleep, 1);
    stair_lock_release(&pool->lock);
}

static void *wait_and_work(void *argument)
{
    member *self = argument;
    stair_pool *pool = self->pool;
    for (;;) {
        wait_for_call(self);
        if (atomic_load(&pool->ends)) return NULL;
        self->seen = atomic_load(&self->ticket);
        pool->body(pool->arguments + (size_t)self->number * pool->size);
        if (atomic_fetch_sub(&pool->running, 1) > 1) continue;
        stair_lock_take(&pool->lock);
        stair_signal_all(&pool->idle);
        stair_lock_release(&pool->lock);
    }
}

static void begin(stair_pool *pool)
{
    *pool = (stair_pool){.process = stair_process(), .cores = stair_cores()};
    stair_lock_create(&pool->lock);
    stair_signal_create(&pool->wake);
    stair_signal_create(&pool->idle);
    atomic_init(&pool->running, 0);
    atomic_init(&pool->asleep, 0);
    atomic_init(&pool->ends, false);
    atomic_init(&pool->crowded, false);
}

stair_pool *stair_pool_create(void)
{
    stair_pool *pool = malloc(sizeof *pool);
    if (pool) begin(pool);
    return pool;
}

/* After a fork members are threads of another process: they are forgotten, with their memory. */
static void begin_after_fork(stair_pool *pool)
{
    if (pool->process != stair_process()) begin(pool);
}

static void wake_sleepers(stair_pool *pool)
{
    if (!atomic_load(&pool->asleep)) return;
    stair_lock_take(&pool->lock);
    stair_signal_all(&pool->wake);
    stair_lock_release(&pool->lock);
}

void stair_pool_destroy(stair_pool *pool)
{
    if (!pool) return;
    begin_after_fork(pool);
    atomic_store(&pool->ends, true);
    wake_sleepers(pool);
    for (int k = 0; k < pool->count; k++) {
        stair_thread_join(&pool->members[k]->thread);
        free(pool->members[k]);
    }
    free(pool->members);
    stair_signal_destroy(&pool->wake);
    stair_signal_destroy(&pool->idle);
    stair_lock_destroy(&pool->lock);
    free(pool);
}

/* One more member; false when there is none to be had. */
static bool grow(stair_pool *pool)
{
    member **more = realloc(pool->members, (size_t)(pool->count + 1) * sizeof *more);
    if (!more) return false;
    pool->members = more;
    member *one = malloc(sizeof *one);
    if (!one) return false;
    *one = (member){.pool = pool, .number = pool->count, .seen = pool->round};
    atomic_init(&one->ticket, pool->round);
    if (!stair_thread_start(&one->thread, wait_and_work, one)) {
        free(one);
        return false;
    }
    pool->members[pool->count++] = one;
    if (pool->count >= pool->cores) atomic_store(&pool->crowded, true); /* the caller is one, too */
    return true;
}

/* Whether the caller has the pool to itself. */
static bool take(stair_pool *pool)
{
    stair_lock_take(&pool->lock);
    bool mine = !pool->busy;
    pool->busy = true;
    stair_lock_release(&pool->lock);
    return mine;
}

static void give(stair_pool *pool)
{
    stair_lock_take(&pool->lock);
    pool->busy = false;
    stair_lock_release(&pool->lock);
}

int stair_pool_start(stair_pool *pool, int count, stair_thread_body *body, void *arguments, size_t size)
{
    begin_after_fork(pool);
    if (count < 1 || !take(pool)) return 0;
    while (pool->count < count && grow(pool)) {
    }
    if (count > pool->count) count = pool->count;
    if (count == 0) {
        give(pool);
        return 0;
    }
    pool->body = body;
    pool->arguments = arguments;
    pool->size = size;
    pool->round++;
    atomic_store(&pool->running, count);
    for (int k = 0; k < count; k++) atomic_store(&pool->members[k]->ticket, pool->round);
    wake_sleepers(pool);
    return count;
}

void stair_pool_finish(stair_pool *pool, int started)
{
    if (!started) return;
    if (!is_idle(pool) && !watch(pool, NULL)) {
        stair_lock_take(&pool->lock);
        while (!is_idle(pool)) stair_signal_wait(&pool->idle, &pool->lock);
        stair_lock_release(&pool->lock);
    }
    give(pool);
}
