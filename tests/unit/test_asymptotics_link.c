/* Asymptotics of a model of the caller's beside those of the same link written in the library. */
#include "channel_case.h"

static void squares(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = z[0] * z[0];
}

static channel_case open_link(size_t n)
{
    const stair_link link = {
        .name = "my-square", .tokens = 1, .indices = 1, .outputs = 1, .noise = 0.5, .function = squares};
    stair_context *context;
    stair_model *model;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    if (stair_model_from_link(context, &link, &model) != STAIR_OK)
        fail_msg("%s", stair_context_message(context));
    return channel_case_of(context, model, n);
}

/* State evolution and the first step, beside those of the built-in link. */
static void asymptotics_are_those_of_the_same_link(void **state)
{
    channel_case own = open_link(1), built_in = channel_case_open("square:noise=0.5", 1);
    stair_asymptotics_options o = stair_asymptotics_defaults();
    channel_case *cases[] = {&own, &built_in};
    double q[2], q_error[2];
    stair_step step[2][4];
    (void)state;
    o.precision = 3e-2;
    for (int k = 0; k < 2; k++) {
        stair_evolution result = {.q = &q[k], .q_error = &q_error[k]};
        int count;
        stair_context_set_threads(cases[k]->context, 0);
        o.seed = (uint64_t)(1 + k); /* samples of their own: agreement is within errors, not by bytes */
        assert_int_equal(stair_evolve(cases[k]->context, cases[k]->model, &o, 1.5, false, NULL, &result),
                         STAIR_OK);
        assert_int_equal(stair_threshold(cases[k]->context, cases[k]->model, &o, 1, 4, step[k], &count),
                         STAIR_OK);
        assert_true(count >= 1);
    }
    assert_true(q[0] > 0.4 && q_error[0] < 0.05 && q_error[1] < 0.05);
    assert_close(q[0], q[1], 4 * hypot(q_error[0], q_error[1]));
    assert_close(step[0][0].alpha, 0.578, 0.02); /* `stair threshold square:noise=0.5`: 0.57801(13) */
    assert_close(step[0][0].alpha, step[1][0].alpha, 4 * hypot(step[0][0].error, step[1][0].error));
    channel_case_close(&own);
    channel_case_close(&built_in);
}

static void agreement(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = tanh(2 * z[0] * z[1]);
}

/* Two equal eigenvalues, and posteriors that are symmetric up to the noise of their quadrature: neither may
 * make a coarse threshold lie.  1.937166 by 200 x 200 Gauss-Hermite nodes. */
static void equal_eigenvalues_at_coarse_precision(void **state)
{
    const stair_link link = {
        .name = "agreement", .tokens = 1, .indices = 2, .outputs = 1, .noise = 0.3, .function = agreement};
    stair_context *context;
    stair_model *model;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_model_from_link(context, &link, &model), STAIR_OK);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        stair_asymptotics_options o = stair_asymptotics_defaults();
        stair_step step;
        int count;
        o.precision = 2e-2;
        o.seed = seed;
        stair_status status = stair_threshold(context, model, &o, 1, 1, &step, &count);
        assert_true(status == STAIR_OK || status == STAIR_NOT_CONVERGED);
        assert_close(step.alpha, 1.937166, 3 * step.error);
        assert_true(step.error < 0.05);
    }
    stair_model_destroy(&model);
    stair_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asymptotics_are_those_of_the_same_link),
                                       cmocka_unit_test(equal_eigenvalues_at_coarse_precision)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
