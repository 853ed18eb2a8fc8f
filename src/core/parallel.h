/* The one thread primitive. */
#ifndef STAIR_CORE_PARALLEL_H
#define STAIR_CORE_PARALLEL_H

#include "core/context.h"

/* Calls body(user, block, thread) for block = 0 .. blocks-1 (fewer than 2^32), each once, on the context's
 * threads; thread < stair_parallel_width() tells which scratch to use.  Blocks run in any order, though
 * mostly one after its neighbour on one thread, so a body writes only what belongs to its block; whoever sums
 * does it afterwards in block order, which is why results do not depend on the number of threads.  Returns
 * the status of the first failing block in index order, with its message on the context; blocks after a
 * failure may be skipped. */
typedef stair_status stair_parallel_body(void *user, size_t block, int thread, stair_context *local);

stair_status stair_parallel(stair_context *context, size_t blocks, stair_parallel_body *body, void *user);
/* With ranks (core/ranks.h) every rank runs all blocks, and is not stopped on request: that would stop one of
 * them alone.  For blocks that are this rank's own, and after which all ranks hear how it went: */
stair_status stair_parallel_own(stair_context *context, size_t blocks, stair_parallel_body *body, void *user);
/* The same for blocks first .. last-1. */
stair_status stair_parallel_range(stair_context *context, size_t first, size_t last,
                                  stair_parallel_body *body, void *user);
int stair_parallel_width(const stair_context *context, size_t blocks);

/* count k / n, without overflow while n <= 2^32: where the k-th of n shares begins */
static inline size_t stair_share(size_t count, size_t k, size_t n)
{
    return count / n * k + count % n * k / n;
}

#endif
