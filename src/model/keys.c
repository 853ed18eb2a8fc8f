/* Values of model keys: integers, reals and choices, each with a message that names the key. */
#include "model/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

stair_status stair_key_integer(stair_context *context, const char *key, const char *text, int least, int most,
                               int *value)
{
    char *end;
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (end == text || *end || errno || parsed < least || parsed > most)
        return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected an integer from %d to %d", key,
                          text, least, most);
    *value = (int)parsed;
    return STAIR_OK;
}

stair_status stair_key_real(stair_context *context, const char *key, const char *text, double least,
                            double most, double *value)
{
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end || !(parsed >= least && parsed <= most))
        return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected a number from %g to %g", key,
                          text, least, most);
    *value = parsed;
    return STAIR_OK;
}

stair_status stair_key_choice(stair_context *context, const char *key, const char *text,
                              const char *const *choices, int *value)
{
    char listed[128] = "";
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(text, choices[i])) {
            *value = i;
            return STAIR_OK;
        }
        size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, "%s%s", i ? ", " : "", choices[i]);
    }
    return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected one of %s", key, text, listed);
}
