/* A card against the processor: its random numbers, both products with X, posteriors, whole runs, and twice
 * the same bytes.  Without cmocka, which a machine with a card may not have: prints 'N passed, M failed', and
 * is skipped (77) where there is no card. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "cuda/gamp.h"
#include "gamp/gamp.h"
#include "kernels/rows.h"

static stair_context *context;
static int passed, failed;

static void verdict(bool good, const char *what, double number)
{
    printf("%-6s %-58s %.2e\n", good ? "ok" : "FAILED", what, number);
    fflush(stdout);
    if (good)
        passed++;
    else
        failed++;
}

static bool tried(stair_status status, const char *what)
{
    if (status == STAIR_OK) return true;
    printf("FAILED %-58s %s\n", what, stair_context_message(context));
    failed++;
    return false;
}

/* ---- X and its products ------------------------------------------------------------------------------ */

typedef struct {
    int dim, tokens, indices;
    size_t samples;
} shape;

typedef struct {
    float *x, *w, *c; /* on the host: x (rows, dim), w (P, dim), c (rows, 4) */
    double *z, *b;    /* expected */
} expected;

static void expect(const shape *s, expected *e)
{
    size_t dim = (size_t)s->dim, rows = s->samples * (size_t)s->tokens, p = (size_t)s->indices;
    e->x = malloc(rows * dim * sizeof(float));
    e->w = malloc(p * dim * sizeof(float));
    e->c = calloc(4 * rows, sizeof(float));
    e->z = calloc(rows * p, sizeof(double));
    e->b = calloc(p * dim, sizeof(double));
    for (size_t i = 0; i < s->samples; i++)
        stair_rng_normals_single(9, STAIR_RNG_DATA, 1000 + i, s->tokens * s->dim,
                                 e->x + i * (size_t)s->tokens * dim);
    for (size_t k = 0; k < p; k++) stair_rng_normals_single(9, STAIR_RNG_TEACHER, k, s->dim, e->w + k * dim);
    for (size_t i = 0; i < rows; i++)
        stair_rng_normals_single(9, STAIR_RNG_SIDE, i, s->indices, e->c + 4 * i);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < p; k++)
            for (size_t d = 0; d < dim; d++) {
                e->z[i * p + k] += (double)e->x[i * dim + d] * (double)e->w[k * dim + d];
                e->b[k * dim + d] += (double)e->x[i * dim + d] * (double)e->c[4 * i + k];
            }
}

static double farthest(size_t n, const double *a, const double *b)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, isfinite(b[i]) ? fabs(a[i] - b[i]) : INFINITY);
    return most;
}

/* Both products, of stored X (and what was drawn) or of X drawn by the kernels, twice; the second time drawn
 * X is kept. */
