/* Option values: lists in, JSON and text out. */
#include "number.h"
#include "options.h"
#include "plain.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LIST 1000000 /* values */

static stair_status bad_list(stair_context *context, const stair_option *option, const char *text)
{
    return stair_fail(context, STAIR_BAD_INPUT, "--%s needs numbers a,b,c or from:to:step, not '%.80s'",
                      option->name, text);
}

static stair_status append(stair_context *context, const stair_option *option, option_list *list,
                           double value)
{
    if (value < option->low || value > option->high)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "--%s must hold numbers between %.15g and %.15g, not %.15g", option->name,
                          option->low, option->high, value);
    list->values[list->count++] = value;
    return STAIR_OK;
}

/* A step that misses `to` by rounding alone still reaches it. */
static stair_status read_range(stair_context *context, const stair_option *option, const char *text,
                               const double part[3], option_list *list)
{
    char from[64], step[64];
    snprintf(from, sizeof from, "%.*s", (int)strcspn(text, ":"), text);
    snprintf(step, sizeof step, "%s", strrchr(text, ':') + 1);
    double steps = (part[1] - part[0]) / part[2];
    if (part[2] == 0 || !(steps >= 0)) return bad_list(context, option, text);
    steps = floor(steps * (1 + 4 * DBL_EPSILON) + 1e-9);
    if (steps >= LONGEST_LIST)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s: '%.80s' has more than %d numbers", option->name,
                          text, LONGEST_LIST);
    list->values = malloc(((size_t)steps + 1) * sizeof(double));
    if (!list->values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i <= (size_t)steps; i++)
        STAIR_TRY(append(context, option, list, number_on_grid(from, step, (double[]){part[0], part[2]}, i)));
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
        if (!stair_parse_double(word, &out[count++])) return -1;
        if (!end) return count;
        text = end + 1;
    }
}

stair_status option_list_read(stair_context *context, const stair_option *option, const char *text,
                              option_list *list)
{
    free(list->values); /* the last one given counts */
    *list = (option_list){0};
    if (strchr(text, ':')) {
        double part[3];
        if (split(text, ':', 3, part) != 3) return bad_list(context, option, text);
        return read_range(context, option, text, part, list);
    }
    int most = 1;
    for (const char *c = text; *c; c++) most += *c == ',';
    if (most > LONGEST_LIST) return bad_list(context, option, text);
    list->values = malloc((size_t)most * sizeof(double));
    if (!list->values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (split(text, ',', most, list->values) != most) return bad_list(context, option, text);
    for (int i = 0; i < most; i++) STAIR_TRY(append(context, option, list, list->values[i]));
    return STAIR_OK;
}

void options_free(const cli_option *own, void *target)
{
    for (; own->is.name; own++) {
        if (own->many != OPTION_LIST) continue;
        option_list *list = (option_list *)((char *)target + own->is.offset);
        free(list->values);
        *list = (option_list){0};
    }
}

void option_to_text(const option_entry *entry, const void *target, char *text, size_t size)
{
    const char *options = (const char *)target + entry->base;
    const option_list *list = (const option_list *)(options + entry->is->offset);
    const option_texts *texts = (const option_texts *)(options + entry->is->offset);
    size_t used = 0;
    char digits[NUMBER_MOST];
    text[0] = 0;
    switch (option_many(entry)) {
    case OPTION_ONE:
        stair_option_get(entry->is, options, text, size);
        return;
    case OPTION_LIST:
        for (size_t i = 0; i < list->count && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "",
                                     number_text(list->values[i], digits));
        return;
    case OPTION_TEXTS:
        for (int i = 0; i < texts->count && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", texts->items[i]);
        return;
    }
}
