/* What `stair amp` does with runs, whoever their data come from: rows, the saved posterior, the tally. */
#ifndef STAIR_CLI_AMP_JOB_H
#define STAIR_CLI_AMP_JOB_H

#include "report.h"
#include "io/npz.h"

typedef struct {
    cli_request *request;
    stair_gamp_options how;
    stair_theory_kind theory;
    cli_report *report;
    stair_npz *save; /* posterior of W, or NULL */
    int members[4];  /* weights, cov, seed, model */
    int runs, diverged, unfinished;
} amp_job;

stair_status amp_open_report(amp_job *job);
/* amp_need.c: the table of --dry-run, and its row for options or given data. */
stair_status amp_open_need(amp_job *job);
stair_status amp_write_need(amp_job *job, const stair_gamp_options *how, const stair_gamp_data *data,
                            stair_gamp_need *need);
stair_status amp_write_rows(amp_job *job, const stair_gamp_result *result,
                            const stair_gamp_expectation *theory);
void amp_count_stop(amp_job *job, stair_stop stop);

stair_status amp_open_save(amp_job *job, int dim); /* nothing without --save */
stair_status amp_save_posterior(amp_job *job, const stair_gamp_run *run, int p);

/* amp_fit.c: the user's data, --data, and predictions at new samples. */
stair_status amp_run_data(amp_job *job);
/* The same predictions from what --save kept, --load. */
stair_status amp_run_loaded(amp_job *job);
/* amp_load.c: reads it; its shapes fit the model, and a seed is there unless one was given. */
stair_status amp_load_posterior(cli_request *request, stair_gamp_result **result);

#endif