static void check_products(const shape *s, bool drawn)
{
    stair_device *device = context->device;
    size_t pitch = stair_rows_pitch(s->dim), rows = s->samples * (size_t)s->tokens, p = (size_t)s->indices,
           dim = (size_t)s->dim;
    expected e;
    char text[100];
    stair_card_rows r = {.dim = s->dim,
                         .tokens = s->tokens,
                         .indices = s->indices,
                         .pitch = pitch,
                         .rows = rows,
                         .key = 9 ^ ((uint64_t)STAIR_RNG_DATA * 0x9E3779B97F4A7C15u),
                         .first = 1000};
    float *x, *w, *c, *wide = calloc(p * pitch, sizeof *wide), *back = malloc(rows * pitch * sizeof *back);
    double *z, *b, *parts, *host = malloc((rows + dim) * p * sizeof *host),
                           *again = malloc(dim * p * sizeof *again);
    snprintf(text, sizeof text, "D=%d N=%zu M=%d P=%d %s", s->dim, s->samples, s->tokens, s->indices,
             drawn ? "drawn" : "stored");
    expect(s, &e);
    for (size_t k = 0; k < p; k++) memcpy(wide + k * pitch, e.w + k * dim, dim * sizeof *wide);
    stair_status st = stair_cuda_alloc(context, device, rows * pitch * sizeof *x, "X", (void **)&x);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, p * pitch * sizeof *w, "w", (void **)&w);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, 4 * rows * sizeof *c, "c", (void **)&c);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, rows * p * sizeof *z, "z", (void **)&z);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, dim * p * sizeof *b, "b", (void **)&b);
    if (st == STAIR_OK)
        st =
            stair_cuda_alloc(context, device, stair_card_parts(&r) * sizeof *parts, "parts", (void **)&parts);
    if (st == STAIR_OK) st = stair_cuda_up(context, device, w, wide, p * pitch * sizeof *w);
    if (st == STAIR_OK) st = stair_cuda_up(context, device, c, e.c, 4 * rows * sizeof *c);
    if (!tried(st, "memory and copies")) return;
    if (!drawn) {
        double most = 0;
        if (!tried(stair_card_draw(context, device, &r, x), "drawing X")) return;
        if (!tried(stair_cuda_down(context, device, back, x, rows * pitch * sizeof *x), "copying X")) return;
        for (size_t i = 0; i < rows; i++)
            for (size_t d = 0; d < pitch; d++)
                most =
                    fmax(most, fabs((double)back[i * pitch + d] - (d < dim ? (double)e.x[i * dim + d] : 0)));
        char what[140];
        snprintf(what, sizeof what, "%s: X drawn", text);
        verdict(most < 3e-6, what, most);
        r.x = x;
    }
    for (int turn = 0; turn < 2; turn++) {
        char what[140];
        if (drawn && turn) r.keep = x; /* what project draws is what collect then reads */
        if (!tried(stair_card_project(context, device, &r, w, z), "project")) return;
        if (drawn && turn) r.x = x;
        if (!tried(stair_cuda_down(context, device, host, z, rows * p * sizeof *z), "project")) return;
        double most = farthest(rows * p, e.z, host) / sqrt((double)dim);
        snprintf(what, sizeof what, "%s: project", text);
        verdict(most < 5e-6, what, most);
        if (!tried(stair_card_collect(context, device, &r, c, turn, parts, b), "collect")) return;
        if (!tried(stair_cuda_down(context, device, again, b, dim * p * sizeof *b), "collect")) return;
        if (!turn) memcpy(host + rows * p, again, dim * p * sizeof *b);
        most = farthest(dim * p, e.b, host + rows * p) / sqrt((double)rows);
        snprintf(what, sizeof what, "%s: collect", text);
        if (!turn) verdict(most < 5e-6, what, most);
        for (size_t i = 0; i < dim * p && turn; i++) again[i] *= 0.5;
        snprintf(what, sizeof what, "%s: the same added once more", text);
        if (turn) verdict(!memcmp(again, host + rows * p, dim * p * sizeof *b), what, 0);
    }
    void *const cards[] = {x, w, c, z, b, parts};
    for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) stair_cuda_free(device, cards[k]);
    void *const hosts[] = {e.x, e.w, e.c, e.z, e.b, wide, back, host, again};
    for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++) free(hosts[k]);
}

/* ---- posteriors -------------------------------------------------------------------------------------- */

