/* stair entropy: free entropy at the fixed points, the Bayes-optimal one, and whether learning is hard. */
#include "asymptotics.h"
#include "grid.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING 1e-3
#define DOUBT   3.0  /* errors by which the entropy of one fixed point has to exceed another's to say so */
#define STARTS  4    /* no knowledge, full knowledge, and overlaps between */
#define LOOK    1e-2 /* precision at which the starts between are first followed */

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

static const double between[STARTS] = {0, 1, 0.3, 0.7};

typedef struct {
    double alpha, hard, best, entropy[STARTS],
        error[STARTS]; /* then Bayes Q, AMP Q and their errors (P, P) */
} point_head;

static void fill_columns(int p, bool grid, cli_column *c)
{
    c[MODEL] = (cli_column){
        .name = "model", .heading = "model", .kind = CELL_TEXT, .width = 120, .where = grid ? IN_ALL : 0};
    c[ALPHA] = (cli_column){.name = "alpha", .heading = "alpha", .where = IN_ALL, .digits = 5, .fixed = true};
    c[BAYES_Q] = (cli_column){.name = "bayes_Q",
                              .heading = "|Q| Bayes",
                              .where = IN_ALL,
                              .digits = 5,
                              .fixed = true,
                              .rank = 2,
                              .shape = {p, p}};
    c[BAYES_Q_ERROR] = (cli_column){
        .name = "bayes_Q_error", .heading = "error", .where = IN_ALL, .rank = 2, .shape = {p, p}};
    c[AMP_Q] = (cli_column){.name = "amp_Q",
                            .heading = "|Q| AMP",
                            .where = IN_ALL,
                            .digits = 5,
                            .fixed = true,
                            .rank = 2,
                            .shape = {p, p}};
    c[AMP_Q_ERROR] =
        (cli_column){.name = "amp_Q_error", .heading = "error", .where = IN_ALL, .rank = 2, .shape = {p, p}};
    c[LARGEST] = (cli_column){
        .name = "bayes_entropy", .heading = "S - S(0)", .where = IN_ALL, .digits = 5, .fixed = true};
    c[LARGEST_ERROR] = (cli_column){.name = "bayes_entropy_error", .heading = "error", .where = IN_ALL};
    c[ENTROPY] = (cli_column){.name = "entropy", .where = IN_DATA, .rank = 1, .shape = {STARTS}};
    c[ENTROPY_ERROR] = (cli_column){.name = "entropy_error", .where = IN_DATA, .rank = 1, .shape = {STARTS}};
    c[HARD] = (cli_column){.name = "hard", .heading = "hard", .kind = CELL_BOOL, .where = IN_ALL};
    c[INFORMATION] = (cli_column){.name = "information_threshold", .where = IN_DATA, .rank = 1, .shape = {2}};
    c[ALGORITHM] = (cli_column){.name = "algorithmic_threshold", .where = IN_DATA, .rank = 1, .shape = {2}};
}

typedef struct {
    cli_request *request;
    const stair_model *model;
    double alpha;
    size_t cells;
} entropy_job;

