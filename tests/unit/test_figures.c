/* What figures write, without computing one: numbers and back, curves, labels, scripts, pictures with text in
 * them, means over runs; and every figure draws columns that its table has. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figure.h"
#include "stamp.h"
#include "work.h"

static char folder[] = "/tmp/stair-figures-XXXXXX";

static const char *inside(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* What a function wrote, to be freed. */
typedef struct {
    FILE *file;
    char *text;
    size_t size;
} spool;

static spool open_spool(void)
{
    spool s = {.file = tmpfile()};
    assert_non_null(s.file);
    return s;
}

static void close_spool(spool *s)
{
    s->size = (size_t)ftell(s->file);
    s->text = calloc(1, s->size + 1);
    rewind(s->file);
    assert_int_equal(fread(s->text, 1, s->size, s->file), s->size);
    fclose(s->file);
}

static figure_table *table_of(const char *names, int rows)
{
    figure_table *t;
    assert_int_equal(figure_table_create(context, names, &t), STAIR_OK);
    for (int row = 0; row < rows; row++) {
        double values[32];
        assert_true(t->columns <= 32);
        for (int k = 0; k < t->columns; k++) values[k] = row + k / 3.0;
        assert_int_equal(figure_table_add(context, t, row % 2 ? "odd" : "even", values), STAIR_OK);
    }
    return t;
}

static void numbers_come_back(void **state)
{
    (void)state;
    figure_table *t = table_of(" alpha  Q11 Q11_error ", 130), *back;
    const double last[] = {0.1, INFINITY, 1.23456789e-5};
    assert_int_equal(t->columns, 3);
    assert_int_equal(figure_table_add(context, t, "even", last), STAIR_OK);
    assert_int_equal(figure_table_mark(context, t, "weak", 1 / 3.0, 1e-3, "2 1"), STAIR_OK);
    t->parts = 7;
    const char *path = inside("table.csv");
    assert_int_equal(figure_table_write(context, t, "one\ntwo\n", path, false), STAIR_OK);
    assert_int_equal(figure_table_write(context, t, "one\ntwo\n", path, false), STAIR_BAD_INPUT);
    assert_int_equal(figure_table_write(context, t, "one\ntwo\n", path, true), STAIR_OK);
    assert_int_equal(figure_table_read(context, "one\ntwo\n", path, &back), STAIR_OK);
    assert_non_null(back);
    assert_int_equal(back->rows, 131);
    assert_int_equal(back->parts, 7);
    assert_int_equal(back->marks, 1);
    assert_string_equal(back->mark[0].name, "weak");
    assert_string_equal(back->mark[0].text, "2 1");
    assert_true(back->mark[0].value == 1 / 3.0 && back->mark[0].error == 1e-3);
    assert_false(back->one_series);
    for (int row = 0; row < 130; row++) {
        assert_string_equal(back->series[row], row % 2 ? "odd" : "even");
        assert_true(figure_table_at(back, row, "alpha") == row);
        assert_true(figure_table_at(back, row, "Q11") == row + 1 / 3.0); /* to the last digit */
        assert_close(figure_table_at(back, row, "Q11_error"), row + 2 / 3.0, 0.01 * (row + 1));
    }
    assert_true(figure_table_at(back, 130, "alpha") == 0.1 && isinf(figure_table_at(back, 130, "Q11")));
    assert_true(isnan(figure_table_at(back, 0, "Q22")));
    figure_table_destroy(&back);
    const char *const others[] = {"one\n", "one\ntwx\n", "two\none\n", "one\ntwo\nthree\n"};
    for (int k = 1; k < 4; k++) { /* of another request */
        assert_int_equal(figure_table_read(context, others[k], path, &back), STAIR_OK);
        assert_null(back);
    }
    figure_table_destroy(&t);
}

/* A line changed, cut off, added or lost is noticed. */
static void damaged_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {
        "# h\n# parts 1 rows 2\nseries,x,y\na,1,2\n",          /* a row lost */
        "# h\n# parts 1 rows 1\nseries,x,y\na,1,2\nb,3,4\n",   /* one too many */
        "# h\n# parts 1 rows 1\nseries,x,y\na,1\n",            /* an item lost */
        "# h\n# parts 1 rows 1\nseries,x,y\na,1,2,3\n",        /* one too many */
        "# h\n# parts 1 rows 1\nseries,x,y\na,1,2x\n",         /* no number */
        "# h\n# parts 1 rows 1\nseries,x,y\na,1,\n",           /* none at all */
        "# h\n# mark,weak,1,x,\n# parts 1 rows 1\nx,y\n1,2\n", /* a mark without an error */
        "# h\n# parts 1 rows 1\nx,,y\n1,2,3\n",                /* a column without a name */
        "# h\n# parts 1 rows 0\n",                             /* no names of columns */
    };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        figure_table *t;
        const char *path = inside("damaged.csv");
        FILE *file = fopen(path, "w");
        fputs(files[k], file);
        fclose(file);
        assert_int_equal(figure_table_read(context, "h\n", path, &t), STAIR_BAD_INPUT);
        assert_null(t);
    }
    figure_table *t;
    FILE *file = fopen(inside("sound.csv"), "w");
    fputs("# h\n# parts 1 rows 1\n# mark,weak,2,0.5,3\nx,y\n1,2\n", file);
    fclose(file);
    assert_int_equal(figure_table_read(context, "h\n", inside("sound.csv"), &t), STAIR_OK);
    assert_non_null(t);
    assert_true(t->one_series && t->rows == 1 && t->marks == 1 && figure_table_at(t, 0, "y") == 2);
    figure_table_destroy(&t);
}

static bool says(const char *text, const char *part)
{
    if (!strstr(text, part)) print_error("no '%s'\n", part);
    return strstr(text, part) != NULL;
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, 1 << 16, file) < 1 << 16);
    fclose(file);
    return text;
}

