/* attention:output=sequence: forward map, carried labels and gradient against their definitions, and the
 * posterior of two layers against sums over the off-diagonal entries of S_1, which share no coordinates and
 * no Jacobian with the fibre. */
#include "channel_case.h"

#include "core/rng.h"
#include "model/sequence.h"

/* S (M, M) = rowsoftmax(h h^T), h (M, rank) */
static void scores(int m, int rank, const double *h, double *s)
{
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) {
            double dot = 0;
            for (int k = 0; k < rank; k++) dot += h[i * rank + k] * h[j * rank + k];
            sum += s[i * m + j] = exp(dot);
        }
        for (int j = 0; j < m; j++) s[i * m + j] /= sum;
    }
}

/* y = S_L H_{L-1} by the recursion, all ranks equal. */
static void sequence(int layers, int m, int rank, double skip, const double *z, double *y)
{
    double mixed[64] = {0}, s[64], h[64];
    for (int i = 0; i < m; i++) mixed[i * (m + 1)] = 1;
    for (int l = 0; l < layers; l++) {
        for (int i = 0; i < m; i++)
            for (int k = 0; k < rank; k++) {
                h[i * rank + k] = 0;
                for (int j = 0; j < m; j++) h[i * rank + k] += mixed[i * m + j] * z[(l * rank + k) * m + j];
            }
        scores(m, rank, h, s);
        for (int i = 0; i < m && l + 1 < layers; i++) s[i * (m + 1)] += skip;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                y[i * m + j] = 0;
                for (int k = 0; k < m; k++) y[i * m + j] += s[i * m + k] * mixed[k * m + j];
            }
        memcpy(mixed, y, sizeof(double) * (size_t)(m * m));
    }
}

static void outputs_are_the_mixed_sequence(void **state)
{
    static const struct {
        const char *spec;
        int layers, tokens, rank;
        double skip;
    } shapes[] = {{"attention:output=sequence,skip=0.5,noise=1", 2, 2, 1, 0.5},
                  {"attention:layers=3,tokens=4,rank=2,output=sequence,skip=2,noise=0.1", 3, 4, 2, 2}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        channel_case c = channel_case_open(shapes[k].spec, 20);
        channel_case_draw(&c, 0.5, 3);
        assert_int_equal(stair_model_forward(c.context, c.model, c.n, c.z, c.label), STAIR_OK);
        for (size_t i = 0; i < c.n; i++) {
            double y[64], sum = 0;
            sequence(shapes[k].layers, shapes[k].tokens, shapes[k].rank, shapes[k].skip, c.z + i * c.size, y);
            for (size_t e = 0; e < c.labels; e++) assert_close(c.label[i * c.labels + e], y[e], 1e-12);
            for (int j = 0; j < shapes[k].tokens; j++) sum += y[j];
            assert_close(sum, pow(shapes[k].skip + 1, shapes[k].layers - 1), 1e-12);
        }
        channel_case_close(&c);
    }
}

static void one_layer_is_scores(void **state)
{
    channel_case scores_of = channel_case_open("attention:layers=1,tokens=3", 10),
                 c = channel_case_open("attention:layers=1,tokens=3,output=sequence", 10);
    (void)state;
    channel_case_draw(&scores_of, 0.5, 3);
    channel_case_draw(&c, 0.5, 3);
    assert_true(c.model->ops == scores_of.model->ops);
    assert_memory_equal(c.label, scores_of.label, c.n * c.labels * sizeof(double));
    channel_case_close(&scores_of);
    channel_case_close(&c);
}

/* Carried labels agree with plain ones; and where both rows attend to the second token, y_11 - y_21 is far
 * below the rounding of y: with h = (a, a + e), det S = s_12 s_21 (exp(e^2) - 1). */
static void labels_carry_the_gap(void **state)
{
    channel_case c = channel_case_open("attention:output=sequence,skip=1", 40);
    (void)state;
    channel_case_draw(&c, 0.5, 3);
    for (size_t i = 0; i < c.n; i++) {
        double y[4], label[4];
        sequence(2, 2, 1, 1, c.z + 4 * i, y);
        if (y[0] - y[2] < 1e-4) continue;
        assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, y, label), STAIR_OK);
        for (int e = 0; e < 4; e++) assert_close(c.label[4 * i + (size_t)e], label[e], 1e-10);
    }
    /* z = 0: S_1 = 1/2, H_1 z_2 = (1.5 x + 0.5 y, ...); h = (6, 10) needs x + y = 8, x - y = -4 */
    double z[4] = {0, 0, 2, 6}, label[4], s12 = 1 / (1 + exp(-24.0)), s21 = exp(-40.0);
    c.model->ops->forward(c.model, z, NULL, label);
    assert_close(label[STAIR_SEQUENCE_GAP], log(s12) + log(s21) + 16 + log1p(-exp(-16.0)), 1e-12 * 24);
    assert_close(label[STAIR_SEQUENCE_12], log(0.5 + s12), 1e-14);
    channel_case_close(&c);
}

