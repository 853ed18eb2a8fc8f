/* What a table of options can do for the fields of a struct: check them, read them from text, print them.
 *
 * One way for every kind: the field is read into a number, a range is asked of the number.  Text that is
 * refused leaves the struct as it was. */
#include "core/options.h"
#include "core/context.h"
#include "core/limits.h"
#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CHOICES = 32,  /* of an option, and */
    MOST_OPTIONS = 127, /* options of a table, among which a misspelt one is looked for */
    RANGE_TEXT = 160    /* bytes of a range in words */
};

/* ---- numbers in text --------------------------------------- */

bool stair_parse_double(const char *text, double *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false; /* no nan, inf, hex or blanks */
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value);
}

bool stair_parse_int(const char *text, int64_t *value)
{
    char *end;
    double real;
    if (!stair_parse_double(text, &real)) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (!*end && !errno) return true;
    *value = fabs(real) <= STAIR_EXACT ? (int64_t)real : 0;
    return (double)*value == real && fabs(real) <= STAIR_EXACT;
}

bool stair_parse_uint64(const char *text, uint64_t *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789") != strlen(text)) return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !*end && !errno;
}

/* ---- what is allowed --------------------------------------- */

const stair_option *stair_option_find(const stair_options_table *table, const char *name)
{
    for (const stair_option *option = table->options; option->name; option++)
        if (!strcmp(option->name, name)) return option;
    return NULL;
}

const char *stair_option_choice(const stair_option *option, int number)
{
    if (option->choice) return option->choice(number);
    for (int i = 0; option->choices && i < number; i++)
        if (!option->choices[i]) return NULL;
    return option->choices ? option->choices[number] : NULL;
}

/* A choice that ends in :K stands for the same with any number there. */
static bool is_choice(const char *choice, const char *text)
{
    const char *mark = strstr(choice, ":K");
    if (!mark || mark[2]) return !strcmp(choice, text);
    size_t length = (size_t)(mark - choice) + 1;
    if (strncmp(choice, text, length)) return false;
    size_t digits = strspn(text + length, "0123456789");
    return digits > 0 && !text[length + digits];
}

static int choice_number(const stair_option *option, const char *text)
{
    for (int i = 0; stair_option_choice(option, i); i++)
        if (is_choice(stair_option_choice(option, i), text)) return i;
    return -1;
}

static bool has_range(const stair_option *option)
{
    return option->kind == STAIR_OPTION_INT || option->kind == STAIR_OPTION_INT64 ||
           option->kind == STAIR_OPTION_SIZE || option->kind == STAIR_OPTION_DOUBLE;
}

static void list_choices(const stair_option *option, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; stair_option_choice(option, i) && used < size; i++) {
        const char *mark = !i ? "" : stair_option_choice(option, i + 1) ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", mark, stair_option_choice(option, i));
    }
}

void stair_option_range(const stair_option *option, char *text, size_t size)
{
    if (!has_range(option))
        list_choices(option, text, size);
    else if (option->above || option->below)
        snprintf(text, size, "%s %.15g and %s %.15g", option->above ? "above" : "at least", option->low,
                 option->below ? "below" : "at most", option->high);
    else
        snprintf(text, size, "between %.15g and %.15g", option->low, option->high);
}

/* A comparison with NaN is false, so NaN is out of every range. */
static stair_status check_number(stair_context *context, const stair_option *option, double value)
{
    bool high_enough = option->above ? value > option->low : value >= option->low,
         low_enough = option->below ? value < option->high : value <= option->high;
    if (high_enough && low_enough) return STAIR_OK;
    char range[RANGE_TEXT];
    stair_option_range(option, range, sizeof range);
    return stair_fail(context, STAIR_BAD_INPUT, "%s must be %s, not %.15g", option->name, range, value);
}

