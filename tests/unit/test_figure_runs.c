/* Figures of runs of message passing, gradient descent and training, computed whole, quick and full, by a
 * library that answers at once: each run, mean and error stands where it belongs. */
#include "figure_stubs.h"

/* ---- finite-size --------------------------------------------------------------------------------------- */

static int sixth(const char *spec, stair_step *list)
{
    assert_non_null(strstr(spec, "attention:layers=1,tokens=2"));
    list[0] = a_step(STAIR_STEP_WEAK, 0.17, 0.002, 1, 0);
    return 1;
}

static int never_learned(const char *spec, stair_step *list)
{
    (void)spec;
    list[0] = a_step(STAIR_STEP_WEAK, INFINITY, 0, 1, 0);
    return 1;
}

static void one_layer_at_infinity(void **state)
{
    (void)state;
    steps_of = sixth;
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("finite-size", NULL, quick);
        add(&job, 0);
        assert_int_equal(calls, 2);
        expect_asked(0, "threshold", "");
        expect_asked(1, "sweep all", "attention:layers=1,tokens=2");
        expect_how(&asked[0].how, quick ? 3e-3 : 1e-3, 0);
        expect_how(&asked[1].how, quick ? 3e-3 : 1e-3, 0);
        assert_true(asked[0].steps == 1 && asked[0].capacity == 1);
        assert_int_equal(asked[1].starts, STAIR_START_UNINFORMED);
        assert_int_equal(job.table->rows, 53);
        assert_true(job.table->marks == 1 && job.table->mark[0].value == 0.17);
        for (int i = 0; i < 53; i++) {
            double alpha = (80 + 5 * i) / 1000.0;
            EXPECT_ROW(&job, i, "theory", alpha, INFINITY, told(Q, alpha, 0), told(Q_ERROR, alpha, 0), 0,
                       alpha);
        }
        assert_true(job.missed == 0);
        figure_plot *plot = drawn(&job);
        assert_true(plot->labels == 1 && plot->label[0].x == 0.17 && plot->label[0].line);
        free(plot);
        job.table->rows = 0;
        expect_status(&job, 0, 1, STAIR_NOT_CONVERGED, STAIR_OK);
        assert_true(job.missed == worst_at(0.08) && job.table->rows == 53);
        expect_status(&job, 0, 1, STAIR_FAILED, STAIR_FAILED);
        expect_status(&job, 0, 0, STAIR_FAILED, STAIR_FAILED);
        assert_int_equal(job.table->rows, 53);
        job.table->rows = 0, job.missed = 0;
        expect_status(&job, 0, 0, STAIR_NOT_CONVERGED, STAIR_OK);
        assert_true(job.missed > 0 && job.table->rows == 53); /* the step is told of, and the curve goes on */
        close_figure(&job);
    }
    steps_of = never_learned;
    figure_job job = open_figure("finite-size", NULL, true);
    add(&job, 0);
    figure_plot *plot = drawn(&job);
    assert_int_equal(plot->labels, 0);
    free(plot);
    close_figure(&job);
}

static void runs_in_finite_dimension(void **state)
{
    (void)state;
    static const int dims[] = {250, 500, 1000, 2000, 4000, 8000};
    static const int seeds[2][6] = {{64, 48, 32, 24, 16, 12}, {24, 0, 16, 0, 8, 0}};
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("finite-size", NULL, quick);
        assert_int_equal(job.kind->parts(&job), 43);
        for (int part = 1; part < 43; part++) {
            int d = (part - 1) / 7, runs = seeds[quick][d];
            double alpha = (8 + 4 * ((part - 1) % 7)) / 100.0, squares[64], sum = 0;
            char series[16];
            forget();
            int row = add(&job, part);
            assert_int_equal(job.table->rows, row + (runs > 0));
            assert_int_equal(calls, runs > 0);
            if (!runs) continue;
            expect_gamp(&asked[0].gamp, dims[d], alpha, 200, runs, 77, 0.5);
            for (int r = 0; r < runs; r++) {
                squares[r] = pow(cosine_of(77, r, length_of(r) - 1, 0), 2);
                sum += squares[r];
            }
            snprintf(series, sizeof series, "D%d", dims[d]);
            EXPECT_ROW(&job, row, series, alpha, dims[d], sum / runs, stair_replicate_error(runs, squares),
                       runs, alpha + 0.0025 * (d - 2.5));
        }
        expect_status(&job, 1, 0, STAIR_FAILED, STAIR_FAILED);
        figure_plot *plot = drawn(&job);
        int points = 0;
        for (int k = 0; k < plot->curves; k++) points += plot->curve[k].style == FIGURE_POINTS;
        assert_int_equal(points, quick ? 3 : 6);
        for (int k = 1, d = 0; k < plot->curves; k += 2, d++) {
            char series[16], title[16];
            while (!seeds[quick][d]) d++;
            snprintf(series, sizeof series, "D%d", dims[d]);
            snprintf(title, sizeof title, "$D = %d$", dims[d]);
            assert_string_equal(plot->curve[k].series, series);
            assert_int_equal(plot->curve[k].style, FIGURE_THIN);
            assert_string_equal(plot->curve[k + 1].series, series);
            assert_string_equal(plot->curve[k + 1].title, title);
            assert_int_equal(plot->curve[k + 1].shape, d);
            assert_int_equal(plot->curve[k].colour, plot->curve[k + 1].colour);
        }
        free(plot);
        close_figure(&job);
    }
}

