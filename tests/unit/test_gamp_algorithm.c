/* GAMP against its equations written out plainly, and what must hold of any run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_close.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "stair.h"

typedef struct {
    stair_context *context;
    stair_model *model;
} fixture;

static fixture open_model(const char *spec)
{
    fixture f;
    assert_int_equal(stair_context_create(&f.context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(f.context, 1), STAIR_OK);
    assert_int_equal(stair_model_create(f.context, spec, &f.model), STAIR_OK);
    return f;
}

static void close_model(fixture *f)
{
    stair_model_destroy(&f->model);
    stair_context_destroy(&f->context);
}

static stair_gamp_result *run(fixture *f, const stair_gamp_options *o)
{
    stair_gamp_result *result;
    stair_status status = stair_gamp(f->context, f->model, o, &result);
    if (status != STAIR_OK) print_error("%s\n", stair_context_message(f->context));
    assert_int_equal(status, STAIR_OK);
    return result;
}

/* ---- the equations of MATH section 3, two indices and two tokens, nothing shared with the library but the
 * channel -- */

enum { D = 6, N = 9, P = 2, M = 2, STEPS = 4 };
typedef struct {
    double x[N][M][D], labels[N][M * M], teacher[P][D], side[P][D], w[P][D], c[P][P];
} plain;

static void draw_plain(fixture *f, const stair_gamp_options *o, plain *s)
{
    for (int p = 0; p < P; p++) {
        double zeta[D], first[D];
        stair_rng_normals(o->seed, STAIR_RNG_TEACHER, (uint64_t)p, D, s->teacher[p]);
        stair_rng_normals(o->seed, STAIR_RNG_SIDE, (uint64_t)p, D, zeta);
        stair_rng_normals(o->seed, STAIR_RNG_INIT, (uint64_t)p, D, first);
        for (int d = 0; d < D; d++) {
            double q = o->start_overlap, l = o->side;
            s->side[p][d] = sqrt(l) * s->teacher[p][d] + sqrt(1 - l) * zeta[d];
            s->w[p][d] =
                l > 0 ? sqrt(l) * s->side[p][d] : q * s->teacher[p][d] + sqrt(q * (1 - q)) * first[d];
        }
        for (int k = 0; k < P; k++) s->c[p][k] = p == k ? 1 - (o->side > 0 ? o->side : o->start_overlap) : 0;
    }
    for (int i = 0; i < N; i++) {
        double z[P][M] = {{0}};
        stair_rng_normals(o->seed, STAIR_RNG_DATA, (uint64_t)i, M * D, &s->x[i][0][0]);
        for (int m = 0; m < M; m++)
            for (int d = 0; d < D; d++) {
                if (!o->wide) s->x[i][m][d] = (float)s->x[i][m][d];
                for (int p = 0; p < P; p++) z[p][m] += s->teacher[p][d] * s->x[i][m][d] / sqrt(D);
            }
        assert_int_equal(stair_model_forward(f->context, f->model, 1, &z[0][0], s->labels[i]), STAIR_OK);
    }
}

