/* Sweeps: the same digits as single solves, as an uninterrupted sweep, as the curve; the staircase as a curve
 * against its parts.  The header of asymptotics is enough to compile against. */
#include "stair_asymptotics.h"

#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define MOST 64

static stair_model *one, *square;

typedef struct {
    stair_sweep_point point[MOST];
    double q[MOST], error[MOST]; /* P = 1 */
} swept;

static int open_all(void **state)
{
    if (open_context(state)) return 1;
    one = model_of("attention:layers=1,tokens=2");
    square = model_of("square");
    return 0;
}

static int close_all(void **state)
{
    stair_model_destroy(&one);
    stair_model_destroy(&square);
    return close_context(state);
}

static stair_asymptotics_options rough(void)
{
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = 0.02;
    how.replicates = 4; /* prediction errors take most of the time */
    return how;
}

static void assert_same_point(const stair_sweep_point *a, const stair_sweep_point *b)
{
    assert_true(a->alpha == b->alpha && a->informed == b->informed);
    assert_true(*a->q == *b->q && *a->q_error == *b->q_error);
    assert_true(a->iterations == b->iterations && a->residual == b->residual);
    assert_int_equal(a->stop, b->stop);
    assert_int_equal(a->status, b->status);
    assert_memory_equal(&a->errors, &b->errors, sizeof a->errors);
}

/* From 1 to 11 alphas, each is what stair_evolve gives from the point before. */
static void short_lists_are_single_solves(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 11};
    stair_asymptotics_options how = rough();
    swept s;
    for (int k = 0; k < 2; k++) {
        size_t n = counts[k];
        double alpha[11], from = 0, q, error;
        bool usable = false;
        for (size_t i = 0; i < n; i++) alpha[i] = 0.1 + 0.05 * (double)i;
        assert_int_equal(
            stair_sweep_all(context, one, &how, STAIR_START_BOTH, n, alpha, s.point, s.q, s.error), STAIR_OK);
        for (size_t r = 0; r < 2 * n; r++) {
            stair_evolution e = {.q = &q, .q_error = &error};
            bool informed = r % 2;
            assert_int_equal(stair_evolve(context, one, &how, alpha[r / 2], informed,
                                          usable && !informed ? &from : NULL, &e),
                             STAIR_OK);
            assert_true(s.point[r].alpha == alpha[r / 2] && s.point[r].informed == informed);
            assert_true(s.q[r] == q && s.error[r] == error && s.point[r].q == &s.q[r]);
            assert_int_equal(s.point[r].stop, e.stop);
            assert_int_equal(s.point[r].iterations, e.iterations);
            assert_memory_equal(&s.point[r].errors, &e.errors, sizeof e.errors);
            if (!informed) {
                from = q;
                usable = e.stop == STAIR_STOP_CONVERGED;
            }
        }
    }
}

/* A fixed point at a larger alpha lies above and is no start: the digits are those from nothing. */
static void a_falling_list_starts_from_nothing(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    static const double alpha[] = {0.4, 0.3};
    double q, error;
    stair_evolution e = {.q = &q, .q_error = &error};
    swept s;
    assert_int_equal(
        stair_sweep_all(context, one, &how, STAIR_START_UNINFORMED, 2, alpha, s.point, s.q, s.error),
        STAIR_OK);
    assert_int_equal(stair_evolve(context, one, &how, 0.3, false, NULL, &e), STAIR_OK);
    assert_true(s.q[0] > s.q[1] && s.q[1] == q);
    assert_int_equal(s.point[1].iterations, e.iterations);
    assert_true(s.point[1].residual == e.residual);
}

static void long_lists_are_read_off_the_curve(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    double alpha[12], q, error;
    stair_curve *curve;
    swept s;
    for (int i = 0; i < 12; i++) alpha[i] = 0.05 * (i + 1);
    assert_int_equal(stair_sweep_all(context, one, &how, STAIR_START_BOTH, 12, alpha, s.point, s.q, s.error),
                     STAIR_OK);
    assert_int_equal(stair_curve_create(context, one, &how, alpha[11], &curve), STAIR_OK);
    assert_true(stair_curve_is_whole(curve)); /* so that full knowledge is read off it, too */
    for (int r = 0; r < 24; r++) {
        stair_stop stop = stair_curve_at(curve, alpha[r / 2], &q, &error);
        assert_true(s.q[r] == q && s.error[r] == error);
        assert_int_equal(s.point[r].stop, stop);
        assert_int_equal(s.point[r].iterations, 0);
    }
    stair_curve_destroy(&curve);
}

