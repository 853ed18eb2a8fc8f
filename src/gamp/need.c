/* What runs take, told before anything large is allocated: memory from the shapes of all arrays, time from a
 * small run on one thread.
 *
 *   processor time of an iteration = N M D (read + draw, where X is not stored) + N channel
 *
 * with what that run took for a number of X and for a sample.  Threads and ranks share it; stored X has to be
 * read from memory, too.  A card says itself what it takes. */
#include <math.h>

#include "core/backend.h"
#include "core/clock.h"
#include "core/memory.h"
#include "gamp/gamp.h"

static const struct {
    int dim, few_dim; /* of the small run, at most; of variants whose messages are N D */
    int samples, few; /* and its samples; many where these take less than so many seconds */
    int many;
    double quick;
    double memory;        /* bytes that all threads together read in a second */
    double program;       /* bytes of the program itself, and what does not grow */
    double start_overlap; /* of the small run: in the middle of things */
} tuning = {.dim = 1024,
            .few_dim = 32,
            .samples = 64,
            .few = 16,
            .many = 1024,
            .quick = 0.02,
            .memory = 1.5e10,
            .program = 1.6e7,
            .start_overlap = 0.5};

/* Processor seconds. */
typedef struct {
    double read, draw; /* of a number of X */
    double sample;
} rates;

static bool is_dense(const stair_gamp_options *options)
{
    int variant = stair_gamp_variant_of(options->variant);
    return variant == STAIR_GAMP_FULL || variant == STAIR_GAMP_BP;
}

static stair_status small_run(stair_context *context, const stair_model *model,
                              const stair_gamp_options *options, int samples, rates *out)
{
    bool dense = is_dense(options);
    int blocks = model->blocks > 1 ? model->blocks : 1, most = dense ? tuning.few_dim : tuning.dim;
    stair_gamp_options how = *options;
    how.dim = most / blocks > 0 ? most / blocks * blocks : blocks;
    if (how.dim > options->dim) how.dim = options->dim;
    how.alpha = (double)samples / how.dim;
    how.regenerate = true;
    how.start_overlap = tuning.start_overlap;
    how.side = 0;
    how.tolerance = 1e-12;
    how.max_iterations = 2;
    how.seeds = 1;
    how.test = 8;
    how.all_errors = how.resume = false;
    how.checkpoint = NULL;
    stair_context small = {.threads = 1,
                           .progress = context->progress,
                           .progress_user = context->progress_user,
                           .largest_array = context->largest_array};
    stair_gamp_result *result;
    stair_status status = stair_gamp(&small, model, &how, &result);
    if (status != STAIR_OK) return stair_fail(context, status, "%s", small.message);
    const stair_gamp_run *run = result->run;
    double passes = run->iterations > 0 ? run->iterations : 1,
           numbers = passes * (double)result->samples * model->info.tokens * how.dim;
    *out = dense ? (rates){.read = (run->pass_seconds + run->draw_seconds + run->channel_seconds +
                                    run->rest_seconds) /
                                   numbers}
                 : (rates){.read = run->pass_seconds / numbers,
                           .draw = run->draw_seconds / numbers,
                           .sample = run->channel_seconds / (passes * (double)result->samples)};
    stair_gamp_result_destroy(&result);
    return STAIR_OK;
}

static stair_status measure(stair_context *context, const stair_model *model,
                            const stair_gamp_options *options, rates *out)
{
    double begun = stair_process_seconds();
    STAIR_TRY(small_run(context, model, options, is_dense(options) ? tuning.few : tuning.samples, out));
    if (is_dense(options) || stair_process_seconds() - begun > tuning.quick) return STAIR_OK;
    return small_run(context, model, options, tuning.many, out);
}

/* Of the process, without X. */
static double host_bytes(const stair_context *context, const stair_model *model,
                         const stair_gamp_options *options, const stair_tiles *tiles, bool drawn)
{
    const stair_model_info *info = &model->info;
    stair_gamp_state s = {
        .p = info->indices, .m = info->tokens, .dim = tiles->dim, .samples = tiles->samples};
    stair_sum sum = stair_tiles_sum(tiles, stair_gamp_sum_size(&s));
    size_t own, end;
    stair_tiles_own(context, tiles, &own, &end);
    own = end - own;
    double n = (double)tiles->samples, cells = (double)info->indices * info->tokens, one = sizeof(double),
           weights = (double)info->indices * tiles->dim * one, of_tile = (double)stair_tile_samples(tiles),
           threads = stair_sum_width(context, &sum);
    double bytes = tuning.program + n * info->label_size * one + one * (double)stair_sum_room(context, &sum);
    bytes += weights * (3 + options->seeds + (drawn ? 1 : 0) + (options->side > 0 ? 1 : 0));
    bytes += threads *
             (weights + (double)stair_tile_room(tiles) + of_tile * (2 * cells + cells * cells + 1) * one);
    bytes += fmax(drawn ? n * cells * one : 0, 4 * (double)own * cells * one);
    int variant = stair_gamp_variant_of(options->variant);
    if (variant == STAIR_GAMP_FULL) bytes += one * (double)stair_gamp_full_size(&s);
    if (variant == STAIR_GAMP_BP) bytes += one * (double)stair_gamp_bp_size(&s);
    return bytes;
}

