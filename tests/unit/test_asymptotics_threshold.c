/* Thresholds: closed forms of one layer, values of two layers from a quadrature that shares no code with
 * this one (docs/errata.md, 1), the bounds no model may violate, and the local limit of perfect recovery. */
#include "assert_close.h"
#include "stair.h"

#include "asymptotics/perfect.h"

#include <stdio.h>
#include <string.h>

static stair_context *context;

static int open_context(void **state)
{
    (void)state;
    return stair_context_create(&context) != STAIR_OK;
}

static int close_context(void **state)
{
    (void)state;
    stair_context_destroy(&context);
    return 0;
}

static int steps_of(const char *spec, int most, double precision, stair_step *list)
{
    stair_model *model;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    int count = 0;
    how.precision = precision;
    assert_int_equal(stair_model_create(context, spec, &model), STAIR_OK);
    stair_status status = stair_threshold(context, model, &how, most, 16, list, &count);
    if (status != STAIR_OK) print_error("%s: %s\n", spec, stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    stair_model_destroy(&model);
    return count;
}

static void one_layer_is_closed_form(void **state)
{
    (void)state;
    static const int tokens[] = {2, 3, 4, 8};
    for (int k = 0; k < 4; k++) {
        char spec[64];
        stair_step list[16];
        int m = tokens[k];
        snprintf(spec, sizeof spec, "attention:layers=1,tokens=%d", m);
        assert_int_equal(steps_of(spec, 0, 0.05, list), 2);
        assert_close_relative(list[0].alpha, 1.0 / (m * (m + 1)), 1e-9);
        assert_string_equal(list[1].kind, "perfect");
        assert_close_relative(list[1].alpha, 1.0 / m, 1e-9);
        assert_false(list[1].jump);
    }
}

static void two_layers_first_step(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double alpha;
    } known[] = {{"attention:layers=2,skip=1", 0.18547784},
                 {"attention:layers=2,skip=2", 0.17427023},
                 {"attention:layers=2,skip=0.5", 0.20271184},
                 {"attention:layers=2,skip=1,mixing=literal", 0.19060623}};
    for (int k = 0; k < 4; k++) {
        stair_step list[16];
        assert_int_equal(steps_of(known[k].spec, 1, 1e-3, list), 1);
        assert_close(list[0].alpha, known[k].alpha, 1e-7);
        assert_true(list[0].error < 1e-6);
        assert_int_equal(list[0].learn_count, 1);
        assert_int_equal(list[0].learns[0], 2);
        assert_close(list[0].alpha * list[0].eigenvalue, 1, 1e-12);
    }
}

static void first_step_respects_its_bound(void **state)
{
    (void)state;
    static const double skips[] = {0.3, 4};
    for (int k = 0; k < 4; k++) {
        char spec[96];
        stair_step list[16];
        snprintf(spec, sizeof spec, "attention:layers=2,skip=%g,mixing=%s", skips[k % 2], k < 2 ? "attention" : "literal");
        steps_of(spec, 1, 0.05, list);
        assert_true(list[0].alpha >= 1.0 / 6 - 3 * list[0].error);
    }
}

static void whole_staircase_of_two_layers(void **state)
{
    (void)state;
    stair_step list[16];
    int count = steps_of("attention:layers=2,skip=1", 0, 0.03, list);
    assert_int_equal(count, 3);
    assert_int_equal(list[1].learns[0], 1);
    assert_close(list[1].alpha, 0.7195, 5 * list[1].error);
    assert_true(list[1].error < 0.03);
    assert_string_equal(list[2].kind, "perfect");
    assert_close(list[2].alpha, 1, 1e-9);
    for (int k = 1; k < count; k++) assert_true(list[k].alpha > list[k - 1].alpha);
}

static void perfect_recovery_is_at_the_counting_bound(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int equations;
        double alpha;
    } known[] = {{"attention:layers=1,tokens=3", 3, 1.0 / 3},
                 {"attention:layers=2", 2, 1},
                 {"attention:layers=3", 2, 1.5},
                 {"attention:layers=1,rank=2,tokens=3", 5, 0.4}};
    for (int k = 0; k < 4; k++) {
        stair_model *model;
        stair_symmetry symmetry;
        stair_perfect found;
        assert_int_equal(stair_model_create(context, known[k].spec, &model), STAIR_OK);
        stair_symmetry_find(model, &symmetry);
        assert_int_equal(stair_perfect_find(context, model, &symmetry, 256, 4, 1, &found), STAIR_OK);
        assert_int_equal(found.equations, known[k].equations);
        assert_close(found.alpha, known[k].alpha, 1e-12);
        stair_model_destroy(&model);
    }
}

static void symmetries_are_found(void **state)
{
    (void)state;
    stair_model *model;
    stair_symmetry s;
    assert_int_equal(stair_model_create(context, "attention:layers=2,rank=2+1,tokens=3", &model), STAIR_OK);
    stair_symmetry_find(model, &s);
    assert_int_equal(s.count, 2); /* one overlap per layer: rows even, equal inside a layer */
    assert_true(s.even[0] && s.even[1] && s.even[2]);
    assert_int_equal(s.pair[0], s.pair[4]);
    assert_int_not_equal(s.pair[0], s.pair[8]);
    assert_int_equal(s.pair[1], -1);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetries_are_found),
        cmocka_unit_test(one_layer_is_closed_form),
        cmocka_unit_test(two_layers_first_step),
        cmocka_unit_test(first_step_respects_its_bound),
        cmocka_unit_test(perfect_recovery_is_at_the_counting_bound),
        cmocka_unit_test(whole_staircase_of_two_layers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
