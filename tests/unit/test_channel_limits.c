/* The edges of what is legal: ties, saturated labels, V near zero, omega far away, one token, large ranks,
 * noise; and what is not legal: a typed error that names the sample. */
#include "channel_case.h"

static double norm_gap(size_t n, const double *a, const double *b)
{
    double gap = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        gap += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(gap) / (sqrt(size) + 1e-300);
}

static void assert_finite_answers(const channel_case *c)
{
    for (size_t i = 0; i < c->n; i++) assert_true(isfinite(c->logz[i]) && isfinite(c->error[i]));
    for (size_t k = 0; k < c->n * c->size; k++) assert_true(isfinite(c->g[k]));
    for (size_t k = 0; k < c->n * c->size * c->size; k++) assert_true(isfinite(c->dg[k]));
}

static void set_point(channel_case *c, const double *h, const double *omega, const double *cov)
{
    channel_case_label(c->info.tokens, h, c->label);
    memcpy(c->omega, omega, c->size * sizeof(double));
    memcpy(c->cov, cov, c->square * sizeof(double));
}

/* A tie is the limit of labels approaching it along h_1 = -h_2. */
static void tie_is_a_limit(const char *spec)
{
    channel_case c = channel_case_open(spec, 2);
    for (size_t k = 0; k < c.labels; k++) c.label[k] = log(0.5);
    channel_case_label(2, (double[]){1e-4, -1e-4}, c.label + 4);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < c.size; k++) c.omega[i * c.size + k] = 0.3 * (double)k - 0.4;
        for (size_t k = 0; k < c.square; k++)
            c.cov[i * c.square + k] = k % (size_t)(c.info.indices + 1) ? 0.1 : 0.6;
    }
    channel_case_evaluate(&c, 1e-9, "auto");
    assert_finite_answers(&c);
    assert_close(c.logz[0], c.logz[1], 1e-6); /* even in h: the next order is h^2 */
    assert_true(norm_gap(c.size, c.g, c.g + c.size) < 1e-6);
    assert_true(norm_gap(c.size * c.size, c.dg, c.dg + c.size * c.size) < 1e-6);
    channel_case_close(&c);
}

static void ties(void **state)
{
    (void)state;
    tie_is_a_limit("attention:layers=1");
    tie_is_a_limit("attention:layers=2");
    tie_is_a_limit("attention:layers=2,mixing=literal");
}

static void infeasible_labels_name_the_sample(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=2", 5);
    channel_case_draw(&c, 0.1, 3);
    double *bad = c.label + 3 * c.labels; /* y12 + y21 > 1 */
    bad[0] = bad[3] = log(0.2);
    bad[1] = bad[2] = log(0.8);
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 5), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 3:"));
    bad[1] = NAN;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 5), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 3:"));
    channel_case_close(&c);
    c = channel_case_open("attention:layers=1,tokens=3", 1); /* three points that no line holds */
    double label[] = {0, -1, -1, -1, 0, -1, -1, -1, 0};
    memcpy(c.label, label, sizeof label);
    c.cov[0] = 1;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 1), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 0:"));
    channel_case_close(&c);
}

static void bad_moments_name_the_sample(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=2", 4);
    channel_case_draw(&c, 0.1, 3);
    c.omega[2 * c.size] = INFINITY;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 4), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 2:"));
    c.omega[2 * c.size] = 0;
    c.cov[1 * c.square] = -1;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 4), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 1:"));
    c.cov[1 * c.square] = 1;
    c.cov[1 * c.square + 3] = -INFINITY;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 4), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "sample 1: covariance entry 3 is -inf"));
    channel_case_close(&c);
}

/* Delta = 700: y underflows, log y does not, and the closed form still holds. */
static void saturated(void **state)
{
    (void)state;
    for (double delta = 50; delta <= 700; delta += 325) {
        double root = sqrt(delta / 2), h[] = {root, -root}, omega[] = {root + 0.1, 0.2 - root}, v = 0.3;
        channel_case c = channel_case_open("attention:layers=1", 1);
        set_point(&c, h, omega, &v);
        channel_case_evaluate(&c, 1e-8, "auto");
        assert_finite_answers(&c);
        assert_close(c.logz[0], -log(2 * M_PI * v) - 0.05 / (2 * v) - log(2),
                     1e-11); /* only one branch has mass */
        assert_close(c.g[0], -0.1 / v, 1e-11);
        assert_close(c.g[1], -0.2 / v, 1e-11);
        channel_case_close(&c);
        double omega2[] = {0.5, -0.5, 0.4 * root, -0.4 * root}, cov2[] = {0.5, 0.1, 0.1, 0.4};
        c = channel_case_open("attention:layers=2", 1);
        set_point(&c, h, omega2, cov2);
        channel_case_evaluate(&c, 1e-6, "auto");
        assert_finite_answers(&c);
        assert_true(c.error[0] < 1e-6);
        channel_case_close(&c);
    }
}

