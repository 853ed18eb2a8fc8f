/* What `stair bench` measures: every benchmark verifies, then times.  Not part of the library. */
#ifndef STAIR_BENCH_H
#define STAIR_BENCH_H

#include "stair.h"

/* ---- channel.c: in units of one vector exp --------------------------------------------------- */

typedef struct {
    char model[96];
    double cov_low, cov_high, precision;
    size_t points;
    double worst_error; /* measured against a finer rule, relative */
    double nodes;       /* mean integrand evaluations per sample */
    double cost;        /* mean exp-equivalents per sample */
    double needed;      /* exps the visited nodes need, nothing else counted */
    double limit;       /* the promised ceiling of cost, or 0 */
    bool passed;
} stair_bench_row;
stair_status stair_bench_channel(stair_context *context, size_t points, int capacity, stair_bench_row *rows,
                                 int *count);

/* ---- staircase.c: what a user waits for -------------------------------------------------------- */

typedef struct {
    char model[96];
    double precision;      /* asked for */
    double error;          /* reached: largest relative error of a threshold, or error of an overlap */
    int steps;             /* or points of a curve */
    double seconds, limit; /* wall time; the promised one, or 0 */
    bool passed;
} stair_staircase_row;
/* `curves`: only the curves of overlaps, which take minutes, instead of the rest. */
stair_status stair_bench_staircase(stair_context *context, bool curves, int capacity,
                                   stair_staircase_row *rows, int *count);

/* ---- amp.c: iterations of GAMP ----------------------------------------------------------------- */

typedef struct {
    char what[64];
    int dim;
    size_t samples;
    int iterations;
    double seconds; /* wall time of one iteration */
    double pass, draw, channel,
        rest;         /* processor seconds of one: the products with X, drawing X, denoising, all else */
    double value;     /* of the quantity called `unit` */
    const char *unit; /* "of read bandwidth", "GB at most", "minutes for 16 runs" */
    double limit;     /* what is promised of it */
    double error;     /* of the products, against plain sums, relative; NaN where they are not made */
    bool passed;
} stair_amp_row;
stair_status stair_bench_amp(stair_context *context, int capacity, stair_amp_row *rows, int *count);

#endif