/* ---- sgd-bayes ----------------------------------------------------------------------------------------- */

static void what_can_be_known_beside_descent(void **state)
{
    (void)state;
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("sgd-bayes", NULL, quick);
        add(&job, 0);
        expect_asked(0, "sweep", "attention:layers=2,tokens=2,rank=1,skip=1");
        expect_how(&asked[0].how, quick ? 5e-3 : 2e-3, 0);
        assert_int_equal(asked[0].starts, STAIR_START_UNINFORMED);
        assert_int_equal(asked[0].alphas, job.table->rows);
        assert_int_equal(job.table->rows, 56); /* 24 for a factor of 10, from 0.1 to just below 20 */
        for (int i = 0; i < job.table->rows; i++) {
            double alpha = at(&job, i, "alpha");
            assert_close(alpha, pow(10, -1 + i / 24.0), 6e-7);
            assert_true(alpha == to_six_decimals(alpha));
            EXPECT_ROW(&job, i, "bayes", alpha, told(Q, alpha, 0), told(Q_ERROR, alpha, 0), told(Q, alpha, 3),
                       told(Q_ERROR, alpha, 3), told(PLUGIN, alpha, 0), told(PLUGIN_ERROR, alpha, 0), 0);
        }
        assert_true(same(at(&job, 7, "Q22"), told(Q, at(&job, 7, "alpha"), 3)) && job.missed == 0);
        assert_true(same(at(&job, 7, "plugin_error"), told(PLUGIN_ERROR, at(&job, 7, "alpha"), 0)));
        expect_status(&job, 0, 0, STAIR_FAILED, STAIR_FAILED);
        expect_status(&job, 0, 2, STAIR_FAILED, STAIR_FAILED);
        assert_int_equal(job.table->rows, 57);
        missed_at = 1;
        add(&job, 0);
        assert_true(job.missed == worst_at(1));
        close_figure(&job);
    }
}

static void descent_at_several_alphas(void **state)
{
    (void)state;
    for (int quick = 0; quick < 2; quick++) {
        figure_job job = open_figure("sgd-bayes", NULL, quick);
        stair_sgd_options usual = stair_sgd_defaults();
        int runs = quick ? 6 : 16;
        assert_int_equal(job.kind->parts(&job), 8);
        for (int part = 1; part < 8; part++) {
            double alpha = pow(2, part - 3), ends[3][16], mean[3] = {0};
            forget();
            int row = add(&job, part);
            const stair_sgd_options *how = &asked[0].sgd;
            expect_asked(0, "sgd", "attention:layers=2,tokens=2,rank=1,skip=1");
            assert_true(how->dim == 250 && how->alpha == alpha && how->seeds == runs && how->seed == 77);
            assert_true(how->points == 1 && how->rate == usual.rate && how->batch == usual.batch);
            double batches = ceil(250 * alpha / usual.batch) * how->epochs; /* 15000, of whole epochs */
            assert_true(batches >= 15000 && batches - ceil(250 * alpha / usual.batch) < 15000);
            for (int r = 0; r < runs; r++) {
                int last = records_of(r) - 1;
                ends[0][r] = pow(cosine_of(77, r, last, 0), 2);
                ends[1][r] = pow(cosine_of(77, r, last, 2), 2);
                ends[2][r] = told(PLUGIN, last, r);
                for (int k = 0; k < 3; k++) mean[k] += ends[k][r];
            }
            EXPECT_ROW(&job, row, "sgd", alpha, mean[0] / runs, stair_replicate_error(runs, ends[0]),
                       mean[1] / runs, stair_replicate_error(runs, ends[1]), mean[2] / runs,
                       stair_replicate_error(runs, ends[2]), runs);
        }
        expect_status(&job, 1, 0, STAIR_FAILED, STAIR_FAILED);
        close_figure(&job);
    }
}

