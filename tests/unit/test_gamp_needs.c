/* What a dry run says runs take: every array is counted once, and the times are those of as many numbers. */
#include "fixture.h"

#include <math.h>
#include <string.h>

static stair_gamp_need need_of(const char *spec, stair_gamp_options o, const stair_gamp_data *data)
{
    stair_gamp_need need;
    stair_model *model = model_of(spec);
    if (stair_gamp_needs(context, model, &o, data, &need) != STAIR_OK)
        fail_msg("%s", stair_context_message(context));
    stair_model_destroy(&model);
    return need;
}

static void bytes_are_counted(void **state)
{
    (void)state;
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 1000, o.alpha = 3, o.regenerate = false, o.wide = false;
    stair_gamp_need one = need_of("attention:layers=2", o, NULL), more;
    const double weights = 2 * 1000 * 8, x = 3000.0 * 2 * 1000 * 4; /* W (P, D); X in single precision */
    assert_int_equal(one.samples, 3000);
    assert_true(one.x_bytes == x && one.bytes > x + 5 * weights && one.bytes < x + 3e7);
    assert_true(one.room > 1e6 && one.device_bytes == 0);
    o.seeds = 3;
    more = need_of("attention:layers=2", o, NULL);
    assert_true(more.bytes - one.bytes == 2 * weights);
    o.seeds = 1, o.side = 0.2;
    more = need_of("attention:layers=2", o, NULL);
    assert_true(more.bytes - one.bytes == weights);
    o.side = 0, o.wide = true;
    assert_true(need_of("attention:layers=2", o, NULL).x_bytes == 2 * x);
    o.wide = false, o.regenerate = true;
    more = need_of("attention:layers=2", o, NULL);
    assert_true(more.x_bytes == 0 && one.bytes - more.bytes == x);
    o.regenerate = false;
    stair_gamp_data data = {.dim = 400, .samples = 50, .single = true};
    more = need_of("attention:layers=2", o, &data);
    assert_true(more.samples == 50 && more.x_bytes == 50.0 * 2 * 400 * 4 && more.draw == 0);
    data.dim = 1000, data.samples = 3000; /* the same without a teacher */
    more = need_of("attention:layers=2", o, &data);
    assert_true(one.bytes - more.bytes == weights);
}

/* Ten times the samples take ten times as long, within what a clock of a busy machine allows. */
static void seconds_follow_the_numbers(void **state)
{
    (void)state;
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = 1000, o.alpha = 1, o.max_iterations = 7, o.seeds = 2;
    stair_gamp_need one = need_of("attention:layers=2", o, NULL);
    assert_true(one.iteration > 0 && one.draw > 0 && isfinite(one.seconds));
    assert_close(one.seconds, 2 * (one.draw + 7 * one.iteration), 1e-9 * one.seconds);
    o.alpha = 100;
    stair_gamp_need more = need_of("attention:layers=2", o, NULL);
    assert_true(more.iteration > 20 * one.iteration && more.iteration < 500 * one.iteration);
    assert_true(more.draw > 20 * one.draw && more.draw < 500 * one.draw);
    /* 2e6 normals take no less than a millisecond on any core, and no more than a second */
    assert_true(one.draw * stair_context_threads(context) > 1e-3 && one.draw < 1);
}

static void too_much_is_said(void **state)
{
    (void)state;
    stair_gamp_need need = {.bytes = 5e9, .room = 4e9, .x_bytes = 1};
    assert_int_equal(stair_gamp_fits(context, &need), STAIR_NO_MEMORY);
    assert_non_null(
        strstr(stair_context_message(context), "take 5 GB of memory, and 4 GB are free; regenerate"));
    need.x_bytes = 0;
    assert_int_equal(stair_gamp_fits(context, &need), STAIR_NO_MEMORY);
    assert_null(strstr(stair_context_message(context), "regenerate"));
    need.bytes = need.room;
    assert_int_equal(stair_gamp_fits(context, &need), STAIR_OK);
    need.device_bytes = 2e9, need.device_room = 1e9;
    assert_int_equal(stair_gamp_fits(context, &need), STAIR_NO_MEMORY);
    assert_non_null(strstr(stair_context_message(context), "take 2 GB on the card, where 1 GB are free"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted),
        cmocka_unit_test(seconds_follow_the_numbers),
        cmocka_unit_test(too_much_is_said),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
