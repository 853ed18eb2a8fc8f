/* stair threshold: the staircase of a model, or of a grid of models. */
#include "asymptotics.h"
#include "columns.h"
#include "grid.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 32 /* of one staircase: more than indices there are */
enum {
    MODEL,
    KIND,
    ALPHA,
    ERROR,
    LEARNS,
    JUMP,
    EIGENVALUE,
    EIGENVALUE_ERROR,
    OVERLAP,
    OVERLAP_ERROR,
    DIRECTION,
    COLUMNS
};

typedef struct {
    double count, missed;
    char reason[400]; /* of a staircase that was missed */
    stair_step steps[MOST_STEPS];
} staircase_row;

static void fill_columns(const cli_grid *grid, cli_column *columns)
{
    int p = grid->most_indices;
    columns[MODEL] = column_model(grid->models > 1);
    columns[KIND] = column_text("kind", "step", 8);
    columns[ALPHA] = column_real("alpha", "alpha", 8);
    columns[ALPHA].never = true;
    columns[ERROR] = column_real("error", "error", 0);
    columns[LEARNS] = column_ints("learns", grid->most_layers > 1 ? "learns layer" : "learns index", 64);
    columns[JUMP] = column_bool("jump", NULL);
    columns[EIGENVALUE] = column_real("eigenvalue", "eigenvalue", 0);
    columns[EIGENVALUE].digits = 6; /* significant */
    columns[EIGENVALUE_ERROR] = column_real("eigenvalue_error", NULL, 0);
    columns[OVERLAP] = column_with(column_diagonal("overlap", "Q", " before", p), 1);
    columns[OVERLAP] = column_decimals(columns[OVERLAP], 4);
    columns[OVERLAP_ERROR] = column_diagonal("overlap_error", "Q_error", "error", p);
    columns[DIRECTION] = column_diagonal("direction", NULL, NULL, p);
}

static stair_status write_step(cli_report *report, const char *model, const stair_step *step)
{
    char learns[128] = "";
    size_t used = 0;
    bool weak = step->kind == STAIR_STEP_WEAK;
    for (int k = 0; k < step->learn_count; k++)
        if (used < sizeof learns)
            used +=
                (size_t)snprintf(learns + used, sizeof learns - used, "%s%d", k ? " " : "", step->learns[k]);
    cli_cell cells[COLUMNS] = {
        [MODEL] = {.text = model},
        [KIND] = {.text = stair_step_kind_name(step->kind)},
        [ALPHA] = {.real = step->alpha},
        [ERROR] = {.real = step->error},
        [LEARNS] = {.text = learns},
        [JUMP] = {.truth = step->jump},
        [EIGENVALUE] = {.real = weak ? step->eigenvalue : NAN},
        [EIGENVALUE_ERROR] = {.real = weak ? step->eigenvalue_error : NAN},
        [OVERLAP] = {.array = step->overlap},
        [OVERLAP_ERROR] = {.array = step->overlap_error},
        [DIRECTION] = {.array = step->direction},
    };
    return report_row(report, cells);
}

/* The staircase of model m, kept. */
static stair_status compute(void *user, cli_grid *grid, size_t m)
{
    cli_request *request = grid->request;
    (void)user;
    staircase_row *row = (staircase_row *)grid_row(grid, m);
    stair_model *model;
    int count = 0;
    STAIR_TRY(stair_model_create(request->context, grid->specs[m], &model));
    stair_status status = stair_threshold(request->context, model, &request->options.asymptotics,
                                          request->options.steps, MOST_STEPS, row->steps, &count);
    stair_model_destroy(&model);
    row->count = count;
    row->missed = status == STAIR_NOT_CONVERGED;
    if (row->missed)
        snprintf(row->reason, sizeof row->reason, "%.390s", stair_context_message(request->context));
    return status == STAIR_OK || row->missed ? grid_keep(grid, m) : status;
}

/* A row of a checkpoint: counts that fit their arrays, flags that are flags. */
static bool sound(const staircase_row *row)
{
    if (!grid_whole(row->count, 0, MOST_STEPS) || !grid_whole(row->missed, 0, 1) ||
        !memchr(row->reason, 0, sizeof row->reason))
        return false;
    for (int k = 0; k < (int)row->count; k++) {
        const stair_step *step = &row->steps[k];
        unsigned char jump;
        int kind;
        memcpy(&jump, &step->jump, 1);
        memcpy(&kind, &step->kind, sizeof kind);
        if (jump > 1 || kind < STAIR_STEP_WEAK || kind > STAIR_STEP_SPINODAL || step->learn_count < 0 ||
            step->learn_count > STAIR_MOST_LEARNS)
            return false;
    }
    return true;
}

