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
typedef enum { CELL_REAL, CELL_INT, CELL_NATURAL, CELL_TEXT, CELL_BOOL, CELL_INTS, CELL_JSON } cell_kind;

/* Where a column appears. */
enum { IN_TABLE = 1, IN_CSV = 2, IN_JSON = 4, IN_NPZ = 8, IN_DATA = IN_CSV | IN_JSON | IN_NPZ, IN_ALL = 15 };

/* Arrays are arrays in JSON; elsewhere entries.h says what their entries are called.  In a table an array is
 * its Frobenius norm, a line its entries, a matrix its diagonal.  Matrices are over the indices of a model,
 * of which one row can have fewer than another (report_indices). */
typedef enum {
    LAYOUT_ARRAY,
    LAYOUT_LINE,
    LAYOUT_SQUARE,    /* (P, P) */
    LAYOUT_SYMMETRIC, /* (P, P), its entries i <= j */
    LAYOUT_DIAGONAL   /* (P): of a matrix */
} column_layout;

#define COLUMN_RANK 3 /* axes of an array in one cell */
typedef struct {
    const char *name;    /* JSON key ("a.b" nests), CSV column, NPZ array */
    const char *flat;    /* of which entries have their names, where that is not `name` */
    const char *heading; /* in a table; of lines and matrices what follows the name of an entry */
    cell_kind kind;
    unsigned where;
    int digits; /* significant, in a table; 0: three at most */
    bool fixed; /* digits count decimals instead: the error is absolute */
    bool never; /* of an infinite number the table says never; JSON has null as always */
    bool given; /* no more digits than the number has, as a user gave it */
    int rank;   /* of one row's value: 0 is a scalar, else an array of reals */
    column_layout layout;
    int with; /* how many columns that follow stand beside each entry of a diagonal, in a table */
    int shape[COLUMN_RANK];
    int width;       /* CELL_TEXT: most characters in NPZ */
    const char *key; /* not NULL: value of this key of the MODEL string in the first column, filled in by
                        report_row */
} cli_column;

typedef union {
    double real;
    int64_t integer;
    uint64_t natural; /* a seed */
    const char *text;
    bool truth;
    const double *array;
} cli_cell;

typedef struct cli_report cli_report;

/* Refuses what cannot be written before anything is computed. */
stair_status report_open(cli_request *request, const cli_column *columns, int count, cli_report **out);
/* Indices of the models of the rows to come, where they are not those of the columns. */
void report_indices(cli_report *report, int indices);
/* cells: one for each column that is not filled in by itself */
stair_status report_row(cli_report *report, const cli_cell *cells);
/* A line under the table; other formats do not show it. */
void report_note(cli_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Publishes when `status` is fine or a result that missed its target; always frees. */
stair_status report_close(cli_report **report, stair_status status);

/* ---- for the formats ------------------------------------------------------------------------ */

#define ENTRY_NAME 80 /* bytes of the name of one entry of an array */
/* A place in a format that has numbers only (entries.h). */
typedef struct {
    int column;
    bool whole;  /* all of a cell: a scalar, or an array where the format takes arrays */
    int i, j;    /* of a matrix, from 0 */
    int element; /* of any other array */
    char name[ENTRY_NAME];
} cli_entry;

typedef struct {
    cli_entry *items;
    int count;
} cli_entries;

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
    cli_entries entries;
    void *state;
};

struct cli_report {
    cli_request *request;
    const cli_column *columns;
    int count;
    cli_cell *cells;           /* (count): of one row, when some are filled in here */
    char (*values)[SPEC_MOST]; /* (count): texts of these */
    uint64_t rows;
    int indices; /* of the present row's model; 0: as many as the columns have */
    cli_sink sinks[2];
    int sink_count;
    char notes[1024];
};

extern const cli_format table_format, csv_format, json_format, npz_format;

size_t column_size(const cli_column *column);    /* numbers in one row's value */
bool column_is_matrix(const cli_column *column); /* over indices */

#endif