static stair_status check_text(stair_context *context, const stair_option *option, const char *text)
{
    if (!text && (option->optional || option->kind == STAIR_OPTION_PATH)) return STAIR_OK;
    if (!text || !*text)
        return stair_fail(context, STAIR_BAD_INPUT, "%s needs a value, not an empty one", option->name);
    if (!stair_option_choice(option, 0) || choice_number(option, text) >= 0) return STAIR_OK;
    const char *names[MOST_CHOICES + 1] = {NULL}, *near;
    for (int i = 0; i < MOST_CHOICES && stair_option_choice(option, i); i++)
        names[i] = stair_option_choice(option, i);
    char range[RANGE_TEXT];
    stair_option_range(option, range, sizeof range);
    near = stair_closest(text, names);
    return stair_fail(context, STAIR_BAD_INPUT, "%s must be %s, not '%.80s'%s%s%s", option->name, range, text,
                      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ---- fields --------------------------------------- */

static const void *field_of(const stair_option *option, const void *options)
{
    return (const char *)options + option->offset;
}

stair_status stair_option_check(stair_context *context, const stair_option *option, const void *options)
{
    const void *field = field_of(option, options);
    switch (option->kind) {
    case STAIR_OPTION_INT:
        return check_number(context, option, *(const int *)field);
    case STAIR_OPTION_INT64:
        return check_number(context, option, (double)*(const int64_t *)field);
    case STAIR_OPTION_SIZE:
        return check_number(context, option, (double)*(const size_t *)field);
    case STAIR_OPTION_DOUBLE:
        return check_number(context, option, *(const double *)field);
    case STAIR_OPTION_TEXT:
    case STAIR_OPTION_PATH:
        return check_text(context, option, *(const char *const *)field);
    case STAIR_OPTION_FLAG:
    case STAIR_OPTION_EITHER:
    case STAIR_OPTION_UINT64:
    case STAIR_OPTION_KINDS:
        break;
    }
    return STAIR_OK;
}

stair_status stair_options_check(stair_context *context, const stair_options_table *table,
                                 const void *options)
{
    for (const stair_option *option = table->options; option->name; option++)
        STAIR_TRY(stair_option_check(context, option, options));
    return STAIR_OK;
}

static stair_status not_a(stair_context *context, const stair_option *option, const char *what,
                          const char *text)
{
    return stair_fail(context, STAIR_BAD_INPUT, "%s needs %s, not '%.80s'", option->name, what, text);
}

static stair_status set_flag(stair_context *context, const stair_option *option, bool *field,
                             const char *text)
{
    static const char *const no[] = {"no", "off", "false", "0"}, *const yes[] = {"yes", "on", "true", "1"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (strcmp(text, no[i]) && strcmp(text, yes[i])) continue;
        *field = !strcmp(text, yes[i]);
        return STAIR_OK;
    }
    return not_a(context, option, "yes or no", text);
}

static stair_status set_integer(stair_context *context, const stair_option *option, void *field,
                                const char *text)
{
    int64_t value;
    if (!stair_parse_int(text, &value)) return not_a(context, option, "an integer", text);
    STAIR_TRY(check_number(context, option, (double)value));
    if (option->kind == STAIR_OPTION_INT)
        *(int *)field = (int)value;
    else if (option->kind == STAIR_OPTION_SIZE)
        *(size_t *)field = (size_t)value;
    else
        *(int64_t *)field = value;
    return STAIR_OK;
}

static stair_status set_real(stair_context *context, const stair_option *option, double *field,
                             const char *text)
{
    double value;
    if (!stair_parse_double(text, &value)) return not_a(context, option, "a finite number", text);
    STAIR_TRY(check_number(context, option, value));
    *field = value;
    return STAIR_OK;
}

stair_status stair_option_set(stair_context *context, const stair_option *option, void *options,
                              const char *text)
{
    void *field = (char *)options + option->offset;
    uint64_t natural;
    switch (option->kind) {
    case STAIR_OPTION_FLAG:
        return set_flag(context, option, field, text);
    case STAIR_OPTION_INT:
    case STAIR_OPTION_INT64:
    case STAIR_OPTION_SIZE:
        return set_integer(context, option, field, text);
    case STAIR_OPTION_UINT64:
        if (!stair_parse_uint64(text, &natural))
            return not_a(context, option, "an integer from 0 to 2^64-1", text);
        *(uint64_t *)field = natural;
        return STAIR_OK;
    case STAIR_OPTION_DOUBLE:
        return set_real(context, option, field, text);
    case STAIR_OPTION_EITHER:
        STAIR_TRY(check_text(context, option, text));
        *(bool *)field = choice_number(option, text) == 1;
        return STAIR_OK;
    case STAIR_OPTION_TEXT:
    case STAIR_OPTION_PATH:
        STAIR_TRY(check_text(context, option, text));
        *(const char **)field = text;
        return STAIR_OK;
    case STAIR_OPTION_KINDS:
        break;
    }
    return stair_fail(context, STAIR_BAD_INPUT, "%s is of no known kind", option->name);
}

void stair_option_get(const stair_option *option, const void *options, char *text, size_t size)
{
    const void *field = field_of(option, options);
    const char *string = "";
    if (size) text[0] = 0;
    switch (option->kind) {
    case STAIR_OPTION_FLAG:
        snprintf(text, size, "%s", *(const bool *)field ? "yes" : "no");
        return;
    case STAIR_OPTION_EITHER:
        string = stair_option_choice(option, *(const bool *)field);
        break;
    case STAIR_OPTION_INT:
        snprintf(text, size, "%d", *(const int *)field);
        return;
    case STAIR_OPTION_INT64:
        snprintf(text, size, "%" PRId64, *(const int64_t *)field);
        return;
    case STAIR_OPTION_SIZE:
        snprintf(text, size, "%zu", *(const size_t *)field);
        return;
    case STAIR_OPTION_UINT64:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        return;
    case STAIR_OPTION_DOUBLE: /* as few digits as read back: 0.1, not 0.10000000000000001 */
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, size, "%.*g", digits, *(const double *)field);
            if (strtod(text, NULL) == *(const double *)field) return;
        }
        return;
    case STAIR_OPTION_TEXT:
    case STAIR_OPTION_PATH:
        string = *(const char *const *)field;
        break;
    case STAIR_OPTION_KINDS:
        return;
    }
    snprintf(text, size, "%s", string ? string : "");
}

/* ---- by name --------------------------------------- */

static stair_status unknown(stair_context *context, const stair_options_table *table, const char *name)
{
    const char *names[MOST_OPTIONS + 1] = {NULL}, *near;
    for (int i = 0; i < MOST_OPTIONS && table->options[i].name; i++) names[i] = table->options[i].name;
    near = stair_closest(name, names);
    return stair_fail(context, STAIR_BAD_INPUT, "%s has no option '%.80s'%s%s%s", table->name, name,
                      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

stair_status stair_options_set(stair_context *context, const stair_options_table *table, void *options,
                               const char *name, const char *text)
{
    const stair_option *option = stair_option_find(table, name);
    return option ? stair_option_set(context, option, options, text) : unknown(context, table, name);
}

stair_status stair_options_get(stair_context *context, const stair_options_table *table, const void *options,
                               const char *name, char *text, size_t size)
{
    const stair_option *option = stair_option_find(table, name);
    if (!option) return unknown(context, table, name);
    stair_option_get(option, options, text, size);
    return STAIR_OK;
}
