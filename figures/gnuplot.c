/* A plot as a script for gnuplot.  File names in it are fixed and plain, so that nothing a user gives is ever
 * read by gnuplot as a pipe or a command. */
#include "plot.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *font;
    double dots;   /* of the PNG, an inch */
    double cairo;  /* points of a font to what the terminals of cairo call points: they draw at 96 an inch */
    double thick;  /* lines of the PDF terminal are half as wide as they say */
    double frame;  /* lines of axes and steps, as a share of those of curves */
    double key[2]; /* room of an entry of the key in letters: more, less for each narrow one */
} tuning = {.font = "CMU Serif", .dots = 300, .cairo = 0.75, .thick = 2, .frame = 0.6, .key = {1.1, 0.22}};

static void write_terminal(const figure_measure *m, int pass, FILE *file)
{
    double svg = 96.0 / 72, png = tuning.dots / 72;
    if (pass == 0)
        fprintf(file, "set terminal pdfcairo enhanced size %gin,%gin font '%s,%g' linewidth %g fontscale 1\n",
                m->width, m->height, tuning.font, m->font * tuning.cairo, tuning.thick);
    else if (pass == 1)
        fprintf(file, "set terminal svg enhanced size %g,%g font '%s,%g' linewidth %g background 'white'\n",
                floor(m->width * 96), floor(m->height * 96), tuning.font, m->font * svg, svg);
    else
        fprintf(file, "set terminal pngcairo enhanced size %g,%g font '%s,%g' linewidth %g pointscale %g\n",
                floor(m->width * tuning.dots), floor(m->height * tuning.dots), tuning.font,
                m->font * tuning.cairo * png, png, png);
    fprintf(file, "set output 'plot.%s'\n", pass == 0 ? "pdf" : pass == 1 ? "svg" : "png");
}

static void write_end(double value, FILE *file)
{
    if (isfinite(value))
        fprintf(file, "%.9g", value);
    else
        putc('*', file);
}

static void write_axis(char axis, const double range[2], bool log, const char *tex, FILE *file)
{
    char text[4 * FIGURE_TEXT];
    figure_label_gnuplot(tex, text, sizeof text);
    fprintf(file, "set %clabel \"%s\"\nset %crange [", axis, text, axis);
    write_end(range[0], file);
    putc(':', file);
    write_end(range[1], file);
    fputs("]\n", file);
    if (log) fprintf(file, "set logscale %c\nset format %c \"10^{%%T}\"\n", axis, axis);
}

static void write_ranges(const figure_plot *p, FILE *file)
{
    for (int k = 0; k < p->ranges; k++) {
        const figure_range *r = &p->range[k];
        fprintf(file, "set object %d rectangle from first %.9g, graph 0 to first %.9g, graph 1 behind ",
                k + 1, r->from, r->to);
        fprintf(file, "fillcolor rgb '#%s' fillstyle solid 1 noborder\n", figure_colour_tint(r->colour));
    }
}

static void write_labels(const figure_plot *p, const figure_measure *m, FILE *file)
{
    for (int k = 0; k < p->labels; k++) {
        const figure_label *l = &p->label[k];
        char text[4 * FIGURE_TEXT];
        figure_label_gnuplot(l->text, text, sizeof text);
        if (l->line)
            fprintf(file,
                    "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead back linewidth %g "
                    "dashtype 3 linecolor rgb '#555555'\n",
                    l->x, l->x, tuning.frame * m->line);
        if (*text && l->line) /* along the line, on the side that is asked for */
            fprintf(file,
                    "set label \"{/*0.9 %s}\" at first %.9g, graph %.9g center rotate by 90 offset character "
                    "%g, 0 front textcolor rgb '#333333'\n",
                    text, l->x, l->height, l->right ? 1.1 : -1.3);
        else if (*text)
            fprintf(file, "set label \"%s\" at first %.9g, graph %.9g %s front textcolor rgb '#333333'\n",
                    text, l->x, l->height, l->centre ? "center" : "left offset character 0.4, 0");
    }
}

