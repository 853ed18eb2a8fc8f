/* Figures of the asymptotics, computed whole, quick and full, by a library that answers at once: each number
 * stands where it belongs, with its error.  The real numbers are those of test_figure_parts.c. */
#include "figure_stubs.h"

/* ---- staircase ---------------------------------------------------------------------------------------- */

static void expect_steps(const figure_table *t, int from)
{
    stair_step list[8];
    int count = usual_steps("", list);
    static const char *const text[] = {"2", "1", "1 2"};
    assert_int_equal(t->marks, from + count);
    for (int k = 0; k < count; k++) {
        const figure_mark *m = &t->mark[from + k];
        assert_string_equal(m->name, k < 2 ? "weak" : "perfect");
        assert_string_equal(m->text, text[k]);
        assert_true(m->value == list[k].alpha && m->error == list[k].error);
    }
}

static void staircase_is_the_curve(void **state)
{
    (void)state;
    static const char *const models[] = {NULL, "attention:layers=1,rank=10"};
    for (int k = 0; k < 4; k++) {
        bool quick = k % 2;
        figure_job job = open_figure("staircase", models[k / 2], quick);
        int p = job.info.indices, columns = 7 + 2 * p;
        assert_int_equal(p, k / 2 ? 10 : 2);
        assert_int_equal(job.kind->parts(&job), 1);
        add(&job, 0);
        assert_int_equal(calls, 1);
        assert_int_equal(asked[0].between, quick ? 24 : 48);
        expect_how(&asked[0].how, quick ? 1e-2 : 5e-3, models[k / 2] ? 3 : 0);
        expect_steps(job.table, 0);
        assert_int_equal(job.table->rows, 2 * asked[0].between + 3);
        for (int i = 0; i < job.table->rows; i++) {
            double row[32] = {0.03125 * i};
            stair_errors e = told_errors(row[0]);
            for (int j = 0; j < p; j++) {
                row[1 + 2 * j] = told(Q, row[0], j);
                row[2 + 2 * j] = told(Q_ERROR, row[0], j);
            }
            double *rest = row + 1 + 2 * p;
            rest[0] = e.bayes, rest[1] = e.bayes_error, rest[2] = e.plugin, rest[3] = e.plugin_error;
            rest[4] = e.weights, rest[5] = e.weights_error;
            expect_row(&job, i, "", columns, row);
        }
        assert_true(same(at(&job, 1, p > 9 ? "Q10_10" : "Q22"), told(Q, 0.03125, p - 1)));
        assert_true(same(at(&job, 1, p > 9 ? "Q10_10_error" : "Q22_error"), told(Q_ERROR, 0.03125, p - 1)));
        assert_true(same(at(&job, 1, "weights_error"), told(WEIGHTS_ERROR, 0.03125, 0)) && job.missed == 0);
        close_figure(&job);
    }
}

static void staircase_that_misses_its_precision(void **state)
{
    (void)state;
    figure_job job = open_figure("staircase", NULL, true);
    curve_of = 1;
    expect_status(&job, 0, 0, STAIR_NOT_CONVERGED, STAIR_OK);
    assert_true(job.missed == 0.0625 && job.table->rows == 51);
    expect_status(&job, 0, 0, STAIR_FAILED, STAIR_FAILED);
    assert_int_equal(job.table->rows, 51);
    curve_of = 0;
    expect_status(&job, 0, 0, STAIR_NOT_CONVERGED, STAIR_NOT_CONVERGED);
    expect_status(&job, 0, 0, STAIR_COSTLY, STAIR_COSTLY);
    close_figure(&job);
}

/* The frame ends at the last alpha, and has room for the largest plug-in error. */
static void staircase_fills_its_frame(void **state)
{
    (void)state;
    static const char *const models[] = {NULL, "attention:layers=3"};
    for (int k = 0; k < 2; k++) {
        figure_job job = open_figure("staircase", models[k], true);
        add(&job, 0);
        figure_plot *plot = drawn(&job);
        assert_true(plot->x[0] == 0 && plot->x[1] == 50 * 0.03125 && plot->y[0] == 0);
        assert_true(same(plot->y[1], 1.02 * told(PLUGIN, 50 * 0.03125, 0)));
        assert_int_equal(plot->key_columns, k ? 3 : 2);
        assert_int_equal(plot->labels, 3);
        assert_int_equal(plot->ranges, 3);
        assert_true(plot->range[1].from == 0.25 && plot->range[1].to == 0.5 && plot->range[2].to == 1);
        assert_int_equal(plot->range[2].colour, figure_layer_colour(1));
        assert_string_equal(plot->label[0].text, "$\\alpha_{1} = 0.25$");
        assert_string_equal(plot->label[1].text, "$\\alpha_{2} = 0.5$");
        for (int row = 0; row < job.table->rows; row++) /* less than everything */
            job.table->cell[row * job.table->columns + figure_table_column(job.table, "plugin")] = 0.25;
        free(plot);
        plot = drawn(&job);
        assert_true(plot->y[1] == 1.02);
        free(plot);
        for (int row = 0; row < job.table->rows; row += job.table->rows - 1) { /* wherever it is */
            job.table->cell[row * job.table->columns + figure_table_column(job.table, "plugin")] = 9 + row;
            plot = drawn(&job);
            assert_true(plot->y[1] == 1.02 * (9 + row));
            free(plot);
        }
        close_figure(&job);
    }
}

