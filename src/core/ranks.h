/* What a context with ranks shares: blocks of work, sums, points; and what all ranks agree on.
 *
 * Every collective step begins with a headline of each rank: what it is about to do, and whether all is well.
 * So a rank that failed alone, or was asked to stop, is heard of by all others at their next step, and nobody
 * waits for one that has gone.  From then on the link is over: further steps fail at once.
 *
 * Contexts of threads have no ranks, so what runs inside a block never waits for another rank. */
#ifndef STAIR_CORE_RANKS_H
#define STAIR_CORE_RANKS_H

#include "core/parallel.h"

/* What blocks of one kind of work cost, as all ranks have measured it together. */
typedef struct {
    stair_parallel_body *body;
    double seconds; /* of a block */
    int calls;      /* since that was measured */
} stair_block_cost;

enum { STAIR_BLOCK_KINDS = 32 }; /* of work whose cost is remembered; there are about ten */

struct stair_ranks_link {
    stair_ranks is;
    int *threads;    /* (size): of each rank */
    size_t *bytes;   /* (size): room for what each has to tell */
    int all_threads; /* of all */
    stair_block_cost costs[STAIR_BLOCK_KINDS];
    double spent;        /* on the blocks of the step to come, by this rank; after it by all */
    bool over;           /* a rank has left */
    bool stopping;       /* a step has failed: what is left to do is not interrupted */
    stair_status status; /* of the last step: that of the first rank that was not well, */
    int signal;          /* and the signal that one of them caught */
    char message[512];
};

/* More than one rank takes part. */
bool stair_ranks_many(const stair_context *context);
bool stair_ranks_first(const stair_context *context);  /* rank 0, or there are none: who writes files */
int stair_ranks_threads(const stair_context *context); /* of all ranks */

/* count things cut into one run for each rank, as long as its threads are many: rank r has cut[r] ..
 * cut[r+1]-1. */
void stair_ranks_cut(const stair_context *context, size_t count, size_t *cut); /* (ranks + 1) */
/* One rank's, where there are ranks; this rank's. */
void stair_ranks_run(const stair_context *context, size_t count, int rank, size_t *first, size_t *last);
void stair_ranks_mine(const stair_context *context, size_t count, size_t *first, size_t *last);

/* The status and message of the first rank that does not bring STAIR_OK, for all. */
stair_status stair_ranks_check(stair_context *context, stair_status status);

/* For the context itself: threads where none were chosen, telling all of them, the end. */
int stair_ranks_own_threads(const stair_context *context);
stair_status stair_ranks_weigh(stair_context *context);
void stair_ranks_free(stair_context *context);

/* As stair_ranks_check; if all is well, bytes (ranks) of each rank, behind each other in `all`, are gathered
 * at every rank (root < 0) or at one. */
stair_status stair_ranks_gather(stair_context *context, stair_status status, const size_t *bytes, void *all,
                                int root);
/* The same for parts that each rank has for each other; there have to be ranks. */
stair_status stair_ranks_exchange(stair_context *context, stair_status status, const size_t *to,
                                  const void *send, const size_t *from, void *receive);
/* data (bytes) of rank 0 for all; without ranks nothing. */
stair_status stair_ranks_copy(stair_context *context, stair_status status, void *data, size_t bytes);
/* value: the sum over ranks, in their order. */
stair_status stair_ranks_total(stair_context *context, double *value);

/* An array that blocks of work fill: block b its bytes b * each .. (b+1) * each - 1, as far as there are
 * `size` of them. */
typedef struct {
    void *array;
    size_t each, size;
} stair_filled;

/* stair_parallel whose blocks are shared by ranks; `arrays` are all that they write, and whole on every rank
 * afterwards.  What costs less than telling each other every rank runs by itself. */
stair_status stair_parallel_shared(stair_context *context, size_t blocks, stair_parallel_body *body,
                                   void *user, const stair_filled *arrays, int count);

/* Points of unequal cost, each done by one rank, whoever is free next.  body: with a context that has no
 * ranks; `wide`: one point at a time on all threads of the rank, else a point on each.  pack: what a point
 * left behind as bytes, malloc'ed; unpack: the same on the other ranks.  Without ranks stair_parallel, or
 * one point after the other. */
typedef struct {
    size_t points;
    bool wide;
    stair_parallel_body *body;
    stair_status (*pack)(void *user, size_t point, stair_context *local, void **bytes, size_t *size);
    stair_status (*unpack)(void *user, size_t point, stair_context *local, const void *bytes, size_t size);
} stair_points_shared;
stair_status stair_share_points(stair_context *context, const stair_points_shared *how, void *user);

#endif