/* One iteration; o (N, P, M) is the Onsager term, next_o the following one. */
static void plain_step(fixture *f, const stair_gamp_options *opt, plain *s, double o[N][P][M],
                       double next_o[N][P][M])
{
    double omega[N][P][M], g[N][P][M], dg[N][P * M][P * M], a[P][P] = {{0}}, b[P][D] = {{0}}, system[P * P],
                                                            inverse[P * P];
    for (int i = 0; i < N; i++)
        for (int p = 0; p < P; p++)
            for (int m = 0; m < M; m++) {
                omega[i][p][m] = -o[i][p][m];
                for (int d = 0; d < D; d++) omega[i][p][m] += s->x[i][m][d] * s->w[p][d] / sqrt(D);
            }
    stair_channel_options how = stair_channel_defaults();
    how.precision = opt->precision;
    how.seed = opt->seed;
    stair_channel_result result = {.g = &g[0][0][0], .dg = &dg[0][0][0]};
    assert_int_equal(stair_channel_evaluate(f->context, f->model, &how, 0, N, &s->labels[0][0],
                                            &omega[0][0][0], 1, &s->c[0][0], &result),
                     STAIR_OK);
    for (int p = 0; p < P; p++)
        for (int q = 0; q < P; q++)
            for (int i = 0; i < N; i++)
                for (int m = 0; m < M; m++) a[p][q] -= dg[i][p * M + m][q * M + m] / D;
    double l = opt->side, damp = opt->damping;
    for (int p = 0; p < P; p++)
        for (int q = 0; q < P; q++) {
            system[p * P + q] = (p == q) + (1 - l) * 0.5 * (a[p][q] + a[q][p]);
            inverse[p * P + q] = p == q;
        }
    assert_true(stair_matrix_solve(P, system, P, inverse, NULL));
    for (int p = 0; p < P; p++)
        for (int d = 0; d < D; d++) {
            for (int i = 0; i < N; i++)
                for (int m = 0; m < M; m++) b[p][d] += s->x[i][m][d] * g[i][p][m] / sqrt(D);
            for (int q = 0; q < P; q++) b[p][d] += 0.5 * (a[p][q] + a[q][p]) * s->w[q][d];
        }
    for (int d = 0; d < D; d++) {
        double next[P] = {0};
        for (int p = 0; p < P; p++)
            for (int q = 0; q < P; q++)
                next[p] += inverse[p * P + q] * (sqrt(l) * s->side[q][d] + (1 - l) * b[q][d]);
        for (int p = 0; p < P; p++) s->w[p][d] = (1 - damp) * next[p] + damp * s->w[p][d];
    }
    for (int p = 0; p < P; p++)
        for (int q = 0; q < P; q++)
            s->c[p][q] = (1 - damp) * (1 - l) * inverse[p * P + q] + damp * s->c[p][q];
    for (int i = 0; i < N; i++)
        for (int p = 0; p < P; p++)
            for (int m = 0; m < M; m++) {
                next_o[i][p][m] = damp * o[i][p][m];
                for (int q = 0; q < P; q++)
                    next_o[i][p][m] += (1 - damp) * (1 - l) * inverse[p * P + q] * g[i][q][m];
            }
}

static void follows_the_equations(double overlap, double side, double damping, bool wide)
{
    fixture f = open_model("attention:layers=2");
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = D;
    o.alpha = (double)N / D;
    o.start_overlap = overlap;
    o.side = side;
    o.damping = damping;
    o.adaptive = false;
    o.wide = wide;
    o.max_iterations = STEPS;
    o.tolerance = 1e-14;
    o.precision = 1e-6;
    o.seed = 11;
    static plain s;
    static double onsager[2][N][P][M];
    memset(onsager, 0, sizeof onsager);
    draw_plain(&f, &o, &s);
    stair_gamp_result *result = run(&f, &o);
    assert_int_equal(result->run->iterations, STEPS);
    for (int t = 0; t < STEPS; t++) plain_step(&f, &o, &s, onsager[t % 2], onsager[(t + 1) % 2]);
    double tiny =
        wide ? 1e-9 : 1e-4; /* four steps of single precision, amplified as the run amplifies its start */
    for (int p = 0; p < P; p++) {
        for (int d = 0; d < D; d++) assert_close(result->run->weights[p * D + d], s.w[p][d], tiny);
        for (int q = 0; q < P; q++) assert_close(result->run->cov[p * P + q], s.c[p][q], tiny);
    }
    stair_gamp_result_destroy(&result);
    close_model(&f);
}

static void plain_start(void **state)
{
    (void)state, follows_the_equations(0.5, 0, 0, true);
}
static void single_precision_data(void **state)
{
    (void)state, follows_the_equations(0.5, 0, 0, false);
}
static void damped(void **state)
{
    (void)state, follows_the_equations(0.5, 0, 0.35, true);
}
static void with_side_information(void **state)
{
    (void)state, follows_the_equations(0, 0.4, 0, true);
}
static void damped_with_side_information(void **state)
{
    (void)state, follows_the_equations(0, 0.4, 0.2, true);
}

/* ---- degenerate but legal ------------------------------------------------------------------------------ */