/* The shortest decimals that read back as the same number; errors, by their names, to three digits. */
static void numbers_as_they_are_written(void **state)
{
    (void)state;
    figure_table *t, *back;
    const char *path = inside("written.csv");
    assert_int_equal(figure_table_create(context, "a b_error _error errors", &t), STAIR_OK);
    const double rows[][4] = {{0.1, 0.123456, 0.123456, 1 / 3.0},
                              {0.1 + 0.2, 1e-7 / 3, 1e300, -5e-324},
                              {NAN, NAN, INFINITY, -INFINITY},
                              {123456789012345, INFINITY, -0.5, 0}};
    for (int k = 0; k < 4; k++)
        assert_int_equal(figure_table_add(context, t, k < 2 ? "one" : "", rows[k]), STAIR_OK);
    assert_int_equal(figure_table_mark(context, t, "weak", 0.1, 0.1, "1 2"), STAIR_OK);
    assert_int_equal(figure_table_mark(context, t, "perfect", INFINITY, 0, ""), STAIR_OK);
    t->parts = 3;
    assert_int_equal(figure_table_write(context, t, "first\n\nthird", path, false), STAIR_OK);
    char *text = text_of(path);
    assert_string_equal(text, "# first\n# \n# third\n# parts 3 rows 4\n"
                              "# mark,weak,0.1,0.10000000000000001,1 2\n# mark,perfect,inf,0,\n"
                              "series,a,b_error,_error,errors\n"
                              "one,0.1,0.123,0.123456,0.3333333333333333\n"
                              "one,0.30000000000000004,3.33e-08,1e+300,-4.94065645841247e-324\n"
                              ",nan,nan,inf,-inf\n,123456789012345,inf,-0.5,0\n");
    free(text);
    assert_int_equal(figure_table_read(context, "first\n\nthird", path, &back), STAIR_OK);
    assert_true(back->rows == 4 && back->columns == 4 && back->marks == 2 && back->parts == 3);
    for (int row = 0; row < 4; row++) {
        assert_string_equal(back->series[row], row < 2 ? "one" : "");
        for (int k = 0; k < 4; k++) {
            double was = rows[row][k], is = back->cell[4 * row + k];
            assert_true(k == 1 && isfinite(was) ? fabs(is - was) <= 5e-3 * was
                                                : is == was || (isnan(is) && isnan(was)));
        }
    }
    figure_table_destroy(&back);
    static const char *const other[] = {"#-first\n# \n# third\nx\n1\n", "# first\n# \n# thirds\nx\n1\n",
                                        "# first\n# \n", "first\n\nthird\nx\n1\n"};
    for (int k = 0; k < 4; k++) { /* of another request */
        FILE *file = fopen(inside("other.csv"), "w");
        fputs(other[k], file);
        fclose(file);
        assert_int_equal(figure_table_read(context, "first\n\nthird", inside("other.csv"), &back), STAIR_OK);
        assert_null(back);
    }
    t->one_series = true;
    t->rows = 1;
    t->marks = 0;
    assert_int_equal(figure_table_write(context, t, "", path, true), STAIR_OK);
    text = text_of(path);
    assert_string_equal(text,
                        "# parts 3 rows 1\na,b_error,_error,errors\n0.1,0.123,0.123456,0.3333333333333333\n");
    free(text);
    for (int k = 0; k < FIGURE_MARKS; k++)
        assert_int_equal(figure_table_mark(context, t, "weak", k, 0, ""), STAIR_OK);
    assert_int_equal(figure_table_mark(context, t, "weak", 1, 0, ""), STAIR_FAILED);
    assert_true(t->mark[FIGURE_MARKS - 1].value == FIGURE_MARKS - 1);
    figure_table_destroy(&t);
    figure_table_destroy(&t); /* nothing */
}

static figure_table *imported(const char *text)
{
    figure_table *t;
    FILE *file = fopen(inside("imported.csv"), "w");
    fputs(text, file);
    fclose(file);
    stair_status status = figure_table_import(context, inside("imported.csv"), &t);
    assert_true(status == STAIR_OK ? t != NULL : status == STAIR_BAD_INPUT && !t);
    return t;
}

static void tables_of_others(void **state)
{
    (void)state;
    figure_table *t =
        imported("x,series,a_name_of_a_column_that_is_longer_than_all\n1,2,3\n4,5,-6e-1"); /* no end */
    assert_true(t->one_series && t->columns == 3 && t->rows == 2 && t->marks == 0 && t->parts == 0);
    assert_true(figure_table_at(t, 1, "series") == 5 && t->cell[5] == -0.6);
    assert_true(figure_table_column(t, "x") == 0 && figure_table_column(t, "series") == 1);
    assert_string_equal(t->column[2], "a_name_of_a_column_that_is_longer_than_");
    figure_table_destroy(&t);
    t = imported(
        "# any\n# marks, and others\n# mark,weak,2,0.25\n# mark,perfect,3,0,1 2,more\n# mark,\nseries,x\n"
        "a_series_with_a_name_longer_than_there_is_room,1\n,2\n");
    assert_true(!t->one_series && t->columns == 1 && t->rows == 2 && t->marks == 2);
    assert_string_equal(t->series[0], "a_series_with_a_name_longer_than_there_");
    assert_string_equal(t->mark[0].text, "");
    assert_string_equal(t->mark[1].text, "1 2");
    assert_true(t->mark[0].error == 0.25 && t->mark[1].value == 3 && t->mark[1].error == 0);
    figure_table_destroy(&t);
    t = imported("x\n");
    assert_true(t->rows == 0 && t->columns == 1);
    figure_table_destroy(&t);
    static const char *const damaged[] = {
        "",
        "# any\n",
        "x,y z\n1,2\n",
        "x,\"y\"\n1,2\n",
        "x,\ty\n1,2\n",
        "x,y,\n1,2\n",
        "x,y\n1\n",
        "x,y\n1,2,\n",
        "x,y\n1,2 \n",
        "x,y\n\n1,2\n",
        "series,x\na\n",
        "# mark,weak,1\nx\n1\n",
        "# mark,weak,one,1,\nx\n1\n",
        "# parts 1 rows 0\nx\n1\n",
    };
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++)
        if ((t = imported(damaged[k]))) fail_msg("taken: %s", damaged[k]);
    imported("x,y\n1,2\n3,b\n");
    assert_true(says(stair_context_message(context), "imported.csv, line 3: not the numbers of a figure"));
    assert_int_equal(figure_table_import(context, inside("none.csv"), &t), STAIR_BAD_INPUT);
    assert_null(t);
    t = (figure_table *)state;
    assert_int_equal(figure_table_read(context, "", inside("none.csv"), &t), STAIR_OK);
    assert_null(t);
}

static void labels_of_gnuplot(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"step 1_2", "step 12"},
        {"$\\alpha_{1} = 0.5$", "α_{1} = 0.5"},
        {"$Q_{ab}$ of it", "{/:Italic Q}_{{/:Italic ab}} of it"},
        {"$-1$ to 1-2", "−1 to 1-2"},
        {"5\\% \\unknown", "5% unknown"},
        {"", ""},
        {"a^b@c&d~e", "abcde"},
        {"$a_{b}^{2}\\, 5$", "{/:Italic a}_{{/:Italic b}}^{2}  5"},
        {"$\\alpha\\beta\\eta\\lambda\\infty$", "αβηλ∞"},
        {"$\\times\\leq\\geq\\pm\\star\\to\\ell$", "×≤≥±*→{/:Italic l}"},
        {"$\\mathcal{S}$$x$y", "{{/:Italic S}}{/:Italic x}y"},
    };
    char text[64], little[8];
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        figure_label_gnuplot(pairs[k][0], text, sizeof text);
        assert_string_equal(text, pairs[k][1]);
    }
    figure_label_gnuplot("abcdefghijkl", little, sizeof little);
    assert_string_equal(little, "abcdefg");
    figure_label_gnuplot("$\\infty\\infty\\infty$", little, 7); /* cut off between bytes */
    assert_int_equal(strlen(little), 6);
}

