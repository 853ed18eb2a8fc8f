/* Thresholds and overlaps of the zoo that are known: MATH.md section 7. */
#include "assert_close.h"
#include "stair.h"

#include <math.h>
#include <string.h>

#define MOST 8

static stair_context *context;

/* The steps of a model, at most `steps` weak ones, or all. */
static int steps_of(const char *spec, double precision, int steps, stair_step *list)
{
    stair_model *model;
    int count = 0;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    if (precision > 0) o.precision = precision;
    if (stair_model_create(context, spec, &model) != STAIR_OK ||
        stair_threshold(context, model, &o, steps, MOST, list, &count) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    stair_model_destroy(&model);
    assert_true(count >= 1);
    return count;
}

typedef struct {
    const char *spec;
    double alpha, tolerance;
} first_step;

/* square, abs: 1/2; product 0.593751; parity pi^2/4, of three never; the label tells: 0; norm2: 1 by symmetry
 * of rotations, G = (y/2 - 1) 1, E G^2 = 1. */
static first_step first_steps[] = {
    {"abs", 0.5, 1e-5},
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
    {"soft-committee", 0, 0},
    /* by convolution of log |z|: tests/reference/zoo_by_quadrature.py */
    {"product:indices=3", 2.5651804, 1e-7},
    /* densities that are singular at critical values, at the ends, or have long tails */
    {"expr:z1^4-3*z1^2", 0.5764663, 1e-7},
    {"expr:cos(2*z1)", 1.61674559, 1e-7},
    {"expr:sign(cos(3*z1))", 61.69616728, 1e-6},
    {"expr:exp(-z1^2)", 0.5, 1e-7},
    {"expr:z1^2/(1+z1^2)", 0.5, 1e-7},
    {"expr:1/abs(z1)", 0.5, 1e-7},
    {"expr:z1/z2", 1, 1e-7},
    /* level sets that are parallel to coordinates in places */
    {"expr:max(z1,z2)", 0, 0},
    {"expr:relu(z1)-relu(z2)", 0, 0},
    {"expr:max(abs(z1),abs(z2))", 1.06798754, 1e-7}};

static void first_step_is_known(void **state)
{
    const first_step *c = *state;
    stair_step list[MOST];
    steps_of(c->spec, 0, 1, list);
    if (isinf(c->alpha))
        assert_true(isinf(list[0].alpha));
    else
        assert_close(list[0].alpha, c->alpha, c->tolerance + 3 * list[0].error);
    assert_true(list[0].error <= 1e-3 * fmax(1, c->alpha));
}

static double overlap_at(const char *spec, double alpha)
{
    stair_model *model;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    double q[MOST * MOST], error[MOST * MOST];
    stair_evolution result = {.q = q, .q_error = error};
    if (stair_model_create(context, spec, &model) != STAIR_OK ||
        stair_evolve(context, model, &o, alpha, false, NULL, &result) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    stair_model_destroy(&model);
    return q[0];
}

static void overlap_of_signs(void **state)
{
    (void)state;
    assert_close(overlap_at("sign", 2), 0.728298, 1e-5);
}

static void overlap_of_linear_labels(void **state)
{
    (void)state;
    assert_close(overlap_at("linear:noise=1", 2), 2 - sqrt(2), 1e-3);
}

/* z1 by its square, then sign(z2 z3) given z1: pi^2/4. */
static void staircase_has_two_steps(void **state)
{
    stair_step list[MOST];
    (void)state;
    assert_int_equal(steps_of("staircase", 0, 0, list), 2);
    assert_int_equal(list[0].learn_count, 1);
    assert_int_equal(list[1].learn_count, 2);
    assert_close(list[1].alpha, 2.4674011, 3 * list[1].error);
    assert_true(list[1].error < 1e-3);
}

/* Between its steps z1 is known in full and z2, z3 are not at all: that is no perfect recovery, and V stays
 * positive.  At 3 these have what a parity of two has. */
static void one_index_in_full_is_not_all(void **state)
{
    stair_asymptotics_options how = stair_asymptotics_defaults();
    stair_model *model;
    double q[9], error[9];
    stair_evolution result = {.q = q, .q_error = error};
    (void)state;
    how.precision = 0.1;
    assert_int_equal(stair_model_create(context, "staircase", &model), STAIR_OK);
    for (int informed = 0; informed < 2; informed++) {
        assert_int_equal(stair_evolve(context, model, &how, 1.5, informed, NULL, &result), STAIR_OK);
        assert_int_equal(result.stop, STAIR_STOP_CONVERGED);
        assert_close(q[0], 1, 1e-9);
        assert_close(q[4], 0, 1e-9);
        assert_close(q[8], 0, 1e-9);
    }
    stair_model_destroy(&model);
}

/* Labels are flat half of the time: two samples for each equation. */
static void relu_needs_twice_the_samples(void **state)
{
    stair_step list[MOST];
    (void)state;
    int count = steps_of("relu", 0, 0, list);
    assert_int_equal(list[count - 1].kind, STAIR_STEP_PERFECT);
    assert_close(list[count - 1].alpha, 2, 1e-2);
}

/* tests/reference/zoo_by_quadrature.py. */
static void a_committee_of_two_specialises(void **state)
{
    stair_step list[MOST];
    (void)state;
    assert_true(steps_of("committee:indices=2", 0, 2, list) >= 2);
    assert_int_equal(list[1].kind, STAIR_STEP_WEAK);
    assert_close(list[1].alpha, 2.052382428, 3 * list[1].error);
    assert_true(list[1].error < 3e-3);
}

/* Its second step by quadrature over the one overlap there is (tests/reference/zoo_by_quadrature.py); the
 * overlap is along (1, 1, 1)/sqrt 3. */
static void a_committee_of_three_specialises(void **state)
{
    stair_step list[MOST];
    (void)state;
    assert_int_equal(steps_of("committee", 0, 0, list), 3); /* the last: perfect recovery, never */
    assert_true(list[1].jump && isinf(list[2].alpha));
    assert_close(list[0].alpha, 0, 0);
    assert_close(list[1].alpha, 19.232004, 3 * list[1].error);
    assert_true(list[1].error < 0.019);
    for (int i = 0; i < 3; i++)
        assert_close(list[1].overlap[i], 0.31638196, 3 * list[1].overlap_error[i] + 1e-6);
}

/* Beyond that step the overlap is large, and never 1: labels are signs. */
static void a_committee_of_three_is_never_perfect(void **state)
{
    (void)state;
    double q = overlap_at("committee", 25);
    assert_true(q > 0.97 && q < 0.99);
}

/* More samples, fewer errors: also right at a step, where overlaps of different rows count. */
static void errors_fall_along_a_staircase(void **state)
{
    stair_model *model;
    stair_staircase_curve *curve = NULL;
    stair_asymptotics_options o = stair_asymptotics_defaults();
    (void)state;
    o.precision = 1e-2;
    assert_int_equal(stair_model_create(context, "committee:indices=2", &model), STAIR_OK);
    stair_staircase_curve_create(context, model, &o, 4, &curve);
    assert_non_null(curve);
    assert_true(curve->points > 6);
    for (int i = 1; i < curve->points; i++)
        assert_true(curve->errors[i].bayes <=
                    curve->errors[i - 1].bayes +
                        3 * hypot(curve->errors[i].bayes_error, curve->errors[i - 1].bayes_error));
    stair_staircase_curve_destroy(&curve);
    stair_model_destroy(&model);
}

/* A little noise leaves the fold of |z| where it was, nearly: tests/reference/zoo_by_quadrature.py. */
static void a_fold_stays_with_little_noise(void **state)
{
    stair_step list[MOST];
    (void)state;
    for (int rough = 0; rough < 2; rough++) { /* it was missed at 1e-2 */
        assert_int_equal(steps_of("abs:noise=1e-3", rough ? 1e-2 : 0, 0, list), 2);
        assert_int_equal(list[1].kind, STAIR_STEP_SPINODAL);
        assert_true(list[1].jump);
        assert_close(list[1].alpha, 1.13746, 3 * list[1].error + 5e-5);
        assert_true(list[1].error < (rough ? 2e-2 : 2e-3));
    }
}

/* Corners of boxes against integrals over coordinates, at a covariance that couples all three. */
static void boxes_are_what_lines_find(void **state)
{
    static const char *const specs[] = {"committee:indices=3", "expr:sign(z1)+2*sign(z2-0.5)"};
    static const double omega[] = {0.3, -0.8, 0.5}, labels[][2] = {{1, -1}, {3, -1}};
    static const double cov3[] = {0.7, -0.2, 0.1, -0.2, 0.5, 0.15, 0.1, 0.15, 0.9},
                        cov2[] = {0.7, -0.2, -0.2, 0.5};
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int l = 0; l < 2; l++) {
            stair_model *model;
            double logz[2], g[2][3], dg[2][9], error[2];
            int p = k ? 2 : 3;
            assert_int_equal(stair_model_create(context, specs[k], &model), STAIR_OK);
            for (int way = 0; way < 2; way++) {
                stair_channel_options o = stair_channel_defaults();
                o.method = way ? "lines" : "boxes";
                o.precision = 1e-8;
                stair_channel_result r = {
                    .logz = &logz[way], .g = g[way], .dg = dg[way], .error = &error[way]};
                assert_int_equal(stair_channel_evaluate(context, model, &o, 0, 1, &labels[k][l], omega, 1,
                                                        k ? cov2 : cov3, &r),
                                 STAIR_OK);
            }
            assert_true(error[0] < 1e-10);
            assert_close(logz[0], logz[1], 1e-7);
            for (int i = 0; i < p; i++) assert_close(g[0][i], g[1][i], 1e-6);
            for (int i = 0; i < p * p; i++) assert_close(dg[0][i], dg[1][i], 1e-6);
            stair_model_destroy(&model);
        }
}

/* Two indices are phase retrieval of complex signals: weak recovery at 1; perfect recovery with a jump, its
 * place from tests/reference/zoo_by_quadrature.py. */
static void norm_of_two_is_complex_phase_retrieval(void **state)
{
    stair_step list[MOST];
    (void)state;
    assert_int_equal(steps_of("norm2", 0, 0, list), 2);
    assert_close(list[0].alpha, 1, 1e-6);
    assert_int_equal(list[1].kind, STAIR_STEP_PERFECT);
    assert_true(list[1].jump);
    assert_close(list[1].alpha, 2.026705, 3 * list[1].error);
    assert_true(list[1].error < 3e-3);
}

/* The sign is learned at once; the fine structure only where the branch ends, since its labels are discrete
 * and nothing loses its stability.  The largest alpha(q) of q/(1-q) = alpha E g^2 before it folds, by
 * quadrature over the four labels without the program, is 2.345471 near q = 0.893. */
static void a_fold_without_instability_is_a_spinodal(void **state)
{
    stair_step list[MOST];
    (void)state;
    int count = steps_of("expr:sign(z1)+2*sign(sin(6*max(-4,min(4,z1))))", 1e-2, 0, list), found = 0;
    assert_int_equal(list[0].kind, STAIR_STEP_WEAK);
    assert_true(list[0].alpha == 0 && !list[0].jump);
    for (int k = 1; k < count; k++) {
        if (list[k].kind != STAIR_STEP_SPINODAL) continue;
        found++;
        assert_true(list[k].jump);
        assert_close(list[k].alpha, 2.345471, 3 * list[k].error);
        assert_true(list[k].error < 0.05 && isnan(list[k].eigenvalue));
        assert_close(list[k].overlap[0], 0.893, 3 * list[k].overlap_error[0]);
    }
    assert_int_equal(found, 1);
}

/* Between what can be known and what message passing finds: perfect recovery of real and of complex signals
 * is possible from 1 and 2 on (Maillard, Loureiro, Krzakala and Zdeborova, arXiv:2006.05228). */
static void phase_retrieval_has_hard_phases(void **state)
{
    static const struct {
        const char *spec;
        double information, algorithmic;
    } cases[] = {{"square", 1, 1.128471}, {"abs", 1, 1.128471}, {"norm2", 2, 2.026705}};
    stair_asymptotics_options o = stair_asymptotics_defaults();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_hard_phase list[4];
        stair_model *model;
        int count;
        assert_int_equal(stair_model_create(context, cases[k].spec, &model), STAIR_OK);
        assert_int_equal(stair_hard_phases(context, model, &o, 4, list, &count), STAIR_OK);
        stair_model_destroy(&model);
        assert_int_equal(count, 1);
        assert_int_equal(list[0].kind, STAIR_STEP_PERFECT);
        assert_close(list[0].information, cases[k].information, 3 * list[0].information_error + 1e-9);
        assert_close(list[0].algorithmic, cases[k].algorithmic, 3 * list[0].algorithmic_error);
        assert_true(list[0].information_error < 0.02 && list[0].algorithmic_error < 0.01);
    }
}

