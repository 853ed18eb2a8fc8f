/* CSV that numpy.genfromtxt, gnuplot and spreadsheets read as it is: a header, then a line per row; a cell
 * per entry of an array (entries.h).
 *
 * No quotes: a comma inside a text becomes a semicolon, so that model strings stay one cell.  What a row does
 * not have is empty; what is not a number is nan; true and false are 1 and 0. */
#include "entries.h"
#include "number.h"
#include "plain.h"
#include "text_sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static stair_status write_text(stair_context *context, FILE *file, const char *text)
{
    char *plain = plain_copy(text ? text : "");
    if (!plain) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (const char *c = plain; *c; c++)
        putc(*c == ',' ? ';' : *c == '"' ? '\'' : *c == '#' ? ' ' : *c, file);
    free(plain);
    return STAIR_OK;
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    STAIR_TRY(text_sink_open(report, sink));
    STAIR_TRY(entries_of_csv(report, &sink->entries));
    for (int k = 0; k < sink->entries.count; k++)
        fprintf(sink->file, "%s%s", k ? "," : "", sink->entries.items[k].name);
    putc('\n', sink->file);
    return STAIR_OK;
}

/* With a point: readers that guess types take a column of whole numbers for integers, which have no way to be
 * missing.  What the user gave is written as it was given. */
static void write_real(FILE *file, const cli_column *column, double value)
{
    char text[NUMBER_MOST];
    number_text(value, text);
    fprintf(file, "%s%s", text, column->given || strpbrk(text, ".en") ? "" : ".0");
}

static stair_status write_whole(stair_context *context, FILE *file, const cli_column *column,
                                const cli_cell *value)
{
    switch (column->kind) {
    case CELL_REAL:
        write_real(file, column, value->real);
        break;
    case CELL_INT:
        fprintf(file, "%" PRId64, value->integer);
        break;
    case CELL_NATURAL:
        fprintf(file, "%" PRIu64, value->natural);
        break;
    case CELL_TEXT:
    case CELL_INTS:
    case CELL_JSON:
        return write_text(context, file, value->text);
    case CELL_BOOL:
        putc(value->truth ? '1' : '0', file);
        break;
    }
    return STAIR_OK;
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    for (int k = 0; k < sink->entries.count; k++) {
        const cli_entry *entry = &sink->entries.items[k];
        double value;
        if (k) putc(',', sink->file);
        if (entry->whole)
            STAIR_TRY(write_whole(report->request->context, sink->file, &report->columns[entry->column],
                                  &cells[entry->column]));
        else if (entry_value(report, entry, cells, &value))
            write_real(sink->file, &report->columns[entry->column], value);
    }
    putc('\n', sink->file);
    return STAIR_OK;
}

const cli_format csv_format = {"csv", IN_CSV, begin, row, text_sink_publish, text_sink_discard};
