/* A plot as gnuplot and LaTeX get it: an axis that falls, ranges inside the frame, minus signs, the key. */
#include "fixture.h"

#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *written(const figure_plot *plot, bool tex)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    if (tex)
        figure_pgfplots_write(plot, &figure_measures[FIGURE_COLUMN], "stair\n", file);
    else
        figure_gnuplot_write(plot, &figure_measures[FIGURE_COLUMN], file);
    fclose(file);
    return text;
}

static void expect(const figure_plot *plot, bool tex, const char *part)
{
    char *text = written(plot, tex);
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
    free(text);
}

static figure_plot an_empty_plot(double from, double to)
{
    return (figure_plot){.x = {from, to}, .y = {NAN, NAN}, .key_columns = 3};
}

static void axis_that_falls(void **state)
{
    (void)state;
    figure_plot plot = an_empty_plot(1, 1e-5);
    figure_plot_range(&plot, 0.3, 1e-7, FIGURE_BLUE);
    expect(&plot, true, "x dir=reverse,\n  xmin=1e-05,\n  xmax=1,\n");
    expect(&plot, true, "({axis cs:0.3,0} |- {rel axis cs:0,0}) rectangle ({axis cs:1e-05,0}");
    expect(&plot, false, "set xrange [1:1e-05]");
}

static void axis_that_rises(void **state)
{
    (void)state;
    figure_plot plot = an_empty_plot(0, 2);
    figure_plot_range(&plot, -1, 3, FIGURE_BLUE);
    expect(&plot, true, "  xmin=0,\n  xmax=2,\n");
    expect(&plot, true, "({axis cs:0,0} |- {rel axis cs:0,0}) rectangle ({axis cs:2,0}");
    char *text = written(&plot, true);
    assert_null(strstr(text, "reverse"));
    free(text);
    figure_plot open = an_empty_plot(0, NAN);
    figure_plot_range(&open, 1, 3, FIGURE_BLUE);
    expect(&open, true, "({axis cs:1,0} |- {rel axis cs:0,0}) rectangle ({axis cs:3,0}");
}

static void signs_and_key(void **state)
{
    (void)state;
    static const figure_table none;
    figure_plot plot = an_empty_plot(0, 1);
    plot.table = &none;
    expect(&plot, false, "set minussign\n");
    figure_plot_curve(&plot, FIGURE_LINE, FIGURE_BLUE, NULL, "x", "y", "", "$\\alpha_{1}$"); /* two letters */
    expect(&plot, false, "maxrows 1 samplen 1.8 spacing 1.1 width 0.66 ");
    figure_plot plain = plot;
    figure_plot_curve(&plain, FIGURE_LINE, FIGURE_BLUE, NULL, "x", "y", "", "$M(M+1)$"); /* three are wide */
    expect(&plain, false, " width 1.32 ");
    for (int k = 0; k < 3; k++)
        figure_plot_curve(&plot, FIGURE_LINE, FIGURE_BLUE, NULL, "x", "y", "", "ten letter");
    expect(&plot, false, "maxcols 3 maxrows 2 samplen 1.8 spacing 1.1 width -1.1 ");
    expect(&plot, true, "addlegendentry{ten letter}");
    plot.key_columns = 0;
    expect(&plot, false, "unset key\n");
    char *text = written(&plot, true);
    assert_null(strstr(text, "addlegendentry"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axis_that_falls),
        cmocka_unit_test(axis_that_rises),
        cmocka_unit_test(signs_and_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
