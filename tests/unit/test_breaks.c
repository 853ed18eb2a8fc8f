/* Kinks and jumps of a function that is known by its values are found, and nothing else is. */
#include "assert_close.h"
#include "core/breaks.h"

#include <math.h>

enum { N = 32 };

static int asked; /* values, in all */

typedef double (*function)(double x);

static void values(void *user, int n, const double *x, double *y)
{
    const function *f = user;
    asked += n;
    for (int i = 0; i < n; i++) y[i] = (*f)(x[i]);
}

/* Breaks in (-6, 6). */
static int find(function f, double tolerance, const bool *skip, double *place)
{
    stair_values curve = {.values = values, .user = &f, .tolerance = tolerance};
    double y[N], step = 12.0 / (N - 1);
    for (int i = 0; i < N; i++) y[i] = f(i * step - 6);
    return stair_breaks_find(&curve, N, -6, step, y, skip, place);
}

static double two_kinks(double x)
{
    return fabs(x - 0.3) - 2 * fmax(x + 1.1, 0);
}

static double bent_kinks(double x)
{
    return sin(x) * fabs(x - 2) + exp(-x * x) * fabs(x + 1);
}

static double near_kinks(double x) /* in one interval of the first look */
{
    return fmax(fabs(x - 0.05), 0.04);
}

static double end_kink(double x) /* between two searches */
{
    return fabs(x + 6 - 10 * 12.0 / (N - 1));
}

static double root(double x)
{
    return sqrt(fabs(x - 0.7));
}

static double jump(double x)
{
    return (x > 0.123456789) + 0.5 * x;
}

static double steps(double x)
{
    return floor(4 * x) * (fabs(x) < 1);
}

static void breaks_are_where_they_are(void **state)
{
    static const struct {
        function f;
        int count;
        double within, place[10];
    } known[] = {{two_kinks, 2, 1e-9, {-1.1, 0.3}},
                 {bent_kinks, 2, 1e-7, {-1, 2}},
                 {near_kinks, 2, 1e-9, {0.01, 0.09}},
                 {end_kink, 1, 1e-7, {120.0 / (N - 1) - 6}},
                 {root, 1, 1e-4, {0.7}},
                 {jump, 1, 1e-14, {0.123456789}},
                 {steps, 9, 1e-14, {-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1}}};
    double place[STAIR_MOST_BREAKS];
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        asked = 0;
        assert_int_equal(find(known[k].f, 1e-9, NULL, place), known[k].count);
        for (int i = 0; i < known[k].count; i++) assert_close(place[i], known[k].place[i], known[k].within);
        assert_true(asked <= 240 * known[k].count);
    }
}

static double steep(double x)
{
    return tanh(5 * x) + 0.1 * x * x * x;
}

static double bell(double x)
{
    return exp(-0.5 * x * x) * cos(3 * x);
}

static double cubic(double x)
{
    return x * x * x - 2 * x;
}

static void smooth_functions_have_none(void **state)
{
    static const function smooth[] = {steep, bell, cubic, sin, exp};
    double place[STAIR_MOST_BREAKS];
    (void)state;
    for (size_t k = 0; k < sizeof smooth / sizeof *smooth; k++)
        assert_int_equal(find(smooth[k], 1e-9, NULL, place), 0);
    asked = 0;
    assert_int_equal(find(cubic, 1e-9, NULL, place), 0);
    assert_int_equal(asked, 0); /* no fourth difference, no search */
}

static double weak(double x)
{
    return 1e-4 * fabs(x - 0.3);
}

static double everywhere(double x)
{
    return floor(40 * x);
}

static void what_need_not_be_seen_is_not_looked_for(void **state)
{
    double place[STAIR_MOST_BREAKS];
    bool skip[N - 1] = {false};
    (void)state;
    assert_int_equal(find(weak, 1e-9, NULL, place), 1);
    assert_int_equal(find(weak, 1e-3, NULL, place), 0);
    for (int i = 0; i < N / 2; i++) skip[i] = true;
    assert_int_equal(find(two_kinks, 1e-9, skip, place), 1);
    assert_close(place[0], 0.3, 1e-9);
    assert_int_equal(find(everywhere, 1e-9, NULL, place), STAIR_MOST_BREAKS);
    for (int i = 1; i < STAIR_MOST_BREAKS; i++) assert_true(place[i] >= place[i - 1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_are_where_they_are),
        cmocka_unit_test(smooth_functions_have_none),
        cmocka_unit_test(what_need_not_be_seen_is_not_looked_for),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
