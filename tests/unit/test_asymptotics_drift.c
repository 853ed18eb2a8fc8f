/* Models whose labels tell of a direction by themselves, E[z | y] not zero: learned at any alpha > 0, step 0
 * of the staircase.  Known answers: y = sign(z), q = 0.728298 at alpha = 2 (Györgyi 1990; the fixed point of
 * q/(1-q) = alpha E[g^2] by one integral), and y = z + noise, where state evolution is a quadratic. */
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "model/keys.h"
#include "model/model.h"

/* ---- models of the test alone ------------------------------------------------------------------- */

static stair_status create(stair_context *local, stair_model *model, const char *const *values)
{
    (void)local, (void)values;
    model->info.layers = model->info.indices = model->ranks[0] = 1;
    model->info.label_size = model->info.tokens;
    return STAIR_OK;
}

static stair_status copy_label(stair_context *local, const stair_model *model, const double *y, double *label)
{
    (void)local;
    memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
    return STAIR_OK;
}

static void forward_sign(const stair_model *model, const double *z, double *y, double *label)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (y) y[m] = z[m] < 0 ? -1 : 1;
        if (label) label[m] = z[m] < 0 ? -1 : 1;
    }
}

static bool exists(const stair_model *model)
{
    return !model->info.output_noisy;
}

static stair_status evaluate_sign(stair_context *local, const stair_model *model, const double *label,
                                  const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    double x = label[0] * omega[0] / sqrt(cov[0]), mass = 0.5 * erfc(-x * M_SQRT1_2);
    double h = exp(-0.5 * x * x) / sqrt(2 * M_PI) / mass;
    (void)local, (void)model;
    *logz = log(mass);
    g[0] = label[0] * h / sqrt(cov[0]);
    dg[0] = -h * (h + x) / cov[0];
    return STAIR_OK;
}

/* y = z1 for the first row, nothing of the second: no amount of data teaches it. */
static void forward_linear(const stair_model *model, const double *z, double *y, double *label)
{
    size_t size = sizeof(double) * (size_t)model->info.tokens;
    if (y) memcpy(y, z, size);
    if (label) memcpy(label, z, size);
}

static const stair_closed_ops sign_closed = {.exists = exists, .evaluate = evaluate_sign};
static const stair_model_key keys[] = {
    STAIR_KEY_TOKENS("1"), STAIR_KEY_NOISE, STAIR_KEY_PRENOISE, {NULL, NULL, NULL}};
static const stair_model_ops sign = {.name = "sign",
                                     .keys = keys,
                                     .create = create,
                                     .forward = forward_sign,
                                     .label_from_output = copy_label,
                                     .closed = &sign_closed},
                             linear = {.name = "linear",
                                       .keys = keys,
                                       .create = create,
                                       .forward = forward_linear,
                                       .label_from_output = copy_label};

/* ---- known answers ------------------------------------------------------------------------------ */

static void overlap_is(const stair_model_ops *ops, const char *items, double alpha, double known)
{
    for (int informed = 0; informed < 2; informed++) {
        stair_model *model;
        double q, error;
        stair_evolution result = {.q = &q, .q_error = &error};
        stair_asymptotics_options how = stair_asymptotics_defaults();
        how.precision = 5e-3;
        assert_int_equal(stair_model_make(context, ops, items, &model), STAIR_OK);
        assert_int_equal(stair_evolve(context, model, &how, alpha, informed, NULL, &result), STAIR_OK);
        if (!(fabs(q - known) <= 4 * error)) print_error("%s at %g: %g(%g)\n", ops->name, alpha, q, error);
        assert_int_equal(result.stop, STAIR_STOP_CONVERGED);
        assert_true(error > 0 && error <= 5e-3);
        assert_close(q, known, 4 * error);
        stair_model_destroy(&model);
    }
}

static void signs_are_learned_without_a_threshold(void **state)
{
    (void)state;
    overlap_is(&sign, NULL, 2, 0.728298);
    overlap_is(&sign, NULL, 0.05, 0.0314608894); /* the same integral, Simpson and bisection */
}

/* q = alpha M (1 - q) / (D + 1 - q) */
static void linear_labels_with_noise(void **state)
{
    (void)state;
    overlap_is(&linear, "noise=1", 2, 2 - sqrt(2));
}

static void staircase_begins_at_zero(void **state)
{
    (void)state;
    stair_model *model;
    stair_step list[4];
    int count;
    stair_curve *curve;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = 0.02;
    assert_int_equal(stair_model_make(context, &linear, "noise=1", &model), STAIR_OK);
    assert_int_equal(stair_threshold(context, model, &how, 0, 4, list, &count), STAIR_OK);
    assert_int_equal(count, 1);
    assert_true(list[0].alpha == 0 && list[0].error == 0 && isnan(list[0].eigenvalue));
    assert_int_equal(list[0].learn_count, 1);
    assert_int_equal(list[0].learns[0], 1);
    assert_close(list[0].direction[0], 1, 1e-12);
    assert_int_equal(stair_curve_create(context, model, &how, 2, &curve), STAIR_UNSUPPORTED);
    stair_model_destroy(&model);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_are_learned_without_a_threshold),
        cmocka_unit_test(linear_labels_with_noise),
        cmocka_unit_test(staircase_begins_at_zero),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
