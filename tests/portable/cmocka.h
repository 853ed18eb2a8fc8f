/* As much of cmocka as the tests of the mathematics use, for compilers that have no cmocka: cross compilers,
 * musl.  A failing test jumps back to the runner. */
#ifndef STAIR_TESTS_PORTABLE_CMOCKA_H
#define STAIR_TESTS_PORTABLE_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state), (*teardown_func)(void **state);
    void *initial_state;
};

static jmp_buf portable_failed;

#define print_error(...)   fprintf(stderr, __VA_ARGS__)
#define print_message(...) fprintf(stderr, __VA_ARGS__)

static inline _Noreturn void _fail(const char *file, int line)
{
    fprintf(stderr, "%s:%d: failed\n", file, line);
    longjmp(portable_failed, 1);
}

static inline _Noreturn void portable_stop(const char *text, const char *file, int line)
{
    fprintf(stderr, "%s\n", text);
    _fail(file, line);
}

static inline _Noreturn void _skip(void)
{
    longjmp(portable_failed, 2);
}

#define PORTABLE_ASSERT(x)               ((x) ? (void)0 : portable_stop(#x, __FILE__, __LINE__))
#define assert_true(x)                   PORTABLE_ASSERT(x)
#define assert_false(x)                  PORTABLE_ASSERT(!(x))
#define assert_non_null(x)               PORTABLE_ASSERT((x) != NULL)
#define assert_null(x)                   PORTABLE_ASSERT((x) == NULL)
#define assert_int_equal(a, b)           PORTABLE_ASSERT((intmax_t)(a) == (intmax_t)(b))
#define assert_int_not_equal(a, b)       PORTABLE_ASSERT((intmax_t)(a) != (intmax_t)(b))
#define assert_ptr_equal(a, b)           PORTABLE_ASSERT((a) == (b))
#define assert_ptr_not_equal(a, b)       PORTABLE_ASSERT((a) != (b))
#define assert_string_equal(a, b)        PORTABLE_ASSERT(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, n)     PORTABLE_ASSERT(memcmp(a, b, n) == 0)
#define assert_memory_not_equal(a, b, n) PORTABLE_ASSERT(memcmp(a, b, n) != 0)
#define assert_in_range(x, low, high)    PORTABLE_ASSERT((x) >= (low) && (x) <= (high))
#define fail_msg(...)                    (fprintf(stderr, __VA_ARGS__), _fail(__FILE__, __LINE__))
#define fail()                           _fail(__FILE__, __LINE__)
#define skip()                           _skip()

#define cmocka_unit_test(f)                                                                                  \
    {                                                                                                        \
#f, f, NULL, NULL, NULL                                                                              \
    }
#define cmocka_unit_test_prestate(f, s)                                                                      \
    {                                                                                                        \
#f, f, NULL, NULL, s                                                                                 \
    }
#define cmocka_unit_test_setup_teardown(f, s, t)                                                             \
    {                                                                                                        \
#f, f, s, t, NULL                                                                                    \
    }
#define cmocka_set_test_filter(x) ((void)(x))

static inline int portable_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                               int (*teardown)(void **))
{
    int failed = 0;
    void *group = NULL;
    if (setup && setup(&group)) return 1;
    for (size_t k = 0; k < count; k++) {
        void *state = tests[k].initial_state ? tests[k].initial_state : group;
        int how = setjmp(portable_failed);
        if (how == 0) {
            if (tests[k].setup_func) tests[k].setup_func(&state);
            tests[k].test_func(&state);
            if (tests[k].teardown_func) tests[k].teardown_func(&state);
        }
        if (how == 1) {
            fprintf(stderr, "FAILED: %s\n", tests[k].name);
            failed++;
        }
    }
    if (teardown) teardown(&group);
    return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                                       \
    portable_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#endif
