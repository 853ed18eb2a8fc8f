/* thresholds: samples per dimension from which something is learned, against the number of tokens, for one
 * layer to four; and the bound 1/(M(M+1)) that no model which is even in each row can beat, which one layer
 * reaches. */
#include "figure.h"

#include <math.h>

static const struct {
    int least, quick, most; /* tokens */
    int layers;
    double precision[2]; /* quick and full */
} tuning = {.least = 2, .quick = 5, .most = 6, .layers = 4, .precision = {2e-2, 5e-3}};

static const char *const series[] = {"layers1", "layers2", "layers3", "layers4"};

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "tokens layers alpha1 alpha1_error bound");
}

static int most_tokens(const figure_job *job)
{
    return job->quick ? tuning.quick : tuning.most;
}

static int parts(const figure_job *job)
{
    return tuning.layers * (most_tokens(job) - tuning.least + 1);
}

/* A shape that would take too long is left out; its place stays empty. */
static stair_status compute(figure_job *job, int part)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    int each = most_tokens(job) - tuning.least + 1, layers = part / each + 1,
        tokens = tuning.least + part % each;
    char spec[96];
    stair_model *model;
    stair_step step;
    int count = 0;
    snprintf(spec, sizeof spec, "attention:layers=%d,tokens=%d", layers, tokens);
    STAIR_TRY(stair_model_create(job->context, spec, &model));
    stair_status status = stair_threshold(job->context, model, &how, 1, 1, &step, &count);
    stair_model_destroy(&model);
    if (status == STAIR_COSTLY || (count == 0 && status == STAIR_NOT_CONVERGED)) return STAIR_OK;
    STAIR_TRY(figure_reached(job, status, count ? step.error / step.alpha : 0));
    double row[] = {tokens, layers, count ? step.alpha : INFINITY, count ? step.error : 0,
                    1.0 / (tokens * (tokens + 1))};
    return figure_table_add(job->context, job->table, series[layers - 1], row);
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    static const int colours[] = {FIGURE_BLUE, FIGURE_VERMILLION, FIGURE_GREEN, FIGURE_PURPLE};
    snprintf(plot->x_label, FIGURE_TEXT, "tokens $M$");
    snprintf(plot->y_label, FIGURE_TEXT, "first threshold $\\alpha_{1}$");
    plot->x[0] = tuning.least - 0.2, plot->x[1] = most_tokens(job) + 0.2;
    plot->y[0] = 0;
    plot->x_step = 1;
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_GREY, series[0], "tokens", "bound", "", "$1/M(M+1)$");
    for (int k = 0; k < tuning.layers; k++) {
        char title[FIGURE_TEXT];
        snprintf(title, sizeof title, "$L = %d$", k + 1);
        figure_plot_curve(plot, FIGURE_THIN, colours[k], series[k], "tokens", "alpha1", "", "");
        figure_plot_curve(plot, FIGURE_POINTS, colours[k], series[k], "tokens", "alpha1", "alpha1_error",
                          title)
            ->shape = k + 2;
    }
    plot->key_columns = 3;
    return STAIR_OK;
}

const figure_kind figure_thresholds = {
    .name = "thresholds",
    .group = "thresholds",
    .text = "First thresholds of attention against the number of tokens, for one layer to four",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
