/* Entries of arrays, where a format has numbers only: their names, and their values in a row.
 *
 * The one rule of names.  An entry is the name of its array with indices from 1, before an ending _error or
 * _spread: Q11, Q12_error, cosine2.  Where an index can be above 9 they are separated: Q1_10.  A symmetric
 * matrix has its entries i <= j.  What JSON nests has an underscore for the dot, theory_Q11, and errors of
 * prediction go by their own names: bayes, bayes_error. */
#ifndef STAIR_CLI_ENTRIES_H
#define STAIR_CLI_ENTRIES_H

#include "report.h"

/* CSV takes numbers alone; NPZ takes arrays, but matrices over indices are written out as in CSV; a table
 * shows diagonals, with what stands beside them (`with`). */
stair_status entries_of_csv(const cli_report *report, cli_entries *entries);
stair_status entries_of_npz(const cli_report *report, cli_entries *entries);
stair_status entries_of_table(const cli_report *report, cli_entries *entries);
void entries_free(cli_entries *entries);

/* The number at an entry of an array; false where the model of this row has fewer indices. */
bool entry_value(const cli_report *report, const cli_entry *entry, const cli_cell *cells, double *value);

#endif
