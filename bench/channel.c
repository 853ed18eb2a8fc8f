/* What the channel costs, in units of one vector exp measured in the same run.
 *
 * Each row first verifies a part of its points against a much finer rule, then times all of them on one
 * thread, by processor time, a few samples at a time between two readings of the measuring stick, so
 * that whatever slows the machine slows both.  `needed` counts only the exps that
 * the visited nodes contain: how far `cost` is above it is what arithmetic, search for the modes and
 * bookkeeping add. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#include "bench.h"
#include "channel/rules.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/isa.h"

enum { STICK = 1024 }; /* exps per measurement: their arrays fit the first cache */

static const struct {
    int stick_tries;   /* of the measuring stick, the fastest of which counts, */
    int stick_repeats; /* each so many times the whole array */
    size_t samples;    /* between two readings of it */
    int repeats;       /* of all points; the first builds tables and does not count */
    size_t verified;   /* points that are checked */
} tuning = {.stick_tries = 3, .stick_repeats = 20, .samples = 32, .repeats = 3, .verified = 48};

STAIR_HOT_TABLE(void, stair_bench_exp, (int n, const double *x, double *y));

typedef struct {
    const char *model;
    double low, high, precision, limit;
    const char *check_method;
    double check_precision;
} bench_case;

static const bench_case cases[] = {
    {"attention:layers=2,tokens=2", 0.05, 1, 1e-6, 10000, "nested", 1e-9},
    {"attention:layers=2,tokens=2", 1e-8, 1, 1e-6, 60000, "nested", 1e-8},
    {"attention:layers=3,tokens=2", 0.05, 1, 1e-3, 300000, "lattice", 1e-4},
    {"attention:layers=2,tokens=3", 0.05, 1, 1e-4, 0, "lattice", 1e-5},
};

/* Seconds of one vector exp. */
static double measure_stick(void)
{
    double x[STICK], y[STICK], best = INFINITY;
    for (int i = 0; i < STICK; i++) x[i] = -20.0 * i / STICK;
    for (int k = 0; k < tuning.stick_tries; k++) {
        double start = stair_thread_seconds();
        for (int r = 0; r < tuning.stick_repeats; r++) stair_bench_exp_table[stair_isa()](STICK, x, y);
        best = fmin(best, (stair_thread_seconds() - start) / ((double)tuning.stick_repeats * STICK));
    }
    return best;
}

typedef struct {
    stair_model *model;
    stair_model_info info;
    size_t n;
    double *labels, *omega, *cov, *memory;
    double *logz, *g, *dg, *error;
    int64_t *nodes;
    int *method;
} bench_data;

static stair_status prepare(stair_context *context, const bench_case *c, size_t n, bench_data *d)
{
    STAIR_TRY(stair_model_create(context, c->model, &d->model));
    d->info = stair_model_describe(d->model);
    d->n = n;
    size_t size = (size_t)(d->info.indices * d->info.tokens), label = (size_t)d->info.label_size;
    size_t cov = (size_t)(d->info.indices * d->info.indices);
    d->memory = calloc(n * (label + size + cov + 2 + size + size * size), sizeof(double));
    d->nodes = calloc(n, sizeof *d->nodes);
    d->method = calloc(n, sizeof *d->method);
    if (!d->memory || !d->nodes || !d->method) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    d->labels = d->memory;
    d->omega = d->labels + n * label;
    d->cov = d->omega + n * size;
    d->logz = d->cov + n * cov;
    d->error = d->logz + n;
    d->g = d->error + n;
    d->dg = d->g + n * size;
    stair_points_options points = stair_points_defaults();
    points.cov_low = c->low;
    points.cov_high = c->high;
    return stair_points_draw(context, d->model, &points, 0, n, NULL, d->labels, d->omega, d->cov);
}

static void release(bench_data *d)
{
    if (d->model) stair_model_destroy(&d->model);
    free(d->memory);
    free(d->nodes);
    free(d->method);
}

static double relative_gap(size_t n, const double *a, const double *b)
{
    double gap = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        gap += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return norm > 0 ? sqrt(gap / norm) : sqrt(gap);
}