/* y = z^2 jumps: no curve, and from full knowledge every alpha is solved. */
static void no_curve_and_why(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    double alpha[12], q, error;
    stair_sweep *sweep;
    stair_sweep_point point = {.q = &q, .q_error = &error};
    for (int i = 0; i < 12; i++) alpha[i] = 0.1 * (i + 1);
    assert_int_equal(stair_sweep_create(context, square, &how, STAIR_START_BOTH, 12, alpha, &sweep),
                     STAIR_OK);
    assert_null(stair_sweep_no_curve(sweep));
    assert_int_equal(stair_sweep_next(sweep, &point), STAIR_OK);
    assert_non_null(stair_sweep_no_curve(sweep));
    stair_sweep_destroy(&sweep);
    assert_null(sweep);
}

/* Interrupted after every point: the rest is the same, with a curve (12 alphas) and without. */
static void resumed_sweeps_are_the_same_bytes(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    double alpha[12];
    static const size_t counts[] = {5, 12}, ends[] = {3, 9};
    for (int i = 0; i < 12; i++) alpha[i] = 0.2 + 0.03 * i;
    for (int k = 0; k < 2; k++) {
        swept whole, part;
        stair_sweep *sweep;
        assert_int_equal(stair_sweep_all(context, one, &how, STAIR_START_BOTH, counts[k], alpha, whole.point,
                                         whole.q, whole.error),
                         STAIR_OK);
        memcpy(&part, &whole, sizeof part);
        assert_int_equal(stair_sweep_create(context, one, &how, STAIR_START_BOTH, counts[k], alpha, &sweep),
                         STAIR_OK);
        assert_int_equal(stair_sweep_points(sweep), 2 * counts[k]);
        for (size_t r = 0; r < 2 * counts[k]; r++) {
            part.point[r].q = &part.q[r];
            part.point[r].q_error = &part.error[r];
            if (r < ends[k]) {
                part.point[r].worst = -1;
                part.point[r].status = STAIR_FAILED; /* both are filled in again */
                assert_int_equal(stair_sweep_known(sweep, &part.point[r]), STAIR_OK);
                assert_true(part.point[r].worst == whole.point[r].worst);
            } else {
                part.q[r] = part.error[r] = -1;
                assert_int_equal(stair_sweep_next(sweep, &part.point[r]), STAIR_OK);
            }
            assert_same_point(&part.point[r], &whole.point[r]);
        }
        assert_int_equal(stair_sweep_next(sweep, &part.point[0]), STAIR_BAD_INPUT);
        stair_sweep_destroy(&sweep);
    }
}

static void what_is_told_must_fit_and_misses_are_said(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    static const double alpha[] = {0.3, 0.35};
    swept s;
    stair_sweep *sweep;
    assert_int_equal(stair_sweep_create(context, one, &how, (stair_starts)0, 2, alpha, &sweep),
                     STAIR_BAD_INPUT);
    assert_int_equal(stair_sweep_create(context, one, &how, STAIR_START_INFORMED, 2, alpha, &sweep),
                     STAIR_OK);
    stair_sweep_point point = {.alpha = 0.35, .informed = true, .q = s.q, .q_error = s.error};
    assert_int_equal(stair_sweep_known(sweep, &point), STAIR_BAD_INPUT);
    point.alpha = 0.3;
    point.informed = false;
    assert_int_equal(stair_sweep_known(sweep, &point), STAIR_BAD_INPUT);
    point.informed = true;
    s.error[0] = 1;
    assert_int_equal(stair_sweep_known(sweep, &point), STAIR_OK);
    assert_int_equal(point.status, STAIR_NOT_CONVERGED); /* above the precision */
    stair_sweep_destroy(&sweep);
    how.max_iterations = 1;
    how.points = 64;
    stair_status status =
        stair_sweep_all(context, one, &how, STAIR_START_INFORMED, 2, alpha, s.point, s.q, s.error);
    assert_int_equal(status, STAIR_NOT_CONVERGED);
    assert_int_equal(s.point[0].status, STAIR_NOT_CONVERGED);
}