/* Where a card holds X: what it says of that. */
static stair_status ask_card(stair_context *context, const stair_model *model,
                             const stair_gamp_options *options, const stair_tiles *tiles,
                             const rates *processor, stair_gamp_need *need, bool *served)
{
    stair_card_need card = {0};
    double threads = stair_ranks_threads(context), n = (double)tiles->samples;
    *served = false;
    if (!context->backend || !context->backend->need ||
        !stair_gamp_goes_to_card(context, options, tiles->single))
        return STAIR_OK;
    STAIR_TRY(context->backend->need(context, model, tiles, !options->regenerate, &card));
    if (!card.served) return STAIR_OK;
    *served = true;
    need->device_bytes = card.bytes;
    need->device_room = card.room;
    need->x_bytes = card.x_bytes;
    need->draw = card.draw;
    need->iteration = card.pass + (card.sample > 0 ? n * card.sample : n * processor->sample / threads);
    return STAIR_OK;
}

stair_status stair_gamp_needs(stair_context *context, const stair_model *model,
                              const stair_gamp_options *options, const stair_gamp_data *data,
                              stair_gamp_need *need)
{
    rates is = {0};
    bool served;
    stair_tiles tiles = {.dim = data ? data->dim : options->dim,
                         .tokens = model->info.tokens,
                         .samples = data ? data->samples : (size_t)llround(options->alpha * options->dim),
                         .single = data ? data->single : !options->wide,
                         .x = data ? data->x : NULL};
    stair_gamp_options how = *options;
    how.dim = tiles.dim;
    *need = (stair_gamp_need){.samples = tiles.samples};
    STAIR_TRY(stair_gamp_check(context, options));
    STAIR_TRY(stair_blocks_check(context, model, tiles.dim));
    STAIR_TRY(measure(context, model, &how, &is));
    double numbers = (double)tiles.samples * tiles.tokens * tiles.dim, threads = stair_ranks_threads(context);
    bool stored = data ? !data->x : !options->regenerate;
    size_t own, end;
    STAIR_TRY(ask_card(context, model, &how, &tiles, &is, need, &served));
    stair_tiles_own(context, &tiles, &own, &end);
    need->bytes = host_bytes(context, model, &how, &tiles, !data);
    need->room = stair_memory_room();
    if (!served) {
        double of_number = tiles.single ? sizeof(float) : sizeof(double);
        need->x_bytes =
            stored ? (double)(data ? tiles.samples : end - own) * tiles.tokens * tiles.dim * of_number : 0;
        need->bytes += need->x_bytes;
        need->iteration =
            (numbers * (is.read + (stored || data ? 0 : is.draw)) + (double)tiles.samples * is.sample) /
            threads;
        if (stored || data) need->iteration = fmax(need->iteration, numbers * of_number / tuning.memory);
        need->draw = data ? 0 : numbers * (is.draw + is.read / 2) / threads;
    }
    int runs = data ? 1 : options->seeds;
    need->seconds = runs * (need->draw + options->max_iterations * need->iteration);
    return STAIR_OK;
}

stair_status stair_gamp_fits(stair_context *context, const stair_gamp_need *need)
{
    const char *way = need->x_bytes > 0 ? "; regenerate needs no room for X" : "";
    if (need->device_bytes > need->device_room)
        return stair_fail(context, STAIR_NO_MEMORY,
                          "X and what goes with it take %.3g GB on the card, where %.3g GB are free%s",
                          1e-9 * need->device_bytes, 1e-9 * need->device_room, way);
    if (need->bytes > need->room)
        return stair_fail(context, STAIR_NO_MEMORY, "runs take %.3g GB of memory, and %.3g GB are free%s",
                          1e-9 * need->bytes, 1e-9 * need->room, need->device_bytes > 0 ? "" : way);
    return STAIR_OK;
}
