/* What memory held before it was allocated decides nothing: the same bytes whether it was full of zeros, of
 * NaN (0xff) or of 1e306 (0x7f).  Loops over whole groups of lanes read past the last node. */
#include "failing_memory.h"

#include "channel_case.h"

static const int bytes[] = {0x00, 0xff, 0x7f, 0x3f};
enum { BYTES = sizeof bytes / sizeof *bytes };

static const struct {
    const char *model;
    size_t n;
    double precision, low;
} cases[] = {
    {"attention:layers=2", 150, 0.05, 1e-3},      {"attention:layers=2", 40, 1e-6, 1e-6},
    {"attention:layers=3", 12, 1e-2, 1e-2},       {"attention:layers=1,tokens=3", 60, 1e-6, 1e-4},
    {"attention:layers=2,rank=2+1", 8, 0.1, 0.1}, {"attention:layers=2,noise=1", 8, 1e-3, 0.1},
    {"square:tokens=2", 40, 1e-4, 1e-3},          {"expr:z1^2+sign(z1*z2)", 8, 1e-3, 0.1},
};
enum { CASES = sizeof cases / sizeof *cases };

static void channel_does_not_see_it(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        channel_case c = channel_case_open(cases[k].model, cases[k].n);
        size_t size = c.n * c.size * c.size;
        double *first = channel_case_room(size);
        channel_case_draw(&c, cases[k].low, 31);
        for (int b = 0; b < BYTES; b++) {
            filling = bytes[b];
            for (size_t i = 0; i < c.n; i += 10) { /* as GAMP does: a worker for a few samples */
                size_t n = c.n - i < 10 ? c.n - i : 10;
                assert_int_equal(channel_case_try(&c, cases[k].precision, "auto", i, n), STAIR_OK);
            }
            filling = -1;
            if (b == 0) memcpy(first, c.dg, size * sizeof(double));
            assert_memory_equal(first, c.dg, size * sizeof(double));
        }
        free(first);
        channel_case_close(&c);
    }
}

static void gamp_does_not_see_it(void **state)
{
    (void)state;
    stair_context *context;
    stair_model *model;
    stair_gamp_options o = stair_gamp_defaults();
    double first[2 * 40];
    o.dim = 40;
    o.alpha = 1.6;
    o.max_iterations = 12;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_model_create(context, "attention:layers=2", &model), STAIR_OK);
    for (int b = 0; b < BYTES; b++) {
        stair_gamp_result *result;
        filling = bytes[b];
        assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_OK);
        filling = -1;
        if (b == 0) memcpy(first, result->run[0].weights, sizeof first);
        assert_memory_equal(first, result->run[0].weights, sizeof first);
        stair_gamp_result_destroy(&result);
    }
    stair_model_destroy(&model);
    stair_context_destroy(&context);
}

static void averages_do_not_see_it(void **state)
{
    static const char *const models[] = {"attention:layers=1", "attention:layers=2", "square"};
    (void)state;
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (int k = 0; k < 3; k++) {
        stair_model *model;
        stair_asymptotics_options o = stair_asymptotics_defaults();
        double alpha = 0;
        o.precision = 0.05;
        assert_int_equal(stair_model_create(context, models[k], &model), STAIR_OK);
        for (int b = 0; b < BYTES; b++) {
            stair_step found[2];
            int count;
            filling = bytes[b];
            assert_int_equal(stair_threshold(context, model, &o, 1, 2, found, &count), STAIR_OK);
            filling = -1;
            if (b == 0) alpha = found[0].alpha;
            assert_true(found[0].alpha == alpha && alpha > 0);
        }
        stair_model_destroy(&model);
    }
    stair_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_does_not_see_it),
        cmocka_unit_test(gamp_does_not_see_it),
        cmocka_unit_test(averages_do_not_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