static double apart(size_t cells, const double *a, const double *b)
{
    double most = 0;
    for (size_t i = 0; i < cells; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* The fixed point from start s, with its error, whatever that is. */
static stair_status follow(const entropy_job *job, int s, double precision, double *q, double *q_error)
{
    stair_asymptotics_options how = job->request->options.asymptotics;
    stair_evolution result = {.q = q, .q_error = q_error};
    double from[STAIR_MOST_LEARNS * STAIR_MOST_LEARNS] = {0};
    int p = stair_model_describe(job->model).indices;
    for (int i = 0; i < p; i++) from[i * (p + 1)] = between[s];
    how.precision = precision;
    stair_status status = stair_evolve(job->request->context, job->model, &how, job->alpha, s == 1,
                                       s > 1 ? from : NULL, &result);
    return status == STAIR_NOT_CONVERGED && result.stop != STAIR_STOP_ITERATIONS ? STAIR_OK : status;
}

/* Which earlier start leads to the same fixed point, s itself if none. */
static int known_as(size_t cells, int s, double *const *found, double noise)
{
    for (int k = 0; k < s; k++)
        if (found[k] && apart(cells, found[k], found[s]) <= noise) return k;
    return s;
}

/* Starts between lead to one of the two ends nearly always: a look tells, and only what is new is solved in
 * full. */
static stair_status find_all(const entropy_job *job, double *const *q, double *const *error, point_head *head,
                             int *same)
{
    stair_asymptotics_options how = job->request->options.asymptotics;
    for (int s = 0; s < STARTS; s++) {
        double precision = s > 1 ? fmax(LOOK, how.precision) : how.precision;
        STAIR_TRY(follow(job, s, precision, q[s], error[s]));
        double noise = 0;
        for (size_t i = 0; i < job->cells; i++) noise = fmax(noise, error[s][i]);
        same[s] = known_as(job->cells, s, q, fmax(4 * noise, 3 * precision));
        if (same[s] == s && s > 1) STAIR_TRY(follow(job, s, how.precision, q[s], error[s]));
        if (same[s] == s)
            STAIR_TRY(stair_entropy_at(job->request->context, job->model, &how, job->alpha, q[s],
                                       &head->entropy[s], &head->error[s]));
        head->entropy[s] = head->entropy[same[s]];
        head->error[s] = head->error[same[s]];
    }
    return STAIR_OK;
}

/* The fixed points, their entropies, and which is largest: one that is larger by its error alone does not
 * count. */
static stair_status compute(cli_request *request, const stair_model *model, double alpha, double *row)
{
    point_head *head = (point_head *)row;
    size_t p = (size_t)stair_model_describe(model).indices, cells = p * p;
    entropy_job job = {.request = request, .model = model, .alpha = alpha, .cells = cells};
    double *out = row + sizeof *head / sizeof(double), *room = calloc(2 * STARTS * cells, sizeof(double));
    double *q[STARTS], *error[STARTS];
    int same[STARTS], best = 0;
    if (!room) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    for (int s = 0; s < STARTS; s++) {
        q[s] = room + (size_t)s * cells;
        error[s] = q[s] + STARTS * cells;
    }
    head->alpha = alpha;
    stair_status status = find_all(&job, q, error, head, same);
    for (int s = 1; s < STARTS && status == STAIR_OK; s++)
        if (same[s] == s &&
            head->entropy[s] > head->entropy[best] + DOUBT * hypot(head->error[s], head->error[best]))
            best = s;
    head->hard = best != 0;
    head->best = best;
    const double *parts[4] = {q[best], q[0], error[best], error[0]};
    for (int k = 0; k < 4; k++) memcpy(out + (size_t)k * cells, parts[k], cells * sizeof(double));
    free(room);
    return status;
}

/* Where, as alpha grows along the rows of one model, something is first known (k = 0), or first by message
 * passing (k = 1): between two neighbours of the list, NAN where it ends before.  |Q| below NOTHING counts as
 * none. */
static void find_threshold(const cli_grid *grid, size_t from, size_t count, int p, int k, double *range)
{
    double below = -INFINITY, above = INFINITY;
    for (size_t r = from; r < from + count; r++) {
        const double *row = grid_row(grid, r);
        const point_head *head = (const point_head *)row;
        const double *q = row + sizeof *head / sizeof(double) + k * p * p;
        double most = 0;
        for (int i = 0; i < p * p; i++) most = fmax(most, fabs(q[i]));
        if (most > NOTHING)
            above = fmin(above, head->alpha);
        else
            below = fmax(below, head->alpha);
    }
    bool found = below < above && isfinite(below) && isfinite(above);
    range[0] = found ? below : NAN;
    range[1] = found ? above : NAN;
}

/* The rows of one model, once they are all there. */
static stair_status write_model(const cli_request *request, const cli_grid *grid, size_t m,
                                cli_report *report)
{
    static const char *const what[] = {"information-theoretic", "algorithmic"};
    size_t count = request->options.alpha.count, p = (size_t)stair_model_describe(request->model).indices;
    double range[2][2];
    for (int k = 0; k < 2; k++) find_threshold(grid, m * count, count, (int)p, k, range[k]);
    for (size_t r = m * count; r < (m + 1) * count; r++) {
        const double *row = grid_row(grid, r);
        const point_head *head = (const point_head *)row;
        const double *bayes = row + sizeof *head / sizeof(double);
        int best = (int)head->best;
        STAIR_TRY(report_row(report, (cli_cell[]){[MODEL] = {.text = grid->specs[m]},
                                                  [ALPHA] = {.real = head->alpha},
                                                  [BAYES_Q] = {.array = bayes},
                                                  [BAYES_Q_ERROR] = {.array = bayes + 2 * p * p},
                                                  [AMP_Q] = {.array = bayes + p * p},
                                                  [AMP_Q_ERROR] = {.array = bayes + 3 * p * p},
                                                  [LARGEST] = {.real = head->entropy[best]},
                                                  [LARGEST_ERROR] = {.real = head->error[best]},
                                                  [ENTROPY] = {.array = head->entropy},
                                                  [ENTROPY_ERROR] = {.array = head->error},
                                                  [HARD] = {.truth = head->hard != 0},
                                                  [INFORMATION] = {.array = range[0]},
                                                  [ALGORITHM] = {.array = range[1]}}));
    }
    for (int k = 0; k < 2; k++)
        if (isfinite(range[k][0]))
            report_note(report, "The %s threshold lies between alpha = %g and %g.\n", what[k], range[k][0],
                        range[k][1]);
    return STAIR_OK;
}

static stair_status all(cli_request *request, cli_grid *grid, cli_report *report, cli_progress *progress)
{
    const option_list *alpha = &request->options.alpha;
    for (size_t r = 0; r < grid->rows; r++) {
        stair_model *model;
        progress_stage(progress, (double)r, 1, (double)grid->rows);
        if (r >= grid->done) {
            STAIR_TRY(stair_model_create(request->context, grid->specs[r / alpha->count], &model));
            stair_status status = compute(request, model, alpha->values[r % alpha->count], grid_row(grid, r));
            if (status == STAIR_OK) status = grid_keep(grid);
            stair_model_destroy(&model);
            STAIR_TRY(status);
        }
        if ((r + 1) % alpha->count == 0) STAIR_TRY(write_model(request, grid, r / alpha->count, report));
    }
    return STAIR_OK;
}

/* Rows with an error, of an overlap or of the largest entropy, above the precision. */
static size_t count_rough(const cli_grid *grid, double precision, size_t cells)
{
    size_t rough = 0;
    for (size_t r = 0; r < grid->rows; r++) {
        const point_head *head = (const point_head *)grid_row(grid, r);
        const double *error = (const double *)(head + 1) + 2 * cells;
        double most = head->error[(int)head->best];
        for (size_t i = 0; i < 2 * cells; i++) most = fmax(most, error[i]);
        rough += most > precision;
    }
    return rough;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    stair_asymptotics_options how = o->asymptotics;
    int p = stair_model_describe(request->model).indices;
    cli_column columns[COLUMNS];
    cli_report *report;
    cli_progress progress;
    cli_grid grid;
    STAIR_TRY(stair_asymptotics_check(request->context, &how));
    if (!o->alpha.count) return stair_fail(request->context, STAIR_BAD_INPUT, "entropy needs --alpha LIST");
    STAIR_TRY(
        grid_open(request, o->alpha.count, sizeof(point_head) / sizeof(double) + 4 * (size_t)(p * p), &grid));
    fill_columns(p, grid.models > 1, columns);
    stair_status status = grid_report(&grid, columns, COLUMNS, &report);
    if (status == STAIR_OK) {
        progress_start(&progress, request->context, o->quiet);
        status = all(request, &grid, report, &progress);
        progress_finish(&progress);
        status = report_close(&report, status);
    }
    size_t rough = status == STAIR_OK ? count_rough(&grid, how.precision, (size_t)(p * p)) : 0;
    grid_close(&grid, status == STAIR_OK);
    if (rough)
        return stair_fail(request->context, STAIR_NOT_CONVERGED,
                          "%zu points have errors above --precision %g; %s", rough, how.precision,
                          how.points ? "raise --samples" : "set --samples, or a larger --precision");
    return status;
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {"alpha", "side", ASYMPTOTICS_OPTIONS, NULL};

const cli_command command_entropy = {
    .name = "entropy",
    .words = "MODEL",
    .summary = "Free entropy at its extrema, the Bayes-optimal overlap, and hard phases",
    .details =
        "`entropy` is S - S(0) at the fixed points from no knowledge, from full knowledge and from overlaps\n"
        "0.3 and 0.7; the Bayes-optimal overlap is where S is largest (by more than three errors), and "
        "learning\n"
        "is hard where message passing stays at another.  The table has S there.  S of perfect recovery "
        "without noise is infinite, null in JSON.\n"
        "information_threshold and algorithmic_threshold (below the table, and in the data): the two\n"
        "values of the list between which something can first be known, and first be found by message\n"
        "passing.\n",
    .examples = "stair entropy attention:layers=2,skip=1 --alpha 0.3,0.6,0.9\n"
                "stair entropy attention:layers=2 --alpha 0.1:0.3:0.05\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .run = run,
};
