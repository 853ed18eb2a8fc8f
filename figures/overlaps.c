/* fig1-left, fig3-left: overlaps and errors of prediction against alpha, of state evolution (lines) and of
 * message passing in finite dimension (crosses).
 *
 * The errors are what the paper plots, E|g(Z) - g(omega)|^2 (plug-in), and the Bayes error below it.  The
 * dashed line is the plug-in error of a student who has the overlap of the last layer and sets the others to
 * zero.  Crosses are squared cosines of estimate and teacher, which tend to Q as D grows and stay below 1;
 * with several rows in a layer they are those of single rows. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int dim, iterations;    /* of message passing, as in the paper */
    int quick_seeds, seeds; /* runs */
    int alphas;             /* where it is run: of them the quick figure has every second */
    int points_2[2],
        points_3[2]; /* of the grid of state evolution, quick and full, of two rows and of more */
    double near[6];  /* points more, behind each step */
    double precision_2[2], precision_3[2]; /* quick and full, of two rows and of more, */
    double noisy_3[2]; /* and where prenoise leaves posteriors to integrate up to the end */
} tuning = {.dim = 1000,
            .iterations = 100,
            .quick_seeds = 4,
            .seeds = 16,
            .alphas = 15,
            .points_2 = {40, 80},
            .points_3 = {60, 60},
            .near = {0, 0.003, 0.01, 0.02, 0.035, 0.06},
            .precision_2 = {1e-2, 1.5e-3},
            .precision_3 = {5e-2, 1e-2},
            .noisy_3 = {5e-2, 2e-2}};

static bool with_runs(const figure_job *job)
{
    return !strcmp(job->kind->group, "fig1-left");
}

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
    snprintf(names + used, size - used,
             " bayes bayes_error plugin plugin_error last_layer last_layer_error runs");
}

static int parts(const figure_job *job)
{
    return 1 + (!with_runs(job) ? 0 : job->quick ? (tuning.alphas + 1) / 2 : tuning.alphas);
}

static stair_asymptotics_options options_of(const figure_job *job)
{
    const double *many = job->info.prenoise > 0 ? tuning.noisy_3 : tuning.precision_3;
    const double *p = job->info.indices > 2 ? many : tuning.precision_2;
    return figure_how(job, p[0], p[1]);
}

/* The paper's axes for its models, else a bit more than the whole staircase. */
static double most_alpha(const figure_job *job)
{
    double last = 0;
    if (!job->request->model) return with_runs(job) ? 1.5 : 3;
    for (int k = 0; k < job->table->marks; k++)
        if (isfinite(job->table->mark[k].value)) last = fmax(last, job->table->mark[k].value);
    return last > 0 ? figure_grid(0, 0.1, (int)ceil(15 * last)) : 1.5;
}

/* ---- state evolution ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* An even grid, and behind each step a few points more, where curves bend. */
static size_t choose_alphas(const figure_job *job, double *alpha)
{
    const int *points = job->info.indices > 2 ? tuning.points_3 : tuning.points_2;
    int pieces = points[job->quick ? 0 : 1], near = (int)(sizeof tuning.near / sizeof *tuning.near);
    double most = most_alpha(job);
    size_t n = 0, kept = 0;
    for (int i = 0; i <= pieces; i++) alpha[n++] = figure_grid(0, most / pieces, i);
    for (int k = 0; k < job->table->marks; k++)
        for (int i = 0; i < near; i++) {
            double at = job->table->mark[k].value + tuning.near[i] * most / 1.5;
            bool weak = !strcmp(job->table->mark[k].name, "weak");
            if (isfinite(at) && at < most && (weak || i == 0)) alpha[n++] = at;
        }
    qsort(alpha, n, sizeof *alpha, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || alpha[i] > alpha[kept - 1] + 1e-9) alpha[kept++] = alpha[i];
    return kept;
}

/* Overlap of the last layer alone: q, error (P, P) to last, last_error (P, P). */
static bool only_last_layer(const figure_job *job, const double *q, const double *q_error, double *last,
                            double *error)
{
    int p = job->info.indices, first = p - job->info.ranks[job->info.layers - 1];
    bool others = false;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            bool keep = i >= first && j >= first;
            others |= !keep && q[i * p + j] != 0;
            last[i * p + j] = keep ? q[i * p + j] : 0;
            error[i * p + j] = keep ? q_error[i * p + j] : 0;
        }
    return others;
}

