/* A last layer of rank two: posteriors against the channel and a closed form, the measure of labels, the
 * first step. */
#include "fixture.h"

#include "posterior/two_rows.h"
#include "average/average.h"
#include "core/rng.h"

#include <math.h>
#include <string.h>

#define SAMPLES 6
#define MOST    8 /* P * M */

static void draw(const stair_model *model, const double *v, double *omega, double *labels)
{
    stair_model_info info = stair_model_describe(model);
    int m = info.tokens, pm = info.indices * m;
    double z[MOST], normals[2 * MOST];
    for (int n = 0; n < SAMPLES; n++) {
        stair_rng_normals(11, STAIR_RNG_POINTS, (uint64_t)n, 2 * pm, normals);
        for (int k = 0; k < pm; k++) {
            omega[n * pm + k] = sqrt(1 - v[k / m]) * normals[k];
            z[k] = omega[n * pm + k] + sqrt(v[k / m] + info.prenoise) * normals[pm + k];
        }
        assert_int_equal(stair_model_forward(context, model, 1, z, labels + n * info.label_size), STAIR_OK);
    }
}

/* Largest distance of the nodes from the channel, in units of the prior. */
static double distance(const stair_model *model, const double *v)
{
    stair_model_info info = stair_model_describe(model);
    int p = info.indices, m = info.tokens, pm = p * m;
    double cov[16] = {0}, omega[SAMPLES * MOST], labels[SAMPLES * 4], worst = 0;
    double logz[SAMPLES], g[SAMPLES * MOST], dg[SAMPLES * MOST * MOST], error[SAMPLES], inner[SAMPLES],
        anchors[SAMPLES * 2];
    static double logz3[3 * SAMPLES], g3[3 * SAMPLES * MOST], dg3[3 * SAMPLES * MOST * MOST];
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = v[i];
    draw(model, v, omega, labels);
    stair_channel_options options = stair_channel_defaults();
    options.precision = 1e-3;
    stair_channel_result channel = {.logz = logz, .g = g, .dg = dg, .error = error};
    assert_int_equal(
        stair_channel_evaluate(context, model, &options, 0, SAMPLES, labels, omega, 1, cov, &channel),
        STAIR_OK);
    stair_denoiser denoiser;
    stair_denoised nodes = {.logz = logz3, .g = g3, .dg = dg3, .error = inner, .anchors = anchors};
    stair_denoiser_effort effort = {.fineness = 0.8, .nodes = 1 << 13, .seed = 1, .channel = options};
    assert_int_equal(stair_denoiser_create(context, structure_of(model), cov, &effort, &denoiser), STAIR_OK);
    assert_ptr_equal(denoiser.rule, &stair_denoiser_two_rows);
    assert_int_equal(stair_denoiser_evaluate(context, &denoiser, 0, SAMPLES, labels, omega, NULL, &nodes),
                     STAIR_OK);
    for (int n = 0; n < SAMPLES; n++) {
        double here = fabs(logz3[3 * n] - logz[n]), gg = 0, dd = 0;
        for (int i = 0; i < pm; i++) {
            double scale = v[i / m] + info.prenoise;
            gg = fmax(gg, sqrt(scale) * fabs(g3[3 * n * pm + i] - g[n * pm + i]));
            for (int j = 0; j < pm; j++)
                if (i / m == j / m || (i >= pm - 2 * m && j >= pm - 2 * m))
                    dd = fmax(dd, scale * fabs(dg3[(3 * n * pm + i) * pm + j] - dg[(n * pm + i) * pm + j]));
        }
        worst = fmax(worst, fmax(here, fmax(gg, dd)));
    }
    stair_denoiser_destroy(&denoiser);
    return worst;
}

/* The channel samples rotations: its errors are those asked for with one layer, and ten times that with two.
 */
