/* Numbers are written as the shortest decimal that reads back as the same double, errors to three digits. */
#include "table.h"
#include "io/atomic_file.h"
#include "io/text_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static stair_status no_memory(stair_context *context)
{
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

static int count_words(const char *text)
{
    int count = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " "), count++) text += strcspn(text, " ");
    return count;
}

stair_status figure_table_create(stair_context *context, const char *names, figure_table **table)
{
    figure_table *t = *table = calloc(1, sizeof *t);
    if (!t) return no_memory(context);
    t->columns = count_words(names);
    t->column = calloc((size_t)t->columns + 1, sizeof *t->column);
    if (!t->column) {
        figure_table_destroy(table);
        return no_memory(context);
    }
    for (int k = 0; k < t->columns; k++) {
        names += strspn(names, " ");
        size_t length = strcspn(names, " ");
        snprintf(t->column[k], FIGURE_NAME, "%.*s", (int)length, names);
        names += length;
    }
    return STAIR_OK;
}

void figure_table_destroy(figure_table **table)
{
    if (!*table) return;
    free((*table)->column);
    free((*table)->series);
    free((*table)->cell);
    free(*table);
    *table = NULL;
}

static stair_status make_room(stair_context *context, figure_table *t)
{
    int room = t->room ? 2 * t->room : 64;
    char(*series)[FIGURE_NAME] = realloc(t->series, (size_t)room * sizeof *series);
    if (series) t->series = series;
    double *cell = realloc(t->cell, (size_t)room * (size_t)t->columns * sizeof *cell);
    if (cell) t->cell = cell;
    if (!series || !cell) return no_memory(context);
    t->room = room;
    return STAIR_OK;
}

stair_status figure_table_add(stair_context *context, figure_table *t, const char *series,
                              const double *values)
{
    if (t->rows == t->room) STAIR_TRY(make_room(context, t));
    snprintf(t->series[t->rows], FIGURE_NAME, "%s", series);
    memcpy(t->cell + (size_t)t->rows * (size_t)t->columns, values, (size_t)t->columns * sizeof *values);
    t->rows++;
    return STAIR_OK;
}

stair_status figure_table_mark(stair_context *context, figure_table *t, const char *name, double value,
                               double error, const char *text)
{
    if (t->marks == FIGURE_MARKS) return stair_fail(context, STAIR_FAILED, "more than %d marks", t->marks);
    figure_mark *m = &t->mark[t->marks++];
    *m = (figure_mark){.value = value, .error = error};
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->text, sizeof m->text, "%s", text);
    return STAIR_OK;
}

int figure_table_column(const figure_table *t, const char *name)
{
    for (int k = 0; k < t->columns; k++)
        if (!strcmp(t->column[k], name)) return k;
    return -1;
}

double figure_table_at(const figure_table *t, int row, const char *name)
{
    int column = figure_table_column(t, name);
    return column < 0 ? NAN : t->cell[(size_t)row * (size_t)t->columns + (size_t)column];
}

/* ---- writing --------------------------------------------------------------------------------------- */