/* ---- fig1-left, fig3-left ------------------------------------------------------------------------------ */

/* Of the steps one is at a point of the grid, one a hair behind one, one beyond the frame, one never. */
static int many_steps(const char *spec, stair_step *list)
{
    bool far = strstr(spec, "layers=3") != NULL;
    list[0] = a_step(STAIR_STEP_WEAK, 0.3, 0.004, 2, 0);
    list[1] = a_step(STAIR_STEP_WEAK, 0.6 + 5e-10, 0.003, 1, 0);
    list[2] = a_step(STAIR_STEP_SPINODAL, 0.7123, 0.003, 1, 2);
    list[3] = a_step(STAIR_STEP_PERFECT, 1.0321, 0.002, 1, 2);
    list[4] = a_step(STAIR_STEP_WEAK, far ? 3.01 : 1.505, 0.003, 1, 0);
    list[5] = a_step(STAIR_STEP_WEAK, far ? 2.99 : 1.495, 0.003, 1, 0);
    list[6] = a_step(STAIR_STEP_PERFECT, INFINITY, 0, 0, 0);
    return 7;
}

/* Whether alpha is where the curve has a point: on the grid, or behind a step that is in the frame. */
static bool is_place(double alpha, double most, int pieces)
{
    static const double behind[] = {0, 0.003, 0.01, 0.02, 0.035, 0.06};
    stair_step list[8];
    int count = many_steps(most == 3 ? "layers=3" : "", list);
    for (int i = 0; i <= pieces; i++)
        if (same(alpha, to_six_decimals(most / pieces * i))) return true;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < (list[k].kind == STAIR_STEP_WEAK ? 6 : 1); i++)
            if (same(alpha, list[k].alpha + behind[i] * most / 1.5)) return true;
    return false;
}

static const struct {
    const char *name;
    double most, precision[2]; /* full, quick */
    int pieces[2];
} overlap_figures[] = {
    {"fig1-left", 1.5, {1.5e-3, 1e-2}, {80, 40}},
    {"fig1-left-prenoise", 1.5, {1.5e-3, 1e-2}, {80, 40}},
    {"fig3-left", 3, {1e-2, 5e-2}, {60, 60}},
    {"fig3-left-prenoise", 3, {2e-2, 5e-2}, {60, 60}},
};

/* Five points behind a weak step, as far as the frame reaches, and none behind another; none twice. */
static void curves_have_points_behind_their_steps(void **state)
{
    (void)state;
    steps_of = many_steps;
    for (size_t f = 0; f < 4; f++)
        for (int quick = 0; quick < 2; quick++) {
            figure_job job = open_figure(overlap_figures[f].name, NULL, quick);
            double most = overlap_figures[f].most;
            int pieces = overlap_figures[f].pieces[quick];
            assert_int_equal(add(&job, 0), 0);
            int rows = job.table->rows;
            expect_asked(0, "threshold", f < 2 ? "attention:layers=2" : "attention:layers=3");
            expect_how(&asked[0].how, overlap_figures[f].precision[quick], 0);
            assert_true(asked[0].steps == STAIR_MOST_LEARNS && asked[0].capacity == STAIR_MOST_LEARNS + 1);
            expect_asked(1, "sweep", job.kind->prenoise ? "prenoise=1e-3" : "prenoise=0");
            expect_how(&asked[1].how, overlap_figures[f].precision[quick], 0);
            assert_int_equal(asked[1].starts, STAIR_START_UNINFORMED);
            assert_int_equal(asked[1].alphas, rows);
            assert_int_equal(job.table->marks, 7);
            assert_string_equal(job.table->mark[2].name, "spinodal");
            assert_string_equal(job.table->mark[2].text, "1 2");
            int on_grid = 0;
            for (int row = 0; row < rows; row++) {
                double alpha = at(&job, row, "alpha");
                if (!is_place(alpha, most, pieces)) fail_msg("%s: a point at %.17g", job.kind->name, alpha);
                assert_true(row == 0 ? alpha == 0 : alpha > at(&job, row - 1, "alpha") + 1e-9);
                for (int i = 0; i <= pieces; i++) on_grid += alpha == to_six_decimals(most / pieces * i);
            }
            assert_int_equal(on_grid, pieces + 1);
            assert_true(at(&job, rows - 1, "alpha") == most);
            /* 0.3 and 0.6 are of the grid; the two before the end of the frame have one point behind them */
            assert_int_equal(rows, pieces + 1 + 5 + 5 + 1 + 1 + 2);
            close_figure(&job);
        }
}

