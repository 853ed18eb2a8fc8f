/* What a card can do, and how near to it the kernels of a pass come:
 *
 *   gpu_bench [DIM [ALPHA]]     two tokens; X of DIM x ALPHA DIM samples must fit on the card
 *
 * Reading, exps and normals by themselves; then project and collect for P = 1, 2, 3 over stored X, as shares
 * of reading; over drawn X, kept for collect or not, as shares of the normals; the posteriors of two layers
 * as a share of the exps that their nodes need.  Times are medians of several by the clock of the card.  A
 * program of its own: it is built with STAIR_CUDA alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "cuda/denoise.h"
#include "cuda/once.h"
#include "cuda/products.h"
#include "kernels/rows.h"

enum { REPEATS = 5, TOKENS = 2, MOST = 3 };

typedef struct {
    stair_context *context;
    stair_device *device;
    stair_card_rows rows;
    float *x, *w, *c, *out;
    double *z, *parts, *b;
} bench;

typedef stair_status work(bench *b, int number);

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static stair_status timed(bench *b, work *what, int number, double *seconds)
{
    double all[REPEATS];
    STAIR_TRY(what(b, number)); /* warm */
    STAIR_TRY(stair_cuda_wait(b->context, b->device));
    for (int k = 0; k < REPEATS; k++) {
        void *clock;
        STAIR_TRY(stair_cuda_clock_start(b->context, b->device, &clock));
        STAIR_TRY(what(b, number));
        STAIR_TRY(stair_cuda_clock_stop(b->context, b->device, clock, &all[k]));
    }
    qsort(all, REPEATS, sizeof *all, by_size);
    *seconds = all[REPEATS / 2];
    return STAIR_OK;
}

static size_t x_floats(const bench *b)
{
    return b->rows.rows * b->rows.pitch;
}

static stair_status read_x(bench *b, int number)
{
    (void)number;
    return stair_card_read(b->context, b->device, b->x, x_floats(b), b->b);
}

static stair_status draw_x(bench *b, int number)
{
    (void)number;
    return stair_card_draw(b->context, b->device, &b->rows, b->x);
}

enum { EXP_EACH = 1 << 14, NORMAL_EACH = 1 << 12 };

static stair_status exps(bench *b, int blocks)
{
    return stair_card_exps(b->context, b->device, blocks, EXP_EACH, b->out);
}

static stair_status normals(bench *b, int blocks)
{
    return stair_card_normals(b->context, b->device, blocks, NORMAL_EACH, b->out);
}

enum { KEPT = 10 };

/* number: P, below zero of drawn X, KEPT more where project keeps it */
static stair_card_rows rows_for(const bench *b, int number)
{
    stair_card_rows rows = b->rows;
    rows.indices = abs(number) % KEPT;
    rows.x = number > 0 ? b->x : NULL;
    rows.keep = number < -KEPT ? b->x : NULL;
    return rows;
}

static stair_status project(bench *b, int number)
{
    stair_card_rows rows = rows_for(b, number);
    return stair_card_project(b->context, b->device, &rows, b->w, b->z);
}

static stair_status collect(bench *b, int number)
{
    stair_card_rows rows = rows_for(b, number);
    return stair_card_collect(b->context, b->device, &rows, b->c, false, b->parts, b->b);
}

static stair_status make(bench *b, size_t bytes, void *out)
{
    return stair_cuda_alloc(b->context, b->device, bytes, "a benchmark", out);
}

static stair_status fill(bench *b)
{
    size_t rows = b->rows.rows, w = MOST * b->rows.pitch, c = 4 * rows, most = w > c ? w : c;
    stair_card_rows wide = b->rows;
    wide.indices = MOST;
    STAIR_TRY(make(b, x_floats(b) * sizeof(float), &b->x));
    STAIR_TRY(make(b, w * sizeof(float), &b->w));
    STAIR_TRY(make(b, c * sizeof(float), &b->c));
    STAIR_TRY(make(b, rows * MOST * sizeof(double), &b->z));
    STAIR_TRY(make(b, stair_card_parts(&wide) * sizeof(double), &b->parts));
    STAIR_TRY(make(b, w * sizeof(double), &b->b));
    STAIR_TRY(make(b, sizeof(float), &b->out));
    float *host = calloc(most, sizeof *host);
    if (!host) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < most; i++) host[i] = (float)((double)(i * 2654435761u % 2000003u) / 1000001.5 - 1);
    stair_status status = stair_cuda_up(b->context, b->device, b->w, host, w * sizeof *host);
    if (status == STAIR_OK) status = stair_cuda_up(b->context, b->device, b->c, host, c * sizeof *host);
    free(host);
    return status;
}

