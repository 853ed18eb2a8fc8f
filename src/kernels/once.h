/* Who does what in a pass that reads X once (cuda/once.cu).
 *
 * Every block is on a multiprocessor of its own, and all of them are there at once.  Block b has the columns
 * of its slab, in groups of four, of all rows.  Bundles of a few samples go through a ring of slots in its
 * shared memory:
 *
 *   copy      a slot is filled as soon as it is free,
 *   project   the slab's part of X w^T of the sample; parts of all slabs are put where its owner finds them,
 *   denoise   block s mod B owns sample s: adds the parts, computes g, and publishes it,
 *   collect   when g has come, the slab's part of X^T g is added, and the slot is free.
 *
 * A number that crosses between blocks travels with the mark of its sample, eight bytes at once, so that who
 * reads it knows whether it has come.  Sums are in the order of samples and of slabs, whatever the timing. */
#ifndef STAIR_KERNELS_ONCE_H
#define STAIR_KERNELS_ONCE_H

#include "kernels/hd.h"

#define STAIR_ONCE_TOKENS  2   /* of a sample */
#define STAIR_ONCE_WIDE    192 /* groups of four columns that the collecting threads take side by side, */
#define STAIR_ONCE_MOST    3   /* and how many each of them takes at most */
#define STAIR_ONCE_RUN     32  /* samples that are added in float before they are in double */
#define STAIR_ONCE_WINDOW  4   /* samples whose g is looked for at once */
#define STAIR_ONCE_NARROW  144 /* groups of a slab up to which bundles are large */
#define STAIR_ONCE_LEAST   48  /* groups of a slab below which a pass is not worth its exchanges */
#define STAIR_ONCE_LETTERS 64  /* samples under way, at most: */
#define STAIR_ONCE_RING    52  /* those in the ring, the others in registers */
#define STAIR_ONCE_FEW     12  /* and below that copies do not cover the way of g */
#define STAIR_ONCE_NUMBERS 4   /* that cross for a sample: P of each token */

/* A number on its way between blocks. */
typedef struct {
    float value;
    uint32_t mark; /* 1 + number of the sample */
} stair_once_letter;

/* First group of the slab of block b of `blocks`. */
STAIR_HD size_t stair_once_slab(size_t groups, size_t blocks, size_t b)
{
    return groups / blocks * b + (b < groups % blocks ? b : groups % blocks);
}

/* Groups of the widest slab. */
STAIR_HD size_t stair_once_widest(size_t groups, size_t blocks)
{
    return (groups + blocks - 1) / blocks;
}

/* Bytes of a sample in the ring. */
STAIR_HD size_t stair_once_sample(size_t groups, size_t blocks)
{
    return STAIR_ONCE_TOKENS * 16 * stair_once_widest(groups, blocks);
}

/* Bytes of letters: parts of X w^T of every block, and g, of as many samples as can be under way. */
STAIR_HD size_t stair_once_bytes(size_t blocks)
{
    return (blocks + 1) * STAIR_ONCE_LETTERS * STAIR_ONCE_NUMBERS * sizeof(stair_once_letter);
}

#endif
