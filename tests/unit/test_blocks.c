/* Embeddings of two blocks: rows on different blocks do not overlap, and alpha counts the whole embedding.
 *
 * y = z1 + z2 + sqrt(D) n with z1 and z2 on blocks of their own is one row of twice the dimension and
 * variance 2, q / (1 - q) = 2 alpha / (2 (1 - q) + D),   S = (log(1 - q) + q)/2 - (alpha/2) log((2 (1 - q) +
 * D)/(2 + D)) per dimension, so that at D = alpha = 1 q = 1/2.  Rows that may change sign do not overlap
 * anyway: two blocks halve every alpha and change nothing else. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "asymptotics/perfect.h"
#include "gamp/gamp.h"
#include "model/keys.h"
#include "stair_train.h"

/* ---- the sum of two rows ------------------------------------------------------------------------- */

static stair_status create(stair_context *local, stair_model *model, const char *const *values)
{
    (void)local, (void)values;
    model->info.layers = 1;
    model->info.indices = model->ranks[0] = model->blocks = 2;
    model->info.label_size = model->block[1] = 1;
    return STAIR_OK;
}

static stair_status copy_label(stair_context *local, const stair_model *model, const double *y, double *label)
{
    (void)local, (void)model;
    label[0] = y[0];
    return STAIR_OK;
}

static void forward(const stair_model *model, const double *z, double *y, double *label)
{
    (void)model;
    if (y) y[0] = z[0] + z[1];
    if (label) label[0] = z[0] + z[1];
}

static bool exists(const stair_model *model)
{
    return model->info.output_noisy;
}

static stair_status evaluate(stair_context *local, const stair_model *model, const double *label,
                             const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    double spread = cov[0] + cov[1] + cov[2] + cov[3] + model->info.noise,
           rest = label[0] - omega[0] - omega[1];
    (void)local;
    *logz = -0.5 * (rest * rest / spread + log(2 * M_PI * spread));
    for (int i = 0; i < 2; i++) g[i] = rest / spread;
    for (int i = 0; i < 4; i++) dg[i] = -1 / spread;
    return STAIR_OK;
}

static void gradient(const stair_model *model, const double *z, const double *cotangent, double *grad)
{
    (void)model, (void)z;
    grad[0] = grad[1] = cotangent[0];
}

static const stair_closed_ops closed = {.exists = exists, .evaluate = evaluate};
static const stair_model_key keys[] = {STAIR_KEY_NOISE, {NULL, NULL, NULL}};
static const stair_model_ops sum_ops = {.name = "sum",
                                        .keys = keys,
                                        .create = create,
                                        .forward = forward,
                                        .label_from_output = copy_label,
                                        .gradient = gradient,
                                        .closed = &closed};

static stair_model *sum_model(void)
{
    stair_model *model;
    assert_int_equal(stair_model_make(context, &sum_ops, "noise=1", &model), STAIR_OK);
    return model;
}

static void overlap_of_a_sum_is_one_half(void **state)
{
    (void)state;
    stair_model *model = sum_model();
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = 1e-3;
    for (int informed = 0; informed < 2; informed++) {
        double q[4], error[4];
        stair_evolution result = {.q = q, .q_error = error};
        assert_int_equal(stair_evolve(context, model, &how, 1, informed, NULL, &result), STAIR_OK);
        assert_close(q[0], 0.5, 4 * error[0] + 1e-9);
        assert_close(q[3], 0.5, 4 * error[3] + 1e-9);
        assert_true(error[0] < 2e-3 && q[1] == 0 && q[2] == 0);
    }
    stair_model_destroy(&model);
}

static void entropy_of_a_sum_is_per_dimension(void **state)
{
    (void)state;
    stair_model *model = sum_model();
    stair_asymptotics_options how = stair_asymptotics_defaults();
    double q[] = {0.5, 0, 0, 0.5}, entropy, error;
    how.precision = 1e-3;
    assert_int_equal(stair_entropy_at(context, model, &how, 1, q, &entropy, &error), STAIR_OK);
    assert_close(entropy, 0.5 * (log(0.5) + 0.5 - log(2.0 / 3)), 4 * error + 1e-9);
    assert_true(error < 0.01);
    stair_model_destroy(&model);
}

/* ---- even rows ------------------------------------------------------------------------------------- */

static stair_model *in_blocks(const char *spec, int blocks)
{
    stair_model *model = model_of(spec);
    model->blocks = blocks;
    for (int i = 0; i < model->info.indices; i++) model->block[i] = i % blocks;
    return model;
}

