/* NPZ: one array per column, rows along its first dimension; overlaps and other matrices over indices have an
 * array per entry (entries.h), NaN where a row's model does not have it. */
#include "entries.h"
#include "io/npz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    stair_npz *npz;
    int *member;    /* (entries) */
    uint32_t *wide; /* a text, four bytes for each character */
} archive;

static stair_status add_member(stair_context *context, archive *into, const cli_report *report,
                               const cli_entry *entry, int *member)
{
    const cli_column *column = &report->columns[entry->column];
    uint64_t tail[COLUMN_RANK];
    char descr[16];
    int rank = entry->whole ? column->rank : 0;
    size_t size = 8;
    for (int i = 0; i < rank; i++) tail[i] = (uint64_t)column->shape[i];
    snprintf(descr, sizeof descr, "%s",
             column->kind == CELL_INT       ? "<i8"
             : column->kind == CELL_NATURAL ? "<u8"
             : column->kind == CELL_BOOL    ? "|b1"
                                            : "<f8");
    if (column->kind == CELL_BOOL) size = 1;
    if (column->kind == CELL_TEXT || column->kind == CELL_INTS) {
        snprintf(descr, sizeof descr, "<U%d", column->width);
        size = 4 * (size_t)column->width;
    }
    return stair_npz_add(context, into->npz, entry->name, descr, size, rank + 1, tail, member);
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    stair_context *context = report->request->context;
    archive *into = sink->state = calloc(1, sizeof *into);
    int widest = 1;
    STAIR_TRY(entries_of_npz(report, &sink->entries));
    for (int c = 0; c < report->count; c++)
        if (report->columns[c].width > widest) widest = report->columns[c].width;
    if (into) into->member = calloc((size_t)sink->entries.count + 1, sizeof *into->member);
    if (into) into->wide = calloc((size_t)widest, sizeof *into->wide);
    if (!into || !into->member || !into->wide) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    STAIR_TRY(stair_npz_create(context, sink->path, report->request->options.force, &into->npz));
    for (int k = 0; k < sink->entries.count; k++)
        STAIR_TRY(add_member(context, into, report, &sink->entries.items[k], &into->member[k]));
    return STAIR_OK;
}

static stair_status append_text(stair_context *context, archive *into, int member, const cli_column *column,
                                const char *text)
{
    size_t length = text ? strlen(text) : 0;
    for (size_t i = 0; i < (size_t)column->width; i++)
        into->wide[i] = i < length ? (unsigned char)text[i] : 0;
    return stair_npz_append(context, into->npz, member, into->wide, 1);
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    stair_context *context = report->request->context;
    archive *into = sink->state;
    for (int k = 0; k < sink->entries.count; k++) {
        const cli_entry *entry = &sink->entries.items[k];
        const cli_column *column = &report->columns[entry->column];
        const cli_cell *cell = &cells[entry->column];
        double value = NAN;
        const void *row = &value;
        if (entry->whole && (column->kind == CELL_TEXT || column->kind == CELL_INTS)) {
            STAIR_TRY(append_text(context, into, into->member[k], column, cell->text));
            continue;
        }
        if (!entry->whole)
            entry_value(report, entry, cells, &value);
        else /* the union lies in memory as its member does */
            row = column->rank ? (const void *)cell->array : (const void *)cell;
        STAIR_TRY(stair_npz_append(context, into->npz, into->member[k], row, 1));
    }
    return STAIR_OK;
}

static stair_status end(cli_report *report, cli_sink *sink)
{
    return stair_npz_commit(report->request->context, ((archive *)sink->state)->npz);
}

static void discard(cli_sink *sink)
{
    archive *into = sink->state;
    if (into) {
        stair_npz_destroy(&into->npz);
        free(into->member);
        free(into->wide);
    }
    free(into);
    sink->state = NULL;
}

const cli_format npz_format = {"npz", IN_NPZ, begin, row, end, discard};
