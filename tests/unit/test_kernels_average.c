/* Averages by the arithmetic of a card against the processor's: on the host, every thread of a kernel a turn
 * of a loop (host_card.h); and with STAIR_TEST_DEVICE=cuda on a card itself, where the same bytes must come
 * twice. */
#include "fixture.h"
#include "host_card.h"

#include <math.h>
#include <stdlib.h>

#include "average/average.h"
#include "core/context.h"
#include "core/rng.h"
#include "posterior/denoiser.h"

enum { SAMPLES = 160, NUMBERS = 3 * (1 + 8 + 64) };

static stair_context *card; /* a context with the other backend */

static bool on_card(void)
{
    const char *name = getenv("STAIR_TEST_DEVICE");
    return name && name[0];
}

static int open_both(void **state)
{
    if (open_context(state) || stair_context_create(&card) != STAIR_OK) return 1;
    card->threads = 3; /* what follows samples is asked for by several at once */
    if (!on_card()) card->backend = &host_card;
    if (!on_card() || stair_context_set_device(card, getenv("STAIR_TEST_DEVICE")) == STAIR_OK) return 0;
    print_error("%s\n", stair_context_message(card));
    return 1;
}

static int close_both(void **state)
{
    if (!on_card()) card->backend = NULL;
    stair_context_destroy(&card);
    return close_context(state);
}

/* Posteriors of samples at covariance 1 - q by the rule for many samples: out (SAMPLES, 3 (1 + PM + PM^2)).
 */
static void posteriors(stair_context *with, const char *spec, const double *q, double fineness, double *out)
{
    stair_model *model = model_of(spec);
    int p = model->info.indices;
    size_t pm = 2 * (size_t)p, each = 3 * (1 + pm + pm * pm), labels = (size_t)model->info.label_size;
    double cov[STAIR_SQUARE], *z = calloc(SAMPLES * (2 * pm + labels + 3), sizeof(double));
    assert_non_null(z);
    double *omega = z + SAMPLES * pm, *label = omega + SAMPLES * pm, *anchors = label + SAMPLES * labels;
    for (int i = 0; i < p * p; i++) cov[i] = i % (p + 1) ? 0 : 1 - q[i / (p + 1)];
    for (size_t i = 0; i < SAMPLES; i++) {
        double x[32];
        stair_rng_normals(11, STAIR_RNG_POINTS, i, (int)(2 * pm), x);
        for (size_t k = 0; k < pm; k++) {
            omega[i * pm + k] = sqrt(q[k / 2]) * x[k];
            z[i * pm + k] = omega[i * pm + k] + sqrt(1 - q[k / 2]) * x[pm + k];
        }
    }
    assert_int_equal(stair_model_forward(with, model, SAMPLES, z, label), STAIR_OK);
    stair_denoised result = {.anchors = anchors, .error = anchors + 2 * SAMPLES};
    result.logz = out;
    result.g = out + 3 * SAMPLES;
    result.dg = result.g + 3 * SAMPLES * pm;
    stair_denoiser_effort how = {
        .fineness = fineness, .nodes = 1024, .seed = 3, .channel = stair_channel_defaults()};
    stair_denoiser denoiser;
    assert_int_equal(stair_denoiser_create(with, structure_of(model), cov, &how, &denoiser), STAIR_OK);
    assert_int_equal(stair_denoiser_evaluate(with, &denoiser, 0, SAMPLES, label, omega, z, &result),
                     STAIR_OK);
    stair_denoiser_destroy(&denoiser);
    stair_model_destroy(&model);
    free(z);
    (void)each;
}

/* All numbers of all samples, to `tolerance` of the largest of their kind and sample. */
static void compare(const char *spec, const double *q, int p, double fineness, double tolerance)
{
    size_t pm = 2 * (size_t)p, each = 3 * (1 + pm + pm * pm);
    double *want = calloc(2 * SAMPLES * each, sizeof(double)), *got = want + SAMPLES * each;
    assert_non_null(want);
    posteriors(context, spec, q, fineness, want);
    posteriors(card, spec, q, fineness, got);
    size_t kinds[] = {1, pm, pm * pm}, at = 0;
    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < 3 * SAMPLES; i++, at += kinds[kind]) {
            double size = 1;
            for (size_t k = 0; k < kinds[kind]; k++) size = fmax(size, fabs(want[at + k]));
            for (size_t k = 0; k < kinds[kind]; k++)
                assert_close(got[at + k], want[at + k], tolerance * size);
        }
    if (on_card()) {
        posteriors(card, spec, q, fineness, want);
        assert_memory_equal(want, got, SAMPLES * each * sizeof(double));
    }
    free(want);
}

static void tables_of_nodes_agree(void **state)
{
    (void)state;
    host_card_count.tables = 0;
    compare("attention:layers=2", (double[]){0, 0.8}, 2, 1, 1e-10);
    compare("attention:layers=2,skip=0.5", (double[]){0, 0.97}, 2, 1, 1e-10);
    compare("attention:layers=3", (double[]){0, 0, 0.6}, 3, 1, 1e-10);
    compare("attention:layers=4", (double[]){0, 0, 0, 0.6}, 4, 1, 1e-10);
    if (!on_card()) assert_int_equal(host_card_count.tables, 4 * SAMPLES);
}

