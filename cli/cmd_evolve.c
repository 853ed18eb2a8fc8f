/* stair evolve: fixed points of state evolution over alpha, from either start. */
#include "asymptotics.h"
#include "columns.h"
#include "grid.h"
#include "progress.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    MODEL,
    ALPHA,
    START,
    Q,
    Q_ERROR,
    ITERATIONS,
    RESIDUAL,
    STOP,
    BAYES,
    PLUGIN,
    GIBBS,
    WEIGHTS,
    BAYES_ERROR,
    PLUGIN_ERROR,
    GIBBS_ERROR,
    WEIGHTS_ERROR,
    COLUMNS
};

/* A point of the grid as doubles, which a checkpoint keeps: head, then Q and its errors (P, P). */
typedef struct {
    double alpha, informed, iterations, residual, stop;
    stair_errors errors;
} point_head;

typedef struct {
    cli_request *request;
    cli_grid grid;
    stair_starts starts;
    size_t missed, rough; /* points that did not converge, or not to the precision asked for */
    double worst;         /* error of an overlap */
} evolve_job;

static void defaults(cli_options *o)
{
    o->from = "both";
}

static void fill_columns(int p, bool several, cli_column *c)
{
    c[MODEL] = column_model(several);
    c[ALPHA] = column_given("alpha", "alpha");
    c[START] = column_text("start", "start", 12);
    c[Q] = column_with(column_decimals(column_symmetric("Q", "", p), 5), 1);
    c[Q_ERROR] = column_symmetric("Q_error", "error", p);
    c[ITERATIONS] = column_int("iterations", NULL);
    c[RESIDUAL] = column_real("residual", NULL, 0);
    c[STOP] = column_text("stop", "stop", 12);
    c[BAYES] = column_real("errors.bayes", "Bayes", 5);
    c[PLUGIN] = column_real("errors.plugin", "plug-in", 5);
    c[GIBBS] = column_real("errors.gibbs", NULL, 0);
    c[WEIGHTS] = column_real("errors.weights", "weights", 5);
    c[BAYES_ERROR] = column_real("errors.bayes_error", NULL, 0);
    c[PLUGIN_ERROR] = column_real("errors.plugin_error", NULL, 0);
    c[GIBBS_ERROR] = column_real("errors.gibbs_error", NULL, 0);
    c[WEIGHTS_ERROR] = column_real("errors.weights_error", NULL, 0);
}

static stair_status write_point(cli_report *report, const char *model, const stair_sweep_point *point)
{
    const stair_errors *e = &point->errors;
    cli_cell cells[COLUMNS] = {
        [MODEL] = {.text = model},
        [ALPHA] = {.real = point->alpha},
        [START] = {.text = point->informed ? "informed" : "uninformed"},
        [Q] = {.array = point->q},
        [Q_ERROR] = {.array = point->q_error},
        [ITERATIONS] = {.integer = point->iterations},
        [RESIDUAL] = {.real = point->residual},
        [STOP] = {.text = stair_stop_name(point->stop)},
        [BAYES] = {.real = e->bayes},
        [PLUGIN] = {.real = e->plugin},
        [GIBBS] = {.real = e->gibbs},
        [WEIGHTS] = {.real = e->weights},
        [BAYES_ERROR] = {.real = e->bayes_error},
        [PLUGIN_ERROR] = {.real = e->plugin_error},
        [GIBBS_ERROR] = {.real = e->gibbs_error},
        [WEIGHTS_ERROR] = {.real = e->weights_error},
    };
    return report_row(report, cells);
}

/* Row r of the grid as the next point of the sweep: the one that was kept, or a new one. */
static stair_status next_point(evolve_job *job, stair_sweep *sweep, size_t r, int p, stair_sweep_point *point)
{
    double *row = grid_row(&job->grid, r);
    point_head *head = (point_head *)row;
    double *q = row + sizeof *head / sizeof(double), *q_error = q + p * p;
    if (grid_known(&job->grid, r) &&
        !(isfinite(head->alpha) && grid_whole(head->informed, 0, 1) &&
          grid_whole(head->iterations, 0, INT_MAX) && grid_whole(head->stop, 0, STAIR_STOPS - 1)))
        return grid_damaged(&job->grid);
    *point = (stair_sweep_point){.alpha = head->alpha,
                                 .informed = head->informed != 0,
                                 .q = q,
                                 .q_error = q_error,
                                 .iterations = (int)head->iterations,
                                 .residual = head->residual,
                                 .stop = (stair_stop)head->stop,
                                 .errors = head->errors};
    if (grid_known(&job->grid, r)) return stair_sweep_known(sweep, point);
    STAIR_TRY(stair_sweep_next(sweep, point));
    *head = (point_head){.alpha = point->alpha,
                         .informed = point->informed,
                         .iterations = point->iterations,
                         .residual = point->residual,
                         .stop = point->stop,
                         .errors = point->errors};
    return grid_keep(&job->grid, r);
}

