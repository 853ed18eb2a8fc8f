/* What several figures share. */
#include "figure.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

stair_asymptotics_options figure_how(const figure_job *job, double quick, double full)
{
    stair_asymptotics_options how = job->request->how;
    if (!job->request->precise) how.precision = job->quick ? quick : full;
    if (!job->request->model) how.patience = 0; /* what the figures of the project take is known */
    return how;
}

stair_status figure_reached(figure_job *job, stair_status status, double error)
{
    if (status != STAIR_NOT_CONVERGED) return status;
    job->missed = fmax(job->missed, error);
    return STAIR_OK;
}

void figure_overlap_name(int indices, int k, bool error, char name[FIGURE_NAME])
{
    snprintf(name, FIGURE_NAME, "Q%d%s%d%s", k, indices > 9 ? "_" : "", k, error ? "_error" : "");
}

stair_status figure_mark_steps(figure_job *job, int count, const stair_step *steps)
{
    for (int k = 0; k < count; k++) {
        char text[FIGURE_TEXT] = "";
        for (int i = 0, used = 0; i < steps[k].learn_count && used < FIGURE_TEXT - 4; i++)
            used +=
                snprintf(text + used, sizeof text - (size_t)used, "%s%d", i ? " " : "", steps[k].learns[i]);
        STAIR_TRY(figure_table_mark(job->context, job->table, stair_step_kind_name(steps[k].kind),
                                    steps[k].alpha, steps[k].error, text));
    }
    return STAIR_OK;
}

/* Decimals of a step: the last one is wrong by less than one, up to three. */
static int decimals(double error)
{
    return error > 0 ? (int)fmin(3, fmax(1, floor(-log10(error)))) : 3;
}

/* Nothing learned is grey; from a weak step on the colour of what it learns; white from perfect recovery. */
void figure_draw_steps(const figure_job *job, figure_plot *plot, double most, double height)
{
    const figure_table *t = job->table;
    double from = isfinite(plot->x[0]) ? plot->x[0] : 0;
    int colour = FIGURE_GREY, weak = 0;
    for (int k = 0; k < t->marks; k++) {
        const figure_mark *m = &t->mark[k];
        bool perfect = !strcmp(m->name, "perfect");
        if ((!perfect && strcmp(m->name, "weak") != 0) || !isfinite(m->value) || m->value >= most) continue;
        char text[FIGURE_TEXT];
        if (perfect)
            snprintf(text, sizeof text, "exact recovery");
        else
            snprintf(text, sizeof text, "$\\alpha_{%d} = %.*f$", ++weak, decimals(m->error), m->value);
        if (colour >= 0) figure_plot_range(plot, from, m->value, colour);
        figure_plot_label(plot, m->value, perfect ? 0.35 : height, true, text);
        plot->label[plot->labels - 1].right = perfect;
        from = m->value;
        colour = perfect ? -1 : figure_layer_colour(atoi(m->text));
    }
    if (colour >= 0) figure_plot_range(plot, from, most, colour);
}

stair_status figure_overlay(figure_job *job, const char *file, const figure_table **table)
{
    char path[4096];
    struct stat about;
    *table = NULL;
    if (!job->request->overlay || job->overlays == (int)(sizeof job->overlay / sizeof *job->overlay))
        return STAIR_OK;
    snprintf(path, sizeof path, "%s/%s", job->request->overlay, file);
    if (stat(path, &about)) return STAIR_OK;
    STAIR_TRY(figure_table_import(job->context, path, &job->overlay[job->overlays]));
    *table = job->overlay[job->overlays++];
    return STAIR_OK;
}

double figure_grid(double from, double step, int i)
{
    char text[40];
    snprintf(text, sizeof text, "%.6f", from + i * step);
    return strtod(text, NULL);
}

void figure_mean(int n, const double *values, double *mean, double *error)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += values[i];
    *mean = sum / n;
    *error = n > 1 ? stair_replicate_error(n, values) : NAN;
}

const char *figure_run_name(int run)
{
    static const char *const names[FIGURE_RUNS] = {"run1",  "run2",  "run3",  "run4",  "run5",  "run6",
                                                   "run7",  "run8",  "run9",  "run10", "run11", "run12",
                                                   "run13", "run14", "run15", "run16"};
    return names[run];
}

static int first_row(const figure_table *t, const char *series, int *count)
{
    int first = 0;
    while (first < t->rows && strcmp(t->series[first], series) != 0) first++;
    for (*count = 0; first + *count < t->rows && !strcmp(t->series[first + *count], series);) ++*count;
    return first;
}

stair_status figure_add_means(figure_job *job, int runs)
{
    figure_table *t = job->table;
    int first[FIGURE_RUNS], count[FIGURE_RUNS];
    size_t columns = (size_t)t->columns;
    double *row = calloc(columns, sizeof *row), values[FIGURE_RUNS];
    stair_status status = row ? STAIR_OK : stair_fail(job->context, STAIR_NO_MEMORY, "out of memory");
    for (int r = 0; r < runs; r++) first[r] = first_row(t, figure_run_name(r), &count[r]);
    for (int i = 0; i < count[0] && status == STAIR_OK; i++) {
        row[0] = t->cell[(size_t)(first[0] + i) * columns];
        for (size_t k = 1; k + 1 < columns; k += 2) {
            int n = 0;
            for (int r = 0; r < runs; r++)
                if (i < count[r]) values[n++] = t->cell[(size_t)(first[r] + i) * columns + k];
            figure_mean(n, values, &row[k], &row[k + 1]);
        }
        status = figure_table_add(job->context, t, "mean", row);
    }
    free(row);
    return status;
}

bool figure_is_attention(const figure_job *job)
{
    return !strncmp(job->info.name, "attention", 9);
}