static stair_status add_point(figure_job *job, const stair_asymptotics_options *how,
                              const stair_sweep_point *at)
{
    int p = job->info.indices, n = 0;
    double row[2 * STAIR_MOST_LEARNS + 8], last[STAIR_MOST_LEARNS * STAIR_MOST_LEARNS],
        error[STAIR_MOST_LEARNS * STAIR_MOST_LEARNS];
    stair_errors alone = at->errors;
    if (figure_is_attention(job) && job->info.layers > 1 && job->info.row_layers == job->info.layers &&
        only_last_layer(job, at->q, at->q_error, last, error)) {
        stair_status status = stair_errors_at(job->context, job->model, how, last, error, &alone);
        if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) return status;
    }
    row[n++] = at->alpha;
    for (int k = 0; k < p; k++) {
        row[n++] = at->q[k * (p + 1)];
        row[n++] = at->q_error[k * (p + 1)];
    }
    row[n++] = at->errors.bayes, row[n++] = at->errors.bayes_error;
    row[n++] = at->errors.plugin, row[n++] = at->errors.plugin_error;
    row[n++] = alone.plugin, row[n++] = alone.plugin_error;
    row[n++] = 0;
    return figure_table_add(job->context, job->table, "theory", row);
}

static stair_status sweep(figure_job *job, const stair_asymptotics_options *how)
{
    size_t most = (size_t)tuning.points_2[1] + 1 + 6 * FIGURE_MARKS;
    size_t cells = (size_t)job->info.indices * (size_t)job->info.indices;
    double *alpha = calloc(most + 2 * cells, sizeof *alpha), *q = alpha + most;
    stair_sweep *all = NULL;
    if (!alpha) return stair_fail(job->context, STAIR_NO_MEMORY, "out of memory");
    size_t count = choose_alphas(job, alpha);
    stair_sweep_point at = {.q = q, .q_error = q + cells};
    stair_status status =
        stair_sweep_create(job->context, job->model, how, STAIR_START_UNINFORMED, count, alpha, &all);
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        status = stair_sweep_next(all, &at);
        if (status == STAIR_OK) status = figure_reached(job, at.status, at.worst);
        if (status == STAIR_OK) status = add_point(job, how, &at);
    }
    stair_sweep_destroy(&all);
    free(alpha);
    return status;
}

static stair_status theory(figure_job *job)
{
    stair_asymptotics_options how = options_of(job);
    stair_step steps[STAIR_MOST_LEARNS + 1];
    int count = 0;
    stair_status status = stair_threshold(job->context, job->model, &how, STAIR_MOST_LEARNS,
                                          STAIR_MOST_LEARNS + 1, steps, &count);
    if (status != STAIR_OK && status != STAIR_NOT_CONVERGED)
        return status; /* labels of steps say their errors */
    STAIR_TRY(figure_mark_steps(job, count, steps));
    return sweep(job, &how);
}

/* ---- message passing ----------------------------------------------------------------------------------- */

static stair_status add_runs(figure_job *job, const stair_gamp_result *result, const stair_gamp_summary *mean)
{
    double row[2 * STAIR_MOST_LEARNS + 8], squares[64];
    int n = 0, p = result->indices;
    row[n++] = result->run[0].alpha;
    for (int k = 0; k < p; k++, n += 2) {
        for (int r = 0; r < result->runs; r++) {
            double cosine = result->run[r].cosine[(result->run[r].count - 1) * p + k];
            squares[r] = cosine * cosine;
        }
        figure_mean(result->runs, squares, &row[n], &row[n + 1]);
    }
    row[n++] = mean->bayes, row[n++] = mean->bayes_error;
    row[n++] = mean->plugin, row[n++] = mean->plugin_error;
    row[n++] = NAN, row[n++] = NAN;
    row[n++] = result->runs;
    return figure_table_add(job->context, job->table, "gamp", row);
}

static stair_status run_at(figure_job *job, double alpha)
{
    stair_gamp_options how = stair_gamp_defaults();
    stair_gamp_result *result = NULL;
    stair_gamp_summary *mean = NULL;
    how.dim = tuning.dim;
    how.alpha = alpha;
    how.seeds = job->quick ? tuning.quick_seeds : tuning.seeds;
    how.seed = job->request->how.seed;
    how.max_iterations = tuning.iterations;
    stair_status status = stair_gamp(job->context, job->model, &how, &result);
    if (status == STAIR_OK) status = stair_gamp_summary_create(job->context, result, NULL, &mean);
    if (status == STAIR_OK) status = add_runs(job, result, mean);
    stair_gamp_summary_destroy(&mean);
    stair_gamp_result_destroy(&result);
    return status;
}

