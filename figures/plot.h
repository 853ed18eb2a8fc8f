/* What a figure shows, apart from how it is drawn: axes, curves that name columns of a table, shaded ranges
 * and labels.  gnuplot.c and pgfplots.c draw it.
 *
 * Texts are LaTeX of a small kind: plain words, and between dollars letters, digits, _{..}, ^{..}, Greek
 * letters and a few signs (label.c). */
#ifndef STAIR_FIGURES_PLOT_H
#define STAIR_FIGURES_PLOT_H

#include "table.h"

/* Colours that people with colour-blindness tell apart (Okabe and Ito), by number; black and grey. */
enum {
    FIGURE_BLACK,
    FIGURE_BLUE,
    FIGURE_VERMILLION,
    FIGURE_GREEN,
    FIGURE_PURPLE,
    FIGURE_ORANGE,
    FIGURE_SKY,
    FIGURE_YELLOW,
    FIGURE_GREY,
    FIGURE_COLOURS
};
const char *figure_colour(int colour);      /* "0072B2" */
const char *figure_colour_tint(int colour); /* the same, light: for areas */
int figure_layer_colour(int layer);         /* of layer or index 1, 2, ... */

typedef enum {
    FIGURE_LINE,
    FIGURE_DASHED,
    FIGURE_DOTTED,
    FIGURE_THIN,   /* a line, faint: one of many runs */
    FIGURE_BAND,   /* y +- error, an area */
    FIGURE_AREA,   /* between y and `other` */
    FIGURE_POINTS, /* crosses, with error bars where `error` is named */
    FIGURE_DOTS,   /* small discs */
    FIGURE_RINGS   /* small circles */
} figure_style;

typedef struct {
    const figure_table *table;                               /* NULL: that of the figure */
    const char *series;                                      /* rows of this one; NULL: all rows */
    char x[FIGURE_NAME], y[FIGURE_NAME], error[FIGURE_NAME]; /* columns; error: empty for none */
    char other[FIGURE_NAME];                                 /* FIGURE_AREA: the other edge */
    figure_style style;
    int colour, shape;
    char title[FIGURE_TEXT]; /* in the key; empty: none */
} figure_curve;

typedef struct {
    double from, to;
    int colour;
} figure_range;

/* A text at x, and at a height from 0 to 1 of the frame; with a vertical line where `line` is set, and then
 * along it, left of it or right. */
typedef struct {
    double x, height;
    bool line, right, centre;
    char text[FIGURE_TEXT];
} figure_label;

#define FIGURE_CURVES 64
typedef struct {
    const figure_table *table;
    char x_label[FIGURE_TEXT], y_label[FIGURE_TEXT];
    double x[2], y[2]; /* NaN: as the data need it */
    bool log_x, log_y;
    double x_step; /* from one tick to the next; 0: as it fits */
    int curves, ranges, labels;
    figure_curve curve[FIGURE_CURVES];
    figure_range range[16];
    figure_label label[32];
    int key_columns; /* of the key, which stands above the frame; 0: no key */
} figure_plot;

/* Each of them adds one; what is beyond the room there is is left out. */
figure_curve *figure_plot_curve(figure_plot *plot, figure_style style, int colour, const char *series,
                                const char *x, const char *y, const char *error, const char *title);
void figure_plot_range(figure_plot *plot, double from, double to, int colour);
void figure_plot_label(figure_plot *plot, double x, double height, bool line, const char *text);

typedef enum { FIGURE_COLUMN, FIGURE_PAGE, FIGURE_SLIDE, FIGURE_SIZES } figure_size;
typedef struct {
    const char *name;
    double width, height; /* inches */
    double font;          /* points */
    double line, point;   /* widths of lines in points, sizes of points */
} figure_measure;
extern const figure_measure figure_measures[FIGURE_SIZES];

/* LaTeX to gnuplot's enhanced text; text (size). */
void figure_label_gnuplot(const char *tex, char *text, size_t size);

/* Data of curve k as the lines of a file, in the order x y low high (of the bar) or x low high (areas). */
void figure_curve_write(const figure_plot *plot, int k, FILE *file);

/* The script for gnuplot, which draws plot.pdf, plot.svg and plot.png from curve0.dat, curve1.dat, ... */
void figure_gnuplot_write(const figure_plot *plot, const figure_measure *measure, FILE *file);
/* A LaTeX picture for the package pgfplots, data included. */
void figure_pgfplots_write(const figure_plot *plot, const figure_measure *measure, const char *head,
                           FILE *file);

#endif
