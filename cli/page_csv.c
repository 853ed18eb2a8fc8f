/* CSV as stair writes it (report_csv.c): a line of names, then rows; no quotes.
 * Lines before the names that start with # are those of figures, and are passed over. */
#include "page.h"
#include "core/limits.h"
#include "io/text_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LONGEST 64 /* bytes of a cell that may be a number */

/* An integer that a double has no room for, a seed: with all its digits, as text where JSON has none. */
static json_t *wide_value(const char *text)
{
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    return errno ? json_string(text) : json_integer(number);
}

/* A cell as it would be in JSON: number, null or text; NULL where it is no UTF-8 or memory ran out. */
static json_t *cell_value(const char *start, size_t length)
{
    char text[NUMBER_LONGEST], *end;
    if (length == 0) return json_null();
    if (length >= NUMBER_LONGEST) return json_stringn(start, length);
    memcpy(text, start, length);
    text[length] = 0;
    if (!strcmp(text, "nan") || !strcmp(text, "inf") || !strcmp(text, "-inf")) return json_null();
    if (strspn(text, "0123456789+-.eE") == length && strlen(text) == length) {
        double value = strtod(text, &end);
        if (fabs(value) >= STAIR_EXACT && strspn(text, "0123456789-") == length && end == text + length)
            return wide_value(text);
        if (end == text + length && isfinite(value)) return json_real(value);
    }
    return json_stringn(start, length);
}

/* The next cell of a line; false past the last one. */
static bool next_cell(const char **at, const char *end, const char **start, size_t *length)
{
    if (!*at) return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    *start = *at;
    *length = (size_t)((comma ? comma : end) - *at);
    *at = comma ? comma + 1 : NULL;
    return true;
}

static stair_status read_names(page_table *table, const stair_line *line, json_t *names)
{
    const char *at = line->start, *start;
    size_t length;
    while (next_cell(&at, line->start + line->length, &start, &length)) {
        json_t *name = json_stringn(start, length);
        if (!name || length == 0 || memchr(start, 0, length)) {
            json_decref(name);
            return stair_fail(table->context, STAIR_BAD_INPUT, "%s: line %d: name %zu of a column is %s",
                              table->path, line->number, json_array_size(names) + 1,
                              length ? "not a text" : "empty");
        }
        if (json_array_append_new(names, name)) return page_no_memory(table->context);
    }
    return STAIR_OK;
}

static stair_status read_row(page_table *table, const stair_line *line, const json_t *names)
{
    const char *at = line->start, *start;
    size_t length, count = json_array_size(names), cells = 0;
    for (; next_cell(&at, line->start + line->length, &start, &length); cells++) {
        if (cells >= count) continue;
        json_t *value = cell_value(start, length);
        if (!value)
            return stair_fail(table->context, STAIR_BAD_INPUT, "%s: line %d: cell %zu is not UTF-8",
                              table->path, line->number, cells + 1);
        STAIR_TRY(page_table_put(table, json_string_value(json_array_get(names, cells)), value));
    }
    if (cells == count) return page_table_end_row(table);
    return stair_fail(table->context, STAIR_BAD_INPUT, "%s: line %d has %zu cells, the line of names %zu",
                      table->path, line->number, cells, count);
}

static stair_status read_lines(page_table *table, const stair_text *text, json_t *names)
{
    stair_line line;
    size_t offset = 0;
    bool found;
    do found = stair_text_line(text, &offset, &line);
    while (found && line.length && *line.start == '#');
    if (!found) return stair_fail(table->context, STAIR_BAD_INPUT, "%s: empty", table->path);
    STAIR_TRY(read_names(table, &line, names));
    while (stair_text_line(text, &offset, &line)) STAIR_TRY(read_row(table, &line, names));
    return STAIR_OK;
}

stair_status page_read_csv(stair_context *context, const char *path, size_t *room_left, json_t *file)
{
    stair_text text;
    page_table table = {0};
    json_t *names = json_array();
    if (!names) return page_no_memory(context);
    stair_status status = stair_text_read(context, path, &text);
    if (status == STAIR_OK) {
        status = page_table_open(context, path, room_left, &table);
        if (status == STAIR_OK) status = read_lines(&table, &text, names);
        stair_text_free(&text);
    }
    if (status == STAIR_OK) status = page_file_add(&table, "results", file);
    page_table_free(&table);
    json_decref(names);
    return status;
}