static stair_status rates(bench *b, double *read_rate, double *exp_rate, double *normal_rate)
{
    double s, bytes = (double)x_floats(b) * sizeof(float);
    int blocks = 16 * b->device->processors;
    STAIR_TRY(timed(b, draw_x, 0, &s));
    printf("draw X               %9.3f ms   %8.3g normals/s\n", 1e3 * s, (double)x_floats(b) / s);
    STAIR_TRY(timed(b, read_x, 0, &s));
    *read_rate = bytes / s;
    printf("read X               %9.3f ms   %8.1f GB/s\n", 1e3 * s, 1e-9 * *read_rate);
    STAIR_TRY(timed(b, exps, blocks, &s));
    *exp_rate = 256.0 * blocks * EXP_EACH / s;
    printf("exps                 %9.3f ms   %8.3g /s\n", 1e3 * s, *exp_rate);
    STAIR_TRY(timed(b, normals, blocks, &s));
    *normal_rate = 256.0 * blocks * NORMAL_EACH / s;
    printf("normals              %9.3f ms   %8.3g /s\n", 1e3 * s, *normal_rate);
    return STAIR_OK;
}

static stair_status products(bench *b, double read_rate, double normal_rate)
{
    double bytes = (double)x_floats(b) * sizeof(float), numbers = (double)x_floats(b), s[2];
    for (int p = 1; p <= MOST; p++) {
        STAIR_TRY(timed(b, project, p, &s[0]));
        STAIR_TRY(timed(b, collect, p, &s[1]));
        printf("stored P=%d           %9.3f ms project: %3.0f %% of reading, %9.3f ms collect: %3.0f %%, "
               "both %3.0f "
               "%% of one read\n",
               p, 1e3 * s[0], 100 * bytes / s[0] / read_rate, 1e3 * s[1], 100 * bytes / s[1] / read_rate,
               100 * bytes / (s[0] + s[1]) / read_rate);
        STAIR_TRY(timed(b, project, -p, &s[0]));
        STAIR_TRY(timed(b, collect, -p, &s[1]));
        printf("drawn  P=%d           %9.3f ms project: %3.0f %% of normals, %9.3f ms collect: %3.0f %%, "
               "%.3g and %.3g "
               "/s\n",
               p, 1e3 * s[0], 100 * numbers / s[0] / normal_rate, 1e3 * s[1],
               100 * numbers / s[1] / normal_rate, numbers / s[0], numbers / s[1]);
        STAIR_TRY(timed(b, project, -p - KEPT, &s[0]));
        STAIR_TRY(timed(b, collect, p, &s[1]));
        printf(
            "kept   P=%d           %9.3f ms project: %3.0f %% of normals, %9.3f ms collect: %.3g numbers/s "
            "for both\n",
            p, 1e3 * s[0], 100 * numbers / s[0] / normal_rate, 1e3 * s[1], numbers / (s[0] + s[1]));
        fflush(stdout);
    }
    return STAIR_OK;
}

/* ---- posteriors of two layers ------------------------------------------------------------------------ */

typedef struct {
    stair_pair_form form;
    double w[4];
    size_t n;
    stair_card_samples s;
} pairs;

static pairs *now;

static stair_status posteriors(bench *b, int number)
{
    (void)number;
    return stair_card_pair(b->context, b->device, &now->form, now->w, now->n, NULL, &now->s);
}

/* Samples of the model at overlap 1 - v: omega, u, z normal, h = B(u) z. */
static void draw_pair(size_t i, double v, float *h, double *omega)
{
    double n[8], u[2], z[2];
    stair_rng_normals(1, STAIR_RNG_POINTS, i, 8, n);
    for (int t = 0; t < 2; t++) {
        omega[t] = sqrt(1 - v) * n[t];
        omega[2 + t] = sqrt(1 - v) * n[2 + t];
        u[t] = omega[t] + sqrt(v) * n[4 + t];
        z[t] = omega[2 + t] + sqrt(v) * n[6 + t];
    }
    double o1 = 1 / (1 + exp(u[0] * (u[0] - u[1]))), o2 = 1 / (1 + exp(-u[1] * (u[0] - u[1])));
    h[0] = (float)((2 - o1) * z[0] + o1 * z[1]);
    h[1] = (float)(o2 * z[0] + (2 - o2) * z[1]);
}

