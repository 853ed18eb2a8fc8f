/* The identities of every exact or deterministic channel on 200 random points with full V: derivatives,
 * covariance, averages, symmetries, fibre and honest errors, as stair_diagnose() states them. */
#include "channel_case.h"

typedef struct {
    const char *model;
    double precision, cov_low;
    char name[96];
} identity_case;

static void identities_hold(void **state)
{
    const identity_case *it = *state;
    channel_case c = channel_case_open(it->model, 1);
    stair_diagnose_options o = stair_diagnose_defaults();
    stair_identity rows[32];
    int count, failed = 0;
    o.precision = it->precision;
    o.cov_low = it->cov_low;
    if (stair_diagnose(c.context, c.model, &o, 32, rows, &count) != STAIR_OK)
        fail_msg("%s: %s", it->model, stair_context_message(c.context));
    assert_int_equal(count, 11); /* attention has every symmetry */
    for (int i = 0; i < count; i++) {
        assert_int_equal(rows[i].points, o.points);
        if (rows[i].verdict == STAIR_HOLDS) continue;
        print_error("%s, V from %g: %s: %.3g, allowed %.3g: %s\n", it->model, it->cov_low, rows[i].name,
                    rows[i].violation, rows[i].tolerance, stair_verdict_name(rows[i].verdict));
        failed++;
    }
    channel_case_close(&c);
    assert_int_equal(failed, 0);
}

#define ATTENTION "attention:"
static identity_case cases[] = {
    {ATTENTION "layers=1", 1e-8, 1e-2, ""},
    {ATTENTION "layers=1", 1e-8, 1e-8, ""},
    {ATTENTION "layers=1,tokens=3", 1e-8, 1e-2, ""},
    {ATTENTION "layers=1,activation=linear", 1e-8, 1e-2, ""},
    {ATTENTION "layers=1,prenoise=0.1", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2", 1e-8, 1e-4, ""},
    {ATTENTION "layers=2", 1e-8, 1e-8, ""},
    {ATTENTION "layers=2,mixing=literal", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,mixing=literal", 1e-8, 1e-8, ""},
    {ATTENTION "layers=2,activation=linear", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,skip=0.1", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,skip=4", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,skip=4", 1e-8, 1e-8, ""},
    {ATTENTION "layers=2,skip=-0.5", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,skip=-2.5", 1e-8, 1e-2, ""},
    {ATTENTION "layers=2,skip=-2.5,mixing=literal", 1e-8, 1e-4, ""},
};

/* An argument picks the models whose names match it, such as *skip=4/V=0.01. */
int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof cases / sizeof *cases];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(cases[i].name, sizeof cases[i].name, "%s/V=%g", cases[i].model, cases[i].cov_low);
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = identities_hold, .initial_state = &cases[i]};
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
