/* What every registered model owes the rest of the library, whatever it is: with its default keys, and with
 * each of a few values of keys that it has.  A new line in src/model/registry.c is tested here by itself. */
#include "channel_case.h"

#include "core/rng.h"
#include "model/structure.h"

#define POINTS 30
#define FEW    6 /* points of the identities, which cost several evaluations of the channel each */

static const struct {
    const char *key, *value;
} variations[] = {{"tokens", "1"}, {"tokens", "3"}, {"layers", "1"},     {"rank", "2"},
                  {"skip", "0.3"}, {"noise", "1"},  {"prenoise", "0.1"}, {"activation", "linear"}};
enum { VARIATIONS = sizeof variations / sizeof *variations };

static bool has_key(int model, const char *key)
{
    for (int k = 0; stair_model_keys(model, k); k++)
        if (!strcmp(stair_model_keys(model, k)->key, key)) return true;
    return false;
}

/* Code of others is tested where it is built: tests/cli/test_plugin.sh. */
static bool needs_file(int model)
{
    return !strcmp(stair_model_keys(model, 0)->text, "FILE.so");
}

/* Runs `check` on the model with its defaults and with every variation it has a key for. */
static void each_spec(void (*check)(channel_case *))
{
    for (int i = 0; stair_model_name(i); i++)
        for (int v = needs_file(i) ? VARIATIONS : -1; v < VARIATIONS; v++) {
            char spec[128];
            if (v >= 0 && !has_key(i, variations[v].key)) continue;
            /* a first key without a default is positional: the example has it */
            bool positional = !stair_model_keys(i, 0)->value;
            const char *name = positional ? stair_model_example(i) : stair_model_name(i);
            if (v < 0)
                snprintf(spec, sizeof spec, "%s", name);
            else
                snprintf(spec, sizeof spec, "%s%c%s=%s", name, positional ? ',' : ':', variations[v].key,
                         variations[v].value);
            channel_case c = channel_case_open(spec, POINTS);
            channel_case_draw(&c, 0.5, 5);
            check(&c);
            channel_case_close(&c);
        }
}

static void listed(void **state)
{
    (void)state;
    assert_non_null(stair_model_name(0));
    for (int i = 0; stair_model_name(i); i++) {
        assert_non_null(stair_model_summary(i));
        assert_non_null(stair_model_formula(i));
        for (int k = 0; k < i; k++) assert_string_not_equal(stair_model_name(i), stair_model_name(k));
        for (int k = 0; stair_model_keys(i, k); k++) {
            assert_true(k == 0 || stair_model_keys(i, k)->value);
            assert_non_null(stair_model_keys(i, k)->text);
        }
    }
}

/* The example of a model is one of it, and has its name. */
static void examples_can_be_made(void **state)
{
    (void)state;
    assert_null(stair_model_formula(1000));
    assert_null(stair_model_example(1000));
    for (int i = 0; stair_model_name(i); i++) {
        assert_non_null(stair_model_example(i));
        if (needs_file(i)) continue;
        channel_case c = channel_case_open(stair_model_example(i), 1);
        assert_string_equal(c.info.name, stair_model_name(i));
        channel_case_close(&c);
    }
}

static void spec_round_trip(channel_case *c)
{
    stair_model *again;
    assert_int_equal(stair_model_create(c->context, stair_model_spec(c->model), &again), STAIR_OK);
    assert_string_equal(stair_model_spec(again), stair_model_spec(c->model));
    stair_model_info info = stair_model_describe(again);
    assert_int_equal(info.indices, c->info.indices);
    assert_int_equal(info.label_size, c->info.label_size);
    stair_model_destroy(&again);
}

static void specs_name_their_model(void **state)
{
    (void)state;
    each_spec(spec_round_trip);
}

/* Labels without noise: the plain output, made a label again. */
static void label_round_trip(channel_case *c)
{
    double *y = channel_case_room(c->n * c->labels), *back = channel_case_room(c->n * c->labels);
    assert_int_equal(stair_model_forward(c->context, c->model, c->n, c->z, c->label), STAIR_OK);
    for (size_t k = 0; k < c->n * c->labels; k++)
        y[k] = c->info.label_is_log ? exp(c->label[k]) : c->label[k];
    if (stair_model_labels_from_outputs(c->context, c->model, c->n, y, back) != STAIR_OK)
        fail_msg("%s: %s", stair_model_spec(c->model), stair_context_message(c->context));
    for (size_t k = 0; k < c->n * c->labels; k++)
        assert_close(back[k], c->label[k], 1e-12 * (1 + fabs(c->label[k])));
    free(y);
    free(back);
}