static void overlaps_are_those_of_the_sweep(void **state)
{
    (void)state;
    steps_of = many_steps;
    for (size_t f = 0; f < 4; f++) {
        figure_job job = open_figure(overlap_figures[f].name, NULL, true);
        int p = job.info.indices, last = p * p - 1;
        flat_from = 1.2, zero_below = 0.3;
        add(&job, 0);
        for (int row = 0; row < job.table->rows; row++) {
            double alpha = at(&job, row, "alpha"), values[32] = {alpha};
            bool zero = alpha < zero_below, flat = alpha >= flat_from;
            stair_errors e = told_errors(alpha);
            double *rest = values + 1 + 2 * p;
            for (int k = 0; k < p; k++) {
                int cell = k * p + k;
                values[1 + 2 * k] = zero || (flat && cell < last) ? 0 : told(Q, alpha, cell);
                values[2 + 2 * k] = told(Q_ERROR, alpha, cell);
            }
            rest[0] = e.bayes, rest[1] = e.bayes_error;
            rest[2] = rest[4] = e.plugin, rest[3] = rest[5] = e.plugin_error;
            if (!zero && !flat) { /* of the last layer alone */
                rest[4] = (last + 1) * told(Q, alpha, last);
                rest[5] = (last + 1) * told(Q_ERROR, alpha, last);
            }
            expect_row(&job, row, "theory", 8 + 2 * p, values);
        }
        assert_true(!isnan(at(&job, 0, "last_layer_error")) && at(&job, 0, "runs") == 0);
        for (int k = 0, next = 0; k < calls; k++) {
            if (!strcmp(asked[k].of, "next")) next = 1;
            if (strcmp(asked[k].of, "errors") != 0) continue;
            assert_true(next);
            expect_how(&asked[k].how, overlap_figures[f].precision[1], 0);
        }
        close_figure(&job);
    }
}

/* A layer of two rows; a readout, which is the last layer of none; and a model of another kind. */
static void last_layer_alone(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        bool asked;
    } cases[] = {{"attention:layers=2,rank=2", true},
                 {"attention-limit:layers=2,beta=1", true},
                 {"attention:layers=1,rank=2", false},
                 {"attention:layers=2,heads=2,readout=1,noise=0.1", false},
                 {"square:tokens=1", false}};
    steps_of = usual_steps;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        figure_job job = open_figure("fig1-left", cases[c].model, true);
        int p = job.info.indices, errors = 0;
        add(&job, 0);
        for (int k = 0; k < calls; k++) errors += !strcmp(asked[k].of, "errors");
        assert_int_equal(errors, cases[c].asked ? job.table->rows : 0);
        expect_how(&asked[0].how, p > 2 ? 5e-2 : 1e-2, 3);
        for (int row = 0; row < job.table->rows; row++) {
            double alpha = at(&job, row, "alpha"), sum = 0, error = 0;
            for (int i = p / 2; i < p; i++)
                for (int j = p / 2; j < p; j++) {
                    sum += (p * i + j + 1) * told(Q, alpha, p * i + j);
                    error += (p * i + j + 1) * told(Q_ERROR, alpha, p * i + j);
                }
            bool mixed = cases[c].asked;
            assert_true(same(at(&job, row, "last_layer"), mixed ? sum : told(PLUGIN, alpha, 0)));
            assert_true(
                same(at(&job, row, "last_layer_error"), mixed ? error : told(PLUGIN_ERROR, alpha, 0)));
            assert_true(same(at(&job, row, "plugin"), told(PLUGIN, alpha, 0)));
        }
        assert_true(at(&job, job.table->rows - 1, "alpha") == 1.5); /* half as much again as the last step */
        close_figure(&job);
    }
}

static int one_late_step(const char *spec, stair_step *list)
{
    (void)spec;
    list[0] = a_step(STAIR_STEP_WEAK, 0.11, 0.004, 1, 0);
    list[1] = a_step(STAIR_STEP_PERFECT, 0.21, 0.004, 1, 0);
    list[2] = a_step(STAIR_STEP_PERFECT, INFINITY, 0, 1, 0);
    return 3;
}

static int no_steps(const char *spec, stair_step *list)
{
    (void)spec, (void)list;
    return 0;
}

/* The axis of a model that was given: half as much again as the last step, in tenths. */
static void frames_of_models(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        steps_of = k ? no_steps : one_late_step;
        figure_job job = open_figure("fig1-left", "attention:layers=1", false);
        double most = k ? 1.5 : 0.4;
        add(&job, 0);
        assert_true(at(&job, job.table->rows - 1, "alpha") == most);
        assert_true(at(&job, 1, "alpha") == to_six_decimals(most / 80));
        int row = add(&job, 15);
        assert_true(at(&job, row, "alpha") == most + 1e-3 && asked[calls - 2].gamp.alpha == most);
        figure_plot *plot = drawn(&job);
        assert_true(plot->x[0] == 0 && plot->x[1] == most && plot->y[0] == 0 && plot->y[1] == 1.02);
        assert_int_equal(plot->labels, k ? 0 : 2);
        for (int i = 0; i < plot->labels; i++) assert_true(plot->label[i].height == (i ? 0.35 : 0.66));
        for (int i = 0; i < plot->curves; i++) assert_null(strstr(plot->curve[i].title, "alone"));
        free(plot);
        close_figure(&job);
    }
}

