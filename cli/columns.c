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

cli_column column_line(const char *name, const char *heading, int n)
{
    cli_column column = named(name, heading, CELL_REAL);
    column.rank = 1;
    column.shape[0] = n;
    return column;
}

cli_column column_square(const char *name, const char *heading, int p)
{
    cli_column column = named(name, heading, CELL_REAL);
    column.rank = 2;
    column.shape[0] = column.shape[1] = p;
    return column;
}

cli_column column_in_table(cli_column column)
{
    column.where = IN_TABLE;
    return column;
}

cli_column column_model(bool several)
{
    cli_column column = column_text("model", "model", 120);
    column.where = several ? IN_ALL : 0;
    return column;
}

cli_column column_overlap(int i)
{
    static const char *const names[COLUMN_MOST_SHOWN] = {"Q11", "Q22", "Q33", "Q44",
                                                         "Q55", "Q66", "Q77", "Q88"};
    return column_in_table(column_real(names[i], names[i], 5));
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
