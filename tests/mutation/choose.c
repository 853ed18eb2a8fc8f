/* For mutate.py, loaded before a unit test: CASE=list prints the names of its cases, CASE=K runs the K-th
 * alone, CASE=all every one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { /* CMUnitTest of cmocka 1.1 */
    const char *name;
    void *functions[3], *state;
} unit_case;

typedef int run_cases(const char *group, const unit_case *cases, size_t count, void *setup, void *teardown);
run_cases _cmocka_run_group_tests;

int _cmocka_run_group_tests(const char *group, const unit_case *cases, size_t count, void *setup,
                            void *teardown)
{
    static long seen;
    const char *wanted = getenv("CASE");
    run_cases *whole = (run_cases *)dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    if (!wanted || !strcmp(wanted, "all")) return whole(group, cases, count, setup, teardown);
    if (!strcmp(wanted, "list")) {
        for (size_t k = 0; k < count; k++) printf("case %s\n", cases[k].name);
        return 0;
    }
    long k = atol(wanted) - seen;
    seen += (long)count;
    return k >= 0 && k < (long)count ? whole(group, cases + k, 1, setup, teardown) : 0;
}