static void curves_leave_out_what_is_no_number(void **state)
{
    (void)state;
    figure_table *t;
    assert_int_equal(figure_table_create(context, "x y y_error z", &t), STAIR_OK);
    const double rows[][4] = {
        {1, 2, 0.5, 5}, {2, NAN, 1, 1}, {3, 4, INFINITY, 1}, {0, 8, 1, 2}, {5, 6, 7, 9}};
    for (int k = 0; k < 5; k++)
        assert_int_equal(figure_table_add(context, t, k == 4 ? "b" : "a", rows[k]), STAIR_OK);
    figure_plot plot = {.table = t, .x = {NAN, NAN}, .y = {NAN, NAN}};
    figure_plot_curve(&plot, FIGURE_POINTS, FIGURE_BLUE, "a", "x", "y", "y_error", "");
    figure_plot_curve(&plot, FIGURE_BAND, FIGURE_BLUE, NULL, "x", "y", "y_error", "");
    figure_plot_curve(&plot, FIGURE_AREA, FIGURE_BLUE, "b", "x", "z", "", "");
    snprintf(plot.curve[2].other, FIGURE_NAME, "y");
    static const char *const wanted[2][3] = {
        {"1 2 1.5 2.5\n3 4 4 4\n0 8 7 9\n", "1 1.5 2.5\n3 4 4\n0 7 9\n5 -1 13\n", "5 6 9\n"},
        {"1 2 1.5 2.5\n3 4 4 4\n", "1 1.5 2.5\n3 4 4\n5 0.6 13\n", "5 6 9\n"}};
    for (int log = 0; log < 2; log++)
        for (int k = 0; k < 3; k++) {
            plot.log_x = plot.log_y = log;
            spool s = open_spool();
            figure_curve_write(&plot, k, s.file);
            close_spool(&s);
            assert_string_equal(s.text, wanted[log][k]);
            free(s.text);
        }
    figure_table_destroy(&t);
}

/* On a logarithmic axis a bar that would reach zero ends at a tenth; one that stays above ends where it does.
 */
static void bars_on_logarithmic_axes(void **state)
{
    (void)state;
    figure_table *t;
    assert_int_equal(figure_table_create(context, "x y y_error", &t), STAIR_OK);
    const double rows[][3] = {{1, 2, 2}, {2, 2, 3}, {3, 2, 1.5}, {4, 0, 1}, {5, -1, 2}};
    for (int k = 0; k < 5; k++) assert_int_equal(figure_table_add(context, t, "", rows[k]), STAIR_OK);
    figure_plot plot = {.table = t, .log_y = true};
    figure_plot_curve(&plot, FIGURE_POINTS, FIGURE_BLUE, NULL, "x", "y", "y_error", "");
    spool s = open_spool();
    figure_curve_write(&plot, 0, s.file);
    close_spool(&s);
    assert_string_equal(s.text, "1 2 0.2 4\n2 2 0.2 5\n3 2 0.5 3.5\n");
    free(s.text);
    figure_table_destroy(&t);
}

/* More than there is room for: left out, and nothing beyond is written. */
static void room_of_a_plot(void **state)
{
    (void)state;
    figure_plot *plot = calloc(1, sizeof *plot);
    for (int k = 0; k < 100; k++) {
        figure_plot_curve(plot, FIGURE_LINE, k % FIGURE_COLOURS, NULL, "x", "y", "", "title");
        figure_plot_range(plot, k, k + 1, FIGURE_SKY);
        figure_plot_label(plot, k, 0.5, true, "text");
    }
    assert_int_equal(plot->curves, FIGURE_CURVES);
    assert_int_equal(plot->ranges, 16);
    assert_int_equal(plot->labels, 32);
    assert_true(plot->range[15].from == 15 && plot->range[15].to == 16 && plot->label[31].x == 31);
    assert_int_equal(plot->key_columns, 0);
    free(plot);
    for (int layer = 1; layer <= 6; layer++)
        for (int other = layer + 1; other <= 6; other++)
            assert_int_not_equal(figure_layer_colour(layer), figure_layer_colour(other));
    assert_int_equal(figure_layer_colour(7), figure_layer_colour(1));
}

