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

/* Curves of all styles and shapes, ranges, labels of each kind; axes with both ends, one or none. */
static figure_plot a_full_plot(const figure_table *table, int axes)
{
    figure_plot p = {
        .table = table, .key_columns = axes == 1 ? 0 : 2, .log_x = axes == 1, .log_y = axes == 2};
    p.x[0] = axes == 2 ? NAN : 0.5, p.x[1] = axes == 1 ? NAN : axes ? 3 : 6;
    p.y[0] = axes == 1 ? 0.25 : NAN, p.y[1] = axes == 2 ? 40 : NAN;
    p.x_step = axes == 2 ? 0 : 0.5;
    snprintf(p.x_label, FIGURE_TEXT, "$\\alpha = N/D$");
    snprintf(p.y_label, FIGURE_TEXT, "overlap $Q_{11}$, 5\\%% of it");
    for (int style = FIGURE_LINE; style <= FIGURE_RINGS; style++) {
        char title[FIGURE_TEXT] = "";
        if (style % 2 == 0) snprintf(title, sizeof title, "style $s_{%d} + A$", style);
        figure_plot_curve(&p, (figure_style)style, style, style % 3 ? "a" : NULL, "x", "y",
                          style == FIGURE_BAND || style == FIGURE_POINTS ? "y_error" : "", title)
            ->shape = style;
        if (style == FIGURE_AREA) snprintf(p.curve[style].other, FIGURE_NAME, "z");
    }
    for (int shape = 0; shape < 7; shape++)
        figure_plot_curve(&p, FIGURE_POINTS, shape, "b", "x", "z", "",
                          shape == 0   ? "longest of titles"
                          : shape == 3 ? "$L$"
                                       : "")
            ->shape = shape;
    for (int k = 0; k < 3; k++) figure_plot_range(&p, k - 1, k + 0.5, FIGURE_COLOURS - 1 - k);
    for (int k = 0; k < 8; k++) {
        figure_plot_label(&p, 0.25 * k, 0.125 * k, k % 2, k == 5 ? "" : "label $L = 1$");
        p.label[k].right = k / 2 % 2;
        p.label[k].centre = k / 4;
    }
    p.curve[p.curves] = p.curve[0]; /* behind the end, and not to be seen */
    snprintf(p.curve[p.curves].title, FIGURE_TEXT, "longer than all that are to be seen");
    p.range[p.ranges] = p.range[0];
    p.label[p.labels] = p.label[1];
    return p;
}

/* tests/reference/figure_scripts.txt: after a change that is meant, STAIR_KEEP=1 writes it anew. */
static void scripts_are_what_they_were(void **state)
{
    (void)state;
    static const char kept[] = "tests/reference/figure_scripts.txt";
    figure_table *t;
    assert_int_equal(figure_table_create(context, "x y y_error z", &t), STAIR_OK);
    for (int k = 0; k < 9; k++) {
        const double row[] = {0.25 * k, k == 3 ? NAN : 4 - k, 0.5, k % 3 + 0.125};
        assert_int_equal(figure_table_add(context, t, k % 4 ? "a" : "b", row), STAIR_OK);
    }
    char *now = NULL, *then = NULL;
    size_t size = 0, read = 0;
    FILE *file = open_memstream(&now, &size);
    assert_non_null(file);
    for (int axes = 0; axes < 3; axes++) {
        figure_plot plot = a_full_plot(t, axes);
        figure_gnuplot_write(&plot, &figure_measures[axes], file);
        figure_pgfplots_write(&plot, &figure_measures[axes], axes ? "one\ntwo\n" : "one", file);
    }
    fclose(file);
    figure_table_destroy(&t);
    if (getenv("STAIR_KEEP")) {
        file = fopen(kept, "w");
        assert_non_null(file);
        fputs(now, file);
        fclose(file);
    }
    then = calloc(1, size + 2);
    file = fopen(kept, "r");
    assert_non_null(file);
    read = fread(then, 1, size + 1, file);
    fclose(file);
    int line = 1;
    for (size_t k = 0; k < size && k < read && now[k] == then[k]; k++) line += now[k] == '\n';
    if (strcmp(now, then) != 0) fail_msg("%s: line %d is another one now", kept, line);
    free(now), free(then);
}

/* An area of more rows than there is room for at first, and of none. */
static void areas_of_any_length(void **state)
{
    (void)state;
    for (int rows = 0; rows < 200; rows += 65) {
        figure_table *t;
        assert_int_equal(figure_table_create(context, "x y z", &t), STAIR_OK);
        for (int k = 0; k < rows; k++) {
            const double row[] = {k, 2 * k, 1000 + k};
            assert_int_equal(figure_table_add(context, t, "", row), STAIR_OK);
        }
        figure_plot plot = an_empty_plot(0, 1);
        plot.table = t;
        snprintf(figure_plot_curve(&plot, FIGURE_AREA, FIGURE_BLUE, NULL, "x", "y", "", "")->other,
                 FIGURE_NAME, "z");
        char *wanted = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&wanted, &size);
        fputs("coordinates {", file);
        for (int k = 0; k < rows; k++) fprintf(file, " (%d,%d)", k, 2 * k);
        for (int k = rows - 1; k >= 0; k--) fprintf(file, " (%d,%d)", k, 1000 + k);
        fputs(" } -- cycle;\n", file);
        fclose(file);
        expect(&plot, true, wanted);
        free(wanted);
        figure_table_destroy(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axis_that_falls),     cmocka_unit_test(axis_that_rises),
        cmocka_unit_test(signs_and_key),       cmocka_unit_test(scripts_are_what_they_were),
        cmocka_unit_test(areas_of_any_length),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
