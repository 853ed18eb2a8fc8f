/* Options as JSON has them: numbers, texts, booleans, and arrays of these. */
#include "option_json.h"
#include "plain.h"

#include <inttypes.h>
#include <stdio.h>

/* JSON is UTF-8 and file names need not be: such a name has no echo. */
static json_t *text_to_json(const char *text)
{
    return text && plain_is_utf8(text) ? json_string(text) : json_null();
}

/* JSON integers end at 2^63: larger seeds are strings. */
json_t *natural_to_json(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(text);
}

static json_t *one_to_json(const stair_option *option, const void *field)
{
    switch (option->kind) {
    case STAIR_OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case STAIR_OPTION_EITHER:
        return json_string(stair_option_choice(option, *(const bool *)field));
    case STAIR_OPTION_INT:
        return json_integer(*(const int *)field);
    case STAIR_OPTION_INT64:
        return json_integer(*(const int64_t *)field);
    case STAIR_OPTION_SIZE:
        return natural_to_json(*(const size_t *)field);
    case STAIR_OPTION_UINT64:
        return natural_to_json(*(const uint64_t *)field);
    case STAIR_OPTION_DOUBLE:
        return json_real(*(const double *)field);
    case STAIR_OPTION_TEXT:
    case STAIR_OPTION_PATH:
        return text_to_json(*(const char *const *)field);
    case STAIR_OPTION_KINDS:
        break;
    }
    return NULL;
}

json_t *option_to_json(const option_entry *entry, const void *target)
{
    const void *field = (const char *)target + entry->base + entry->is->offset;
    const option_list *list = field;
    const option_texts *texts = field;
    if (option_many(entry) == OPTION_ONE) return one_to_json(entry->is, field);
    json_t *array = json_array();
    int failed = 0;
    if (option_many(entry) == OPTION_LIST)
        for (size_t i = 0; i < list->count; i++)
            failed |= json_array_append_new(array, json_real(list->values[i]));
    else
        for (int i = 0; i < texts->count; i++)
            failed |= json_array_append_new(array, text_to_json(texts->items[i]));
    if (!failed) return array;
    json_decref(array);
    return NULL;
}