static void infeasible_outputs_are_refused(void **state)
{
    channel_case c = channel_case_open("attention:output=sequence,skip=1", 1);
    double bad[][4] = {{1.5, 0.6, 0.5, 1.5}, {0.5, 1.5, 1.5, 0.5}, {2, 0, 0.5, 1.5}, {1, 1, 1, 1}};
    (void)state;
    for (int k = 0; k < 4; k++)
        assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, bad[k], c.label),
                         STAIR_BAD_INPUT);
    channel_case_close(&c);
}

static void other_shapes_need_noise(void **state)
{
    static const char *const shapes[] = {"tokens=3",          "layers=3",       "rank=2",
                                         "activation=linear", "mixing=literal", "skip=-0.5"};
    stair_context *context;
    stair_model *model;
    char spec[96];
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        snprintf(spec, sizeof spec, "attention:output=sequence,%s", shapes[k]);
        assert_int_equal(stair_model_create(context, spec, &model), STAIR_UNSUPPORTED);
        assert_non_null(strstr(stair_context_message(context), "noise="));
        snprintf(spec, sizeof spec, "attention:output=sequence,noise=0.1,%s", shapes[k]);
        assert_int_equal(stair_model_create(context, spec, &model), STAIR_OK);
        stair_model_destroy(&model);
    }
    stair_context_destroy(&context);
}

/* The fibre gives its label back everywhere, in both charts, far out as well. */
static void fibres_have_their_label(void **state)
{
    static const double far[] = {-30, -6, -1, 0, 2, 7};
    channel_case c = channel_case_open("attention:output=sequence,skip=2", 60);
    stair_fibre fibre;
    double u[2 * STAIR_BLOCK] = {0}, z[4 * STAIR_BLOCK], weight[STAIR_BLOCK];
    (void)state;
    channel_case_draw(&c, 0.5, 9);
    assert_int_equal(stair_fibre_create(c.context, c.model, &fibre), STAIR_OK);
    for (size_t i = 0; i < c.n; i++) {
        assert_int_equal(stair_fibre_open(c.context, c.label + 4 * i, c.omega + 4 * i, &fibre), STAIR_OK);
        for (int k = 0; k < 36; k++) {
            u[k] = far[k / 6];
            u[STAIR_BLOCK + k] = far[k % 6];
        }
        for (int chart = 0; chart < 2; chart++) {
            stair_fibre_map(&fibre, chart, 36, u, z, weight);
            for (int k = 0; k < 36; k++) {
                double point[4], label[4];
                for (int e = 0; e < 4; e++) point[e] = z[e * STAIR_BLOCK + k];
                if (!(fabs(point[2]) + fabs(point[3]) < 40)) continue; /* where no posterior is */
                c.model->ops->forward(c.model, point, NULL, label);
                assert_true(weight[k] > 0 && isfinite(weight[k]));
                for (int e = 0; e < 4; e++)
                    assert_close(label[e], c.label[4 * i + (size_t)e],
                                 1e-9 * (1 + fabs(label[e])) * (1 + fabs(point[0]) + fabs(point[1])));
            }
        }
    }
    stair_fibre_destroy(&fibre);
    channel_case_close(&c);
}

/* log Z, and E[Z] (4), of a label with y_12 + y_21 < 1 at omega and V = v 1: sums over s, t of abar = y_12 /
 * (1 + e^-s), bbar = y_21 / (1 + e^-t), s = sinh of equidistant numbers; A = y_12 / (1 + e^s) keeps its
 * digits. */
