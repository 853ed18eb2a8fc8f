/* Columns that many reports have, and the ones that are made alike.
 *
 * A column with a heading stands in every format, one without only in the data. */
#ifndef STAIR_CLI_COLUMNS_H
#define STAIR_CLI_COLUMNS_H

#include "report.h"

cli_column column_real(const char *name, const char *heading, int decimals); /* 0: as few as it needs */
cli_column column_int(const char *name, const char *heading);
cli_column column_natural(const char *name, const char *heading); /* up to 2^64: seeds */
cli_column column_text(const char *name, const char *heading, int width);
cli_column column_ints(const char *name, const char *heading, int width); /* a text of them */
cli_column column_bool(const char *name, const char *heading);
cli_column column_given(const char *name, const char *heading);        /* a real that the user chose */
cli_column column_array(const char *name, const char *heading, int n); /* (n) */
cli_column column_line(const char *name, const char *heading, int n);  /* (n), which a table lists */
/* Over the indices of a model; a table has the diagonal, each entry beside those of `with` more columns. */
cli_column column_square(const char *name, const char *heading, int p);
cli_column column_symmetric(const char *name, const char *heading, int p);
/* (p): the diagonal of a matrix that goes by the name `flat` where entries have names. */
cli_column column_diagonal(const char *name, const char *flat, const char *heading, int p);
cli_column column_with(cli_column column, int with);
cli_column column_decimals(cli_column column, int decimals);

/* MODEL string, first in every report of a grid; shown where there are several. */
cli_column column_model(bool several);

/* errors.bayes, errors.plugin, and the errors of both: four columns. */
enum { ERRORS_BAYES, ERRORS_PLUGIN, ERRORS_BAYES_ERROR, ERRORS_PLUGIN_ERROR, ERRORS_COLUMNS };
void columns_errors(cli_column *columns);
void cells_errors(double bayes, double plugin, double bayes_error, double plugin_error, cli_cell *cells);

#endif
