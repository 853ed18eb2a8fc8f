/* Who does what in the products with X: rows (N M) of stride `pitch` floats, padded with zeros to a multiple
 * of four.
 *
 *   project   z = X w^T: a warp has one token of PROJECT_ROWS samples, its lanes every 32nd group of four
 *             columns.  A lane adds in float over PROJECT_RUN groups, then in double; lanes are added by a
 *             butterfly.
 *   collect   b = X^T c: a thread has four columns and every row of a slice of the rows, in order; in float
 *             over COLLECT_RUN rows, then in double.  Slices are added in order.
 *
 * Order of sums follows from the shape alone. */
#ifndef STAIR_KERNELS_ROWS_H
#define STAIR_KERNELS_ROWS_H

#include "kernels/hd.h"
#include "kernels/normals.h"

#define STAIR_PROJECT_ROWS   4    /* of a warp: w is read once for them, and draws are begun */
#define STAIR_PROJECT_RUN    16   /* groups of four columns that a lane adds in float */
#define STAIR_PROJECT_WARPS  8    /* of a block */
#define STAIR_COLLECT_WIDTH  128  /* threads of a block, each with four columns */
#define STAIR_COLLECT_RUN    32   /* rows that a thread adds in float */
#define STAIR_COLLECT_BLOCKS 2112 /* wanted: sixteen for each of the multiprocessors of a large card */
#define STAIR_COLLECT_LEAST  64   /* rows of a slice, unless there are fewer */
#define STAIR_MOST_ROWS_W    4    /* indices P that kernels are made for */

STAIR_HD size_t stair_rows_pitch(int dim)
{
    return ((size_t)dim + 3) / 4 * 4;
}

/* Blocks of columns, and slices of the rows, of collect. */
STAIR_HD size_t stair_collect_columns(size_t pitch)
{
    return (pitch / 4 + STAIR_COLLECT_WIDTH - 1) / STAIR_COLLECT_WIDTH;
}

STAIR_HD size_t stair_collect_slices(size_t rows, size_t pitch)
{
    size_t wanted = STAIR_COLLECT_BLOCKS / stair_collect_columns(pitch) + 1,
           most = rows / STAIR_COLLECT_LEAST + 1;
    return wanted < most ? wanted : most;
}

/* Rows of slice s begin here; those of the last end at slice `slices`. */
STAIR_HD size_t stair_collect_begin(size_t rows, size_t slices, size_t s)
{
    return rows / slices * s + (s < rows % slices ? s : rows % slices);
}

/* Kernels that draw have samples and pairs of theirs below 2^32. */
STAIR_HD int stair_rows_drawable(uint64_t samples, int tokens, int dim)
{
    return samples <= UINT32_MAX && (uint64_t)tokens * (uint64_t)dim / 2 < UINT32_MAX;
}

/* Four columns of token t of all samples, from `column` on, a multiple of four: two pairs of their streams.
 */
typedef struct {
    stair_philox_half draw[2];
    int two; /* columns alone; those beyond dim, which is even, are zero */
} stair_rows_four;

STAIR_HD stair_rows_four stair_rows_columns(uint64_t key, int dim, int t, size_t column)
{
    uint32_t pair = (uint32_t)(((uint64_t)t * (uint64_t)dim + column) / 2);
    stair_rows_four four = {{stair_hd_philox_draw(key, pair), stair_hd_philox_draw(key, pair + 1)},
                            column + 2 >= (size_t)dim};
    return four;
}

STAIR_HD void stair_rows_draw(uint64_t key, const stair_philox_half *sample, const stair_rows_four *at,
                              float x[4])
{
    uint32_t c[4];
    stair_hd_philox_join(key, sample, &at->draw[0], c);
    stair_hd_box_muller(c, &x[0], &x[1]);
    stair_hd_philox_join(key, sample, &at->draw[1], c);
    stair_hd_box_muller(c, &x[2], &x[3]);
    if (at->two) x[2] = x[3] = 0;
}

#endif
