/* Keys in MODEL strings, name:key=value,...: read one, set one, leave out what is a default.
 *
 * The value of a model's first key may stand alone, name:VALUE,key=value, and commas inside parentheses do
 * not separate (src/model/spec.c). */
#ifndef STAIR_CLI_SPEC_H
#define STAIR_CLI_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#define SPEC_MOST 1024 /* characters of a MODEL string, and of a value */

/* Number of the model that a MODEL string names, for stair_model_keys; -1 for none. */
int spec_model(const char *spec);

/* The item of `key` in a canonical MODEL string (its keys in the model's order), NULL where there is none;
 * its value has `length` characters from *value on.  `first`: the model's first key, whose value may stand
 * alone, or NULL. */
const char *spec_item(const char *spec, const char *first, const char *key, const char **value,
                      size_t *length);

/* The value of `key` as text, empty where the model string does not have it; value (SPEC_MOST). */
bool spec_value(const char *spec, const char *key, char *value);
/* spec with `key` set to `value`, to be freed; a key it does not have is appended, for the model to refuse by
 * name.  NULL where there is no room. */
char *spec_with(const char *spec, const char *key, const char *value);
/* A canonical MODEL string without the keys that are at their defaults; text (SPEC_MOST). */
const char *spec_short(const char *spec, char *text);

/* Characters up to the comma that ends an item, outside all parentheses, or to the end. */
size_t spec_item_length(const char *item);

#endif
