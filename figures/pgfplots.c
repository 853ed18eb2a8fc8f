/* A plot as a LaTeX picture: \usepackage{pgfplots}, \pgfplotsset{compat=1.16}, and \input of the file.  It
 * takes the fonts of the document, and its width from the size asked for. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An axis that falls has its ends exchanged. */
static void write_limits(char axis, const double range[2], FILE *file)
{
    bool falls = range[0] > range[1]; /* false where an end is left open */
    if (falls) fprintf(file, "  %c dir=reverse,\n", axis);
    if (isfinite(range[falls])) fprintf(file, "  %cmin=%.9g,\n", axis, range[falls]);
    if (isfinite(range[!falls])) fprintf(file, "  %cmax=%.9g,\n", axis, range[!falls]);
}

static void write_axis(const figure_plot *p, const figure_measure *m, FILE *file)
{
    fprintf(file, "\\begin{tikzpicture}\n\\begin{axis}[\n  width=%gin, height=%gin,\n", m->width, m->height);
    fprintf(file, "  xlabel={%s}, ylabel={%s},\n", p->x_label, p->y_label);
    write_limits('x', p->x, file);
    write_limits('y', p->y, file);
    if (p->x_step > 0) fprintf(file, "  xtick distance=%g,\n", p->x_step);
    if (p->log_x) fputs("  xmode=log,\n", file);
    if (p->log_y) fputs("  ymode=log,\n", file);
    fprintf(file,
            "  axis lines=left, axis line style={-}, tick align=outside, axis on top,\n"
            "  legend style={at={(0.5,1.03)}, anchor=south, draw=none, font=\\scriptsize,\n"
            "    /tikz/every even column/.append style={column sep=6pt}},\n"
            "  legend columns=%d, legend cell align=left,\n]\n",
            p->key_columns ? p->key_columns : 1);
}

/* Ranges reach over the whole height: in coordinates of the frame in y, of the data in x. */
static void write_ranges(const figure_plot *p, FILE *file)
{
    for (int k = 0; k < p->ranges; k++) {
        const figure_range *r = &p->range[k];
        bool known = isfinite(p->x[0]) && isfinite(p->x[1]);
        double least = known ? fmin(p->x[0], p->x[1]) : -INFINITY,
               most = known ? fmax(p->x[0], p->x[1]) : INFINITY;
        double from = fmin(most, fmax(least, r->from)), to = fmin(most, fmax(least, r->to));
        fprintf(file,
                "\\fill[tint%d] ({axis cs:%.9g,0} |- {rel axis cs:0,0}) rectangle "
                "({axis cs:%.9g,0} |- {rel axis cs:0,1});\n",
                r->colour, from, to);
    }
}

static void write_labels(const figure_plot *p, FILE *file)
{
    for (int k = 0; k < p->labels; k++) {
        const figure_label *l = &p->label[k];
        if (l->line)
            fprintf(file,
                    "\\draw[dotted] ({axis cs:%.9g,0} |- {rel axis cs:0,0}) -- "
                    "({axis cs:%.9g,0} |- {rel axis cs:0,1});\n",
                    l->x, l->x);
        if (*l->text)
            fprintf(file,
                    "\\node[anchor=%s, font=\\scriptsize%s] at ({axis cs:%.9g,0} |- {rel axis cs:0,%.9g}) "
                    "{%s};\n",
                    !l->line   ? l->centre ? "center" : "west"
                    : l->right ? "north"
                               : "south",
                    l->line ? ", rotate=90" : "", l->x, l->height, l->text);
    }
}

/* The outline of an area: its lower edge, and its upper edge backwards. */
static void write_area(const figure_plot *p, int k, FILE *file)
{
    double(*row)[3] = NULL;
    int rows = 0, room = 0;
    FILE *data = tmpfile();
    if (!data) return;
    figure_curve_write(p, k, data);
    rewind(data);
    for (double x, low, high; fscanf(data, "%lf %lf %lf", &x, &low, &high) == 3;) {
        if (rows == room) {
            room = room ? 2 * room : 64;
            void *more = realloc(row, (size_t)room * sizeof *row);
            if (!more) break;
            row = more;
        }
        row[rows][0] = x, row[rows][1] = low, row[rows][2] = high;
        rows++;
    }
    fclose(data);
    fputs("coordinates {", file);
    for (int i = 0; i < rows; i++) fprintf(file, " (%.9g,%.9g)", row[i][0], row[i][1]);
    for (int i = rows - 1; i >= 0; i--) fprintf(file, " (%.9g,%.9g)", row[i][0], row[i][2]);
    fputs(" } -- cycle;\n", file);
    free(row);
}

static void write_style(const figure_curve *c, FILE *file)
{
    static const char *const shapes[] = {"x", "+", "star", "o", "square", "triangle"};
    switch (c->style) {
    case FIGURE_LINE:
        fprintf(file, "colour%d, thick, no marks", c->colour);
        break;
    case FIGURE_DASHED:
        fprintf(file, "colour%d, thick, dashed, no marks", c->colour);
        break;
    case FIGURE_DOTTED:
        fprintf(file, "colour%d, thick, dotted, no marks", c->colour);
        break;
    case FIGURE_THIN:
        fprintf(file, "colour%d, very thin, opacity=0.5, no marks", c->colour);
        break;
    case FIGURE_BAND:
        fprintf(file, "draw=none, fill=colour%d, fill opacity=0.3, area legend", c->colour);
        break;
    case FIGURE_AREA:
        fprintf(file, "draw=none, fill=tint%d, area legend", c->colour);
        break;
    case FIGURE_POINTS:
        fprintf(file,
                "colour%d, only marks, mark=%s, mark size=1.8pt, error bars/y dir=both, "
                "error bars/y explicit, error bars/error mark=none",
                c->colour, shapes[c->shape % 6]);
        break;
    case FIGURE_DOTS:
    case FIGURE_RINGS:
        fprintf(file, "colour%d, only marks, mark=%s, mark size=1.2pt", c->colour,
                c->style == FIGURE_DOTS ? "*" : "o");
        break;
    }
}

static void write_curve(const figure_plot *p, int k, FILE *file)
{
    const figure_curve *c = &p->curve[k];
    bool titled = *c->title && p->key_columns;
    fputs("\\addplot[", file);
    write_style(c, file);
    if (!titled) fputs(", forget plot", file);
    fputs("] ", file);
    if (c->style == FIGURE_BAND || c->style == FIGURE_AREA)
        write_area(p, k, file);
    else {
        fputs(c->style == FIGURE_POINTS ? "table[header=false, x index=0, y index=1, "
                                          "y error expr=\\thisrowno{3}-\\thisrowno{1}] {\n"
                                        : "table[header=false, x index=0, y index=1] {\n",
              file);
        figure_curve_write(p, k, file);
        fputs("};\n", file);
    }
    if (titled) fprintf(file, "\\addlegendentry{%s}\n", c->title);
}

void figure_pgfplots_write(const figure_plot *p, const figure_measure *m, const char *head, FILE *file)
{
    for (const char *line = head; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(file, "%% %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fputs("% \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}\n", file);
    for (int k = 0; k < FIGURE_COLOURS; k++)
        fprintf(file, "\\definecolor{colour%d}{HTML}{%s}\\definecolor{tint%d}{HTML}{%s}\n", k,
                figure_colour(k), k, figure_colour_tint(k));
    write_axis(p, m, file);
    write_ranges(p, file);
    for (int k = 0; k < p->curves; k++) write_curve(p, k, file);
    write_labels(p, file);
    fputs("\\end{axis}\n\\end{tikzpicture}\n", file);
}