static void write_curve(const figure_plot *p, const figure_measure *m, int k, FILE *file)
{
    static const int shapes[] = {2, 1, 3, 6, 4, 8}; /* x, +, star, circle, square, triangle */
    const figure_curve *c = &p->curve[k];
    const char *colour = figure_colour(c->colour), *tint = figure_colour_tint(c->colour);
    char title[4 * FIGURE_TEXT];
    fprintf(file, "%s'curve%d.dat' ", k ? ", \\\n  " : "plot ", k);
    switch (c->style) {
    case FIGURE_LINE:
        fprintf(file, "using 1:2 with lines linewidth %g linecolor rgb '#%s'", m->line, colour);
        break;
    case FIGURE_DASHED:
        fprintf(file, "using 1:2 with lines linewidth %g dashtype (9,5) linecolor rgb '#%s'", m->line,
                colour);
        break;
    case FIGURE_DOTTED:
        fprintf(file, "using 1:2 with lines linewidth %g dashtype (2,4) linecolor rgb '#%s'", m->line,
                colour);
        break;
    case FIGURE_THIN:
        fprintf(file, "using 1:2 with lines linewidth %g linecolor rgb '#90%s'", 0.5 * m->line, colour);
        break;
    case FIGURE_BAND:
        fprintf(file, "using 1:2:3 with filledcurves fillcolor rgb '#B0%s' fillstyle solid 1 noborder",
                colour);
        break;
    case FIGURE_AREA:
        fprintf(file, "using 1:2:3 with filledcurves fillcolor rgb '#%s' fillstyle solid 1 noborder", tint);
        break;
    case FIGURE_POINTS: /* bars apart: gnuplot's own put a white disc behind every point */
        if (*c->error)
            fprintf(file,
                    "using 1:3:(0):($4-$3) with vectors nohead linewidth %g linecolor rgb '#%s' notitle, \\\n"
                    "  'curve%d.dat' ",
                    0.6 * m->line, colour, k);
        fprintf(file, "using 1:2 with points pointtype %d pointsize %g linewidth %g linecolor rgb '#%s'",
                shapes[c->shape % 6], m->point, 0.6 * m->line, colour);
        break;
    case FIGURE_DOTS:
    case FIGURE_RINGS:
        fprintf(file, "using 1:2 with points pointtype %d pointsize %g linewidth %g linecolor rgb '#%s'",
                c->style == FIGURE_DOTS ? 7 : 6, 0.6 * m->point, 0.6 * m->line, colour);
        break;
    }
    figure_label_gnuplot(c->title, title, sizeof title);
    if (*title)
        fprintf(file, " title \"%s\"", title);
    else
        fputs(" notitle", file);
}

/* Letters of a LaTeX label as it is read, a command being one; and of them those that are narrow, less one
 * for each capital and two for each sign with room around it. */
static int count_letters(const char *tex, int *narrow)
{
    int letters = 0;
    *narrow = 0;
    for (; *tex; tex++) {
        if (*tex == '\\')
            while (isalpha((unsigned char)tex[1])) tex++;
        if (strchr("${}_^", *tex)) continue;
        letters++;
        *narrow += strchr("+=", *tex) ? -2 : isupper((unsigned char)*tex) ? -1 : 1;
    }
    return letters;
}

/* Above the frame.  gnuplot gives each entry the room of the longest, in letters that it takes for wider than
 * most are. */
static void write_key(const figure_plot *p, FILE *file)
{
    int titles = 0, longest = 0, narrow = 0;
    for (int k = 0; k < p->curves; k++) {
        int of_them, letters = count_letters(p->curve[k].title, &of_them);
        titles += letters > 0;
        if (letters <= longest) continue;
        longest = letters;
        narrow = of_them;
    }
    if (!p->key_columns) {
        fputs("unset key\n", file);
        return;
    }
    fprintf(
        file,
        "set key outside top center horizontal maxcols %d maxrows %d samplen 1.8 spacing 1.1 width %g Left "
        "reverse\n",
        p->key_columns, (titles + p->key_columns - 1) / p->key_columns,
        tuning.key[0] - tuning.key[1] * narrow);
}

void figure_gnuplot_write(const figure_plot *p, const figure_measure *m, FILE *file)
{
    fprintf(file,
            "set encoding utf8\nset minussign\nset tics nomirror out scale 0.5\nset border 3 linewidth %g\n"
            "set format '%%g'\n",
            tuning.frame * m->line);
    write_axis('x', p->x, p->log_x, p->x_label, file);
    write_axis('y', p->y, p->log_y, p->y_label, file);
    if (p->x_step > 0) fprintf(file, "set xtics %g\n", p->x_step);
    write_key(p, file);
    write_ranges(p, file);
    write_labels(p, m, file);
    for (int pass = 0; pass < 3; pass++) {
        write_terminal(m, pass, file);
        for (int k = 0; k < p->curves; k++) write_curve(p, m, k, file);
        fputs("\nunset output\n", file);
    }
}
