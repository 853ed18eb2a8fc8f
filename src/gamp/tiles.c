/* Tiles of X, wherever they come from.  Sample i is the stream (seed, DATA, first + i), tokens one after the
 * other, as gradient descent draws it. */
#include "gamp/tiles.h"

#include "core/rng.h"

#include <stdlib.h>
#include <string.h>

/* Measured on a pass over X, docs/gamp.md: tiles of 256 kB lost part of what was fetched ahead to the
 * third-level cache, 4 % at D = 4000; at D = 16384 tiles of 6 or 8 rows were slower than of 4. */
static const struct {
    size_t tile_bytes;  /* of a tile: it, the next, w and the sums share a second-level cache, */
    size_t large_bytes; /* less well where tiles are larger; but w and the sums are read for every tile, */
    size_t few_rows;    /* so one of fewer rows than this is made larger */
    size_t most_rows;   /* of a tile */
} tuning = {.tile_bytes = 192 * 1024, .large_bytes = 256 * 1024, .few_rows = 8, .most_rows = 64};

static size_t sample_bytes(const stair_tiles *tiles)
{
    return (size_t)tiles->tokens * (size_t)tiles->dim * (tiles->single ? sizeof(float) : sizeof(double));
}

size_t stair_tile_samples(const stair_tiles *tiles)
{
    size_t n = tuning.tile_bytes / sample_bytes(tiles), tokens = (size_t)tiles->tokens;
    if (n * tokens < tuning.few_rows) n = tuning.large_bytes / sample_bytes(tiles);
    size_t unit = tokens % 4 == 0 ? 1 : tokens % 2 == 0 ? 2 : 4; /* whole fours of rows */
    size_t least = (4 + tokens - 1) / tokens, most = tuning.most_rows / tokens;
    if (n > most) n = most;
    return n >= unit ? n - n % unit : n > least ? n : least;
}

size_t stair_tile_bytes(const stair_tiles *tiles)
{
    return stair_tile_samples(tiles) * sample_bytes(tiles);
}

size_t stair_tile_room(const stair_tiles *tiles)
{
    return tiles->x && !tiles->parts ? 0 : stair_tile_bytes(tiles);
}

stair_sum stair_tiles_sum(const stair_tiles *tiles, size_t size)
{
    size_t most = tiles->most ? tiles->most : STAIR_GAMP_SAMPLES;
    stair_sum sum = {.parts = STAIR_GAMP_PARTS, .size = size};
    while (tiles->samples > (STAIR_GAMP_PARTS * most) << sum.levels) sum.levels++;
    return sum;
}

size_t stair_tiles_blocks(const stair_tiles *tiles)
{
    return (size_t)STAIR_GAMP_PARTS << stair_tiles_sum(tiles, 0).levels;
}

