/* stair evolve: fixed points of state evolution over alpha, from either start. */
#include "asymptotics.h"
#include "grid.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN 8
#define CURVE_FROM 12 /* alphas */
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
    FIXED
};
enum { COLUMNS = FIXED + MOST_SHOWN };

static const char *const headings[MOST_SHOWN] = {"Q11", "Q22", "Q33", "Q44", "Q55", "Q66", "Q77", "Q88"};

/* A point of the grid as doubles: head, then Q and its errors (P, P). */
typedef struct {
    double alpha, informed, iterations, residual, stop;
    stair_errors errors;
} point_head;

typedef struct {
    cli_request *request;
    cli_grid grid;
    size_t cells, starts, alphas;
    bool first_informed;
    size_t missed, rough; /* points that did not converge, or not to the precision asked for */
    double worst;         /* error of an overlap */
    stair_curve *curve;   /* of the model at hand, NULL: each alpha is solved */
} evolve_job;

static void defaults(cli_options *o)
{
    o->from = "both";
}

static int fill_columns(const stair_model_info *info, bool grid, cli_column *c)
{
    int p = info->indices, shown = p < MOST_SHOWN ? p : MOST_SHOWN;
    c[MODEL] = (cli_column){
        .name = "model", .heading = "model", .kind = CELL_TEXT, .width = 120, .where = grid ? IN_ALL : 0};
    c[ALPHA] = (cli_column){.name = "alpha", .heading = "alpha", .where = IN_ALL, .digits = 5, .fixed = true};
    c[START] =
        (cli_column){.name = "start", .heading = "start", .kind = CELL_TEXT, .where = IN_ALL, .width = 12};
    c[Q] = (cli_column){.name = "Q", .where = IN_DATA, .rank = 2, .shape = {p, p}};
    c[Q_ERROR] =
        (cli_column){.name = "Q_error", .heading = "error", .where = IN_ALL, .rank = 2, .shape = {p, p}};
    c[ITERATIONS] = (cli_column){.name = "iterations", .kind = CELL_INT, .where = IN_DATA};
    c[RESIDUAL] = (cli_column){.name = "residual", .where = IN_DATA};
    c[STOP] =
        (cli_column){.name = "stop", .heading = "stop", .kind = CELL_TEXT, .where = IN_ALL, .width = 12};
    c[BAYES] =
        (cli_column){.name = "errors.bayes", .heading = "Bayes", .where = IN_ALL, .digits = 5, .fixed = true};
    c[PLUGIN] = (cli_column){
        .name = "errors.plugin", .heading = "plug-in", .where = IN_ALL, .digits = 5, .fixed = true};
    c[GIBBS] = (cli_column){.name = "errors.gibbs", .where = IN_DATA};
    c[WEIGHTS] = (cli_column){
        .name = "errors.weights", .heading = "weights", .where = IN_ALL, .digits = 5, .fixed = true};
    c[BAYES_ERROR] = (cli_column){.name = "errors.bayes_error", .where = IN_DATA};
    c[PLUGIN_ERROR] = (cli_column){.name = "errors.plugin_error", .where = IN_DATA};
    c[GIBBS_ERROR] = (cli_column){.name = "errors.gibbs_error", .where = IN_DATA};
    c[WEIGHTS_ERROR] = (cli_column){.name = "errors.weights_error", .where = IN_DATA};
    for (int i = 0; i < shown; i++)
        c[FIXED + i] = (cli_column){
            .name = headings[i], .heading = headings[i], .where = IN_TABLE, .digits = 5, .fixed = true};
    return FIXED + shown;
}

static stair_status write_point(evolve_job *job, cli_report *report, const char *model, const double *row,
                                int p)
{
    const point_head *head = (const point_head *)row;
    const double *q = row + sizeof *head / sizeof(double);
    cli_cell cells[COLUMNS] = {
        [MODEL] = {.text = model},
        [ALPHA] = {.real = head->alpha},
        [START] = {.text = head->informed != 0 ? "informed" : "uninformed"},
        [Q] = {.array = q},
        [Q_ERROR] = {.array = q + job->cells},
        [ITERATIONS] = {.integer = (int64_t)head->iterations},
        [RESIDUAL] = {.real = head->residual},
        [STOP] = {.text = stair_stop_name((stair_stop)head->stop)},
        [BAYES] = {.real = head->errors.bayes},
        [PLUGIN] = {.real = head->errors.plugin},
        [GIBBS] = {.real = head->errors.gibbs},
        [WEIGHTS] = {.real = head->errors.weights},
        [BAYES_ERROR] = {.real = head->errors.bayes_error},
        [PLUGIN_ERROR] = {.real = head->errors.plugin_error},
        [GIBBS_ERROR] = {.real = head->errors.gibbs_error},
        [WEIGHTS_ERROR] = {.real = head->errors.weights_error},
    };
    for (int i = 0; i < p && i < MOST_SHOWN; i++) cells[FIXED + i].real = q[i * (p + 1)];
    job->missed += head->stop == STAIR_STOP_ITERATIONS;
    double most = 0;
    for (size_t i = 0; i < job->cells; i++) most = fmax(most, q[job->cells + i]);
    job->rough += most > job->request->options.asymptotics.precision;
    job->worst = fmax(job->worst, most);
    return report_row(report, cells);
}