static void thresholds_of_even_rows_are_halved(void **state)
{
    (void)state;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    stair_step step[2][4];
    stair_perfect perfect[2];
    how.precision = 1e-3;
    for (int k = 0; k < 2; k++) {
        stair_model *model = in_blocks("attention:layers=2", k + 1);
        int count;
        assert_int_equal(stair_threshold(context, model, &how, 1, 4, step[k], &count), STAIR_OK);
        assert_int_equal(stair_perfect_find(context, structure_of(model), 64, 2, 1, &perfect[k]), STAIR_OK);
        stair_model_destroy(&model);
    }
    assert_close_relative(step[1][0].alpha, step[0][0].alpha / 2, 1e-12);
    assert_close_relative(step[1][0].eigenvalue, step[0][0].eigenvalue * 2, 1e-12);
    assert_close_relative(perfect[1].counting, perfect[0].counting / 2, 1e-12);
    assert_close_relative(perfect[1].alpha, perfect[0].alpha / 2, 1e-12);
}

static void overlaps_of_even_rows_are_those_at_half_of_alpha(void **state)
{
    (void)state;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    double q[2][4], error[4];
    how.precision = 0.01;
    for (int k = 0; k < 2; k++) {
        stair_model *model = in_blocks("attention:layers=2", k + 1);
        stair_evolution result = {.q = q[k], .q_error = error};
        assert_int_equal(stair_evolve(context, model, &how, 0.4 / (k + 1), false, NULL, &result), STAIR_OK);
        stair_model_destroy(&model);
    }
    assert_true(q[0][3] > 0.3);
    for (int i = 0; i < 4; i++) assert_close(q[1][i], q[0][i], 1e-9);
}

/* ---- instances ------------------------------------------------------------------------------------- */

static void gamp_on_blocks_follows_state_evolution(void **state)
{
    (void)state;
    stair_model *model = sum_model();
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *result;
    stair_gamp_theory_options points = stair_gamp_theory_defaults();
    double q[4 * 21], q_error[4 * 21], m[4 * 21], m_error[4 * 21];
    o.dim = 1600;
    o.alpha = 1;
    o.seeds = 4;
    o.max_iterations = 20;
    assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_OK);
    assert_int_equal(stair_gamp_theory(context, model, &o, &points, 21, q, q_error, m, m_error), STAIR_OK);
    assert_close(m[4 * 20], 0.5, 0.005);
    for (int i = 0; i < 21; i++) assert_true(m[4 * i + 1] == 0 && m[4 * i + 2] == 0 && q[4 * i + 1] == 0);
    double mean = 0;
    for (int k = 0; k < o.seeds; k++) {
        const stair_gamp_run *run = &result->run[k];
        for (int i = 0; i < run->count; i++) {
            assert_true(run->m[4 * i + 1] == 0 && run->m[4 * i + 2] == 0);
            assert_true(run->q[4 * i + 1] == 0 && run->q[4 * i + 2] == 0 && run->v[4 * i + 1] == 0);
        }
        for (int d = 0; d < o.dim; d++) assert_true(run->weights[(d < o.dim / 2) * o.dim + d] == 0);
        mean += (run->m[4 * (run->count - 1)] + run->m[4 * (run->count - 1) + 3]) / (2.0 * o.seeds);
    }
    assert_close(mean, 0.5, 0.03); /* D = 800, eight rows: a standard error of 0.01 */
    stair_gamp_result_destroy(&result);
    stair_model_destroy(&model);
}

static void gamp_refuses_what_does_not_fit_blocks(void **state)
{
    (void)state;
    stair_model *model = sum_model();
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *result;
    o.dim = 101;
    assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "multiple of 2"));
    o.dim = 20;
    o.variant = "full";
    assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_UNSUPPORTED);
    assert_non_null(strstr(stair_context_message(context), "'full'"));
    stair_model_destroy(&model);
}

/* Side information on blocks: with nothing else it is all that is known. */
static void side_information_lives_on_blocks(void **state)
{
    (void)state;
    stair_model *model = sum_model();
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_problem problem;
    o.dim = 40;
    o.side = 0.5;
    assert_int_equal(stair_gamp_problem_draw(context, model, &o, 1, &problem), STAIR_OK);
    for (int d = 0; d < o.dim; d++) {
        int out = (d < o.dim / 2) * o.dim + d, in = (d >= o.dim / 2) * o.dim + d;
        assert_true(problem.teacher[out] == 0 && problem.side[out] == 0);
        assert_true(problem.teacher[in] != 0 && problem.side[in] != 0);
    }
    stair_gamp_problem_destroy(&problem);
    stair_model_destroy(&model);
}

