/* Whether the longer forms of tests are wanted, as by ./test --long. */
#ifndef STAIR_TESTS_LONG_H
#define STAIR_TESTS_LONG_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_long(void)
{
    const char *value = getenv("STAIR_LONG");
    return value && strcmp(value, "1") == 0;
}

#endif
