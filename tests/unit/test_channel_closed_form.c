/* One layer of rank one has a closed form: with w = sum_m gamma_m omega_m / V,
 *   log Z = -(M/2) log(2 pi V) - (|gamma|^2 + |omega|^2)/(2V) + log cosh w,
 *   <Z> = gamma tanh w,  Cov = gamma gamma^T / cosh^2 w. */
#include "channel_case.h"

typedef struct {
    double logz, g[16], dg[256];
} answer;

static double log_cosh(double w)
{
    return fabs(w) + log1p(exp(-2 * fabs(w))) - log(2);
}

static answer closed_form(int m, const double *gamma, const double *omega, double v)
{
    answer a;
    double w = 0, squares = 0;
    for (int i = 0; i < m; i++) {
        w += gamma[i] * omega[i] / v;
        squares += gamma[i] * gamma[i] + omega[i] * omega[i];
    }
    a.logz = -0.5 * m * log(2 * M_PI * v) - squares / (2 * v) + log_cosh(w);
    double sech2 = 1 / (cosh(w) * cosh(w));
    for (int i = 0; i < m; i++) {
        a.g[i] = (gamma[i] * tanh(w) - omega[i]) / v;
        for (int j = 0; j < m; j++) a.dg[i * m + j] = gamma[i] * gamma[j] * sech2 / (v * v) - (i == j) / v;
    }
    return a;
}

/* gamma is Z up to its sign; for two tokens it follows from the label, whose rounding then does not count. */
static void fibre(int m, const double *z, const double *label, double *gamma)
{
    memcpy(gamma, z, sizeof(double) * (size_t)m);
    if (m != 2) return;
    long double delta12 = (long double)label[0] - label[1], delta21 = (long double)label[3] - label[2];
    long double root = sqrtl(delta12 + delta21);
    gamma[0] = (double)(delta12 / root);
    gamma[1] = (double)(-delta21 / root);
}

static void agrees(void **state)
{
    const char *spec = *state;
    channel_case c = channel_case_open(spec, 300);
    int m = c.info.tokens;
    channel_case_draw(&c, 1e-2, 7);
    channel_case_evaluate(&c, 1e-8, "auto");
    for (size_t i = 0; i < c.n; i++) {
        double gamma[16], g = 0, dg = 0;
        fibre(m, c.z + i * c.size, c.label + i * c.labels, gamma);
        answer a = closed_form(m, gamma, c.omega + i * c.size, c.cov[i]);
        for (int k = 0; k < m; k++) g += a.g[k] * a.g[k];
        for (int k = 0; k < m * m; k++) dg += a.dg[k] * a.dg[k];
        assert_close(c.logz[i], a.logz, 1e-12 * (1 + fabs(a.logz)));
        for (int k = 0; k < m; k++)
            assert_close(c.g[i * c.size + (size_t)k], a.g[k], 1e-12 * (sqrt(g) + 1 / sqrt(c.cov[i])));
        for (int k = 0; k < m * m; k++)
            assert_close(c.dg[i * c.size * c.size + (size_t)k], a.dg[k], 1e-12 * (sqrt(dg) + 1 / c.cov[i]));
        assert_string_equal(stair_channel_method_name(c.method[i]), "exact");
    }
    channel_case_close(&c);
}

/* The model's own formula against the sum over its fibre. */
static void formula_is_the_sum(void **state)
{
    const char *spec = *state;
    channel_case a = channel_case_open(spec, 200), b = channel_case_open(spec, 200);
    channel_case_draw(&a, 1e-2, 11);
    channel_case_draw(&b, 1e-2, 11);
    channel_case_evaluate(&a, 1e-8, "closed");
    channel_case_evaluate(&b, 1e-8, "exact");
    for (size_t i = 0; i < a.n; i++) {
        const double *g = b.g + i * b.size, *dg = b.dg + i * b.size * b.size;
        double v = b.cov[i] + b.info.prenoise, size_g = 0, size_dg = 0;
        for (size_t k = 0; k < b.size; k++) size_g += g[k] * g[k];
        for (size_t k = 0; k < b.size * b.size; k++) size_dg += dg[k] * dg[k];
        assert_close(a.logz[i], b.logz[i], 1e-12 * (1 + fabs(b.logz[i])));
        for (size_t k = 0; k < b.size; k++)
            assert_close(a.g[i * a.size + k], g[k], 1e-12 * (sqrt(size_g) + 1 / sqrt(v)));
        for (size_t k = 0; k < b.size * b.size; k++)
            assert_close(a.dg[i * a.size * a.size + k], dg[k], 1e-12 * (sqrt(size_dg) + 1 / v));
        assert_string_equal(stair_channel_method_name(a.method[i]), "closed");
        assert_true(a.error[i] < 1e-9);
    }
    channel_case_close(&a);
    channel_case_close(&b);
}

/* A formula is for some keys of a model only: for the others --method closed says so. */
static void no_formula(void **state)
{
    channel_case c = channel_case_open(*state, 1);
    channel_case_draw(&c, 0.5, 1);
    assert_int_equal(channel_case_try(&c, 1e-6, "closed", 0, 1), STAIR_UNSUPPORTED);
    assert_non_null(strstr(stair_context_message(c.context), "method 'closed' does not fit this model"));
    channel_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"formula, two tokens", formula_is_the_sum, NULL, NULL, "attention:layers=1,tokens=2"},
        {"formula, five tokens", formula_is_the_sum, NULL, NULL, "attention:layers=1,tokens=5"},
        {"formula, linear", formula_is_the_sum, NULL, NULL, "attention:layers=1,tokens=3,activation=linear"},
        {"formula, prenoise", formula_is_the_sum, NULL, NULL, "attention:layers=1,prenoise=0.1"},
        {"formula, square", formula_is_the_sum, NULL, NULL, "square"},
        {"formula, squares", formula_is_the_sum, NULL, NULL, "square:tokens=4"},
        {"formula, squares, prenoise", formula_is_the_sum, NULL, NULL, "square:tokens=2,prenoise=0.05"},
        {"no formula, two layers", no_formula, NULL, NULL, "attention:layers=2"},
        {"no formula, rank two", no_formula, NULL, NULL, "attention:layers=1,rank=2"},
        {"no formula, noise on y", no_formula, NULL, NULL, "square:noise=0.3"},
        {"two tokens", agrees, NULL, NULL, "attention:layers=1,tokens=2"},
        {"three tokens", agrees, NULL, NULL, "attention:layers=1,tokens=3"},
        {"seven tokens", agrees, NULL, NULL, "attention:layers=1,tokens=7"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