static void scripts_say_what_the_plot_does(void **state)
{
    (void)state;
    figure_table *t = table_of("x y y_error", 3);
    figure_plot *plot = calloc(1, sizeof *plot);
    *plot =
        (figure_plot){.table = t, .x = {0, 4}, .y = {NAN, 9}, .x_step = 0.5, .log_y = true, .key_columns = 2};
    snprintf(plot->x_label, FIGURE_TEXT, "$\\alpha$");
    figure_plot_curve(plot, FIGURE_LINE, FIGURE_BLUE, NULL, "x", "y", "", "first");
    figure_plot_curve(plot, FIGURE_DASHED, FIGURE_GREEN, NULL, "x", "y", "", "");
    figure_plot_curve(plot, FIGURE_POINTS, FIGURE_ORANGE, NULL, "x", "y", "y_error", "third");
    figure_plot_curve(plot, FIGURE_BAND, FIGURE_PURPLE, NULL, "x", "y", "y_error", "fourth");
    plot->curve[2].shape = 7;
    figure_plot_range(plot, -1, 2.5, FIGURE_SKY);
    figure_plot_label(plot, 1.5, 0.25, true, "along");
    figure_plot_label(plot, 2.5, 0.75, false, "beside");
    spool s = open_spool();
    figure_gnuplot_write(plot, &figure_measures[FIGURE_COLUMN], s.file);
    close_spool(&s);
    assert_true(says(s.text, "set xrange [0:4]") && says(s.text, "set yrange [*:9]"));
    assert_true(says(s.text, "set logscale y") && !strstr(s.text, "set logscale x"));
    assert_true(says(s.text, "set xtics 0.5") && says(s.text, "set xlabel \"α\""));
    assert_true(says(s.text, "pdfcairo enhanced size 3.3in,2.5in") &&
                says(s.text, "svg enhanced size 316,240"));
    assert_true(says(s.text, "pngcairo enhanced size 990,750") && says(s.text, "set output 'plot.svg'"));
    assert_true(says(s.text, "set object 1 rectangle from first -1, graph 0 to first 2.5, graph 1"));
    assert_true(says(s.text, "set arrow from first 1.5, graph 0 to first 1.5, graph 1"));
    assert_true(says(s.text, "at first 1.5, graph 0.25 center rotate") &&
                says(s.text, "\"beside\" at first 2.5, graph 0.75 left"));
    assert_true(
        says(s.text,
             "plot 'curve0.dat' using 1:2 with lines linewidth 1.2 linecolor rgb '#0072B2' title \"first\""));
    assert_true(says(
        s.text,
        "'curve1.dat' using 1:2 with lines linewidth 1.2 dashtype (9,5) linecolor rgb '#009E73' notitle"));
    assert_true(says(s.text, "pointtype 1 pointsize 0.45 linewidth 0.72") &&
                says(s.text, "linewidth 0.72 linecolor rgb '#E69F00'"));
    assert_true(says(s.text, "rgb '#B0CC79A7'"));
    int drawn = 0;
    for (const char *at = s.text; (at = strstr(at, "plot 'curve0.dat'")); at++) drawn++;
    assert_int_equal(drawn, 3);
    free(s.text);

    s = open_spool();
    figure_pgfplots_write(plot, &figure_measures[FIGURE_PAGE], "stair 1\ncommand\n", s.file);
    close_spool(&s);
    assert_memory_equal(s.text, "% stair 1\n% command\n% \\usepackage", 32);
    assert_true(says(s.text, "width=6.5in, height=4.2in") && says(s.text, "xmin=0,\n  xmax=4,\n  ymax=9,"));
    assert_true(!strstr(s.text, "ymin") && says(s.text, "ymode=log") && !strstr(s.text, "xmode=log"));
    assert_true(says(s.text, "xtick distance=0.5") && says(s.text, "legend columns=2"));
    assert_true(says(s.text, "\\fill[tint6] ({axis cs:0,0} |- {rel axis cs:0,0}) rectangle ({axis cs:2.5,0} "
                             "|- {rel axis cs:0,1})"));
    assert_true(says(s.text, "\\definecolor{colour1}{HTML}{0072B2}") &&
                says(s.text, "\\definecolor{tint8}{HTML}{EFEFEF}"));
    assert_true(says(s.text, "colour1, thick, no marks] table") &&
                says(s.text, "colour3, thick, dashed, no marks, forget plot]"));
    assert_true(says(s.text, "colour5, only marks, mark=+,") && says(s.text, "\\addlegendentry{third}"));
    assert_true(
        says(s.text, "fill=colour4") &&
        says(s.text, "south, font=\\scriptsize, rotate=90] at ({axis cs:1.5,0} |- {rel axis cs:0,0.25})"));
    /* an area goes forth along its lower edge and back along the upper one */
    assert_true(says(s.text,
                     "coordinates { (0,0.0333333333) (1,0.133333333) (2,0.233333333) (2,5) (1,3) (0,1) } "
                     "-- cycle;"));
    free(s.text);
    free(plot);
    figure_table_destroy(&t);
}

static void text_in_pictures(void **state)
{
    (void)state;
    /* CRC-32 of "tEXtTitle\0ab", by zlib */
    static const char png[] = "\x89PNG\r\n\x1a\n0123456789abcdef012345678IDATxIEND1234",
                      crc[] = ",\x9b\xe1\x1e";
    static const char svg[] = "<?xml?>\n<svg width=\"1\">\n<title>Gnuplot</title>\n<desc>old</desc>\n<text "
                              "font-family=\"CMU Serif\"/></svg>\n";
    static const char pdf[] = "%PDF-1.5\n........................................................\n"
                              "trailer\n<< /Size 7 /Root 3 0 R >>\nstartxref\n99\n%%EOF";
    spool s = open_spool();
    figure_picture_write("png", png, sizeof png - 1, "ab", "c\td", s.file);
    close_spool(&s);
    assert_memory_equal(s.text, png, 33);
    assert_memory_equal(s.text + 33, "\0\0\0\x08tEXtTitle\0ab", 16);
    assert_memory_equal(s.text + 49, crc, 4);
    assert_memory_equal(s.text + 57, "tEXtDescription\0c?d", 19);
    assert_memory_equal(s.text + s.size - (sizeof png - 1 - 33), png + 33, sizeof png - 1 - 33);
    free(s.text);
    s = open_spool();
    figure_picture_write("svg", svg, sizeof svg - 1, "a<b", "c&d>\n\a", s.file);
    close_spool(&s);
    assert_true(says(s.text, "\n<title>a&lt;b</title>\n<desc>c&amp;d&gt;\n</desc>\n") &&
                !strstr(s.text, "Gnuplot"));
    assert_true(!strstr(s.text, "old") && says(s.text, "\"CMU Serif, ") && says(s.text, "serif\"/></svg>\n"));
    assert_true(says(s.text, "</desc>\n\n<text font-family=\"CMU Serif, "));
    assert_true(says(s.text, "<svg xml:space=\"preserve\" width=\"1\">"));
    free(s.text);
    char *exact = malloc(sizeof pdf - 1); /* sanitizers see a byte beyond */
    memcpy(exact, pdf, sizeof pdf - 1);
    s = open_spool();
    figure_picture_write("pdf", exact, sizeof pdf - 1, "a(b", "c", s.file);
    close_spool(&s);
    assert_memory_equal(s.text, pdf, sizeof pdf - 1);
    const char *object = strstr(s.text, "7 0 obj\n<< /Title (a\\(b)"), *table = strstr(s.text, "xref\n7 1\n");
    assert_non_null(object);
    assert_non_null(table);
    long at = atol(table + 9), says_table = atol(strstr(table, "startxref\n") + 10);
    assert_true(at == object - s.text && says_table == table - s.text);
    assert_true(says(s.text, "/Size 8 /Root 3 0 R /Info 7 0 R /Prev 99 >>"));
    free(s.text);
    free(exact);
    assert_true(figure_picture_is_whole("png", png, sizeof png - 1) &&
                !figure_picture_is_whole("png", png, sizeof png - 2));
    assert_true(figure_picture_is_whole("svg", svg, sizeof svg - 1) &&
                !figure_picture_is_whole("svg", svg, sizeof svg - 5));
    assert_true(figure_picture_is_whole("pdf", pdf, sizeof pdf - 1) &&
                !figure_picture_is_whole("pdf", pdf, sizeof pdf - 2));
    assert_false(figure_picture_is_whole("pdf", svg, sizeof svg - 1));
    assert_false(figure_picture_is_whole("png", pdf, sizeof pdf - 1));
}