static void overlaps_that_fail(void **state)
{
    (void)state;
    steps_of = usual_steps;
    figure_job job = open_figure("fig1-left", NULL, true);
    expect_status(&job, 0, 0, STAIR_COSTLY, STAIR_COSTLY);           /* thresholds */
    expect_status(&job, 0, 1, STAIR_UNSUPPORTED, STAIR_UNSUPPORTED); /* the sweep */
    expect_status(&job, 0, 2, STAIR_FAILED, STAIR_FAILED);           /* its first point */
    assert_int_equal(job.table->rows, 0);
    expect_status(&job, 0, 3, STAIR_FAILED, STAIR_FAILED); /* the last layer alone */
    assert_int_equal(job.table->rows, 0);
    expect_status(&job, 0, 4, STAIR_FAILED, STAIR_FAILED); /* the second point */
    assert_int_equal(job.table->rows, 1);
    job.table->rows = job.table->marks = 0;
    expect_status(&job, 0, 0, STAIR_NOT_CONVERGED, STAIR_OK);
    expect_steps(job.table, 0);
    int rows = job.table->rows;
    expect_status(&job, 0, 3, STAIR_NOT_CONVERGED, STAIR_OK);
    assert_true(job.table->rows == 2 * rows && job.missed == 0);
    missed_at = 0.75;
    add(&job, 0);
    assert_true(job.missed == worst_at(0.75));
    expect_status(&job, 1, 0, STAIR_FAILED, STAIR_FAILED);
    expect_status(&job, 1, 1, STAIR_FAILED, STAIR_FAILED);
    assert_int_equal(job.table->rows, 3 * rows);
    close_figure(&job);
}

/* Squared cosines where each run ended. */
static void runs_of_message_passing(void **state)
{
    (void)state;
    steps_of = usual_steps;
    for (int f = 0; f < 3; f++)
        for (int quick = 0; quick < 2; quick++) {
            figure_job job = open_figure(f == 2 ? "fig1-left-prenoise" : "fig1-left",
                                         f == 1 ? "attention:layers=3" : NULL, quick);
            int p = job.info.indices, parts = job.kind->parts(&job), seeds = quick ? 4 : 16;
            assert_int_equal(parts, 1 + (quick ? 8 : 15));
            for (int part = 1; part < parts; part++) {
                double alpha = (quick ? 2 * part - 1 : part) / 10.0, values[32] = {alpha + 1e-3};
                if (f == 1) add(&job, 0), job.table->rows = 0; /* the frame needs the steps */
                if (f == 1) job.table->marks = 3;
                forget();
                int row = add(&job, part);
                assert_int_equal(job.table->rows, row + 1);
                expect_asked(0, "gamp", f == 2 ? "prenoise=1e-3" : f == 1 ? "layers=3" : "prenoise=0");
                assert_close(asked[0].gamp.alpha, alpha, 1e-15);
                expect_gamp(&asked[0].gamp, 1000, asked[0].gamp.alpha, 100, seeds, 77, 0);
                for (int k = 0; k < p; k++) {
                    double squares[16];
                    for (int r = 0; r < seeds; r++)
                        squares[r] = pow(cosine_of(77, r, length_of(r) - 1, k), 2);
                    double sum = 0;
                    for (int r = 0; r < seeds; r++) sum += squares[r];
                    values[1 + 2 * k] = sum / seeds;
                    values[2 + 2 * k] = stair_replicate_error(seeds, squares);
                }
                values[0] = asked[0].gamp.alpha + 1e-3;
                stair_errors e = told_errors(values[0]);
                double *rest = values + 1 + 2 * p;
                rest[0] = e.bayes, rest[1] = e.bayes_error, rest[2] = e.plugin, rest[3] = e.plugin_error;
                rest[4] = rest[5] = NAN, rest[6] = seeds;
                expect_row(&job, row, "gamp", 8 + 2 * p, values);
            }
            close_figure(&job);
        }
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("fig3-left", NULL, quick);
        assert_int_equal(job.kind->parts(&job), 1);
        close_figure(&job);
    }
}

/* ---- fig1-right, phase-diagram ------------------------------------------------------------------------- */

/* Each layer is learned somewhere, but at 0.5 both at once; at 1.5 layer 2 once more and a layer that is
 * not shown; at 2 there is no recovery; at 3 layer 1 comes first; at 4 nothing is learned. */
static int steps_by_skip(const char *spec, stair_step *list)
{
    double c = number_in(spec, "skip=");
    if (c == 4) return 0;
    list[0] = a_step(STAIR_STEP_WEAK, 0.2 + 0.01 * c, 0.001 * (1 + c), c == 3 ? 1 : 2, c == 0.5 ? 1 : 0);
    list[1] = a_step(STAIR_STEP_WEAK, 0.5 + 0.02 * c, 0.002 * (1 + c), c == 3 ? 2 : 1, 0);
    list[2] = c == 1.5 ? a_step(STAIR_STEP_WEAK, 0.9, 0.009, 2, 3)
                       : a_step(STAIR_STEP_PERFECT, 1 + 0.03 * c, 0.003 * (1 + c), 1, 2);
    list[3] = a_step(STAIR_STEP_PERFECT, 1.5, 0.01, 1, 2);
    return c == 2 ? 2 : c == 1.5 ? 4 : 3;
}

static double worst_by_skip(double c)
{
    return fmax(0.001 * (1 + c) / (0.2 + 0.01 * c), 0.002 * (1 + c) / (0.5 + 0.02 * c));
}