static double by_rectangle(double skip, const double *label, const double *omega, double v, double *mean)
{
    double k = skip + 1, y12 = exp(label[1]), y21 = exp(label[2]), gap = exp(label[0]), total = 0,
           step = 0.02;
    memset(mean, 0, 4 * sizeof *mean);
    for (int i = -350; i <= 350; i++)
        for (int j = -350; j <= 350; j++) {
            double s = sinh(i * step), t = sinh(j * step);
            double a = y12 / (1 + exp(-s)), b = y21 / (1 + exp(-t)), left_a = y12 / (1 + exp(s)),
                   left_b = y21 / (1 + exp(t)), d = k - a - b;
            double l1 = log(1 / a - 1), l2 = log(1 / b - 1), delta2 = l1 + l2;
            double d12 = log((gap + left_b) / left_a), d21 = log((gap + left_a) / left_b), sum = d12 + d21;
            double h1 = d12 / sqrt(sum), h2 = -d21 / sqrt(sum);
            double z[4] = {l1 / sqrt(delta2), -l2 / sqrt(delta2), ((k - b) * h1 - a * h2) / (k * d),
                           ((k - a) * h2 - b * h1) / (k * d)};
            /* |dz/d(abar, bbar)| |dh/ds| |dZ_2/dh| |ds/dy| and the measure of s, t */
            double s12 = left_a / d, s21 = left_b / d;
            double density = 1 / (2 * delta2 * a * (1 - a) * b * (1 - b)) /
                             (2 * sum * s12 * (1 - s12) * s21 * (1 - s21)) / (k * d) / (d * d) *
                             (a * left_a / y12) * (b * left_b / y21) * cosh(i * step) * cosh(j * step) *
                             step * step;
            for (int sign = 0; sign < 4 && isfinite(density); sign++) {
                double energy = 0, point[4];
                for (int e = 0; e < 4; e++) {
                    point[e] = (e < 2 ? (sign % 2 ? -1 : 1) : (sign / 2 ? -1 : 1)) * z[e];
                    energy += (point[e] - omega[e]) * (point[e] - omega[e]) / (2 * v);
                }
                double mass = density * exp(-energy) / pow(2 * M_PI * v, 2);
                total += mass;
                for (int e = 0; e < 4; e++) mean[e] += mass * point[e];
            }
        }
    for (int e = 0; e < 4; e++) mean[e] /= total;
    return log(total);
}

static void posterior_is_the_sum_over_the_rectangle(void **state)
{
    static const double points[][4] = {{1.5, -1, 1.2, -0.8}, {2.2, -1.6, 1.9, -1.5}, {1.1, -1.3, -0.6, 1.4}};
    static const double omegas[][4] = {{0, 0, 0, 0}, {0.8, -0.5, 0.6, -0.3}, {-0.3, 0.9, 0.2, 0.7}};
    static const double variances[] = {1, 0.4, 0.2};
    channel_case c = channel_case_open("attention:output=sequence,skip=1", 1);
    stair_channel_options o = stair_channel_defaults();
    (void)state;
    o.precision = 1e-7;
    for (int k = 0; k < 9; k++) {
        const double *omega = omegas[k % 3];
        double label[4], mean[4], v = variances[k % 3], cov[4] = {v, 0, 0, v}, expected;
        c.model->ops->forward(c.model, points[k / 3], NULL, label);
        assert_true(exp(label[1]) + exp(label[2]) < 1);
        expected = by_rectangle(1, label, omega, v, mean);
        stair_channel_result result = {.logz = c.logz, .g = c.g, .error = c.error};
        assert_int_equal(stair_channel_evaluate(c.context, c.model, &o, 0, 1, label, omega, 1, cov, &result),
                         STAIR_OK);
        assert_close(c.logz[0], expected, 1e-5);
        for (int e = 0; e < 4; e++) assert_close(omega[e] + v * c.g[e], mean[e], 1e-5);
        assert_true(c.error[0] < 3e-4);
    }
    channel_case_close(&c);
}

#define GRADIENT(spec)                                                                                       \
    {                                                                                                        \
        spec, gradient_is_the_derivative, NULL, NULL, spec                                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_the_mixed_sequence),
        cmocka_unit_test(one_layer_is_scores),
        cmocka_unit_test(labels_carry_the_gap),
        cmocka_unit_test(infeasible_outputs_are_refused),
        cmocka_unit_test(other_shapes_need_noise),
        GRADIENT("attention:output=sequence,noise=1"),
        GRADIENT("attention:layers=3,tokens=3,rank=1+2+1,output=sequence,noise=1,skip=0.5"),
        GRADIENT("attention:layers=2,mixing=literal,output=sequence,noise=1"),
        cmocka_unit_test(fibres_have_their_label),
        cmocka_unit_test(posterior_is_the_sum_over_the_rectangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
