/* Rows of `stair amp`: runs, their iterations, or means over seeds. */
#ifndef STAIR_CLI_AMP_ROWS_H
#define STAIR_CLI_AMP_ROWS_H

#include "report.h"

stair_status amp_open_runs(cli_request *request, cli_report **report);
stair_status amp_write_runs(cli_report *report, const stair_gamp_result *result,
                            const stair_gamp_expectation *theory);
/* Below the table: the mean over runs beside state evolution. */
stair_status amp_note_runs(cli_report *report, const stair_gamp_result *result,
                           const stair_gamp_expectation *theory);

/* All iterations of a run as JSON; NULL without memory, else to be freed. */
char *amp_history_text(const stair_gamp_run *run, int p);

stair_status amp_open_history(cli_request *request, cli_report **report);
stair_status amp_write_history(cli_report *report, const stair_gamp_result *result,
                               const stair_gamp_expectation *theory);

stair_status amp_open_summary(cli_request *request, cli_report **report);
stair_status amp_write_summary(cli_report *report, const stair_gamp_result *result,
                               const stair_gamp_expectation *theory);

#endif