static bool whole(const char *kind, const char *start, int middle, const char *end, int after)
{
    char data[512];
    size_t size = strlen(start);
    memcpy(data, start, size);
    memset(data + size, '.', (size_t)middle);
    size += (size_t)middle;
    memcpy(data + size, end, strlen(end));
    size += strlen(end);
    memset(data + size, '.', (size_t)after);
    size += (size_t)after;
    char *exact = malloc(size); /* sanitizers see a byte beyond */
    memcpy(exact, data, size);
    bool found = figure_picture_is_whole(kind, exact, size);
    free(exact);
    return found;
}

/* The end of a picture is near the end of its file; a head and an end alone are none. */
static void pictures_cut_off(void **state)
{
    (void)state;
    static const char png[] = "\x89PNG\r\n\x1a\n";
    assert_true(whole("png", png, 30, "IEND", 4) && !whole("png", png, 29, "IEND", 4));
    assert_true(!whole("png", png, 90, "IEND", 3) && !whole("png", png, 90, "IEND", 5));
    assert_true(!whole("png", "\x89PNG\r\n\x1a\r", 90, "IEND", 4) && !whole("png", png, 90, "IENd", 4));
    assert_true(whole("svg", "<svg", 0, "</svg>", 0) && whole("svg", "..<svg>", 100, "</svg>", 58));
    assert_true(!whole("svg", "..<svg>", 100, "</svg>", 59) && !whole("svg", "<sv", 100, "</svg>", 0));
    assert_true(!whole("svg", "<svg>", 100, "</svg", 0));
    assert_true(whole("pdf", "%PDF-", 55, "%%EOF", 0) && !whole("pdf", "%PDF-", 54, "%%EOF", 0));
    assert_true(whole("pdf", "%PDF-", 100, "%%EOF", 59) && !whole("pdf", "%PDF-", 100, "%%EOF", 60));
    assert_true(!whole("pdf", "%PDF.", 100, "%%EOF", 0) && !whole("png", "\x88PNG\r\n\x1a\n", 90, "IEND", 4));
    assert_true(!whole("pdf", "%PDf-", 100, "%%EOF", 0) && !whole("pdf", "%PDF-", 100, "%%EO", 0));
}

static spool stamped(const char *kind, const char *data, size_t size, const char *title, const char *text)
{
    char *exact = malloc(size + !size);
    memcpy(exact, data, size);
    spool s = open_spool();
    figure_picture_write(kind, exact, size, title, text, s.file);
    close_spool(&s);
    free(exact);
    return s;
}

/* CRC-32 by the table of PNG's own appendix: one byte at a time. */
static uint32_t crc_by_bytes(const char *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (size_t k = 0; k < size; k++) {
        uint32_t byte = (crc ^ (unsigned char)data[k]) & 255;
        for (int bit = 0; bit < 8; bit++) byte = byte / 2 ^ (byte % 2 ? 0xedb88320 : 0);
        crc = crc / 256 ^ byte;
    }
    return ~crc;
}

static uint32_t four_bytes(const char *at)
{
    uint32_t value = 0;
    for (int k = 0; k < 4; k++) value = 256 * value + (unsigned char)at[k];
    return value;
}

/* Chunks behind the head: length, kind, key, NUL and text, and the sum over all but the length. */
static void text_in_png(void **state)
{
    (void)state;
    char png[64] = "\x89PNG\r\n\x1a\n0123456789abcdef012345678IDATxIEND1234", long_text[301], *at;
    memset(long_text, 'w', 300);
    long_text[300] = 0;
    spool s = stamped("png", png, 50, "\xc3\xa9\x1f \n", long_text);
    static const char *const keys[] = {"Title", "Description", "Software"};
    const char *texts[] = {"??? \n", long_text, "stair " STAIR_VERSION};
    assert_memory_equal(s.text, png, 33);
    at = s.text + 33;
    for (int k = 0; k < 3; k++) {
        size_t key = strlen(keys[k]) + 1, length = key + strlen(texts[k]);
        assert_int_equal(four_bytes(at), length);
        assert_memory_equal(at + 4, "tEXt", 4);
        assert_string_equal(at + 8, keys[k]);
        assert_memory_equal(at + 8 + key, texts[k], strlen(texts[k]));
        assert_int_equal(four_bytes(at + 8 + length), crc_by_bytes(at + 4, 4 + length));
        at += 12 + length;
    }
    assert_int_equal(s.text + s.size - at, 50 - 33);
    assert_memory_equal(at, png + 33, 50 - 33);
    free(s.text);
}

/* What gnuplot says of itself goes, wherever it is and whatever it is; fonts get others to stand in. */
static void text_in_svg(void **state)
{
    (void)state;
#define SPACE "<svg xml:space=\"preserve\""
#define FONTS "font-family=\"CMU Serif, Latin Modern Roman, STIX Two Text, Times, serif\""
    static const char *const pairs[][2] = {
        {"<svg><g/></svg>", SPACE ">\n<title>t</title>\n<desc>d</desc>\n<g/></svg>"},
        {"x<svg a=\"b\">\r\n <title>u</title> \n<desc>v</desc>w</svg>",
         "x" SPACE " a=\"b\">\n<title>t</title>\n<desc>d</desc>\nw</svg>"},
        {"<svg><desc>v</desc><title>u</title></svg>",
         SPACE ">\n<title>t</title>\n<desc>d</desc>\n<title>u</title></svg>"},
        {"<svg><title>u</svg>", SPACE ">\n<title>t</title>\n<desc>d</desc>\n<title>u</svg>"},
        {"<svg>.<title>u</title></svg>",
         SPACE ">\n<title>t</title>\n<desc>d</desc>\n.<title>u</title></svg>"},
        {"<svg", SPACE "\n<title>t</title>\n<desc>d</desc>\n"},
        {"<svg>a font-family=\"CMU Serif\" b font-family=\"CMU Serif\"font-family=\"CMU Sans\"",
         SPACE ">\n<title>t</title>\n<desc>d</desc>\na " FONTS " b " FONTS "font-family=\"CMU Sans\""},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        spool s = stamped("svg", pairs[k][0], strlen(pairs[k][0]), "t", "d");
        assert_string_equal(s.text, pairs[k][1]);
        free(s.text);
    }
    spool s = stamped("svg", "<svg></svg>", 11, "\xc3\xa9\t<>&\n!", " \x1f~");
    assert_string_equal(s.text, SPACE ">\n<title>\xc3\xa9&lt;&gt;&amp;\n!</title>\n<desc> ~</desc>\n</svg>");
    free(s.text);
}

