/* Numbers of figures, part by part: those of the library, in the columns and at the places they are said to
 * be. Precisions are rough, runs are few: the figures themselves take minutes. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

static figure_request request;

static const figure_kind *kind_of(const char *name)
{
    for (const figure_kind *const *k = figure_kinds; *k; k++)
        if (!strcmp((*k)->name, name)) return *k;
    fail_msg("no figure %s", name);
    return NULL;
}

/* MODEL: NULL for that of the figure. */
static figure_job open_figure(const char *name, const char *model, double precision)
{
    const figure_kind *kind = kind_of(name);
    request = (figure_request){.context = context,
                               .quick = true,
                               .model = model,
                               .how = stair_asymptotics_defaults(),
                               .precise = precision > 0};
    request.how.precision = precision;
    figure_job job = {.request = &request, .context = context, .kind = kind, .quick = true};
    char names[2048] = "";
    if (model || kind->model) {
        job.model = model_of(model ? model : kind->model);
        job.info = stair_model_describe(job.model);
    }
    kind->columns(&job, names, sizeof names);
    assert_int_equal(figure_table_create(context, names, &job.table), STAIR_OK);
    return job;
}

static void close_figure(figure_job *job)
{
    figure_table_destroy(&job->table);
    stair_model_destroy(&job->model);
}

/* Adds a part; the first of its rows. */
static int add(figure_job *job, int part)
{
    int before = job->table->rows;
    if (job->kind->compute(job, part) != STAIR_OK)
        fail_msg("%s: %s", job->kind->name, stair_context_message(context));
    return before;
}

static double at(const figure_job *job, int row, const char *name)
{
    return figure_table_at(job->table, row, name);
}

/* First steps of one layer are 1/(M(M+1)), that of two layers 0.18547784 (docs/staircase.md). */
static void thresholds_by_tokens(void **state)
{
    (void)state;
    figure_job job = open_figure("thresholds", NULL, 0.05);
    assert_int_equal(job.kind->parts(&job), 16);
    static const struct {
        int part, layers, tokens;
        double alpha;
    } known[] = {{0, 1, 2, 1 / 6.0}, {1, 1, 3, 1 / 12.0}, {3, 1, 5, 1 / 30.0}, {4, 2, 2, 0.18547784}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        int row = add(&job, known[k].part), m = known[k].tokens;
        assert_true(at(&job, row, "tokens") == m && at(&job, row, "layers") == known[k].layers);
        assert_close(at(&job, row, "alpha1"), known[k].alpha, 1e-6 + 3 * at(&job, row, "alpha1_error"));
        assert_true(at(&job, row, "alpha1_error") < 0.05);
        assert_close(at(&job, row, "bound"), 1.0 / (m * (m + 1)), 1e-15);
        assert_string_equal(job.table->series[row], known[k].layers == 1 ? "layers1" : "layers2");
    }
    close_figure(&job);
}

/* Of two layers at skip 1: 0.185, 0.720 and 1, as README.md has them. */
static void thresholds_by_skip(void **state)
{
    (void)state;
    figure_job job = open_figure("fig1-right", NULL, 0.2);
    int row = add(&job, 4);
    assert_int_equal(job.table->rows, 1);
    assert_true(at(&job, row, "skip") == 1);
    assert_close(at(&job, row, "alpha2"), 0.18547784, 1e-3 + 3 * at(&job, row, "alpha2_error"));
    assert_close(at(&job, row, "alpha1"), 0.71961109, 1e-3 + 3 * at(&job, row, "alpha1_error"));
    assert_close(at(&job, row, "perfect"), 1, 1e-3 + 3 * at(&job, row, "perfect_error"));
    assert_true(at(&job, row, "alpha1_error") < 0.2 && at(&job, row, "alpha2_error") < 0.2);
    assert_true(at(&job, row, "zero") == 0 && at(&job, row, "top") == 1.2);
    close_figure(&job);
}

/* Q11 solves f11 = Q11/(1 - Q11) where Q22 is held, at alpha = 1; with nothing of layer 2 it stays at zero.
 */
static void held_overlaps(void **state)
{
    (void)state;
    figure_job job = open_figure("fig5", NULL, 0.02);
    int none = add(&job, 0), row = add(&job, 12);
    assert_true(at(&job, none, "Q22") == 0 && at(&job, none, "Q11") == 0 &&
                at(&job, none, "Q11_error") == 1e-3);
    double x = at(&job, row, "Q11"), error = at(&job, row, "Q11_error"), f[4], f_error[4];
    assert_true(at(&job, row, "Q22") == 0.999 && x > 0.5 && x < 1 && error > 0 && error < 0.02);
    const double q[] = {x, 0, 0, 0.999};
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = 0.005;
    assert_true(stair_information_at(context, job.model, &how, q, f, f_error) == STAIR_OK);
    double back = f[0] / (1 + f[0]), slack = f_error[0] / ((1 + f[0]) * (1 + f[0]));
    assert_close(back, x, 3 * (error + slack) + 1e-3);
    close_figure(&job);
}