/* Where the fold is flatter than the precision resolves, the error reaches it: with these seeds it was
 * 2 +- 0.  Nothing is claimed to be exact that a walk has shown with noise. */
static void folds_that_are_not_resolved_are_in_the_error(void **state)
{
    static const struct {
        double precision;
        uint64_t seed;
    } cases[] = {{0.1, 2}, {0.1, 5}, {1e-2, 2}, {5e-2, 1}, {5e-3, 1}};
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_model *model;
    (void)state;
    assert_int_equal(stair_model_create(context, "norm2", &model), STAIR_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_step list[MOST];
        int count;
        o.precision = cases[k].precision;
        o.seed = cases[k].seed;
        stair_status status = stair_threshold(context, model, &o, 0, MOST, list, &count);
        assert_true(status == STAIR_OK || status == STAIR_NOT_CONVERGED);
        assert_int_equal(count, 2);
        assert_close(list[1].alpha, 2.026705, 3 * list[1].error);
    }
    stair_model_destroy(&model);
}

/* Never learned by message passing (Troiani et al., arXiv:2405.15480); by information from where the
 * entropies of no knowledge and of much are equal: tests/reference/zoo_by_quadrature.py. */
static void a_parity_of_three_is_hard(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_hard_phase list[4];
    stair_model *model;
    int count;
    (void)state;
    o.precision = 3e-2;
    assert_int_equal(stair_model_create(context, "parity:indices=3", &model), STAIR_OK);
    assert_int_equal(stair_hard_phases(context, model, &o, 4, list, &count), STAIR_OK);
    stair_model_destroy(&model);
    assert_int_equal(count, 1);
    assert_true(isinf(list[0].algorithmic));
    assert_close(list[0].information, 9.567059, 3 * list[0].information_error);
    assert_true(list[0].information_error < 0.3);
}

