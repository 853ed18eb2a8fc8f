/* Attention with untied query and key: its forward map and gradient, fibres with their measure, the posterior
 * of one layer, and the formula at Q = 0.  The mathematics is in docs/untied.md. */
#include "channel_case.h"

#include "average/average.h"
#include "core/rng.h"
#include "model/structure.h"
#include "model/untied.h"

enum { MOST = 8 };

/* out = a b, all (n, n) or (n, columns) with rows of MOST */
static void times(int n, int inner, int columns, double a[MOST][MOST], double b[MOST][MOST],
                  double out[MOST][MOST])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < columns; j++) {
            out[i][j] = 0;
            for (int k = 0; k < inner; k++) out[i][j] += a[i][k] * b[k][j];
        }
}

/* rows (M, rank) of Z from `first` on, transposed and mixed */
static void projected(int m, int rank, int first, const double *z, double mixed[MOST][MOST],
                      double out[MOST][MOST])
{
    double plain[MOST][MOST];
    for (int t = 0; t < m; t++)
        for (int k = 0; k < rank; k++) plain[t][k] = z[(first + k) * m + t];
    times(m, m, rank, mixed, plain, out);
}

/* The definition, matrix by matrix: ranks[L], y (M, M). */
static void by_definition(int layers, int m, const int *ranks, double skip, bool literal, bool linear,
                          const double *z, double *y)
{
    double mixed[MOST][MOST] = {0}, q[MOST][MOST], k[MOST][MOST], s[MOST][MOST], b[MOST][MOST],
           next[MOST][MOST];
    int rows = 0, first = 0;
    for (int l = 0; l < layers; l++) rows += ranks[l];
    for (int i = 0; i < m; i++) mixed[i][i] = 1;
    for (int l = 0; l < layers; first += ranks[l++]) {
        projected(m, ranks[l], first, z, mixed, k);
        projected(m, ranks[l], rows + first, z, mixed, q);
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int j = 0; j < m; j++) {
                double score = 0;
                for (int r = 0; r < ranks[l]; r++) score += q[i][r] * k[j][r];
                s[i][j] = linear ? score : exp(score);
                sum += s[i][j];
            }
            for (int j = 0; j < m && !linear; j++) s[i][j] /= sum;
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) b[i][j] = (literal ? s[j][i] : s[i][j]) + skip * (i == j);
        times(m, m, m, b, mixed, next);
        memcpy(mixed, next, sizeof mixed);
    }
    for (int i = 0; i < m * m; i++) y[i] = s[i / m][i % m];
}

static void forward_is_the_definition(void **state)
{
    static const struct {
        const char *spec;
        int layers, tokens, ranks[3];
        double skip;
        bool literal, linear;
    } cases[] = {
        {"attention:weights=untied,layers=1", 1, 2, {1}, 1, false, false},
        {"attention:weights=untied,layers=2,tokens=3,skip=0.5", 2, 3, {1, 1}, 0.5, false, false},
        {"attention:weights=untied,layers=3,tokens=3,rank=1+2+1,mixing=literal",
         3,
         3,
         {1, 2, 1},
         1,
         true,
         false},
        {"attention:weights=untied,layers=2,rank=2+3,skip=-2", 2, 2, {2, 3}, -2, false, false},
        {"attention:weights=untied,layers=2,activation=linear,rank=1+2", 2, 2, {1, 2}, 1, false, true},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        channel_case c = channel_case_open(cases[k].spec, 20);
        double y[64];
        channel_case_draw(&c, 0.5, 4);
        for (size_t i = 0; i < c.n; i++) {
            by_definition(cases[k].layers, cases[k].tokens, cases[k].ranks, cases[k].skip, cases[k].literal,
                          cases[k].linear, c.z + i * c.size, y);
            for (size_t e = 0; e < c.labels; e++) {
                double label = c.label[i * c.labels + e];
                assert_close(cases[k].linear ? label : exp(label), y[e], 1e-12 * (1 + fabs(y[e])));
            }
        }
        channel_case_close(&c);
    }
}

