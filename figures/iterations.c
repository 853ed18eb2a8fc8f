/* fig2-top: cosine of each layer with the teacher, and the plug-in error, over iterations of message passing.
 * The paper shows one run; here it is drawn strong, and others thin. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int dim, iterations;
    double alpha;
    int quick_seeds, seeds;
} tuning = {.dim = 1000, .iterations = 60, .alpha = 1.2, .quick_seeds = 3, .seeds = 8};

static void columns(const figure_job *job, char *names, size_t size)
{
    size_t used = (size_t)snprintf(names, size, "iteration");
    for (int k = 1; k <= job->info.indices && used < size; k++)
        used += (size_t)snprintf(names + used, size - used, " cosine%d", k);
    snprintf(names + used, size - used, " bayes bayes_error plugin plugin_error");
}

static int parts(const figure_job *job)
{
    return job->quick ? tuning.quick_seeds : tuning.seeds;
}

static stair_status add_history(figure_job *job, int part, const stair_gamp_run *run)
{
    int p = job->info.indices;
    for (int i = 0; i < run->count; i++) {
        double row[STAIR_MOST_LEARNS + 8];
        const stair_gamp_record *h = &run->history[i];
        int n = 0;
        row[n++] = i;
        for (int k = 0; k < p; k++) row[n++] = fabs(run->cosine[i * p + k]);
        row[n++] = h->bayes, row[n++] = h->bayes_error;
        row[n++] = h->plugin, row[n++] = h->plugin_error;
        STAIR_TRY(figure_table_add(job->context, job->table, figure_run_name(part), row));
    }
    return STAIR_OK;
}

static stair_status compute(figure_job *job, int part)
{
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result;
    how.dim = tuning.dim;
    how.alpha = tuning.alpha;
    how.max_iterations = tuning.iterations;
    how.all_errors = true;
    how.seed = job->request->how.seed + (uint64_t)part;
    STAIR_TRY(stair_gamp(job->context, job->model, &how, &result));
    stair_status status = add_history(job, part, &result->run[0]);
    stair_gamp_result_destroy(&result);
    return status;
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    int p = job->info.indices, runs = parts(job);
    snprintf(plot->x_label, FIGURE_TEXT, "iteration of GAMP");
    snprintf(plot->y_label, FIGURE_TEXT, "cosine $\\mathcal{C}_{\\ell}$, prediction error");
    plot->x[0] = 0, plot->x[1] = tuning.iterations;
    plot->y[0] = 0, plot->y[1] = 1.02;
    for (int r = runs - 1; r >= 0; r--)
        for (int k = 1; k <= p; k++) {
            char name[FIGURE_NAME], title[FIGURE_TEXT];
            snprintf(name, sizeof name, "cosine%d", k);
            snprintf(title, sizeof title, job->info.layers == p ? "layer %d" : "row %d", k);
            figure_plot_curve(plot, r ? FIGURE_THIN : FIGURE_LINE, figure_layer_colour(k), figure_run_name(r),
                              "iteration", name, "", r ? "" : title);
        }
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_BLACK, figure_run_name(0), "iteration", "plugin", "",
                      "plug-in error");
    plot->key_columns = 3;
    return STAIR_OK;
}

#define ITERATIONS                                                                                           \
    .model = "attention:layers=2,tokens=2,rank=1,skip=1", .takes_model = true, .columns = columns,           \
    .parts = parts, .compute = compute, .draw = draw

const figure_kind figure_2_top = {
    .name = "fig2-top",
    .group = "fig2-top",
    .text =
        "Figure 2 top: cosine of each layer with the teacher over iterations of GAMP, D = 1000, alpha = 1.2",
    ITERATIONS,
};
const figure_kind figure_2_top_prenoise = {
    .name = "fig2-top-prenoise",
    .group = "fig2-top",
    .text = "Figure 2 top in the setting of the paper, prenoise=1e-3",
    .prenoise = true,
    ITERATIONS,
};
