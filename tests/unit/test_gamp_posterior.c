/* A posterior that is given: refused where it is none, and what it predicts where it is one. */
#include "fixture.h"

#include <math.h>
#include <string.h>

enum { DIM = 4, SAMPLES = 70 };
static const double weights[2 * DIM] = {0.5, -1, 0.25, 2, 1, 0.5, -0.75, 0.1};

static void no_posteriors_are_refused(void **state)
{
    (void)state;
    static const struct {
        double cov[4];
        const char *message;
    } bad[] = {{{1, 0.5, 0.4, 1}, "symmetric"},
               {{1, NAN, NAN, 1}, "finite"},
               {{1, 2, 2, 1}, "eigenvalue -1:"},
               {{1, 0, 0, -0.5}, "eigenvalue -0.5:"}};
    stair_model *model = model_of("expr:z1*z2");
    stair_gamp_result *result;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(stair_gamp_result_from(context, model, DIM, weights, bad[k].cov, 1, &result),
                         STAIR_BAD_INPUT);
        if (!strstr(stair_context_message(context), bad[k].message))
            fail_msg("%s", stair_context_message(context));
        assert_null(result);
    }
    double broken[2 * DIM];
    memcpy(broken, weights, sizeof broken);
    broken[2 * DIM - 1] = INFINITY;
    const double cov[] = {1, 0, 0, 1};
    assert_int_equal(stair_gamp_result_from(context, model, DIM, broken, cov, 1, &result), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "entry 7"));
    stair_model_destroy(&model);
}

/* y = z1 z2 of a Gaussian posterior: mean w1 w2 + c12, variance w1^2 c22 + w2^2 c11 + 2 w1 w2 c12 + c11 c22 +
 * c12^2. The average is over a lattice of points: a percent of the deviation. */
static void products_are_predicted(void **state)
{
    (void)state;
    const double cov[] = {0.3, 0.1, 0.1, 0.2};
    double x[SAMPLES * DIM], mean[SAMPLES], deviation[SAMPLES], plugin[SAMPLES];
    stair_model *model = model_of("expr:z1*z2");
    stair_gamp_result *result;
    for (int i = 0; i < SAMPLES * DIM; i++) x[i] = 2 * sin(1.3 * i * i + i);
    stair_gamp_data fresh = {.dim = DIM, .samples = SAMPLES, .x = x};
    assert_int_equal(stair_gamp_result_from(context, model, DIM, weights, cov, 1, &result), STAIR_OK);
    if (stair_gamp_predict(context, model, result->run, &fresh, mean, deviation, plugin) != STAIR_OK)
        fail_msg("%s", stair_context_message(context));
    for (int i = 0; i < SAMPLES; i++) {
        double w[2] = {0};
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < DIM; j++) w[k] += weights[k * DIM + j] * x[i * DIM + j] / sqrt(DIM);
        double variance = w[0] * w[0] * cov[3] + w[1] * w[1] * cov[0] + 2 * w[0] * w[1] * cov[1] +
                          cov[0] * cov[3] + cov[1] * cov[1];
        assert_close(plugin[i], w[0] * w[1], 1e-12);
        assert_close(mean[i], w[0] * w[1] + cov[1], 0.03 * sqrt(variance));
        assert_close(deviation[i], sqrt(variance), 0.03 * sqrt(variance));
    }
    stair_gamp_result_destroy(&result);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_posteriors_are_refused),
        cmocka_unit_test(products_are_predicted),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
