/* Constructors of columns. */
#include "columns.h"

static cli_column named(const char *name, const char *heading, cell_kind kind)
{
    return (cli_column){.name = name, .heading = heading, .kind = kind, .where = heading ? IN_ALL : IN_DATA};
}

cli_column column_decimals(cli_column column, int decimals)
{
    column.digits = decimals;
    column.fixed = decimals > 0;
    return column;
}

cli_column column_real(const char *name, const char *heading, int decimals)
{
    return column_decimals(named(name, heading, CELL_REAL), decimals);
}

cli_column column_int(const char *name, const char *heading)
{
    return named(name, heading, CELL_INT);
}

cli_column column_natural(const char *name, const char *heading)
{
    return named(name, heading, CELL_NATURAL);
}

cli_column column_text(const char *name, const char *heading, int width)
{
    cli_column column = named(name, heading, CELL_TEXT);
    column.width = width;
    return column;
}

cli_column column_ints(const char *name, const char *heading, int width)
{
    cli_column column = column_text(name, heading, width);
    column.kind = CELL_INTS;
    return column;
}

cli_column column_bool(const char *name, const char *heading)
{
    return named(name, heading, CELL_BOOL);
}

cli_column column_given(const char *name, const char *heading)
{
    cli_column column = named(name, heading, CELL_REAL);
    column.given = true;
    return column;
}

static cli_column laid_out(const char *name, const char *heading, column_layout layout, int rank, int n)
{
    cli_column column = named(name, heading, CELL_REAL);
    column.layout = layout;
    column.rank = rank;
    for (int i = 0; i < rank; i++) column.shape[i] = n;
    return column;
}

cli_column column_array(const char *name, const char *heading, int n)
{
    return laid_out(name, heading, LAYOUT_ARRAY, 1, n);
}

cli_column column_line(const char *name, const char *heading, int n)
{
    return laid_out(name, heading, LAYOUT_LINE, 1, n);
}

cli_column column_square(const char *name, const char *heading, int p)
{
    return laid_out(name, heading, LAYOUT_SQUARE, 2, p);
}

cli_column column_symmetric(const char *name, const char *heading, int p)
{
    return laid_out(name, heading, LAYOUT_SYMMETRIC, 2, p);
}

cli_column column_diagonal(const char *name, const char *flat, const char *heading, int p)
{
    cli_column column = laid_out(name, heading, LAYOUT_DIAGONAL, 1, p);
    column.flat = flat;
    return column;
}

cli_column column_with(cli_column column, int with)
{
    column.with = with;
    return column;
}

cli_column column_model(bool several)
{
    cli_column column = column_text("model", "model", 120);
    column.where = several ? IN_ALL : 0;
    return column;
}

void columns_errors(cli_column *columns)
{
    columns[ERRORS_BAYES] = column_real("errors.bayes", "Bayes", 5);
    columns[ERRORS_PLUGIN] = column_real("errors.plugin", "plug-in", 5);
    columns[ERRORS_BAYES_ERROR] = column_real("errors.bayes_error", NULL, 0);
    columns[ERRORS_PLUGIN_ERROR] = column_real("errors.plugin_error", NULL, 0);
}

void cells_errors(double bayes, double plugin, double bayes_error, double plugin_error, cli_cell *cells)
{
    cells[ERRORS_BAYES].real = bayes;
    cells[ERRORS_PLUGIN].real = plugin;
    cells[ERRORS_BAYES_ERROR].real = bayes_error;
    cells[ERRORS_PLUGIN_ERROR].real = plugin_error;
}
