/* finite-size: the step of one attention layer in dimensions 250 to 8000, runs of message passing beside
 * state evolution.  Runs begin with an overlap of 1/2 and forget it where nothing can be learned, so that
 * what is left does not depend on the luck of a random start. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>

static const int dims[] = {250, 500, 1000, 2000, 4000, 8000};
static const char *const series[] = {"D250", "D500", "D1000", "D2000", "D4000", "D8000"};
static const struct {
    double from, step; /* of alpha, where runs are */
    int alphas;
    int quick_seeds[6], seeds[6]; /* 0: left out */
    int iterations;
    double start;
    double most;  /* alpha of the line */
    double apart; /* in alpha, as drawn: bars of one alpha would hide each other */
    int points;
    double precision[2];
} tuning = {.from = 0.08,
            .step = 0.04,
            .alphas = 7,
            .quick_seeds = {24, 0, 16, 0, 8, 0},
            .seeds = {64, 48, 32, 24, 16, 12},
            .iterations = 200,
            .start = 0.5,
            .most = 0.34,
            .apart = 0.0025,
            .points = 52,
            .precision = {3e-3, 1e-3}};

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "alpha dim Q11 Q11_error runs shown");
}

static int parts(const figure_job *job)
{
    (void)job;
    return 1 + 6 * tuning.alphas;
}

static stair_status theory(figure_job *job)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    double alpha[64], q[64], error[64];
    stair_sweep_point points[64];
    stair_step step;
    int count = 0;
    stair_status found = stair_threshold(job->context, job->model, &how, 1, 1, &step, &count);
    STAIR_TRY(figure_reached(job, found, count ? step.error / step.alpha : 0));
    STAIR_TRY(figure_mark_steps(job, count, &step));
    for (int i = 0; i <= tuning.points; i++) alpha[i] = figure_grid(0.08, 0.005, i);
    stair_status status = stair_sweep_all(job->context, job->model, &how, STAIR_START_UNINFORMED,
                                          (size_t)tuning.points + 1, alpha, points, q, error);
    double worst = 0;
    for (int i = 0; i <= tuning.points && (status == STAIR_OK || status == STAIR_NOT_CONVERGED); i++)
        worst = fmax(worst, points[i].worst);
    STAIR_TRY(figure_reached(job, status, worst));
    for (int i = 0; i <= tuning.points; i++)
        STAIR_TRY(figure_table_add(job->context, job->table, "theory",
                                   (double[]){alpha[i], INFINITY, q[i], error[i], 0, alpha[i]}));
    return STAIR_OK;
}

static stair_status run_at(figure_job *job, int d, double alpha)
{
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result;
    double squares[64], row[6] = {alpha, dims[d]};
    how.dim = dims[d];
    how.alpha = alpha;
    how.seeds = (job->quick ? tuning.quick_seeds : tuning.seeds)[d];
    how.seed = job->request->how.seed;
    how.max_iterations = tuning.iterations;
    how.start_overlap = tuning.start;
    if (!how.seeds) return STAIR_OK;
    STAIR_TRY(stair_gamp(job->context, job->model, &how, &result));
    for (int r = 0; r < result->runs; r++) {
        double cosine = result->run[r].cosine[result->run[r].count - 1];
        squares[r] = cosine * cosine;
    }
    figure_mean(result->runs, squares, &row[2], &row[3]);
    row[4] = result->runs;
    row[5] = alpha + tuning.apart * (d - 2.5);
    stair_gamp_result_destroy(&result);
    return figure_table_add(job->context, job->table, series[d], row);
}

static stair_status compute(figure_job *job, int part)
{
    if (part == 0) return theory(job);
    return run_at(job, (part - 1) / tuning.alphas,
                  figure_grid(tuning.from, tuning.step, (part - 1) % tuning.alphas));
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    static const int colours[] = {FIGURE_ORANGE, FIGURE_SKY,  FIGURE_GREEN,
                                  FIGURE_PURPLE, FIGURE_BLUE, FIGURE_VERMILLION};
    snprintf(plot->x_label, FIGURE_TEXT, "sample complexity $\\alpha = N/D$");
    snprintf(plot->y_label, FIGURE_TEXT, "overlap $Q_{11}$");
    plot->x[0] = 0.07, plot->x[1] = tuning.most;
    plot->y[0] = 0;
    for (int k = 0; k < job->table->marks; k++)
        if (isfinite(job->table->mark[k].value))
            figure_plot_label(plot, job->table->mark[k].value, 0.68, true, "$\\alpha_{1} = 1/6$");
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_BLACK, "theory", "alpha", "Q11", "", "$D = \\infty$");
    for (int d = 0; d < 6; d++) {
        char title[FIGURE_TEXT];
        snprintf(title, sizeof title, "$D = %d$", dims[d]);
        if (!(job->quick ? tuning.quick_seeds : tuning.seeds)[d]) continue;
        figure_plot_curve(plot, FIGURE_THIN, colours[d], series[d], "shown", "Q11", "", "");
        figure_plot_curve(plot, FIGURE_POINTS, colours[d], series[d], "shown", "Q11", "Q11_error", title)
            ->shape = d;
    }
    plot->key_columns = 3;
    return STAIR_OK;
}

const figure_kind figure_finite_size = {
    .name = "finite-size",
    .group = "finite-size",
    .text = "The step of one attention layer, rounded in dimensions 250 to 8000",
    .model = "attention:layers=1,tokens=2",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
