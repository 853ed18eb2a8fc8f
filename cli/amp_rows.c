/* The three tables of `stair amp`. */
#include "amp_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

#define MOST_SHOWN 4
#define MOST_P     24
#define SQUARE     (MOST_P * MOST_P)

static const char *const cosines[MOST_SHOWN] = {"cos 1", "cos 2", "cos 3", "cos 4"};
static const char *const overlaps[MOST_SHOWN] = {"Q11", "Q22", "Q33", "Q44"};

static cli_column real_column(const char *name, const char *heading, int decimals)
{
    return (cli_column){.name = name,
                        .heading = heading,
                        .where = heading ? IN_ALL : IN_DATA,
                        .digits = decimals,
                        .fixed = decimals > 0};
}

static cli_column square_column(const char *name, int p)
{
    return (cli_column){.name = name, .where = IN_DATA, .rank = 2, .shape = {p, p}};
}

static int shown(int p)
{
    return p < MOST_SHOWN ? p : MOST_SHOWN;
}

static const double *theory_row(const amp_theory *theory, const double *rows, int i, size_t size,
                                const double *none)
{
    if (!theory->count) return none;
    return rows + (size_t)(i < theory->count ? i : theory->count - 1) * size;
}

static void fill_nan(int n, double *out)
{
    for (int i = 0; i < n; i++) out[i] = NAN;
}

/* ---- one row for each run -------------------------------------------------------------------------- */

enum {
    R_ALPHA,
    R_SEED,
    R_ITERATIONS,
    R_STOP,
    R_Q,
    R_M,
    R_V,
    R_COSINE,
    R_BAYES,
    R_PLUGIN,
    R_BAYES_ERROR,
    R_PLUGIN_ERROR,
    R_MISMATCH,
    R_THEORY_Q,
    R_THEORY_Q_ERROR,
    R_THEORY_BAYES,
    R_THEORY_PLUGIN,
    R_HISTORY,
    R_FIXED
};

stair_status amp_open_runs(cli_request *request, cli_report **report)
{
    static cli_column c[R_FIXED + 2 * MOST_SHOWN];
    int p = stair_model_describe(request->model).indices, n = R_FIXED;
    c[R_ALPHA] = real_column("alpha", "alpha", 4);
    c[R_SEED] = (cli_column){.name = "seed", .heading = "seed", .kind = CELL_INT, .where = IN_ALL};
    c[R_ITERATIONS] =
        (cli_column){.name = "iterations", .heading = "iterations", .kind = CELL_INT, .where = IN_ALL};
    c[R_STOP] =
        (cli_column){.name = "stop", .heading = "stop", .kind = CELL_TEXT, .where = IN_ALL, .width = 12};
    c[R_Q] = square_column("Q", p);
    c[R_M] = square_column("M", p);
    c[R_V] = square_column("V", p);
    c[R_COSINE] = (cli_column){.name = "cosine", .where = IN_DATA, .rank = 1, .shape = {p}};
    c[R_BAYES] = real_column("errors.bayes", "Bayes", 5);
    c[R_PLUGIN] = real_column("errors.plugin", "plug-in", 5);
    c[R_BAYES_ERROR] = real_column("errors.bayes_error", NULL, 0);
    c[R_PLUGIN_ERROR] = real_column("errors.plugin_error", NULL, 0);
    c[R_MISMATCH] = real_column("mismatch", NULL, 0);
    c[R_THEORY_Q] = square_column("theory.Q", p);
    c[R_THEORY_Q_ERROR] = square_column("theory.Q_error", p);
    c[R_THEORY_BAYES] = real_column("theory.bayes", NULL, 0);
    c[R_THEORY_PLUGIN] = real_column("theory.plugin", NULL, 0);
    c[R_HISTORY] = (cli_column){.name = "history", .kind = CELL_JSON, .where = IN_JSON};
    for (int i = 0; i < shown(p); i++) {
        c[n] = real_column(overlaps[i], overlaps[i], 5);
        c[n++].where = IN_TABLE;
        c[n] = real_column(cosines[i], cosines[i], 4);
        c[n++].where = IN_TABLE;
    }
    return report_open(request, c, n, report);
}

