/* Runs beside theory: which theory, and statistics of known samples.  The header of GAMP is enough to compile
 * against. */
#include "stair_gamp.h"

#include "fixture.h"

#include <string.h>

static stair_model *one;

static int open_all(void **state)
{
    if (open_context(state)) return 1;
    one = model_of("attention:layers=1,tokens=2");
    return 0;
}

static int close_all(void **state)
{
    stair_model_destroy(&one);
    return close_context(state);
}

/* Four runs of P = 1 whose last M is 0.4, 0.5, 0.6, 0.7; before it something else. */
typedef struct {
    double q[4][2], m[4][2], cosine[4][2];
    stair_gamp_record history[4][2];
    stair_gamp_run run[4];
    stair_gamp_result result;
} sample;

static void make(sample *s)
{
    *s = (sample){.result = {.runs = 4, .indices = 1, .run = s->run}};
    for (int k = 0; k < 4; k++) {
        s->q[k][0] = s->m[k][0] = 99;
        s->q[k][1] = 0.3;
        s->m[k][1] = 0.4 + 0.1 * k;
        s->cosine[k][1] = 0.9;
        s->history[k][1] = (stair_gamp_record){.bayes = 0.1 * k, .plugin = 0.2};
        s->run[k] = (stair_gamp_run){.count = 2,
                                     .q = s->q[k],
                                     .m = s->m[k],
                                     .cosine = s->cosine[k],
                                     .history = s->history[k],
                                     .stop = k == 2 ? STAIR_STOP_DIVERGED : STAIR_STOP_CONVERGED};
    }
}

static stair_gamp_summary *summarise(const stair_gamp_result *result, const stair_gamp_expectation *theory)
{
    stair_gamp_summary *s;
    assert_int_equal(stair_gamp_summary_create(context, result, theory, &s), STAIR_OK);
    return s;
}

/* Standard error of 4 values, times Student's factor for them: 3.07298 at three standard deviations. */
static const double error_of_m = 3.07298 * 0.12909944487358055 / 2;

static void means_errors_and_z_scores(void **state)
{
    (void)state;
    sample data;
    double q[2] = {0.1, 0.45}, q_error[2] = {0, 0.1};
    stair_gamp_expectation theory = {.count = 2,
                                     .indices = 1,
                                     .q = q,
                                     .q_error = q_error,
                                     .errors = {.bayes = 0.05, .bayes_error = 0.01, .plugin = 0.2}};
    make(&data);
    stair_gamp_summary *s = summarise(&data.result, &theory);
    assert_int_equal(s->runs, 4);
    assert_int_equal(s->indices, 1);
    assert_int_equal(s->diverged, 1);
    assert_close(s->m[0], 0.55, 1e-15);
    assert_close(s->m_spread[0], 0.12909944487358055, 1e-14);
    assert_close(s->m_error[0], error_of_m, 1e-14);
    assert_close(s->z_m[0], 0.1 / hypot(error_of_m, 0.1), 1e-13); /* the last of theory */
    assert_close(s->q[0], 0.3, 1e-15);
    assert_close(s->q_error[0], 0, 1e-15);
    assert_close(s->z_q[0], -1.5, 1e-13);
    assert_close(s->cosine[0], 0.9, 1e-15);
    assert_close(s->bayes, 0.15, 1e-15);
    assert_close(s->bayes_error, error_of_m, 1e-14);
    assert_close(s->z_bayes, 0.1 / hypot(error_of_m, 0.01), 1e-13);
    assert_close(s->plugin, 0.2, 1e-15);
    stair_gamp_summary_destroy(&s);
    assert_null(s);
}

/* NaN: no theory, theory that says exactly 0, one run. */
static void z_scores_that_tell_nothing(void **state)
{
    (void)state;
    sample data;
    double q = 0, q_error = 0;
    stair_gamp_expectation theory = {.count = 1, .indices = 1, .q = &q, .q_error = &q_error};
    make(&data);
    stair_gamp_summary *s = summarise(&data.result, NULL);
    assert_true(isnan(s->z_m[0]) && isnan(s->z_q[0]) && isnan(s->z_bayes) && isnan(s->z_plugin));
    assert_close(s->m[0], 0.55, 1e-15);
    stair_gamp_summary_destroy(&s);
    s = summarise(&data.result, &theory);
    assert_true(isnan(s->z_m[0]) && isnan(s->z_q[0]) && isfinite(s->z_bayes));
    stair_gamp_summary_destroy(&s);
    q_error = 0.01; /* zero within an error is a prediction like any other */
    s = summarise(&data.result, &theory);
    assert_close(s->z_m[0], 0.55 / hypot(error_of_m, 0.01), 1e-13);
    stair_gamp_summary_destroy(&s);
    data.result.runs = 1;
    s = summarise(&data.result, &theory);
    assert_close(s->m[0], 0.4, 1e-15);
    assert_true(isnan(s->m_error[0]) && isnan(s->m_spread[0]) && isnan(s->z_m[0]) && isnan(s->bayes_error));
    stair_gamp_summary_destroy(&s);
}

