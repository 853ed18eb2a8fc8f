/* fig2-bottom: cosine of each layer with the teacher, and the error on fresh samples, over epochs of gradient
 * descent: each run thin, their mean strong. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int quick_seeds, seeds, records; /* records: for a factor of 10 in time */
} tuning = {.quick_seeds = 3, .seeds = 8, .records = 24};

static void columns(const figure_job *job, char *names, size_t size)
{
    size_t used = (size_t)snprintf(names, size, "epoch");
    for (int k = 1; k <= job->info.row_layers && used < size; k++)
        used += (size_t)snprintf(names + used, size - used, " cosine%d cosine%d_error", k, k);
    snprintf(names + used, size - used, " train train_error test test_error");
}

static int runs_of(const figure_job *job)
{
    return job->quick ? tuning.quick_seeds : tuning.seeds;
}

/* A run goes on one thread: all at once. */
static int parts(const figure_job *job)
{
    (void)job;
    return 1;
}

static stair_status add_run(figure_job *job, int number, const stair_sgd_run *run)
{
    for (int i = 0; i < run->count; i++) {
        const stair_sgd_record *h = &run->history[i];
        double row[2 * 16 + 8];
        int n = 0;
        row[n++] = h->epoch;
        for (int k = 0; k < job->info.row_layers; k++) row[n++] = h->cosine[k], row[n++] = NAN;
        row[n++] = h->train, row[n++] = NAN;
        row[n++] = h->test, row[n++] = NAN;
        STAIR_TRY(figure_table_add(job->context, job->table, figure_run_name(number), row));
    }
    return STAIR_OK;
}

static stair_status compute(figure_job *job, int part)
{
    stair_sgd_options how = stair_sgd_defaults();
    stair_sgd_result *result;
    (void)part;
    how.seeds = runs_of(job);
    how.seed = job->request->how.seed;
    how.points = tuning.records;
    STAIR_TRY(stair_sgd(job->context, job->model, &how, &result));
    stair_status status = STAIR_OK;
    for (int r = 0; r < result->runs && status == STAIR_OK; r++) status = add_run(job, r, &result->run[r]);
    if (status == STAIR_OK) status = figure_add_means(job, result->runs);
    stair_sgd_result_destroy(&result);
    return status;
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    int layers = job->info.row_layers, runs = runs_of(job);
    snprintf(plot->x_label, FIGURE_TEXT, "epoch of SGD");
    snprintf(plot->y_label, FIGURE_TEXT, "cosine $\\mathcal{C}_{\\ell}$, prediction error");
    plot->log_x = true;
    plot->x[0] = 0.1, plot->x[1] = 1700;
    plot->y[0] = 0, plot->y[1] = 1.02;
    for (int k = 1; k <= layers; k++) {
        char name[FIGURE_NAME], error[FIGURE_NAME], title[FIGURE_TEXT];
        int colour = figure_layer_colour(k);
        snprintf(name, sizeof name, "cosine%d", k);
        snprintf(error, sizeof error, "cosine%d_error", k);
        snprintf(title, sizeof title, "layer %d", k);
        for (int r = 0; r < runs; r++)
            figure_plot_curve(plot, FIGURE_THIN, colour, figure_run_name(r), "epoch", name, "", "");
        figure_plot_curve(plot, FIGURE_LINE, colour, "mean", "epoch", name, "", title);
    }
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_BLACK, "mean", "epoch", "test", "", "plug-in error");
    plot->key_columns = 3;
    return STAIR_OK;
}

const figure_kind figure_2_bottom = {
    .name = "fig2-bottom",
    .group = "fig2-bottom",
    .text = "Figure 2 bottom: cosine of each layer with the teacher over epochs of SGD, D = 500, alpha = 15",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .takes_model = true,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
