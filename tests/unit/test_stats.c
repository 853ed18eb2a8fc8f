/* Errors by the spread of replicates: three of them hold 99.7 %, however few values they come from. */
#include "assert_close.h"

#include "average/controls.h"
#include "core/rng.h"
#include "core/stats.h"

#include <string.h>

/* t / 3 at the probability of three standard deviations (scipy.stats.t.ppf(norm.cdf(3), n - 1) / 3). */
static void factors_are_students(void **state)
{
    (void)state;
    static const struct {
        int n;
        double factor;
    } known[] = {{2, 78.6005},  {3, 6.40225},  {9, 1.42554}, {10, 1.36475},
                 {16, 1.19547}, {32, 1.08698}, {64, 1.04117}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_close_relative(stair_student(known[k].n), known[k].factor, 2e-3);
    for (int n = 2; n < 64; n++) assert_true(stair_student(n) > stair_student(n + 1));
    assert_true(isinf(stair_student(1)));
}

/* Means of n normals: the share beyond three errors, 0.27 %, for any n. */
static void three_errors_hold(void **state)
{
    (void)state;
    enum { TRIALS = 40000 };
    static const int counts[] = {2, 4, 8, 16};
    for (size_t k = 0; k < 4; k++) {
        int beyond = 0, n = counts[k];
        for (uint64_t trial = 0; trial < TRIALS; trial++) {
            double values[16], mean = 0;
            stair_rng_normals(5 + k, STAIR_RNG_POINTS, trial, n, values);
            for (int i = 0; i < n; i++) mean += values[i] / n;
            beyond += fabs(mean) > 3 * stair_replicate_error(n, values);
        }
        assert_close((double)beyond / TRIALS, 0.0027, 0.0011); /* four standard deviations of the count */
    }
}

static void grids_are_as_far_off_as_they_are_apart(void **state)
{
    (void)state;
    const double values[2] = {1.0, 1.5};
    assert_close(stair_grid_error(2, values), 0.25, 1e-12);
    assert_true(stair_grid_error(2, (double[]){1, 1}) > 0); /* rounding */
}

#define SAMPLES 256

/* One target and one control over SAMPLES samples; the coefficient that other samples get from them. */
static double coefficient(double (*control)(double x), double size, double noise)
{
    stair_context *context;
    stair_controls c;
    double out[2];
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_controls_create(context, 1, 1, 2, &c), STAIR_OK);
    c.noise = noise;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        double x;
        stair_rng_normals(1, STAIR_RNG_POINTS, i, 1, &x);
        assert_int_equal(stair_controls_add(context, &c, 1, 1, 3, (double[]){x, control(x), size}), STAIR_OK);
    }
    assert_int_equal(stair_controls_apply(context, &c, (double[]){0, -1, 0, -1}, 1, out), STAIR_OK);
    stair_controls_destroy(&c);
    stair_context_destroy(&context);
    return out[0];
}

static double half(double x)
{
    return 0.5 * x;
}
static double rounding(double x)
{
    return (38.57 * (1 + 1e-15 * x) - 38.57);
}

/* A control that varies by the rounding of its terms alone explains nothing. */
static void rounding_is_no_control(void **state)
{
    (void)state;
    assert_close(coefficient(half, 1, 0), 2, 1e-9);
    assert_close(coefficient(rounding, 38.57, 0), 0, 0);
}

static double slight(double x)
{
    return 0.01 * x;
}

/* Posteriors whose noise is 1 % may have a tenth of that wrong in common: of a control that varies by 1 % of
 * its terms little is taken, of one that varies by half of them nearly all. */
static void noise_in_common_is_no_control(void **state)
{
    (void)state;
    assert_close(coefficient(slight, 1, 0), 100, 1e-6);
    double little = coefficient(slight, 1, 0.01);
    assert_true(little > 15 && little < 45);
    assert_close(coefficient(half, 1, 0.01), 2, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_students),
        cmocka_unit_test(three_errors_hold),
        cmocka_unit_test(grids_are_as_far_off_as_they_are_apart),
        cmocka_unit_test(rounding_is_no_control),
        cmocka_unit_test(noise_in_common_is_no_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
