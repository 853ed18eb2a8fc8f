/* The table for people: a line that says what was run, headings, aligned columns, notes.
 *
 * Columns are aligned over pages of rows.  With --out the table is a preview of the file. */
#include "entries.h"
#include "plain.h"
#include "spec.h"
#include "text_sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE    256 /* rows aligned together */
#define PREVIEW 16  /* rows shown when a file holds them all */
#define GIVEN   8   /* digits of numbers that were given, at most */
#define NUMBER  400 /* characters of a number, at most: 1e308 with decimals */

typedef struct {
    char **cells; /* (PAGE, entries), each to be freed */
    int *width;   /* (entries) */
    int rows;     /* on this page */
    size_t used;  /* cells of them */
    bool headed;
} table;

static void forget_page(table *page)
{
    for (size_t k = 0; k < page->used; k++) free(page->cells[k]);
    page->rows = 0;
    page->used = 0;
}

/* For tables the sink's state belongs to the page; standard output never needs an atomic file. */
static void discard(cli_sink *sink)
{
    table *page = sink->state;
    if (page) {
        forget_page(page);
        free(page->cells);
        free(page->width);
    }
    free(page);
    sink->state = NULL;
    text_sink_discard(sink);
}

static void write_heading(const cli_request *request, FILE *file)
{
    fprintf(file, "# stair %s", request->command->name);
    if (request->model) {
        char text[SPEC_MOST];
        fprintf(file, " %s", spec_short(stair_model_spec(request->model), text));
    }
    for (const char *const *name = request->command->options; *name; name++) {
        option_entry entry = option_of(&request->parse.scope, *name);
        char text[256];
        option_to_text(&entry, &request->options, text, sizeof text);
        bool flag = entry.is->kind == STAIR_OPTION_FLAG,
             off = flag && !strcmp(text, "no") && !option_given(&request->parse, *name);
        if (!request_echoes(request, entry.is) || !*text || off) continue;
        if (flag)
            fprintf(file, " --%s%s", !strcmp(text, "no") ? "no-" : "", entry.is->name);
        else
            fprintf(file, " --%s ", entry.is->name), plain_write(file, text);
    }
    putc('\n', file);
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    STAIR_TRY(text_sink_open(report, sink));
    table *page = sink->state = calloc(1, sizeof *page);
    STAIR_TRY(entries_of_table(report, &sink->entries));
    size_t count = (size_t)sink->entries.count;
    if (page) page->cells = calloc(PAGE * count + 1, sizeof *page->cells);
    if (page) page->width = calloc(count + 1, sizeof *page->width);
    if (!page || !page->cells || !page->width)
        return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t k = 0; k < count; k++) page->width[k] = (int)strlen(sink->entries.items[k].name);
    write_heading(report->request, sink->file);
    return STAIR_OK;
}

/* One number for an array: its norm, of a matrix of errors the largest. */
static double summary(const cli_report *report, const cli_column *column, const double *values)
{
    int p = report->indices ? report->indices : column->shape[0];
    size_t n = !column_is_matrix(column)           ? column_size(column)
               : column->layout == LAYOUT_DIAGONAL ? (size_t)p
                                                   : (size_t)(p * p);
    double sum = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i] * values[i];
        largest = fmax(largest, fabs(values[i]));
    }
    return column_is_matrix(column) ? largest : sqrt(sum);
}

static char *print_real(const cli_column *column, double real)
{
    char text[NUMBER];
    if (column->never && isinf(real))
        snprintf(text, sizeof text, "never");
    else if (column->given)
        snprintf(text, sizeof text, "%.*g", GIVEN, real);
    else if (column->fixed)
        snprintf(text, sizeof text, "%.*f", column->digits, real);
    else if (column->digits)
        snprintf(text, sizeof text, "%#.*g", column->digits, real);
    else
        snprintf(text, sizeof text, "%.3g", real);
    return strdup(text);
}

/* A cell as text of its own; NULL where there is no memory. */
static char *print_cell(const cli_report *report, const cli_entry *entry, const cli_cell *cells)
{
    const cli_column *column = &report->columns[entry->column];
    const cli_cell *value = &cells[entry->column];
    char text[NUMBER];
    double real;
    if (!entry->whole)
        return entry_value(report, entry, cells, &real) ? print_real(column, real) : strdup("-");
    if (column->rank) return print_real(column, summary(report, column, value->array));
    switch (column->kind) {
    case CELL_REAL:
        return print_real(column, value->real);
    case CELL_INT:
        snprintf(text, sizeof text, "%" PRId64, value->integer);
        return strdup(text);
    case CELL_NATURAL:
        snprintf(text, sizeof text, "%" PRIu64, value->natural);
        return strdup(text);
    case CELL_TEXT:
    case CELL_INTS:
    case CELL_JSON:
        return plain_copy(value->text ? value->text : "-");
    case CELL_BOOL:
        return strdup(value->truth ? "yes" : "NO");
    }
    return NULL;
}

/* Text stands left, numbers right; the last column is not padded. */
static void print_line(const cli_report *report, const cli_sink *sink, char **cells)
{
    const table *page = sink->state;
    int last = sink->entries.count - 1;
    for (int k = 0; k <= last; k++) {
        const cli_column *column = &report->columns[sink->entries.items[k].column];
        bool left = !column->rank && column->kind >= CELL_TEXT;
        const char *text = cells ? cells[k] : sink->entries.items[k].name;
        fprintf(sink->file, "%*s%s",
                left && k == last ? 0
                : left            ? -page->width[k]
                                  : page->width[k],
                text, k == last ? "\n" : "  ");
    }
}

static void flush_page(cli_report *report, cli_sink *sink)
{
    table *page = sink->state;
    if (!page->headed) print_line(report, sink, NULL);
    page->headed = true;
    for (int r = 0; r < page->rows; r++)
        print_line(report, sink, page->cells + (size_t)r * (size_t)sink->entries.count);
    forget_page(page);
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    table *page = sink->state;
    if (report->request->options.out && report->rows >= PREVIEW) return STAIR_OK;
    char **line = page->cells + (size_t)page->rows++ * (size_t)sink->entries.count;
    for (int k = 0; k < sink->entries.count; k++, page->used++) {
        line[k] = print_cell(report, &sink->entries.items[k], cells);
        if (!line[k]) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
        int length = (int)strlen(line[k]);
        if (length > page->width[k]) page->width[k] = length;
    }
    if (page->rows == PAGE) flush_page(report, sink);
    return STAIR_OK;
}

static stair_status end(cli_report *report, cli_sink *sink)
{
    flush_page(report, sink);
    const char *out = report->request->options.out;
    if (out && report->rows > PREVIEW) {
        fprintf(sink->file, "... and %" PRIu64 " more rows in ", report->rows - PREVIEW);
        plain_write(sink->file, out);
        putc('\n', sink->file);
    }
    fputs(report->notes, sink->file);
    return text_sink_publish(report, sink);
}

const cli_format table_format = {"txt", IN_TABLE, begin, row, end, discard};
