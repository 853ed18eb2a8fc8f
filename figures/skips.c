/* fig1-right, phase-diagram: at which alpha each layer of two is learned, against the skip strength c; as
 * lines, and as areas coloured by what is learned. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double quick_skips[] = {0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4};
static const double full_skips[] = {0.1,  0.175, 0.25, 0.375, 0.5,  0.625, 0.75, 0.875, 1,    1.25, 1.5,
                                    1.75, 2,     2.25, 2.5,   2.75, 3,     3.25, 3.5,   3.75, 4};
static const struct {
    double quick, full; /* precision */
    double most;        /* alpha that is shown */
} tuning = {.quick = 5e-3, .full = 1e-3, .most = 1.2};

#define MODEL "attention:layers=2,tokens=2,rank=1"

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "skip alpha1 alpha1_error alpha2 alpha2_error perfect perfect_error zero top");
}

static int parts(const figure_job *job)
{
    return job->quick ? (int)(sizeof quick_skips / sizeof *quick_skips)
                      : (int)(sizeof full_skips / sizeof *full_skips);
}

/* alpha1: where layer 1 is learned, alpha2: where layer 2 is, whichever comes first. */
static void fill_row(int count, const stair_step *steps, double row[9])
{
    for (int k = 1; k < 7; k++) row[k] = k % 2 ? INFINITY : 0;
    for (int k = 0; k < count; k++) {
        if (steps[k].kind == STAIR_STEP_PERFECT) {
            row[5] = steps[k].alpha, row[6] = steps[k].error;
            continue;
        }
        for (int i = 0; i < steps[k].learn_count; i++) {
            int layer = steps[k].learns[i];
            if (layer < 1 || layer > 2 || isfinite(row[2 * layer - 1])) continue;
            row[2 * layer - 1] = steps[k].alpha;
            row[2 * layer] = steps[k].error;
        }
    }
    row[7] = 0, row[8] = tuning.most;
}

static stair_status compute(figure_job *job, int part)
{
    stair_asymptotics_options how = figure_how(job, tuning.quick, tuning.full);
    double row[9] = {(job->quick ? quick_skips : full_skips)[part]};
    char spec[128];
    stair_model *model;
    stair_step steps[8];
    int count = 0;
    snprintf(spec, sizeof spec, MODEL ",skip=%g%s", row[0], job->kind->prenoise ? ",prenoise=1e-3" : "");
    STAIR_TRY(stair_model_create(job->context, spec, &model));
    stair_status status = stair_threshold(job->context, model, &how, 7, 8, steps, &count);
    stair_model_destroy(&model);
    double worst = 0;
    for (int k = 0; k < count; k++) worst = fmax(worst, steps[k].error / steps[k].alpha);
    STAIR_TRY(figure_reached(job, status, worst));
    fill_row(count, steps, row);
    return figure_table_add(job->context, job->table, "", row);
}

static void draw_axes(figure_plot *plot, double least)
{
    snprintf(plot->x_label, FIGURE_TEXT, "skip strength $c$");
    snprintf(plot->y_label, FIGURE_TEXT, "sample complexity $\\alpha$");
    plot->x[0] = least, plot->x[1] = 4;
    plot->y[0] = 0, plot->y[1] = tuning.most;
}

static stair_status draw_published(figure_job *job, figure_plot *plot)
{
    const figure_table *table;
    STAIR_TRY(figure_overlay(job, "alpha_critical.csv", &table));
    for (int layer = 1; table && layer <= 2; layer++)
        figure_plot_curve(plot, layer == 1 ? FIGURE_RINGS : FIGURE_DOTS, FIGURE_GREY, NULL, "skip",
                          layer == 1 ? "alpha1" : "alpha2", "",
                          layer == 1 ? "published, layer 1" : "published, layer 2")
            ->table = table;
    return STAIR_OK;
}

static void draw_lines(const figure_job *job, figure_plot *plot)
{
    figure_plot_curve(plot, FIGURE_BAND, FIGURE_VERMILLION, NULL, "skip", "alpha2", "alpha2_error", "");
    figure_plot_curve(plot, FIGURE_BAND, FIGURE_BLUE, NULL, "skip", "alpha1", "alpha1_error", "");
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_BLUE, NULL, "skip", "alpha1", "", "layer 1");
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_VERMILLION, NULL, "skip", "alpha2", "", "layer 2");
    if (!job->kind->prenoise)
        figure_plot_curve(plot, FIGURE_DASHED, FIGURE_BLACK, NULL, "skip", "perfect", "", "exact recovery");
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    draw_axes(plot, 0);
    STAIR_TRY(draw_published(job, plot));
    draw_lines(job, plot);
    plot->key_columns = 3;
    return STAIR_OK;
}

static void draw_area(figure_plot *plot, int colour, const char *low, const char *high)
{
    figure_curve *c = figure_plot_curve(plot, FIGURE_AREA, colour, NULL, "skip", low, "", "");
    snprintf(c->other, sizeof c->other, "%s", high);
}

static stair_status draw_areas(figure_job *job, figure_plot *plot)
{
    draw_axes(plot, quick_skips[0]);
    draw_area(plot, FIGURE_GREY, "zero", "alpha2");
    draw_area(plot, FIGURE_VERMILLION, "alpha2", "alpha1");
    draw_area(plot, FIGURE_BLUE, "alpha1", "perfect");
    draw_area(plot, FIGURE_GREEN, "perfect", "top");
    draw_lines(job, plot);
    static const struct {
        double height;
        const char *text;
    } names[] = {{0.07, "nothing is learned"},
                 {0.37, "layer 2 is learned"},
                 {0.715, "layers 2 and 1 are learned"},
                 {0.92, "all weights exactly"}};
    for (int k = 0; k < 4; k++) {
        figure_plot_label(plot, 2, names[k].height, false, names[k].text);
        plot->label[plot->labels - 1].centre = true;
    }
    plot->key_columns = 0;
    return STAIR_OK;
}

const figure_kind figure_1_right = {
    .name = "fig1-right",
    .group = "fig1-right",
    .text = "Figure 1 right: thresholds of two layers against the skip strength",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
const figure_kind figure_1_right_prenoise = {
    .name = "fig1-right-prenoise",
    .group = "fig1-right",
    .text = "Figure 1 right in the setting of the paper, prenoise=1e-3",
    .prenoise = true,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
const figure_kind figure_phase_diagram = {
    .name = "phase-diagram",
    .group = "phase-diagram",
    .text = "Phase diagram of two layers: what is learned at skip strength c and alpha samples per dimension",
    .numbers_of = &figure_1_right,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw_areas,
};
