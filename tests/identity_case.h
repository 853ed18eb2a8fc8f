/* The identities of the channel of one model on random points with full V, as stair_diagnose() states them.
 */
#ifndef STAIR_TESTS_IDENTITY_CASE_H
#define STAIR_TESTS_IDENTITY_CASE_H

#include "channel_case.h"
#include "long.h"

typedef struct {
    const char *model; /* an attention, which has every symmetry */
    double precision, cov_low;
    int open;  /* identities that need not be resolved, at most */
    bool slow; /* a fifth of the points, unless STAIR_LONG is set */
    char name[96];
} identity_case;

static inline void identities_hold(void **state)
{
    const identity_case *it = *state;
    channel_case c = channel_case_open(it->model, 1);
    stair_diagnose_options o = stair_diagnose_defaults();
    stair_identity rows[32];
    int count, verdicts[STAIR_VERDICTS] = {0};
    o.precision = it->precision;
    o.cov_low = it->cov_low;
    if (it->slow && !is_long()) o.points /= 5;
    if (stair_diagnose(c.context, c.model, &o, 32, rows, &count) != STAIR_OK)
        fail_msg("%s: %s", it->model, stair_context_message(c.context));
    assert_int_equal(count, 11);
    for (int i = 0; i < count; i++) {
        assert_int_equal(rows[i].points, o.points);
        verdicts[rows[i].verdict]++;
        if (rows[i].verdict == STAIR_HOLDS) continue;
        print_error("%s, V from %g: %s: %.3g, allowed %.3g: %s\n", it->model, it->cov_low, rows[i].name,
                    rows[i].violation, rows[i].tolerance, stair_verdict_name(rows[i].verdict));
    }
    channel_case_close(&c);
    assert_int_equal(verdicts[STAIR_FAILS], 0);
    assert_in_range(verdicts[STAIR_NOT_RESOLVED], 0, it->open);
    assert_int_equal(verdicts[STAIR_HOLDS] + verdicts[STAIR_NOT_RESOLVED], count);
}

/* The main() of a list of them.  An argument picks those whose names match it, such as *skip=4/V=0.01. */
static inline int run_identity_cases(size_t n, identity_case *cases, int argc, char **argv)
{
    struct CMUnitTest tests[32];
    if (n > sizeof tests / sizeof *tests) return 1;
    for (size_t i = 0; i < n; i++) {
        snprintf(cases[i].name, sizeof cases[i].name, "%s/V=%g", cases[i].model, cases[i].cov_low);
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = identities_hold, .initial_state = &cases[i]};
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
}

#endif