/* The processor leaves many cells out, each below e^-14 of the largest. */
static void fixed_nodes_agree(void **state)
{
    (void)state;
    host_card_count.fixed = 0;
    compare("attention:layers=2", (double[]){0.5, 0.8}, 2, 1, 2e-4);
    compare("attention:layers=2,skip=3", (double[]){0.3, 0.9}, 2, 0.6, 2e-4);
    if (!on_card()) assert_int_equal(host_card_count.fixed, 2 * SAMPLES);
}

static void moving_nodes_agree(void **state)
{
    (void)state;
    host_card_count.moving = 0;
    compare("attention:layers=2", (double[]){0.999, 0.9995}, 2, 1, 1e-9);
    compare("attention:layers=2,mixing=literal", (double[]){0.999, 0.9995}, 2, 1, 1e-9);
    if (!on_card()) assert_int_equal(host_card_count.moving, 2 * SAMPLES);
}

/* The processor's exponentials of densities are short ones. */
static void following_nodes_agree(void **state)
{
    (void)state;
    host_card_count.following = 0;
    compare("attention:layers=3", (double[]){0.3, 0.5, 0.995}, 3, 1, 1e-6);
    compare("attention:layers=3,skip=0.5", (double[]){0.9, 0.95, 0.999}, 3, 1, 1e-6);
    compare("attention:layers=4", (double[]){0.6, 0.4, 0.5, 0.99}, 4, 1, 1e-6);
    if (!on_card()) assert_int_equal(host_card_count.following, 3 * SAMPLES);
}

/* Models whose hidden layers are something else are not mistaken for attention. */
static void formulas_are_told_apart(void **state)
{
    static const struct {
        const char *spec;
        bool mixed;
    } cases[] = {{"attention:layers=2", true},
                 {"attention:layers=2,skip=0.3,mixing=literal", true},
                 {"attention:layers=3,skip=2", true},
                 {"attention:layers=4", true},
                 {"attention:layers=2,prenoise=0.01", true}};
    double out[SAMPLES * NUMBERS];
    (void)state;
    if (on_card()) skip();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int layers = cases[k].spec[strlen("attention:layers=")] - '0';
        double q[4] = {0};
        q[layers - 1] = 0.5;
        host_card_count.mixed = false;
        posteriors(card, cases[k].spec, q, 1, out);
        assert_int_equal(host_card_count.mixed, cases[k].mixed);
        assert_int_equal(host_card_count.mixing.rows, layers - 1);
    }
}

/* The average at overlap q by grids of labels. */
static void average_of(stair_context *with, const char *spec, const double *q, double fineness, double *mean,
                       int *count)
{
    stair_model *model = model_of(spec);
    const stair_structure *structure = structure_of(model);
    int p = model->info.indices;
    double overlap[STAIR_SQUARE] = {0};
    for (int i = 0; i < p; i++) overlap[i * (p + 1)] = q[i];
    stair_average_effort effort = {.rule = &stair_average_label_grid,
                                   .fineness = fineness,
                                   .nodes = 4096,
                                   .points = 512,
                                   .replicates = 2,
                                   .widening = 1.2,
                                   .seed = 1,
                                   .channel = stair_channel_defaults()};
    stair_average average;
    assert_int_equal(stair_average_create(with, structure, 0, 2, &average), STAIR_OK);
    if (stair_average_evaluate(with, structure, &effort, overlap, NULL, &average) != STAIR_OK)
        fail_msg("%s", stair_context_message(with));
    *count = average.count;
    memcpy(mean, average.mean, sizeof(double) * (size_t)average.count);
    stair_average_destroy(&average);
    stair_model_destroy(&model);
}

static void compare_averages(const char *spec, const double *q, double fineness, double tolerance)
{
    double want[64], got[64], again[64];
    int count;
    average_of(context, spec, q, fineness, want, &count);
    average_of(card, spec, q, fineness, got, &count);
    for (int k = 0; k < count; k++) assert_close(got[k], want[k], tolerance * fmax(1, fabs(want[k])));
    average_of(card, spec, q, fineness, again, &count);
    assert_memory_equal(got, again, sizeof(double) * (size_t)count);
}

/* Sums in single precision, in another order. */
static void hidden_means_agree(void **state)
{
    (void)state;
    host_card_count.means = 0;
    compare_averages("attention:layers=2", (double[]){0.3, 0.8}, 0.65, 2e-6);
    compare_averages("attention:layers=2,skip=0.5", (double[]){0.6, 0.7}, 0.65, 2e-6);
    compare_averages("attention:layers=3", (double[]){0.2, 0.3, 0.7}, 0.5, 5e-6);
    compare_averages("attention:layers=3", (double[]){0, 0.3, 0.7}, 0.5, 5e-6);
    compare_averages("attention:layers=3", (double[]){0, 0, 0.7}, 0.5, 5e-6);
    if (!on_card()) assert_true(host_card_count.means > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_nodes_agree),   cmocka_unit_test(fixed_nodes_agree),
        cmocka_unit_test(moving_nodes_agree),      cmocka_unit_test(following_nodes_agree),
        cmocka_unit_test(formulas_are_told_apart), cmocka_unit_test(hidden_means_agree),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
