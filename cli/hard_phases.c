/* stair entropy --phases: the hard phases of a model, or of a grid of models, found without a list of alphas.
 */
#include "hard_phases.h"
#include "columns.h"
#include "grid.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>

#define MOST 16 /* hard phases of one model: each ends with a step of its staircase */
enum { MODEL, INFORMATION, INFORMATION_ERROR, ALGORITHM, ALGORITHM_ERROR, KIND, COLUMNS };

typedef struct {
    double count, missed;
    char reason[400]; /* of a staircase that was missed */
    stair_hard_phase phase[MOST];
} phases_row;

static void fill_columns(bool several, cli_column *c)
{
    c[MODEL] = column_model(several);
    c[INFORMATION] = column_real("information", "information", 6);
    c[INFORMATION_ERROR] = column_real("information_error", "error", 0);
    c[ALGORITHM] = column_real("algorithmic", "message passing", 6);
    c[ALGORITHM].never = true;
    c[ALGORITHM_ERROR] = column_real("algorithmic_error", "error", 0);
    c[KIND] = column_text("kind", "step", 8);
}

/* The hard phases of model m, kept. */
static stair_status compute(void *user, cli_grid *grid, size_t m)
{
    cli_request *request = grid->request;
    (void)user;
    phases_row *row = (phases_row *)grid_row(grid, m);
    stair_model *model;
    int count = 0;
    STAIR_TRY(stair_model_create(request->context, grid->specs[m], &model));
    stair_status status =
        stair_hard_phases(request->context, model, &request->options.asymptotics, MOST, row->phase, &count);
    stair_model_destroy(&model);
    row->count = count;
    row->missed = status == STAIR_NOT_CONVERGED;
    if (row->missed)
        snprintf(row->reason, sizeof row->reason, "%.390s", stair_context_message(request->context));
    return status == STAIR_OK || row->missed ? grid_keep(grid, m) : status;
}

/* A row of a checkpoint: counts that fit, kinds that are some. */
static bool sound(const phases_row *row)
{
    if (!grid_whole(row->count, 0, MOST) || !grid_whole(row->missed, 0, 1)) return false;
    if (!memchr(row->reason, 0, sizeof row->reason)) return false;
    for (int k = 0; k < (int)row->count; k++)
        if (!stair_step_kind_name(row->phase[k].kind)) return false;
    return true;
}

static stair_status write_model(const cli_grid *grid, size_t m, cli_report *report)
{
    const phases_row *row = (const phases_row *)grid_row(grid, m);
    report_indices(report, grid->indices[m]);
    for (int k = 0; k < (int)row->count; k++) {
        const stair_hard_phase *p = &row->phase[k];
        STAIR_TRY(report_row(report, (cli_cell[]){[MODEL] = {.text = grid->specs[m]},
                                                  [INFORMATION] = {.real = p->information},
                                                  [INFORMATION_ERROR] = {.real = p->information_error},
                                                  [ALGORITHM] = {.real = p->algorithmic},
                                                  [ALGORITHM_ERROR] = {.real = p->algorithmic_error},
                                                  [KIND] = {.text = stair_step_kind_name(p->kind)}}));
    }
    if (row->count == 0)
        report_note(report,
                    row->missed ? "%s: no hard phase among the steps that were found\n"
                                : "%s: no hard phase\n",
                    grid->specs[m]);
    return STAIR_OK;
}

static stair_status all(cli_request *request, cli_grid *grid, cli_report *report)
{
    cli_progress progress;
    progress_start(&progress, request->context, request->options.quiet);
    stair_status status = grid_share(grid, compute, NULL);
    for (size_t m = 0; m < grid->models && status == STAIR_OK; m++) {
        progress_stage(&progress, (double)m, 0, grid->models > 1 ? (double)grid->models : 0);
        if (grid_known(grid, m))
            status = sound((phases_row *)grid_row(grid, m)) ? STAIR_OK : grid_damaged(grid);
        else
            status = compute(NULL, grid, m);
        if (status == STAIR_OK) status = write_model(grid, m, report);
    }
    progress_finish(&progress);
    return status;
}

stair_status hard_phases_run(cli_request *request)
{
    cli_column columns[COLUMNS];
    cli_report *report;
    cli_grid grid;
    STAIR_TRY(stair_asymptotics_check(request->context, &request->options.asymptotics));
    if (request->options.alpha.count)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "--phases finds its own alphas; leave --alpha out");
    STAIR_TRY(grid_open(request, 1, 1, sizeof(phases_row), 0, &grid));
    fill_columns(grid.models > 1, columns);
    stair_status status = grid_report(&grid, columns, COLUMNS, &report);
    if (status == STAIR_OK) status = report_close(&report, all(request, &grid, report));
    for (size_t m = 0; m < grid.models && status == STAIR_OK; m++) {
        const phases_row *row = (const phases_row *)grid_row(&grid, m);
        if (row->missed) status = stair_fail(request->context, STAIR_NOT_CONVERGED, "%s", row->reason);
    }
    grid_close(&grid, status == STAIR_OK || status == STAIR_NOT_CONVERGED);
    return status;
}
