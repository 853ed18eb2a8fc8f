/* X on a card: stored, drawn by the kernels that need it, or a chunk of it at a time.
 *
 * Numbers drawn are those of the processor: stream (seed, DATA, sample), rounded to float.  What does not fit
 * is copied chunk by chunk where it is given; where it is to be drawn, that is said, for `regenerate` is the
 * way that needs no memory.
 *
 * Chunks of drawn X follow from its shape alone, and so do sums over it.  Where there is room for one, each
 * number is drawn once in a pass; where there is not, twice, with the same bytes in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "cuda/gamp.h"
#include "kernels/rows.h"

static const struct {
    double stage;  /* bytes of a chunk that is copied, */
    double share;  /* and the most of what is free that it takes */
    double drawn;  /* bytes of a chunk that is drawn: a warp has four samples, and a card wants thousands */
    double spared; /* bytes of the card's memory that are left to others */
    double reads, draws,
        copies;    /* of an H200 in a second: bytes of X, normals; bytes from the host, assumed */
    double once;   /* reads that a pass takes where X is read once */
    double sample; /* seconds of a posterior there */
} tuning = {.stage = 1.0e9,
            .share = 0.25,
            .drawn = 64.0e9,
            .spared = 0.5e9,
            .reads = 4.4e12,
            .draws = 4.7e11,
            .copies = 1.0e10,
            .once = 1.15,
            .sample = 4.7e-9};

static uint64_t key_of(uint64_t seed)
{
    return seed ^ ((uint64_t)STAIR_RNG_DATA * 0x9E3779B97F4A7C15u);
}

static size_t sample_bytes(const stair_tiles *tiles)
{
    return (size_t)tiles->tokens * stair_rows_pitch(tiles->dim) * sizeof(float);
}

size_t stair_cuda_gamp_bytes(const stair_tiles *tiles, int indices, stair_x_mode mode, size_t chunk)
{
    size_t n = tiles->samples, p = (size_t)indices, m = (size_t)tiles->tokens,
           pitch = stair_rows_pitch(tiles->dim);
    stair_card_rows rows = {.indices = indices, .pitch = pitch, .rows = chunk * m};
    size_t x = mode == STAIR_X_STORED  ? n * sample_bytes(tiles)
               : mode == STAIR_X_DRAWN ? 0
                                       : chunk * sample_bytes(tiles);
    size_t of_sample = 7 * p * m * sizeof(double) + 2 * stair_card_says(indices) * sizeof(double) +
                       m * 4 * sizeof(float) + 3 * sizeof(float) + sizeof(uint32_t);
    return x + n * of_sample + p * pitch * sizeof(float) + p * (size_t)tiles->dim * sizeof(double) +
           (stair_card_parts(&rows) + STAIR_CARD_PARTS * stair_card_says(indices)) * sizeof(double);
}

static size_t chunk_for(const stair_resident *r, double left)
{
    const stair_tiles *tiles = &r->tiles;
    double bytes = tiles->x               ? fmin(tuning.stage, fmax(0, tuning.share * left))
                   : r->device->chunk > 0 ? r->device->chunk
                                          : tuning.drawn;
    size_t n = (size_t)(bytes / (double)sample_bytes(tiles));
    return n < 1 ? 1 : n > tiles->samples ? tiles->samples : n;
}

static double need(const stair_resident *r, stair_x_mode mode, size_t chunk)
{
    return (double)stair_cuda_gamp_bytes(&r->tiles, r->indices, mode, chunk);
}

/* What fits: given X is copied in chunks where it does not fit at once.  Bytes that are asked for, and those
 * that are free. */
static double choose_mode(stair_resident *r, bool store, double *left)
{
    const stair_tiles *t = &r->tiles;
    *left = (double)stair_cuda_free_bytes(r->device) - tuning.spared;
    bool stored = (store || t->x) && need(r, STAIR_X_STORED, t->samples) <= *left;
    r->chunk = stored ? t->samples : chunk_for(r, *left);
    r->mode = stored ? STAIR_X_STORED
              : t->x || t->dim % 2 || !stair_rows_drawable(t->first + t->samples, t->tokens, t->dim)
                  ? STAIR_X_STAGED
              : need(r, STAIR_X_KEPT, r->chunk) <= *left ? STAIR_X_KEPT
                                                         : STAIR_X_DRAWN;
    return store && !t->x ? need(r, STAIR_X_STORED, t->samples) : need(r, r->mode, r->chunk);
}

