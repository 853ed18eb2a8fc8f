/* What an iteration of GAMP costs: verify, then time, everything in one run so that ratios carry over.
 *
 * The two products with X should cost no more than reading it once; reading alone, by the same number of
 * threads in blocks of the same size, is timed right before them each time, since the speed of memory changes
 * with what others do, and the median of the ratios is given.  Beside it, the products on tiles that are in
 * the cache already.  Memory is measured first, before anything large is allocated. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "core/clock.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "core/rng.h"
#include "gamp/gamp.h"

enum { TIMINGS = 20 }; /* of each kind of pass; medians are given */

static const struct {
    size_t x_bytes;   /* of X: many times the last cache */
    int most_indices; /* P of the products that are timed, from 1 on */
    double precision; /* of products in single precision */
    /* what docs/gamp.md promises: */
    double bandwidth; /* of the products, in units of reading alone */
    double gigabytes; /* at most, where X is never stored */
    double minutes;   /* for the crosses of Figure 1, */
    int cross_runs;   /* which are so many runs */
} tuning = {.x_bytes = (size_t)384 << 20,
            .most_indices = 2,
            .precision = 1e-6,
            .bandwidth = 0.8,
            .gigabytes = 1.0,
            .minutes = 3.0,
            .cross_runs = 16};

STAIR_HOT_TABLE(float, stair_bench_read, (size_t count, const float *x));

typedef struct {
    stair_tiles tiles;
    int indices;
    const double *w;
    void *own;    /* w in the element type of X */
    double *sum;  /* (P, D) and the seconds it took; or what was read, and its seconds */
    double *room; /* of the sum */
    double *rows; /* (threads, rows of a tile, P) */
    float *parts; /* (threads, P, D) */
    bool cached;  /* the first tile of a block again and again */
} products;

static size_t row_room(const stair_tiles *tiles, int indices)
{
    return stair_tile_samples(tiles) * (size_t)tiles->tokens * (size_t)indices;
}

static stair_status multiply_block(void *user, size_t block, int thread, stair_context *local, double *out)
{
    (void)local;
    const products *job = user;
    double begun = stair_thread_seconds();
    const stair_tiles *tiles = &job->tiles;
    double *rows = job->rows + (size_t)thread * row_room(tiles, job->indices);
    size_t weights = (size_t)job->indices * (size_t)tiles->dim;
    stair_products shape = stair_tile_products(tiles, job->indices);
    stair_products_sum sum = {.part = job->parts + (size_t)thread * weights, .sum = out};
    size_t lo, hi, most = stair_tile_samples(tiles);
    stair_block_range(tiles, block, &lo, &hi);
    for (size_t first = lo; first < hi; first += most) {
        size_t n = hi - first < most ? hi - first : most;
        const void *x = stair_tile_open(tiles, job->cached ? lo : first, n, NULL);
        stair_products_project(&shape, n * (size_t)tiles->tokens, x, job->own, rows);
        stair_products_collect(&shape, n * (size_t)tiles->tokens, x, rows, &sum);
    }
    stair_products_finish(&shape, &sum);
    out[weights] = stair_thread_seconds() - begun;
    return STAIR_OK;
}

static stair_status read_block(void *user, size_t block, int thread, stair_context *local, double *out)
{
    (void)thread, (void)local;
    const products *job = user;
    double begun = stair_thread_seconds();
    size_t lo, hi, row = (size_t)job->tiles.tokens * (size_t)job->tiles.dim;
    stair_block_range(&job->tiles, block, &lo, &hi);
    out[0] = stair_bench_read_table[stair_isa()]((hi - lo) * row, (const float *)job->tiles.x + lo * row);
    out[1] = stair_thread_seconds() - begun;
    return STAIR_OK;
}

/* `size` numbers and the seconds behind them */
static stair_status time_pass(stair_context *context, stair_sum_body *body, size_t size, products *job,
                              double *seconds)
{
    stair_sum sum = stair_tiles_sum(&job->tiles, size + 1);
    STAIR_TRY(stair_sum_blocks(context, &sum, body, job, job->room, job->sum));
    *seconds = job->sum[size] / context->threads;
    return STAIR_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TIMINGS, sizeof *values, ascending);
    return 0.5 * (values[(TIMINGS - 1) / 2] + values[TIMINGS / 2]);
}