static void posteriors_agree_with_the_channel(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double v[4], tolerance;
    } cases[] = {{"attention:layers=1,tokens=2,rank=2", {0.3, 0.3}, 2e-3},
                 {"attention:layers=1,tokens=2,rank=2", {1e-3, 1e-3}, 4e-3},
                 {"attention:layers=2,tokens=2,rank=1+2", {1, 0.1, 0.1}, 0.03},
                 {"attention:layers=2,tokens=2,rank=1+2,skip=0.5,prenoise=0.01", {0.5, 0.05, 0.05}, 0.03},
                 {"attention:layers=2,tokens=2,rank=1+2", {0.01, 1e-4, 1e-4}, 2e-3},
                 {"attention:layers=2,tokens=2,rank=2", {1, 1, 0.2, 0.2}, 0.02},
                 {"attention:layers=2,tokens=2,rank=2", {0.3, 0.3, 0.1, 0.1}, 0.03}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stair_model *model = model_of(cases[c].spec);
        double worst = distance(model, cases[c].v);
        if (worst > cases[c].tolerance) print_error("%s: %g\n", cases[c].spec, worst);
        assert_true(worst <= cases[c].tolerance);
        stair_model_destroy(&model);
    }
}

#define LABELS 20000

/* Labels x_1 > x_2 around where they occur: mean and log(1 + exp t) equidistant.  Weights are those of dx. */
static size_t place_labels(double step, double *x, double *weight)
{
    size_t n = 0;
    for (double mean = -7.013; mean < 7; mean += step)
        for (double t = -9; t < 12; t += 2 * step) {
            double gap = log1p(exp(t));
            assert_true(n < LABELS);
            x[2 * n] = mean + 0.5 * gap;
            x[2 * n + 1] = mean - 0.5 * gap;
            weight[n++] = 2 * step * step / (1 + exp(-t));
        }
    return n;
}

/* What holds given omega, by a sum over all labels: their density has mass one, E g = 0, E[g g^T + dg] = 0.
 * No other rule is involved, and the step of the sum leaves an error of 1e-6. */
static void labels_given_the_means(const char *spec, const double *v, double step, double tolerance)
{
    static double x[2 * LABELS], weight[LABELS], omega[MOST * LABELS], logz[3 * LABELS], g[3 * MOST * LABELS],
        dg[3 * MOST * MOST * LABELS];
    stair_model *model;
    stair_two_rows *pair;
    stair_denoised result = {.logz = logz, .g = g, .dg = dg};
    model = model_of(spec);
    int p = stair_model_describe(model).indices, pm = 2 * p;
    double cov[16] = {0}, mean[MOST], mass = 0, first[MOST] = {0}, second[MOST * MOST] = {0};
    stair_rng_normals(3, STAIR_RNG_POINTS, 0, pm, mean);
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = v[i];
    assert_true(stair_denoiser_two_rows.fits(structure_of(model), cov));
    assert_int_equal(stair_two_rows_create(context, structure_of(model), cov, 0.8, 1 << 12, 1, &pair),
                     STAIR_OK);
    size_t n = place_labels(step, x, weight);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < pm; k++) omega[i * (size_t)pm + (size_t)k] = sqrt(1 - v[k / 2]) * mean[k];
    assert_int_equal(stair_two_rows_evaluate(context, pair, n, x, omega, &result), STAIR_OK);
    for (size_t i = 0; i < n; i++) {
        double share = weight[i] * stair_two_rows_label_measure(pair, x + 2 * i) * exp(logz[3 * i]);
        const double *gi = g + 3 * i * (size_t)pm, *di = dg + 3 * i * (size_t)(pm * pm);
        mass += share;
        for (int a = 0; a < pm; a++) {
            first[a] += share * gi[a];
            for (int b = 0; b < pm; b++) second[a * pm + b] += share * (gi[a] * gi[b] + di[a * pm + b]);
        }
    }
    if (fabs(mass - 1) > tolerance) print_error("%s: mass %g\n", spec, mass);
    assert_close(mass, 1, tolerance);
    for (int a = 0; a < pm; a++) {
        assert_close(sqrt(v[a / 2]) * first[a], 0, tolerance);
        for (int b = 0; b < pm; b++)
            if (a / 2 == b / 2 || (a >= pm - 4 && b >= pm - 4))
                assert_close(v[a / 2] * second[a * pm + b], 0, 4 * tolerance);
    }
    stair_two_rows_destroy(&pair);
    stair_model_destroy(&model);
}

