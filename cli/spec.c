#include "spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ':' or ',' before a key, or NULL. */
static const char *find(const char *spec, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ','))
        if (!strncmp(at + 1, key, length) && at[1 + length] == '=') return at;
    return NULL;
}

bool spec_value(const char *spec, const char *key, char *value)
{
    const char *at = find(spec, key);
    *value = 0;
    if (!at) return false;
    const char *from = at + strlen(key) + 2;
    snprintf(value, SPEC_MOST, "%.*s", (int)strcspn(from, ","), from);
    return true;
}

char *spec_with(const char *spec, const char *key, const char *value)
{
    char *out = malloc(SPEC_MOST);
    if (!out) return NULL;
    const char *at = find(spec, key), *rest = at ? strchr(at + 1, ',') : NULL;
    int used = at ? snprintf(out, SPEC_MOST, "%.*s%c%s=%s%s", (int)(at - spec), spec, *at, key, value,
                             rest ? rest : "")
                  : snprintf(out, SPEC_MOST, "%s%c%s=%s", spec, strchr(spec, ':') ? ',' : ':', key, value);
    if (used < SPEC_MOST) return out;
    free(out);
    return NULL;
}
