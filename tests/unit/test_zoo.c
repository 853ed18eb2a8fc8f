/* Thresholds and overlaps of the zoo that are known: MATH.md section 7. */
#include "assert_close.h"
#include "stair.h"

#include <math.h>
#include <string.h>

static stair_context *context;

static stair_step first_step(const char *spec)
{
    stair_model *model;
    stair_step list[8];
    int count = 0;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    if (stair_model_create(context, spec, &model) != STAIR_OK ||
        stair_threshold(context, model, &o, 1, 8, list, &count) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    assert_true(count >= 1);
    stair_model_destroy(&model);
    return list[0];
}

/* square, abs: 1/2; product 0.593751; parity pi^2/4, of three never; the label tells: 0; norm2: 1 by symmetry
 * of rotations, G = (y/2 - 1) 1, E G^2 = 1. */
static void first_steps(void **state)
{
    static const struct {
        const char *spec;
        double alpha, tolerance;
    } cases[] = {{"abs", 0.5, 1e-5},
                 {"expr:z1^2", 0.5, 1e-4},
                 {"abs:tokens=2", 0.25, 1e-5},
                 {"product", 0.593751, 1e-6},
                 {"expr:z1*z2", 0.593751, 1e-6},
                 {"norm2", 1, 1e-6},
                 {"parity", 2.4674011002723395, 1e-10},
                 {"parity:indices=3", INFINITY, 0},
                 {"sign", 0, 0},
                 {"linear:noise=1", 0, 0},
                 {"relu", 0, 0},
                 {"committee:indices=2", 0, 0},
                 {"soft-committee", 0, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_step step = first_step(cases[k].spec);
        if (isinf(cases[k].alpha))
            assert_true(isinf(step.alpha));
        else
            assert_close(step.alpha, cases[k].alpha, cases[k].tolerance + 3 * step.error);
        assert_true(step.error <= 1e-3 * fmax(1, cases[k].alpha));
    }
}

static double overlap_at(const char *spec, double alpha)
{
    stair_model *model;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    double q, error;
    stair_evolution result = {.q = &q, .q_error = &error};
    if (stair_model_create(context, spec, &model) != STAIR_OK ||
        stair_evolve(context, model, &o, alpha, false, NULL, &result) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    stair_model_destroy(&model);
    return q;
}

static void overlaps(void **state)
{
    (void)state;
    assert_close(overlap_at("sign", 2), 0.728298, 1e-5);
    assert_close(overlap_at("linear:noise=1", 2), 2 - sqrt(2), 1e-3);
}

/* z1 by its square, then sign(z2 z3) given z1: pi^2/4. */
static void staircase_has_two_steps(void **state)
{
    stair_model *model;
    stair_step list[8];
    int count;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    (void)state;
    assert_int_equal(stair_model_create(context, "staircase", &model), STAIR_OK);
    assert_int_equal(stair_threshold(context, model, &o, 0, 8, list, &count), STAIR_OK);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].learn_count, 1);
    assert_int_equal(list[1].learn_count, 2);
    assert_close(list[1].alpha, 2.4674011, 3 * list[1].error);
    assert_true(list[1].error < 1e-3);
    stair_model_destroy(&model);
}

/* Labels are flat half of the time: two samples for each equation. */
static void relu_needs_twice_the_samples(void **state)
{
    stair_model *model;
    stair_step list[8];
    int count;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    (void)state;
    assert_int_equal(stair_model_create(context, "relu", &model), STAIR_OK);
    assert_int_equal(stair_threshold(context, model, &o, 0, 8, list, &count), STAIR_OK);
    assert_int_equal(list[count - 1].kind, STAIR_STEP_PERFECT);
    assert_close(list[count - 1].alpha, 2, 1e-2);
    stair_model_destroy(&model);
}

/* Two indices are phase retrieval of complex signals: weak recovery at 1, perfect recovery with a jump at
 * 2.027, in samples per complex dimension (Maillard, Loureiro, Krzakala and Zdeborova, arXiv:2006.05228). */
static void norm_of_two_is_complex_phase_retrieval(void **state)
{
    stair_model *model;
    stair_step list[8];
    int count;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    (void)state;
    assert_int_equal(stair_model_create(context, "norm2", &model), STAIR_OK);
    assert_int_equal(stair_threshold(context, model, &o, 0, 8, list, &count), STAIR_OK);
    assert_int_equal(count, 2);
    assert_close(list[0].alpha, 1, 1e-6);
    assert_int_equal(list[1].kind, STAIR_STEP_PERFECT);
    assert_true(list[1].jump);
    assert_close(list[1].alpha, 2.027, 2e-3);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_steps),
        cmocka_unit_test(overlaps),
        cmocka_unit_test(staircase_has_two_steps),
        cmocka_unit_test(relu_needs_twice_the_samples),
        cmocka_unit_test(norm_of_two_is_complex_phase_retrieval),
    };
    if (stair_context_create(&context) != STAIR_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stair_context_destroy(&context);
    return failed;
}
