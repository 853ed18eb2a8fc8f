/* stair entropy: free entropy at the fixed points, the Bayes-optimal one, and whether learning is hard. */
#include "asymptotics.h"
#include "grid.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING 1e-3

enum { MODEL, ALPHA, BAYES_Q, AMP_Q, ENTROPY, ENTROPY_ERROR, HARD, COLUMNS };

typedef struct {
    double alpha, hard, entropy[2], error[2]; /* uninformed, informed; then Bayes Q, AMP Q (P, P) */
} point_head;

static void defaults(cli_options *o) { asymptotics_defaults(o); }

static void fill_columns(int p, bool grid, cli_column *c)
{
    c[MODEL] = (cli_column){.name = "model", .heading = "model", .kind = CELL_TEXT, .width = 120, .where = grid ? IN_ALL : 0};
    c[ALPHA] = (cli_column){.name = "alpha", .heading = "alpha", .where = IN_ALL, .digits = 5, .fixed = true};
    c[BAYES_Q] = (cli_column){.name = "bayes_Q", .heading = "|Q| Bayes", .where = IN_ALL, .digits = 5, .fixed = true, .rank = 2, .shape = {p, p}};
    c[AMP_Q] = (cli_column){.name = "amp_Q", .heading = "|Q| AMP", .where = IN_ALL, .digits = 5, .fixed = true, .rank = 2, .shape = {p, p}};
    c[ENTROPY] = (cli_column){.name = "entropy", .heading = "|S - S(0)|", .where = IN_ALL, .digits = 5, .fixed = true, .rank = 1, .shape = {2}};
    c[ENTROPY_ERROR] = (cli_column){.name = "entropy_error", .where = IN_DATA, .rank = 1, .shape = {2}};
    c[HARD] = (cli_column){.name = "hard", .heading = "hard", .kind = CELL_BOOL, .where = IN_ALL};
}

/* The two fixed points, their entropies, and which is larger. */
static stair_status compute(cli_request *request, const stair_model *model, double alpha, double *row)
{
    stair_asymptotics_options how = asymptotics_wanted(&request->options);
    point_head *head = (point_head *)row;
    size_t p = (size_t)stair_model_describe(model).indices, cells = p * p;
    double *bayes = row + sizeof *head / sizeof(double), *amp = bayes + cells, *spare = malloc(2 * cells * sizeof(double));
    if (!spare) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    double *found[2] = {amp, spare}, apart = 0, noise = 0;
    stair_status status = STAIR_OK;
    head->alpha = alpha;
    for (int s = 0; s < 2 && status == STAIR_OK; s++) {
        stair_evolution result = {.q = found[s], .q_error = spare + cells};
        status = stair_evolve(request->context, model, &how, alpha, s == 1, NULL, &result);
        for (size_t i = 0; i < cells; i++) noise = fmax(noise, result.q_error[i]);
        if (status == STAIR_OK)
            status = stair_entropy_at(request->context, model, &how, alpha, found[s], &head->entropy[s], &head->error[s]);
    }
    for (size_t i = 0; i < cells; i++) apart = fmax(apart, fabs(amp[i] - spare[i]));
    bool differ = apart > fmax(4 * noise, 3 * how.precision);
    bool better = head->entropy[1] > head->entropy[0];
    head->hard = differ && better;
    memcpy(bayes, differ && better ? spare : amp, cells * sizeof(double));
    free(spare);
    return status;
}

/* Where, as alpha grows along the rows of one model, something is first known, and first by message passing: between two
 * neighbours of the list.  |Q| below NOTHING counts as none. */
static void tell_thresholds(const cli_grid *grid, size_t from, size_t count, int p, cli_report *report)
{
    static const char *const what[] = {"information-theoretic", "algorithmic"};
    for (int k = 0; k < 2; k++) {
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
        if (below < above && isfinite(below) && isfinite(above))
            report_note(report, "The %s threshold lies between alpha = %g and %g.\n", what[k], below, above);
    }
}

static stair_status all(cli_request *request, cli_grid *grid, cli_report *report, cli_progress *progress)
{
    const option_list *alpha = &request->options.alpha;
    for (size_t r = 0; r < grid->rows; r++) {
        double *row = grid_row(grid, r);
        point_head *head = (point_head *)row;
        stair_model *model;
        progress_stage(progress, (double)r, 1, (double)grid->rows);
        STAIR_TRY(stair_model_create(request->context, grid->specs[r / alpha->count], &model));
        size_t p = (size_t)stair_model_describe(model).indices;
        stair_status status = STAIR_OK;
        if (r >= grid->done) {
            status = compute(request, model, alpha->values[r % alpha->count], row);
            if (status == STAIR_OK) status = grid_keep(grid);
        }
        stair_model_destroy(&model);
        STAIR_TRY(status);
        const double *bayes = row + sizeof *head / sizeof(double);
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = grid->specs[r / alpha->count]},
                                                  {.real = head->alpha},
                                                  {.array = bayes},
                                                  {.array = bayes + p * p},
                                                  {.array = head->entropy},
                                                  {.array = head->error},
                                                  {.truth = head->hard != 0}}));
        if ((r + 1) % alpha->count == 0)
            tell_thresholds(grid, r + 1 - alpha->count, alpha->count, (int)p, report);
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    stair_asymptotics_options how = asymptotics_wanted(o);
    int p = stair_model_describe(request->model).indices;
    cli_column columns[COLUMNS];
    cli_report *report;
    cli_progress progress;
    cli_grid grid;
    STAIR_TRY(stair_asymptotics_check(request->context, &how));
    if (!o->alpha.count) return stair_fail(request->context, STAIR_BAD_INPUT, "entropy needs --alpha LIST");
    STAIR_TRY(grid_open(request, o->alpha.count, sizeof(point_head) / sizeof(double) + 2 * (size_t)(p * p), &grid));
    fill_columns(p, grid.models > 1, columns);
    stair_status status = report_open(request, columns, COLUMNS, &report);
    if (status == STAIR_OK) {
        progress_start(&progress, request->context, o->quiet);
        status = all(request, &grid, report, &progress);
        progress_finish(&progress);
        status = report_close(&report, status);
    }
    grid_close(&grid, status == STAIR_OK);
    return status;
}

static const char *const names[] = {"alpha", "side", ASYMPTOTICS_OPTIONS, NULL};

const cli_command command_entropy = {
    .name = "entropy",
    .words = "MODEL",
    .summary = "Free entropy at its extrema, the Bayes-optimal overlap, and hard phases",
    .details = "`entropy` is S - S(0) at the fixed point from no knowledge and at the one from full knowledge;\n"
               "the Bayes-optimal overlap is where S is largest, and learning is hard where message passing\n"
               "stays at another.  S of perfect recovery without noise is infinite, null in JSON.\n"
               "Below the table: between which two values of the list the information-theoretic threshold\n"
               "(something can be known) and the algorithmic one (message passing finds it) lie.\n",
    .examples = "stair entropy attention:layers=2,skip=1 --alpha 0.3,0.6,0.9\n"
                "stair entropy attention:layers=2 --alpha 0.1:0.3:0.05\n",
    .options = names,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
