/* X in tiles of samples that fit a processor's own cache: stored, mapped, or drawn again when needed.
 *
 * A tile is read from memory once, projected, and read a second time out of the cache when X^T g is
 * accumulated.  Samples are cut into STAIR_GAMP_PARTS parts, and these, where there are very many samples,
 * into 2^k blocks each.  Tiles and blocks follow from the shape of X alone, so sums have one order. */
#ifndef STAIR_GAMP_TILES_H
#define STAIR_GAMP_TILES_H

#include "core/products.h"
#include "core/ranks.h"
#include "core/reduce.h"
#include "stair_gamp.h"

/* These fix the order of sums: another value gives other last digits. */
#define STAIR_GAMP_PARTS   32   /* of the samples */
#define STAIR_GAMP_SAMPLES 4096 /* most of a block: a part of more samples is cut into 2^k blocks */

typedef struct stair_tiles {
    int dim, tokens;
    size_t samples;
    bool single;                  /* elements are float */
    const void *x;                /* (N, M, D) from sample `held` on, or NULL: drawn */
    const stair_gamp_part *parts; /* (part_count) where X is in several places, x is one of them; or NULL */
    size_t part_count;
    size_t held;                     /* 0, or the first of this rank's samples where it holds no others */
    uint64_t seed, first;            /* drawn: sample i is number first + i */
    size_t most;                     /* samples of a block, 0: STAIR_GAMP_SAMPLES; tests make it small */
    struct stair_resident *resident; /* the same X on a device (core/backend.h), or NULL */
} stair_tiles;

size_t stair_tile_samples(const stair_tiles *tiles); /* of one tile */
size_t stair_tile_bytes(const stair_tiles *tiles);   /* of one tile */
size_t stair_tile_room(const stair_tiles *tiles);    /* the same, or 0 where no tile needs room */

/* How sums of `size` doubles over all samples are made: parts, and levels of blocks in them. */
stair_sum stair_tiles_sum(const stair_tiles *tiles, size_t size);
size_t stair_tiles_blocks(const stair_tiles *tiles);
/* Samples [lo, hi) of block b. */
void stair_block_range(const stair_tiles *tiles, size_t b, size_t *lo, size_t *hi);

/* Samples first .. first+n-1, at most those of a tile where they do not all lie in one place; `room`
 * (stair_tile_room) is used when they have to be drawn or brought together. */
const void *stair_tile_open(const stair_tiles *tiles, size_t first, size_t n, void *room);

/* Where samples from `first` on lie, of X that is not drawn: *here of n, as many as lie in one place. */
const void *stair_tiles_run(const stair_tiles *tiles, size_t first, size_t n, size_t *here);

/* w (P, D) in the element type of x, to be freed; NULL without memory. */
void *stair_tile_weights(const stair_tiles *tiles, int indices, const double *w);

/* Products with its rows: z and c are (n*M, P). */
stair_products stair_tile_products(const stair_tiles *tiles, int indices);

/* Writes this rank's samples into memory: all of X, out (N, M, D) of the element type, without ranks. */
stair_status stair_tiles_draw(stair_context *context, const stair_tiles *tiles, void *out);

/* ---- ranks: each has a run of the blocks of a sum, and only their samples --------------------------- */

/* Samples [lo, hi) of this rank: all without ranks. */
void stair_tiles_own(const stair_context *context, const stair_tiles *tiles, size_t *lo, size_t *hi);
/* stair_parallel over this rank's blocks; then all hear how it went. */
stair_status stair_tiles_parallel(stair_context *context, const stair_tiles *tiles, stair_parallel_body *body,
                                  void *user);
/* array (N, bytes), of which each rank has filled its samples: whole at rank `root`, or at all (root < 0). */
stair_status stair_tiles_gather(stair_context *context, const stair_tiles *tiles, size_t bytes, void *array,
                                int root);
/* The same for array (blocks, bytes). */
stair_status stair_tiles_gather_blocks(stair_context *context, const stair_tiles *tiles, size_t bytes,
                                       void *array);

#endif