static stair_status compute(figure_job *job, int part)
{
    if (part == 0) return theory(job);
    return run_at(job, figure_grid(0, most_alpha(job) / tuning.alphas, job->quick ? 2 * part - 1 : part));
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static stair_status draw_published(figure_job *job, figure_plot *plot)
{
    static const char *const files[2][4] = {
        {"AMP_2w.csv", "gen_error_AMP_2w.csv", "BO_2w.csv", "gen_error_BO_2w.csv"},
        {NULL, NULL, "BO_3w.csv", "gen_error_BO_3w.csv"}};
    bool titled = false;
    for (int k = 0; k < 4; k++) {
        const char *file = files[with_runs(job) ? 0 : 1][k];
        const figure_table *table;
        if (!file) continue;
        STAIR_TRY(figure_overlay(job, file, &table));
        for (int c = 0; table && c < table->columns; c++) {
            const char *name = table->column[c];
            if (!strcmp(name, "alpha") || strstr(name, "_std")) continue;
            figure_plot_curve(plot, k < 2 ? FIGURE_RINGS : FIGURE_DOTS, FIGURE_GREY, NULL, "alpha", name, "",
                              titled ? "" : "published")
                ->table = table;
            titled = true;
        }
    }
    return STAIR_OK;
}

static void draw_errors(const figure_job *job, figure_plot *plot)
{
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_BLACK, "theory", "alpha", "plugin", "", "plug-in error");
    figure_plot_curve(plot, FIGURE_DOTTED, FIGURE_BLACK, "theory", "alpha", "bayes", "", "Bayes error");
    if (!figure_is_attention(job) || job->info.layers < 2) return;
    char title[FIGURE_TEXT];
    snprintf(title, sizeof title, "layer %d alone", job->info.layers);
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_BLACK, "theory", "alpha", "last_layer", "", title);
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    int p = job->info.indices;
    double most = most_alpha(job);
    snprintf(plot->x_label, FIGURE_TEXT, "sample complexity $\\alpha = N/D$");
    snprintf(plot->y_label, FIGURE_TEXT, "overlap, prediction error");
    plot->x[0] = 0, plot->x[1] = most;
    plot->y[0] = 0, plot->y[1] = 1.02;
    figure_draw_steps(job, plot, most, p > 2 ? 0.77 : 0.66); /* clear of the curves */
    STAIR_TRY(draw_published(job, plot));
    for (int k = 1; k <= p; k++) {
        char name[FIGURE_NAME], error[FIGURE_NAME], title[FIGURE_TEXT];
        int colour = figure_layer_colour(k);
        figure_overlap_name(p, k, false, name);
        figure_overlap_name(p, k, true, error);
        snprintf(title, sizeof title, "$Q_{%d%d}$", k, k);
        figure_plot_curve(plot, FIGURE_BAND, colour, "theory", "alpha", name, error, "");
        figure_plot_curve(plot, FIGURE_LINE, colour, "theory", "alpha", name, "", title);
        if (with_runs(job)) figure_plot_curve(plot, FIGURE_POINTS, colour, "gamp", "alpha", name, error, "");
    }
    draw_errors(job, plot);
    if (with_runs(job))
        figure_plot_curve(plot, FIGURE_POINTS, FIGURE_BLACK, "gamp", "alpha", "plugin", "plugin_error",
                          "GAMP");
    plot->key_columns = 3;
    return STAIR_OK;
}

#define OVERLAPS .columns = columns, .parts = parts, .compute = compute, .draw = draw, .takes_model = true

const figure_kind figure_1_left = {
    .name = "fig1-left",
    .group = "fig1-left",
    .text = "Figure 1 left: overlaps and errors of two layers against alpha, state evolution and GAMP",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    OVERLAPS,
};
const figure_kind figure_1_left_prenoise = {
    .name = "fig1-left-prenoise",
    .group = "fig1-left",
    .text = "Figure 1 left in the setting of the paper, prenoise=1e-3",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .prenoise = true,
    OVERLAPS,
};
const figure_kind figure_3_left = {
    .name = "fig3-left",
    .group = "fig3-left",
    .text = "Figure 3 left: overlaps and errors of three layers against alpha",
    .model = "attention:layers=3,tokens=2,rank=1,skip=1",
    OVERLAPS,
};
const figure_kind figure_3_left_prenoise = {
    .name = "fig3-left-prenoise",
    .group = "fig3-left",
    .text = "Figure 3 left in the setting of the paper, prenoise=1e-3",
    .model = "attention:layers=3,tokens=2,rank=1,skip=1",
    .prenoise = true,
    OVERLAPS,
};
