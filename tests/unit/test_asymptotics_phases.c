/* Phases: which fixed point is Bayes-optimal, and thresholds bracketed in a list. */
#include "fixture.h"

static stair_model *square;

static int open_all(void **state)
{
    if (open_context(state)) return 1;
    square = model_of("square");
    return 0;
}

static int close_all(void **state)
{
    stair_model_destroy(&square);
    return close_context(state);
}

typedef struct {
    double bayes, bayes_error, amp, amp_error;
    stair_phase phase;
} found;

static void find(double alpha, double precision, found *f)
{
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = precision;
    f->phase = (stair_phase){.bayes_q = &f->bayes,
                             .bayes_q_error = &f->bayes_error,
                             .amp_q = &f->amp,
                             .amp_q_error = &f->amp_error};
    stair_status status = stair_phase_at(context, square, &how, alpha, &f->phase);
    if (status != STAIR_OK) print_error("%s\n", stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    assert_true(f->phase.alpha == alpha);
    assert_true(stair_phase_worst(1, &f->phase) <= how.precision);
}

/* Phase retrieval (Mondelli, Montanari 2019; Barbier et al. 2019): weak recovery at 1/2; between 1 and 1.128
 * the teacher can be known exactly, but message passing stays below. */
static void phase_retrieval_is_hard_between_1_and_1_128(void **state)
{
    (void)state;
    found f;
    find(0.4, 0.02, &f);
    assert_false(f.phase.hard);
    assert_true(f.bayes == 0 && f.amp == 0);
    find(1.05, 0.02, &f);
    assert_true(f.phase.hard);
    assert_int_equal(f.phase.best, 1); /* full knowledge stays */
    assert_true(f.bayes == 1 && f.amp > 0.3 && f.amp < 0.9);
    assert_true(isinf(f.phase.entropy[1]) && isfinite(f.phase.entropy[0]) && f.phase.entropy[0] > 0);
    find(1.2, 0.02, &f);
    assert_false(f.phase.hard);
    assert_true(f.bayes == 1 && f.amp == 1);
}

/* A coarse precision does not make one of two fixed points that lie half an overlap apart. */
static void coarse_phases_are_phases(void **state)
{
    (void)state;
    found f;
    find(1.05, 0.3, &f);
    assert_true(f.phase.hard && f.bayes == 1);
    assert_true(f.amp > 0.3 && f.amp < 0.9);
}

/* Starts that lead to the same fixed point have its entropy. */
static void one_fixed_point_has_one_entropy(void **state)
{
    (void)state;
    found f;
    find(0.8, 0.02, &f);
    assert_false(f.phase.hard);
    assert_int_equal(f.phase.best, 0);
    assert_true(f.bayes == f.amp && f.bayes_error == f.amp_error);
    assert_true(f.phase.entropy[0] == f.phase.entropy[2] &&
                f.phase.entropy_error[0] == f.phase.entropy_error[2]);
}

/* Made-up phases with P = 2. */
static void thresholds_are_neighbours_of_the_list(void **state)
{
    (void)state;
    double none[4] = {0, 5e-4, 5e-4, 0}, some[4] = {0, 0, 0, 0.2}, minus[4] = {0, -0.1, -0.1, 0};
    double information[2], algorithmic[2];
    stair_phase list[4] = {{.alpha = 0.6, .bayes_q = some, .amp_q = minus},
                           {.alpha = 0.2, .bayes_q = none, .amp_q = none},
                           {.alpha = 0.5, .bayes_q = some, .amp_q = none},
                           {.alpha = 0.3, .bayes_q = none, .amp_q = none}};
    stair_phase_thresholds(2, 4, list, information, algorithmic);
    assert_true(information[0] == 0.3 && information[1] == 0.5);
    assert_true(algorithmic[0] == 0.5 && algorithmic[1] == 0.6);
    stair_phase_thresholds(2, 1, list, information, algorithmic); /* always known: no bracket */
    assert_true(isnan(information[0]) && isnan(information[1]) && isnan(algorithmic[0]));
    stair_phase_thresholds(2, 1, list + 1, information, algorithmic); /* never */
    assert_true(isnan(information[0]) && isnan(algorithmic[1]));
    list[3].bayes_q = some; /* known at 0.3 and not at 0.35: noise, or not monotone */
    list[1] = (stair_phase){.alpha = 0.35, .bayes_q = none, .amp_q = none};
    stair_phase_thresholds(2, 4, list, information, algorithmic);
    assert_true(isnan(information[0]));
}

static void worst_is_of_the_overlaps_and_the_best_entropy(void **state)
{
    (void)state;
    double q[4] = {0}, small[4] = {0, 1e-3, 1e-3, 0}, large[4] = {0, 0, 0, 0.1};
    stair_phase phase = {.bayes_q = q, .amp_q = q, .bayes_q_error = small, .amp_q_error = small};
    phase.entropy_error[0] = 0.5;
    phase.entropy_error[1] = 2e-3;
    phase.best = 1;
    assert_true(stair_phase_worst(2, &phase) == 2e-3);
    phase.amp_q_error = large;
    assert_true(stair_phase_worst(2, &phase) == 0.1);
    phase.amp_q_error = small;
    phase.bayes_q_error = large;
    assert_true(stair_phase_worst(2, &phase) == 0.1);
}

/* Three perceptrons that vote: from 11.34 on it can be known which is which, message passing tells them apart
 * from 19.232 on (tests/reference/zoo_by_quadrature.py has both). The other fixed point ends at 10.9, where
 * a coarse rule still has one and a fine one lets go of two directions. */
static void a_committee_is_hard_before_its_members_are_told_apart(void **state)
{
    (void)state;
    stair_model *committee = model_of("committee");
    stair_asymptotics_options how = stair_asymptotics_defaults();
    stair_hard_phase phase[4];
    int count = 0;
    how.precision = 0.03;
    stair_status status = stair_hard_phases(context, committee, &how, 4, phase, &count);
    if (status != STAIR_OK) print_error("%s\n", stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(phase[0].kind, STAIR_STEP_WEAK);
    assert_true(phase[0].information_error > 0 && phase[0].information_error < how.precision * 12);
    assert_true(fabs(phase[0].information - 11.34) < 3 * phase[0].information_error);
    assert_true(fabs(phase[0].algorithmic - 19.232004) < 3 * phase[0].algorithmic_error);
    stair_model_destroy(&committee);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phase_retrieval_is_hard_between_1_and_1_128),
        cmocka_unit_test(coarse_phases_are_phases),
        cmocka_unit_test(one_fixed_point_has_one_entropy),
        cmocka_unit_test(thresholds_are_neighbours_of_the_list),
        cmocka_unit_test(a_committee_is_hard_before_its_members_are_told_apart),
        cmocka_unit_test(worst_is_of_the_overlaps_and_the_best_entropy),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_all, close_all);
}
