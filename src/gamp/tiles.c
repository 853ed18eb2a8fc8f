/* Tiles of X, wherever they come from.  Sample i is the stream (seed, DATA, first + i), tokens one after the
 * other, as gradient descent draws it. */
#define _DEFAULT_SOURCE /* madvise */
#include "gamp/tiles.h"

#include "core/isa.h"
#include "core/parallel.h"
#include "core/rng.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TILE_BYTES (256 * 1024) /* this tile and the next fit a second-level cache */
#define MOST_ROWS  64           /* of a tile */

STAIR_HOT_TABLE(void, stair_tile_project_f4,
                (size_t rows, size_t dim, const float *x, int indices, const float *w, double *z));
STAIR_HOT_TABLE(void, stair_tile_project_f8,
                (size_t rows, size_t dim, const double *x, int indices, const double *w, double *z));
STAIR_HOT_TABLE(void, stair_tile_collect_f4,
                (size_t rows, size_t dim, const float *x, int indices, const double *c, float *sum));
STAIR_HOT_TABLE(void, stair_tile_collect_f8,
                (size_t rows, size_t dim, const double *x, int indices, const double *c, double *sum));
STAIR_HOT_TABLE(void, stair_tile_flush_f4, (size_t count, float *part, double *sum));
STAIR_HOT_TABLE(void, stair_tile_flush_f8, (size_t count, double *part, double *sum));

static size_t sample_bytes(const stair_tiles *tiles)
{
    return (size_t)tiles->tokens * (size_t)tiles->dim * (tiles->single ? sizeof(float) : sizeof(double));
}

size_t stair_tile_samples(const stair_tiles *tiles)
{
    size_t n = TILE_BYTES / sample_bytes(tiles);
    size_t most = MOST_ROWS / (size_t)tiles->tokens;
    size_t unit = tiles->tokens % 4 == 0 ? 1 : tiles->tokens % 2 == 0 ? 2 : 4; /* whole fours of rows */
    if (n > most) n = most;
    return n >= unit ? n - n % unit : n < 1 ? 1 : n;
}

size_t stair_tile_bytes(const stair_tiles *tiles)
{
    return stair_tile_samples(tiles) * sample_bytes(tiles);
}

void stair_block_range(const stair_tiles *tiles, size_t b, size_t *lo, size_t *hi)
{
    *lo = tiles->samples / STAIR_GAMP_BLOCKS * b + tiles->samples % STAIR_GAMP_BLOCKS * b / STAIR_GAMP_BLOCKS;
    b++;
    *hi = tiles->samples / STAIR_GAMP_BLOCKS * b + tiles->samples % STAIR_GAMP_BLOCKS * b / STAIR_GAMP_BLOCKS;
}

static void draw_samples(const stair_tiles *tiles, size_t first, size_t n, void *out)
{
    int row = tiles->tokens * tiles->dim;
    for (size_t i = 0; i < n; i++) {
        uint64_t sample = tiles->first + first + i;
        if (tiles->single)
            stair_rng_normals_single(tiles->seed, STAIR_RNG_DATA, sample, row,
                                     (float *)out + i * (size_t)row);
        else
            stair_rng_normals(tiles->seed, STAIR_RNG_DATA, sample, row, (double *)out + i * (size_t)row);
    }
}

const void *stair_tile_open(const stair_tiles *tiles, size_t first, size_t n, void *room)
{
    if (tiles->x) return (const char *)tiles->x + first * sample_bytes(tiles);
    draw_samples(tiles, first, n, room);
    return room;
}

void *stair_tile_weights(const stair_tiles *tiles, int indices, const double *w)
{
    size_t count = (size_t)indices * (size_t)tiles->dim;
    void *out = stair_tiles_memory(count * (tiles->single ? sizeof(float) : sizeof(double)));
    for (size_t i = 0; out && i < count; i++)
        if (tiles->single)
            ((float *)out)[i] = (float)w[i];
        else
            ((double *)out)[i] = w[i];
    return out;
}

void stair_tile_project(const stair_tiles *tiles, const void *x, size_t n, int indices, const void *w,
                        double *z)
{
    size_t rows = n * (size_t)tiles->tokens, dim = (size_t)tiles->dim;
    if (tiles->single)
        stair_tile_project_f4_table[stair_isa()](rows, dim, x, indices, w, z);
    else
        stair_tile_project_f8_table[stair_isa()](rows, dim, x, indices, w, z);
}

void stair_tile_sum_clear(const stair_tiles *tiles, int indices, stair_tile_sum *sum)
{
    size_t count = (size_t)indices * (size_t)tiles->dim;
    memset(sum->part, 0, count * (tiles->single ? sizeof(float) : sizeof(double)));
    memset(sum->sum, 0, count * sizeof(double));
    sum->rows = 0;
}

void stair_tile_flush(const stair_tiles *tiles, int indices, stair_tile_sum *sum)
{
    size_t count = (size_t)indices * (size_t)tiles->dim;
    if (tiles->single)
        stair_tile_flush_f4_table[stair_isa()](count, sum->part, sum->sum);
    else
        stair_tile_flush_f8_table[stair_isa()](count, sum->part, sum->sum);
    sum->rows = 0;
}

void stair_tile_collect(const stair_tiles *tiles, const void *x, size_t n, int indices, const double *c,
                        stair_tile_sum *sum)
{
    size_t rows = n * (size_t)tiles->tokens, dim = (size_t)tiles->dim;
    if (sum->rows && sum->rows + rows > STAIR_TILE_ROWS) stair_tile_flush(tiles, indices, sum);
    if (tiles->single)
        stair_tile_collect_f4_table[stair_isa()](rows, dim, x, indices, c, sum->part);
    else
        stair_tile_collect_f8_table[stair_isa()](rows, dim, x, indices, c, sum->part);
    sum->rows += rows;
}

void *stair_tiles_memory(size_t bytes)
{
    const size_t page = (size_t)1 << 21;
    if (bytes > SIZE_MAX - 2 * page) return NULL;
    size_t rounded = bytes < page ? (bytes + 64) / 64 * 64 : (bytes + page) / page * page;
    void *memory = aligned_alloc(bytes < page ? 64 : page, rounded);
#ifdef MADV_HUGEPAGE
    if (memory && bytes >= page) madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: refusal is no failure */
#endif
    return memory;
}

typedef struct {
    const stair_tiles *tiles;
    char *out;
} draw_job;

static stair_status draw_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread, (void)local;
    const draw_job *job = user;
    size_t lo, hi;
    stair_block_range(job->tiles, block, &lo, &hi);
    draw_samples(job->tiles, lo, hi - lo, job->out + lo * sample_bytes(job->tiles));
    return STAIR_OK;
}

stair_status stair_tiles_draw(stair_context *context, const stair_tiles *tiles, void *out)
{
    draw_job job = {tiles, out};
    return stair_parallel(context, STAIR_GAMP_BLOCKS, draw_block, &job);
}
