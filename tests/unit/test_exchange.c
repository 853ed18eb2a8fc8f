/* The committee of exchangeable hidden layers: transforms against sums, the law against moments and against
 * draws, posteriors against the channel, which integrates every hidden row, and the last step of many layers.
 */
#include "channel_case.h"

#include <complex.h>
#include <math.h>

#include "core/fft.h"
#include "model/structure.h"
#include "posterior/committee_law.h"
#include "posterior/denoiser.h"

static void transforms_are_sums(void **state)
{
    enum { ROWS = 8, COLUMNS = 16 };
    double complex x[ROWS * COLUMNS], y[ROWS * COLUMNS], room[ROWS * COLUMNS];
    double draw[2 * ROWS * COLUMNS];
    (void)state;
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, 2 * ROWS * COLUMNS, draw);
    for (int i = 0; i < ROWS * COLUMNS; i++) y[i] = x[i] = stair_complex(draw[2 * i], draw[2 * i + 1]);
    stair_fft_plane(ROWS, COLUMNS, false, y, room);
    for (int k = 0; k < ROWS; k++)
        for (int l = 0; l < COLUMNS; l++) {
            double complex sum = 0;
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLUMNS; j++)
                    sum += x[i * COLUMNS + j] *
                           cexp(-2 * M_PI * I * ((double)i * k / ROWS + (double)j * l / COLUMNS));
            assert_close(cabs(sum - y[k * COLUMNS + l]), 0, 1e-12);
        }
    stair_fft_plane(ROWS, COLUMNS, true, y, room);
    for (int i = 0; i < ROWS * COLUMNS; i++) assert_close(cabs(y[i] / (ROWS * COLUMNS) - x[i]), 0, 1e-14);
}

/* E of a Gaussian of (U, V), and of it times s^2 - 1 and s d of one layer. */
static void expect_by_law(int n, const stair_committee_grid *grid, double width, double *e)
{
    double mean, du, dv;
    stair_committee_moments(&mean, &du, &dv);
    e[0] = e[1] = e[2] = 0;
    for (int i = 0; i < grid->rows; i++)
        for (int j = 0; j < grid->columns; j++) {
            const double *at = grid->table + (long)i * COMMITTEE_NUMBERS * grid->columns + j;
            double u = grid->u + i * grid->step - n * mean, v = grid->v + j * grid->step - 0.2;
            double f = exp(-0.5 * (u * u + v * v) / (width * width));
            e[0] += f * at[0];
            e[1] += f * at[COMMITTEE_SS * grid->columns];
            e[2] += f * at[COMMITTEE_SD * grid->columns];
        }
}

static void law_agrees_with_draws(void **state)
{
    enum { N = 5, DRAWS = 400000 };
    double mean, du, dv, e[3], sum[3] = {0}, square[3] = {0}, z[2 * N];
    stair_committee_law law;
    stair_context *context;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_committee_law_create(context, N, 0.1, &law), STAIR_OK);
    stair_committee_moments(&mean, &du, &dv);
    for (int i = 0; i < DRAWS; i++) {
        double u = -N * mean, v = -0.2, a, b;
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)i, 2 * N, z);
        for (int l = 0; l < N; l++) {
            stair_committee_layer(z[2 * l], z[2 * l + 1], &a, &b);
            u += a + b;
            v += a - b;
        }
        double f = exp(-0.5 * (u * u + v * v) / (0.5 * 0.5));
        double one[] = {f, f * (z[0] * z[0] - 1), f * z[0] * z[1]};
        for (int k = 0; k < 3; k++) {
            sum[k] += one[k] / DRAWS;
            square[k] += one[k] * one[k] / DRAWS;
        }
    }
    for (int g = 0; g < law.grids; g++) {
        if (law.grid[g].step > 0.15) continue;
        expect_by_law(N, &law.grid[g], 0.5, e);
        for (int k = 0; k < 3; k++)
            assert_close(e[k], sum[k], 4 * sqrt((square[k] - sum[k] * sum[k]) / DRAWS));
    }
    double fine[3], coarse[3];
    expect_by_law(N, &law.grid[law.grids - 1], 0.5, fine);
    expect_by_law(N, &law.grid[law.grids - 2], 0.5, coarse);
    for (int k = 0; k < 3; k++) assert_close(coarse[k], fine[k], 1e-7);
    stair_committee_law_destroy(&law);
    stair_context_destroy(&context);
}