/* ---- fig2-top ------------------------------------------------------------------------------------------ */

static void cosines_over_iterations(void **state)
{
    (void)state;
    static const struct {
        const char *name, *model;
    } cases[] = {{"fig2-top", NULL}, {"fig2-top-prenoise", NULL}, {"fig2-top", "attention:layers=2,rank=2"}};
    for (int c = 0; c < 6; c++) {
        bool quick = c % 2;
        figure_job job = open_figure(cases[c / 2].name, cases[c / 2].model, quick);
        int p = job.info.indices, runs = quick ? 3 : 8;
        assert_int_equal(p, c / 2 == 2 ? 4 : 2);
        assert_int_equal(job.kind->parts(&job), runs);
        for (int part = 0; part < runs; part++) {
            uint64_t seed = 77 + (uint64_t)part;
            int row = add(&job, part);
            expect_asked(part, "gamp", c / 2 == 1 ? "prenoise=1e-3" : "prenoise=0");
            expect_gamp(&asked[part].gamp, 1000, 1.2, 60, stair_gamp_defaults().seeds, seed, 0);
            assert_int_equal(job.table->rows, row + length_of(0));
            for (int i = 0; i < length_of(0); i++) {
                double values[16] = {i};
                stair_errors e = told_errors(i + (double)seed);
                for (int k = 0; k < p; k++) values[1 + k] = fabs(cosine_of(seed, 0, i, k));
                values[1 + p] = e.bayes, values[2 + p] = e.bayes_error;
                values[3 + p] = e.plugin, values[4 + p] = e.plugin_error;
                expect_row(&job, row + i, figure_run_name(part), 5 + p, values);
            }
        }
        assert_true(same(at(&job, 0, "cosine2"), fabs(cosine_of(77, 0, 0, 1))));
        assert_true(same(at(&job, 0, "plugin_error"), told(PLUGIN_ERROR, 77, 0)));
        figure_plot *plot = drawn(&job);
        assert_int_equal(plot->curves, runs * p + 1);
        for (int k = 0; k < runs * p; k++) { /* the first run last, above the others */
            int run = runs - 1 - k / p, index = k % p + 1;
            char name[24], title[24];
            snprintf(name, sizeof name, "cosine%d", index);
            snprintf(title, sizeof title, "%s %d", p == 4 ? "row" : "layer", index);
            assert_string_equal(plot->curve[k].series, figure_run_name(run));
            assert_string_equal(plot->curve[k].y, name);
            assert_string_equal(plot->curve[k].title, run ? "" : title);
            assert_int_equal(plot->curve[k].style, run ? FIGURE_THIN : FIGURE_LINE);
            assert_int_equal(plot->curve[k].colour, figure_layer_colour(index));
        }
        assert_string_equal(plot->curve[runs * p].series, "run1");
        free(plot);
        int rows = job.table->rows;
        expect_status(&job, 0, 0, STAIR_FAILED, STAIR_FAILED);
        assert_int_equal(job.table->rows, rows);
        close_figure(&job);
    }
}

/* ---- fig2-bottom, fig3-right --------------------------------------------------------------------------- */

