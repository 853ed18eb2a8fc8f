/* Ranks that are threads of one process: the functions of stair_ranks over shared memory, for tests.
 *
 *   run_ranks(3, body, user);   calls body(&ranks, user) as ranks 0, 1 and 2 at the same time */
#ifndef STAIR_TESTS_THREAD_RANKS_H
#define STAIR_TESTS_THREAD_RANKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "stair.h"

enum { MOST_RANKS = 16 };

typedef struct {
    int size;
    pthread_barrier_t barrier;
    void *array[MOST_RANKS];
    const void *send[MOST_RANKS];
    const size_t *to[MOST_RANKS];
    pthread_mutex_t lock;
    uint64_t section;
    int64_t next;
    bool stopped;
} thread_team;

typedef struct {
    thread_team *team;
    int rank;
    void (*body)(const stair_ranks *ranks, void *user);
    void *user;
    uint64_t sections;
} thread_rank;

static bool team_gather(void *user, const size_t *bytes, void *all, int root)
{
    thread_rank *self = user;
    thread_team *team = self->team;
    team->array[self->rank] = all;
    pthread_barrier_wait(&team->barrier);
    size_t at = 0;
    for (int r = 0; r < team->size; at += bytes[r++])
        if (r != self->rank && bytes[r] && (root < 0 || root == self->rank))
            memcpy((char *)all + at, (char *)team->array[r] + at, bytes[r]);
    pthread_barrier_wait(&team->barrier);
    return true;
}

static bool team_exchange(void *user, const size_t *to, const void *send, const size_t *from, void *receive)
{
    thread_rank *self = user;
    thread_team *team = self->team;
    team->send[self->rank] = send;
    team->to[self->rank] = to;
    pthread_barrier_wait(&team->barrier);
    char *at = receive;
    for (int r = 0; r < team->size; at += from[r++]) {
        size_t before = 0;
        for (int k = 0; k < self->rank; k++) before += team->to[r][k];
        if (from[r]) memcpy(at, (const char *)team->send[r] + before, from[r]);
    }
    pthread_barrier_wait(&team->barrier);
    return true;
}

static uint64_t team_section(void *user)
{
    return ++((thread_rank *)user)->sections;
}

static int64_t team_next(void *user, uint64_t section)
{
    thread_team *team = ((thread_rank *)user)->team;
    pthread_mutex_lock(&team->lock);
    if (section > team->section) {
        team->section = section;
        team->next = 0;
        team->stopped = false;
    }
    int64_t number = team->stopped ? -1 : team->next++;
    pthread_mutex_unlock(&team->lock);
    return number;
}

static void team_stop(void *user, uint64_t section)
{
    thread_team *team = ((thread_rank *)user)->team;
    pthread_mutex_lock(&team->lock);
    if (section == team->section) team->stopped = true;
    pthread_mutex_unlock(&team->lock);
}

static bool team_stopped(void *user, uint64_t section)
{
    thread_team *team = ((thread_rank *)user)->team;
    pthread_mutex_lock(&team->lock);
    bool stopped = section == team->section && team->stopped;
    pthread_mutex_unlock(&team->lock);
    return stopped;
}

static void *thread_rank_run(void *argument)
{
    thread_rank *self = argument;
    stair_ranks ranks = {.rank = self->rank,
                         .size = self->team->size,
                         .neighbours = self->team->size,
                         .user = self,
                         .gather = team_gather,
                         .exchange = team_exchange,
                         .section = team_section,
                         .next = team_next,
                         .stop = team_stop,
                         .stopped = team_stopped};
    self->body(&ranks, self->user);
    return NULL;
}

static void run_ranks(int size, void (*body)(const stair_ranks *ranks, void *user), void *user)
{
    thread_team team = {.size = size};
    thread_rank self[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    pthread_barrier_init(&team.barrier, NULL, (unsigned)size);
    pthread_mutex_init(&team.lock, NULL);
    for (int r = 0; r < size; r++)
        self[r] = (thread_rank){.team = &team, .rank = r, .body = body, .user = user};
    for (int r = 1; r < size; r++) pthread_create(&threads[r], NULL, thread_rank_run, &self[r]);
    thread_rank_run(&self[0]);
    for (int r = 1; r < size; r++) pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_destroy(&team.lock);
}

#endif