/* Every point of a fibre has the label that it belongs to. */
static void fibres_have_their_label(void **state)
{
    const char *spec = *state;
    channel_case c = channel_case_open(spec, 10);
    int m = c.info.tokens;
    double u[STAIR_MAX_DIM * STAIR_BLOCK],
        *nodes = aligned_alloc(64, sizeof u), z[STAIR_MAX_CELLS], label[STAIR_MAX_LABEL],
        normal[STAIR_MAX_DIM], *weight = aligned_alloc(64, STAIR_BLOCK * sizeof(double)),
        *rows = aligned_alloc(64, STAIR_MAX_CELLS * STAIR_BLOCK * sizeof(double));
    stair_fibre fibre;
    assert_int_equal(stair_fibre_create(c.context, c.model, &fibre), STAIR_OK);
    channel_case_draw(&c, 0.5, 3);
    for (size_t i = 0; i < c.n; i++) {
        assert_int_equal(stair_fibre_open(c.context, c.label + i * c.labels, c.omega + i * c.size, &fibre),
                         STAIR_OK);
        assert_int_equal(fibre.dim, c.model->fibre_dim);
        for (int n = 0; n < 8; n++) {
            stair_rng_normals(5, STAIR_RNG_INIT, i * 8 + (size_t)n, fibre.dim, normal);
            for (int k = 0; k < fibre.dim; k++) nodes[k * STAIR_BLOCK + n] = normal[k];
        }
        for (int chart = 0; chart < fibre.charts; chart++) {
            stair_fibre_map(&fibre, chart, 8, nodes, rows, weight);
            for (int n = 0; n < 16; n++) {
                double sign = n < 8 ? 1 : fibre.mirrored ? -1 : 1;
                for (int k = 0; k < (int)c.size; k++)
                    z[c.model->order[k / m] * m + k % m] = k < fibre.free_rows * m
                                                               ? nodes[k * STAIR_BLOCK + n % 8]
                                                               : sign * rows[k * STAIR_BLOCK + n % 8];
                assert_true(weight[n % 8] > 0 && isfinite(weight[n % 8]));
                assert_int_equal(stair_model_forward(c.context, c.model, 1, z, label), STAIR_OK);
                for (size_t e = 0; e < c.labels; e++)
                    assert_close(label[e], c.label[i * c.labels + e], 1e-8 * (1 + fabs(label[e])));
            }
        }
    }
    stair_fibre_destroy(&fibre);
    free(nodes);
    free(weight);
    free(rows);
    channel_case_close(&c);
}

typedef struct {
    const char *spec, *method;
    size_t n;
    double precision;
} measure_case;

/* E[dg + g g^T] = 0 holds for the right density on fibres and for no other; row by row. */
static void measure_is_right(void **state)
{
    const measure_case *test = *state;
    channel_case c = channel_case_open(test->spec, test->n);
    int p = c.info.indices, m = c.info.tokens;
    channel_case_draw(&c, 0.9, 11);
    channel_case_evaluate(&c, test->precision, test->method);
    for (int r = 0; r < p; r++) {
        double sum = 0, square = 0, n = (double)c.n;
        for (size_t i = 0; i < c.n; i++) {
            double value = 0;
            for (int t = 0; t < m; t++) {
                size_t at = (size_t)(r * m + t);
                double g = c.g[i * c.size + at];
                value += c.dg[(i * c.size + at) * c.size + at] + g * g;
            }
            sum += value / n;
            square += value * value / n;
        }
        assert_close(sum, 0, 4 * sqrt(square / n) + test->precision * test->precision); /* bias of a ratio */
        assert_true(sqrt(square / n) < 0.25); /* a wrong density would show */
    }
    channel_case_close(&c);
}

/* One layer of rank one: the formula against the fibre, which knows nothing of it. */
static void formula_is_the_integral(void **state)
{
    const char *spec = *state;
    channel_case c = channel_case_open(spec, 40), s = channel_case_open(spec, 40);
    channel_case_draw(&c, 0.05, 2);
    channel_case_draw(&s, 0.05, 2);
    channel_case_evaluate(&c, 1e-8, "auto");
    channel_case_evaluate(&s, 1e-3, "sampling");
    for (size_t i = 0; i < c.n; i++) {
        double size = 0, away = 0;
        assert_int_equal(c.method[i], 5); /* closed */
        for (size_t k = 0; k < c.size; k++) {
            size = fmax(size, fabs(c.g[i * c.size + k]));
            away = fmax(away, fabs(c.g[i * c.size + k] - s.g[i * c.size + k]));
        }
        assert_true(s.error[i] < 0.05);
        assert_close(away, 0, 4 * s.error[i] * (1 + size));
        assert_close(c.logz[i], s.logz[i], 4 * s.error[i]);
    }
    channel_case_close(&c);
    channel_case_close(&s);
}

