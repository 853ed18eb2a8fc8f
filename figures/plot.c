/* Building plots, and what both ways of drawing them share. */
#include "plot.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *plain, *tint;
} colours[FIGURE_COLOURS] = {
    [FIGURE_BLACK] = {"000000", "D9D9D9"},      [FIGURE_BLUE] = {"0072B2", "D6E8F3"},
    [FIGURE_VERMILLION] = {"D55E00", "FBE5D6"}, [FIGURE_GREEN] = {"009E73", "D5EFE7"},
    [FIGURE_PURPLE] = {"CC79A7", "F6E6EF"},     [FIGURE_ORANGE] = {"E69F00", "FBEFD4"},
    [FIGURE_SKY] = {"56B4E9", "E0F1FB"},        [FIGURE_YELLOW] = {"F0E442", "FCFAD9"},
    [FIGURE_GREY] = {"8C8C8C", "EFEFEF"},
};

const figure_measure figure_measures[FIGURE_SIZES] = {
    [FIGURE_COLUMN] = {"column", 3.3, 2.5, 8, 1.2, 0.45},
    [FIGURE_PAGE] = {"page", 6.5, 4.2, 10, 1.6, 0.7},
    [FIGURE_SLIDE] = {"slide", 10, 5.625, 20, 3, 1.3},
};

const char *figure_colour(int colour)
{
    return colours[colour].plain;
}

const char *figure_colour_tint(int colour)
{
    return colours[colour].tint;
}

int figure_layer_colour(int layer)
{
    static const int order[] = {FIGURE_BLUE,   FIGURE_VERMILLION, FIGURE_GREEN,
                                FIGURE_PURPLE, FIGURE_ORANGE,     FIGURE_SKY};
    return order[(layer - 1) % 6];
}

figure_curve *figure_plot_curve(figure_plot *plot, figure_style style, int colour, const char *series,
                                const char *x, const char *y, const char *error, const char *title)
{
    static figure_curve beyond; /* written to and never read */
    if (plot->curves == FIGURE_CURVES) return &beyond;
    figure_curve *c = &plot->curve[plot->curves++];
    *c = (figure_curve){.series = series, .style = style, .colour = colour};
    snprintf(c->x, sizeof c->x, "%s", x);
    snprintf(c->y, sizeof c->y, "%s", y);
    snprintf(c->error, sizeof c->error, "%s", error);
    snprintf(c->title, sizeof c->title, "%s", title);
    return c;
}

void figure_plot_range(figure_plot *plot, double from, double to, int colour)
{
    if (plot->ranges < (int)(sizeof plot->range / sizeof *plot->range))
        plot->range[plot->ranges++] = (figure_range){from, to, colour};
}

void figure_plot_label(figure_plot *plot, double x, double height, bool line, const char *text)
{
    if (plot->labels == (int)(sizeof plot->label / sizeof *plot->label)) return;
    figure_label *l = &plot->label[plot->labels++];
    *l = (figure_label){.x = x, .height = height, .line = line};
    snprintf(l->text, sizeof l->text, "%s", text);
}

/* Rows where something is not a number are left out: gnuplot and LaTeX would stumble over them. */
void figure_curve_write(const figure_plot *plot, int k, FILE *file)
{
    const figure_curve *c = &plot->curve[k];
    const figure_table *t = c->table ? c->table : plot->table;
    for (int row = 0; row < t->rows; row++) {
        if (c->series && strcmp(t->series[row], c->series) != 0) continue;
        double x = figure_table_at(t, row, c->x), y = figure_table_at(t, row, c->y);
        double error = *c->error ? figure_table_at(t, row, c->error) : 0, low = y - error, high = y + error;
        if (c->style == FIGURE_AREA) {
            low = fmin(y, figure_table_at(t, row, c->other));
            high = fmax(y, figure_table_at(t, row, c->other));
        }
        if (!isfinite(x) || !isfinite(y) || (plot->log_x && x <= 0) || (plot->log_y && y <= 0)) continue;
        if (!isfinite(low) || !isfinite(high)) low = high = y;
        if (plot->log_y && low <= 0) low = y / 10;
        if (c->style == FIGURE_BAND || c->style == FIGURE_AREA)
            fprintf(file, "%.9g %.9g %.9g\n", x, low, high);
        else
            fprintf(file, "%.9g %.9g %.9g %.9g\n", x, y, low, high);
    }
}
