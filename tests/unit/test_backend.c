/* Backends: chosen by name, asked for posteriors and passes from any thread, and free to leave things to the
 * processor. */
#include "fixture.h"

#include <stdatomic.h>
#include <string.h>

#include "core/context.h"
#include "gamp/gamp.h"

static atomic_int channel_calls, passes;

/* Counts, then has the processor do it. */
static stair_status counted_channel(stair_context *local, const stair_model *model,
                                    const stair_channel_options *options, uint64_t first, size_t n,
                                    const double *labels, const double *omega, size_t covs, const double *cov,
                                    stair_channel_result *result)
{
    stair_context plain = *local;
    atomic_fetch_add(&channel_calls, 1);
    plain.backend = NULL;
    return stair_channel_evaluate(&plain, model, options, first, n, labels, omega, covs, cov, result);
}

static stair_status counted_pass(stair_context *local, stair_gamp_state *state)
{
    atomic_fetch_add(&passes, 1);
    return stair_gamp_pass(local, state);
}

static const stair_backend only_channel = {.name = "half", .channel = counted_channel},
                           both = {.name = "whole", .channel = counted_channel, .pass = counted_pass};

static void devices_have_names(void **state)
{
    (void)state;
    assert_string_equal(stair_context_device(context), "cpu");
    assert_int_equal(stair_context_set_device(context, "auto"), STAIR_OK);
    assert_int_equal(stair_context_set_device(context, "cpu"), STAIR_OK);
    assert_string_equal(stair_context_device(context), "cpu");
    assert_int_equal(stair_context_set_device(context, "abacus"), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "auto, cpu"));
    assert_int_equal(stair_context_set_device(context, "cuda:"), STAIR_BAD_INPUT);
    assert_int_equal(stair_context_set_device(context, "cuda:x"), STAIR_BAD_INPUT);
    assert_int_equal(stair_context_set_device(context, "cpu:1"), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "must be one of"));
    assert_int_equal(stair_context_set_device(context, "cuda:9999"), STAIR_BAD_INPUT);
    assert_string_equal(stair_context_device(context), "cpu");
}

/* A run with each backend has the same bytes, and asks the backend for what it overrides. */
static void runs_ask_their_backend(void **state)
{
    (void)state;
    static const stair_backend *const backends[] = {&stair_backend_cpu, &only_channel, &both};
    stair_gamp_options how = stair_gamp_defaults();
    stair_model *model;
    double q[3];
    how.dim = 50;
    how.alpha = 1;
    how.max_iterations = 3;
    how.test = 64;
    model = model_of("attention:layers=1");
    assert_int_equal(stair_context_set_threads(context, 2), STAIR_OK);
    for (int k = 0; k < 3; k++) {
        stair_gamp_result *result;
        channel_calls = passes = 0;
        context->backend = backends[k];
        assert_int_equal(stair_gamp(context, model, &how, &result), STAIR_OK);
        q[k] = result->run[0].q[result->run[0].count - 1];
        assert_true((channel_calls > 0) == (k > 0));
        assert_int_equal(passes, k == 2 ? result->run[0].iterations : 0);
        stair_gamp_result_destroy(&result);
    }
    assert_true(q[0] == q[1] && q[1] == q[2] && q[0] > 0);
    context->backend = NULL;
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(runs_ask_their_backend),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