/* The kernel of pairs on the card and the same code on the host. */
static void check_pairs(double v1, double v2, double off)
{
    enum { N = 2000 };
    stair_device *device = context->device;
    static float h[2 * N], c[8 * N], error[N];
    static double omega[4 * N], g[4 * N], says[9 * N];
    double cov[4] = {v1, off, off, v2}, lower[4], w[4], half_logdet, most = 0, of_error = 0;
    stair_matrix_whiten(2, cov, lower, w, &half_logdet);
    stair_pair_form form = {.rows = 2,
                            .skip = 1,
                            .lower = (float)lower[0],
                            .w11 = (float)w[0],
                            .w21 = (float)w[2],
                            .w22 = (float)w[3],
                            .cutoff = 20,
                            .precision = 0.05f};
    for (size_t i = 0; i < N; i++) {
        double n[8], z[4];
        stair_rng_normals(2, STAIR_RNG_POINTS, i, 8, n);
        for (int k = 0; k < 4; k++) {
            double v = k < 2 ? v1 : v2;
            omega[4 * i + (size_t)k] = sqrt(fmax(0, 1 - v)) * n[k];
            z[k] = omega[4 * i + (size_t)k] + sqrt(v) * n[4 + k];
        }
        double o1 = 1 / (1 + exp(z[0] * (z[0] - z[1]))), o2 = 1 / (1 + exp(-z[1] * (z[0] - z[1])));
        h[2 * i] = (float)((2 - o1) * z[2] + o1 * z[3]);
        h[2 * i + 1] = (float)(o2 * z[2] + (2 - o2) * z[3]);
    }
    stair_card_samples s = {0};
    float *card_h;
    stair_status st = stair_cuda_alloc(context, device, sizeof h, "h", (void **)&card_h);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, sizeof omega, "omega", (void **)&s.omega);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, sizeof g, "g", (void **)&s.next_g);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, sizeof c, "c", (void **)&s.c);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, sizeof says, "says", (void **)&s.says);
    if (st == STAIR_OK) st = stair_cuda_alloc(context, device, sizeof error, "errors", (void **)&s.error);
    if (st == STAIR_OK) st = stair_cuda_up(context, device, card_h, h, sizeof h);
    if (st == STAIR_OK) st = stair_cuda_up(context, device, s.omega, omega, sizeof omega);
    s.h = card_h;
    if (st == STAIR_OK) st = stair_card_pair(context, device, &form, w, N, NULL, &s);
    if (st == STAIR_OK) st = stair_cuda_down(context, device, g, s.next_g, sizeof g);
    if (st == STAIR_OK) st = stair_cuda_down(context, device, error, s.error, sizeof error);
    if (st == STAIR_OK) st = stair_cuda_down(context, device, says, s.says, sizeof says);
    if (!tried(st, "posteriors")) return;
    int served = 0;
    for (size_t i = 0; i < N; i++) {
        stair_pair_sample sample = stair_pair_open(&form, w, h + 2 * i, omega + 4 * i);
        stair_pair_moments m;
        double want[4] = {0}, want_says[9];
        float want_c[8], said;
        int nodes;
        stair_pair_posterior(&form, &sample, 0, &m, &said, &nodes);
        stair_pair_write(&form, w, &m, said, want, want_c, want_says);
        if (!(said <= 0.05f) || !(error[i] <= 0.05f)) continue;
        served++;
        for (int k = 0; k < 4; k++)
            most = fmax(most, isfinite(g[4 * i + (size_t)k])
                                  ? fabs(g[4 * i + (size_t)k] - want[k]) * sqrt(fmin(v1, v2))
                                  : INFINITY);
        for (int k = 0; k < 8; k++)
            most = fmax(most, isfinite(says[9 * i + (size_t)k])
                                  ? 0.1 * fabs(says[9 * i + (size_t)k] - want_says[k]) * fmin(v1, v2)
                                  : INFINITY);
        of_error = fmax(of_error, fabs((double)(error[i] - said)));
    }
    char text[100];
    snprintf(text, sizeof text, "posteriors V=%g %g: %d of %d served", v1, v2, served, N);
    verdict(most < 3e-3 && served > 9 * N / 10, text, most);
    void *const cards[] = {card_h, s.omega, s.next_g, s.c, s.says, s.error};
    for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) stair_cuda_free(device, cards[k]);
}

/* ---- runs -------------------------------------------------------------------------------------------- */

static stair_gamp_result *run(const stair_model *model, const stair_gamp_options *how, const char *device)
{
    stair_gamp_result *result = NULL;
    if (!tried(stair_context_set_device(context, device), device)) return NULL;
    tried(stair_gamp(context, model, how, &result), "a run");
    return result;
}

static void check_run(const char *spec, int dim, double alpha, bool regenerate)
{
    stair_model *model;
    stair_gamp_options how = stair_gamp_defaults();
    how.dim = dim;
    how.alpha = alpha;
    how.regenerate = regenerate;
    how.start_overlap = 0.3;
    how.max_iterations = 5;
    how.precision = 1e-3;
    how.test = 64;
    if (!tried(stair_model_create(context, spec, &model), spec)) return;
    stair_gamp_result *host = run(model, &how, "cpu"), *there = run(model, &how, "cuda"),
                      *again = run(model, &how, "cuda");
    if (host && there && again) {
        char text[100];
        size_t p = (size_t)host->indices, last = (size_t)host->run->count * p * p;
        bool same = there->run->count == host->run->count;
        double q = same ? farthest(last, host->run->q, there->run->q) : INFINITY,
               v = same ? farthest(last, host->run->v, there->run->v) : INFINITY;
        snprintf(text, sizeof text, "%s D=%d %s", spec, dim, regenerate ? "drawn" : "stored");
        verdict(q < 3e-3 && v < 3e-3, text, fmax(q, v));
        verdict(!memcmp(there->run->weights, again->run->weights, p * (size_t)dim * sizeof(double)),
                "  the same bytes again", 0);
    }
    stair_gamp_result_destroy(&host);
    stair_gamp_result_destroy(&there);
    stair_gamp_result_destroy(&again);
    stair_model_destroy(&model);
}

