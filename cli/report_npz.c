/* NPZ: one array per column, rows along its first dimension.  Dots in names become underscores. */
#include "report.h"
#include "io/npz.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    stair_npz *npz;
    int *member;    /* (columns) */
    uint32_t *wide; /* a text, four bytes for each character */
} archive;

static stair_status add_column(stair_context *context, archive *into, int c, const cli_column *column)
{
    uint64_t tail[COLUMN_RANK];
    char name[48], descr[16];
    size_t size = 8;
    for (int i = 0; i < column->rank; i++) tail[i] = (uint64_t)column->shape[i];
    snprintf(name, sizeof name, "%s", column->name);
    for (char *dot = name; (dot = strchr(dot, '.'));) *dot = '_';
    snprintf(descr, sizeof descr, "%s",
             column->kind == CELL_INT    ? "<i8"
             : column->kind == CELL_BOOL ? "|b1"
                                         : "<f8");
    if (column->kind == CELL_BOOL) size = 1;
    if (column->kind == CELL_TEXT || column->kind == CELL_INTS) {
        snprintf(descr, sizeof descr, "<U%d", column->width);
        size = 4 * (size_t)column->width;
    }
    return stair_npz_add(context, into->npz, name, descr, size, column->rank + 1, tail, &into->member[c]);
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    stair_context *context = report->request->context;
    archive *into = sink->state = calloc(1, sizeof *into);
    int widest = 1;
    for (int c = 0; c < report->count; c++)
        if (report->columns[c].width > widest) widest = report->columns[c].width;
    if (into) into->member = calloc((size_t)report->count, sizeof *into->member);
    if (into) into->wide = calloc((size_t)widest, sizeof *into->wide);
    if (!into || !into->member || !into->wide) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    STAIR_TRY(stair_npz_create(context, sink->path, report->request->options.force, &into->npz));
    for (int c = 0; c < report->count; c++)
        if (report->columns[c].where & IN_NPZ) STAIR_TRY(add_column(context, into, c, &report->columns[c]));
    return STAIR_OK;
}

static stair_status append_text(stair_context *context, archive *into, int c, const cli_column *column,
                                const char *text)
{
    size_t length = text ? strlen(text) : 0;
    for (size_t i = 0; i < (size_t)column->width; i++)
        into->wide[i] = i < length ? (unsigned char)text[i] : 0;
    return stair_npz_append(context, into->npz, into->member[c], into->wide, 1);
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    stair_context *context = report->request->context;
    archive *into = sink->state;
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_NPZ)) continue;
        if (column->kind == CELL_TEXT || column->kind == CELL_INTS)
            STAIR_TRY(append_text(context, into, c, column, cells[c].text));
        else /* the union lies in memory as its member does */
            STAIR_TRY(stair_npz_append(context, into->npz, into->member[c],
                                       column->rank ? (const void *)cells[c].array : (const void *)&cells[c],
                                       1));
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
