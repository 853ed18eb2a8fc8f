/* Lists of entries are made once, when a report opens; rows look their values up. */
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN  8 /* of a diagonal, in a table */
#define MOST_BESIDE 4 /* that have their errors beside them */

bool column_is_matrix(const cli_column *column)
{
    return column->layout == LAYOUT_SQUARE || column->layout == LAYOUT_SYMMETRIC ||
           column->layout == LAYOUT_DIAGONAL;
}

/* Where an ending of a name begins that stands behind the indices. */
static size_t ending(const char *name)
{
    static const char *const endings[] = {"_error", "_spread"};
    size_t length = strlen(name);
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        size_t size = strlen(endings[k]);
        if (length > size && !strcmp(name + length - size, endings[k])) return length - size;
    }
    return length;
}

/* index (rank), from 0. */
static void name_entry(const cli_column *column, int rank, const int *index, char *name)
{
    const char *plain = column->flat ? column->flat : column->name, *separator = "";
    if (!strncmp(plain, "errors.", 7)) plain += 7;
    size_t stem = rank ? ending(plain) : strlen(plain),
           used = (size_t)snprintf(name, ENTRY_NAME, "%.*s", (int)stem, plain);
    for (int k = 0; k < column->rank; k++)
        if (column->shape[k] > 9) separator = "_";
    for (int k = 0; k < rank && used < ENTRY_NAME; k++)
        used += (size_t)snprintf(name + used, ENTRY_NAME - used, "%s%d", k ? separator : "", index[k] + 1);
    if (used < ENTRY_NAME) snprintf(name + used, ENTRY_NAME - used, "%s", plain + stem);
    for (char *dot = name; (dot = strchr(dot, '.'));) *dot = '_';
}

static cli_entry *append(cli_entries *entries, int column)
{
    cli_entry *entry = &entries->items[entries->count++];
    *entry = (cli_entry){.column = column};
    return entry;
}

static void add_whole(const cli_report *report, cli_entries *entries, int c)
{
    cli_entry *entry = append(entries, c);
    entry->whole = true;
    name_entry(&report->columns[c], 0, NULL, entry->name);
}

static void add_place(const cli_report *report, cli_entries *entries, int c, int i, int j)
{
    cli_entry *entry = append(entries, c);
    entry->i = i;
    entry->j = j;
    name_entry(&report->columns[c], 2, (int[]){i, j}, entry->name);
}

static void add_matrix(const cli_report *report, cli_entries *entries, int c)
{
    const cli_column *column = &report->columns[c];
    for (int i = 0; i < column->shape[0]; i++)
        for (int j = 0; j < column->shape[0]; j++)
            if (column->layout == LAYOUT_SQUARE || i == j || (column->layout == LAYOUT_SYMMETRIC && i < j))
                add_place(report, entries, c, i, j);
}

static void add_elements(const cli_report *report, cli_entries *entries, int c, int most)
{
    const cli_column *column = &report->columns[c];
    for (int k = 0; k < (int)column_size(column) && k < most; k++) {
        int index[COLUMN_RANK], rest = k;
        for (int d = column->rank - 1; d >= 0; rest /= column->shape[d--]) index[d] = rest % column->shape[d];
        cli_entry *entry = append(entries, c);
        entry->element = k;
        name_entry(column, column->rank, index, entry->name);
    }
}

static stair_status make_room(const cli_report *report, cli_entries *entries)
{
    size_t most = 0;
    for (int c = 0; c < report->count; c++) {
        size_t n = column_size(&report->columns[c]);
        most += report->columns[c].layout == LAYOUT_DIAGONAL ? n * n : n;
    }
    entries->count = 0;
    entries->items = calloc(most + 1, sizeof *entries->items);
    return entries->items ? STAIR_OK : stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
}

stair_status entries_of_csv(const cli_report *report, cli_entries *entries)
{
    STAIR_TRY(make_room(report, entries));
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_CSV)) continue;
        if (column_is_matrix(column))
            add_matrix(report, entries, c);
        else if (column->rank)
            add_elements(report, entries, c, (int)column_size(column));
        else
            add_whole(report, entries, c);
    }
    return STAIR_OK;
}

stair_status entries_of_npz(const cli_report *report, cli_entries *entries)
{
    STAIR_TRY(make_room(report, entries));
    for (int c = 0; c < report->count; c++) {
        if (!(report->columns[c].where & IN_NPZ)) continue;
        if (column_is_matrix(&report->columns[c]))
            add_matrix(report, entries, c);
        else
            add_whole(report, entries, c);
    }
    return STAIR_OK;
}

/* Heading of the entry last added: behind the name for what has entries, else instead of it. */
static void head(const cli_report *report, cli_entries *entries, bool beside)
{
    cli_entry *entry = &entries->items[entries->count - 1];
    const char *heading = report->columns[entry->column].heading;
    size_t used = beside || entry->whole ? 0 : strlen(entry->name);
    snprintf(entry->name + used, ENTRY_NAME - used, "%s", heading);
}

/* A diagonal and what stands beside it; with many indices there is room for the largest error alone. */
static void show_matrix(const cli_report *report, cli_entries *entries, int c)
{
    const cli_column *column = &report->columns[c];
    bool beside = column->with != 1 || column->shape[0] <= MOST_BESIDE;
    int most = column->with > 1 ? MOST_BESIDE : MOST_SHOWN;
    for (int i = 0; i < column->shape[0] && i < most; i++) {
        add_place(report, entries, c, i, i);
        head(report, entries, false);
        for (int k = 1; beside && k <= column->with; k++) {
            add_place(report, entries, c + k, i, i);
            head(report, entries, true);
        }
    }
    if (beside) return;
    add_whole(report, entries, c + 1);
    head(report, entries, true);
}

stair_status entries_of_table(const cli_report *report, cli_entries *entries)
{
    STAIR_TRY(make_room(report, entries));
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_TABLE)) continue;
        if (column_is_matrix(column)) {
            show_matrix(report, entries, c);
            c += column->with;
            continue;
        }
        int before = entries->count;
        if (column->layout == LAYOUT_LINE)
            add_elements(report, entries, c, column->shape[0]);
        else
            add_whole(report, entries, c);
        for (int last = entries->count; before < last; before++) {
            entries->count = before + 1;
            head(report, entries, false);
        }
    }
    return STAIR_OK;
}

void entries_free(cli_entries *entries)
{
    free(entries->items);
    *entries = (cli_entries){0};
}

bool entry_value(const cli_report *report, const cli_entry *entry, const cli_cell *cells, double *value)
{
    const cli_column *column = &report->columns[entry->column];
    const double *array = cells[entry->column].array;
    int p = report->indices ? report->indices : column->shape[0];
    if (!column_is_matrix(column)) {
        *value = array[entry->element];
        return true;
    }
    if (entry->i >= p || entry->j >= p) return false;
    *value = array[column->layout == LAYOUT_DIAGONAL ? entry->i : entry->i * p + entry->j];
    return true;
}