static stair_status all(cli_grid *grid, cli_report *report, cli_progress *progress)
{
    STAIR_TRY(grid_share(grid, compute, NULL));
    for (size_t m = 0; m < grid->models; m++) {
        staircase_row *row = (staircase_row *)grid_row(grid, m);
        progress_stage(progress, (double)m, 0, grid->models > 1 ? (double)grid->models : 0);
        if (!grid_known(grid, m))
            STAIR_TRY(compute(NULL, grid, m));
        else if (!sound(row))
            return grid_damaged(grid);
        report_indices(report, grid->indices[m]);
        for (int k = 0; k < (int)row->count; k++) {
            const stair_step *step = &row->steps[k];
            STAIR_TRY(write_step(report, grid->specs[m], step));
            if (step->jump) report_note(report, "the overlap jumps at alpha = %.6g\n", step->alpha);
        }
    }
    return STAIR_OK;
}

/* Exit 3 where a staircase ends too early or a step is not known as well as was asked for. */
static stair_status judge(const cli_request *request, const cli_grid *grid)
{
    const stair_asymptotics_options *how = &request->options.asymptotics;
    double worst = 0;
    int rough = 0, cut = 0;
    const char *reason = "";
    for (size_t m = 0; m < grid->models; m++) {
        const staircase_row *row = (const staircase_row *)grid_row(grid, m);
        bool short_of = false;
        for (int k = 0; k < (int)row->count; k++) {
            double relative = isfinite(row->steps[k].alpha) ? row->steps[k].error / row->steps[k].alpha : 0;
            short_of |= relative > how->precision;
            worst = fmax(worst, relative);
        }
        rough += short_of;
        if (row->missed && !short_of && !cut++) reason = row->reason;
    }
    const staircase_row *only = (const staircase_row *)grid_row(grid, 0);
    if (grid->models == 1 && only->missed)
        return stair_fail(request->context, STAIR_NOT_CONVERGED, "%s", only->reason);
    if (cut)
        return stair_fail(request->context, STAIR_NOT_CONVERGED,
                          "%d of %zu staircases could not be followed to the end: %s", cut, grid->models,
                          reason);
    if (rough)
        return stair_fail(
            request->context, STAIR_NOT_CONVERGED,
            "%d of %zu staircases have steps with relative errors above --precision %g, the worst %.2g; %s",
            rough, grid->models, how->precision, worst,
            how->points ? "raise --samples" : "set --samples, or a larger --precision");
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    cli_column columns[COLUMNS];
    cli_report *report;
    cli_progress progress;
    cli_grid grid;
    STAIR_TRY(stair_asymptotics_check(request->context, &request->options.asymptotics));
    STAIR_TRY(grid_open(request, 1, 1, sizeof(staircase_row), 0, &grid));
    fill_columns(&grid, columns);
    stair_status status = grid_report(&grid, columns, COLUMNS, &report);
    if (status == STAIR_OK) {
        progress_start(&progress, request->context, request->options.quiet);
        status = all(&grid, report, &progress);
        progress_finish(&progress);
        status = report_close(&report, status);
    }
    bool done = status == STAIR_OK;
    if (done) status = judge(request, &grid);
    grid_close(&grid, done);
    return status;
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {"steps", ASYMPTOTICS_OPTIONS, NULL};

const cli_command command_threshold = {
    .name = "threshold",
    .words = "MODEL",
    .summary = "The whole staircase: every weak-recovery step, what it learns, perfect recovery",
    .details =
        "alpha is samples per dimension, each with its error.  A weak step is where alpha times the\n"
        "leading eigenvalue of the weak-recovery operator passes 1 on the branch already learned;\n"
        "`direction` is the diagonal of its eigenvector, `overlap` that of Q where the step begins.\n"
        "A spinodal is where the overlap jumps though nothing loses its stability.\n"
        "Exit 3 where a step has a larger relative error than --precision; it is printed all the same.\n"
        "--set skip=0.5,1,2 makes a grid; with --out finished points are kept in FILE.state and --resume\n"
        "goes on from there.\n",
    .examples = "stair threshold attention:layers=2,skip=1\n"
                "stair threshold attention:layers=2 --set skip=0.5,1,2 --steps 1 --json\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .run = run,
};
