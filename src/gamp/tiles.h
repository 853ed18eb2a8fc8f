/* X in tiles of samples that fit a processor's own cache: stored, mapped, or drawn again when needed.
 *
 * A tile is read from memory once, projected, and read a second time out of the cache when X^T g is
 * accumulated.  Tile and block sizes follow from the shape of X alone, so sums have one order. */
#ifndef STAIR_GAMP_TILES_H
#define STAIR_GAMP_TILES_H

#include "core/context.h"
#include "core/products.h"

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

/* Products with its rows: z and c are (n*M, P). */
stair_products stair_tile_products(const stair_tiles *tiles, int indices);

/* Writes all of X into memory: out (N, M, D) of the element type. */
stair_status stair_tiles_draw(stair_context *context, const stair_tiles *tiles, void *out);

#endif