/* A pass that reads X once against one that reads it twice; share: of samples whose posteriors are hard. */
static void check_once(const char *spec, int dim, double alpha, double precision)
{
    stair_model *model;
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result[3] = {NULL};
    how.dim = dim;
    how.alpha = alpha;
    how.start_overlap = 0.5;
    how.max_iterations = 4;
    how.precision = precision;
    how.test = 64;
    if (!tried(stair_model_create(context, spec, &model), spec)) return;
    if (!tried(stair_context_set_device(context, "cuda"), "cuda")) return;
    for (int k = 0; k < 3; k++) {
        context->device->twice = k == 0;
        tried(stair_gamp(context, model, &how, &result[k]), "a run");
    }
    if (result[0] && result[1] && result[2]) {
        char text[100];
        size_t p = (size_t)result[0]->indices, last = (size_t)result[0]->run->count * p * p;
        double q = farthest(last, result[0]->run->q, result[1]->run->q),
               weights = farthest(p * (size_t)dim, result[0]->run->weights, result[1]->run->weights);
        snprintf(text, sizeof text, "%s D=%d, X read once, %.0e", spec, dim, precision);
        verdict(q < 0.1 * precision + 1e-5 && weights < 30 * (0.1 * precision + 1e-5), text,
                fmax(q, weights / 30));
        verdict(!memcmp(result[1]->run->weights, result[2]->run->weights, p * (size_t)dim * sizeof(double)),
                "  the same bytes again", 0);
    }
    context->device->twice = false;
    for (int k = 0; k < 3; k++) stair_gamp_result_destroy(&result[k]);
    stair_model_destroy(&model);
}

static void check_too_much(void)
{
    stair_model *model;
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result = NULL;
    how.dim = 1000000;
    if (!tried(stair_model_create(context, "attention:layers=2", &model), "a model")) return;
    stair_status status = stair_gamp(context, model, &how, &result);
    printf("       %s\n", stair_context_message(context));
    verdict(status == STAIR_NO_MEMORY, "too much for the card is said", status);
    verdict(stair_context_set_device(context, "cuda:77") == STAIR_BAD_INPUT, "a card that is not there", 0);
    stair_model_destroy(&model);
}

int main(void)
{
    static const shape shapes[] = {{64, 2, 1, 50},   {257, 1, 2, 100},  {1000, 2, 2, 700}, {1002, 2, 3, 333},
                                   {4099, 2, 4, 64}, {20000, 2, 2, 40}, {130, 3, 3, 3001}};
    if (stair_context_create(&context) != STAIR_OK) return 1;
    if (stair_context_set_device(context, "cuda") != STAIR_OK) {
        printf("%s\n", stair_context_message(context));
        stair_context_destroy(&context);
        return 77;
    }
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int drawn = 0; drawn < 2; drawn++)
            if (!drawn || shapes[k].dim % 2 == 0) check_products(&shapes[k], drawn);
    check_pairs(1, 1, 0);
    check_pairs(0.3, 0.5, 0.1);
    check_pairs(1e-2, 1e-2, 0);
    check_pairs(1e-4, 1e-4, 0);
    check_run("attention:layers=2", 400, 2, false);
    check_run("attention:layers=2", 400, 2, true);
    check_run("attention:layers=2", 401, 2, false);
    check_run("attention:layers=2", 401, 2, true);
    check_run("attention:layers=1", 1000, 1, false);
    check_run("attention:layers=2,skip=4", 300, 2, true);
    check_run("attention:layers=3", 60, 2, false);
    check_once("attention:layers=2", 25600, 0.1, 1e-2);
    check_once("attention:layers=2", 30003, 0.1, 1e-4);
    check_once("attention:layers=2", 110000, 0.02, 1e-2);
    check_once("attention:layers=2", 210001, 0.01, 1e-2);
    check_once("attention:layers=1", 40002, 0.1, 1e-3);
    check_run("square", 500, 2, false);
    check_run("committee", 200, 3, true);
    if (stair_context_set_device(context, "cuda") == STAIR_OK) check_too_much();
    stair_context_destroy(&context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
