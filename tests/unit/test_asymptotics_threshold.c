/* Thresholds: closed forms of one layer, values of two layers from a quadrature that shares no code with
 * this one (docs/errata.md, 1), the bounds no model may violate, the second step by two rules that share
 * neither samples nor posteriors, and the local limit of perfect recovery. */
#include "fixture.h"

#include "posterior/denoiser.h"
#include "average/average.h"
#include "asymptotics/operator.h"
#include "asymptotics/perfect.h"
#include "core/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int steps_of(const char *spec, int most, double precision, stair_step *list)
{
    stair_model *model;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    int count = 0;
    how.precision = precision;
    model = model_of(spec);
    stair_status status = stair_threshold(context, model, &how, most, 16, list, &count);
    if (status != STAIR_OK) print_error("%s: %s\n", spec, stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    stair_model_destroy(&model);
    return count;
}

#define SAMPLES 12
#define MOST    9 /* P * M */

/* follow: hidden nodes may follow the samples. */
static void compare_posteriors(const stair_model *model, const double *v, bool follow, double tolerance)
{
    stair_model_info info = stair_model_describe(model);
    int p = info.indices, m = info.tokens, pm = p * m;
    double cov[16] = {0}, drawn[SAMPLES * MOST], normals[2 * MOST], omega[SAMPLES * MOST],
           labels[SAMPLES * 9], worst = 0;
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = v[i];
    for (int n = 0; n < SAMPLES; n++) {
        double *z = drawn + n * pm;
        stair_rng_normals(11, STAIR_RNG_POINTS, (uint64_t)n, 2 * pm, normals);
        for (int k = 0; k < pm; k++) {
            omega[n * pm + k] = sqrt(1 - v[k / m]) * normals[k];
            z[k] = omega[n * pm + k] + sqrt(v[k / m] + info.prenoise) * normals[pm + k];
        }
        assert_int_equal(stair_model_forward(context, model, 1, z, labels + n * info.label_size), STAIR_OK);
    }
    double logz[SAMPLES], g[SAMPLES * MOST], dg[SAMPLES * MOST * MOST], error[SAMPLES], anchors[SAMPLES * 3];
    static double logz3[3 * SAMPLES], g3[3 * SAMPLES * MOST], dg3[3 * SAMPLES * MOST * MOST];
    stair_channel_options options = stair_channel_defaults();
    options.precision = tolerance < 0.01 ? 1e-8 : 1e-3;
    stair_channel_result channel = {.logz = logz, .g = g, .dg = dg, .error = error};
    assert_int_equal(
        stair_channel_evaluate(context, model, &options, 0, SAMPLES, labels, omega, 1, cov, &channel),
        STAIR_OK);
    stair_denoiser denoiser;
    stair_denoised nodes = {.logz = logz3, .g = g3, .dg = dg3, .error = error, .anchors = anchors};
    stair_denoiser_effort effort = {
        .fineness = 1.5, .nodes = follow ? 1 << 17 : 1 << 14, .seed = 1, .channel = options};
    assert_int_equal(stair_denoiser_create(context, structure_of(model), cov, &effort, &denoiser), STAIR_OK);
    assert_ptr_equal(denoiser.rule, &stair_denoiser_one_row);
    assert_int_equal(
        stair_denoiser_evaluate(context, &denoiser, 0, SAMPLES, labels, omega, follow ? drawn : NULL, &nodes),
        STAIR_OK);
    for (int n = 0; n < SAMPLES; n++) {
        worst = fmax(worst, fabs(logz3[3 * n] - logz[n]));
        for (int i = 0; i < pm; i++) { /* in units of the prior, inside the block of one index */
            double scale = v[i / m] + info.prenoise;
            worst = fmax(worst, sqrt(scale) * fabs(g3[3 * n * pm + i] - g[n * pm + i]));
            for (int j = i / m * m; j < (i / m + 1) * m; j++)
                worst = fmax(worst, scale * fabs(dg3[(3 * n * pm + i) * pm + j] - dg[(n * pm + i) * pm + j]));
        }
    }
    if (worst > tolerance) print_error("%s: %g\n", stair_model_spec(model), worst);
    assert_true(worst <= tolerance);
    stair_denoiser_destroy(&denoiser);
}

static void one_layer_is_closed_form(void **state)
{
    (void)state;
    static const int tokens[] = {2, 3, 4, 8};
    for (int k = 0; k < 4; k++) {
        char spec[64];
        stair_step list[16];
        int m = tokens[k];
        snprintf(spec, sizeof spec, "attention:layers=1,tokens=%d", m);
        assert_int_equal(steps_of(spec, 0, 0.05, list), 2);
        assert_close_relative(list[0].alpha, 1.0 / (m * (m + 1)), 1e-9);
        assert_int_equal(list[1].kind, STAIR_STEP_PERFECT);
        assert_close_relative(list[1].alpha, 1.0 / m, 1e-9);
        assert_false(list[1].jump);
    }
}

static void two_layers_first_step(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double alpha;
    } known[] = {{"attention:layers=2,skip=1", 0.18547784},
                 {"attention:layers=2,skip=2", 0.17427023},
                 {"attention:layers=2,skip=0.5", 0.20271184},
                 {"attention:layers=2,skip=1,mixing=literal", 0.19060623}};
    for (int k = 0; k < 4; k++) {
        stair_step list[16];
        assert_int_equal(steps_of(known[k].spec, 1, 1e-3, list), 1);
        assert_close(list[0].alpha, known[k].alpha, 1e-7);
        assert_true(list[0].error < 1e-6);
        assert_int_equal(list[0].learn_count, 1);
        assert_int_equal(list[0].learns[0], 2);
        assert_close(list[0].alpha * list[0].eigenvalue, 1, 1e-12);
    }
}

