/* Comparison of doubles for cmocka, whose own float comparison rounds to single precision first. */
#ifndef STAIR_TESTS_ASSERT_CLOSE_H
#define STAIR_TESTS_ASSERT_CLOSE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static inline void assert_close_at(double got, double expected, double tolerance, const char *what,
                                   const char *file, int line)
{
    double error = fabs(got - expected);
    if (error <= tolerance || got == expected) return; /* a NaN fails */
    print_error("%s: %.17g is not %.17g: off by %.3g, allowed %.3g\n", what, got, expected, error, tolerance);
    _fail(file, line);
}

/* |got - expected| <= tolerance, and the same relative to `expected`. */
#define assert_close(got, expected, tolerance)                                                               \
    assert_close_at(got, expected, tolerance, #got, __FILE__, __LINE__)
#define assert_close_relative(got, expected, tolerance)                                                      \
    assert_close_at(got, expected, (tolerance)*fabs(expected), #got, __FILE__, __LINE__)

#endif