/* Runs one after the other, then their means: row by row, of the runs that are long enough. */
static void expect_runs_and_means(const figure_job *job, int runs, int columns,
                                  void (*values)(int run, int i, double *row))
{
    int row = 0;
    for (int r = 0; r < runs; r++)
        for (int i = 0; i < records_of(r); i++, row++) {
            double cells[48];
            for (int k = 0; k < columns; k++) cells[k] = NAN;
            values(r, i, cells);
            expect_row(job, row, figure_run_name(r), columns, cells);
        }
    for (int i = 0; i < records_of(0); i++, row++) {
        double cells[48] = {0.25 * i}, one[48], all[16];
        for (int k = 1; k < columns; k += 2) {
            int n = 0;
            double sum = 0;
            for (int r = 0; r < runs; r++) {
                if (i >= records_of(r)) continue;
                values(r, i, one);
                sum += all[n++] = one[k];
            }
            cells[k] = sum / n;
            cells[k + 1] = stair_replicate_error(n, all);
        }
        expect_row(job, row, "mean", columns, cells);
    }
    assert_int_equal(job->table->rows, row);
}

static int row_layers;

static void descent_values(int run, int i, double *row)
{
    row[0] = 0.25 * i;
    for (int k = 0; k < row_layers; k++) row[1 + 2 * k] = cosine_of(77, run, i, 2 * k);
    row[1 + 2 * row_layers] = told(BAYES, i, run);
    row[3 + 2 * row_layers] = told(PLUGIN, i, run);
}

static void expect_thin_and_mean(const figure_job *job, int runs, int layers, const char *y, bool test)
{
    figure_plot *plot = drawn((figure_job *)job);
    assert_int_equal(plot->curves, layers * (runs + 1) + test);
    for (int k = 0; k < layers * (runs + 1); k++) {
        int layer = k / (runs + 1) + 1, run = k % (runs + 1);
        const figure_curve *c = &plot->curve[k];
        char name[32], title[32];
        snprintf(name, sizeof name, "%s%d", y, layer);
        snprintf(title, sizeof title, "layer %d", layer);
        assert_string_equal(c->series, run < runs ? figure_run_name(run) : "mean");
        assert_string_equal(c->y, name);
        assert_string_equal(c->title, run < runs ? "" : title);
        assert_int_equal(c->style, run < runs ? FIGURE_THIN : FIGURE_LINE);
        assert_int_equal(c->colour, figure_layer_colour(layer));
    }
    free(plot);
}

static void cosines_over_epochs(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        bool quick = c % 2;
        figure_job job = open_figure("fig2-bottom", c / 2 ? "attention:layers=3" : NULL, quick);
        int runs = quick ? 3 : 8;
        row_layers = c / 2 ? 3 : 2;
        assert_int_equal(job.kind->parts(&job), 1);
        add(&job, 0);
        assert_int_equal(calls, 1);
        expect_asked(0, "sgd", c / 2 ? "layers=3" : "attention:layers=2,tokens=2,rank=1,skip=1");
        stair_sgd_options usual = stair_sgd_defaults();
        const stair_sgd_options *how = &asked[0].sgd;
        assert_true(how->seeds == runs && how->seed == 77 && how->points == 24 && how->dim == usual.dim);
        assert_true(how->alpha == usual.alpha && how->epochs == usual.epochs && how->rate == usual.rate);
        expect_runs_and_means(&job, runs, 5 + 2 * row_layers, descent_values);
        assert_true(same(at(&job, 0, "test"), told(PLUGIN, 0, 0)) &&
                    same(at(&job, 0, "train"), told(BAYES, 0, 0)));
        assert_true(same(at(&job, 0, "cosine2"), cosine_of(77, 0, 0, 2)));
        expect_thin_and_mean(&job, runs, row_layers, "cosine", true);
        int rows = job.table->rows;
        expect_status(&job, 0, 0, STAIR_FAILED, STAIR_FAILED);
        assert_int_equal(job.table->rows, rows);
        close_figure(&job);
    }
}

static void similarity_values(int run, int i, double *row)
{
    row[0] = 0.25 * i;
    row[1] = cosine_of(77, run, i, 0);
    row[3] = cosine_of(77, run, i, 2);
}

static void expect_path(int call, const char *of, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/bin/%s", folder, name);
    assert_string_equal(asked[call].of, of);
    assert_string_equal(asked[call].path, path);
}

