/* Rows of `stair amp`: runs, their iterations, or means over seeds. */
#ifndef STAIR_CLI_AMP_ROWS_H
#define STAIR_CLI_AMP_ROWS_H

#include "report.h"

/* What state evolution says at one alpha.  count 0: nothing; 1: the fixed point; more: iteration by
 * iteration. */
typedef struct {
    int count;
    double *q, *q_error; /* (count, P, P) */
    double *memory;      /* behind both */
    stair_errors errors; /* at the last; NaN where unknown */
} amp_theory;

stair_status amp_open_runs(cli_request *request, cli_report **report);
stair_status amp_write_runs(cli_report *report, const stair_gamp_result *result, const amp_theory *theory);
/* Below the table: the mean over runs beside state evolution. */
stair_status amp_note_runs(cli_report *report, const stair_gamp_result *result, const amp_theory *theory);

stair_status amp_open_history(cli_request *request, cli_report **report);
stair_status amp_write_history(cli_report *report, const stair_gamp_result *result, const amp_theory *theory);

stair_status amp_open_summary(cli_request *request, cli_report **report);
stair_status amp_write_summary(cli_report *report, const stair_gamp_result *result, const amp_theory *theory);

#endif