/* What is learned without a jump has none. */
static void no_hard_phase(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_hard_phase list[4];
    stair_model *model;
    int count;
    (void)state;
    assert_int_equal(stair_model_create(context, "relu", &model), STAIR_OK);
    assert_int_equal(stair_hard_phases(context, model, &o, 4, list, &count), STAIR_OK);
    stair_model_destroy(&model);
    assert_int_equal(count, 0);
}

int main(int argc, char **argv)
{
    enum { FIRST = sizeof first_steps / sizeof *first_steps };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(boxes_are_what_lines_find),
        cmocka_unit_test(overlap_of_signs),
        cmocka_unit_test(overlap_of_linear_labels),
        cmocka_unit_test(staircase_has_two_steps),
        cmocka_unit_test(one_index_in_full_is_not_all),
        cmocka_unit_test(relu_needs_twice_the_samples),
        cmocka_unit_test(a_committee_of_two_specialises),
        cmocka_unit_test(a_committee_of_three_specialises),
        cmocka_unit_test(a_committee_of_three_is_never_perfect),
        cmocka_unit_test(a_fold_stays_with_little_noise),
        cmocka_unit_test(errors_fall_along_a_staircase),
        cmocka_unit_test(norm_of_two_is_complex_phase_retrieval),
        cmocka_unit_test(a_fold_without_instability_is_a_spinodal),
        cmocka_unit_test(phase_retrieval_has_hard_phases),
        cmocka_unit_test(folds_that_are_not_resolved_are_in_the_error),
        cmocka_unit_test(a_parity_of_three_is_hard),
        cmocka_unit_test(no_hard_phase),
    };
    struct CMUnitTest tests[FIRST + sizeof others / sizeof *others];
    for (int k = 0; k < FIRST; k++)
        tests[k] = (struct CMUnitTest){
            .name = first_steps[k].spec, .test_func = first_step_is_known, .initial_state = &first_steps[k]};
    memcpy(tests + FIRST, others, sizeof others);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (stair_context_create(&context) != STAIR_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stair_context_destroy(&context);
    return failed;
}