static stair_status pair_rate(bench *b, double v, double exp_rate)
{
    size_t n = 1 << 18, width = stair_card_says(2);
    float root = (float)sqrt(v);
    pairs all = {.form = {.rows = 2,
                          .skip = 1,
                          .lower = root,
                          .w11 = 1 / root,
                          .w22 = 1 / root,
                          .cutoff = 20,
                          .precision = 0.05f},
                 .w = {1 / sqrt(v), 0, 0, 1 / sqrt(v)},
                 .n = n};
    float *h = malloc(2 * n * sizeof *h), *error = malloc(n * sizeof *error);
    double *omega = malloc(4 * n * sizeof *omega), s;
    float *card_h;
    if (!h || !omega || !error) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) draw_pair(i, v, h + 2 * i, omega + 4 * i);
    STAIR_TRY(make(b, 2 * n * sizeof(float), &card_h));
    STAIR_TRY(make(b, 4 * n * sizeof(double), &all.s.omega));
    STAIR_TRY(make(b, 4 * n * sizeof(double), &all.s.next_g));
    STAIR_TRY(make(b, 8 * n * sizeof(float), &all.s.c));
    STAIR_TRY(make(b, width * n * sizeof(double), &all.s.says));
    STAIR_TRY(make(b, n * sizeof(float), &all.s.error));
    STAIR_TRY(stair_cuda_up(b->context, b->device, card_h, h, 2 * n * sizeof *h));
    STAIR_TRY(stair_cuda_up(b->context, b->device, all.s.omega, omega, 4 * n * sizeof *omega));
    all.s.h = card_h;
    now = &all;
    STAIR_TRY(timed(b, posteriors, 0, &s));
    STAIR_TRY(stair_cuda_down(b->context, b->device, error, all.s.error, n * sizeof *error));
    size_t rest = 0, looked = 0;
    double exps_needed = 0, mean = 0;
    for (size_t i = 0; i < n; i++) { /* the same on the host says how many nodes it took: of a few */
        rest += !(error[i] <= all.form.precision);
        mean += error[i] <= 1 ? error[i] / (double)n : 0;
        if (i % 1024) continue;
        stair_pair_sample sample = stair_pair_open(&all.form, all.w, h + 2 * i, omega + 4 * i);
        stair_pair_moments m;
        float said;
        int nodes, sums = 0, side = 1 << 2 * STAIR_PAIR_BITS;
        stair_pair_posterior(&all.form, &sample, 0, &m, &said, &nodes);
        for (int of = side; of <= nodes; of *= 4)
            sums += 4 * of; /* two for the softmax, two for the weights */
        stair_pair_terms terms = stair_pair_ready(&all.form, &sample);
        stair_pair_box box;
        stair_pair_team team = stair_pair_warp(0);
        exps_needed += sums + 2 * side * stair_pair_look(&all.form, &terms, &team, &box, &said);
        looked++;
    }
    exps_needed *= (double)n / (double)looked;
    printf("posteriors V=%-7g %9.3f ms for %zu: %.3g exps/s, %3.0f %% of exps; mean error %.1e, %zu for the "
           "processor\n",
           v, 1e3 * s, n, exps_needed / s, 100 * exps_needed / s / exp_rate, mean, rest);
    void *const cards[] = {card_h, all.s.omega, all.s.next_g, all.s.c, all.s.says, all.s.error};
    for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) stair_cuda_free(b->device, cards[k]);
    free(h);
    free(omega);
    free(error);
    return STAIR_OK;
}

/* ---- a pass that reads X once ------------------------------------------------------------------------ */

typedef struct {
    stair_memory_form memory;
    stair_pair_form form;
    double w[4];
    stair_card_samples s;
} whole_pass;

static whole_pass *whole;

static stair_status pass_once(bench *b, int indices)
{
    stair_card_rows rows = rows_for(b, indices);
    return stair_card_once(b->context, b->device, &rows, b->w, &whole->memory, &whole->form, whole->w,
                           &whole->s, b->parts, b->b);
}