/* Largest relative error of the products on a few columns, by plain sums in double precision. */
static double verify(const products *job)
{
    enum { CHECKED = 4 };
    const stair_tiles *t = &job->tiles;
    size_t dim = (size_t)t->dim, rows = t->samples * (size_t)t->tokens;
    double expected[CHECKED] = {0}, size = 0, worst = 0;
    for (size_t r = 0; r < rows; r++) {
        const float *x = (const float *)t->x + r * dim;
        double dot = 0;
        for (size_t d = 0; d < dim; d++) dot += (double)x[d] * job->w[d];
        for (int k = 0; k < CHECKED; k++)
            expected[k] += dot * (double)x[(size_t)k * (dim - 1) / (CHECKED - 1)];
        size += dot * dot;
    }
    for (int k = 0; k < CHECKED; k++) {
        double got = job->sum[(size_t)k * (dim - 1) / (CHECKED - 1)];
        worst = fmax(worst, fabs(got - expected[k]) / sqrt(size));
    }
    return worst;
}

typedef struct {
    double cached[TIMINGS], reading[TIMINGS], pass[TIMINGS]; /* seconds */
    double ratio[TIMINGS];                                   /* of reading to the pass after it */
} timings;

static stair_status time_passes(stair_context *context, products *job, timings *t)
{
    size_t weights = (size_t)job->indices * (size_t)job->tiles.dim;
    for (int k = 0; k < TIMINGS; k++) {
        job->cached = true;
        STAIR_TRY(time_pass(context, multiply_block, weights, job, &t->cached[k]));
        job->cached = false;
        STAIR_TRY(time_pass(context, read_block, 1, job, &t->reading[k]));
        STAIR_TRY(time_pass(context, multiply_block, weights, job, &t->pass[k]));
        t->ratio[k] = t->reading[k] / t->pass[k];
    }
    return STAIR_OK;
}

static stair_amp_row row_of(const stair_context *context, const products *job, timings *t)
{
    const stair_tiles *tiles = &job->tiles;
    double usual = median(t->pass),
           gigabytes = (double)(tiles->samples * 2 * (size_t)tiles->dim * sizeof(float)) / 1e9;
    stair_amp_row row = {.dim = tiles->dim,
                         .samples = tiles->samples,
                         .iterations = TIMINGS,
                         .seconds = usual,
                         .pass = usual * context->threads,
                         .value = median(t->ratio),
                         .unit = "of read bandwidth",
                         .limit = tuning.bandwidth,
                         .error = verify(job)};
    snprintf(row.what, sizeof row.what, "products with X, P = %d; GB/s: read %.0f, cached %.0f", job->indices,
             gigabytes / median(t->reading), gigabytes / median(t->cached));
    row.passed = row.value >= row.limit && row.error < tuning.precision;
    return row;
}

/* The products against reading alone: X of `dim`, two tokens, large enough to leave every cache. */
static stair_status bench_pass(stair_context *context, int dim, int indices, stair_amp_row *row)
{
    size_t samples = tuning.x_bytes / (2 * sizeof(float) * (size_t)dim),
           weights = (size_t)indices * (size_t)dim;
    products job = {.indices = indices,
                    .tiles = {.dim = dim, .tokens = 2, .samples = samples, .single = true, .seed = 1}};
    float *x = stair_products_memory(samples * 2 * (size_t)dim * sizeof(float));
    stair_sum sum = stair_tiles_sum(&job.tiles, weights + 1);
    double *memory = malloc((2 * weights + 1 + stair_sum_room(context, &sum) +
                             (size_t)context->threads * row_room(&job.tiles, indices)) *
                            sizeof(double));
    timings t;
    job.parts = stair_products_memory(weights * (size_t)context->threads * sizeof(float));
    stair_status status = x && memory && job.parts ? stair_tiles_draw(context, &job.tiles, x)
                                                   : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        memset(job.parts, 0, weights * (size_t)context->threads * sizeof(float));
        stair_rng_rows(1, STAIR_RNG_TEACHER, indices, dim, 1, memory);
        job.tiles.x = x;
        job.w = memory;
        job.own = stair_tile_weights(&job.tiles, indices, memory);
        if (!job.own) status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        job.room = memory + weights;
        job.sum = job.room + stair_sum_room(context, &sum);
        job.rows = job.sum + weights + 1;
    }
    if (status == STAIR_OK) status = time_passes(context, &job, &t);
    if (status == STAIR_OK) *row = row_of(context, &job, &t);
    free(x);
    free(memory);
    free(job.own);
    free(job.parts);
    return status;
}