static void identities_over_all_labels(void **state)
{
    (void)state;
    labels_given_the_means("attention:layers=1,tokens=2,rank=2", (double[]){0.4, 0.4}, 0.15, 1e-6);
    labels_given_the_means("attention:layers=2,tokens=2,rank=1+2", (double[]){1, 0.5, 0.5}, 0.15, 1e-5);
    labels_given_the_means("attention:layers=2,tokens=2,rank=1+2,skip=2", (double[]){0.4, 0.3, 0.3}, 0.12,
                           1e-5);
    labels_given_the_means("attention:layers=2,tokens=2,rank=2", (double[]){1, 1, 0.5, 0.5}, 0.15, 1e-5);
    labels_given_the_means("attention:layers=2,tokens=2,rank=2", (double[]){0.5, 0.5, 0.5, 0.5}, 0.3, 0.02);
}

static void first_steps(void **state)
{
    (void)state;
    static const char *specs[] = {
        "attention:layers=1,tokens=2,rank=2", "attention:layers=2,tokens=2,rank=1+2,skip=30",
        "attention:layers=2,tokens=2,rank=1+2", "attention:layers=2,tokens=2,rank=2"};
    double alpha[4];
    for (int k = 0; k < 4; k++) {
        stair_model *model;
        stair_step step;
        int count;
        stair_asymptotics_options how = stair_asymptotics_defaults();
        model = model_of(specs[k]);
        assert_int_equal(stair_threshold(context, model, &how, 1, 1, &step, &count), STAIR_OK);
        assert_int_equal(step.learns[step.learn_count - 1], 2); /* layer 2; row 2 of one layer */
        assert_true(step.error < 1e-5);
        alpha[k] = step.alpha;
        stair_model_destroy(&model);
    }
    /* One layer: <z_i z_j^T> = delta_ij (a a^T + 1/2)/2, whence F = 5/2; a large skip leaves the last layer
     * alone. */
    assert_close(alpha[0], 0.4, 1e-6);
    assert_close(alpha[1], 0.4, 0.01);
    assert_true(alpha[1] > 0.4 && alpha[2] > alpha[1] && alpha[3] > alpha[1]);
}

static void average(const stair_model *model, const stair_average_effort *rule, const double *q,
                    const double *basis, int kernel, stair_average *out)
{
    assert_int_equal(stair_average_create(context, structure_of(model), kernel, rule->replicates, out),
                     STAIR_OK);
    assert_int_equal(stair_average_evaluate(context, structure_of(model), rule, q, basis, out), STAIR_OK);
}

/* E log Z and the operator at Q = 0: the plane of labels against samples. */
static void plane_of_labels_agrees_with_samples(void **state)
{
    (void)state;
    stair_model *model;
    stair_average plane, samples;
    double q[16] = {0}, all[16] = {0}, by_replicate[16];
    stair_average_effort rule = {.fineness = 0.9,
                                 .points = 256,
                                 .replicates = 16,
                                 .widening = 1.2,
                                 .seed = 1,
                                 .channel = stair_channel_defaults()};
    for (int i = 0; i < 4; i++) all[5 * i] = 1;
    model = model_of("attention:layers=2,tokens=2,rank=2");
    average(model, &rule, q, all, 4, &plane);
    rule.rule = &stair_average_samples;
    average(model, &rule, q, all, 4, &samples);
    assert_true(plane.replicates == 2 && samples.replicates == 16 && plane.bias < 1e-6);
    for (int k = 10; k < plane.count; k++) { /* f is zero */
        for (int r = 0; r < 16; r++) by_replicate[r] = samples.sample[r * samples.count + k];
        assert_close(plane.mean[k], samples.mean[k], 4 * stair_replicate_error(16, by_replicate) + 1e-9);
    }
    stair_average_destroy(&plane);
    stair_average_destroy(&samples);
    stair_model_destroy(&model);
}