static void no_samples_no_overlap(void **state)
{
    (void)state;
    fixture f = open_model("attention:layers=2");
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 50;
    o.alpha = 0;
    stair_gamp_result *result = run(&f, &o);
    int last = result->run->count - 1;
    for (int i = 0; i < 4; i++) {
        assert_true(result->run->q[last * 4 + i] == 0);
        assert_true(result->run->v[last * 4 + i] == (i % 3 == 0));
    }
    assert_int_equal(result->run->stop, STAIR_STOP_ZERO);
    stair_gamp_result_destroy(&result);
    close_model(&f);
}

static void one_dimension(void **state)
{
    (void)state;
    fixture f = open_model("attention:layers=1");
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 1;
    o.alpha = 20;
    o.start_overlap = 0.9;
    stair_gamp_result *result = run(&f, &o);
    for (int i = 0; i < result->run->count; i++) assert_true(isfinite(result->run->q[i]));
    stair_gamp_result_destroy(&result);
    close_model(&f);
}

/* Without noise and with data enough V goes to zero and W to the teacher, in as many digits as float data
 * leave. */
static void perfect_recovery_is_reached(void **state)
{
    (void)state;
    fixture f = open_model("attention:layers=1");
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 500;
    o.alpha = 1;
    o.start_overlap = 0.3;
    stair_gamp_result *result = run(&f, &o);
    assert_int_equal(result->run->stop, STAIR_STOP_PERFECT);
    assert_true(result->run->cov[0] < 1e-10);
    assert_true(result->run->cosine[result->run->count - 1] > 1 - 1e-9);
    stair_gamp_result_destroy(&result);
    close_model(&f);
}

/* Tokens whose mean is not zero are outside the theory and drive GAMP apart; adaptive damping holds it
 * together. */
static void divergence_is_named_and_damping_helps(void **state)
{
    enum { DIM = 200, COUNT = 300 };
    (void)state;
    fixture f = open_model("attention:layers=1");
    double *x = malloc(sizeof(double) * COUNT * 2 * DIM), *labels = malloc(sizeof(double) * COUNT * 4),
           teacher[DIM];
    stair_rng_normals(1, STAIR_RNG_TEACHER, 0, DIM, teacher);
    for (int i = 0; i < COUNT; i++) {
        double z[2] = {0}, *row = x + (size_t)i * 2 * DIM;
        stair_rng_normals(1, STAIR_RNG_DATA, (uint64_t)i, 2 * DIM, row);
        for (int d = 0; d < 2 * DIM; d++) {
            row[d] += 0.3;
            z[d / DIM] += row[d] * teacher[d % DIM] / sqrt(DIM);
        }
        assert_int_equal(stair_model_forward(f.context, f.model, 1, z, labels + 4 * i), STAIR_OK);
    }
    stair_gamp_data data = {.x = x, .dim = DIM, .samples = COUNT, .labels = labels};
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *result;
    o.max_iterations = 200;
    o.adaptive = false;
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &data, &result), STAIR_OK);
    assert_int_equal(result->run->stop, STAIR_STOP_DIVERGED);
    stair_gamp_result_destroy(&result);
    o.adaptive = true;
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &data, &result), STAIR_OK);
    assert_int_not_equal(result->run->stop, STAIR_STOP_DIVERGED);
    double dot = 0, ww = 0, tt = 0;
    for (int d = 0; d < DIM; d++) {
        dot += result->run->weights[d] * teacher[d];
        ww += result->run->weights[d] * result->run->weights[d];
        tt += teacher[d] * teacher[d];
    }
    assert_true(fabs(dot) > 0.9 * sqrt(ww * tt));
    stair_gamp_result_destroy(&result);
    free(x);
    free(labels);
    close_model(&f);
}

/* ---- the same bytes ---------------------------------------------------------------------------------- */

