/* Option values as text: numbers and lists in, JSON and text out. */
#include "options.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LIST 1000000

bool option_parse_double(const char *text, double *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false; /* no nan, inf, hex or blanks */
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value);
}

/* Integers may be written 1e6. */
bool option_parse_int(const char *text, int64_t *value)
{
    char *end;
    double real;
    if (!option_parse_double(text, &real)) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (!*end && !errno) return true;
    *value = fabs(real) <= 9007199254740992.0 ? (int64_t)real : 0;
    return (double)*value == real && fabs(real) <= 9007199254740992.0;
}

bool option_parse_uint64(const char *text, uint64_t *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789") != strlen(text)) return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !*end && !errno;
}

static stair_status bad_list(stair_context *context, const cli_option *entry, const char *text)
{
    return stair_fail(context, STAIR_BAD_INPUT, "--%s needs numbers a,b,c or from:to:step, not '%.80s'",
                      entry->name, text);
}

static stair_status append(stair_context *context, const cli_option *entry, option_list *list, double value)
{
    if (value < entry->low || value > entry->high)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "--%s must hold numbers between %.15g and %.15g, not %.15g", entry->name,
                          entry->low, entry->high, value);
    list->values[list->count++] = value;
    return STAIR_OK;
}

/* A step that misses `to` by rounding alone still reaches it. */
static stair_status read_range(stair_context *context, const cli_option *entry, const char *text,
                               const double part[3], option_list *list)
{
    double steps = (part[1] - part[0]) / part[2];
    if (part[2] == 0 || !(steps >= 0)) return bad_list(context, entry, text);
    steps = floor(steps * (1 + 4 * DBL_EPSILON) + 1e-9);
    if (steps >= LONGEST_LIST)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s: '%.80s' has more than %d numbers", entry->name,
                          text, LONGEST_LIST);
    list->values = malloc(((size_t)steps + 1) * sizeof(double));
    if (!list->values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i <= (size_t)steps; i++)
        STAIR_TRY(append(context, entry, list, part[0] + (double)i * part[2]));
    return STAIR_OK;
}

/* Splits at `mark`, at most `most` numbers; their count, or -1 when one is not a number. */
static int split(const char *text, char mark, int most, double *out)
{
    int count = 0;
    for (;;) {
        char word[64];
        const char *end = strchr(text, mark);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (length >= sizeof word || count == most) return -1;
        memcpy(word, text, length);
        word[length] = 0;
        if (!option_parse_double(word, &out[count++])) return -1;
        if (!end) return count;
        text = end + 1;
    }
}

stair_status option_list_read(stair_context *context, const cli_option *entry, const char *text,
                              option_list *list)
{
    free(list->values); /* the last one given counts */
    *list = (option_list){0};
    if (strchr(text, ':')) {
        double part[3];
        if (split(text, ':', 3, part) != 3) return bad_list(context, entry, text);
        return read_range(context, entry, text, part, list);
    }
    int most = 1;
    for (const char *c = text; *c; c++) most += *c == ',';
    if (most > LONGEST_LIST) return bad_list(context, entry, text);
    list->values = malloc((size_t)most * sizeof(double));
    if (!list->values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (split(text, ',', most, list->values) != most) return bad_list(context, entry, text);
    for (int i = 0; i < most; i++) STAIR_TRY(append(context, entry, list, list->values[i]));
    return STAIR_OK;
}

void options_free(const cli_option *table, void *target)
{
    for (; table->name; table++) {
        if (table->kind != OPTION_LIST) continue;
        option_list *list = (option_list *)((char *)target + table->offset);
        free(list->values);
        *list = (option_list){0};
    }
}

/* JSON is UTF-8 and file names need not be: such a name has no echo. */
static json_t *text_to_json(const char *text)
{
    json_t *string = text ? json_string(text) : NULL;
    return string ? string : json_null();
}

json_t *option_to_json(const cli_option *entry, const void *target)
{
    const void *field = (const char *)target + entry->offset;
    json_t *array = NULL;
    switch (entry->kind) {
    case OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case OPTION_INT:
        return json_integer(*(const int64_t *)field);
    case OPTION_UINT64: { /* JSON integers end at 2^63: larger seeds are strings */
        uint64_t value = *(const uint64_t *)field;
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, value);
        return value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(text);
    }
    case OPTION_DOUBLE:
        return json_real(*(const double *)field);
    case OPTION_TEXT:
    case OPTION_PATH:
        return text_to_json(*(const char *const *)field);
    case OPTION_LIST:
        array = json_array();
        for (size_t i = 0; i < ((const option_list *)field)->count; i++)
            json_array_append_new(array, json_real(((const option_list *)field)->values[i]));
        return array;
    case OPTION_TEXTS:
        array = json_array();
        for (int i = 0; i < ((const option_texts *)field)->count; i++)
            json_array_append_new(array, text_to_json(((const option_texts *)field)->items[i]));
        return array;
    }
    return array;
}

void option_to_text(const cli_option *entry, const void *target, char *text, size_t size)
{
    const void *field = (const char *)target + entry->offset;
    const option_list *list = field;
    const option_texts *texts = field;
    size_t used = 0;
    const char *string;
    text[0] = 0;
    switch (entry->kind) {
    case OPTION_FLAG:
        snprintf(text, size, "%s", *(const bool *)field ? "yes" : "no");
        return;
    case OPTION_INT:
        snprintf(text, size, "%" PRId64, *(const int64_t *)field);
        return;
    case OPTION_UINT64:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        return;
    case OPTION_DOUBLE:
        snprintf(text, size, "%.15g", *(const double *)field);
        return;
    case OPTION_TEXT:
    case OPTION_PATH:
        string = *(const char *const *)field;
        snprintf(text, size, "%s", string ? string : "");
        return;
    case OPTION_LIST:
        for (size_t i = 0; i < list->count && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%.15g", i ? "," : "", list->values[i]);
        return;
    case OPTION_TEXTS:
        for (int i = 0; i < texts->count && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", texts->items[i]);
        return;
    }
}