/* The same samples with posteriors by nodes and by the channel, beyond the first step. */
static void averages_agree_with_the_channel(void **state)
{
    (void)state;
    stair_model *model;
    stair_average nodes, channel;
    double q[9] = {0, 0, 0, 0, 0.8, 0, 0, 0, 0.8}, first[3] = {1, 0, 0};
    stair_average_effort rule = {.fineness = 0.9,
                                 .points = 64,
                                 .replicates = 8,
                                 .widening = 1.2,
                                 .seed = 1,
                                 .channel = stair_channel_defaults()};
    rule.channel.precision = 1e-3; /* coarser posteriors have fewer controls */
    model = model_of("attention:layers=2,tokens=2,rank=1+2");
    average(model, &rule, q, first, 1, &nodes);
    rule.fineness = 0;
    average(model, &rule, q, first, 1, &channel);
    static const int compared[] = {
        2, 5, 6, 7}; /* f22, f33, E log Z, F; controls from other entries of dg are the channel's own */
    for (int c = 0; c < 4; c++) {
        int k = compared[c];
        double apart[8];
        for (int r = 0; r < 8; r++)
            apart[r] = nodes.sample[r * nodes.count + k] - channel.sample[r * nodes.count + k];
        double error = stair_replicate_error(8, apart);
        assert_true(error < 0.03 * fabs(nodes.mean[k]));
        assert_close(nodes.mean[k], channel.mean[k], 4 * error);
    }
    stair_average_destroy(&nodes);
    stair_average_destroy(&channel);
    stair_model_destroy(&model);
}

static int steps_of(const char *spec, int steps, double precision, stair_step *list)
{
    stair_model *model;
    int count;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = precision;
    model = model_of(spec);
    assert_int_equal(stair_threshold(context, model, &how, steps, 8, list, &count), STAIR_OK);
    stair_model_destroy(&model);
    return count;
}

static void whole_staircase(void **state)
{
    (void)state;
    stair_step list[8], finer[8];
    assert_int_equal(steps_of("attention:layers=2,tokens=2,rank=1+2", 0, 0.03, list), 3);
    assert_int_equal(list[2].kind, STAIR_STEP_PERFECT);
    assert_close(list[2].alpha, 1.5, 1e-12);
    assert_int_equal(list[1].learns[0], 1);
    assert_true(list[1].overlap[0] == 0 && list[1].overlap[1] > 0.5);
    assert_true(list[1].overlap[1] == list[1].overlap[2]);
    assert_true(list[1].error < 0.03 * list[1].alpha);
    assert_int_equal(steps_of("attention:layers=2,tokens=2,rank=1+2", 2, 0.015, finer), 2);
    assert_close(list[1].alpha, finer[1].alpha, 4 * list[1].error);
    assert_int_equal(steps_of("attention:layers=2,tokens=2,rank=2", 2, 0.03, list), 2);
    assert_int_equal(list[1].learns[0], 1);
    assert_true(list[1].overlap[0] == 0 && list[1].overlap[1] == 0 &&
                list[1].overlap[2] == list[1].overlap[3]);
    assert_true(list[1].alpha > finer[1].alpha && list[1].alpha < 2);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posteriors_agree_with_the_channel),
        cmocka_unit_test(identities_over_all_labels),
        cmocka_unit_test(first_steps),
        cmocka_unit_test(plane_of_labels_agrees_with_samples),
        cmocka_unit_test(averages_agree_with_the_channel),
        cmocka_unit_test(whole_staircase),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