static void write_number(FILE *file, double value)
{
    char text[40];
    if (!isfinite(value)) {
        fputs(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", file);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, file);
}

static bool is_error(const char *name)
{
    size_t length = strlen(name);
    return length > 6 && !strcmp(name + length - 6, "_error");
}

static void write_row(FILE *file, const figure_table *t, int row)
{
    if (!t->one_series) fprintf(file, "%s,", t->series[row]);
    for (int k = 0; k < t->columns; k++) {
        double value = t->cell[(size_t)row * (size_t)t->columns + (size_t)k];
        if (k) putc(',', file);
        if (is_error(t->column[k]))
            fprintf(file, "%.3g", value);
        else
            write_number(file, value);
    }
    putc('\n', file);
}

static void write_head(FILE *file, const figure_table *t, const char *head)
{
    for (const char *line = head; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(file, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fprintf(file, "# parts %d rows %d\n", t->parts, t->rows);
    for (int k = 0; k < t->marks; k++) {
        const figure_mark *m = &t->mark[k];
        fprintf(file, "# mark,%s,", m->name);
        write_number(file, m->value);
        fprintf(file, ",%.17g,%s\n", m->error, m->text);
    }
    if (!t->one_series) fputs("series,", file);
    for (int k = 0; k < t->columns; k++) fprintf(file, "%s%s", k ? "," : "", t->column[k]);
    putc('\n', file);
}

stair_status figure_table_write(stair_context *context, const figure_table *t, const char *head,
                                const char *path, bool overwrite)
{
    stair_atomic_file out;
    STAIR_TRY(stair_atomic_open(context, path, overwrite, &out));
    write_head(out.file, t, head);
    for (int row = 0; row < t->rows; row++) write_row(out.file, t, row);
    return stair_atomic_commit(context, &out);
}

/* ---- reading --------------------------------------------------------------------------------------- */

typedef struct {
    stair_context *context;
    const char *path;
    stair_text text;
    size_t at;
    stair_line line;
    int rows; /* that the file says it has */
} table_reader;

static stair_status damaged(const table_reader *r)
{
    return stair_fail(r->context, STAIR_BAD_INPUT, "%s, line %d: not the numbers of a figure", r->path,
                      r->line.number);
}

/* The next item of the line, up to a comma; false past its end. */
static bool next_item(const table_reader *r, const char **at, char *item, size_t size)
{
    const char *end = r->line.start + r->line.length;
    if (*at > end) return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at)), *stop = comma ? comma : end;
    size_t length = (size_t)(stop - *at);
    if (length >= size) length = size - 1;
    memcpy(item, *at, length);
    item[length] = 0;
    *at = stop + 1;
    return true;
}

static bool read_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return *text && !*end;
}

static bool head_matches(table_reader *r, const char *head)
{
    for (const char *line = head; *line;) {
        size_t length = strcspn(line, "\n");
        if (!stair_text_line(&r->text, &r->at, &r->line) || r->line.length != length + 2 ||
            memcmp(r->line.start, "# ", 2) != 0 || memcmp(r->line.start + 2, line, length) != 0)
            return false;
        line += length + (line[length] == '\n');
    }
    return true;
}

static stair_status read_names(table_reader *r, figure_table **table)
{
    char *names = calloc(1, r->line.length + 2), item[FIGURE_NAME];
    const char *at = r->line.start;
    bool series = false, first = true;
    if (!names) return no_memory(r->context);
    while (next_item(r, &at, item, sizeof item)) {
        if (first && !strcmp(item, "series"))
            series = true;
        else if (!*item || strpbrk(item, " \t\"")) {
            free(names);
            return damaged(r);
        } else
            strcat(strcat(names, *names ? " " : ""), item);
        first = false;
    }
    stair_status status = figure_table_create(r->context, names, table);
    if (status == STAIR_OK) (*table)->one_series = !series;
    free(names);
    return status;
}

static stair_status read_mark(table_reader *r, figure_table *t)
{
    char name[FIGURE_NAME], value[64], error[64], text[FIGURE_TEXT] = "";
    const char *at = r->line.start + strlen("# mark,");
    double v, e;
    if (!next_item(r, &at, name, sizeof name) || !next_item(r, &at, value, sizeof value) ||
        !next_item(r, &at, error, sizeof error) || !read_number(value, &v) || !read_number(error, &e))
        return damaged(r);
    next_item(r, &at, text, sizeof text);
    return figure_table_mark(r->context, t, name, v, e, text);
}

static stair_status read_row(table_reader *r, figure_table *t, double *values)
{
    char item[64], series[FIGURE_NAME] = "";
    const char *at = r->line.start;
    if (!t->one_series && !next_item(r, &at, series, sizeof series)) return damaged(r);
    for (int k = 0; k < t->columns; k++)
        if (!next_item(r, &at, item, sizeof item) || !read_number(item, &values[k])) return damaged(r);
    if (at <= r->line.start + r->line.length) return damaged(r);
    return figure_table_add(r->context, t, series, values);
}

static stair_status read_rows(table_reader *r, figure_table *t)
{
    double *values = calloc((size_t)t->columns + 1, sizeof *values);
    stair_status status = values ? STAIR_OK : no_memory(r->context);
    while (status == STAIR_OK && stair_text_line(&r->text, &r->at, &r->line)) status = read_row(r, t, values);
    free(values);
    return status;
}

/* Marks come before the names: they are kept aside until there is a table. */
static stair_status read_body(table_reader *r, figure_table **table)
{
    figure_table *marks = NULL;
    int parts = 0;
    r->rows = -1;
    STAIR_TRY(figure_table_create(r->context, "", &marks));
    stair_status status = STAIR_OK;
    bool more = false;
    while (status == STAIR_OK && (more = stair_text_line(&r->text, &r->at, &r->line)) && r->line.length &&
           *r->line.start == '#') {
        if (r->line.length > 7 && !memcmp(r->line.start, "# mark,", 7))
            status = read_mark(r, marks);
        else
            sscanf(r->line.start, "# parts %d rows %d", &parts, &r->rows);
    }
    if (status == STAIR_OK) status = more ? read_names(r, table) : damaged(r);
    if (status == STAIR_OK) {
        (*table)->marks = marks->marks;
        memcpy((*table)->mark, marks->mark, sizeof marks->mark);
        (*table)->parts = parts;
        status = read_rows(r, *table);
    }
    if (status == STAIR_OK && r->rows >= 0 && (*table)->rows != r->rows) status = damaged(r);
    if (status != STAIR_OK) figure_table_destroy(table);
    figure_table_destroy(&marks);
    return status;
}

stair_status figure_table_read(stair_context *context, const char *head, const char *path,
                               figure_table **table)
{
    table_reader r = {.context = context, .path = path};
    *table = NULL;
    FILE *there = fopen(path, "rb");
    if (!there) return STAIR_OK;
    fclose(there);
    STAIR_TRY(stair_text_read(context, path, &r.text));
    stair_status status = head_matches(&r, head) ? read_body(&r, table) : STAIR_OK;
    stair_text_free(&r.text);
    return status;
}

stair_status figure_table_import(stair_context *context, const char *path, figure_table **table)
{
    table_reader r = {.context = context, .path = path};
    *table = NULL;
    STAIR_TRY(stair_text_read(context, path, &r.text));
    stair_status status = read_body(&r, table);
    stair_text_free(&r.text);
    return status;
}