/* Labels of the prior, and W as it is: what posteriors say does not matter here, but how hard they are. */
static stair_status once_rate(bench *b, int indices, double read_rate)
{
    size_t n = b->rows.rows / TOKENS, cells = (size_t)(TOKENS * indices), width = stair_card_says(indices),
           hard = 0;
    double bytes = (double)x_floats(b) * sizeof(float), s, root = sqrt(0.5);
    whole_pass all = {
        .memory = {.rows = indices, .tokens = TOKENS, .scale = 1 / sqrt((double)b->rows.dim), .onsager = 1},
        .form = {.rows = indices,
                 .skip = 1,
                 .lower = (float)root,
                 .w11 = (float)(1 / root),
                 .w22 = (float)(1 / root),
                 .cutoff = 20,
                 .precision = 0.01f},
        .w = {1 / root, 0, 0, 1 / root}};
    stair_card_rows rows = rows_for(b, indices);
    if (!stair_card_once_serves(b->device, &rows)) {
        printf("once   P=%d           not for this shape or card\n", indices);
        return STAIR_OK;
    }
    float *h = malloc(2 * n * sizeof *h), *error = malloc(n * sizeof *error), *card_h;
    double omega[4], *zero;
    if (!h || !error) return stair_fail(b->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) draw_pair(i, 0.5, h + 2 * i, omega);
    STAIR_TRY(make(b, 2 * n * sizeof(float), &card_h));
    STAIR_TRY(make(b, cells * n * sizeof(double), &zero));
    STAIR_TRY(make(b, cells * n * sizeof(double), &all.s.omega));
    STAIR_TRY(make(b, cells * n * sizeof(double), &all.s.next_g));
    STAIR_TRY(make(b, cells * n * sizeof(double), &all.s.next_o));
    STAIR_TRY(make(b, 8 * n * sizeof(float), &all.s.c));
    STAIR_TRY(make(b, width * n * sizeof(double), &all.s.says));
    STAIR_TRY(make(b, n * sizeof(float), &all.s.error));
    STAIR_TRY(stair_cuda_up(b->context, b->device, card_h, h, 2 * n * sizeof *h));
    STAIR_TRY(stair_cuda_zero(b->context, b->device, zero, cells * n * sizeof(double)));
    all.s.g = all.s.o = zero;
    all.s.h = card_h;
    whole = &all;
    STAIR_TRY(timed(b, pass_once, indices, &s));
    STAIR_TRY(stair_cuda_down(b->context, b->device, error, all.s.error, n * sizeof *error));
    for (size_t i = 0; i < n; i++) hard += !(error[i] <= all.form.precision);
    printf("once   P=%d           %9.3f ms, products and posteriors: %3.0f %% of one read; %.1f %% of the "
           "samples "
           "need more\n",
           indices, 1e3 * s, 100 * bytes / s / read_rate, 100.0 * (double)hard / (double)n);
    fflush(stdout);
    void *const cards[] = {card_h,       zero,    all.s.omega, all.s.next_g,
                           all.s.next_o, all.s.c, all.s.says,  all.s.error};
    for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) stair_cuda_free(b->device, cards[k]);
    free(h);
    free(error);
    return STAIR_OK;
}

static stair_status run(bench *b, int dim, double alpha)
{
    double read_rate, exp_rate, normal_rate;
    size_t samples = (size_t)llround(alpha * dim);
    STAIR_TRY(stair_context_set_device(b->context, "cuda"));
    b->device = b->context->device;
    b->rows = (stair_card_rows){.dim = dim,
                                .tokens = TOKENS,
                                .indices = 1,
                                .pitch = stair_rows_pitch(dim),
                                .rows = samples * TOKENS,
                                .key = 1};
    printf("%s, %d multiprocessors, %.1f GB, cache %.0f MB; D = %d, N = %zu, X %.2f GB\n", b->device->card,
           b->device->processors, 1e-9 * (double)b->device->memory, 1e-6 * (double)b->device->cache, dim,
           samples, 1e-9 * (double)x_floats(b) * sizeof(float));
    STAIR_TRY(fill(b));
    STAIR_TRY(rates(b, &read_rate, &exp_rate, &normal_rate));
    for (int p = 1; p <= 2; p++) STAIR_TRY(once_rate(b, p, read_rate));
    STAIR_TRY(products(b, read_rate, normal_rate));
    for (double v = 1; v > 0.5e-4; v *= 0.1) STAIR_TRY(pair_rate(b, v, exp_rate));
    return STAIR_OK;
}

int main(int argc, char **argv)
{
    bench b = {0};
    int dim = argc > 1 ? atoi(argv[1]) : 20000;
    double alpha = argc > 2 ? atof(argv[2]) : 0.9;
    if (dim < 4 || dim > 10000000 || !(alpha > 0) || stair_context_create(&b.context) != STAIR_OK) return 2;
    stair_status status = run(&b, dim, alpha);
    if (status != STAIR_OK) fprintf(stderr, "gpu_bench: %s\n", stair_context_message(b.context));
    void *const cards[] = {b.x, b.w, b.c, b.z, b.parts, b.b, b.out};
    for (size_t k = 0; b.device && k < sizeof cards / sizeof *cards; k++) stair_cuda_free(b.device, cards[k]);
    stair_context_destroy(&b.context);
    return status != STAIR_OK;
}
