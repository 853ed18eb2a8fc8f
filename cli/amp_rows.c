/* The three tables of `stair amp`. */
#include "amp_rows.h"
#include "columns.h"

#include <stdlib.h>

#define MOST_SAID 4 /* entries of a diagonal in the notes */

/* ---- what the rows of runs and of iterations share -------------------------------------------------- */

enum { STATE_Q, STATE_M, STATE_V, STATE_COSINE, STATE_ERRORS, STATE_COLUMNS = STATE_ERRORS + ERRORS_COLUMNS };

/* Overlaps and errors after an iteration: STATE_COLUMNS columns. */
static void state_columns(int p, cli_column *c)
{
    c[STATE_Q] = column_decimals(column_symmetric("Q", "", p), 5);
    c[STATE_M] = column_square("M", NULL, p);
    c[STATE_V] = column_symmetric("V", NULL, p);
    c[STATE_COSINE] = column_decimals(column_line("cosine", "", p), 4);
    columns_errors(c + STATE_ERRORS);
}

static void state_cells(const stair_gamp_run *run, size_t i, int p, cli_cell *cells)
{
    const stair_gamp_record *h = &run->history[i];
    size_t square = (size_t)(p * p);
    cells[STATE_Q].array = run->q + i * square;
    cells[STATE_M].array = run->m + i * square;
    cells[STATE_V].array = run->v + i * square;
    cells[STATE_COSINE].array = run->cosine + i * (size_t)p;
    cells_errors(h->bayes, h->plugin, h->bayes_error, h->plugin_error, cells + STATE_ERRORS);
}

/* theory.Q and its error at iteration i: two columns; NaN without theory. */
static void theory_columns(int p, cli_column *c)
{
    c[0] = column_symmetric("theory.Q", NULL, p);
    c[1] = column_symmetric("theory.Q_error", NULL, p);
}

static void theory_cells(const stair_gamp_expectation *theory, int i, cli_cell *cells)
{
    cells[0].array = stair_gamp_expected_q(theory, i);
    cells[1].array = stair_gamp_expected_q_error(theory, i);
}

static void note_run(cli_report *report, const stair_gamp_run *run)
{
    if (run->stop == STAIR_STOP_DIVERGED)
        report_note(report, "seed %llu diverged at iteration %d; try --damping 0.3\n",
                    (unsigned long long)run->seed, run->iterations);
}

/* ---- one row for each run -------------------------------------------------------------------------- */

enum {
    R_ALPHA,
    R_SEED,
    R_ITERATIONS,
    R_STOP,
    R_STATE,
    R_MISMATCH = R_STATE + STATE_COLUMNS,
    R_THEORY,
    R_THEORY_BAYES = R_THEORY + 2,
    R_THEORY_PLUGIN,
    R_HISTORY,
    R_COLUMNS
};

stair_status amp_open_runs(cli_request *request, cli_report **report)
{
    static cli_column c[R_COLUMNS];
    int p = stair_model_describe(request->model).indices;
    c[R_ALPHA] = column_given("alpha", "alpha");
    c[R_SEED] = column_natural("seed", "seed");
    c[R_ITERATIONS] = column_int("iterations", "iterations");
    c[R_STOP] = column_text("stop", "stop", 12);
    state_columns(p, c + R_STATE);
    c[R_MISMATCH] = column_real("mismatch", NULL, 0);
    theory_columns(p, c + R_THEORY);
    c[R_THEORY_BAYES] = column_real("theory.bayes", NULL, 0);
    c[R_THEORY_PLUGIN] = column_real("theory.plugin", NULL, 0);
    c[R_HISTORY] = (cli_column){.name = "history", .kind = CELL_JSON, .where = IN_JSON};
    return report_open(request, c, R_COLUMNS, report);
}

