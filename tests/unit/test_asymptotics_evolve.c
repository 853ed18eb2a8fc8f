/* State evolution: exact zeros, bounds, monotone in alpha and in side information, equal from both starts
 * where there is no hard phase; errors and free entropy. */
#include "fixture.h"

#include "average/average.h"

#include <stdlib.h>
#include <string.h>

static stair_model *one, *two;

static int open_all(void **state)
{
    if (open_context(state)) return 1;
    one = model_of("attention:layers=1,tokens=2");
    two = model_of("attention:layers=2,tokens=2");
    return 0;
}

static int close_all(void **state)
{
    stair_model_destroy(&one);
    stair_model_destroy(&two);
    return close_context(state);
}

typedef struct {
    double q[4], error[4];
    stair_evolution result;
} evolved;

static void evolve(const stair_model *model, double precision, double alpha, double side, bool informed,
                   evolved *out)
{
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = precision;
    how.side = side;
    out->result = (stair_evolution){.q = out->q, .q_error = out->error};
    stair_status status = stair_evolve(context, model, &how, alpha, informed, NULL, &out->result);
    if (status != STAIR_OK) print_error("%s\n", stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
}

static void nothing_below_the_first_step(void **state)
{
    (void)state;
    evolved e;
    for (double alpha = 0; alpha < 0.18; alpha += 0.16) {
        evolve(two, 1e-3, alpha, 0, false, &e);
        for (int i = 0; i < 4; i++) assert_true(e.q[i] == 0);
    }
    assert_close(e.result.errors.bayes, 0.3025, 1e-3);
    assert_close(e.result.errors.plugin, 0.3868, 1e-3);
    assert_close(e.result.errors.gibbs, 2 * e.result.errors.bayes, 1e-15);
    assert_close(e.result.errors.weights, 1, 0);
}

static void branch_of_two_layers(void **state)
{
    (void)state;
    evolved e;
    evolve(two, 0.02, 0.5134, 0, false, &e);
    assert_close(e.q[3], 0.80, 0.01 + 4 * e.error[3]);
    assert_true(e.q[0] == 0 && e.q[1] == 0);
}

static void one_layer_from_zero_to_perfect(void **state)
{
    (void)state;
    evolved e, informed;
    double before = 0;
    for (double alpha = 0.2; alpha < 0.5; alpha += 0.06) {
        evolve(one, 2e-3, alpha, 0, false, &e);
        evolve(one, 2e-3, alpha, 0, true, &informed);
        assert_true(e.q[0] >= before && e.q[0] <= 1);
        assert_close(e.q[0], informed.q[0], 1e-3); /* the same random numbers */
        before = e.q[0];
    }
    evolve(one, 2e-3, 0.1, 0, true, &informed);
    assert_close(informed.q[0], 0, 1e-6); /* full knowledge does not last below the first step */
    evolve(one, 2e-3, 0.55, 0, false, &e);
    assert_int_equal(e.result.stop, STAIR_STOP_PERFECT);
    assert_true(e.q[0] == 1);
    assert_close(e.result.errors.bayes, 0, 1e-12);
}

static void monotone_in_side_information(void **state)
{
    (void)state;
    evolved e;
    double before = 0;
    for (double side = 0; side < 0.9; side += 0.2) {
        evolve(one, 5e-3, 0.3, side, false, &e);
        assert_true(e.q[0] >= before && e.q[0] <= 1);
        before = e.q[0];
    }
    evolve(one, 5e-3, 0, 0.3, false, &e);
    assert_close(e.q[0], 0.3, 1e-6); /* no samples: what the side information says */
}

static void entropy_slope_is_the_gap_of_state_evolution(void **state)
{
    (void)state;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    double alpha = 0.35, q = 0.5, step = 0.02, above, below, error, up = q + step, down = q - step, f;
    how.precision = 1e-3;
    assert_int_equal(stair_entropy_at(context, one, &how, alpha, &up, &above, &error), STAIR_OK);
    assert_int_equal(stair_entropy_at(context, one, &how, alpha, &down, &below, &error), STAIR_OK);
    assert_int_equal(stair_information_at(context, one, &how, &q, &f, &error), STAIR_OK);
    assert_true(error > 0 && error < 1e-2 * f);
    assert_close((above - below) / (2 * step), 0.5 * (alpha * f - q / (1 - q)), 5e-3);
}

static void entropy_is_flat_at_a_fixed_point(void **state)
{
    (void)state;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    evolved e;
    double at, above, below, error;
    evolve(one, 1e-3, 0.35, 0, false, &e);
    double q = e.q[0], up = q + 0.03, down = q - 0.03;
    assert_int_equal(stair_entropy_at(context, one, &how, 0.35, &q, &at, &error), STAIR_OK);
    assert_int_equal(stair_entropy_at(context, one, &how, 0.35, &up, &above, &error), STAIR_OK);
    assert_int_equal(stair_entropy_at(context, one, &how, 0.35, &down, &below, &error), STAIR_OK);
    assert_true(at > 0);                   /* better than Q = 0 */
    assert_true(at > above && at > below); /* a maximum */
    assert_close((above - below) / 0.06, 0, 1e-2);
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    evolved first, again;
    assert_int_equal(stair_context_set_threads(context, 1), STAIR_OK);
    evolve(two, 0.1, 0.3, 0, false, &first);
    assert_int_equal(stair_context_set_threads(context, 3), STAIR_OK);
    evolve(two, 0.1, 0.3, 0, false, &again);
    assert_int_equal(stair_context_set_threads(context, 0), STAIR_OK);
    assert_memory_equal(first.q, again.q, sizeof first.q);
    assert_memory_equal(first.error, again.error, sizeof first.error);
}

/* The curve against the same alphas solved one by one, and what any curve obeys. */
static void curve_agrees_with_single_alphas(void **state)
{
    (void)state;
    static const double alphas[] = {0.25, 0.5, 0.7, 0.85};
    static const double precisions[] = {1e-3, 1e-3, 1e-3, 0.02};
    stair_asymptotics_options how = stair_asymptotics_defaults();
    stair_curve *curve;
    double q[4], error[4], before[4] = {0};
    evolved single;
    how.precision = 0.02;
    assert_int_equal(stair_curve_create(context, two, &how, 1.2, &curve), STAIR_OK);
    for (int k = 0; k < 4; k++) {
        stair_curve_at(curve, alphas[k], q, error);
        evolve(two, precisions[k], alphas[k], 0, false, &single);
        for (int i = 0; i < 4; i++)
            assert_close(q[i], single.q[i], 4 * hypot(error[i], single.error[i]) + 1e-4);
        for (int i = 0; i < 4; i++) assert_true(error[i] <= how.precision);
        assert_true(k < 3 || error[0] > 0);
    }
    for (double alpha = 0; alpha < 1.2; alpha += 0.01) {
        stair_stop stop = stair_curve_at(curve, alpha, q, error);
        for (int i = 0; i < 4; i++) {
            assert_true(q[i] >= before[i] - 1e-12 && q[i] <= 1);
            assert_true(alpha > 0.185 || q[i] == 0);
            before[i] = q[i];
        }
        assert_int_equal(alpha > 1, stop == STAIR_STOP_PERFECT);
    }
    assert_true(stair_curve_is_whole(curve));
    stair_curve_destroy(&curve);
    assert_int_equal(stair_curve_create(context, two, &how, 0.5, &curve), STAIR_OK);
    assert_false(stair_curve_is_whole(curve));
    stair_curve_destroy(&curve);
    how.side = 0.1;
    assert_int_equal(stair_curve_create(context, two, &how, 1.2, &curve), STAIR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_below_the_first_step),
        cmocka_unit_test(branch_of_two_layers),
        cmocka_unit_test(one_layer_from_zero_to_perfect),
        cmocka_unit_test(monotone_in_side_information),
        cmocka_unit_test(entropy_slope_is_the_gap_of_state_evolution),
        cmocka_unit_test(entropy_is_flat_at_a_fixed_point),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(curve_agrees_with_single_alphas),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