static void thresholds_by_skip(void **state)
{
    (void)state;
    static const char *const names[] = {"fig1-right", "fig1-right-prenoise", "phase-diagram"};
    static const double quick_skips[] = {0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4};
    steps_of = steps_by_skip;
    for (int f = 0; f < 3; f++)
        for (int quick = 0; quick < 2; quick++) {
            figure_job job = open_figure(names[f], NULL, quick);
            assert_int_equal(job.kind->parts(&job), quick ? 9 : 21);
            for (int part = 0; part < job.kind->parts(&job); part++) {
                double c = quick      ? quick_skips[part]
                           : part < 2 ? 0.1 + 0.075 * part
                           : part < 8 ? 0.25 + 0.125 * (part - 2)
                                      : 1 + 0.25 * (part - 8);
                double first = 0.2 + 0.01 * c, second = 0.5 + 0.02 * c, e1 = 0.001 * (1 + c);
                bool perfect = c != 2 && c != 4;
                double exact = c == 1.5 ? 1.5 : 1 + 0.03 * c, e3 = c == 1.5 ? 0.01 : 3 * e1;
                assert_int_equal(add(&job, part), part);
                assert_int_equal(job.table->rows, part + 1);
                expect_asked(part, "threshold", "attention:layers=2,tokens=2,rank=1,");
                assert_true(number_in(asked[part].spec, "skip=") == c);
                assert_true(!strstr(asked[part].spec, "prenoise=1e-3") == (f != 1));
                assert_true(asked[part].steps == 7 && asked[part].capacity == 8);
                expect_how(&asked[part].how, quick ? 5e-3 : 1e-3, 0);
                bool both = c == 0.5, swapped = c == 3;
                double a1 = both || swapped ? first : second, a1_error = both || swapped ? e1 : 2 * e1;
                double a2 = swapped ? second : first, a2_error = swapped ? 2 * e1 : e1;
                if (c == 4) a1 = a2 = INFINITY, a1_error = a2_error = 0;
                EXPECT_ROW(&job, part, "", at(&job, part, "skip"), a1, a1_error, a2, a2_error,
                           perfect ? exact : INFINITY, perfect ? e3 : 0, 0, 1.2);
                assert_close(at(&job, part, "skip"), c, 1e-15);
            }
            assert_true(job.missed == 0);
            close_figure(&job);
        }
}

static void thresholds_by_skip_that_fail(void **state)
{
    (void)state;
    steps_of = steps_by_skip;
    figure_job job = open_figure("fig1-right", NULL, true);
    expect_status(&job, 2, 0, STAIR_COSTLY, STAIR_COSTLY);
    assert_int_equal(job.table->rows, 0);
    expect_status(&job, 6, 0, STAIR_NOT_CONVERGED, STAIR_OK);
    assert_close(job.missed, worst_by_skip(2), 1e-15);
    expect_status(&job, 8, 0, STAIR_NOT_CONVERGED, STAIR_OK);
    assert_close(job.missed, worst_by_skip(2), 1e-15);
    assert_int_equal(job.table->rows, 2);
    close_figure(&job);
}

/* ---- thresholds ---------------------------------------------------------------------------------------- */

static int steps_by_tokens(const char *spec, stair_step *list)
{
    double tokens = number_in(spec, "tokens="), layers = number_in(spec, "layers=");
    list[0] = a_step(STAIR_STEP_WEAK, 1 / (tokens + 10 * layers), 1e-3 * tokens + 1e-5 * layers, 1, 0);
    return tokens == 4 && layers == 2 ? 0 : 1;
}

static void thresholds_by_tokens(void **state)
{
    (void)state;
    static const char *const series[] = {"layers1", "layers2", "layers3", "layers4"};
    steps_of = steps_by_tokens;
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("thresholds", NULL, quick);
        int each = quick ? 4 : 5;
        assert_int_equal(job.kind->parts(&job), 4 * each);
        for (int layers = 1; layers <= 4; layers++)
            for (int tokens = 2; tokens < 2 + each; tokens++) {
                int part = (layers - 1) * each + tokens - 2;
                bool none = tokens == 4 && layers == 2;
                char spec[64];
                snprintf(spec, sizeof spec, "attention:layers=%d,tokens=%d,", layers, tokens);
                assert_int_equal(add(&job, part), part);
                expect_asked(part, "threshold", spec);
                expect_how(&asked[part].how, quick ? 2e-2 : 5e-3, 0);
                assert_true(asked[part].steps == 1 && asked[part].capacity == 1);
                EXPECT_ROW(&job, part, series[layers - 1], tokens, layers,
                           none ? INFINITY : 1.0 / (tokens + 10 * layers),
                           none ? 0 : 1e-3 * tokens + 1e-5 * layers, 1 / (tokens * (tokens + 1.0)));
            }
        figure_plot *plot = drawn(&job);
        assert_true(plot->x[0] == 1.8 && plot->x[1] == (quick ? 5.2 : 6.2) && plot->x_step == 1);
        free(plot);
        close_figure(&job);
    }
}

/* A shape that would take too long, or of which no step is found, has no row. */
static void thresholds_by_tokens_that_fail(void **state)
{
    (void)state;
    steps_of = steps_by_tokens;
    figure_job job = open_figure("thresholds", NULL, true);
    expect_status(&job, 1, 0, STAIR_COSTLY, STAIR_OK);
    expect_status(&job, 6, 0, STAIR_NOT_CONVERGED, STAIR_OK); /* two layers, four tokens: no step */
    assert_true(job.table->rows == 0 && job.missed == 0);
    expect_status(&job, 6, 0, STAIR_FAILED, STAIR_FAILED);
    expect_status(&job, 1, 0, STAIR_FAILED, STAIR_FAILED);
    assert_int_equal(job.table->rows, 0);
    expect_status(&job, 1, 0, STAIR_NOT_CONVERGED, STAIR_OK);
    assert_int_equal(job.table->rows, 1);
    assert_close(job.missed, (3e-3 + 1e-5) * 13, 1e-15);
    close_figure(&job);
}

