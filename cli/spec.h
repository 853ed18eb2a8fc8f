/* Keys in MODEL strings, name:key=value,...: read one, set one. */
#ifndef STAIR_CLI_SPEC_H
#define STAIR_CLI_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#define SPEC_MOST 1024 /* characters of a MODEL string, and of a value */

/* The value of `key` as text, empty where the model string does not have it; value (SPEC_MOST). */
bool spec_value(const char *spec, const char *key, char *value);
/* spec with `key` set to `value`, to be freed; a key it does not have is appended, for the model to refuse by
 * name.  NULL where there is no room. */
char *spec_with(const char *spec, const char *key, const char *value);

#endif
