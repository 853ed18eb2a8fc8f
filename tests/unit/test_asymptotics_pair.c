/* A last layer of rank two: posteriors against the channel and a closed form, the measure of labels, the first step. */
#include "assert_close.h"
#include "stair.h"

#include "asymptotics/denoiser.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 6
#define MOST    8 /* P * M */

static stair_context *context;

static int open_context(void **state)
{
    (void)state;
    return stair_context_create(&context) != STAIR_OK;
}

static int close_context(void **state)
{
    (void)state;
    stair_context_destroy(&context);
    return 0;
}

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

/* Distance of the nodes from the channel, in units of the prior and of `tolerance` or the channel's error. */
static double distance(const stair_model *model, const double *v, double precision, double tolerance)
{
    stair_model_info info = stair_model_describe(model);
    int p = info.indices, m = info.tokens, pm = p * m;
    double cov[16] = {0}, omega[SAMPLES * MOST], labels[SAMPLES * 4], worst = 0;
    double logz[SAMPLES], g[SAMPLES * MOST], dg[SAMPLES * MOST * MOST], error[SAMPLES], inner[SAMPLES], anchors[SAMPLES * 2];
    static double logz3[3 * SAMPLES], g3[3 * SAMPLES * MOST], dg3[3 * SAMPLES * MOST * MOST];
    for (int i = 0; i < p; i++) cov[i * (p + 1)] = v[i];
    draw(model, v, omega, labels);
    stair_channel_options options = stair_channel_defaults();
    options.precision = precision;
    stair_channel_result channel = {.logz = logz, .g = g, .dg = dg, .error = error};
    assert_int_equal(stair_channel_evaluate(context, model, &options, 0, SAMPLES, labels, omega, 1, cov, &channel), STAIR_OK);
    stair_denoiser denoiser;
    stair_denoised nodes = {.logz = logz3, .g = g3, .dg = dg3, .error = inner, .anchors = anchors};
    assert_int_equal(stair_denoiser_create(context, model, &options, cov, 1.2, 1 << 13, 1, &denoiser), STAIR_OK);
    assert_non_null(denoiser.pair);
    assert_int_equal(stair_denoiser_evaluate(context, &denoiser, 0, SAMPLES, labels, omega, &nodes), STAIR_OK);
    for (int n = 0; n < SAMPLES; n++) {
        double unit = fmax(tolerance, 3 * error[n]), here = fabs(logz3[3 * n] - logz[n]), gg = 0, dd = 0;
        for (int i = 0; i < pm; i++) {
            double scale = v[i / m] + info.prenoise;
            gg = fmax(gg, sqrt(scale) * fabs(g3[3 * n * pm + i] - g[n * pm + i]));
            for (int j = 0; j < pm; j++)
                if (i / m == j / m || (i >= pm - 2 * m && j >= pm - 2 * m))
                    dd = fmax(dd, scale * fabs(dg3[(3 * n * pm + i) * pm + j] - dg[(n * pm + i) * pm + j]));
        }
        if (getenv("SHOW")) print_error("%s v %g %g: logz %.6f %.2g g %.2g dg %.2g  channel %.2g halves %.2g\n", stair_model_spec(model), v[0], v[p-1], logz[n], here, gg, dd, error[n], inner[n]);
        worst = fmax(worst, fmax(here, fmax(gg, dd)) / unit);
    }
    stair_denoiser_destroy(&denoiser);
    return worst;
}

static void posteriors_agree_with_the_channel(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double v[4], tolerance;
    } cases[] = {{"attention:layers=1,tokens=2,rank=2", {0.3, 0.3}, 1e-3},
                 {"attention:layers=1,tokens=2,rank=2", {1e-3, 1e-3}, 1e-3},
                 {"attention:layers=2,tokens=2,rank=1+2", {1, 1, 1}, 2e-3},
                 {"attention:layers=2,tokens=2,rank=1+2", {1, 0.1, 0.1}, 2e-3},
                 {"attention:layers=2,tokens=2,rank=1+2,skip=0.5,prenoise=0.01", {0.5, 0.05, 0.05}, 2e-3},
                 {"attention:layers=2,tokens=2,rank=1+2", {0.01, 1e-4, 1e-4}, 2e-3},
                 {"attention:layers=2,tokens=2,rank=2", {1, 1, 0.2, 0.2}, 5e-3},
                 {"attention:layers=2,tokens=2,rank=2", {0.3, 0.3, 0.1, 0.1}, 2e-2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stair_model *model;
        assert_int_equal(stair_model_create(context, cases[c].spec, &model), STAIR_OK);
        double worst = distance(model, cases[c].v, 1e-3, cases[c].tolerance);
        if (worst > 1) print_error("%s: %g\n", cases[c].spec, worst);
        assert_true(worst <= 1);
        stair_model_destroy(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posteriors_agree_with_the_channel),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