/* ---- fig5 ---------------------------------------------------------------------------------------------- */

static double never(double u, double held)
{
    (void)held;
    return u - 1e-9;
}

static double always(double u, double held)
{
    (void)held;
    return u + 1;
}

/* Steep above its zero at 1.37, where the secant has a long way to go. */
static double steep(double u, double held)
{
    double x = u - 1.37;
    (void)held;
    return u - (x > 0 ? 40 * x * x * x + 0.3 * x : 0.3 * x);
}

/* Steep below it. */
static double steep_below(double u, double held)
{
    double x = u - 1.37;
    (void)held;
    return u - (x < 0 ? 40 * x * x * x + 0.3 * x : 0.3 * x);
}

static const double least_u = -6.906754778648554; /* log 0.001/0.999 */

static void held_overlaps(void **state)
{
    (void)state;
    static const double lists[2][25] = {
        {0,    0.15, 0.3,   0.45, 0.6,   0.7,  0.8,   0.85, 0.9,    0.91,  0.92,   0.93, 0.94,
         0.95, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999},
        {0, 0.3, 0.6, 0.8, 0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999}};
    information = straight;
    for (int k = 0; k < 4; k++) {
        bool quick = k % 2;
        figure_job job = open_figure(k / 2 ? "fig5-prenoise" : "fig5", NULL, quick);
        assert_int_equal(job.kind->parts(&job), quick ? 13 : 25);
        for (int part = 0; part < job.kind->parts(&job); part++) {
            double held = lists[quick][part], x = 1 / (1 + exp(-2 * held));
            forget();
            int row = add(&job, part);
            assert_int_equal(row, part);
            expect_asked(0, "information", k / 2 ? "prenoise=1e-3" : "prenoise=0");
            for (int c = 0; c < calls; c++) {
                expect_how(&asked[c].how, quick ? 1e-2 : 2e-3, 0);
                assert_true(asked[c].q[3] == held && asked[c].q[1] == 0 && asked[c].q[2] == 0);
            }
            assert_close(asked[0].q[0], 1e-3, 1e-15);
            assert_true(at(&job, row, "Q22") == held);
            assert_close(at(&job, row, "Q11"), x, 1e-12);
            assert_close(at(&job, row, "Q11_error"), x * (1 - x) * 1e-3 / 0.5, 1e-9);
        }
        close_figure(&job);
    }
}

/* From the least overlap upwards in steps of 2, until the gap is not above zero. */
static int climbed(void)
{
    int n = 1;
    assert_close(asked_u[0], least_u, 1e-9);
    while (n < calls && fabs(asked_u[n] - asked_u[n - 1] - 2) < 1e-6) n++;
    return n;
}

static void held_overlap_at_the_ends(void **state)
{
    (void)state;
    figure_job job = open_figure("fig5", NULL, true);
    information = never;
    EXPECT_ROW(&job, add(&job, 3), "", 0.8, 0, 1e-3);
    assert_int_equal(calls, 1);
    forget();
    information = always;
    EXPECT_ROW(&job, add(&job, 4), "", 0.9, 1, exp(-14));
    assert_int_equal(calls, 12); /* -6.9 to 15.1, the first beyond 14 */
    assert_int_equal(climbed(), 12);
    expect_status(&job, 2, 0, STAIR_FAILED, STAIR_FAILED);
    expect_status(&job, 2, 1, STAIR_FAILED, STAIR_FAILED);
    information = straight;
    expect_status(&job, 2, 6, STAIR_FAILED, STAIR_FAILED); /* between two that are known */
    assert_int_equal(job.table->rows, 2);
    close_figure(&job);
}

/* The secant stays a tenth inside the bracket, stops where the gap is small or after six, and the rest is a
 * straight line through the ends of the bracket. */
static void held_overlap_is_refined(void **state)
{
    (void)state;
    static double (*const curves[])(double, double) = {straight, steep, steep_below};
    for (int k = 0; k < 6; k++) {
        bool quick = k % 2;
        figure_job job = open_figure("fig5", NULL, quick);
        double held = quick ? 0.6 : 0.3, precision = quick ? 1e-2 : 2e-3, u = 0, gap = 0;
        information = curves[k / 2];
        int row = add(&job, 2), n = climbed();
        double low = asked_u[n - 2], high = asked_u[n - 1];
        assert_true(information(low, held) > low && information(high, held) <= high);
        assert_true(calls > n && calls <= n + 6);
        for (int c = n; c < calls; c++) {
            double up = information(low, held) - low, down = information(high, held) - high;
            double share = fmin(0.9, fmax(0.1, up / (up - down)));
            u = asked_u[c];
            assert_close(u, low + share * (high - low), 1e-7);
            gap = information(u, held) - u;
            bool small = fabs(gap) < fmax(0.5e-3, 0.02 * precision);
            assert_true(small ? c + 1 == calls : c + 1 < calls || c + 1 == n + 6);
            if (small) break;
            *(gap > 0 ? &low : &high) = u;
        }
        double slope = (information(low, held) - low - information(high, held) + high) / (high - low);
        double x = 1 / (1 + exp(-u - gap / slope));
        assert_close(at(&job, row, "Q11"), x, 1e-7);
        assert_close(at(&job, row, "Q11_error"), x * (1 - x) * hypot(1e-3, gap) / slope, 1e-7);
        close_figure(&job);
    }
}

