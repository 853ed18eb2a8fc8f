/* The vocabulary of the hot loops, one lane at a time against the C library; built for each
 * instruction set, skipped where the processor lacks it. */
#include "assert_close.h"
#include "core/lanes.h"

#include <float.h>

/* Difference in units of the last place of `exact`. */
static double ulps(double got, long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    return (double)(fabsl(got - exact) / ldexpl(1, exponent - 53));
}

static void exp_is_within_two_ulp(void **state)
{
    double worst = 0;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        double x[LANES], y[LANES];
        for (int k = 0; k < LANES; k++) x[k] = -707 + 1416.0 * fmod(0.6180339887498949 * (8.0 * i + k), 1);
        for (int k = 0; k < LANES && i % 2; k++) x[k] *= 1e-3; /* half of them near zero */
        lanes_store(y, lanes_exp(lanes_load(x)));
        for (int k = 0; k < LANES; k++) worst = fmax(worst, ulps(y[k], expl(x[k])));
    }
    assert_close(worst, 0, 2);
}

static void short_exp_has_nine_digits(void **state)
{
    double worst = 0;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x[LANES], y[LANES];
        for (int k = 0; k < LANES; k++)
            x[k] = -707 * fmod(0.6180339887498949 * (8.0 * i + k), 1) * (i % 2 ? 1e-3 : 1);
        lanes_store(y, lanes_exp_short(lanes_load(x)));
        for (int k = 0; k < LANES; k++) worst = fmax(worst, fabs(y[k] / exp(x[k]) - 1));
    }
    assert_close(worst, 0, 3e-10);
}

static void exp_of_floats_has_six_digits(void **state)
{
    double worst = 0;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        float x[2 * LANES], y[2 * LANES];
        for (int k = 0; k < 2 * LANES; k++)
            x[k] = (float)(87 - 174 * fmod(0.6180339887498949 * (16.0 * i + k), 1)) * (i % 2 ? 1e-2f : 1);
        floats_store(y, floats_exp(floats_load(x)));
        for (int k = 0; k < 2 * LANES; k++) worst = fmax(worst, fabs((double)y[k] / exp((double)x[k]) - 1));
    }
    assert_close(worst, 0, 3e-7);
}

static void any_float_is_seen(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * LANES; k++) {
        float x[2 * LANES] = {0};
        x[k] = 1;
        assert_true(floats_any(floats_load(x) > 0.5f));
        assert_true(floats_top(floats_load(x)) == 1);
    }
    assert_false(floats_any(floats_set(0) > 0.5f));
}

#define VALUES 8 /* a multiple of every LANES */

static void exp_is_clamped(void **state)
{
    double x[VALUES] = {-708, -1e4, -INFINITY, 709, 710, INFINITY, 0, -0.0}, y[VALUES];
    (void)state;
    for (int k = 0; k < VALUES; k += LANES) lanes_store(y + k, lanes_exp(lanes_load(x + k)));
    for (int k = 0; k < 3; k++) assert_true(y[k] > 0 && y[k] < 1e-306);
    for (int k = 3; k < 6; k++) assert_true(y[k] > 8e307 && y[k] <= DBL_MAX);
    assert_true(y[6] == 1 && y[7] == 1);
}

static void reciprocal_is_within_two_ulp(void **state)
{
    double worst = 0;
    (void)state;
    for (int i = 0; i < 50000; i++) {
        double x[LANES], y[LANES];
        for (int k = 0; k < LANES; k++) {
            double part = fmod(0.6180339887498949 * (8.0 * i + k), 1);
            x[k] = (1 + part) * pow(10, 500 * fmod(7.3 * part, 1) - 250) * (k % 2 ? -1 : 1);
        }
        lanes_store(y, lanes_reciprocal(lanes_load(x)));
        for (int k = 0; k < LANES; k++) worst = fmax(worst, ulps(fabs(y[k]), 1.0L / fabsl(x[k])));
        for (int k = 0; k < LANES; k++) assert_true((y[k] < 0) == (x[k] < 0));
    }
    assert_close(worst, 0, 2);
}

static void each_lane_is_its_own(void **state)
{
    double x[VALUES] = {3, -1, 0, -7, 2, 5, -4, 1}, y[VALUES] = {2, 0, -1, -8, 2, 9, 4, -1}, out[LANES];
    (void)state;
    for (int at = 0; at < VALUES; at += LANES) {
        const double *a = x + at, *b = y + at;
        double most = a[0];
        int above = 0;
        lanes_store(out, lanes_max(lanes_load(a), lanes_load(b)));
        for (int k = 0; k < LANES; k++) assert_true(out[k] == (a[k] > b[k] ? a[k] : b[k]));
        lanes_store(out, lanes_min(lanes_load(a), lanes_load(b)));
        for (int k = 0; k < LANES; k++) assert_true(out[k] == (a[k] < b[k] ? a[k] : b[k]));
        lanes_store(out, lanes_abs(lanes_load(a)));
        for (int k = 0; k < LANES; k++) assert_true(out[k] == fabs(a[k]));
        lanes_store(out, lanes_pick(lanes_load(a) > lanes_load(b), lanes_set(1), lanes_load(b)));
        for (int k = 0; k < LANES; k++) assert_true(out[k] == (a[k] > b[k] ? 1 : b[k]));
        for (int n = 0; n <= LANES; n++) {
            lanes_store(out, lanes_first(n, lanes_load(a), lanes_load(b)));
            for (int k = 0; k < LANES; k++) assert_true(out[k] == (k < n ? a[k] : b[k]));
        }
        for (int k = 0; k < LANES; k++) {
            most = fmax(most, a[k]);
            above += a[k] > 2.5;
        }
        assert_true(lanes_top(lanes_load(a)) == most);
        assert_int_equal(lanes_any(lanes_load(a) > lanes_set(2.5)), above > 0);
        lanes_store(out, lanes_set(-0.0));
        for (int k = 0; k < LANES; k++) assert_true(out[k] == 0 && signbit(out[k]));
    }
}

/* The order of the sum is part of the promise of equal bytes. */
static void sums_have_one_order(void **state)
{
    double x[VALUES] = {1e16, 1, -1e16, 1, 1, 1e16, 1, -1e16}, part[VALUES];
    (void)state;
    memcpy(part, x, sizeof part);
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) part[k] += part[k + half];
    assert_true(lanes_sum(lanes_load(x)) == part[0]);
    float single[2 * VALUES];
    floats y;
    for (int k = 0; k < 2 * LANES; k++)
        single[k] = k % 3 == 1 ? 1e8F : k % 3 == 2 ? -1e8F : 0.1F * (float)(k + 1);
    for (int k = 0; k < LANES; k++) part[k] = (double)single[k] + (double)single[k + LANES];
    memcpy(&y, single, sizeof y);
    assert_true(floats_sum(y) == lanes_sum(lanes_load(part)));
}

int main(void)
{
#if defined(__AVX512F__)
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) return 77;
#elif defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_two_ulp),
        cmocka_unit_test(short_exp_has_nine_digits),
        cmocka_unit_test(exp_of_floats_has_six_digits),
        cmocka_unit_test(any_float_is_seen),
        cmocka_unit_test(exp_is_clamped),
        cmocka_unit_test(reciprocal_is_within_two_ulp),
        cmocka_unit_test(each_lane_is_its_own),
        cmocka_unit_test(sums_have_one_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
