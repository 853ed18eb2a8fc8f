/* stair entropy: free entropy at the fixed points, the Bayes-optimal one, and whether learning is hard. */
#include "asymptotics.h"
#include "columns.h"
#include "grid.h"
#include "hard_phases.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>

enum {
    MODEL,
    ALPHA,
    BAYES_Q,
    BAYES_Q_ERROR,
    AMP_Q,
    AMP_Q_ERROR,
    LARGEST,
    LARGEST_ERROR,
    ENTROPY,
    ENTROPY_ERROR,
    HARD,
    INFORMATION,
    ALGORITHM,
    COLUMNS
};

/* A phase as doubles, which a checkpoint keeps: head, then Bayes Q, AMP Q and the errors of both (P, P). */
typedef struct {
    double alpha, hard, best, entropy[STAIR_PHASE_STARTS], error[STAIR_PHASE_STARTS];
} point_head;

typedef struct {
    cli_request *request;
    cli_grid grid;
    stair_phase *phases; /* (rows), their overlaps in the grid */
    size_t rough;        /* phases with errors above the precision */
} entropy_job;

static void fill_columns(int p, bool several, cli_column *c)
{
    c[MODEL] = column_model(several);
    c[ALPHA] = column_given("alpha", "alpha");
    c[BAYES_Q] = column_with(column_decimals(column_symmetric("bayes_Q", "", p), 5), 1);
    c[BAYES_Q_ERROR] = column_symmetric("bayes_Q_error", "error", p);
    c[AMP_Q] = column_with(column_decimals(column_symmetric("amp_Q", "", p), 5), 1);
    c[AMP_Q_ERROR] = column_symmetric("amp_Q_error", "error", p);
    c[LARGEST] = column_real("bayes_entropy", "S - S(0)", 5);
    c[LARGEST_ERROR] = column_real("bayes_entropy_error", "error", 0);
    c[ENTROPY] = column_array("entropy", NULL, STAIR_PHASE_STARTS);
    c[ENTROPY_ERROR] = column_array("entropy_error", NULL, STAIR_PHASE_STARTS);
    c[HARD] = column_bool("hard", "hard");
    c[INFORMATION] = column_array("information_threshold", NULL, 2);
    c[ALGORITHM] = column_array("algorithmic_threshold", NULL, 2);
}

/* Row r: the phase that was kept, or a new one. */
static stair_status one_phase(entropy_job *job, size_t m, size_t r)
{
    cli_request *request = job->request;
    const option_list *alpha = &request->options.alpha;
    stair_asymptotics_options how = request->options.asymptotics;
    point_head *head = (point_head *)grid_row(&job->grid, r);
    stair_phase *phase = &job->phases[r];
    double *q = (double *)(head + 1);
    int cells = job->grid.indices[m] * job->grid.indices[m];
    stair_model *model;
    if (grid_known(&job->grid, r) && !(isfinite(head->alpha) && grid_whole(head->hard, 0, 1) &&
                                       grid_whole(head->best, 0, STAIR_PHASE_STARTS - 1)))
        return grid_damaged(&job->grid);
    *phase = (stair_phase){.alpha = head->alpha,
                           .hard = head->hard != 0,
                           .best = (int)head->best,
                           .bayes_q = q,
                           .amp_q = q + cells,
                           .bayes_q_error = q + 2 * cells,
                           .amp_q_error = q + 3 * cells};
    for (int s = 0; s < STAIR_PHASE_STARTS; s++) {
        phase->entropy[s] = head->entropy[s];
        phase->entropy_error[s] = head->error[s];
    }
    if (grid_known(&job->grid, r)) return STAIR_OK;
    STAIR_TRY(stair_model_create(request->context, job->grid.specs[m], &model));
    stair_status status =
        stair_phase_at(request->context, model, &how, alpha->values[r % alpha->count], phase);
    stair_model_destroy(&model);
    STAIR_TRY(status);
    *head = (point_head){.alpha = phase->alpha, .hard = phase->hard, .best = phase->best};
    for (int s = 0; s < STAIR_PHASE_STARTS; s++) {
        head->entropy[s] = phase->entropy[s];
        head->error[s] = phase->entropy_error[s];
    }
    return grid_keep(&job->grid, r);
}

/* One row by a rank that has taken it. */
static stair_status share_phase(void *user, cli_grid *grid, size_t r)
{
    entropy_job job = *(const entropy_job *)user;
    job.request = grid->request;
    job.grid = *grid;
    return one_phase(&job, r / grid->request->options.alpha.count, r);
}