static stair_status make_room(stair_context *context, stair_resident *r, bool store)
{
    double left, bytes = choose_mode(r, store, &left);
    if (bytes <= left) return STAIR_OK;
    return stair_fail(context, STAIR_NO_MEMORY,
                      "X and what goes with it take %.3g GB on %s, where %.3g GB are free%s", 1e-9 * bytes,
                      r->device->name, 1e-9 * (double)stair_cuda_free_bytes(r->device),
                      store && !r->tiles.x ? "; regenerate needs no room for X" : "");
}

static stair_resident resident_of(const stair_context *context, const stair_tiles *tiles, int indices)
{
    return (stair_resident){.device = context->device,
                            .tiles = *tiles,
                            .indices = indices,
                            .pitch = stair_rows_pitch(tiles->dim),
                            .at = -1};
}

static bool serves(const stair_tiles *tiles, int indices)
{
    return indices <= STAIR_CARD_ROWS && tiles->tokens <= STAIR_CARD_MOST && tiles->samples &&
           tiles->samples * (size_t)tiles->tokens < UINT32_MAX;
}

static stair_card_rows rows_of(const stair_resident *r, size_t first, size_t n)
{
    const stair_tiles *t = &r->tiles;
    return (stair_card_rows){.dim = t->dim,
                             .tokens = t->tokens,
                             .indices = r->indices,
                             .pitch = r->pitch,
                             .rows = n * (size_t)t->tokens,
                             .key = key_of(t->seed),
                             .first = t->first + first};
}

stair_status stair_cuda_need(stair_context *context, const stair_model *model, const stair_tiles *tiles,
                             bool store, stair_card_need *out)
{
    int indices = model->info.indices;
    double numbers = (double)tiles->samples * tiles->tokens * tiles->dim, bytes = numbers * sizeof(float),
           skip;
    *out = (stair_card_need){.served = serves(tiles, indices)};
    if (!out->served) return STAIR_OK;
    stair_resident r = resident_of(context, tiles, indices);
    out->bytes = choose_mode(&r, store, &out->room);
    out->x_bytes = r.mode == STAIR_X_STORED || (store && !tiles->x)
                       ? (double)(tiles->samples * sample_bytes(tiles))
                   : r.mode == STAIR_X_DRAWN ? 0
                                             : (double)(r.chunk * sample_bytes(tiles));
    double read = bytes / tuning.reads, draw = numbers / tuning.draws, bring = bytes / tuning.copies;
    out->draw = tiles->x ? (r.mode == STAIR_X_STORED ? bring : 0) : draw + read;
    stair_card_rows rows = rows_of(&r, 0, tiles->samples);
    bool once = stair_cuda_knows(model, &skip) && stair_card_once_serves(r.device, &rows);
    out->pass = r.mode == STAIR_X_STORED  ? (once ? tuning.once : 2) * read
                : r.mode == STAIR_X_KEPT  ? draw + read
                : r.mode == STAIR_X_DRAWN ? 2 * draw
                                          : 2 * read + (tiles->x ? bring : draw);
    out->sample = stair_cuda_knows(model, &skip) ? tuning.sample : 0;
    return STAIR_OK;
}

/* Samples of the caller's into memory of the card, padded. */
static stair_status copy_rows(stair_context *context, const stair_resident *r, size_t first, size_t n,
                              float *to)
{
    const stair_tiles *t = &r->tiles;
    size_t row = (size_t)t->dim, tokens = (size_t)t->tokens;
    if (r->pitch != row)
        STAIR_TRY(stair_cuda_zero(context, r->device, to, n * tokens * r->pitch * sizeof *to));
    for (size_t here; n; first += here, n -= here) {
        const void *from = stair_tiles_run(t, first, n, &here);
        size_t rows = here * tokens;
        STAIR_TRY(r->pitch == row ? stair_cuda_up(context, r->device, to, from, rows * row * sizeof *to)
                                  : stair_cuda_up_rows(context, r->device, to, r->pitch * sizeof *to, from,
                                                       row * sizeof *to, rows));
        to += rows * r->pitch;
    }
    return STAIR_OK;
}