/* An update behind the end, or a comment where there is no plain trailer near it. */
static void text_in_pdf(void **state)
{
    (void)state;
    static const char trailer[] = "trailer\n<< /Size 7 /Root 3 0 R >>\nstartxref\n99\n%%EOF";
    char pdf[2048], wanted[4096];
    for (int k = 0; k < 4; k++) { /* with an end of line or without; and an older trailer before */
        int size = snprintf(pdf, sizeof pdf, "%%PDF-1.5\n%s%s%s",
                            k / 2 ? "trailer << /Size 4 /Root 1 0 R >> startxref 5 %%EOF\n" : "", trailer,
                            k % 2 ? "\n" : "");
        spool s = stamped("pdf", pdf, (size_t)size, "\\t)", "\xc3 \x1f~\x7f");
        int start = size + !(k % 2);
        int used =
            snprintf(wanted, sizeof wanted,
                     "%s%s7 0 obj\n<< /Title (\\\\t\\))\n   /Subject (?  ~?)\n   /Creator (stair %s)\n>>\n"
                     "endobj\n",
                     pdf, k % 2 ? "" : "\n", STAIR_VERSION);
        snprintf(wanted + used, sizeof wanted - (size_t)used,
                 "xref\n7 1\n%010d 00000 n \ntrailer\n<< /Size 8 /Root 3 0 R /Info 7 0 R /Prev 99 >>\n"
                 "startxref\n%d\n%%%%EOF\n",
                 start, used);
        assert_string_equal(s.text, wanted);
        free(s.text);
    }
    static const char *const parts[] = {"trailer", "/Size", "/Root", "startxref"};
    for (int k = 0; k < 6; k++) { /* one of them is missing, or far from the end */
        int size = snprintf(pdf, sizeof pdf, "%%PDF-1.5\n%s\n", trailer);
        if (k < 4)
            *strstr(pdf, parts[k]) = '!';
        else if (k == 4)
            size += snprintf(pdf + size, sizeof pdf - (size_t)size, "%1024s\n", "");
        else
            memcpy(strstr(pdf, "99"), "xx", 2);
        spool s = stamped("pdf", pdf, (size_t)size, "t", "a(b\n");
        snprintf(wanted, sizeof wanted, "%s%% (a\\(b )\n", pdf);
        assert_string_equal(s.text, wanted);
        free(s.text);
    }
    static const char *const words[] = {"trailer", "/Size 7", "/Root 3", "startxref 99"};
    for (int first = 0; first < 4; first++)
        for (int far = 0; far < 2; far++) { /* one of them is as far from the end as it may be, or farther */
            int start = snprintf(pdf, sizeof pdf, "%%PDF-1.5\n"), size = start;
            for (int k = 0; k < 4; k++)
                size += snprintf(pdf + size, sizeof pdf - (size_t)size, "%s ", words[(first + k) % 4]);
            memset(pdf + size, '\n', sizeof pdf - (size_t)size);
            spool s = stamped("pdf", pdf, (size_t)(start + 1024 + far), "t", "a");
            assert_true((strstr(s.text, "/Info 7 0 R") == NULL) == far);
            assert_true((strstr(s.text, "\n% (a)\n") != NULL) == far);
            free(s.text);
        }
}

static void means_over_runs(void **state)
{
    (void)state;
    figure_request request = {.context = context};
    figure_job job = {.request = &request, .context = context};
    assert_int_equal(figure_table_create(context, "epoch Q11 Q11_error", &job.table), STAIR_OK);
    const double runs[3][3] = {{1, 2, 3}, {3, 4, 5}, {5, 9, 0}};
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < (r == 2 ? 2 : 3); i++) {
            double row[] = {10 * i, runs[r][i], 0};
            assert_int_equal(figure_table_add(context, job.table, figure_run_name(r), row), STAIR_OK);
        }
    assert_int_equal(figure_add_means(&job, 3), STAIR_OK);
    assert_int_equal(job.table->rows, 11);
    const double means[] = {3, 5, 4};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(job.table->series[8 + i], "mean");
        assert_true(figure_table_at(job.table, 8 + i, "epoch") == 10 * i);
        assert_close(figure_table_at(job.table, 8 + i, "Q11"), means[i], 1e-14);
        assert_true(figure_table_at(job.table, 8 + i, "Q11_error") > 0);
    }
    figure_table_destroy(&job.table);
    double one = 2, mean, error;
    figure_mean(1, &one, &mean, &error);
    assert_true(mean == 2 && isnan(error));
    assert_true(figure_grid(0.1, 0.1, 2) == 0.3 && figure_grid(1, 0.25, 0) == 1);
    char name[FIGURE_NAME];
    figure_overlap_name(9, 2, true, name);
    assert_string_equal(name, "Q22_error");
    figure_overlap_name(10, 2, false, name);
    assert_string_equal(name, "Q2_2");
    job.quick = true;
    assert_true(figure_how(&job, 0.1, 0.01).precision == 0.1);
    job.quick = false;
    assert_true(figure_how(&job, 0.1, 0.01).precision == 0.01);
    request.precise = true, request.how.precision = 0.5;
    assert_true(figure_how(&job, 0.1, 0.01).precision == 0.5);
    assert_int_equal(figure_reached(&job, STAIR_NOT_CONVERGED, 0.2), STAIR_OK);
    assert_int_equal(figure_reached(&job, STAIR_NOT_CONVERGED, 0.1), STAIR_OK);
    assert_int_equal(figure_reached(&job, STAIR_FAILED, 0.9), STAIR_FAILED);
    assert_true(job.missed == 0.2);
}

static void steps_are_shaded(void **state)
{
    (void)state;
    figure_request request = {.context = context};
    figure_job job = {.request = &request, .context = context, .table = table_of("x", 0)};
    figure_table_mark(context, job.table, "weak", 0.25, 0, "2");
    figure_table_mark(context, job.table, "missed", 0.3, 0, "");
    figure_table_mark(context, job.table, "perfect", 0.75, 0, "1 2");
    for (int beyond = 0; beyond < 2; beyond++) {
        figure_plot *plot = calloc(1, sizeof *plot);
        plot->x[0] = NAN;
        figure_draw_steps(&job, plot, beyond ? 0.5 : 1, 0.9);
        assert_int_equal(plot->ranges, 2);
        assert_int_equal(plot->labels, beyond ? 1 : 2);
        assert_true(plot->range[0].from == 0 && plot->range[0].to == 0.25 &&
                    plot->range[0].colour == FIGURE_GREY);
        assert_true(plot->range[1].from == 0.25 && plot->range[1].to == (beyond ? 0.5 : 0.75));
        assert_int_equal(plot->range[1].colour, figure_layer_colour(2));
        assert_string_equal(plot->label[0].text, "$\\alpha_{1} = 0.250$");
        assert_true(plot->label[0].line && !plot->label[0].right && plot->label[0].height == 0.9);
        if (!beyond) assert_true(plot->label[1].right && plot->label[1].height == 0.35);
        free(plot);
    }
    figure_table_destroy(&job.table);
}