/* At omega = 0 and V = 1 the moments of t are elementary: docs/untied.md. */
static void ignorance_is_elementary(void **state)
{
    (void)state;
    for (int m = 2; m <= 5; m++) {
        char spec[80];
        snprintf(spec, sizeof spec, "attention:layers=1,weights=untied,tokens=%d", m);
        channel_case c = channel_case_open(spec, 50);
        channel_case_draw(&c, 1, 1);
        memset(c.omega, 0, c.n * c.size * sizeof(double));
        for (size_t k = 0; k < 4 * c.n; k++) c.cov[k] = k % 4 == 0 || k % 4 == 3;
        channel_case_evaluate(&c, 1e-8, "auto");
        for (size_t i = 0; i < c.n; i++) {
            const double *k = c.z + i * c.size, *q = k + m, *dg = c.dg + i * c.size * c.size;
            double mean = 0, kk = 0, qq = 0;
            for (int t = 0; t < m; t++) mean += k[t] / m;
            for (int t = 0; t < m; t++) {
                kk += (k[t] - mean) * (k[t] - mean);
                qq += q[t] * q[t];
            }
            double a = sqrt(kk * qq), tolerance = 1e-10 * (1 + a);
            assert_close(c.logz[i], log(M_PI) - m * log(2 * M_PI) - a - log(a), tolerance);
            for (int s = 0; s < m; s++)
                for (int t = 0; t < m; t++) {
                    double es = (k[s] - mean) / sqrt(kk), et = (k[t] - mean) / sqrt(kk), bs = q[s] / sqrt(qq),
                           bt = q[t] / sqrt(qq);
                    assert_close(dg[s * 2 * m + t], a * es * et + 1.0 / m - (s == t), tolerance);
                    assert_close(dg[(m + s) * 2 * m + m + t], (1 + a) * bs * bt - (s == t), tolerance);
                    assert_close(dg[(m + s) * 2 * m + t], a * bs * et, tolerance);
                }
        }
        channel_case_close(&c);
    }
}

/* E log Z and every entry of the operator at Q = 0: the formula beside samples of labels. */
static void formula_is_that_of_samples(int m)
{
    char spec[80];
    snprintf(spec, sizeof spec, "attention:layers=1,weights=untied,tokens=%d", m);
    channel_case c = channel_case_open(spec, 1);
    const stair_structure *structure;
    double q[4] = {0}, basis[4] = {M_SQRT1_2, M_SQRT1_2, -M_SQRT1_2, M_SQRT1_2}, by_replicate[16];
    stair_average exact, samples;
    stair_average_effort effort = {
        .points = 1024, .replicates = 16, .widening = 1.2, .seed = 3, .channel = stair_channel_defaults()};
    assert_int_equal(stair_structure_find(c.context, c.model, &structure), STAIR_OK);
    assert_int_equal(stair_average_create(c.context, structure, 2, 16, &exact), STAIR_OK);
    assert_int_equal(stair_average_create(c.context, structure, 2, 16, &samples), STAIR_OK);
    assert_ptr_equal(stair_average_rule_for(structure, &effort, q), &stair_average_formula);
    assert_int_equal(stair_average_evaluate(c.context, structure, &effort, q, basis, &exact), STAIR_OK);
    effort.rule = &stair_average_samples;
    assert_int_equal(stair_average_evaluate(c.context, structure, &effort, q, basis, &samples), STAIR_OK);
    for (int k = 0; k < exact.count; k++) {
        for (int r = 0; r < 16; r++) by_replicate[r] = samples.sample[r * samples.count + k];
        double error = stair_average_spread(&samples, by_replicate);
        assert_close(exact.mean[k], samples.mean[k], 4 * error + 1e-12);
        assert_true(error < 0.02 * (1 + fabs(exact.mean[k])));
    }
    q[0] = 0.1;
    effort.rule = NULL;
    assert_ptr_not_equal(stair_average_rule_for(structure, &effort, q), &stair_average_formula);
    stair_average_destroy(&exact);
    stair_average_destroy(&samples);
    channel_case_close(&c);
}

