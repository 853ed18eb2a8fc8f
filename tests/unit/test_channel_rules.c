/* Rules that share nothing but the fibre agree on the same samples, and their errors are honest. */
#include "channel_case.h"

#include <math.h>

/* Both rules at the same points; where their errors are above 5 % it says nothing. */
static void agree(const char *spec, const char *one, const char *other, double precision, double low)
{
    enum { POINTS = 40 };
    channel_case a = channel_case_open(spec, POINTS), b = channel_case_open(spec, POINTS);
    size_t compared = 0;
    channel_case_draw(&a, low, 5);
    channel_case_draw(&b, low, 5);
    channel_case_evaluate(&a, precision, one);
    channel_case_evaluate(&b, precision, other);
    for (size_t i = 0; i < POINTS; i++) {
        double allowed = 4 * (a.error[i] + b.error[i]);
        if (!(allowed < 0.2)) continue;
        compared++;
        assert_close(a.logz[i], b.logz[i], allowed);
        assert_close(channel_case_gap(a.size, a.g + i * a.size, b.g + i * a.size), 0, allowed);
        assert_close(channel_case_gap(a.size * a.size, a.dg + i * a.size * a.size, b.dg + i * a.size * a.size), 0, allowed);
    }
    assert_true(compared > POINTS / 2);
    channel_case_close(&a);
    channel_case_close(&b);
}

static void layered_and_lattice(void **state)
{
    (void)state;
    agree("attention:layers=3", "layered", "lattice", 1e-3, 0.1);
    agree("attention:layers=3,mixing=literal", "layered", "lattice", 1e-3, 0.3);
}

static void layered_and_sampling(void **state)
{
    (void)state;
    agree("attention:layers=3,skip=-2.5", "layered", "sampling", 1e-2, 0.2);
}

static void lattice_and_nested(void **state)
{
    (void)state;
    agree("attention:layers=2", "lattice", "nested", 1e-6, 1e-3);
}

static void rules_for_noise_on_y(void **state)
{
    (void)state;
    agree("attention:layers=1,noise=0.3", "lattice", "nested", 1e-6, 1e-3);
    agree("attention:layers=1,noise=0.01", "nested", "sampling", 3e-2, 0.05);
    agree("attention:layers=1,tokens=3,noise=0.3", "lattice", "sampling", 3e-2, 0.2);
    agree("attention:layers=1,noise=0.003", "auto", "nested", 1e-4, 0.3); /* too little of it for the lattice */
}

static void a_rule_that_does_not_fit_is_refused(void **state)
{
    channel_case c = channel_case_open("attention:layers=2", 1);
    (void)state;
    channel_case_draw(&c, 0.1, 1);
    assert_int_equal(channel_case_try(&c, 1e-6, "layered", 0, 1), STAIR_UNSUPPORTED);
    channel_case_close(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layered_and_lattice),
        cmocka_unit_test(layered_and_sampling),
        cmocka_unit_test(lattice_and_nested),
        cmocka_unit_test(rules_for_noise_on_y),
        cmocka_unit_test(a_rule_that_does_not_fit_is_refused),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