static void similarities_over_epochs(void **state)
{
    (void)state;
    make_file("share/stair/questions.label"), make_file("share/stair/vocab.txt");
    for (int c = 0; c < 4; c++) {
        bool quick = c % 2, given = c / 2;
        figure_job job = open_figure("fig3-right", NULL, quick);
        int runs = quick ? 4 : 8;
        if (given) request.data = "the data", request.vocab = "the vocabulary";
        assert_int_equal(job.kind->parts(&job), 1);
        assert_int_equal(job.kind->check(&job), STAIR_OK);
        assert_int_equal(alive, 0);
        assert_int_equal(calls, 2);
        add(&job, 0);
        assert_int_equal(calls, 5);
        for (int k = 0; k < 4; k += 2)
            if (given) {
                assert_string_equal(asked[k].path, "the vocabulary");
                assert_string_equal(asked[k + 1].path, "the data");
            } else {
                expect_path(k, "vocab", "../share/stair/vocab.txt");
                expect_path(k + 1, "questions", "../share/stair/questions.label");
            }
        stair_train_options usual = stair_train_defaults();
        const stair_train_options *how = &asked[4].train;
        assert_true(how->runs == runs && how->seed == 77 && how->points == 4);
        assert_true(how->rate == (given ? usual.rate : 1e-3) && how->epochs == usual.epochs);
        expect_runs_and_means(&job, runs, 5, similarity_values);
        assert_true(same(at(&job, 0, "similarity2"), cosine_of(77, 0, 0, 2)));
        expect_thin_and_mean(&job, runs, 2, "similarity", false);
        int rows = job.table->rows;
        for (int k = 0; k < 3; k++) expect_status(&job, 0, k, STAIR_BAD_INPUT, STAIR_BAD_INPUT);
        assert_int_equal(job.table->rows, rows);
        forget();
        answers[1] = STAIR_BAD_INPUT;
        assert_int_equal(job.kind->check(&job), STAIR_BAD_INPUT);
        close_figure(&job);
    }
    remove_file("share/stair/questions.label"), remove_file("share/stair/vocab.txt");
}

static void expect_refused(figure_job *job, const char *part)
{
    assert_int_equal(job->kind->check(job), STAIR_BAD_INPUT);
    if (!strstr(stair_context_message(context), part)) fail_msg("%s", stair_context_message(context));
    assert_int_equal(alive, 0);
    assert_int_equal(calls, 0);
}

/* Beside the folder of the program first, then where it is installed; one of the two files is too few. */
static void questions_that_come_with_the_program(void **state)
{
    (void)state;
    figure_job job = open_figure("fig3-right", NULL, true);
    expect_refused(&job, "questions.label is not with the program");
    make_file("data/questions.label");
    expect_refused(&job, "vocab.txt is not with the program");
    make_file("share/stair/vocab.txt");
    assert_int_equal(job.kind->check(&job), STAIR_OK);
    expect_path(0, "vocab", "../share/stair/vocab.txt");
    expect_path(1, "questions", "../data/questions.label");
    forget();
    make_file("data/vocab.txt"), make_file("share/stair/questions.label");
    assert_int_equal(job.kind->check(&job), STAIR_OK);
    expect_path(0, "vocab", "../data/vocab.txt");
    expect_path(1, "questions", "../data/questions.label");
    forget();
    request.data = "x";
    expect_refused(&job, "--data and --vocab go together");
    request.data = NULL, request.vocab = "x";
    expect_refused(&job, "--data and --vocab go together");
    request.vocab = NULL, no_program = true; /* then from the folder one is in */
    char before[4096], there[256];
    assert_non_null(getcwd(before, sizeof before));
    snprintf(there, sizeof there, "%s/bin", folder);
    assert_int_equal(chdir(there), 0);
    stair_status status = job.kind->check(&job);
    assert_int_equal(chdir(before), 0);
    no_program = false;
    assert_int_equal(status, STAIR_OK);
    assert_string_equal(asked[0].path, "./../data/vocab.txt");
    remove_file("data/vocab.txt"), remove_file("share/stair/questions.label");
    remove_file("data/questions.label"), remove_file("share/stair/vocab.txt");
    close_figure(&job);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_layer_at_infinity, usual),
        cmocka_unit_test_setup(runs_in_finite_dimension, usual),
        cmocka_unit_test_setup(what_can_be_known_beside_descent, usual),
        cmocka_unit_test_setup(descent_at_several_alphas, usual),
        cmocka_unit_test_setup(cosines_over_iterations, usual),
        cmocka_unit_test_setup(cosines_over_epochs, usual),
        cmocka_unit_test_setup(similarities_over_epochs, usual),
        cmocka_unit_test_setup(questions_that_come_with_the_program, usual),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
