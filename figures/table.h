/* The numbers of a figure: rows of columns by name, each row part of a series, and marks such as steps.
 *
 * Its file is CSV.  Lines that start with # come first: the version, the command that makes the figure, and
 * the marks; then the names of the columns, then the rows.  Drawing reads a table and nothing else, so that a
 * file that was kept can be drawn again. */
#ifndef STAIR_FIGURES_TABLE_H
#define STAIR_FIGURES_TABLE_H

#include "core/context.h"

#include <stdio.h>

#define FIGURE_NAME  40 /* bytes of the name of a column or a series */
#define FIGURE_TEXT  96 /* bytes of a label or of what a mark says */
#define FIGURE_MARKS 64 /* of one figure */

/* One number that a figure shows by itself: a threshold, a fixed point. */
typedef struct {
    char name[FIGURE_NAME]; /* "weak", "perfect", ... */
    double value, error;
    char text[FIGURE_TEXT]; /* "2": the layers learned there */
} figure_mark;

typedef struct {
    int columns, rows, room;
    char (*column)[FIGURE_NAME]; /* (columns) */
    char (*series)[FIGURE_NAME]; /* (rows) */
    double *cell;                /* (rows, columns), row by row */
    int marks;
    figure_mark mark[FIGURE_MARKS];
    bool one_series; /* the file has no column `series` */
    int parts;       /* of the computation that are in it */
} figure_table;

/* names: columns with blanks between.  An empty table. */
stair_status figure_table_create(stair_context *context, const char *names, figure_table **table);
void figure_table_destroy(figure_table **table);

/* values (columns) */
stair_status figure_table_add(stair_context *context, figure_table *table, const char *series,
                              const double *values);
stair_status figure_table_mark(stair_context *context, figure_table *table, const char *name, double value,
                               double error, const char *text);
int figure_table_column(const figure_table *table, const char *name); /* or -1 */
double figure_table_at(const figure_table *table, int row, const char *name);

/* `head`: lines without the leading "# ", a line end after each.  A file that is there is replaced only where
 * `overwrite` says so. */
stair_status figure_table_write(stair_context *context, const figure_table *table, const char *head,
                                const char *path, bool overwrite);

/* *table stays NULL where there is no such file, or one of another request or version (its head differs).
 * Damaged: STAIR_BAD_INPUT. */
stair_status figure_table_read(stair_context *context, const char *head, const char *path,
                               figure_table **table);

/* Any CSV with a line of names, such as the published tables: no series, marks or head. */
stair_status figure_table_import(stair_context *context, const char *path, figure_table **table);

#endif