static void first_step_respects_its_bound(void **state)
{
    (void)state;
    static const double skips[] = {0.1, 0.3, 0.7, 4};
    for (int k = 0; k < 8; k++) {
        char spec[96];
        stair_step list[16];
        snprintf(spec, sizeof spec, "attention:layers=2,skip=%g,mixing=%s", skips[k % 4],
                 k < 4 ? "attention" : "literal");
        steps_of(spec, 1, 1e-3, list);
        assert_true(list[0].alpha >= 1.0 / 6 - 3 * list[0].error);
        assert_true(list[0].error < 1e-6);
    }
}

static void whole_staircase_of_two_layers(void **state)
{
    (void)state;
    stair_step list[16], again[16];
    int count = steps_of("attention:layers=2,skip=1", 0, 0.01, list);
    assert_int_equal(count, 3);
    assert_int_equal(list[1].learns[0], 1);
    assert_true(list[1].error < 0.003);
    assert_int_equal(list[2].kind, STAIR_STEP_PERFECT);
    assert_close(list[2].alpha, 1, 1e-9);
    for (int k = 1; k < count; k++) assert_true(list[k].alpha > list[k - 1].alpha);
    steps_of("attention:layers=2,skip=1", 2, 1e-3,
             again); /* a finer grid stays within the error of the coarser */
    assert_true(again[1].error < 5e-4);
    assert_close(list[1].alpha, again[1].alpha, 4 * list[1].error);
    assert_close(list[1].overlap[1], again[1].overlap[1], 4 * list[1].overlap_error[1]);
    assert_true(list[1].overlap_error[1] < 1e-4 && list[1].overlap[0] == 0 && list[1].overlap_error[0] == 0);
}

/* f, E log Z and the operator on what is not learned: the grid of labels with its tables of hidden nodes and
 * hidden means against samples and the channel, which have nothing in common but the model. */