/* Worst error of the first points against the finer rule, and whether the reported ones bound it. */
static stair_status verify(stair_context *context, const bench_case *c, bench_data *d, stair_bench_row *row)
{
    size_t n = d->n < tuning.verified ? d->n : tuning.verified,
           size = (size_t)(d->info.indices * d->info.tokens);
    stair_channel_options options = stair_channel_defaults();
    double *memory = calloc(n * (2 + size + size * size), sizeof(double));
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_channel_result fine = {
        .logz = memory, .error = memory + n, .g = memory + 2 * n, .dg = memory + n * (2 + size)};
    options.precision = c->check_precision;
    options.method = c->check_method;
    options.seed = 77;
    stair_status status =
        stair_channel_evaluate(context, d->model, &options, 0, n, d->labels, d->omega, n, d->cov, &fine);
    row->passed = true;
    for (size_t i = 0; i < n && status == STAIR_OK; i++) {
        double error =
            fmax(fabs(d->logz[i] - fine.logz[i]),
                 fmax(relative_gap(size, d->g + i * size, fine.g + i * size),
                      relative_gap(size * size, d->dg + i * size * size, fine.dg + i * size * size)));
        if (fine.error[i] > c->precision) continue; /* no better known */
        row->worst_error = fmax(row->worst_error, error);
        if (!(error <= 3 * (fmax(c->precision, d->error[i]) + fine.error[i]))) row->passed = false;
    }
    free(memory);
    return status;
}

/* Total cost of all points, in exps. */
static stair_status time_points(stair_context *context, const bench_case *c, bench_data *d, double *cost)
{
    stair_channel_options options = stair_channel_defaults();
    size_t size = (size_t)(d->info.indices * d->info.tokens),
           cov = (size_t)(d->info.indices * d->info.indices);
    options.precision = c->precision;
    *cost = 0;
    for (size_t i = 0; i < d->n; i += tuning.samples) {
        size_t n = d->n - i < tuning.samples ? d->n - i : tuning.samples;
        stair_channel_result part = {.logz = d->logz + i,
                                     .g = d->g + i * size,
                                     .dg = d->dg + i * size * size,
                                     .error = d->error + i,
                                     .nodes = d->nodes + i,
                                     .method = d->method + i};
        double stick = measure_stick(), start = stair_thread_seconds();
        STAIR_TRY(stair_channel_evaluate(context, d->model, &options, i, n,
                                         d->labels + i * (size_t)d->info.label_size, d->omega + i * size, n,
                                         d->cov + i * cov, &part));
        double spent = stair_thread_seconds() - start;
        *cost += spent / (0.5 * (stick + measure_stick()));
    }
    return STAIR_OK;
}

static stair_status run_case(stair_context *context, const bench_case *c, size_t points, stair_bench_row *row)
{
    bench_data d = {0};
    *row = (stair_bench_row){.cov_low = c->low,
                             .cov_high = c->high,
                             .precision = c->precision,
                             .points = points,
                             .limit = c->limit};
    snprintf(row->model, sizeof row->model, "%s", c->model);
    stair_status status = prepare(context, c, points, &d);
    double best = INFINITY, cost;
    for (int r = 0; r < tuning.repeats && status == STAIR_OK; r++) {
        status = time_points(context, c, &d, &cost);
        if (r) best = fmin(best, cost); /* the first one builds tables */
    }
    if (status == STAIR_OK) status = verify(context, c, &d, row);
    if (status == STAIR_OK) {
        double nodes = 0, exps = 0, m = d.info.tokens;
        for (size_t i = 0; i < points; i++) {
            /* two signs, and the hidden softmaxes where they are not tabulated */
            double each =
                2 + (d.method[i] == STAIR_RULE_LAYERED ? 0 : (d.info.layers - 1) * (m == 2 ? 2 : m * m));
            nodes += (double)d.nodes[i];
            exps += each * (double)d.nodes[i];
        }
        row->nodes = nodes / (double)points;
        row->cost = best / (double)points;
        row->needed = exps / (double)points;
        row->passed = row->passed && (c->limit == 0 || row->cost <= c->limit);
    }
    release(&d);
    return status;
}

stair_status stair_bench_channel(stair_context *context, size_t points, int capacity, stair_bench_row *rows,
                                 int *count)
{
    int threads = context->threads;
    stair_status status = STAIR_OK;
    *count = 0;
    if (points < 16)
        return stair_fail(context, STAIR_BAD_INPUT, "the benchmark needs at least 16 points, not %zu",
                          points);
    context->threads = 1; /* processor time of one thread is what is measured */
    for (size_t k = 0; k < sizeof cases / sizeof *cases && *count < capacity && status == STAIR_OK;
         k++, ++*count)
        status = run_case(context, &cases[k], points, &rows[*count]);
    context->threads = threads;
    return status;
}