/* ---- free-entropy -------------------------------------------------------------------------------------- */

static void entropy_against_the_overlap(void **state)
{
    (void)state;
    static const double alphas[] = {0.9, 1.1, 1.2};
    static const char *const series[] = {"below", "hard", "above"};
    amp_q = 0.75, bayes_q = 1;
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("free-entropy", NULL, quick);
        int points = quick ? 40 : 80;
        assert_int_equal(job.kind->parts(&job), 3);
        for (int part = 0; part < 3; part++) {
            double alpha = alphas[part], s = told(OTHER, alpha, 0), error = told(OTHER_ERROR, alpha, 0);
            char name[32];
            forget();
            int row = add(&job, part);
            expect_asked(0, "phase", "square:");
            assert_true(asked[0].alpha == alpha);
            for (int k = 0; k < calls; k++) expect_how(&asked[k].how, quick ? 1e-3 : 3e-4, 0);
            const figure_mark *m = &job.table->mark[2 * part];
            assert_int_equal(job.table->marks, 2 * part + 2);
            assert_string_equal(m[0].name, "amp");
            assert_string_equal(m[1].name, "bayes");
            double q = part == 1 ? 0.75 : part ? 1 : 0.125;
            assert_true(m[0].value == q && same(m[0].error, told(Q_ERROR, alpha, 2)));
            assert_true(m[1].value == (part == 1 ? 1 : 0.25) && same(m[1].error, told(Q_ERROR, alpha, 1)));
            for (int k = 0; k < 2; k++) assert_string_equal(m[k].text, series[part]);
            snprintf(name, sizeof name, "amp-%s", series[part]);
            if (part < 2) EXPECT_ROW(&job, row, name, alpha, q, 1 - q, s * (1 + q), error * (1 + q));
            row += part < 2; /* everything known has no place on the axis */
            for (int i = 0; i <= points; i++, row++) {
                double v = at(&job, row, "v");
                assert_close_relative(v, pow(10, -5.0 * i / points), 1e-13);
                EXPECT_ROW(&job, row, series[part], alpha, 1 - v, v, i ? s * (2 - v) : 0,
                           i ? error * (2 - v) : 0);
            }
            assert_int_equal(job.table->rows, row);
        }
        job.table->marks = 0;
        expect_status(&job, 1, 0, STAIR_NOT_CONVERGED, STAIR_NOT_CONVERGED);
        expect_status(&job, 1, 1, STAIR_FAILED, STAIR_FAILED);
        expect_status(&job, 1, 2, STAIR_FAILED, STAIR_FAILED);
        close_figure(&job);
    }
}

/* It is shaded from what is found to what is known, where that is more. */
static void hard_phase_is_shaded(void **state)
{
    (void)state;
    static const struct {
        double amp, bayes;
        bool shaded;
    } cases[] = {{0.75, 1, true}, {0.75, 0.75, false}, {0.75, 0.5, false}, {NAN, 1, false}};
    for (int k = 0; k < 4; k++) {
        figure_job job = open_figure("free-entropy", NULL, true);
        amp_q = cases[k].amp, bayes_q = cases[k].bayes;
        for (int part = 0; part < 3; part++) add(&job, part);
        figure_plot *plot = drawn(&job);
        assert_int_equal(plot->ranges, cases[k].shaded);
        assert_int_equal(plot->labels, cases[k].shaded);
        if (cases[k].shaded) {
            const figure_label *l = &plot->label[0];
            assert_close(plot->range[0].from, 0.25, 1e-15);
            assert_close(plot->range[0].to, 1e-5, 1e-20);
            assert_close(l->x, sqrt(0.25 * 1e-5), 1e-15);
            assert_true(l->centre && !l->line && l->height == 0.06);
        }
        free(plot);
        close_figure(&job);
    }
}

/* ---- published tables ---------------------------------------------------------------------------------- */