static void theory_follows_the_start(void **state)
{
    (void)state;
    stair_gamp_options how = stair_gamp_defaults();
    assert_int_equal(stair_gamp_theory_kind(&how, STAIR_THEORY_FIXED), STAIR_THEORY_FIXED);
    assert_int_equal(stair_gamp_theory_kind(&how, STAIR_THEORY_TRAJECTORY), STAIR_THEORY_TRAJECTORY);
    how.start_overlap = 0.5;
    assert_int_equal(stair_gamp_theory_kind(&how, STAIR_THEORY_FIXED), STAIR_THEORY_TRAJECTORY);
    assert_int_equal(stair_gamp_theory_kind(&how, STAIR_THEORY_NONE), STAIR_THEORY_NONE);
}

static void expectations_are_those_of_the_library(void **state)
{
    (void)state;
    stair_gamp_options how = stair_gamp_defaults();
    stair_asymptotics_options asymptotics = stair_asymptotics_defaults();
    stair_gamp_theory_options points = {.points = 128, .replicates = 4, .seed = 99};
    stair_gamp_expectation *e;
    double q[4], q_error[4], m[4], m_error[4];
    stair_evolution fixed = {.q = q, .q_error = q_error};
    how.alpha = 0.35;
    how.seed = 3;
    how.max_iterations = 3;
    assert_int_equal(stair_gamp_expect(context, one, &how, STAIR_THEORY_NONE, NULL, &e), STAIR_OK);
    assert_true(e->count == 0 && isnan(stair_gamp_expected_q(e, 5)[0]) && isnan(e->errors.bayes));
    stair_gamp_expectation_destroy(&e);

    asymptotics.seed = 3;
    asymptotics.precision = 0.2 / sqrt((double)how.dim); /* a share of how far runs spread */
    stair_status status = stair_evolve(context, one, &asymptotics, 0.35, false, NULL, &fixed);
    assert_true(status == STAIR_OK || status == STAIR_NOT_CONVERGED);
    assert_int_equal(stair_gamp_expect(context, one, &how, STAIR_THEORY_FIXED, NULL, &e), STAIR_OK);
    assert_int_equal(e->count, 1);
    assert_true(stair_gamp_expected_q(e, 7)[0] == q[0] && stair_gamp_expected_q_error(e, 0)[0] == q_error[0]);
    assert_memory_equal(&e->errors, &fixed.errors, sizeof fixed.errors);
    stair_gamp_expectation_destroy(&e);

    how.start_overlap = 0.3; /* the fixed point becomes the way */
    assert_int_equal(stair_gamp_expect(context, one, &how, STAIR_THEORY_FIXED, &points, &e), STAIR_OK);
    points.seed = 3;
    assert_int_equal(stair_gamp_theory(context, one, &how, &points, 4, q, q_error, m, m_error), STAIR_OK);
    assert_int_equal(e->count, 4);
    assert_memory_equal(e->q, m, sizeof m);
    assert_memory_equal(e->q_error, m_error, sizeof m_error);
    assert_true(stair_gamp_expected_q(e, 1)[0] == m[1] && stair_gamp_expected_q(e, 9)[0] == m[3]);
    assert_int_equal(stair_errors_at(context, one, &asymptotics, m + 3, m_error + 3, &fixed.errors),
                     STAIR_OK);
    assert_memory_equal(&e->errors, &fixed.errors, sizeof fixed.errors);
    stair_gamp_expectation_destroy(&e);
    assert_null(e);
}

/* Runs of a teacher: theory is not far off. */
static void runs_agree_with_theory(void **state)
{
    (void)state;
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result;
    stair_gamp_expectation *e;
    how.dim = 300;
    how.alpha = 0.4;
    how.seeds = 6;
    assert_int_equal(stair_gamp(context, one, &how, &result), STAIR_OK);
    assert_int_equal(stair_gamp_expect(context, one, &how, STAIR_THEORY_FIXED, NULL, &e), STAIR_OK);
    stair_gamp_summary *s = summarise(result, e);
    assert_true(s->runs == 6 && s->diverged == 0);
    assert_true(fabs(s->z_m[0]) < 4 && fabs(s->z_q[0]) < 4 && fabs(s->z_bayes) < 4 && fabs(s->z_plugin) < 4);
    assert_true(s->m_error[0] > 0 && s->m_spread[0] > 0 && s->cosine[0] > 0.5);
    stair_gamp_summary_destroy(&s);
    stair_gamp_expectation_destroy(&e);
    stair_gamp_result_destroy(&result);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_errors_and_z_scores), cmocka_unit_test(z_scores_that_tell_nothing),
        cmocka_unit_test(theory_follows_the_start),  cmocka_unit_test(expectations_are_those_of_the_library),
        cmocka_unit_test(runs_agree_with_theory),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_all, close_all);
}
