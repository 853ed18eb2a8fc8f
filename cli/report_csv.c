/* CSV that numpy.genfromtxt, gnuplot and spreadsheets read as it is: a header, then a line per row; a cell
 * per entry of an array (entries.h).
 *
 * No quotes: a comma inside a text becomes a semicolon, so that model strings stay one cell.  What a row does
 * not have is empty; what is not a number is nan; true and false are 1 and 0. */
#include "entries.h"
#include "number.h"
#include "text_sink.h"

#include <inttypes.h>
#include <string.h>

static void write_text(FILE *file, const char *text)
{
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        putc(c == ',' ? ';' : c == '"' ? '\'' : c < ' ' || c == '#' || c == 127 ? ' ' : c, file);
    }
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

static void write_whole(FILE *file, const cli_column *column, const cli_cell *value)
{
    switch (column->kind) {
    case CELL_REAL:
        write_real(file, column, value->real);
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
        putc(value->truth ? '1' : '0', file);
        return;
    }
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    for (int k = 0; k < sink->entries.count; k++) {
        const cli_entry *entry = &sink->entries.items[k];
        double value;
        if (k) putc(',', sink->file);
        if (entry->whole)
            write_whole(sink->file, &report->columns[entry->column], &cells[entry->column]);
        else if (entry_value(report, entry, cells, &value))
            write_real(sink->file, &report->columns[entry->column], value);
    }
    putc('\n', sink->file);
    return STAIR_OK;
}

const cli_format csv_format = {"csv", IN_CSV, begin, row, text_sink_publish, text_sink_discard};