static void threads_and_storage_do_not_matter(void **state)
{
    (void)state;
    fixture f = open_model("attention:layers=2");
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 150;
    o.alpha = 0.9;
    o.start_overlap = 0.2;
    o.damping = 0.1;
    o.max_iterations = 4;
    stair_gamp_result *first = run(&f, &o), *other;
    static const int threads[] = {2, 3, 7, 1};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(stair_context_set_threads(f.context, threads[k]), STAIR_OK);
        o.regenerate = k == 3;
        other = run(&f, &o);
        assert_int_equal(other->run->count, first->run->count);
        assert_memory_equal(other->run->weights, first->run->weights, sizeof(double) * 2 * 150);
        assert_memory_equal(other->run->q, first->run->q, sizeof(double) * 4 * (size_t)first->run->count);
        assert_memory_equal(other->run->history, first->run->history,
                            sizeof *first->run->history * (size_t)first->run->count);
        stair_gamp_result_destroy(&other);
    }
    stair_gamp_result_destroy(&first);
    close_model(&f);
}

/* X in several arrays, an empty one among them, cut where tiles are not; and parts that do not fit. */
static void parts_of_x_do_not_matter(void **state)
{
    enum { DIM = 20, COUNT = 211 };
    (void)state;
    fixture f = open_model("square");
    float x[COUNT * DIM];
    double labels[COUNT], w[DIM];
    stair_rng_normals(1, STAIR_RNG_TEACHER, 0, DIM, w);
    stair_rng_normals_single(1, STAIR_RNG_DATA, 0, COUNT * DIM, x);
    for (int i = 0; i < COUNT; i++) {
        double z = 0;
        for (int d = 0; d < DIM; d++) z += (double)x[i * DIM + d] * w[d] / sqrt(DIM);
        labels[i] = z * z;
    }
    stair_gamp_part parts[] = {
        {x, 2}, {x + 2 * DIM, 3}, {NULL, 3}, {x + 3 * DIM, 103}, {x + 103 * DIM, COUNT}};
    stair_gamp_data whole = {.x = x, .single = true, .dim = DIM, .samples = COUNT, .labels = labels},
                    cut = whole;
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *one, *many;
    o.max_iterations = 5;
    cut.x = NULL;
    cut.parts = parts;
    cut.part_count = 5;
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &whole, &one), STAIR_OK);
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &cut, &many), STAIR_OK);
    assert_memory_equal(one->run->weights, many->run->weights, DIM * sizeof(double));
    stair_gamp_result_destroy(&one);
    stair_gamp_result_destroy(&many);
    cut.samples--;
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &cut, &many), STAIR_BAD_INPUT);
    assert_string_equal(stair_context_message(f.context), "the parts of X have 211 samples, not 210");
    parts[1].end = 1;
    assert_int_equal(stair_gamp_fit(f.context, f.model, &o, &cut, &many), STAIR_BAD_INPUT);
    assert_string_equal(stair_context_message(f.context), "part 1 of X ends before it begins");
    close_model(&f);
}

/* Coarse integrals must not add up to an error of A: what is left out of them has no common sign. */
static void default_precision_leaves_the_variance(void **state)
{
    static const char *const specs[] = {"attention:layers=2", "attention:layers=3"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture f = open_model(specs[k]);
        stair_gamp_options o = stair_gamp_defaults();
        o.dim = 200;
        o.start_overlap = 0.4;
        o.max_iterations = 1;
        stair_gamp_result *coarse = run(&f, &o);
        o.precision = 1e-3;
        stair_gamp_result *fine = run(&f, &o);
        for (int p = 0; p < coarse->indices; p++) {
            int at = p * (coarse->indices + 1);
            double learned = 1 - fine->run->cov[at];
            assert_close(1 - coarse->run->cov[at], learned, 0.03 * learned);
        }
        stair_gamp_result_destroy(&coarse);
        stair_gamp_result_destroy(&fine);
        close_model(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_start),
        cmocka_unit_test(single_precision_data),
        cmocka_unit_test(damped),
        cmocka_unit_test(with_side_information),
        cmocka_unit_test(damped_with_side_information),
        cmocka_unit_test(no_samples_no_overlap),
        cmocka_unit_test(one_dimension),
        cmocka_unit_test(perfect_recovery_is_reached),
        cmocka_unit_test(divergence_is_named_and_damping_helps),
        cmocka_unit_test(threads_and_storage_do_not_matter),
        cmocka_unit_test(parts_of_x_do_not_matter),
        cmocka_unit_test(default_precision_leaves_the_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