static void compare_averages(const char *spec, const double *overlap, int points, double nearness)
{
    stair_model *model;
    stair_average grid, samples;
    double q[9] = {0}, basis[9] = {0}, by_replicate[16];
    stair_average_effort rule = {.fineness = 0.9,
                                 .nodes = 2048,
                                 .points = (size_t)points,
                                 .replicates = 16,
                                 .widening = 1.2,
                                 .seed = 1,
                                 .channel = stair_channel_defaults()};
    model = model_of(spec);
    const stair_structure *structure = structure_of(model);
    int p = model->info.indices, kernel = 0;
    for (int i = 0; i < p; i++) kernel += (q[i * (p + 1)] = overlap[i]) == 0;
    for (int i = 0, k = 0; i < p; i++)
        if (overlap[i] == 0) basis[i * kernel + k++] = 1;
    rule.channel.precision = 1e-2;
    assert_int_equal(stair_average_create(context, structure, kernel, 16, &grid), STAIR_OK);
    assert_int_equal(stair_average_create(context, structure, kernel, 16, &samples), STAIR_OK);
    assert_ptr_equal(stair_average_rule_for(structure, &rule, q), &stair_average_label_grid);
    assert_int_equal(stair_average_evaluate(context, structure, &rule, q, basis, &grid), STAIR_OK);
    rule.rule = &stair_average_samples;
    rule.fineness = 0; /* posteriors by the channel */
    assert_int_equal(stair_average_evaluate(context, structure, &rule, q, basis, &samples), STAIR_OK);
    for (int k = 0; k < grid.count; k++) {
        int row = k < 1 ? 0 : k < 3 ? 1 : 2; /* of f, packed; the diagonal does not vanish */
        bool diagonal = k == (row + 1) * (row + 2) / 2 - 1;
        if (k < p * (p + 1) / 2 && (!diagonal || overlap[row] == 0)) continue;
        for (int r = 0; r < 16; r++) by_replicate[r] = samples.sample[r * samples.count + k];
        double error = stair_average_spread(&samples, by_replicate), own = 0;
        for (int r = 0; r < grid.replicates; r++) by_replicate[r] = grid.sample[r * grid.count + k];
        own = stair_average_spread(&grid, by_replicate);
        assert_close(grid.mean[k], samples.mean[k], 4 * hypot(error, own));
        assert_true(hypot(error, own) <= stair_student(16) * nearness * fabs(grid.mean[k]));
    }
    stair_average_destroy(&grid);
    stair_average_destroy(&samples);
    stair_model_destroy(&model);
}

/* The operator in coordinates of pairs, and of the overlaps that symmetries leave free: the same leading
 * eigenvalue and eigenvector, with rows of a layer that turn into each other and with rows that do not. */
static void operator_in_both_coordinates(void **state)
{
    (void)state;
    static const char *specs[] = {"attention:layers=2,skip=2", "attention:layers=2,rank=2+1,tokens=3",
                                  "square:tokens=2"};
    for (int c = 0; c < 3; c++) {
        stair_model *model;
        stair_average average[2];
        stair_leading leading[2];
        double q[9] = {0}, basis[9] = {0};
        stair_average_effort effort = {.rule = &stair_average_samples,
                                       .fineness = 0.9,
                                       .nodes = 2048,
                                       .points = 32,
                                       .replicates = 4,
                                       .widening = 1.2,
                                       .seed = 1,
                                       .channel = stair_channel_defaults()};
        effort.channel.precision = 0.05;
        model = model_of(specs[c]);
        const stair_structure *structure = structure_of(model);
        int p = model->info.indices;
        for (int i = 0; i < p; i++) basis[i * (p + 1)] = 1;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(stair_average_create_with(context, structure, p, 4, k, &average[k]), STAIR_OK);
            assert_int_equal(stair_average_evaluate(context, structure, &effort, q, basis, &average[k]),
                             STAIR_OK);
            stair_operator_leading(&average[k], &structure->symmetry, basis, &leading[k]);
            stair_average_destroy(&average[k]);
        }
        assert_true(leading[0].value > 0);
        assert_close(leading[1].value, leading[0].value, 1e-9 * leading[0].value);
        for (int i = 0; i < p * p; i++) assert_close(leading[1].x[i], leading[0].x[i], 1e-6);
        stair_model_destroy(&model);
    }
}