static void formula_agrees_with_samples(void **state)
{
    (void)state;
    formula_is_that_of_samples(2);
}

static void formula_agrees_with_samples_of_more_tokens(void **state)
{
    (void)state;
    formula_is_that_of_samples(3);
    formula_is_that_of_samples(4);
}

/* docs/untied.md; sqrt(5) - 2 for two tokens. */
static void first_step_is_exact(void **state)
{
    (void)state;
    for (int m = 2; m <= 6; m++) {
        char spec[80];
        snprintf(spec, sizeof spec, "attention:layers=1,weights=untied,tokens=%d", m);
        channel_case c = channel_case_open(spec, 1);
        stair_asymptotics_options o = stair_asymptotics_defaults();
        stair_step step;
        int count = 0;
        assert_int_equal(stair_threshold(c.context, c.model, &o, 1, 1, &step, &count), STAIR_OK);
        assert_int_equal(count, 1);
        assert_close_relative(step.alpha, (sqrt(m * m + 1) - m) / (m - 1), 1e-12);
        assert_true(step.error < 1e-12);
        channel_case_close(&c);
    }
}

static void labels_are_checked(void **state)
{
    channel_case c = channel_case_open("attention:layers=1,weights=untied,tokens=3", 1);
    double full[] = {0.7, 0.2, 0.1, 0.2, 0.5, 0.3, 0.3, 0.3, 0.4}, even[9], z[6], label[9], omega[6] = {0};
    stair_fibre fibre;
    (void)state;
    for (int k = 0; k < 9; k++) {
        full[k] = log(full[k]);
        even[k] = -log(3);
    }
    assert_int_equal(stair_fibre_create(c.context, c.model, &fibre), STAIR_OK);
    assert_int_equal(stair_fibre_open(c.context, full, omega, &fibre), STAIR_BAD_INPUT);
    assert_int_equal(stair_fibre_open(c.context, even, omega, &fibre), STAIR_BAD_INPUT);
    for (int k = 0; k < 200; k++) { /* saturated: logits of thousands, y itself is 0 and 1 */
        stair_rng_normals(3, STAIR_RNG_INIT, (uint64_t)k, 6, z);
        for (int i = 0; i < 6; i++) z[i] *= 40;
        assert_int_equal(stair_model_forward(c.context, c.model, 1, z, label), STAIR_OK);
        assert_int_equal(stair_fibre_open(c.context, label, omega, &fibre), STAIR_OK);
    }
    stair_fibre_destroy(&fibre);
    channel_case_close(&c);
}

static void too_large_is_refused(void **state)
{
    channel_case c = channel_case_open("attention:layers=1,weights=untied", 1);
    stair_model *model;
    (void)state;
    assert_int_equal(stair_model_create(c.context, "attention:layers=2,weights=untied,rank=7", &model),
                     STAIR_UNSUPPORTED);
    assert_non_null(strstr(stair_context_message(c.context), "28 indices"));
    channel_case_close(&c);
}

/* K_l and Q_l change sign together: overlaps between layers vanish, that of K_l with Q_l does not. */
static void rows_are_named(void **state)
{
    channel_case c = channel_case_open("attention:layers=3,weights=untied", 1);
    static const int layer[] = {0, 1, 2, 0, 1, 2}, order[] = {0, 1, 3, 4, 2, 5};
    const stair_structure *structure;
    (void)state;
    assert_int_equal(stair_structure_find(c.context, c.model, &structure), STAIR_OK);
    assert_true(structure->even);
    assert_int_equal(structure->rank, 2); /* M (M - 1) of rank one: 2 (M - 1) */
    for (int i = 0; i < 6; i++) {
        assert_int_equal(c.model->layer[i], layer[i]);
        assert_int_equal(c.model->order[i], order[i]);
        assert_false(structure->symmetry.even[i]);
        for (int j = 0; j < 6; j++)
            assert_int_equal(structure->symmetry.pair[i * 6 + j] >= 0, i % 3 == j % 3);
    }
    channel_case_close(&c);
}

#define WITH(test, what)                                                                                     \
    {                                                                                                        \
        what, test, NULL, NULL, what                                                                         \
    }
#define MEASURE(spec, ...)                                                                                   \
    {                                                                                                        \
        "measure/" spec, measure_is_right, NULL, NULL, &(measure_case)                                       \
        {                                                                                                    \
            spec, __VA_ARGS__                                                                                \
        }                                                                                                    \
    }

