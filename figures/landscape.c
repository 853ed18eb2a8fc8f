/* free-entropy: S(q) - S(0) of phase retrieval, y = z^2, below, in and above the hard phase.
 *
 * Message passing climbs S from q = 0 to the first maximum.  In the hard phase, 1 < alpha < 1.128, S is
 * larger still at q = 1, behind a barrier: enough is known, and not found.  The range of q that it would have
 * to cross is shaded. */
#include "figure.h"

#include <math.h>
#include <string.h>

static const double alphas[] = {0.9, 1.1, 1.2}; /* below, in and above */
static const char *const series[] = {"below", "hard", "above"};
static const struct {
    int quick, full; /* points */
    double least;    /* logarithm of the smallest 1 - q */
    double precision[2];
} tuning = {.quick = 40, .full = 80, .least = -5, .precision = {1e-3, 3e-4}};

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "alpha q v S S_error");
}

static int parts(const figure_job *job)
{
    (void)job;
    return 3;
}

static stair_status mark_phase(figure_job *job, const stair_asymptotics_options *how, int part)
{
    double q[4], s = 0, error = 0;
    stair_phase phase = {.bayes_q = q, .bayes_q_error = q + 1, .amp_q = q + 2, .amp_q_error = q + 3};
    STAIR_TRY(stair_phase_at(job->context, job->model, how, alphas[part], &phase));
    STAIR_TRY(figure_table_mark(job->context, job->table, "amp", q[2], q[3], series[part]));
    STAIR_TRY(figure_table_mark(job->context, job->table, "bayes", q[0], q[1], series[part]));
    if (q[2] >= 1) return STAIR_OK;
    STAIR_TRY(stair_entropy_at(job->context, job->model, how, alphas[part], &q[2], &s, &error));
    char name[FIGURE_NAME];
    snprintf(name, sizeof name, "amp-%s", series[part]);
    return figure_table_add(job->context, job->table, name,
                            (double[]){alphas[part], q[2], 1 - q[2], s, error});
}

static stair_status compute(figure_job *job, int part)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    int points = job->quick ? tuning.quick : tuning.full;
    STAIR_TRY(mark_phase(job, &how, part));
    for (int i = 0; i <= points; i++) {
        double v = pow(10, tuning.least * i / points), q = 1 - v, s = 0, error = 0;
        if (i) STAIR_TRY(stair_entropy_at(job->context, job->model, &how, alphas[part], &q, &s, &error));
        STAIR_TRY(figure_table_add(job->context, job->table, series[part],
                                   (double[]){alphas[part], q, v, s, error}));
    }
    return STAIR_OK;
}

static double mark_of(const figure_table *t, const char *name, const char *text)
{
    for (int k = 0; k < t->marks; k++)
        if (!strcmp(t->mark[k].name, name) && !strcmp(t->mark[k].text, text)) return t->mark[k].value;
    return NAN;
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    static const int colours[] = {FIGURE_BLUE, FIGURE_VERMILLION, FIGURE_GREEN};
    static const char *const dots[] = {"amp-below", "amp-hard"};
    double amp = mark_of(job->table, "amp", "hard"), bayes = mark_of(job->table, "bayes", "hard");
    snprintf(plot->x_label, FIGURE_TEXT, "$1 - q$ (from nothing to everything known)");
    snprintf(plot->y_label, FIGURE_TEXT, "free entropy $S(q) - S(0)$");
    plot->log_x = true;
    plot->x[0] = 1, plot->x[1] = pow(10, tuning.least);
    plot->y[0] = -0.1, plot->y[1] = 0.3;
    if (isfinite(amp) && bayes > amp) {
        figure_plot_range(plot, 1 - amp, plot->x[1], FIGURE_VERMILLION);
        figure_plot_label(plot, sqrt((1 - amp) * plot->x[1]), 0.06, false, "hard phase of $\\alpha = 1.1$");
        plot->label[plot->labels - 1].centre = true;
    }
    for (int k = 0; k < 3; k++) {
        char title[FIGURE_TEXT];
        snprintf(title, sizeof title, "$\\alpha = %g$", alphas[k]);
        figure_plot_curve(plot, FIGURE_BAND, colours[k], series[k], "v", "S", "S_error", "");
        figure_plot_curve(plot, FIGURE_LINE, colours[k], series[k], "v", "S", "", title);
    }
    for (int k = 0; k < 2; k++)
        figure_plot_curve(plot, FIGURE_DOTS, FIGURE_BLACK, dots[k], "v", "S", "", k ? "" : "GAMP stops");
    plot->key_columns = 2;
    return STAIR_OK;
}

const figure_kind figure_free_entropy = {
    .name = "free-entropy",
    .group = "free-entropy",
    .text = "Free entropy of phase retrieval against the overlap, below, in and above the hard phase",
    .model = "square:tokens=1",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