/* V -> 0 in all directions with Z = omega + O(sqrt V): the posterior is the Gaussian of the tangent of
 * the fibre, so tr V (dg + V^-1) counts its free dimensions, and g is of order V^(-1/2). */
static void vanishing_covariance(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=2", 40);
    channel_case_draw(&c, 0.5, 11);
    for (size_t i = 0; i < c.n; i++) {
        for (size_t k = 0; k < c.square; k++) c.cov[i * c.square + k] = k % 3 ? 0 : 1e-10;
        for (size_t k = 0; k < c.size; k++)
            c.omega[i * c.size + k] = c.z[i * c.size + k] + 1e-5 * sin((double)(i * 4 + k));
    }
    channel_case_evaluate(&c, 1e-6, "auto");
    assert_finite_answers(&c);
    for (size_t i = 0; i < c.n; i++) {
        double dimensions = 0, g2 = 0, bound = 0;
        for (size_t k = 0; k < c.size; k++) {
            dimensions += 1 + 1e-10 * c.dg[(i * c.size + k) * c.size + k];
            g2 += 1e-10 * c.g[i * c.size + k] * c.g[i * c.size + k];
            bound += pow(sin((double)(i * 4 + k)), 2);
        }
        assert_close(dimensions, 2, 1e-3);    /* two of four */
        assert_true(g2 < bound * (1 + 1e-3)); /* a projection of omega - Z */
    }
    channel_case_close(&c);
}

/* V down to 1e-10 in any direction: Cov(Z|y) to 1e-6 in units of V.  dg = V^-1 Cov V^-1 - V^-1 is relatively
 * as good only where the label says something on the scale of V, and its error says so. */
static void small_covariance_is_accurate(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=2", 60);
    channel_case_draw(&c, 1e-10, 5);
    channel_case_evaluate(&c, 1e-6, "auto");
    assert_finite_answers(&c);
    for (size_t i = 0; i < c.n; i++) {
        const double *v = c.cov + i * c.square, *dg = c.dg + i * c.size * c.size;
        double trace_inverse = (v[0] + v[3]) / (v[0] * v[3] - v[1] * v[2]), size = 0;
        for (size_t k = 0; k < c.size * c.size; k++) size += dg[k] * dg[k];
        double informed = fmin(1, sqrt(size) / trace_inverse);
        assert_close(c.error[i] * informed, 0, 1e-6);
    }
    channel_case_close(&c);
}

static void omega_far_from_the_label(void **state)
{
    (void)state;
    double h[] = {0.5, -1.2}, v = 0.05, far1[] = {30, 40};
    channel_case c = channel_case_open("attention:layers=1", 1);
    set_point(&c, h, far1, &v);
    channel_case_evaluate(&c, 1e-8, "auto");
    double expected =
        -log(2 * M_PI * v) - (30.5 * 30.5 + 38.8 * 38.8) / (2 * v) - log(2); /* the branch -h is nearer */
    assert_close_relative(c.logz[0], expected, 1e-13);
    assert_close_relative(c.g[0], (-0.5 - 30) / v, 1e-12);
    channel_case_close(&c);
    double far2[] = {0.4, -0.3, 25, -18}, cov[] = {0.3, 0.05, 0.05, 0.2};
    c = channel_case_open("attention:layers=2", 1);
    set_point(&c, h, far2, cov);
    channel_case_evaluate(&c, 1e-6, "auto");
    assert_finite_answers(&c);
    assert_true(c.logz[0] < -500);
    assert_true(c.error[0] <= 1e-6);
    double logz = c.logz[0], g[4];
    memcpy(g, c.g, sizeof g);
    channel_case_evaluate(&c, 1e-6, "nested");
    assert_close(logz, c.logz[0], 1e-5);
    assert_true(norm_gap(4, g, c.g) < 1e-5);
    channel_case_close(&c);
}

/* With one token the label is constant and says nothing: g = 0, dg = 0. */
static void one_token(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=1,tokens=1", 20);
    channel_case_draw(&c, 0.1, 2);
    channel_case_evaluate(&c, 1e-4, "auto");
    assert_finite_answers(&c);
    for (size_t i = 0; i < c.n; i++) {
        assert_close(c.logz[i], 0, 2e-3);
        assert_close(c.g[i] * sqrt(c.cov[i]), 0, 2e-3);
        assert_close(c.dg[i] * c.cov[i], 0, 5e-3);
    }
    channel_case_close(&c);
}

/* One layer of rank P = 3 > M = 2 at omega = 0, V = 1: the density of docs/channel.md,
 * Z_out = (2 pi)^-P pi^((P-1)/2) exp(-(Delta12^2 + Delta21^2)/(2 s)). */