static void publish(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/published/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *published_folder(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/published", folder);
    return path;
}

static void published_tables_are_drawn(void **state)
{
    (void)state;
    steps_of = usual_steps;
    publish("AMP_2w.csv", "alpha,Q1,Q1_std,Q2,Q2_std\n0,1,2,3,4\n");
    publish("BO_2w.csv", "alpha,B1,B2\n0,1,2\n");
    publish("gen_error_BO_2w.csv", "alpha,error\n0,1\n");
    publish("BO_3w.csv", "alpha,C1,C2,C3\n0,1,2,3\n");
    static const struct {
        const char *name, *y[5];
        figure_style style[5];
    } cases[] = {{"fig1-left",
                  {"Q1", "Q2", "B1", "B2", "error"},
                  {FIGURE_RINGS, FIGURE_RINGS, FIGURE_DOTS, FIGURE_DOTS, FIGURE_DOTS}},
                 {"fig3-left", {"C1", "C2", "C3"}, {FIGURE_DOTS, FIGURE_DOTS, FIGURE_DOTS}}};
    for (int c = 0; c < 3; c++) {
        figure_job job = open_figure(cases[c % 2].name, NULL, true);
        add(&job, 0);
        if (c < 2) request.overlay = published_folder();
        figure_plot *plot = drawn(&job);
        int shown = 0;
        for (; c < 2 && shown < 5 && cases[c].y[shown]; shown++) {
            const figure_curve *k = &plot->curve[shown];
            assert_string_equal(k->y, cases[c].y[shown]);
            assert_string_equal(k->x, "alpha");
            assert_string_equal(k->title, shown ? "" : "published");
            assert_int_equal(k->style, cases[c].style[shown]);
            assert_int_equal(k->colour, FIGURE_GREY);
            assert_true(k->table && k->table != job.table && !k->series);
            assert_true(figure_table_column(k->table, k->y) >= 0);
        }
        assert_true(plot->curve[shown].table == NULL && plot->curve[shown].style == FIGURE_BAND);
        assert_int_equal(job.overlays, c == 0 ? 3 : c == 1 ? 1 : 0);
        free(plot);
        close_figure(&job);
    }
    publish("BO_2w.csv", "alpha,,B2\n0,1,2\n"); /* damaged */
    figure_job job = open_figure("fig1-left", NULL, true);
    add(&job, 0);
    request.overlay = published_folder();
    figure_plot *plot = calloc(1, sizeof *plot);
    plot->table = job.table;
    assert_int_equal(job.kind->draw(&job, plot), STAIR_BAD_INPUT);
    free(plot);
    close_figure(&job);
}

static void published_thresholds_are_drawn(void **state)
{
    (void)state;
    steps_of = steps_by_skip;
    publish("alpha_critical.csv", "skip,alpha1,alpha2\n1,0.7,0.2\n");
    figure_job job = open_figure("fig1-right", NULL, true);
    add(&job, 0);
    request.overlay = published_folder();
    figure_plot *plot = drawn(&job);
    assert_int_equal(plot->curves, 7);
    for (int layer = 1; layer <= 2; layer++) {
        const figure_curve *k = &plot->curve[layer - 1];
        assert_string_equal(k->y, layer == 1 ? "alpha1" : "alpha2");
        assert_string_equal(k->title, layer == 1 ? "published, layer 1" : "published, layer 2");
        assert_int_equal(k->style, layer == 1 ? FIGURE_RINGS : FIGURE_DOTS);
        assert_true(k->table == job.overlay[0] && figure_table_at(k->table, 0, "alpha1") == 0.7);
        assert_string_equal(k->x, "skip");
    }
    const figure_table *table = job.overlay[0];
    for (int k = 1; k < 4; k++) /* four at most */
        assert_true(figure_overlay(&job, "alpha_critical.csv", &table) == STAIR_OK &&
                    table == job.overlay[k]);
    assert_int_equal(figure_overlay(&job, "alpha_critical.csv", &table), STAIR_OK);
    assert_true(!table && job.overlays == 4);
    free(plot);
    close_figure(&job);
}

/* ---- what all of them share ---------------------------------------------------------------------------- */

/* A precision that is asked for is that of every number, quick or not. */
static void precision_that_is_asked_for(void **state)
{
    (void)state;
    static const char *const names[] = {"staircase",  "fig1-left",   "fig1-right", "fig3-left",   "fig5",
                                        "thresholds", "finite-size", "sgd-bayes",  "free-entropy"};
    steps_of = one_late_step;
    information = straight;
    amp_q = 0.5, bayes_q = 0.75;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int quick = 0; quick < 2; quick++) {
            figure_job job = open_figure(names[k], NULL, quick);
            request.precise = true;
            request.how.precision = 0.0375;
            add(&job, 0);
            expect_how(&asked[0].how, 0.0375, 0);
            if (calls > 1 && strcmp(asked[1].of, "next") != 0) expect_how(&asked[1].how, 0.0375, 0);
            close_figure(&job);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(staircase_is_the_curve, usual),
        cmocka_unit_test_setup(staircase_that_misses_its_precision, usual),
        cmocka_unit_test_setup(staircase_fills_its_frame, usual),
        cmocka_unit_test_setup(curves_have_points_behind_their_steps, usual),
        cmocka_unit_test_setup(overlaps_are_those_of_the_sweep, usual),
        cmocka_unit_test_setup(last_layer_alone, usual),
        cmocka_unit_test_setup(frames_of_models, usual),
        cmocka_unit_test_setup(overlaps_that_fail, usual),
        cmocka_unit_test_setup(runs_of_message_passing, usual),
        cmocka_unit_test_setup(thresholds_by_skip, usual),
        cmocka_unit_test_setup(thresholds_by_skip_that_fail, usual),
        cmocka_unit_test_setup(thresholds_by_tokens, usual),
        cmocka_unit_test_setup(thresholds_by_tokens_that_fail, usual),
        cmocka_unit_test_setup(held_overlaps, usual),
        cmocka_unit_test_setup(held_overlap_at_the_ends, usual),
        cmocka_unit_test_setup(held_overlap_is_refined, usual),
        cmocka_unit_test_setup(entropy_against_the_overlap, usual),
        cmocka_unit_test_setup(hard_phase_is_shaded, usual),
        cmocka_unit_test_setup(published_tables_are_drawn, usual),
        cmocka_unit_test_setup(published_thresholds_are_drawn, usual),
        cmocka_unit_test_setup(precision_that_is_asked_for, usual),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
