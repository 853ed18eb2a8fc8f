#include "spec.h"
#include "stair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t spec_item_length(const char *item)
{
    int depth = 0;
    size_t length = 0;
    for (; item[length] && (item[length] != ',' || depth > 0); length++)
        depth += (item[length] == '(') - (item[length] == ')');
    return length;
}

int spec_model(const char *spec)
{
    size_t length = strcspn(spec, ":");
    for (int i = 0; stair_model_name(i); i++)
        if (strlen(stair_model_name(i)) == length && !strncmp(spec, stair_model_name(i), length)) return i;
    return -1;
}

static const char *first_key(const char *spec)
{
    int number = spec_model(spec);
    const stair_model_key *key = number < 0 ? NULL : stair_model_keys(number, 0);
    return key ? key->key : NULL;
}

/* Whether the item of this size is key=value of this key, which may be any text: with a comma it is none. */
static bool is_of(const char *item, size_t size, const char *key)
{
    size_t length = strlen(key);
    return length < size && !strncmp(item, key, length) && item[length] == '=';
}

const char *spec_item(const char *spec, const char *first, const char *key, const char **value,
                      size_t *length)
{
    const char *start = strchr(spec, ':'), *item = start ? start + 1 : NULL;
    for (const char *at = item; at;) {
        size_t size = spec_item_length(at);
        bool named = is_of(at, size, key), alone = at == item && first && !strcmp(first, key) && !named;
        if (named || alone) {
            *value = alone ? at : at + strlen(key) + 1;
            *length = size - (size_t)(*value - at);
            return at;
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    return NULL;
}

bool spec_value(const char *spec, const char *key, char *value)
{
    const char *from;
    size_t length;
    *value = 0;
    if (!spec_item(spec, first_key(spec), key, &from, &length)) return false;
    snprintf(value, SPEC_MOST, "%.*s", (int)length, from);
    return true;
}

char *spec_with(const char *spec, const char *key, const char *value)
{
    char *out = malloc(SPEC_MOST);
    const char *from;
    size_t length;
    if (!out) return NULL;
    bool there = spec_item(spec, first_key(spec), key, &from, &length) != NULL;
    int used = there ? snprintf(out, SPEC_MOST, "%.*s%s%s", (int)(from - spec), spec, value, from + length)
                     : snprintf(out, SPEC_MOST, "%s%c%s=%s", spec, strchr(spec, ':') ? ',' : ':', key, value);
    if (used < SPEC_MOST) return out;
    free(out);
    return NULL;
}

const char *spec_short(const char *spec, char *text)
{
    int number = spec_model(spec);
    size_t used = strcspn(spec, ":");
    const char *value, *first = first_key(spec);
    size_t length;
    snprintf(text, SPEC_MOST, "%.*s", (int)used, spec);
    const stair_model_key *key;
    for (int k = 0; number >= 0 && (key = stair_model_keys(number, k)) && used < SPEC_MOST; k++) {
        const char *item = spec_item(spec, first, key->key, &value, &length);
        if (!item || (key->value && strlen(key->value) == length && !strncmp(key->value, value, length)))
            continue;
        used += (size_t)snprintf(text + used, SPEC_MOST - used, "%c%.*s", strchr(text, ':') ? ',' : ':',
                                 (int)(value - item + (ptrdiff_t)length), item);
    }
    return text;
}