void stair_block_range(const stair_tiles *tiles, size_t b, size_t *lo, size_t *hi)
{
    int levels = stair_tiles_sum(tiles, 0).levels;
    size_t part = b >> levels, leaves = (size_t)1 << levels, leaf = b & (leaves - 1);
    size_t from = stair_share(tiles->samples, part, STAIR_GAMP_PARTS);
    size_t count = stair_share(tiles->samples, part + 1, STAIR_GAMP_PARTS) - from;
    *lo = from + stair_share(count, leaf, leaves);
    *hi = from + stair_share(count, leaf + 1, leaves);
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

/* The part that sample `first` is in. */
static size_t find_part(const stair_tiles *tiles, size_t first)
{
    size_t lo = 0, hi = tiles->part_count;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        if (tiles->parts[middle - 1].end <= first)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

const void *stair_tiles_run(const stair_tiles *tiles, size_t first, size_t n, size_t *here)
{
    *here = n;
    if (!tiles->parts) return (const char *)tiles->x + (first - tiles->held) * sample_bytes(tiles);
    size_t k = find_part(tiles, first), begin = k ? tiles->parts[k - 1].end : 0,
           left = tiles->parts[k].end - first;
    if (left < n) *here = left;
    return (const char *)tiles->parts[k].x + (first - begin) * sample_bytes(tiles);
}

/* Samples that lie in several places, brought together. */
static void copy_runs(const stair_tiles *tiles, size_t first, size_t n, char *to)
{
    for (size_t here; n; first += here, n -= here) {
        const void *x = stair_tiles_run(tiles, first, n, &here);
        memcpy(to, x, here * sample_bytes(tiles));
        to += here * sample_bytes(tiles);
    }
}

const void *stair_tile_open(const stair_tiles *tiles, size_t first, size_t n, void *room)
{
    size_t here;
    const void *x = tiles->x ? stair_tiles_run(tiles, first, n, &here) : NULL;
    if (x && here == n) return x;
    if (x)
        copy_runs(tiles, first, n, room);
    else
        draw_samples(tiles, first, n, room);
    return room;
}

void *stair_tile_weights(const stair_tiles *tiles, int indices, const double *w)
{
    size_t count = (size_t)indices * (size_t)tiles->dim;
    void *out = stair_products_memory(count * (tiles->single ? sizeof(float) : sizeof(double)));
    for (size_t i = 0; out && i < count; i++)
        if (tiles->single)
            ((float *)out)[i] = (float)w[i];
        else
            ((double *)out)[i] = w[i];
    return out;
}

stair_products stair_tile_products(const stair_tiles *tiles, int indices)
{
    return (stair_products){.single = tiles->single,
                            .dim = (size_t)tiles->dim,
                            .indices = indices,
                            .row_step = (size_t)indices,
                            .index_step = 1};
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

/* Blocks of one unit of the sum of a pass, and units. */
static size_t unit_blocks(const stair_context *context, const stair_tiles *tiles, size_t *units)
{
    stair_sum sum = stair_tiles_sum(tiles, 0);
    *units = stair_sum_units(&sum, (size_t)stair_ranks_threads(context));
    return stair_tiles_blocks(tiles) / *units;
}

static void own_blocks(const stair_context *context, const stair_tiles *tiles, size_t *first, size_t *last)
{
    size_t units, each = unit_blocks(context, tiles, &units);
    stair_ranks_mine(context, units, first, last);
    *first *= each;
    *last *= each;
}

/* The first sample of block b, or of none behind the last. */
static size_t block_start(const stair_tiles *tiles, size_t b)
{
    size_t lo, hi;
    if (b == stair_tiles_blocks(tiles)) return tiles->samples;
    stair_block_range(tiles, b, &lo, &hi);
    return lo;
}

void stair_tiles_own(const stair_context *context, const stair_tiles *tiles, size_t *lo, size_t *hi)
{
    size_t first, last;
    own_blocks(context, tiles, &first, &last);
    *lo = block_start(tiles, first);
    *hi = block_start(tiles, last);
}

stair_status stair_tiles_parallel(stair_context *context, const stair_tiles *tiles, stair_parallel_body *body,
                                  void *user)
{
    size_t first, last;
    own_blocks(context, tiles, &first, &last);
    return stair_ranks_check(context, stair_parallel_range(context, first, last, body, user));
}

/* What each rank's blocks, or the samples in them, take of an array. */
static stair_status gather(stair_context *context, const stair_tiles *tiles, bool samples, size_t bytes,
                           void *array, int root)
{
    if (!stair_ranks_many(context)) return STAIR_OK;
    size_t ranks = (size_t)stair_context_ranks(context), units, each = unit_blocks(context, tiles, &units);
    size_t *cut = malloc((ranks + 1) * sizeof *cut);
    if (!cut) return stair_ranks_check(context, stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    stair_ranks_cut(context, units, cut);
    for (size_t r = 0; r <= ranks; r++) cut[r] = samples ? block_start(tiles, cut[r] * each) : cut[r] * each;
    for (size_t r = 0; r < ranks; r++) cut[r] = (cut[r + 1] - cut[r]) * bytes;
    stair_status status = stair_ranks_gather(context, STAIR_OK, cut, array, root);
    free(cut);
    return status;
}

stair_status stair_tiles_gather(stair_context *context, const stair_tiles *tiles, size_t bytes, void *array,
                                int root)
{
    return gather(context, tiles, true, bytes, array, root);
}

stair_status stair_tiles_gather_blocks(stair_context *context, const stair_tiles *tiles, size_t bytes,
                                       void *array)
{
    return gather(context, tiles, false, bytes, array, -1);
}

typedef struct {
    const stair_tiles *tiles;
    char *out;
    size_t held; /* the first sample of out */
} draw_job;

static stair_status draw_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread, (void)local;
    const draw_job *job = user;
    size_t lo, hi;
    stair_block_range(job->tiles, block, &lo, &hi);
    draw_samples(job->tiles, lo, hi - lo, job->out + (lo - job->held) * sample_bytes(job->tiles));
    return STAIR_OK;
}

stair_status stair_tiles_draw(stair_context *context, const stair_tiles *tiles, void *out)
{
    size_t lo, hi;
    stair_tiles_own(context, tiles, &lo, &hi);
    draw_job job = {tiles, out, lo};
    return stair_tiles_parallel(context, tiles, draw_block, &job);
}
