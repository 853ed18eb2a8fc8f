/* CSV (RFC 4180): a header, then a line per row; an array becomes one column per element. */
#include "text_sink.h"

#include <inttypes.h>
#include <string.h>

static void write_text(FILE *file, const char *text)
{
    if (!text) return;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"') putc('"', file);
        putc(*text, file);
    }
    putc('"', file);
}

/* name, or name_0_1 for element (0, 1). */
static void write_name(FILE *file, const cli_column *column, size_t element)
{
    int index[COLUMN_RANK];
    for (int i = column->rank - 1; i >= 0; i--) {
        index[i] = (int)(element % (size_t)column->shape[i]);
        element /= (size_t)column->shape[i];
    }
    fputs(column->name, file);
    for (int i = 0; i < column->rank; i++) fprintf(file, "_%d", index[i]);
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    STAIR_TRY(text_sink_open(report, sink));
    const char *comma = "";
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_CSV)) continue;
        for (size_t k = 0; k < column_size(column); k++, comma = ",") {
            fputs(comma, sink->file);
            write_name(sink->file, column, k);
        }
    }
    putc('\n', sink->file);
    return STAIR_OK;
}

static void write_cell(FILE *file, const cli_column *column, const cli_cell *value, size_t element)
{
    if (column->rank) {
        fprintf(file, "%.17g", value->array[element]);
        return;
    }
    switch (column->kind) {
    case CELL_REAL:
        fprintf(file, "%.17g", value->real);
        return;
    case CELL_INT:
        fprintf(file, "%" PRId64, value->integer);
        return;
    case CELL_TEXT:
    case CELL_INTS:
    case CELL_JSON:
        write_text(file, value->text);
        return;
    case CELL_BOOL:
        fputs(value->truth ? "true" : "false", file);
        return;
    }
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    const char *comma = "";
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_CSV)) continue;
        for (size_t k = 0; k < column_size(column); k++, comma = ",") {
            fputs(comma, sink->file);
            write_cell(sink->file, column, &cells[c], k);
        }
    }
    putc('\n', sink->file);
    return STAIR_OK;
}

const cli_format csv_format = {"csv", IN_CSV, begin, row, text_sink_publish, text_sink_discard};