/* A run as the user would make it, split into its parts. */
static stair_status bench_run(stair_context *context, const char *spec, stair_gamp_options options,
                              stair_amp_row *row)
{
    stair_model *model;
    stair_gamp_result *result;
    STAIR_TRY(stair_model_create(context, spec, &model));
    double begun = stair_seconds();
    stair_status status = stair_gamp(context, model, &options, &result);
    stair_model_destroy(&model);
    STAIR_TRY(status);
    double wall = stair_seconds() - begun,
           each = 1.0 / (result->run->iterations > 0 ? result->run->iterations : 1);
    const stair_gamp_run *run = result->run;
    *row = (stair_amp_row){.dim = options.dim,
                           .samples = result->samples,
                           .iterations = run->iterations,
                           .seconds = wall * each,
                           .pass = run->pass_seconds * each,
                           .draw = run->draw_seconds * each,
                           .channel = run->channel_seconds * each,
                           .rest = run->rest_seconds * each,
                           .value = NAN,
                           .unit = "",
                           .limit = NAN,
                           .error = NAN,
                           .passed = true};
    stair_gamp_result_destroy(&result);
    return STAIR_OK;
}

static double peak_gigabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e9;
}

static stair_status bench_regenerate(stair_context *context, stair_amp_row *row)
{
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 50000;
    o.alpha = 0.5;
    o.max_iterations = 1;
    o.regenerate = true;
    STAIR_TRY(bench_run(context, "attention:layers=2", o, row));
    row->value = peak_gigabytes();
    row->unit = "GB at most";
    row->limit = tuning.gigabytes;
    row->passed = row->value < row->limit;
    snprintf(row->what, sizeof row->what, "X never stored, labels included");
    return STAIR_OK;
}

static stair_status bench_layers(stair_context *context, int layers, int dim, stair_amp_row *row)
{
    stair_gamp_options o = stair_gamp_defaults();
    char spec[64];
    o.dim = dim;
    o.alpha = 1;
    o.start_overlap = 0.3;
    o.max_iterations = 3;
    snprintf(spec, sizeof spec, "attention:layers=%d", layers);
    STAIR_TRY(bench_run(context, spec, o, row));
    snprintf(row->what, sizeof row->what, "iteration, %d layer%s", layers, layers > 1 ? "s" : "");
    return STAIR_OK;
}

/* The crosses of the paper's Figure 1: 15 alphas, 50 iterations, D = 1000; one of the 16 runs is made. */
static stair_status bench_crosses(stair_context *context, stair_amp_row *row)
{
    stair_amp_row sum = {.dim = 1000, .unit = "minutes for 16 runs", .limit = tuning.minutes, .error = NAN};
    double wall = 0;
    for (int k = 1; k <= 15; k++) {
        stair_gamp_options o = stair_gamp_defaults();
        stair_amp_row one;
        o.all_errors = false; /* the crosses show where runs end */
        o.dim = sum.dim;
        o.alpha = 0.1 * k;
        o.max_iterations = 50;
        o.tolerance = 1e-9;
        STAIR_TRY(bench_run(context, "attention:layers=2", o, &one));
        sum.samples += one.samples;
        sum.iterations += one.iterations;
        wall += one.seconds * one.iterations;
        sum.pass += one.pass * one.iterations;
        sum.draw += one.draw * one.iterations;
        sum.channel += one.channel * one.iterations;
        sum.rest += one.rest * one.iterations;
    }
    double each = 1.0 / sum.iterations;
    sum.seconds = wall * each;
    sum.pass *= each;
    sum.draw *= each;
    sum.channel *= each;
    sum.rest *= each;
    sum.value = (sum.pass + sum.draw + sum.channel + sum.rest) * sum.iterations * tuning.cross_runs /
                context->threads / 60;
    sum.passed = sum.value < sum.limit;
    snprintf(sum.what, sizeof sum.what, "Figure 1, 15 alphas, 2 layers");
    *row = sum;
    return STAIR_OK;
}

stair_status stair_bench_amp(stair_context *context, int capacity, stair_amp_row *rows, int *count)
{
    *count = 0;
    if (capacity < 10) return stair_fail(context, STAIR_BAD_INPUT, "a benchmark of GAMP has 10 rows");
    STAIR_TRY(bench_regenerate(context, &rows[(*count)++]));
    for (int indices = 1; indices <= tuning.most_indices; indices++) {
        STAIR_TRY(bench_pass(context, 4000, indices, &rows[(*count)++]));
        STAIR_TRY(bench_pass(context, 8000, indices, &rows[(*count)++]));
        STAIR_TRY(bench_pass(context, 16384, indices, &rows[(*count)++]));
    }
    STAIR_TRY(bench_layers(context, 1, 4000, &rows[(*count)++]));
    STAIR_TRY(bench_layers(context, 2, 4000, &rows[(*count)++]));
    return bench_crosses(context, &rows[(*count)++]);
}