static void grid_agrees_with_samples_and_channel(void **state)
{
    (void)state;
    compare_averages("attention:layers=2,skip=1", (double[]){0, 0.9}, 256, 0.1);
    compare_averages("attention:layers=2,skip=1", (double[]){0.4, 0.9}, 1024, 0.03);
    compare_averages("attention:layers=2,skip=0.5,prenoise=0.02", (double[]){0.7, 0.96}, 1024, 0.03);
    compare_averages("attention:layers=3,skip=1", (double[]){0.3, 0.2, 0.8}, 128, 0.1);
    compare_averages("attention:layers=3,skip=1", (double[]){0.3, 0, 0.8}, 128, 0.15);
    compare_averages("attention:layers=3,skip=0.12", (double[]){0.3, 0.2, 0.9}, 128, 0.1);
}

/* Posterior by hidden nodes against the channel, with the hidden row unknown and partly known. */
static void hidden_nodes_agree_with_the_channel(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double v[3], tolerance;
        bool follow;
    } cases[] = {{"attention:layers=2,skip=1", {1, 0.05}, 1e-4, false},
                 {"attention:layers=2,skip=0.3", {1, 0.5}, 1e-4, false},
                 {"attention:layers=2,skip=2", {0.4, 0.02}, 1e-4, false},
                 {"attention:layers=2,skip=1,prenoise=0.01", {0.01, 1e-4}, 1e-4, false},
                 {"attention:layers=3,skip=1", {1, 1, 0.5}, 0.05, false},
                 {"attention:layers=2,tokens=3", {0.7, 0.4}, 0.05, false},
                 {"attention:layers=2,tokens=3", {0.7, 0.4}, 0.05, true},
                 {"attention:layers=2,tokens=3", {0.3, 0.01}, 0.05, true},
                 {"attention:layers=3,skip=1", {0.8, 1, 0.1}, 0.05, true},
                 {"attention:layers=3,skip=1", {0.4, 0.5, 0.006}, 0.05, true},
                 {"attention:layers=3,skip=1", {0.01, 0.013, 1e-4}, 0.05, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stair_model *model = model_of(cases[c].spec);
        compare_posteriors(model, cases[c].v, cases[c].follow, cases[c].tolerance);
        stair_model_destroy(&model);
    }
}

static void perfect_recovery_is_at_the_counting_bound(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int equations;
        double alpha;
    } known[] = {{"attention:layers=1,tokens=3", 3, 1.0 / 3},
                 {"attention:layers=2", 2, 1},
                 {"attention:layers=3", 2, 1.5},
                 {"attention:layers=1,rank=2,tokens=3", 5, 0.4}};
    for (int k = 0; k < 4; k++) {
        stair_model *model;
        stair_perfect found;
        model = model_of(known[k].spec);
        assert_int_equal(stair_perfect_find(context, structure_of(model), 256, 4, 1, &found), STAIR_OK);
        assert_int_equal(found.equations, known[k].equations);
        assert_close(found.alpha, known[k].alpha, 1e-12);
        stair_model_destroy(&model);
    }
}

static void symmetries_are_found(void **state)
{
    (void)state;
    stair_model *model;
    stair_symmetry s;
    model = model_of("attention:layers=2,rank=2+1,tokens=3");
    stair_symmetry_find(model, &s);
    assert_int_equal(s.count, 2); /* one overlap per layer: rows even, equal inside a layer */
    assert_true(s.even[0] && s.even[1] && s.even[2]);
    assert_int_equal(s.pair[0], s.pair[4]);
    assert_int_not_equal(s.pair[0], s.pair[8]);
    assert_int_equal(s.pair[1], -1);
    stair_model_destroy(&model);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetries_are_found),
        cmocka_unit_test(one_layer_is_closed_form),
        cmocka_unit_test(two_layers_first_step),
        cmocka_unit_test(hidden_nodes_agree_with_the_channel),
        cmocka_unit_test(operator_in_both_coordinates),
        cmocka_unit_test(grid_agrees_with_samples_and_channel),
        cmocka_unit_test(first_step_respects_its_bound),
        cmocka_unit_test(perfect_recovery_is_at_the_counting_bound),
        cmocka_unit_test(whole_staircase_of_two_layers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
