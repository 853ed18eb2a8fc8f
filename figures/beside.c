/* sgd-bayes: what gradient descent makes of alpha D samples beside what can be made of them: overlaps of the
 * Bayes-optimal estimator (lines) and squared cosines that SGD ends with (points), and the plug-in errors.
 *
 * SGD has the rate, decay, batches and start of the paper's figure 2 in dimension 250, and the same number of
 * batches at each alpha. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>

static const double alphas[] = {0.25, 0.5, 1, 2, 4, 8, 16};
enum { ALPHAS = sizeof alphas / sizeof *alphas };
static const struct {
    int dim, batches, quick_seeds, seeds;
    double least, most; /* alpha */
    int points;         /* of the lines, for a factor of 10 */
    double precision[2];
} tuning = {.dim = 250,
            .batches = 15000,
            .quick_seeds = 6,
            .seeds = 16,
            .least = 0.1,
            .most = 20,
            .points = 24,
            .precision = {5e-3, 2e-3}};

static void columns(const figure_job *job, char *names, size_t size)
{
    size_t used = (size_t)snprintf(names, size, "alpha");
    for (int k = 1; k <= job->info.indices && used < size; k++)
        used += (size_t)snprintf(names + used, size - used, " Q%d%d Q%d%d_error", k, k, k, k);
    snprintf(names + used, size - used, " plugin plugin_error runs");
}

static int parts(const figure_job *job)
{
    (void)job;
    return 1 + ALPHAS;
}

static stair_status theory(figure_job *job)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    double alpha[96], q[4], error[4];
    size_t count = 0;
    stair_sweep *all;
    stair_sweep_point at = {.q = q, .q_error = error};
    for (double a = log10(tuning.least); a < log10(tuning.most) && count < 96; a += 1.0 / tuning.points)
        alpha[count++] = figure_grid(pow(10, a), 0, 0);
    STAIR_TRY(stair_sweep_create(job->context, job->model, &how, STAIR_START_UNINFORMED, count, alpha, &all));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        status = stair_sweep_next(all, &at);
        if (status == STAIR_OK) status = figure_reached(job, at.status, at.worst);
        double row[] = {at.alpha, q[0], error[0], q[3], error[3], at.errors.plugin, at.errors.plugin_error,
                        0};
        if (status == STAIR_OK) status = figure_table_add(job->context, job->table, "bayes", row);
    }
    stair_sweep_destroy(&all);
    return status;
}

static void add_ends(const stair_sgd_result *result, double row[8])
{
    double ends[3][16];
    for (int r = 0; r < result->runs; r++) {
        const stair_sgd_record *last = &result->run[r].history[result->run[r].count - 1];
        ends[0][r] = last->cosine[0] * last->cosine[0];
        ends[1][r] = last->cosine[1] * last->cosine[1];
        ends[2][r] = last->test;
    }
    for (int k = 0; k < 3; k++) figure_mean(result->runs, ends[k], &row[1 + 2 * k], &row[2 + 2 * k]);
    row[7] = result->runs;
}

static stair_status descend(figure_job *job, double alpha)
{
    stair_sgd_options how = stair_sgd_defaults();
    stair_sgd_result *result;
    double row[8] = {alpha}, samples = alpha * tuning.dim;
    how.dim = tuning.dim;
    how.alpha = alpha;
    how.epochs = (int)ceil(tuning.batches / ceil(samples / how.batch));
    how.seeds = job->quick ? tuning.quick_seeds : tuning.seeds;
    how.seed = job->request->how.seed;
    how.points = 1;
    STAIR_TRY(stair_sgd(job->context, job->model, &how, &result));
    add_ends(result, row);
    stair_sgd_result_destroy(&result);
    return figure_table_add(job->context, job->table, "sgd", row);
}

static stair_status compute(figure_job *job, int part)
{
    return part == 0 ? theory(job) : descend(job, alphas[part - 1]);
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    (void)job;
    snprintf(plot->x_label, FIGURE_TEXT, "sample complexity $\\alpha = N/D$");
    snprintf(plot->y_label, FIGURE_TEXT, "overlap, prediction error");
    plot->log_x = true;
    plot->x[0] = tuning.least, plot->x[1] = tuning.most;
    plot->y[0] = 0, plot->y[1] = 1.02;
    static const struct {
        const char *name, *error, *title;
        int colour;
    } shown[] = {{"Q11", "Q11_error", "layer 1", FIGURE_BLUE},
                 {"Q22", "Q22_error", "layer 2", FIGURE_VERMILLION},
                 {"plugin", "plugin_error", "plug-in error", FIGURE_BLACK}};
    for (int k = 0; k < 3; k++)
        figure_plot_curve(plot, FIGURE_LINE, shown[k].colour, "bayes", "alpha", shown[k].name, "",
                          shown[k].title);
    for (int k = 0; k < 3; k++) {
        figure_plot_curve(plot, FIGURE_DOTTED, shown[k].colour, "sgd", "alpha", shown[k].name, "", "");
        figure_plot_curve(plot, FIGURE_POINTS, shown[k].colour, "sgd", "alpha", shown[k].name, shown[k].error,
                          k == 2 ? "SGD, $D = 250$" : "")
            ->shape = 3;
    }
    plot->key_columns = 2;
    return STAIR_OK;
}

const figure_kind figure_sgd_bayes = {
    .name = "sgd-bayes",
    .group = "sgd-bayes",
    .text = "SGD beside the Bayes-optimal estimator: overlaps and errors of two layers against alpha",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