static void rank_above_tokens(void **state)
{
    const double delta12 = 1.3, delta21 = 0.4, s = delta12 + delta21;
    (void)state;
    for (int rank = 2; rank <= 4; rank++) {
        char spec[64];
        snprintf(spec, sizeof spec, "attention:layers=1,rank=%d", rank);
        channel_case c = channel_case_open(spec, 1);
        double label[] = {-log1p(exp(-delta12)), -delta12 - log1p(exp(-delta12)),
                          -delta21 - log1p(exp(-delta21)), -log1p(exp(-delta21))};
        memcpy(c.label, label, sizeof label);
        for (int k = 0; k < rank; k++) c.cov[k * (rank + 1)] = 1;
        channel_case_evaluate(&c, 1e-3, "auto");
        double expected = -rank * log(2 * M_PI) + 0.5 * (rank - 1) * log(M_PI) -
                          (delta12 * delta12 + delta21 * delta21) / (2 * s);
        assert_close(c.logz[0], expected, 0.004);
        /* g vanishes, and dg = (E[h h^T] / rank - 1) in the tokens, the same for each index */
        double common = 0.5 * (rank - 1),
               gram[] = {delta12 * delta12 / s + common, -delta12 * delta21 / s + common,
                         -delta12 * delta21 / s + common, delta21 * delta21 / s + common};
        for (int i = 0; i < 2 * rank; i++) {
            assert_close(c.g[i], 0, 0.02);
            for (int j = 0; j < 2 * rank; j++)
                assert_close(c.dg[i * 2 * rank + j],
                             i / 2 == j / 2 ? gram[2 * (i % 2) + j % 2] / rank - (i == j) : 0, 0.02);
        }
        channel_case_close(&c);
    }
}

static void refused_models(void **state)
{
    (void)state;
    stair_context *context;
    stair_model *model;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_model_create(context, "attention:layers=2,skip=-1", &model), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "skip=-1"));
    assert_null(model);
    assert_int_equal(stair_model_create(context, "attention:layers=1,skip=-1", &model),
                     STAIR_OK); /* nothing is mixed */
    stair_model_destroy(&model);
    assert_int_equal(stair_model_create(context, "attention:layers=2,activation=linear,skip=0", &model),
                     STAIR_BAD_INPUT);
    assert_int_equal(stair_model_create(context, "attention:heads=2", &model), STAIR_BAD_INPUT);
    stair_context_destroy(&context);
}

/* prenoise = d is V + d 1, to the bit. */
static void prenoise_adds_to_the_covariance(void **state)
{
    (void)state;
    channel_case with = channel_case_open("attention:layers=2,prenoise=0.125", 40);
    channel_case without = channel_case_open("attention:layers=2", 40);
    channel_case_draw(&without, 0.05, 9);
    memcpy(with.label, without.label, with.n * with.labels * sizeof(double));
    memcpy(with.omega, without.omega, with.n * with.size * sizeof(double));
    memcpy(with.cov, without.cov, with.n * with.square * sizeof(double));
    for (size_t i = 0; i < without.n; i++)
        for (size_t k = 0; k < without.square; k += 3) without.cov[i * without.square + k] += 0.125;
    channel_case_evaluate(&with, 1e-6, "auto");
    channel_case_evaluate(&without, 1e-6, "auto");
    assert_memory_equal(with.logz, without.logz, with.n * sizeof(double));
    assert_memory_equal(with.g, without.g, with.n * with.size * sizeof(double));
    assert_memory_equal(with.dg, without.dg, with.n * with.size * with.size * sizeof(double));
    channel_case_close(&with);
    channel_case_close(&without);
}

/* y = g(Z) + noise D: as D grows the label says nothing and Z_out is the density of the noise. */
static void output_noise(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=1,activation=linear,tokens=1,noise=4", 1);
    double z = 0.5, v = 0.5, y = 16, sums[3] = {0}, step = 1e-3; /* y = z^2 + 2 xi by a plain sum */
    c.label[0] = y;
    c.omega[0] = z;
    c.cov[0] = v;
    for (double x = -8; x < 8; x += step) {
        double w = exp(-(x - z) * (x - z) / (2 * v) - (y - x * x) * (y - x * x) / 8) /
                   (2 * M_PI * sqrt(4 * v)) * step;
        sums[0] += w;
        sums[1] += w * x;
        sums[2] += w * x * x;
    }
    double mean = sums[1] / sums[0], variance = sums[2] / sums[0] - mean * mean;
    channel_case_evaluate(&c, 1e-4, "auto");
    assert_true(c.error[0] < 1e-3);
    assert_close(c.logz[0], log(sums[0]), 3 * c.error[0]);
    assert_close_relative(c.g[0], (mean - z) / v, 3 * c.error[0]);
    assert_close_relative(c.dg[0], variance / (v * v) - 1 / v, 3 * c.error[0]);
    channel_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties),
        cmocka_unit_test(infeasible_labels_name_the_sample),
        cmocka_unit_test(bad_moments_name_the_sample),
        cmocka_unit_test(saturated),
        cmocka_unit_test(vanishing_covariance),
        cmocka_unit_test(small_covariance_is_accurate),
        cmocka_unit_test(omega_far_from_the_label),
        cmocka_unit_test(one_token),
        cmocka_unit_test(rank_above_tokens),
        cmocka_unit_test(refused_models),
        cmocka_unit_test(prenoise_adds_to_the_covariance),
        cmocka_unit_test(output_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
