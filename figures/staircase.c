/* staircase: overlaps and errors of prediction against alpha, from nothing to perfect recovery. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    int quick_between,
        between;         /* points from one step to the next: those of the quick figure are among them */
    double precision[2]; /* quick and full */
} tuning = {.quick_between = 24, .between = 48, .precision = {1e-2, 5e-3}};

static void columns(const figure_job *job, char *names, size_t size)
{
    int p = job->info.indices;
    size_t used = (size_t)snprintf(names, size, "alpha");
    for (int k = 1; k <= p && used < size; k++) {
        char name[FIGURE_NAME], error[FIGURE_NAME];
        figure_overlap_name(p, k, false, name);
        figure_overlap_name(p, k, true, error);
        used += (size_t)snprintf(names + used, size - used, " %s %s", name, error);
    }
    snprintf(names + used, size - used, " bayes bayes_error plugin plugin_error weights weights_error");
}

static int parts(const figure_job *job)
{
    (void)job;
    return 1;
}

static stair_status compute(figure_job *job, int part)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    stair_staircase_curve *curve;
    double row[2 * STAIR_MOST_LEARNS + 8];
    (void)part;
    stair_status status = stair_staircase_curve_create(
        job->context, job->model, &how, job->quick ? tuning.quick_between : tuning.between, &curve);
    if (!curve) return status;
    status = figure_reached(job, status, curve->worst);
    if (status == STAIR_OK) status = figure_mark_steps(job, curve->steps, curve->step);
    for (int i = 0; i < curve->points && status == STAIR_OK; i++) {
        const stair_errors *e = &curve->errors[i];
        int n = 0, p = curve->indices;
        row[n++] = curve->alpha[i];
        for (int k = 0; k < p; k++) {
            row[n++] = curve->q[i * p + k];
            row[n++] = curve->q_error[i * p + k];
        }
        row[n++] = e->bayes, row[n++] = e->bayes_error;
        row[n++] = e->plugin, row[n++] = e->plugin_error;
        row[n++] = e->weights, row[n++] = e->weights_error;
        status = figure_table_add(job->context, job->table, "", row);
    }
    stair_staircase_curve_destroy(&curve);
    return status;
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    const figure_table *t = job->table;
    int p = job->info.indices;
    double most = figure_table_at(t, t->rows - 1, "alpha"), top = 1;
    snprintf(plot->x_label, FIGURE_TEXT, "samples per dimension $\\alpha = N/D$");
    snprintf(plot->y_label, FIGURE_TEXT, "overlap, error");
    for (int i = 0; i < t->rows; i++) top = fmax(top, figure_table_at(t, i, "plugin"));
    plot->x[0] = 0, plot->x[1] = most;
    plot->y[0] = 0, plot->y[1] = 1.02 * top;
    figure_draw_steps(job, plot, most, 0.66);
    for (int k = 1; k <= p; k++) {
        char name[FIGURE_NAME], error[FIGURE_NAME], title[FIGURE_TEXT];
        figure_overlap_name(p, k, false, name);
        figure_overlap_name(p, k, true, error);
        snprintf(title, sizeof title, "$Q_{%d%d}$", k, k);
        figure_plot_curve(plot, FIGURE_BAND, figure_layer_colour(k), NULL, "alpha", name, error, "");
        figure_plot_curve(plot, FIGURE_LINE, figure_layer_colour(k), NULL, "alpha", name, "", title);
    }
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_BLACK, NULL, "alpha", "bayes", "", "Bayes error");
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_BLACK, NULL, "alpha", "plugin", "", "plug-in error");
    plot->key_columns = p == 2 ? 2 : 3;
    return STAIR_OK;
}

const figure_kind figure_staircase = {
    .name = "staircase",
    .group = "staircase",
    .text = "The staircase: overlap of each layer and errors of prediction against alpha",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .takes_model = true,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
