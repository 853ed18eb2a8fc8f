/* Rows that a label is linear in, integrated out: against the lattice, which integrates over all rows,
 * against the formula where the rest of the rows does not matter, and when little is left to learn. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "model/marginal.h"

enum { MOST = 24 }; /* numbers of Z in these tests */

typedef struct {
    double logz, g[MOST], dg[MOST * MOST];
} posterior;

static void by_marginal(const stair_model *model, const double *label, const double *omega, const double *cov,
                        int n, posterior *out)
{
    stair_marginal *x;
    assert_true(stair_marginal_exists(model));
    assert_int_equal(stair_marginal_create(context, model, &x), STAIR_OK);
    assert_true(stair_marginal_set(x, label, omega, cov));
    for (int r = 0; r < 8; r++) assert_true(stair_marginal_sum(x, 1, 5, r, n));
    stair_marginal_finish(x, 0, 8, &out->logz, out->g, out->dg);
    stair_marginal_destroy(&x);
    assert_null(x);
}

/* A label of the model with noise, and rows Z at omega + sqrt(1 - q) normals. */
static void draw(const stair_model *model, uint64_t seed, double spread, double *omega, double *label)
{
    int cells = model->info.indices * model->info.tokens;
    double z[MOST], x[2 * MOST];
    stair_rng_normals(seed, STAIR_RNG_POINTS, 0, 2 * MOST, x);
    for (int i = 0; i < cells; i++) {
        omega[i] = x[i];
        z[i] = omega[i] + spread * x[MOST + i];
    }
    assert_int_equal(stair_model_forward(context, model, 1, z, label), STAIR_OK);
    for (int k = 0; k < model->info.label_size; k++) label[k] += 0.1;
}

static double size_of(int n, const double *a)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * a[i];
    return sqrt(sum);
}

/* One head, two tokens: four numbers, which a lattice integrates to four digits. */
static void agrees_with_the_lattice(void **state)
{
    (void)state;
    const char *specs[] = {"attention:layers=1,readout=1,noise=0.3",
                           "attention:layers=1,readout=1,noise=0.3,prenoise=0.2"};
    for (int k = 0; k < 2; k++) {
        stair_model *model = model_of(specs[k]);
        double omega[MOST], label[2], cov[] = {0.5, 0.1, 0.1, 0.7}, wide[4], error, logz, g[4], dg[16];
        stair_channel_options options = stair_channel_defaults();
        options.precision = 1e-3;
        options.method = "lattice";
        draw(model, 3 + (uint64_t)k, 0.7, omega, label);
        stair_channel_result result = {.logz = &logz, .g = g, .dg = dg, .error = &error};
        assert_int_equal(
            stair_channel_evaluate(context, model, &options, 0, 1, label, omega, 1, cov, &result), STAIR_OK);
        for (int i = 0; i < 4; i++) wide[i] = cov[i] + (i % 3 ? 0 : model->info.prenoise);
        posterior p;
        by_marginal(model, label, omega, wide, 4096, &p);
        if (!(error < 2e-3)) fail_msg("lattice: %g", error);
        assert_close(p.logz, logz, 2e-3);
        for (int i = 0; i < 4; i++) assert_close(p.g[i], g[i], 3e-3 * size_of(4, g));
        for (int i = 0; i < 16; i++) assert_close(p.dg[i], dg[i], 6e-3 * size_of(16, dg));
        stair_model_destroy(&model);
    }
}

/* dg is the derivative of g and g that of log Z, with the same points: heads, sums of rows and their blocks.
 */
static void derivatives_of_heads(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,heads=2,readout=1,noise=0.2");
    int p = model->info.indices, size = p * model->info.tokens;
    double omega[MOST], label[2], cov[36] = {0}, step = 1e-4;
    for (int i = 0; i < 36; i++) cov[i] = i % 7 ? model->block[i / 6] == model->block[i % 6] ? 0.05 : 0 : 0.4;
    draw(model, 8, 0.6, omega, label);
    posterior here, side[2];
    by_marginal(model, label, omega, cov, 4096, &here);
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < 2; k++) {
            omega[i] += k ? -2 * step : step;
            by_marginal(model, label, omega, cov, 4096, &side[k]);
        }
        omega[i] += step;
        assert_close((side[0].logz - side[1].logz) / (2 * step), here.g[i], 0.02 * size_of(size, here.g));
        for (int j = 0; j < size; j++)
            assert_close((side[0].g[j] - side[1].g[j]) / (2 * step), here.dg[i * size + j],
                         0.02 * size_of(size * size, here.dg));
    }
    for (int t = 0; t < 2; t++) /* only the sum of the rows of a head matters */
        assert_close(here.g[t], here.g[2 + t], 1e-12);
    stair_model_destroy(&model);
}

/* As V -> 0 the label is linear in Z: g = J^T (y - g(omega)) / noise and dg = -J^T J / noise, few points or
 * not. */
static void nothing_is_lost_as_variances_vanish(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=2,heads=1,readout=1,noise=0.5,weights=untied");
    int p = model->info.indices, size = p * 2;
    double omega[MOST], label[2], plain[2], cov[100] = {0}, jacobian[2][MOST];
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = 1e-8;
    draw(model, 11, 0, omega, label);
    assert_int_equal(stair_model_forward(context, model, 1, omega, plain), STAIR_OK);
    for (int k = 0; k < 2; k++) {
        double unit[2] = {k == 0, k == 1};
        assert_int_equal(stair_model_gradient(context, model, omega, unit, jacobian[k]), STAIR_OK);
    }
    posterior out;
    by_marginal(model, label, omega, cov, 4096, &out);
    double g[MOST], scale = 0;
    for (int i = 0; i < size; i++) {
        g[i] = 0;
        for (int k = 0; k < 2; k++) g[i] += jacobian[k][i] * (label[k] - plain[k]) / 0.5;
        for (int k = 0; k < 2; k++) scale += jacobian[k][i] * jacobian[k][i] / 0.5;
    }
    for (int i = 0; i < size; i++) assert_close(out.g[i], g[i], 0.01 * size_of(size, g));
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            double product = jacobian[0][i] * jacobian[0][j] + jacobian[1][i] * jacobian[1][j];
            assert_close(out.dg[i * size + j], -product / 0.5, 0.03 * scale);
        }
    stair_model_destroy(&model);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_lattice),
        cmocka_unit_test(derivatives_of_heads),
        cmocka_unit_test(nothing_is_lost_as_variances_vanish),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