/* Row r: model, alpha, start from the slowest to the fastest. */
static stair_status compute(evolve_job *job, const stair_model *model, size_t r)
{
    const cli_options *o = &job->request->options;
    stair_asymptotics_options how = o->asymptotics;
    size_t a = r / job->starts % job->alphas, s = r % job->starts;
    double *row = grid_row(&job->grid, r);
    point_head *head = (point_head *)row;
    const double *from = NULL, *before = a ? grid_row(&job->grid, r - job->starts) : NULL;
    *head = (point_head){.alpha = o->alpha.values[a], .informed = s == 1 || job->first_informed};
    stair_evolution result = {.q = row + sizeof *head / sizeof(double)};
    result.q_error = result.q + job->cells;
    /* the fixed point at a smaller alpha lies below: a start that saves steps and misses none */
    if (before && head->informed == 0 && ((const point_head *)before)->alpha <= head->alpha &&
        ((const point_head *)before)->stop == STAIR_STOP_CONVERGED)
        from = before + sizeof *head / sizeof(double);
    stair_status status;
    if (job->curve && (head->informed == 0 || stair_curve_is_whole(job->curve))) {
        result.stop = stair_curve_at(job->curve, head->alpha, result.q, result.q_error);
        status =
            stair_errors_at(job->request->context, model, &how, result.q, result.q_error, &result.errors);
    } else
        status =
            stair_evolve(job->request->context, model, &how, head->alpha, head->informed != 0, from, &result);
    if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) return status;
    head->iterations = result.iterations;
    head->residual = result.residual;
    head->errors = result.errors;
    head->stop = result.stop;
    return STAIR_OK;
}

/* Many alphas are read off one curve, where the model has one. */
static stair_status prepare_curve(evolve_job *job, const stair_model *model, const cli_progress *progress)
{
    const cli_options *o = &job->request->options;
    stair_asymptotics_options how = o->asymptotics;
    double most = 0;
    if (job->alphas < CURVE_FROM || job->first_informed || how.side > 0) return STAIR_OK;
    for (size_t a = 0; a < job->alphas; a++) most = fmax(most, o->alpha.values[a]);
    stair_status status = stair_curve_create(job->request->context, model, &how, most, &job->curve);
    if (status != STAIR_UNSUPPORTED) return status;
    progress_note(progress, "no curve (%s): every alpha is solved by itself\n",
                  stair_context_message(job->request->context));
    return STAIR_OK;
}

static stair_status all(evolve_job *job, cli_report *report, cli_progress *progress)
{
    cli_grid *grid = &job->grid;
    size_t per_model = job->alphas * job->starts;
    for (size_t m = 0; m < grid->models; m++) {
        stair_model *model;
        STAIR_TRY(stair_model_create(job->request->context, grid->specs[m], &model));
        stair_status status =
            (m + 1) * per_model > grid->done ? prepare_curve(job, model, progress) : STAIR_OK;
        for (size_t r = m * per_model; r < (m + 1) * per_model && status == STAIR_OK; r++) {
            progress_stage(progress, (double)r, 1, (double)grid->rows);
            if (r >= grid->done) {
                status = compute(job, model, r);
                if (status == STAIR_OK) status = grid_keep(grid);
            }
            if (status == STAIR_OK)
                status = write_point(job, report, grid->specs[m], grid_row(grid, r),
                                     stair_model_describe(model).indices);
        }
        stair_curve_destroy(&job->curve);
        stair_model_destroy(&model);
        STAIR_TRY(status);
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    stair_asymptotics_options how = o->asymptotics;
    stair_model_info info = stair_model_describe(request->model);
    evolve_job job = {
        .request = request, .cells = (size_t)(info.indices * info.indices), .alphas = o->alpha.count};
    cli_column columns[COLUMNS];
    cli_report *report;
    cli_progress progress;
    job.starts = !strcmp(o->from, "both") ? 2 : 1;
    job.first_informed = !strcmp(o->from, "informed");
    STAIR_TRY(stair_asymptotics_check(request->context, &how));
    if (!job.alphas) return stair_fail(request->context, STAIR_BAD_INPUT, "evolve needs --alpha LIST");
    STAIR_TRY(grid_open(request, job.alphas * job.starts, sizeof(point_head) / sizeof(double) + 2 * job.cells,
                        &job.grid));
    int used = fill_columns(&info, job.grid.models > 1, columns);
    stair_status status = grid_report(&job.grid, columns, used, &report);
    if (status == STAIR_OK) {
        progress_start(&progress, request->context, o->quiet);
        status = all(&job, report, &progress);
        progress_finish(&progress);
        status = report_close(&report, status);
    }
    size_t models = job.grid.models;
    grid_close(&job.grid, status == STAIR_OK);
    if (status == STAIR_OK && job.missed)
        return stair_fail(request->context, STAIR_NOT_CONVERGED,
                          "%zu points did not converge; raise --max-iterations", job.missed);
    if (status == STAIR_OK && job.rough)
        return stair_fail(
            request->context, STAIR_NOT_CONVERGED,
            "%zu of %zu points have overlaps with errors above --precision %g, the worst %.2g; %s", job.rough,
            job.alphas * job.starts * models, how.precision, job.worst,
            how.points ? "raise --samples" : "set --samples, or a larger --precision");
    return status;
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