/* The hard phase of y = z^2 ends at alpha = 1.128: at 1.1 more is known than is found. */
static void entropy_in_the_hard_phase(void **state)
{
    (void)state;
    figure_job job = open_figure("free-entropy", NULL, 0.01);
    assert_int_equal(add(&job, 1), 0);
    const figure_table *t = job.table;
    assert_int_equal(t->rows, 42);
    assert_int_equal(t->marks, 2);
    assert_string_equal(t->mark[0].name, "amp");
    assert_string_equal(t->mark[1].name, "bayes");
    assert_string_equal(t->mark[0].text, "hard");
    assert_close(t->mark[0].value, 0.695, 0.02); /* by stair evolve */
    assert_true(t->mark[0].error > 0 && t->mark[0].error < 0.02 && t->mark[1].value > 0.999);
    assert_string_equal(t->series[0], "amp-hard");
    assert_true(at(&job, 0, "q") == t->mark[0].value && at(&job, 0, "v") == 1 - t->mark[0].value);
    stair_asymptotics_options how = request.how;
    for (int row = 0; row < 42; row++) {
        double q = at(&job, row, "q"), s = 0, error = 0;
        assert_true(at(&job, row, "alpha") == 1.1);
        assert_close(q + at(&job, row, "v"), 1, 1e-15);
        if (row) assert_close(log10(at(&job, row, "v")), -5 * (row - 1) / 40.0, 1e-12);
        if (row) assert_string_equal(t->series[row], "hard");
        if (row % 8) continue;
        assert_int_equal(stair_entropy_at(context, job.model, &how, 1.1, &q, &s, &error), STAIR_OK);
        assert_true(at(&job, row, "S") == s && at(&job, row, "S_error") == error);
    }
    assert_true(at(&job, 1, "S") == 0 && at(&job, 1, "S_error") == 0 && at(&job, 1, "q") == 0);
    close_figure(&job);
}

static void one_layer_in_finite_dimension(void **state)
{
    (void)state;
    figure_job job = open_figure("finite-size", NULL, 0.2);
    assert_int_equal(job.kind->parts(&job), 43);
    add(&job, 0);
    assert_int_equal(job.table->rows, 53);
    assert_close(job.table->mark[0].value, 1 / 6.0, 1e-6);
    for (int row = 0; row < 53; row++) {
        double alpha = at(&job, row, "alpha"), q = at(&job, row, "Q11");
        assert_close(alpha, 0.08 + 0.005 * row, 1e-12);
        assert_true(at(&job, row, "shown") == alpha && isinf(at(&job, row, "dim")) &&
                    at(&job, row, "runs") == 0);
        assert_true(alpha < 1 / 6.0 ? q == 0 : q > 0 && q < 1);
        assert_true(at(&job, row, "Q11_error") >= 0 && at(&job, row, "Q11_error") < 0.2);
    }
    close_figure(&job);
}

static void runs_in_finite_dimension(void **state)
{
    (void)state;
    figure_job job = open_figure("finite-size", NULL, 0.2);
    add(&job, 14), add(&job, 8); /* D = 500 is in the full figure alone */
    assert_int_equal(job.table->rows, 0);
    int row = add(&job, 1);
    assert_string_equal(job.table->series[row], "D250");
    assert_true(at(&job, row, "alpha") == 0.08 && at(&job, row, "dim") == 250 && at(&job, row, "runs") == 24);
    assert_close(at(&job, row, "shown"), 0.08 - 2.5 * 0.0025, 1e-12);
    /* nothing is learned; of the overlap 1/2 at the start little is left */
    assert_true(at(&job, row, "Q11") > 0 && at(&job, row, "Q11") < 0.1);
    assert_true(at(&job, row, "Q11_error") > 0 && at(&job, row, "Q11_error") < 0.1);
    close_figure(&job);
}

/* One layer has its steps at 1/6 and 1/2; the axis ends a bit behind. */
static void overlaps_of_one_layer(void **state)
{
    (void)state;
    figure_job job = open_figure("fig1-left", "attention:layers=1", 0.05);
    add(&job, 0);
    const figure_table *t = job.table;
    assert_int_equal(t->marks, 2);
    assert_close(t->mark[0].value, 1 / 6.0, 1e-6);
    assert_close(t->mark[1].value, 0.5, 1e-6);
    int even = 0, behind = 0;
    for (int row = 0; row < t->rows; row++) {
        double alpha = at(&job, row, "alpha"), q = at(&job, row, "Q11");
        assert_string_equal(t->series[row], "theory");
        assert_true(row == 0 ? alpha == 0 : alpha > at(&job, row - 1, "alpha"));
        assert_true(alpha < 0.1666 ? q == 0 : alpha > 0.5001 ? q == 1 : q >= 0 && q <= 1);
        assert_true(at(&job, row, "bayes") <= at(&job, row, "plugin") + 0.05);
        assert_true(at(&job, row, "last_layer") == at(&job, row, "plugin"));
        even += fabs(alpha / 0.02 - round(alpha / 0.02)) < 1e-9;
        behind += alpha >= t->mark[0].value && alpha <= t->mark[0].value + 0.0601 * 0.8 / 1.5;
    }
    assert_true(at(&job, t->rows - 1, "alpha") == 0.8);
    assert_int_equal(even, 41);
    assert_int_equal(behind, 6 + 1); /* five points behind the step, and one of the grid */
    int row = add(&job, 8);          /* the last of message passing: 4 runs at alpha = 0.8 */
    assert_int_equal(t->rows, row + 1);
    assert_string_equal(t->series[row], "gamp");
    assert_true(at(&job, row, "alpha") == 0.8 && at(&job, row, "runs") == 4);
    assert_true(at(&job, row, "Q11") > 0.999 && at(&job, row, "plugin") < 1e-3);
    assert_true(isnan(at(&job, row, "last_layer")));
    close_figure(&job);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_by_tokens),
        cmocka_unit_test(thresholds_by_skip),
        cmocka_unit_test(held_overlaps),
        cmocka_unit_test(entropy_in_the_hard_phase),
        cmocka_unit_test(one_layer_in_finite_dimension),
        cmocka_unit_test(runs_in_finite_dimension),
        cmocka_unit_test(overlaps_of_one_layer),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_context, close_context);
}