static stair_status write_run(cli_report *report, const stair_gamp_run *run, int p,
                              const stair_gamp_expectation *theory)
{
    size_t last = (size_t)run->count - 1;
    char *history = amp_history_text(run, p);
    if (!history) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    cli_cell cells[R_COLUMNS] = {
        [R_ALPHA] = {.real = run->alpha},
        [R_SEED] = {.natural = run->seed},
        [R_ITERATIONS] = {.integer = run->iterations},
        [R_STOP] = {.text = stair_stop_name(run->stop)},
        [R_MISMATCH] = {.real = run->history[last].mismatch},
        [R_THEORY_BAYES] = {.real = theory->errors.bayes},
        [R_THEORY_PLUGIN] = {.real = theory->errors.plugin},
        [R_HISTORY] = {.text = history},
    };
    state_cells(run, last, p, cells + R_STATE);
    theory_cells(theory, (int)last, cells + R_THEORY);
    stair_status status = report_row(report, cells);
    free(history);
    return status;
}

stair_status amp_write_runs(cli_report *report, const stair_gamp_result *result,
                            const stair_gamp_expectation *theory)
{
    for (int k = 0; k < result->runs; k++) {
        STAIR_TRY(write_run(report, &result->run[k], result->indices, theory));
        note_run(report, &result->run[k]);
    }
    return STAIR_OK;
}

/* ---- one row for each iteration ---------------------------------------------------------------------- */

enum {
    H_ALPHA,
    H_SEED,
    H_ITERATION,
    H_STATE,
    H_CHANGE = H_STATE + STATE_COLUMNS,
    H_DAMPING,
    H_MISMATCH,
    H_CHANNEL_ERROR,
    H_THEORY,
    H_COLUMNS = H_THEORY + 2
};

stair_status amp_open_history(cli_request *request, cli_report **report)
{
    static cli_column c[H_COLUMNS];
    int p = stair_model_describe(request->model).indices;
    c[H_ALPHA] = column_given("alpha", "alpha");
    c[H_SEED] = column_natural("seed", "seed");
    c[H_ITERATION] = column_int("iteration", "iteration");
    state_columns(p, c + H_STATE);
    c[H_CHANGE] = column_real("change", "change", 0);
    c[H_CHANGE].digits = 3; /* significant */
    c[H_DAMPING] = column_real("damping", NULL, 0);
    c[H_MISMATCH] = column_real("mismatch", NULL, 0);
    c[H_CHANNEL_ERROR] = column_real("channel_error", NULL, 0);
    theory_columns(p, c + H_THEORY);
    return report_open(request, c, H_COLUMNS, report);
}

static stair_status write_iteration(cli_report *report, const stair_gamp_run *run, int i, int p,
                                    const stair_gamp_expectation *theory)
{
    const stair_gamp_record *h = &run->history[i];
    cli_cell cells[H_COLUMNS] = {
        [H_ALPHA] = {.real = run->alpha},
        [H_SEED] = {.natural = run->seed},
        [H_ITERATION] = {.integer = i},
        [H_CHANGE] = {.real = h->change},
        [H_DAMPING] = {.real = h->damping},
        [H_MISMATCH] = {.real = h->mismatch},
        [H_CHANNEL_ERROR] = {.real = h->channel_error},
    };
    state_cells(run, (size_t)i, p, cells + H_STATE);
    theory_cells(theory, i, cells + H_THEORY);
    return report_row(report, cells);
}

stair_status amp_write_history(cli_report *report, const stair_gamp_result *result,
                               const stair_gamp_expectation *theory)
{
    for (int k = 0; k < result->runs; k++) {
        for (int i = 0; i < result->run[k].count; i++)
            STAIR_TRY(write_iteration(report, &result->run[k], i, result->indices, theory));
        note_run(report, &result->run[k]);
    }
    return STAIR_OK;
}

/* ---- one row for each alpha ---------------------------------------------------------------------------- */

enum {
    S_ALPHA,
    S_RUNS,
    S_DIVERGED,
    S_Q,
    S_Q_ERROR,
    S_M, /* in the table beside its error, theory and z-score */
    S_M_ERROR,
    S_THEORY_Q,
    S_Z_M,
    S_THEORY_Q_ERROR,
    S_SPREAD,
    S_ERRORS,
    S_Z_Q = S_ERRORS + ERRORS_COLUMNS,
    S_THEORY_BAYES,
    S_THEORY_PLUGIN,
    S_COLUMNS
};