static void descent_stays_on_blocks(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,heads=2,readout=1,noise=0.1");
    stair_sgd_options o = stair_sgd_defaults();
    stair_sgd_result *result;
    o.dim = 60;
    o.alpha = 4;
    o.epochs = 2;
    o.test = 64;
    assert_int_equal(stair_sgd(context, model, &o, &result), STAIR_OK);
    assert_int_equal(result->layers, 2); /* heads, readout */
    const stair_sgd_run *run = &result->run[0];
    for (int i = 0; i < model->info.indices; i++)
        for (int d = 0; d < o.dim; d++)
            assert_int_equal(run->weights[i * o.dim + d] != 0, d / (o.dim / 2) == model->block[i]);
    const stair_sgd_record *last = &run->history[run->count - 1];
    for (int l = 0; l < 2; l++) assert_true(last->cosine[l] > 0 && last->cosine[l] <= 1 && last->norm[l] > 0);
    o.dim = 61;
    stair_sgd_result_destroy(&result);
    assert_int_equal(stair_sgd(context, model, &o, &result), STAIR_BAD_INPUT);
    stair_model_destroy(&model);
}

/* ---- alignment --------------------------------------------------------------------------------------- */

/* All rows of one head change sign together, rows of different blocks never change places. */
static void alignment_knows_what_flips_together(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,heads=2,readout=1,noise=0.1");
    /* W11 W12 W21 W22 V1 V2; W11 and V1 on block 1 overlap with each other's teachers */
    double m[36] = {0}, q[36] = {0};
    double diagonal[] = {-0.5, -0.3, 0.2, -0.1, 0.7, -0.6};
    for (int i = 0; i < 6; i++) {
        m[7 * i] = diagonal[i];
        q[7 * i] = 1;
    }
    m[0 * 6 + 4] = m[4 * 6 + 0] = q[0 * 6 + 4] = q[4 * 6 + 0] = 0.25;
    stair_gamp_align(structure_of(model), q, m);
    const double aligned[] = {0.5, 0.3, 0.2, -0.1, 0.7, -0.6};
    for (int i = 0; i < 6; i++) assert_close(m[7 * i], aligned[i], 1e-15);
    assert_close(m[0 * 6 + 4], -0.25, 1e-15);
    assert_close(m[4 * 6 + 0], 0.25, 1e-15);
    assert_close(q[0 * 6 + 4], -0.25, 1e-15);
    assert_close(q[4 * 6 + 0], -0.25, 1e-15);
    stair_model_destroy(&model);
}

/* Two rows of W^11 and of W^12 turn by the same angle. */
static void alignment_turns_heads_as_a_whole(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,rank=2,heads=2,readout=1,noise=0.1");
    double m[100] = {0}, c = cos(0.4), s = sin(0.4), rotation[4] = {c, -s, -s, -c}; /* a reflection */
    const double size[] = {0.5, 0.5, 0.2, 0.2, 0.3, 0.3, 0.1, 0.1, 0.6, 0.4};
    for (int i = 0; i < 10; i++) m[11 * i] = size[i];
    for (int first = 0; first < 4; first += 2) /* both matrices of head 1 */
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) m[(first + i) * 10 + first + j] = size[first] * rotation[2 * i + j];
    stair_gamp_align(structure_of(model), NULL, m);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) assert_close(m[i * 10 + j], i == j ? size[i] : 0, 1e-12);
    stair_model_destroy(&model);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_of_a_sum_is_one_half),
        cmocka_unit_test(entropy_of_a_sum_is_per_dimension),
        cmocka_unit_test(thresholds_of_even_rows_are_halved),
        cmocka_unit_test(overlaps_of_even_rows_are_those_at_half_of_alpha),
        cmocka_unit_test(gamp_on_blocks_follows_state_evolution),
        cmocka_unit_test(gamp_refuses_what_does_not_fit_blocks),
        cmocka_unit_test(side_information_lives_on_blocks),
        cmocka_unit_test(descent_stays_on_blocks),
        cmocka_unit_test(alignment_knows_what_flips_together),
        cmocka_unit_test(alignment_turns_heads_as_a_whole),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