static void compare_posteriors(double v, size_t points, double precision)
{
    channel_case c = channel_case_open("attention-limit:layers=3,beta=0.7", points);
    size_t pm = c.size;
    const stair_structure *structure;
    assert_int_equal(stair_structure_find(c.context, c.model, &structure), STAIR_OK);
    assert_true(structure->committee);
    double cov[9] = {1, 0, 0, 0, 1, 0, 0, 0, v};
    channel_case_draw(&c, 0.5, 11);
    for (size_t i = 0; i < c.n; i++) {
        memset(c.omega + i * pm, 0, 4 * sizeof(double));
        for (size_t t = 4; t < 6; t++) c.omega[i * pm + t] = v < 1 ? c.z[i * pm + t] + 0.3 * sqrt(v) : 0;
    }
    stair_channel_options options = stair_channel_defaults();
    options.precision = precision;
    stair_channel_result plain = {.logz = c.logz, .g = c.g, .dg = c.dg, .error = c.error};
    assert_int_equal(
        stair_channel_evaluate(c.context, c.model, &options, 0, c.n, c.label, c.omega, 1, cov, &plain),
        STAIR_OK);
    stair_denoiser d;
    stair_denoiser_effort effort = {.fineness = 1, .nodes = 1024, .seed = 1, .channel = options};
    assert_int_equal(stair_denoiser_create(c.context, structure, cov, &effort, &d), STAIR_OK);
    assert_string_equal(d.rule->name, "exchange");
    stair_denoised all = {.logz = channel_case_room(3 * c.n),
                          .g = channel_case_room(3 * c.n * pm),
                          .dg = channel_case_room(3 * c.n * pm * pm),
                          .error = channel_case_room(c.n),
                          .anchors = channel_case_room(2 * c.n)};
    assert_int_equal(stair_denoiser_evaluate(c.context, &d, 0, c.n, c.label, c.omega, NULL, &all), STAIR_OK);
    for (size_t i = 0; i < c.n; i++) {
        double allowed = 3 * c.error[i] + 2 * precision;
        assert_close(all.logz[i], c.logz[i], allowed);
        for (size_t t = 0; t < pm; t++) assert_close(all.g[i * pm + t], c.g[i * pm + t], allowed / sqrt(v));
        for (size_t t = 0; t < pm * pm; t++)
            assert_close(all.dg[i * pm * pm + t], c.dg[i * pm * pm + t], 2 * allowed / v);
    }
    stair_denoiser_destroy(&d);
    free(all.logz);
    free(all.g);
    free(all.dg);
    free(all.error);
    free(all.anchors);
    channel_case_close(&c);
}

static void posteriors_are_those_of_the_channel(void **state)
{
    (void)state;
    compare_posteriors(1, 6, 1e-6);
    compare_posteriors(0.2, 6, 1e-6);
    compare_posteriors(0.02, 6, 1e-6);
}

static void posteriors_agree_at_coarse_precision(void **state)
{
    (void)state;
    compare_posteriors(0.2, 1, 3e-3);
}

/* One sample by the rule of this fineness: log Z, g and dg of the last row, dg of a hidden one. */
static void last_and_hidden(channel_case *c, const double *cov, double fineness, double *out)
{
    const stair_structure *structure;
    stair_denoiser d;
    stair_denoiser_effort effort = {.fineness = fineness, .nodes = 1024, .seed = 1};
    size_t pm = c->size;
    stair_denoised all = {.logz = c->logz, .g = c->g, .dg = c->dg, .error = c->error, .anchors = out};
    assert_int_equal(stair_structure_find(c->context, c->model, &structure), STAIR_OK);
    assert_int_equal(stair_denoiser_create(c->context, structure, cov, &effort, &d), STAIR_OK);
    assert_int_equal(stair_denoiser_evaluate(c->context, &d, 0, 1, c->label, c->omega, NULL, &all), STAIR_OK);
    stair_denoiser_destroy(&d);
    out[0] = c->logz[0];
    out[1] = c->g[pm - 1];
    out[2] = c->dg[pm * pm - 1];
    out[3] = c->dg[pm * pm - 2];
    out[4] = c->dg[0];
    out[5] = c->dg[1];
}

/* Asked for a finer grid than there is, a posterior interpolates the law at nodes of its own. */
static void both_ways_of_a_posterior_agree(void **state)
{
    const double v = 1e-3;
    (void)state;
    for (uint64_t seed = 5; seed < 9; seed++) {
        channel_case c = channel_case_open("attention-limit:layers=16,beta=1", 1);
        double cov[256] = {0}, on_grid[6], between[6], scale[] = {1, 1 / sqrt(v), 1 / v, 1 / v, 1, 1};
        for (int i = 0; i < 16; i++) cov[17 * i] = i < 15 ? 1 : v;
        channel_case_draw(&c, 0.5, seed);
        memset(c.omega, 0, c.size * sizeof(double));
        for (size_t t = c.size - 2; t < c.size; t++) c.omega[t] = c.z[t] + 0.5 * sqrt(v);
        last_and_hidden(&c, cov, 1, on_grid);
        last_and_hidden(&c, cov, 6, between);
        for (int k = 0; k < 6; k++) assert_close(between[k] / scale[k], on_grid[k] / scale[k], 1e-8);
        channel_case_close(&c);
    }
}

/* Steps of the first row, which stands for hidden layers, are those of all rows. */
static void threshold(const char *spec, double precision, stair_step *steps)
{
    stair_context *context;
    stair_model *model;
    stair_asymptotics_options options = stair_asymptotics_defaults();
    int count;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_model_create(context, spec, &model), STAIR_OK);
    options.precision = precision;
    assert_int_equal(stair_threshold(context, model, &options, 2, 2, steps, &count), STAIR_OK);
    assert_int_equal(count, 2);
    stair_model_destroy(&model);
    stair_context_destroy(&context);
}

static void many_layers_are_learned_last(void **state)
{
    stair_step steps[2];
    (void)state;
    threshold("attention-limit:layers=64,beta=1", 1e-2, steps);
    assert_int_equal(steps[0].learns[0], 64);
    assert_int_equal(steps[1].learns[0], 1);
    assert_true(steps[0].alpha > 1.0 / 6 && steps[0].alpha < 0.1681);
    /* Where the last row is known a label is (U, V), and the step would be 1 / E |Gamma|^2 = 21.19035. */
    assert_true(steps[1].alpha > 21.19035 && steps[1].alpha < 1.05 * 21.19035);
    assert_true(steps[1].error < 1e-2 * steps[1].alpha);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_sums),
        cmocka_unit_test(law_agrees_with_draws),
        cmocka_unit_test(posteriors_agree_at_coarse_precision),
        cmocka_unit_test(posteriors_are_those_of_the_channel),
        cmocka_unit_test(both_ways_of_a_posterior_agree),
        cmocka_unit_test(many_layers_are_learned_last),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