stair_status amp_open_summary(cli_request *request, cli_report **report)
{
    static cli_column c[S_COLUMNS];
    int p = stair_model_describe(request->model).indices;
    c[S_ALPHA] = column_given("alpha", "alpha");
    c[S_RUNS] = column_int("runs", "runs");
    c[S_DIVERGED] = column_int("diverged", NULL);
    c[S_Q] = column_symmetric("Q", NULL, p);
    c[S_Q_ERROR] = column_symmetric("Q_error", NULL, p);
    c[S_M] = column_with(column_decimals(column_square("M", "", p), 5), 3);
    c[S_M_ERROR] = column_decimals(column_square("M_error", "error", p), 5);
    c[S_THEORY_Q] = column_decimals(column_symmetric("theory.Q", "theory", p), 5);
    c[S_Z_M] = column_decimals(column_diagonal("z_M", NULL, "z", p), 1);
    c[S_THEORY_Q_ERROR] = column_symmetric("theory.Q_error", NULL, p);
    c[S_SPREAD] = column_square("M_spread", NULL, p);
    columns_errors(c + S_ERRORS);
    c[S_Z_Q] = column_diagonal("z_Q", NULL, NULL, p);
    c[S_THEORY_BAYES] = column_real("theory.bayes", NULL, 0);
    c[S_THEORY_PLUGIN] = column_real("theory.plugin", NULL, 0);
    return report_open(request, c, S_COLUMNS, report);
}

stair_status amp_write_summary(cli_report *report, const stair_gamp_result *result,
                               const stair_gamp_expectation *theory)
{
    stair_gamp_summary *s;
    STAIR_TRY(stair_gamp_summary_create(report->request->context, result, theory, &s));
    cli_cell cells[S_COLUMNS] = {
        [S_ALPHA] = {.real = result->run[0].alpha},
        [S_RUNS] = {.integer = s->runs},
        [S_DIVERGED] = {.integer = s->diverged},
        [S_Q] = {.array = s->q},
        [S_Q_ERROR] = {.array = s->q_error},
        [S_M] = {.array = s->m},
        [S_M_ERROR] = {.array = s->m_error},
        [S_SPREAD] = {.array = s->m_spread},
        [S_THEORY_Q] = {.array = stair_gamp_expected_q(theory, theory->count)},
        [S_THEORY_Q_ERROR] = {.array = stair_gamp_expected_q_error(theory, theory->count)},
        [S_Z_Q] = {.array = s->z_q},
        [S_Z_M] = {.array = s->z_m},
        [S_THEORY_BAYES] = {.real = theory->errors.bayes},
        [S_THEORY_PLUGIN] = {.real = theory->errors.plugin},
    };
    cells_errors(s->bayes, s->plugin, s->bayes_error, s->plugin_error, cells + S_ERRORS);
    stair_status status = report_row(report, cells);
    stair_gamp_summary_destroy(&s);
    return status;
}

stair_status amp_note_runs(cli_report *report, const stair_gamp_result *result,
                           const stair_gamp_expectation *theory)
{
    int p = result->indices, count = theory->count;
    const double *q = stair_gamp_expected_q(theory, count),
                 *q_error = stair_gamp_expected_q_error(theory, count);
    stair_gamp_summary *s;
    if (!count && result->runs < 2) return STAIR_OK; /* the table has it all */
    STAIR_TRY(stair_gamp_summary_create(report->request->context, result, theory, &s));
    for (int i = 0; i < p && i < MOST_SAID; i++) {
        int d = i * (p + 1);
        report_note(report, "M%d%d over %d run%s: %.4f", i + 1, i + 1, result->runs,
                    result->runs > 1 ? "s" : "", s->m[d]);
        if (result->runs > 1) report_note(report, " +- %.4f", s->m_error[d]);
        if (count > 1)
            report_note(report, "; state evolution after %d iterations", count - 1);
        else if (count)
            report_note(report, "; fixed point of state evolution");
        if (count) report_note(report, ": %.4f +- %.4f", q[d], q_error[d]);
        report_note(report, "\n");
    }
    stair_gamp_summary_destroy(&s);
    return STAIR_OK;
}