stair_status stair_cuda_rows(stair_context *context, stair_resident *r, size_t first, size_t n,
                             stair_card_rows *rows)
{
    *rows = rows_of(r, first, n);
    if (r->mode == STAIR_X_DRAWN) return STAIR_OK;
    if (r->mode == STAIR_X_KEPT) {
        rows->keep = r->x;
        return STAIR_OK;
    }
    rows->x = r->x;
    if (r->mode == STAIR_X_STORED) {
        rows->x += first * (size_t)r->tiles.tokens * r->pitch;
        return STAIR_OK;
    }
    if (r->tiles.x) return copy_rows(context, r, first, n, r->x);
    return stair_card_draw(context, r->device, rows, r->x);
}

stair_status stair_cuda_weights(stair_context *context, stair_resident *r, const double *w)
{
    size_t p = (size_t)r->indices, dim = (size_t)r->tiles.dim;
    float *single = calloc(p * r->pitch, sizeof *single);
    if (!single) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t k = 0; k < p; k++)
        for (size_t d = 0; d < dim; d++) single[k * r->pitch + d] = (float)w[k * dim + d];
    stair_status status = stair_cuda_up(context, r->device, r->w, single, p * r->pitch * sizeof *single);
    free(single);
    return status;
}

static stair_status fill(stair_context *context, stair_resident *r)
{
    const stair_tiles *t = &r->tiles;
    size_t rows = t->samples * (size_t)t->tokens, p = (size_t)r->indices;
    size_t held = r->mode == STAIR_X_DRAWN ? 0 : r->chunk * sample_bytes(t);
    if (held) STAIR_TRY(stair_cuda_alloc(context, r->device, held, "X", (void **)&r->x));
    STAIR_TRY(stair_cuda_alloc(context, r->device, p * r->pitch * sizeof(float), "W", (void **)&r->w));
    STAIR_TRY(stair_cuda_alloc(context, r->device, rows * p * sizeof(double), "projections", (void **)&r->z));
    if (r->mode != STAIR_X_STORED || !rows) return STAIR_OK;
    if (t->x) return copy_rows(context, r, 0, t->samples, r->x);
    stair_card_rows all = rows_of(r, 0, t->samples);
    STAIR_TRY(stair_card_draw(context, r->device, &all, r->x));
    return stair_cuda_wait(context, r->device);
}

stair_status stair_cuda_hold(stair_context *context, const stair_tiles *tiles, int indices, bool store,
                             stair_resident **resident)
{
    *resident = NULL;
    if (!serves(tiles, indices)) return STAIR_OK;
    stair_resident *r = calloc(1, sizeof *r);
    if (!r) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *r = resident_of(context, tiles, indices);
    stair_status status = make_room(context, r, store);
    if (status == STAIR_OK) status = fill(context, r);
    if (status == STAIR_OK)
        *resident = r;
    else
        stair_cuda_release(r);
    return status;
}

void stair_cuda_release(stair_resident *r)
{
    void *const all[] = {r->x,    r->w,     r->z, r->h, r->g[0], r->g[1],  r->o[0],  r->o[1], r->omega,
                         r->says, r->parts, r->b, r->c, r->sums, r->error, r->index, r->some};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) stair_cuda_free(r->device, all[k]);
    free(r);
}

stair_status stair_cuda_project(stair_context *context, const stair_tiles *tiles, double scale,
                                const double *w, double *z)
{
    stair_resident *r = tiles->resident;
    size_t p = (size_t)r->indices, m = (size_t)tiles->tokens, rows = tiles->samples * m;
    STAIR_TRY(stair_cuda_weights(context, r, w));
    for (size_t first = 0; first < tiles->samples; first += r->chunk) {
        size_t n = tiles->samples - first < r->chunk ? tiles->samples - first : r->chunk;
        stair_card_rows part;
        STAIR_TRY(stair_cuda_rows(context, r, first, n, &part));
        part.keep = NULL; /* nobody collects */
        STAIR_TRY(stair_card_project(context, r->device, &part, r->w, r->z + first * m * p));
    }
    double *all = malloc(rows * p * sizeof *all);
    if (!all) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_cuda_down(context, r->device, all, r->z, rows * p * sizeof *all);
    for (size_t i = 0; i < tiles->samples && status == STAIR_OK; i++)
        for (size_t t = 0; t < m; t++)
            for (size_t k = 0; k < p; k++) z[(i * p + k) * m + t] = scale * all[(i * m + t) * p + k];
    free(all);
    return status;
}