static json_t *numbers(const double *values, int rank, int p)
{
    json_t *array = json_array();
    int step = rank == 2 ? p : 1;
    for (int i = 0; i < p; i++) {
        json_t *value = rank == 2             ? numbers(values + i * step, 1, p)
                        : isfinite(values[i]) ? json_real(values[i])
                                              : json_null();
        if (json_array_append_new(array, value)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* [{"iteration", "Q", "M", "V", "cosine", "errors", "change", "damping", "mismatch", "channel_error"}, ...]
 */
static char *history_text(const stair_gamp_run *run, int p)
{
    json_t *list = json_array();
    int failed = !list;
    for (int i = 0; i < run->count && !failed; i++) {
        const stair_gamp_record *h = &run->history[i];
        size_t square = (size_t)(p * p);
        json_t *row = json_object(), *errors = json_object();
        failed |= json_object_set_new(row, "iteration", json_integer(i));
        failed |= json_object_set_new(row, "Q", numbers(run->q + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "M", numbers(run->m + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "V", numbers(run->v + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "cosine", numbers(run->cosine + i * p, 1, p));
        failed |= json_object_set_new(errors, "bayes", number(h->bayes));
        failed |= json_object_set_new(errors, "plugin", number(h->plugin));
        failed |= json_object_set_new(errors, "bayes_error", number(h->bayes_error));
        failed |= json_object_set_new(errors, "plugin_error", number(h->plugin_error));
        failed |= json_object_set_new(row, "errors", errors);
        failed |= json_object_set_new(row, "change", number(h->change));
        failed |= json_object_set_new(row, "damping", number(h->damping));
        failed |= json_object_set_new(row, "mismatch", number(h->mismatch));
        failed |= json_object_set_new(row, "channel_error", number(h->channel_error));
        failed |= json_array_append_new(list, row);
    }
    char *text = failed ? NULL : json_dumps(list, JSON_REAL_PRECISION(17));
    json_decref(list);
    return text;
}

static void note_run(cli_report *report, const stair_gamp_run *run)
{
    if (run->stop == STAIR_STOP_DIVERGED)
        report_note(report, "seed %llu diverged at iteration %d; try --damping 0.3\n",
                    (unsigned long long)run->seed, run->iterations);
}

stair_status amp_write_runs(cli_report *report, const stair_gamp_result *result, const amp_theory *theory)
{
    int p = result->indices;
    size_t square = (size_t)(p * p);
    double none[SQUARE];
    fill_nan(p * p, none);
    for (int k = 0; k < result->runs; k++) {
        const stair_gamp_run *run = &result->run[k];
        size_t last = (size_t)run->count - 1;
        const stair_gamp_record *h = &run->history[last];
        char *history = history_text(run, p);
        if (!history) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
        cli_cell cells[R_FIXED + 2 * MOST_SHOWN] = {
            [R_ALPHA] = {.real = run->alpha},
            [R_SEED] = {.integer = (int64_t)run->seed},
            [R_ITERATIONS] = {.integer = run->iterations},
            [R_STOP] = {.text = stair_stop_name(run->stop)},
            [R_Q] = {.array = run->q + last * square},
            [R_M] = {.array = run->m + last * square},
            [R_V] = {.array = run->v + last * square},
            [R_COSINE] = {.array = run->cosine + last * (size_t)p},
            [R_BAYES] = {.real = h->bayes},
            [R_PLUGIN] = {.real = h->plugin},
            [R_BAYES_ERROR] = {.real = h->bayes_error},
            [R_PLUGIN_ERROR] = {.real = h->plugin_error},
            [R_MISMATCH] = {.real = h->mismatch},
            [R_THEORY_Q] = {.array = theory_row(theory, theory->q, (int)last, square, none)},
            [R_THEORY_Q_ERROR] = {.array = theory_row(theory, theory->q_error, (int)last, square, none)},
            [R_THEORY_BAYES] = {.real = theory->count ? theory->errors.bayes : NAN},
            [R_THEORY_PLUGIN] = {.real = theory->count ? theory->errors.plugin : NAN},
            [R_HISTORY] = {.text = history},
        };
        for (int i = 0; i < shown(p); i++) {
            cells[R_FIXED + 2 * i].real = run->q[last * square + (size_t)(i * (p + 1))];
            cells[R_FIXED + 2 * i + 1].real = run->cosine[last * (size_t)p + (size_t)i];
        }
        stair_status status = report_row(report, cells);
        free(history);
        STAIR_TRY(status);
        note_run(report, run);
    }
    return STAIR_OK;
}

/* ---- one row for each iteration ---------------------------------------------------------------------- */

enum {
    H_ALPHA,
    H_SEED,
    H_ITERATION,
    H_Q,
    H_M,
    H_V,
    H_COSINE,
    H_BAYES,
    H_PLUGIN,
    H_BAYES_ERROR,
    H_PLUGIN_ERROR,
    H_CHANGE,
    H_DAMPING,
    H_MISMATCH,
    H_CHANNEL_ERROR,
    H_THEORY_Q,
    H_THEORY_Q_ERROR,
    H_FIXED
};

stair_status amp_open_history(cli_request *request, cli_report **report)
{
    static cli_column c[H_FIXED + 2 * MOST_SHOWN];
    int p = stair_model_describe(request->model).indices, n = H_FIXED;
    c[H_ALPHA] = real_column("alpha", "alpha", 4);
    c[H_SEED] = (cli_column){.name = "seed", .heading = "seed", .kind = CELL_INT, .where = IN_ALL};
    c[H_ITERATION] =
        (cli_column){.name = "iteration", .heading = "iteration", .kind = CELL_INT, .where = IN_ALL};
    c[H_Q] = square_column("Q", p);
    c[H_M] = square_column("M", p);
    c[H_V] = square_column("V", p);
    c[H_COSINE] = (cli_column){.name = "cosine", .where = IN_DATA, .rank = 1, .shape = {p}};
    c[H_BAYES] = real_column("errors.bayes", "Bayes", 5);
    c[H_PLUGIN] = real_column("errors.plugin", "plug-in", 5);
    c[H_BAYES_ERROR] = real_column("errors.bayes_error", NULL, 0);
    c[H_PLUGIN_ERROR] = real_column("errors.plugin_error", NULL, 0);
    c[H_CHANGE] = real_column("change", "change", 0);
    c[H_DAMPING] = real_column("damping", NULL, 0);
    c[H_MISMATCH] = real_column("mismatch", NULL, 0);
    c[H_CHANNEL_ERROR] = real_column("channel_error", NULL, 0);
    c[H_THEORY_Q] = square_column("theory.Q", p);
    c[H_THEORY_Q_ERROR] = square_column("theory.Q_error", p);
    c[H_CHANGE].digits = 3;
    for (int i = 0; i < shown(p); i++) {
        c[n] = real_column(overlaps[i], overlaps[i], 5);
        c[n++].where = IN_TABLE;
        c[n] = real_column(cosines[i], cosines[i], 4);
        c[n++].where = IN_TABLE;
    }
    return report_open(request, c, n, report);
}

static stair_status write_iteration(cli_report *report, const stair_gamp_run *run, int i, int p,
                                    const amp_theory *theory, const double *none)
{
    const stair_gamp_record *h = &run->history[i];
    size_t square = (size_t)(p * p);
    const double *q = run->q + (size_t)i * square;
    cli_cell cells[H_FIXED + 2 * MOST_SHOWN] = {
        [H_ALPHA] = {.real = run->alpha},
        [H_SEED] = {.integer = (int64_t)run->seed},
        [H_ITERATION] = {.integer = i},
        [H_Q] = {.array = q},
        [H_M] = {.array = run->m + (size_t)i * square},
        [H_V] = {.array = run->v + (size_t)i * square},
        [H_COSINE] = {.array = run->cosine + i * p},
        [H_BAYES] = {.real = h->bayes},
        [H_PLUGIN] = {.real = h->plugin},
        [H_BAYES_ERROR] = {.real = h->bayes_error},
        [H_PLUGIN_ERROR] = {.real = h->plugin_error},
        [H_CHANGE] = {.real = h->change},
        [H_DAMPING] = {.real = h->damping},
        [H_MISMATCH] = {.real = h->mismatch},
        [H_CHANNEL_ERROR] = {.real = h->channel_error},
        [H_THEORY_Q] = {.array = theory_row(theory, theory->q, i, square, none)},
        [H_THEORY_Q_ERROR] = {.array = theory_row(theory, theory->q_error, i, square, none)},
    };
    for (int k = 0; k < shown(p); k++) {
        cells[H_FIXED + 2 * k].real = q[k * (p + 1)];
        cells[H_FIXED + 2 * k + 1].real = run->cosine[i * p + k];
    }
    return report_row(report, cells);
}

stair_status amp_write_history(cli_report *report, const stair_gamp_result *result, const amp_theory *theory)
{
    double none[SQUARE];
    fill_nan(SQUARE, none);
    for (int k = 0; k < result->runs; k++) {
        for (int i = 0; i < result->run[k].count; i++)
            STAIR_TRY(write_iteration(report, &result->run[k], i, result->indices, theory, none));
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
    S_M,
    S_M_ERROR,
    S_SPREAD,
    S_BAYES,
    S_PLUGIN,
    S_BAYES_ERROR,
    S_PLUGIN_ERROR,
    S_THEORY_Q,
    S_THEORY_Q_ERROR,
    S_Z_Q,
    S_Z_M,
    S_THEORY_BAYES,
    S_THEORY_PLUGIN,
    S_FIXED
};
#define SHOWN_EACH 4
static const char *const summary_headings[MOST_SHOWN][SHOWN_EACH] = {{"M11", "error", "theory", "z"},
                                                                     {"M22", "error", "theory", "z"},
                                                                     {"M33", "error", "theory", "z"},
                                                                     {"M44", "error", "theory", "z"}};
static const char *const summary_names[MOST_SHOWN][SHOWN_EACH] = {
    {"m1", "e1", "t1", "z1"}, {"m2", "e2", "t2", "z2"}, {"m3", "e3", "t3", "z3"}, {"m4", "e4", "t4", "z4"}};

stair_status amp_open_summary(cli_request *request, cli_report **report)
{
    static cli_column c[S_FIXED + SHOWN_EACH * MOST_SHOWN];
    int p = stair_model_describe(request->model).indices, n = S_FIXED;
    c[S_ALPHA] = real_column("alpha", "alpha", 4);
    c[S_RUNS] = (cli_column){.name = "runs", .heading = "runs", .kind = CELL_INT, .where = IN_ALL};
    c[S_DIVERGED] = (cli_column){.name = "diverged", .kind = CELL_INT, .where = IN_DATA};
    c[S_Q] = square_column("Q", p);
    c[S_Q_ERROR] = square_column("Q_error", p);
    c[S_M] = square_column("M", p);
    c[S_M_ERROR] = square_column("M_error", p);
    c[S_SPREAD] = square_column("M_spread", p);
    c[S_BAYES] = real_column("errors.bayes", "Bayes", 5);
    c[S_PLUGIN] = real_column("errors.plugin", "plug-in", 5);
    c[S_BAYES_ERROR] = real_column("errors.bayes_error", NULL, 0);
    c[S_PLUGIN_ERROR] = real_column("errors.plugin_error", NULL, 0);
    c[S_THEORY_Q] = square_column("theory.Q", p);
    c[S_THEORY_Q_ERROR] = square_column("theory.Q_error", p);
    c[S_Z_Q] = (cli_column){.name = "z_Q", .where = IN_DATA, .rank = 1, .shape = {p}};
    c[S_Z_M] = (cli_column){.name = "z_M", .where = IN_DATA, .rank = 1, .shape = {p}};
    c[S_THEORY_BAYES] = real_column("theory.bayes", NULL, 0);
    c[S_THEORY_PLUGIN] = real_column("theory.plugin", NULL, 0);
    for (int i = 0; i < shown(p); i++)
        for (int k = 0; k < SHOWN_EACH; k++) {
            c[n] = real_column(summary_names[i][k], summary_headings[i][k], k == 3 ? 1 : 5);
            c[n++].where = IN_TABLE;
        }
    return report_open(request, c, n, report);
}

/* mean, its error (widened where the values are few) and the standard deviation */
static void moments(int n, const double *values, double *mean, double *error, double *spread)
{
    double sum = 0, square = 0;
    for (int k = 0; k < n; k++) sum += values[k] / n;
    for (int k = 0; k < n; k++) square += (values[k] - sum) * (values[k] - sum);
    *mean = sum;
    *spread = n > 1 ? sqrt(square / (n - 1)) : NAN;
    *error = n > 1 ? stair_replicate_error(n, values) : NAN;
}

typedef struct {
    double q[SQUARE], q_error[SQUARE], m[SQUARE], m_error[SQUARE], m_spread[SQUARE], q_spread[SQUARE],
        z_q[MOST_P], z_m[MOST_P];
    double bayes, bayes_error, plugin, plugin_error, unused;
    int diverged;
} summary;

/* Entry d of an overlap beside the last of theory.  Overlaps of runs are positive, Q as a square and M by its
 * alignment with the teacher: where theory says exactly 0 their mean cannot be, and a z-score tells nothing.
 */
static double z_score(const amp_theory *theory, int p, int d, double mean, double error)
{
    if (!theory->count) return NAN;
    size_t last = (size_t)(theory->count - 1) * (size_t)(p * p) + (size_t)d;
    if (theory->q[last] == 0 && theory->q_error[last] == 0) return NAN;
    return (mean - theory->q[last]) / hypot(error, theory->q_error[last]);
}

static stair_status summarise(stair_context *context, const stair_gamp_result *result,
                              const amp_theory *theory, summary *s)
{
    int p = result->indices, n = result->runs;
    double *values = malloc((size_t)n * sizeof(double));
    if (!values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    memset(s, 0, sizeof *s);
    for (int i = 0; i < p * p; i++)
        for (int which = 0; which < 2; which++) {
            for (int k = 0; k < n; k++) {
                const stair_gamp_run *run = &result->run[k];
                values[k] = (which ? run->m : run->q)[(size_t)(run->count - 1) * (size_t)(p * p) + (size_t)i];
            }
            moments(n, values, which ? &s->m[i] : &s->q[i], which ? &s->m_error[i] : &s->q_error[i],
                    which ? &s->m_spread[i] : &s->q_spread[i]);
        }
    for (int which = 0; which < 2; which++) {
        for (int k = 0; k < n; k++) {
            const stair_gamp_record *h = &result->run[k].history[result->run[k].count - 1];
            values[k] = which ? h->plugin : h->bayes;
            s->diverged += !which && result->run[k].stop == STAIR_STOP_DIVERGED;
        }
        moments(n, values, which ? &s->plugin : &s->bayes, which ? &s->plugin_error : &s->bayes_error,
                &s->unused);
    }
    for (int i = 0; i < p; i++) {
        int d = i * (p + 1);
        s->z_q[i] = z_score(theory, p, d, s->q[d], s->q_error[d]);
        s->z_m[i] = z_score(theory, p, d, s->m[d], s->m_error[d]);
    }
    free(values);
    return STAIR_OK;
}

stair_status amp_write_summary(cli_report *report, const stair_gamp_result *result, const amp_theory *theory)
{
    int p = result->indices;
    double none[SQUARE];
    summary *s = malloc(sizeof *s);
    if (!s) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    fill_nan(p * p, none);
    stair_status status = summarise(report->request->context, result, theory, s);
    const double *q = theory_row(theory, theory->q, theory->count, (size_t)(p * p), none);
    cli_cell cells[S_FIXED + SHOWN_EACH * MOST_SHOWN] = {
        [S_ALPHA] = {.real = result->run[0].alpha},
        [S_RUNS] = {.integer = result->runs},
        [S_DIVERGED] = {.integer = s->diverged},
        [S_Q] = {.array = s->q},
        [S_Q_ERROR] = {.array = s->q_error},
        [S_M] = {.array = s->m},
        [S_M_ERROR] = {.array = s->m_error},
        [S_SPREAD] = {.array = s->m_spread},
        [S_BAYES] = {.real = s->bayes},
        [S_PLUGIN] = {.real = s->plugin},
        [S_BAYES_ERROR] = {.real = s->bayes_error},
        [S_PLUGIN_ERROR] = {.real = s->plugin_error},
        [S_THEORY_Q] = {.array = q},
        [S_THEORY_Q_ERROR] = {.array =
                                  theory_row(theory, theory->q_error, theory->count, (size_t)(p * p), none)},
        [S_Z_Q] = {.array = s->z_q},
        [S_Z_M] = {.array = s->z_m},
        [S_THEORY_BAYES] = {.real = theory->count ? theory->errors.bayes : NAN},
        [S_THEORY_PLUGIN] = {.real = theory->count ? theory->errors.plugin : NAN},
    };
    for (int i = 0; i < shown(p); i++) {
        cli_cell *four = &cells[S_FIXED + SHOWN_EACH * i];
        four[0].real = s->m[i * (p + 1)];
        four[1].real = s->m_error[i * (p + 1)];
        four[2].real = q[i * (p + 1)];
        four[3].real = s->z_m[i];
    }
    if (status == STAIR_OK) status = report_row(report, cells);
    free(s);
    return status;
}

stair_status amp_note_runs(cli_report *report, const stair_gamp_result *result, const amp_theory *theory)
{
    int p = result->indices;
    size_t square = (size_t)(p * p);
    const double *q = theory_row(theory, theory->q, theory->count, square, NULL),
                 *q_error = theory_row(theory, theory->q_error, theory->count, square, NULL);
    if (!q && result->runs < 2) return STAIR_OK; /* the table has it all */
    summary *s = malloc(sizeof *s);
    if (!s) return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = summarise(report->request->context, result, theory, s);
    for (int i = 0; i < shown(p) && status == STAIR_OK; i++) {
        int d = i * (p + 1);
        report_note(report, "M%d%d over %d run%s: %.4f", i + 1, i + 1, result->runs,
                    result->runs > 1 ? "s" : "", s->m[d]);
        if (result->runs > 1) report_note(report, " +- %.4f", s->m_error[d]);
        if (theory->count > 1)
            report_note(report, "; state evolution after %d iterations", theory->count - 1);
        else if (q)
            report_note(report, "; fixed point of state evolution");
        if (q) report_note(report, ": %.4f +- %.4f", q[d], q_error[d]);
        report_note(report, "\n");
    }
    free(s);
    return status;
}