/* Steps that are not in the frame, and those that say nothing of a layer, are left out. */
static void steps_in_the_frame(void **state)
{
    (void)state;
    figure_request request = {.context = context};
    figure_job job = {.request = &request, .context = context, .table = table_of("x", 0)};
    static const struct {
        const char *name, *text;
        double value;
    } marks[] = {{"weak", "3 1", 0.5},  {"spinodal", "1", 0.6},      {"weak", "1", INFINITY},
                 {"weak", "1", 2},      {"weak", "1", 2.5},          {"weak", "2", 1.5},
                 {"perfect", "1 2", 2}, {"perfect", "1 2", INFINITY}};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
        figure_table_mark(context, job.table, marks[k].name, marks[k].value, 0.01, marks[k].text);
    figure_plot *plot = calloc(1, sizeof *plot);
    plot->x[0] = 0.25;
    figure_draw_steps(&job, plot, 2, 0.7);
    assert_true(plot->ranges == 3 && plot->labels == 2);
    static const double ends[] = {0.25, 0.5, 1.5, 2};
    const int colours[] = {FIGURE_GREY, figure_layer_colour(3), figure_layer_colour(2)};
    for (int k = 0; k < 3; k++) {
        assert_true(plot->range[k].from == ends[k] && plot->range[k].to == ends[k + 1]);
        assert_int_equal(plot->range[k].colour, colours[k]);
    }
    assert_string_equal(plot->label[0].text, "$\\alpha_{1} = 0.50$");
    assert_string_equal(plot->label[1].text, "$\\alpha_{2} = 1.50$");
    assert_true(plot->label[1].x == 1.5 && plot->label[1].height == 0.7);
    free(plot);
    figure_table_destroy(&job.table);
}