/* The rows of model m, once they are all there. */
static stair_status write_model(const entropy_job *job, size_t m, cli_report *report)
{
    static const char *const what[] = {"information-theoretic", "algorithmic"};
    size_t count = job->request->options.alpha.count;
    const stair_phase *phases = job->phases + m * count;
    double range[2][2];
    stair_phase_thresholds(job->grid.indices[m], count, phases, range[0], range[1]);
    report_indices(report, job->grid.indices[m]);
    for (const stair_phase *at = phases; at < phases + count; at++)
        STAIR_TRY(report_row(report, (cli_cell[]){[MODEL] = {.text = job->grid.specs[m]},
                                                  [ALPHA] = {.real = at->alpha},
                                                  [BAYES_Q] = {.array = at->bayes_q},
                                                  [BAYES_Q_ERROR] = {.array = at->bayes_q_error},
                                                  [AMP_Q] = {.array = at->amp_q},
                                                  [AMP_Q_ERROR] = {.array = at->amp_q_error},
                                                  [LARGEST] = {.real = at->entropy[at->best]},
                                                  [LARGEST_ERROR] = {.real = at->entropy_error[at->best]},
                                                  [ENTROPY] = {.array = at->entropy},
                                                  [ENTROPY_ERROR] = {.array = at->entropy_error},
                                                  [HARD] = {.truth = at->hard},
                                                  [INFORMATION] = {.array = range[0]},
                                                  [ALGORITHM] = {.array = range[1]}}));
    for (int k = 0; k < 2; k++)
        if (isfinite(range[k][0]))
            report_note(report, "The %s threshold lies between alpha = %g and %g.\n", what[k], range[k][0],
                        range[k][1]);
    return STAIR_OK;
}

static stair_status all(entropy_job *job, cli_report *report)
{
    const cli_options *o = &job->request->options;
    cli_progress progress;
    stair_status status = STAIR_OK;
    progress_start(&progress, job->request->context, o->quiet);
    status = grid_share(&job->grid, share_phase, job);
    for (size_t r = 0; r < job->grid.rows && status == STAIR_OK; r++) {
        size_t m = r / o->alpha.count;
        progress_stage(&progress, (double)r, 0, (double)job->grid.rows);
        status = one_phase(job, m, r);
        if (status != STAIR_OK) break;
        job->rough += stair_phase_worst(job->grid.indices[m], &job->phases[r]) > o->asymptotics.precision;
        if ((r + 1) % o->alpha.count == 0) status = write_model(job, m, report);
    }
    progress_finish(&progress);
    return status;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    stair_asymptotics_options how = o->asymptotics;
    entropy_job job = {.request = request};
    cli_column columns[COLUMNS];
    cli_report *report;
    if (o->phases) return hard_phases_run(request);
    STAIR_TRY(stair_asymptotics_check(request->context, &how));
    if (!o->alpha.count)
        return stair_fail(request->context, STAIR_BAD_INPUT, "entropy needs --alpha LIST, or --phases");
    STAIR_TRY(grid_open(request, o->alpha.count, 1, sizeof(point_head), 4, &job.grid));
    fill_columns(job.grid.most_indices, job.grid.models > 1, columns);
    job.phases = calloc(job.grid.rows, sizeof *job.phases);
    stair_status status = job.phases ? grid_report(&job.grid, columns, COLUMNS, &report)
                                     : stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) status = report_close(&report, all(&job, report));
    free(job.phases);
    grid_close(&job.grid, status == STAIR_OK);
    if (status == STAIR_OK && job.rough)
        return stair_fail(
            request->context, STAIR_NOT_CONVERGED, "%zu points have errors above --precision %g; %s",
            job.rough, o->asymptotics.precision,
            o->asymptotics.points ? "raise --samples" : "set --samples, or a larger --precision");
    return status;
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {"alpha", "phases", "side", ASYMPTOTICS_OPTIONS, NULL};

const cli_command command_entropy = {
    .name = "entropy",
    .words = "MODEL",
    .summary = "Free entropy at its extrema, the Bayes-optimal overlap, and hard phases",
    .details =
        "`entropy` is S - S(0) at the fixed points from no knowledge, from full knowledge and from overlaps\n"
        "0.3 and 0.7; the Bayes-optimal overlap bayes_Q is where S is largest (by more than three errors),\n"
        "and learning is hard where message passing stays at another, amp_Q.  The table has S at bayes_Q.\n"
        "S of perfect recovery without noise is infinite, null in JSON.\n"
        "information_threshold and algorithmic_threshold (below the table, and in the data): the two\n"
        "values of the list between which something can first be known, and first be found by message\n"
        "passing.\n"
        "--phases needs no list: one row for each hard phase, from the information-theoretic threshold to\n"
        "the step (kind as in stair threshold) where message passing jumps; never where it does not.\n",
    .examples = "stair entropy attention:layers=2,skip=1 --alpha 0.3,0.6,0.9\n"
                "stair entropy attention:layers=2 --alpha 0.1:0.3:0.05\n"
                "stair entropy square --phases\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .run = run,
};
