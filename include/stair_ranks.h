/* Ranks: several processes, on one machine or many, that share the work of one request.
 *
 * Part of the interface of stair.h, which includes this file.  The library knows no MPI: it is handed the few
 * functions below (mpi/ has them for MPI) and calls them from a context that has ranks.  Every rank runs the
 * same program with the same arguments; results are the same bytes on every rank, for any number of them. */
#ifndef STAIR_H
#include "stair.h"
#endif
#ifndef STAIR_RANKS_H
#define STAIR_RANKS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int rank, size;
    int neighbours; /* ranks that may use the same processors, this one among them: they share the threads */
    void *user;
    /* Called by every rank, in the same order, from the thread that called the library.  False: a rank is
     * lost.
     *
     * gather: `all` has the parts of the ranks behind each other, bytes (size) each; every rank fills in its
     * own.  Afterwards rank `root` has them all, or every rank where root is below 0.
     * exchange: `send` has parts for each rank, to (size) bytes; `receive` gets one from each, from (size)
     * bytes. */
    bool (*gather)(void *user, const size_t *bytes, void *all, int root);
    bool (*exchange)(void *user, const size_t *to, const void *send, const size_t *from, void *receive);
    /* The number of a new section of points, called as the two above: 1, 2, 3, ... over all contexts. */
    uint64_t (*section)(void *user);
    /* Called by any thread of any rank at any time.  next: 0, 1, 2, ... of a section, each given away once,
     * or -1 after a stop.  stop: no rank gets another number; stopped: whether somebody asked for that. */
    int64_t (*next)(void *user, uint64_t section);
    void (*stop)(void *user, uint64_t section);
    bool (*stopped)(void *user, uint64_t section);
} stair_ranks;

/* All ranks call this at the same time; `ranks` is copied.  Calls with this context are then made by all
 * ranks together, with the same arguments.  Threads that were not chosen are divided among neighbours. */
stair_status stair_context_set_ranks(stair_context *context, const stair_ranks *ranks);
int stair_context_rank(const stair_context *context);  /* 0 without ranks */
int stair_context_ranks(const stair_context *context); /* 1 without ranks */

/* The end of a request: every rank tells how it went for it (and `signal`, the number of one it caught, or
 * 0), and all get the same answer: the status, message and signal of the first that failed.  Also ends the
 * waiting of the other ranks where one of them fails alone. */
stair_status stair_context_agree(stair_context *context, stair_status status, int *signal);

#ifdef __cplusplus
}
#endif
#endif