/* The staircase, the curve and the errors, each asked for by itself. */
static void staircase_curve_is_its_parts(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    stair_staircase_curve *c;
    stair_step list[16];
    stair_curve *curve;
    int count, weak;
    double q, error;
    assert_int_equal(stair_staircase_curve_create(context, one, &how, 6, &c), STAIR_OK);
    assert_int_equal(stair_threshold(context, one, &how, 0, 16, list, &count), STAIR_OK);
    assert_int_equal(c->steps, count);
    assert_int_equal(c->step[count - 1].kind, STAIR_STEP_PERFECT);
    for (int k = 0; k < count; k++) assert_memory_equal(&c->step[k], &list[k], sizeof list[k]);
    assert_int_equal(stair_curve_create(context, one, &how, c->alpha[c->points - 1], &curve), STAIR_OK);
    const stair_step *steps = stair_curve_steps(curve, &weak);
    assert_int_equal(weak, count - 1);
    for (int k = 0; k < weak; k++) assert_memory_equal(&c->step[k], &steps[k], sizeof list[k]);
    assert_int_equal(c->points, 1 + 1 + 5 + 2); /* 0, a step, between, perfect recovery and beyond */
    double worst = 0;
    for (int i = 0; i < c->points; i++) {
        stair_errors errors;
        stair_curve_at(curve, c->alpha[i], &q, &error);
        if (i < 2) q = error = 0; /* the first step begins from exactly nothing */
        if (c->alpha[i] >= list[count - 1].alpha) q = 1, error = 0;
        assert_true(i == 0 || c->alpha[i] > c->alpha[i - 1]);
        assert_true(c->q[i] == q && c->q_error[i] == error);
        assert_int_equal(stair_errors_at(context, one, &how, &q, &error, &errors), STAIR_OK);
        assert_memory_equal(&c->errors[i], &errors, sizeof errors);
        worst = fmax(worst, error);
    }
    assert_true(c->worst == worst);
    stair_curve_destroy(&curve);
    stair_staircase_curve_destroy(&c);
    assert_int_equal(stair_staircase_curve_create(context, one, &how, 0, &c), STAIR_BAD_INPUT);
    assert_null(c);
    how.side = 0.1;
    assert_int_equal(stair_staircase_curve_create(context, one, &how, 6, &c), STAIR_UNSUPPORTED);
}

static bool watch(void *user, double done, double total)
{
    double *seen = user;
    if (done / total < seen[0] - 1e-12) seen[1] += 1;
    seen[0] = done / total;
    return seen[0] <= 1;
}

/* The parts of a call report one progress that does not fall back, and the caller's is in place again. */
static void progress_of_the_whole(void **state)
{
    (void)state;
    stair_asymptotics_options how = rough();
    static const double alpha[] = {0.2, 0.3, 0.4};
    double seen[2] = {0, 0};
    swept s;
    stair_context_set_threads(context, 1);
    stair_context_set_progress(context, watch, seen);
    assert_int_equal(
        stair_sweep_all(context, one, &how, STAIR_START_UNINFORMED, 3, alpha, s.point, s.q, s.error),
        STAIR_OK);
    assert_true(seen[0] > 0.6);
    seen[0] = 0;
    double q = 0.3;
    stair_errors errors;
    assert_int_equal(stair_errors_at(context, one, &how, &q, NULL, &errors), STAIR_OK);
    assert_true(seen[0] == 1);
    stair_context_set_progress(context, NULL, NULL);
    stair_context_set_threads(context, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_lists_are_single_solves),
        cmocka_unit_test(a_falling_list_starts_from_nothing),
        cmocka_unit_test(long_lists_are_read_off_the_curve),
        cmocka_unit_test(no_curve_and_why),
        cmocka_unit_test(resumed_sweeps_are_the_same_bytes),
        cmocka_unit_test(what_is_told_must_fit_and_misses_are_said),
        cmocka_unit_test(staircase_curve_is_its_parts),
        cmocka_unit_test(progress_of_the_whole),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_all, close_all);
}
