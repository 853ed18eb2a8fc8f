/* X in tiles of samples that fit a processor's own cache: stored, mapped, or drawn again when needed.
 *
 * A tile is read from memory once, projected, and read a second time out of the cache when X^T g is
 * accumulated.  Tile and block sizes follow from the shape of X alone, so sums have one order. */
#ifndef STAIR_GAMP_TILES_H
#define STAIR_GAMP_TILES_H

#include "core/context.h"

#define STAIR_GAMP_BLOCKS 32 /* parts of the samples, each with its own accumulator */

typedef struct {
    int dim, tokens;
    size_t samples;
    bool single;          /* elements are float */
    const void *x;        /* (N, M, D), or NULL: drawn */
    uint64_t seed, first; /* drawn: sample i is number first + i */
} stair_tiles;

size_t stair_tile_samples(const stair_tiles *tiles); /* of one tile */
size_t stair_tile_bytes(const stair_tiles *tiles);   /* of one tile */

/* Samples [lo, hi) of block b. */
void stair_block_range(const stair_tiles *tiles, size_t b, size_t *lo, size_t *hi);

/* Samples first .. first+n-1; `room` (stair_tile_bytes) is used when they have to be drawn. */
const void *stair_tile_open(const stair_tiles *tiles, size_t first, size_t n, void *room);

/* w (P, D) in the element type of x, to be freed; NULL without memory. */
void *stair_tile_weights(const stair_tiles *tiles, int indices, const double *w);

/* z (n*M, P) = x w^T for w from stair_tile_weights(). */
void stair_tile_project(const stair_tiles *tiles, const void *x, size_t n, int indices, const void *w,
                        double *z);

/* Sums of X^T c: of the last rows in the element type of X, of all before in double. */
#define STAIR_TILE_ROWS 128 /* most rows added in the element type */
typedef struct {
    void *part;  /* (P, D) */
    size_t rows; /* in `part` */
    double *sum; /* (P, D), the caller's */
} stair_tile_sum;

/* Zeroes sum->part and sum->sum. */
void stair_tile_sum_clear(const stair_tiles *tiles, int indices, stair_tile_sum *sum);
/* Adds c^T x for c (n*M, P). */
void stair_tile_collect(const stair_tiles *tiles, const void *x, size_t n, int indices, const double *c,
                        stair_tile_sum *sum);
/* Leaves all of it in sum->sum. */
void stair_tile_flush(const stair_tiles *tiles, int indices, stair_tile_sum *sum);

/* Memory for X, in large pages where the system has them: a walk down the rows of a tile then stays within
 * few. */
void *stair_tiles_memory(size_t bytes);

/* Writes all of X into memory: out (N, M, D) of the element type. */
stair_status stair_tiles_draw(stair_context *context, const stair_tiles *tiles, void *out);

#endif
