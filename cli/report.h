/* Results as rows of typed columns, written to a table, CSV, JSON or NPZ: whichever was asked for.
 *
 * Rows stream: no format keeps them all.  Standard output and the --out file get everything when
 * the report closes well, and nothing otherwise. */
#ifndef STAIR_CLI_REPORT_H
#define STAIR_CLI_REPORT_H

#include "command.h"
#include "spec.h"

#include <stdio.h>

/* CELL_INTS: integers in a text, blanks between; an array in JSON.  CELL_JSON: a JSON text, for JSON only. */
typedef enum { CELL_REAL, CELL_INT, CELL_TEXT, CELL_BOOL, CELL_INTS, CELL_JSON } cell_kind;

/* Where a column appears; arrays appear in a table as their Frobenius norm. */
enum { IN_TABLE = 1, IN_CSV = 2, IN_JSON = 4, IN_NPZ = 8, IN_DATA = IN_CSV | IN_JSON | IN_NPZ, IN_ALL = 15 };

#define COLUMN_RANK 3
typedef struct {
    const char *name;    /* JSON key ("a.b" nests), CSV column, NPZ array */
    const char *heading; /* in a table */
    cell_kind kind;
    unsigned where;
    int digits; /* significant, in a table; 0: as few as the number needs */
    bool fixed; /* digits count decimals instead: the error is absolute */
    int rank;   /* of one row's value: 0 is a scalar, else an array of reals */
    int shape[COLUMN_RANK];
    int width;       /* CELL_TEXT: most characters in NPZ */
    const char *key; /* not NULL: value of this key of the MODEL string in the first column, filled in by
                        report_row */
} cli_column;

typedef union {
    double real;
    int64_t integer;
    const char *text;
    bool truth;
    const double *array;
} cli_cell;

typedef struct cli_report cli_report;

/* Refuses what cannot be written before anything is computed. */
stair_status report_open(cli_request *request, const cli_column *columns, int count, cli_report **out);
/* cells: one for each column that is not filled in by itself */
stair_status report_row(cli_report *report, const cli_cell *cells);
/* A line under the table; other formats do not show it. */
void report_note(cli_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Publishes when `status` is fine or a result that missed its target; always frees. */
stair_status report_close(cli_report **report, stair_status status);

/* ---- for the formats ------------------------------------------------------------------------ */

typedef struct cli_sink cli_sink;
typedef struct {
    const char *extension;
    unsigned where;
    stair_status (*begin)(cli_report *report, cli_sink *sink);
    stair_status (*row)(cli_report *report, cli_sink *sink, const cli_cell *cells);
    stair_status (*end)(cli_report *report, cli_sink *sink);
    void (*discard)(cli_sink *sink); /* frees `state` */
} cli_format;

struct cli_sink {
    const cli_format *format;
    FILE *file;       /* text formats write here */
    const char *path; /* NULL: standard output */
    void *state;
};

struct cli_report {
    cli_request *request;
    const cli_column *columns;
    int count;
    cli_cell *cells;           /* (count): of one row, when some are filled in here */
    char (*values)[SPEC_MOST]; /* (count): texts of these */
    uint64_t rows;
    cli_sink sinks[2];
    int sink_count;
    char notes[1024];
};

extern const cli_format table_format, csv_format, json_format, npz_format;

size_t column_size(const cli_column *column); /* numbers in one row's value */

#endif