/* With noise on y, log Z against the mean of the likelihood over the prior: rows of a fibre are not in the
 * order of Z. */
static void noise_finds_its_rows(void **state)
{
    enum { DRAWN = 40000 };
    channel_case c = channel_case_open("attention:layers=2,weights=untied,noise=0.2", 4);
    int m = c.model->info.tokens, rows = c.model->info.indices;
    (void)state;
    channel_case_draw(&c, 0.3, 1);
    for (size_t k = 0; k < c.n * c.square; k++) { /* a variance of its own for every row, no correlations */
        size_t row = k % c.square / (size_t)rows;
        c.cov[k] = k % c.square == row * (size_t)(rows + 1) ? 0.2 * (double)(row + 1) : 0;
    }
    channel_case_evaluate(&c, 2e-2, "auto");
    for (size_t i = 0; i < c.n; i++) {
        double mean = 0;
        for (uint64_t k = 0; k < DRAWN; k++) {
            double z[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL], square = 0;
            stair_rng_normals(3, STAIR_RNG_POINTS, k, rows * m, z);
            for (size_t e = 0; e < c.size; e++) {
                double scale = sqrt(0.2 * (double)(e / (size_t)m + 1));
                z[e] = c.omega[i * c.size + e] + scale * z[e];
            }
            c.model->ops->forward(c.model, z, y, NULL);
            for (size_t e = 0; e < c.labels; e++) square += pow(c.label[i * c.labels + e] - y[e], 2);
            mean += exp(-0.5 * square / 0.2) / DRAWN;
        }
        double expected = log(mean) - 0.5 * (double)c.labels * log(2 * M_PI * 0.2);
        assert_close(c.logz[i], expected, 0.03);
        assert_true(c.error[i] < 0.1);
    }
    channel_case_close(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_finds_its_rows),
        cmocka_unit_test(forward_is_the_definition),
        WITH(gradient_is_the_derivative, "attention:weights=untied,layers=1,tokens=3,rank=2"),
        WITH(gradient_is_the_derivative, "attention:weights=untied,layers=2,tokens=3,mixing=literal"),
        WITH(gradient_is_the_derivative, "attention:weights=untied,layers=3,rank=1+2+1,skip=-0.5"),
        WITH(gradient_is_the_derivative, "attention:weights=untied,layers=2,activation=linear"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=1"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=3,tokens=3,rank=1+2+1"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=2,tokens=4,rank=1+3"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=2,mixing=literal,skip=2"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=2,rank=1+3"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=2,activation=linear,rank=1+2"),
        WITH(fibres_have_their_label, "attention:weights=untied,layers=1,activation=linear,rank=3"),
        WITH(formula_is_the_integral, "attention:weights=untied,layers=1"),
        WITH(formula_is_the_integral, "attention:weights=untied,layers=1,tokens=4"),
        WITH(formula_is_the_integral, "attention:weights=untied,layers=1,tokens=3,activation=linear"),
        cmocka_unit_test(ignorance_is_elementary),
        cmocka_unit_test(formula_agrees_with_samples),
        cmocka_unit_test(formula_agrees_with_samples_of_more_tokens),
        cmocka_unit_test(first_step_is_exact),
        cmocka_unit_test(labels_are_checked),
        cmocka_unit_test(too_large_is_refused),
        cmocka_unit_test(rows_are_named),
        MEASURE("attention:weights=untied,layers=1,tokens=3", "closed", 4000, 1e-6),
        MEASURE("attention:weights=untied,layers=1,tokens=2", "sampling", 500, 0.05),
        MEASURE("attention:weights=untied,layers=1,tokens=3,rank=2", "auto", 100, 0.2),
        MEASURE("attention:weights=untied,layers=1,tokens=2,rank=2", "auto", 150, 0.2),
        MEASURE("attention:weights=untied,layers=2,skip=0.5", "auto", 500, 0.1),
        MEASURE("attention:weights=untied,layers=2,mixing=literal", "auto", 1000, 0.1),
        MEASURE("attention:weights=untied,layers=2,activation=linear,skip=1.5", "auto", 400, 0.1),
        MEASURE("attention:weights=untied,layers=2,noise=0.1", "auto", 150, 0.1),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