/* Of a step that teaches all: as many as fit, each whole or none. */
static void steps_say_what_they_teach(void **state)
{
    (void)state;
    figure_request request = {.context = context};
    figure_job job = {.request = &request, .context = context, .table = table_of("x", 0)};
    stair_step steps[3] = {{.kind = STAIR_STEP_WEAK, .alpha = 0.25, .error = 0.5, .learn_count = 24},
                           {.kind = STAIR_STEP_SPINODAL, .alpha = 0.75},
                           {.kind = STAIR_STEP_PERFECT, .alpha = 2, .learn_count = 1, .learns = {7}}};
    for (int k = 0; k < 24; k++) steps[0].learns[k] = k + 1;
    assert_int_equal(figure_mark_steps(&job, 3, steps), STAIR_OK);
    assert_int_equal(job.table->marks, 3);
    assert_string_equal(job.table->mark[0].text,
                        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24");
    assert_string_equal(job.table->mark[1].text, "");
    assert_string_equal(job.table->mark[1].name, "spinodal");
    assert_string_equal(job.table->mark[2].text, "7");
    assert_true(job.table->mark[0].error == 0.5 && job.table->mark[2].value == 2);
    figure_table_destroy(&job.table);
}

/* The last digit is wrong by less than one. */
static void steps_have_the_digits_they_deserve(void **state)
{
    static const struct {
        double error;
        const char *label;
    } cases[] = {{0, "$\\alpha_{1} = 1.166$"},    {1e-7, "$\\alpha_{1} = 1.166$"},
                 {0.9, "$\\alpha_{1} = 1.2$"},    {30, "$\\alpha_{1} = 1.2$"},
                 {9e-4, "$\\alpha_{1} = 1.166$"}, {7e-3, "$\\alpha_{1} = 1.17$"},
                 {0.02, "$\\alpha_{1} = 1.2$"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        figure_request request = {.context = context};
        figure_job job = {.request = &request, .context = context, .table = table_of("x", 0)};
        figure_plot *plot = calloc(1, sizeof *plot);
        figure_table_mark(context, job.table, "weak", 1.1663, cases[k].error, "2");
        figure_draw_steps(&job, plot, 3, 0.9);
        assert_string_equal(plot->label[0].text, cases[k].label);
        free(plot);
        figure_table_destroy(&job.table);
    }
}

/* Whatever a figure draws is a column of its own table, in a frame that is one, and it has parts to compute.
 */
static void figures_draw_what_they_have(void **state)
{
    (void)state;
    for (const figure_kind *const *k = figure_kinds; *k; k++)
        for (int quick = 0; quick < 2; quick++) {
            figure_request request = {
                .context = context, .quick = quick, .how = stair_asymptotics_defaults()};
            figure_job job = {.request = &request, .context = context, .kind = *k, .quick = quick};
            if ((*k)->model) {
                snprintf(job.spec, sizeof job.spec, "%s", (*k)->model);
                job.model = model_of((*k)->model);
                job.info = stair_model_describe(job.model);
            }
            char names[2048] = "";
            (*k)->columns(&job, names, sizeof names);
            job.table = table_of(names, 4);
            assert_true(job.table->columns > 1);
            assert_true((*k)->parts(&job) > 0);
            figure_plot *plot = calloc(1, sizeof *plot);
            plot->table = job.table;
            plot->x[0] = plot->x[1] = plot->y[0] = plot->y[1] = NAN;
            assert_int_equal((*k)->draw(&job, plot), STAIR_OK);
            assert_true(plot->curves > 0 && plot->x_label[0] && plot->y_label[0]);
            for (int c = 0; c < plot->curves; c++) {
                const figure_curve *curve = &plot->curve[c];
                const figure_table *t = curve->table ? curve->table : job.table;
                if (figure_table_column(t, curve->x) < 0 || figure_table_column(t, curve->y) < 0)
                    fail_msg("%s: no column %s or %s", (*k)->name, curve->x, curve->y);
                assert_true(!*curve->error || figure_table_column(t, curve->error) >= 0);
                assert_true(curve->style != FIGURE_AREA || figure_table_column(t, curve->other) >= 0);
                assert_true(curve->colour >= 0 && curve->colour < FIGURE_COLOURS);
            }
            if (plot->x[0] == plot->x[1] || plot->y[0] >= plot->y[1]) /* x may go down */
                fail_msg("%s: x %g to %g, y %g to %g", (*k)->name, plot->x[0], plot->x[1], plot->y[0],
                         plot->y[1]);
            assert_false(plot->log_x && (plot->x[0] <= 0 || plot->x[1] <= 0));
            assert_false(plot->log_y && (plot->y[0] <= 0 || plot->y[1] <= 0));
            for (int r = 0; r < plot->ranges; r++) assert_true(plot->range[r].from != plot->range[r].to);
            free(plot);
            figure_table_destroy(&job.table);
            stair_model_destroy(&job.model);
        }
}

/* ---- what figures show, kept ------------------------------------------------------------------------- */

static void write_curves(const figure_plot *plot, FILE *out)
{
    for (int k = 0; k < plot->curves; k++) {
        const figure_curve *c = &plot->curve[k];
        fprintf(out, "  curve style %d colour %d shape %d: %s, %s against %s", c->style, c->colour, c->shape,
                c->series ? c->series : "all", c->y, c->x);
        if (*c->error) fprintf(out, ", error %s", c->error);
        if (*c->other) fprintf(out, ", other edge %s", c->other);
        fprintf(out, "%s%s\n", *c->title ? ", titled " : "", c->title);
    }
}

static void write_plot(const figure_plot *plot, FILE *out)
{
    fprintf(out, "  x: %s%s, %.6g to %.6g, step %.6g\n", plot->x_label, plot->log_x ? ", logarithmic" : "",
            plot->x[0], plot->x[1], plot->x_step);
    fprintf(out, "  y: %s%s, %.6g to %.6g\n", plot->y_label, plot->log_y ? ", logarithmic" : "", plot->y[0],
            plot->y[1]);
    fprintf(out, "  columns of the key: %d\n", plot->key_columns);
    write_curves(plot, out);
    for (int k = 0; k < plot->ranges; k++)
        fprintf(out, "  range colour %d: %.6g to %.6g\n", plot->range[k].colour, plot->range[k].from,
                plot->range[k].to);
    for (int k = 0; k < plot->labels; k++) {
        const figure_label *l = &plot->label[k];
        fprintf(out, "  label at %.6g, height %.6g%s%s%s: %s\n", l->x, l->height, l->line ? ", line" : "",
                l->right ? ", right" : "", l->centre ? ", centre" : "", l->text);
    }
}

/* A quick figure whole, of a full one what differs in size.  The table has marks of all kinds. */
static void write_figure(const figure_kind *kind, bool quick, FILE *out)
{
    figure_request request = {.context = context, .quick = quick, .how = stair_asymptotics_defaults()};
    figure_job job = {.request = &request, .context = context, .kind = kind, .quick = quick};
    char names[2048] = "";
    if (kind->model) {
        job.model = model_of(kind->model);
        job.info = stair_model_describe(job.model);
    }
    kind->columns(&job, names, sizeof names);
    job.table = table_of(names, 4);
    assert_int_equal(figure_table_mark(context, job.table, "weak", 0.2, 0, "2"), STAIR_OK);
    assert_int_equal(figure_table_mark(context, job.table, "perfect", 0.9, 0, "1 2"), STAIR_OK);
    assert_int_equal(figure_table_mark(context, job.table, "amp", 0.75, 0, "hard"), STAIR_OK);
    assert_int_equal(figure_table_mark(context, job.table, "bayes", 1, 0, "hard"), STAIR_OK);
    figure_plot *plot = calloc(1, sizeof *plot);
    *plot = (figure_plot){.table = job.table, .x = {NAN, NAN}, .y = {NAN, NAN}, .key_columns = 4};
    assert_int_equal(kind->draw(&job, plot), STAIR_OK);
    fprintf(out, "%s, %s: %d parts, %d curves, x to %.6g\n", kind->name, quick ? "quick" : "full",
            kind->parts(&job), plot->curves, plot->x[1]);
    if (quick) {
        fprintf(out, "  columns: %s\n", names);
        write_plot(plot, out);
    }
    free(plot);
    figure_table_destroy(&job.table);
    stair_model_destroy(&job.model);
}

/* tests/reference/figure_plots.txt: after a change that is meant, STAIR_KEEP=1 writes it anew. */
static void figures_show_what_they_did(void **state)
{
    (void)state;
    static const char kept[] = "tests/reference/figure_plots.txt";
    bool keep = getenv("STAIR_KEEP") != NULL;
    FILE *now = keep ? fopen(kept, "w+") : tmpfile(), *then = keep ? NULL : fopen(kept, "r");
    assert_true(now && (keep || then));
    for (const figure_kind *const *k = figure_kinds; *k; k++)
        for (int quick = 1; quick >= 0; quick--) write_figure(*k, quick, now);
    rewind(now);
    char line[512], old[512], name[512] = "";
    for (int number = 1; then && fgets(line, sizeof line, now); number++) {
        if (line[0] != ' ') snprintf(name, sizeof name, "%s", line);
        if (!fgets(old, sizeof old, then) || strcmp(line, old) != 0)
            fail_msg("%s:%d, of %s was: %s is: %s", kept, number, name, feof(then) ? "nothing" : old, line);
    }
    assert_true(!then || !fgets(old, sizeof old, then));
    if (then) fclose(then);
    fclose(now);
}

static void work_folders_go(void **state)
{
    (void)state;
    figure_work work, second;
    char path[FIGURE_PATH_MOST], left[128];
    snprintf(left, sizeof left, "%s/.stair-figure-%ld-0", folder, 4194999L); /* beyond the largest process */
    assert_int_equal(mkdir(left, 0777), 0);
    assert_int_equal(figure_work_open(context, folder, &work), STAIR_OK);
    assert_int_not_equal(access(left, F_OK), 0);
    assert_int_equal(figure_work_open(context, folder, &second), STAIR_OK);
    assert_string_not_equal(work.path, second.path);
    figure_work_path(&work, "curve63.dat", path);
    fclose(fopen(path, "w"));
    figure_work_clean(&work);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s", second.path);
    figure_work_close(&second);
    figure_work_close(&work);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(work.path[0], 0);
}

static int open_folder(void **state)
{
    return !mkdtemp(folder) || open_context(state);
}

static int close_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || close_context(state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(damaged_numbers_are_refused),
        cmocka_unit_test(numbers_as_they_are_written),
        cmocka_unit_test(tables_of_others),
        cmocka_unit_test(labels_of_gnuplot),
        cmocka_unit_test(curves_leave_out_what_is_no_number),
        cmocka_unit_test(bars_on_logarithmic_axes),
        cmocka_unit_test(room_of_a_plot),
        cmocka_unit_test(scripts_say_what_the_plot_does),
        cmocka_unit_test(text_in_pictures),
        cmocka_unit_test(pictures_cut_off),
        cmocka_unit_test(text_in_png),
        cmocka_unit_test(text_in_svg),
        cmocka_unit_test(text_in_pdf),
        cmocka_unit_test(means_over_runs),
        cmocka_unit_test(steps_are_shaded),
        cmocka_unit_test(steps_in_the_frame),
        cmocka_unit_test(steps_say_what_they_teach),
        cmocka_unit_test(steps_have_the_digits_they_deserve),
        cmocka_unit_test(figures_draw_what_they_have),
        cmocka_unit_test(work_folders_go),
        cmocka_unit_test(figures_show_what_they_did),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