static void outputs_become_their_labels(void **state)
{
    (void)state;
    each_spec(label_round_trip);
}

static void gradient_by_differences(channel_case *c)
{
    double cotangent[64], gradient[64], size = 0;
    assert_true(c->labels <= 64 && c->size <= 64);
    for (size_t i = 0; i < c->n; i++) {
        double *z = c->z + i * c->size;
        stair_rng_normals(8, STAIR_RNG_INIT, i, (int)c->labels, cotangent);
        stair_status status = stair_model_gradient(c->context, c->model, z, cotangent, gradient);
        if (status == STAIR_UNSUPPORTED) return; /* a model need not have one */
        assert_int_equal(status, STAIR_OK);
        for (size_t k = 0; k < c->size; k++) {
            assert_close(channel_case_slope(c, z, k, cotangent), gradient[k], 1e-6 * (1 + fabs(gradient[k])));
            size = fmax(size, fabs(gradient[k]));
        }
    }
    const stair_structure *structure;
    assert_int_equal(stair_structure_find(c->context, c->model, &structure), STAIR_OK);
    /* one token may have nothing to attend to, and discrete labels have no slope */
    if (c->info.tokens > 1 && structure->rank) assert_true(size > 1e-6);
}

static void gradients_are_derivatives(void **state)
{
    (void)state;
    each_spec(gradient_by_differences);
}

/* No identity fails on a few points, and points of the fibre have the label of the sample (noise on y leaves
 * no fibre). */
static void identities_of(channel_case *c)
{
    stair_identity rows[32];
    int fibres = 0;
    /* with noise all of Z is integrated over */
    int count = channel_case_diagnose(c, FEW, c->info.output_noisy ? 1e-3 : 1e-4, 32, rows);
    for (int i = 0; i < count; i++) {
        if (!strstr(rows[i].name, "forward(fibre(y))")) continue;
        assert_int_equal(rows[i].verdict, STAIR_HOLDS);
        fibres++;
    }
    const stair_structure *structure;
    assert_int_equal(stair_structure_find(c->context, c->model, &structure), STAIR_OK);
    assert_int_equal(fibres, structure->dim >= 0);
}

static void identities_hold(void **state)
{
    (void)state;
    each_spec(identities_of);
}

/* Rows that models have, and values of their keys that are just inside and just outside. */
static void keys_have_their_ranges(void **state)
{
    static const struct {
        const char *spec;
        int indices; /* 0: refused */
    } cases[] = {{"abs", 1},
                 {"sign", 1},
                 {"relu", 1},
                 {"linear:noise=1", 1},
                 {"door:width=0.001", 1},
                 {"door:width=0.0009", 0},
                 {"door:width=6", 1},
                 {"door:width=6.1", 0},
                 {"staircase", 3},
                 {"norm2", 2},
                 {"norm2:indices=1", 1},
                 {"product:indices=1", 1},
                 {"parity:indices=0", 0},
                 {"parity:indices=1", 1},
                 {"committee:indices=0", 0},
                 {"committee:indices=5", 5},
                 {"soft-committee", 2}};
    stair_context *context;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model;
        stair_status status = stair_model_create(context, cases[k].spec, &model);
        if (status != (cases[k].indices ? STAIR_OK : STAIR_BAD_INPUT))
            fail_msg("%s: %d, %s", cases[k].spec, status, stair_context_message(context));
        if (model) assert_int_equal(stair_model_describe(model).indices, cases[k].indices);
        stair_model_destroy(&model);
    }
    stair_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed),
        cmocka_unit_test(examples_can_be_made),
        cmocka_unit_test(keys_have_their_ranges),
        cmocka_unit_test(specs_name_their_model),
        cmocka_unit_test(outputs_become_their_labels),
        cmocka_unit_test(gradients_are_derivatives),
        cmocka_unit_test(identities_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
