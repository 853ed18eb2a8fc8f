/* Ordered block sums: the one place where what threads and ranks computed is added up.
 *
 * `parts` parts of 2^levels blocks each are the leaves of one binary tree: neighbours are added pairwise,
 *
 *   ((block 0 + block 1) + (block 2 + block 3)) + ... ,
 *
 * and what has no neighbour at some level goes up as it is.  The order depends on the number of blocks alone,
 * so the bytes of a sum do not depend on who computed what.
 *
 * Work is handed out in units, subtrees of equal depth: as many as keep all workers busy, never more than
 * there are blocks.  A worker goes through the blocks of a unit with one partial sum per level, so memory
 * grows with the number of workers, not with that of blocks.
 *
 * Several ranks (core/ranks.h) share a sum like this, and get the same bytes as one:
 *   1. all of them take   units = stair_sum_units(sum, threads of all ranks);
 *   2. each calls         stair_sum_range  for its run of units, on its own threads;
 *   3. small sums: the units are gathered, and every rank calls  stair_sum_combine  on all of them;
 *      large ones: a rank adds up the subtrees that it has whole, rank r gets the r-th stretch of entries of
 *      what is left of all ranks, goes on with these in the same order, and the stretches of the total are
 *      gathered.  On 2^k equal ranks each sends one sum and one stretch of the total.
 */
#ifndef STAIR_CORE_REDUCE_H
#define STAIR_CORE_REDUCE_H

#include "core/context.h"

typedef struct {
    size_t parts; /* as many blocks, */
    int levels;   /* times 2^levels */
    size_t size;  /* doubles of a sum */
} stair_sum;

/* Fills `out` (size) with what block `block` of parts * 2^levels has to add; `thread` tells which scratch to
 * use, below stair_parallel_width(context, stair_sum_units(sum, threads)). */
typedef stair_status stair_sum_body(void *user, size_t block, int thread, stair_context *local, double *out);

/* out (size): the sum over all blocks.  room: stair_sum_room() doubles, or NULL to have them allocated for
 * this call.  When a block fails, its status (the first in order) is returned and `out` is left as it was. */
stair_status stair_sum_blocks(stair_context *context, const stair_sum *sum, stair_sum_body *body, void *user,
                              double *room, double *out);
size_t stair_sum_room(const stair_context *context, const stair_sum *sum);
int stair_sum_width(const stair_context *context, const stair_sum *sum); /* threads that take part */

/* ---- the steps, for whoever shares a sum between ranks ---------------------------------------- */

size_t stair_sum_units(const stair_sum *sum, size_t workers); /* parts * 2^k, k <= levels */
size_t stair_sum_stride(const stair_sum *sum); /* doubles from one partial sum to the next; at least size */

/* partial (last - first, stride): the sums of units first .. last-1 of `units`.  room: stair_sum_stack()
 * doubles. */
stair_status stair_sum_range(stair_context *context, const stair_sum *sum, size_t units, size_t first,
                             size_t last, stair_sum_body *body, void *user, double *room, double *partial);
size_t stair_sum_stack(const stair_context *context, const stair_sum *sum, size_t units);

/* out (size) from the partial sums of all units, (units, stride), which are overwritten. */
void stair_sum_combine(const stair_sum *sum, size_t units, double *partial, double *out);

#endif
