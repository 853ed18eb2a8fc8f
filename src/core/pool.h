/* Threads that wait for work, of one context: what runs in pieces of a millisecond cannot start them anew
 * each time.  They are started when they are first asked for. */
#ifndef STAIR_CORE_POOL_H
#define STAIR_CORE_POOL_H

#include <stddef.h>

#include "core/thread.h"

typedef struct stair_pool stair_pool;

stair_pool *stair_pool_create(void); /* NULL: out of memory */
void stair_pool_destroy(stair_pool *pool);

/* Begins body(arguments + k * size), k = 0 .. count-1, each on a thread of its own, as far as the system has
 * them; returns how many.  None where the pool is at work already.  stair_pool_finish waits for all of them
 * and comes before the next start, from the same caller. */
int stair_pool_start(stair_pool *pool, int count, stair_thread_body *body, void *arguments, size_t size);
void stair_pool_finish(stair_pool *pool, int started);

#endif
