/* What stair_diagnose() concludes of an identity from points where errors are small enough to check it and
 * points where they are not. */
#include "channel_case.h"

#include "channel/diagnose.h"

#define CHECK STAIR_CHECK_SLOPE

/* The row after `fine` points of tolerance 1e-6 and `coarse` ones of tolerance 2, with these violations. */
static stair_identity row_of(int fine, double fine_violation, int coarse, double coarse_violation)
{
    stair_survey *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < fine; i++) stair_survey_note(s, CHECK, i ? 0 : fine_violation, 1e-6);
    for (int i = 0; i < coarse; i++) stair_survey_note(s, CHECK, i ? 0 : coarse_violation, 2);
    stair_identity row = stair_survey_conclude("", &s->finding[CHECK]);
    free(s);
    assert_int_equal(row.points, fine + coarse);
    assert_int_equal(row.resolved, fine);
    return row;
}

static void holds_where_half_of_the_points_are_resolved(void **state)
{
    (void)state;
    stair_identity row = row_of(5, 1e-7, 5, 1.5);
    assert_int_equal(row.verdict, STAIR_HOLDS);
    assert_close(row.violation, 1e-7, 0);
    assert_close(row.tolerance, 1e-6, 0);
}

static void is_not_resolved_by_a_few_points(void **state)
{
    (void)state;
    assert_int_equal(row_of(4, 1e-7, 5, 1.5).verdict, STAIR_NOT_RESOLVED);
    stair_identity row = row_of(0, 0, 9, 1.5);
    assert_int_equal(row.verdict, STAIR_NOT_RESOLVED);
    assert_close(row.violation, 1.5, 0);
}

static void fails_wherever_it_is_violated(void **state)
{
    (void)state;
    stair_identity few = row_of(1, 1e-5, 9, 1.9), coarse = row_of(9, 0, 1, 2.1);
    assert_int_equal(few.verdict, STAIR_FAILS);
    assert_close(few.violation, 1e-5, 0);
    assert_int_equal(coarse.verdict, STAIR_FAILS);
    assert_close(coarse.violation, 2.1, 0);
    assert_int_equal(row_of(9, NAN, 1, 0).verdict, STAIR_FAILS);
}

static void infinite_errors_claim_nothing(void **state)
{
    stair_survey *s = calloc(1, sizeof *s);
    (void)state;
    assert_non_null(s);
    stair_survey_note(s, CHECK, NAN, INFINITY);
    assert_int_equal(stair_survey_conclude("", &s->finding[CHECK]).verdict, STAIR_NOT_RESOLVED);
    stair_survey_note(s, CHECK, 3, 2); /* and hide nothing */
    assert_int_equal(stair_survey_conclude("", &s->finding[CHECK]).verdict, STAIR_FAILS);
    free(s);
}

/* Three last rows of four tokens are sampled with errors of percents: too much for derivatives. */
static void sampled_derivatives_are_not_resolved(void **state)
{
    channel_case c = channel_case_open("attention:layers=1,tokens=4,rank=3", 1);
    stair_diagnose_options o = stair_diagnose_defaults();
    stair_identity rows[16];
    int count, open = 0;
    (void)state;
    o.points = 4;
    assert_int_equal(stair_diagnose(c.context, c.model, &o, 16, rows, &count), STAIR_OK);
    for (int i = 0; i < count; i++) {
        if (rows[i].verdict != STAIR_NOT_RESOLVED) continue;
        assert_true(2 * rows[i].resolved < rows[i].points);
        open += strstr(rows[i].name, "d Z / d V") != NULL;
    }
    assert_int_equal(open, 1);
    channel_case_close(&c);
}

/* y is 5 and omega near 0.5: within one deviation the posterior goes from one sign of z to the other, and the
 * longest differences say nothing yet. */
static void differences_over_two_modes_know_their_error(void **state)
{
    channel_case c = channel_case_open("square:noise=0.5", 1);
    stair_diagnose_options o = stair_diagnose_defaults();
    stair_identity rows[16];
    int count;
    (void)state;
    assert_int_equal(stair_diagnose(c.context, c.model, &o, 16, rows, &count), STAIR_OK);
    for (int i = 0; i < count; i++)
        if (rows[i].verdict != STAIR_HOLDS)
            fail_msg("%s: %.3g, allowed %.3g", rows[i].name, rows[i].violation, rows[i].tolerance);
    channel_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_where_half_of_the_points_are_resolved),
        cmocka_unit_test(is_not_resolved_by_a_few_points),
        cmocka_unit_test(fails_wherever_it_is_violated),
        cmocka_unit_test(infinite_errors_claim_nothing),
        cmocka_unit_test(sampled_derivatives_are_not_resolved),
        cmocka_unit_test(differences_over_two_modes_know_their_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