static stair_status one_model(evolve_job *job, size_t m, cli_report *report, cli_progress *progress)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    stair_asymptotics_options how = o->asymptotics;
    stair_model *model;
    stair_sweep *sweep = NULL;
    stair_sweep_point point;
    STAIR_TRY(stair_model_create(request->context, job->grid.specs[m], &model));
    stair_status status = stair_sweep_create(request->context, model, &how, job->starts, o->alpha.count,
                                             o->alpha.values, &sweep);
    size_t count = status == STAIR_OK ? stair_sweep_points(sweep) : 0;
    bool told = false;
    report_indices(report, job->grid.indices[m]);
    for (size_t r = m * count; r < (m + 1) * count && status == STAIR_OK; r++) {
        progress_stage(progress, (double)r, 0, (double)job->grid.rows);
        status = next_point(job, sweep, r, job->grid.indices[m], &point);
        if (status != STAIR_OK) break;
        if (!told && stair_sweep_no_curve(sweep))
            progress_note(progress, "no curve (%s): every alpha is solved by itself\n",
                          stair_sweep_no_curve(sweep));
        told |= stair_sweep_no_curve(sweep) != NULL;
        job->missed += point.stop == STAIR_STOP_ITERATIONS;
        job->rough += point.worst > o->asymptotics.precision;
        job->worst = fmax(job->worst, point.worst);
        status = write_point(report, job->grid.specs[m], &point);
    }
    stair_sweep_destroy(&sweep);
    stair_model_destroy(&model);
    return status;
}

/* All points of model m by a rank that has taken it. */
static stair_status share_model(void *user, cli_grid *grid, size_t m)
{
    evolve_job job = *(const evolve_job *)user;
    const cli_options *o = &grid->request->options;
    stair_asymptotics_options how = o->asymptotics;
    stair_model *model;
    stair_sweep *sweep = NULL;
    stair_sweep_point point;
    job.request = grid->request;
    job.grid = *grid;
    STAIR_TRY(stair_model_create(grid->request->context, grid->specs[m], &model));
    stair_status status = stair_sweep_create(grid->request->context, model, &how, job.starts, o->alpha.count,
                                             o->alpha.values, &sweep);
    for (size_t r = m * grid->unit; r < (m + 1) * grid->unit && status == STAIR_OK; r++)
        status = next_point(&job, sweep, r, grid->indices[m], &point);
    stair_sweep_destroy(&sweep);
    stair_model_destroy(&model);
    return status;
}

static stair_status all(evolve_job *job, cli_report *report)
{
    cli_progress progress;
    stair_status status = STAIR_OK;
    progress_start(&progress, job->request->context, job->request->options.quiet);
    status = grid_share(&job->grid, share_model, job);
    for (size_t m = 0; m < job->grid.models && status == STAIR_OK; m++)
        status = one_model(job, m, report, &progress);
    progress_finish(&progress);
    return status;
}

static stair_status judge(const evolve_job *job, size_t points)
{
    const cli_options *o = &job->request->options;
    if (job->missed)
        return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                          "%zu points did not converge; raise --max-iterations", job->missed);
    if (job->rough)
        return stair_fail(
            job->request->context, STAIR_NOT_CONVERGED,
            "%zu of %zu points have overlaps with errors above --precision %g, the worst %.2g; %s",
            job->rough, points, o->asymptotics.precision, job->worst,
            o->asymptotics.points ? "raise --samples" : "set --samples, or a larger --precision");
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    stair_asymptotics_options how = o->asymptotics;
    evolve_job job = {.request = request};
    cli_column columns[COLUMNS];
    cli_report *report;
    job.starts = !strcmp(o->from, "both")       ? STAIR_START_BOTH
                 : !strcmp(o->from, "informed") ? STAIR_START_INFORMED
                                                : STAIR_START_UNINFORMED;
    STAIR_TRY(stair_asymptotics_check(request->context, &how));
    if (!o->alpha.count) return stair_fail(request->context, STAIR_BAD_INPUT, "evolve needs --alpha LIST");
    size_t per_model = o->alpha.count * (job.starts == STAIR_START_BOTH ? 2 : 1);
    STAIR_TRY(grid_open(request, per_model, per_model, sizeof(point_head), 2, &job.grid));
    fill_columns(job.grid.most_indices, job.grid.models > 1, columns);
    size_t points = job.grid.rows;
    stair_status status = grid_report(&job.grid, columns, COLUMNS, &report);
    if (status == STAIR_OK) status = report_close(&report, all(&job, report));
    grid_close(&job.grid, status == STAIR_OK);
    return status == STAIR_OK ? judge(&job, points) : status;
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {"alpha", "from", "side", ASYMPTOTICS_OPTIONS, NULL};

const cli_command command_evolve = {
    .name = "evolve",
    .words = "MODEL",
    .summary = "State evolution over alpha: overlaps and errors, from each start",
    .details =
        "Uninformed is what message passing reaches with vanishing side information; informed starts\n"
        "from the truth.  Where they differ, learning is hard.  Errors: Bayes, plug-in (label of the\n"
        "mean), Gibbs (twice Bayes), weights (1 - |Q|^2/P).  --side gives side information lambda.\n"
        "From 12 values of alpha on, points are read off the branches between the steps, each solved\n"
        "at a few places, those of the informed start only if the last branch ends in perfect recovery;\n"
        "where a branch folds back every alpha is solved.  Exit 3 where an overlap has a larger error than\n"
        "--precision; docs/calibration.md says what errors mean.\n",
    .examples = "stair evolve attention:layers=2,skip=1 --alpha 0.2:1.2:0.1\n"
                "stair evolve attention:layers=2 --alpha 0.5 --set skip=0.5,1,2 --from uninformed --json\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
