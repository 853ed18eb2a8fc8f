/* The table for people: a line that says what was run, headings, aligned columns, notes.
 *
 * Columns are aligned over pages of rows.  With --out the table is a preview of the file. */
#include "text_sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE    256 /* rows aligned together */
#define PREVIEW 16  /* rows shown when a file holds them all */
#define NUMBER  400 /* characters of a number, at most: 1e308 with decimals */

typedef struct {
    char **cells; /* (PAGE, columns), each to be freed */
    int *width;   /* (columns) */
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
    if (request->model) fprintf(file, " %s", stair_model_spec(request->model));
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
            fprintf(file, " --%s %s", entry.is->name, text);
    }
    putc('\n', file);
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    STAIR_TRY(text_sink_open(report, sink));
    table *page = sink->state = calloc(1, sizeof *page);
    if (page) page->cells = calloc((size_t)PAGE * (size_t)report->count, sizeof *page->cells);
    if (page) page->width = calloc((size_t)report->count, sizeof *page->width);
    if (!page || !page->cells || !page->width)
        return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    for (int c = 0; c < report->count; c++)
        page->width[c] = report->columns[c].where & IN_TABLE ? (int)strlen(report->columns[c].heading) : 0;
    write_heading(report->request, sink->file);
    return STAIR_OK;
}

static double norm(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i] * values[i];
    return sqrt(sum);
}

/* A cell as text of its own; NULL where there is no memory. */
static char *print_cell(const cli_column *column, const cli_cell *value)
{
    char text[NUMBER];
    double real = column->rank ? norm(value->array, column_size(column)) : value->real;
    switch (column->rank ? CELL_REAL : column->kind) {
    case CELL_REAL:
        if (column->fixed)
            snprintf(text, sizeof text, "%.*f", column->digits, real);
        else if (column->digits)
            snprintf(text, sizeof text, "%#.*g", column->digits, real);
        else
            snprintf(text, sizeof text, "%.3g", real);
        return strdup(text);
    case CELL_INT:
        snprintf(text, sizeof text, "%" PRId64, value->integer);
        return strdup(text);
    case CELL_TEXT:
    case CELL_INTS:
    case CELL_JSON:
        return strdup(value->text ? value->text : "-");
    case CELL_BOOL:
        return strdup(value->truth ? "yes" : "NO");
    }
    return NULL;
}

/* Text stands left, numbers right; the last column is not padded. */
static void print_line(const cli_report *report, const table *page, FILE *file, char **cells)
{
    int last = report->count - 1;
    while (last > 0 && !(report->columns[last].where & IN_TABLE)) last--;
    for (int c = 0; c <= last; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_TABLE)) continue;
        bool left = !column->rank && column->kind >= CELL_TEXT;
        const char *text = cells ? cells[c] : column->heading;
        fprintf(file, "%*s%s",
                left && c == last ? 0
                : left            ? -page->width[c]
                                  : page->width[c],
                text, c == last ? "\n" : "  ");
    }
}

static void flush_page(cli_report *report, cli_sink *sink)
{
    table *page = sink->state;
    if (!page->headed) print_line(report, page, sink->file, NULL);
    page->headed = true;
    for (int r = 0; r < page->rows; r++)
        print_line(report, page, sink->file, page->cells + (size_t)r * (size_t)report->count);
    forget_page(page);
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    table *page = sink->state;
    if (report->request->options.out && report->rows >= PREVIEW) return STAIR_OK;
    char **line = page->cells + (size_t)page->rows++ * (size_t)report->count;
    for (int c = 0; c < report->count; c++, page->used++) {
        line[c] = NULL;
        if (!(report->columns[c].where & IN_TABLE)) continue;
        line[c] = print_cell(&report->columns[c], &cells[c]);
        if (!line[c]) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
        int length = (int)strlen(line[c]);
        if (length > page->width[c]) page->width[c] = length;
    }
    if (page->rows == PAGE) flush_page(report, sink);
    return STAIR_OK;
}

static stair_status end(cli_report *report, cli_sink *sink)
{
    flush_page(report, sink);
    const char *out = report->request->options.out;
    if (out && report->rows > PREVIEW)
        fprintf(sink->file, "... and %" PRIu64 " more rows in %s\n", report->rows - PREVIEW, out);
    fputs(report->notes, sink->file);
    return text_sink_publish(report, sink);
}

const cli_format table_format = {"txt", IN_TABLE, begin, row, end, discard};
