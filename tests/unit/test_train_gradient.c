/* Gradients of both trained networks, and the shortcuts that make them fast, against slower truths. */
#include "fixture.h"
#include "core/rng.h"
#include "stair_train.h"
#include "train/adamw.h"
#include "train/batch.h"
#include "train/classifier.h"

#include <stdlib.h>
#include <string.h>

static double *normals(uint64_t stream, size_t n, double scale)
{
    double *out = malloc((n + 1) * sizeof *out);
    assert_non_null(out);
    stair_rng_normals(7, STAIR_RNG_POINTS, stream, (int)n, out);
    for (size_t i = 0; i < n; i++) out[i] *= scale;
    return out;
}

static const char *const models[] = {
    "attention:layers=1,tokens=2,rank=1",
    "attention:layers=2,tokens=2,rank=1,skip=1",
    "attention:layers=3,tokens=3,rank=1+2+1,skip=0.5",
    "attention:layers=2,tokens=4,rank=2+3,skip=-0.3",
    "attention:layers=2,tokens=3,rank=2,skip=1,mixing=literal",
    "attention:layers=2,tokens=3,rank=1,skip=0.7,activation=linear",
    "expr:tanh(z1)*z2/(2+z3*z3)-z1",
};
#define MODELS (sizeof models / sizeof *models)

static double loss_at(const stair_model *model, int dim, size_t n, const double *x, const double *y,
                      const double *w)
{
    double loss;
    assert_int_equal(stair_sgd_gradient(context, model, dim, n, x, y, w, &loss, NULL), STAIR_OK);
    return loss;
}

/* d loss / d w by central differences of fourth order, at every weight */
static void test_sgd_gradient_is_the_derivative(void **state)
{
    (void)state;
    for (size_t k = 0; k < MODELS; k++) {
        stair_model *model = model_of(models[k]);
        stair_model_info info = stair_model_describe(model);
        int dim = 13;
        size_t n = 11, size = (size_t)info.indices * (size_t)dim, outputs = (size_t)info.label_size;
        double *x = normals(1, n * (size_t)(info.tokens * dim), 1), *y = normals(2, n * outputs, 0.4);
        double *w = normals(3, size, 0.8), *gradient = malloc(size * sizeof *gradient), loss, scale = 0;
        assert_int_equal(stair_sgd_gradient(context, model, dim, n, x, y, w, &loss, gradient), STAIR_OK);
        for (size_t i = 0; i < size; i++) scale = fmax(scale, fabs(gradient[i]));
        for (size_t i = 0; i < size; i++) {
            double h = 1e-3, at = w[i], f[4], steps[4] = {-2, -1, 1, 2};
            for (int j = 0; j < 4; j++) {
                w[i] = at + h * steps[j];
                f[j] = loss_at(model, dim, n, x, y, w);
            }
            w[i] = at;
            assert_close(gradient[i], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6 * scale);
        }
        free(x);
        free(y);
        free(w);
        free(gradient);
        stair_model_destroy(&model);
    }
}

/* The model whose gradient, one sample at a time, stands for that of a table without `batch`. */
static const stair_model *by_sample;

static void gradient_by_sample(const stair_model *model, const double *z, const double *cotangent,
                               double *gradient)
{
    (void)model;
    assert_int_equal(stair_model_gradient(context, by_sample, z, cotangent, gradient), STAIR_OK);
}

/* eight samples in lanes against one at a time, through the forward map of the model itself */
static void test_lanes_agree_with_the_model(void **state)
{
    (void)state;
    for (size_t k = 0; k < MODELS; k++) {
        stair_model *model = model_of(models[k]);
        stair_net fast = stair_net_of(model, 40, false), slow = fast;
        assert_non_null(fast.batch);
        stair_model single = *model;
        stair_model_ops ops = *model->ops;
        ops.batch = slow.batch = NULL;
        ops.gradient = gradient_by_sample;
        single.ops = &ops;
        slow.model = &single;
        by_sample = model;
        stair_net_work a, b;
        stair_samples samples;
        assert_int_equal(stair_net_work_create(context, &fast, &a), STAIR_OK);
        assert_int_equal(stair_net_work_create(context, &slow, &b), STAIR_OK);
        assert_int_equal(stair_samples_create(context, &fast, 21, 8, &samples), STAIR_OK);
        double *x = normals(4, 21 * (size_t)fast.tokens * 40, 1),
               *w = normals(5, (size_t)fast.indices * 40, 1);
        for (size_t i = 0; i < 21; i++)
            stair_samples_set_x(&fast, &samples, i, x + i * (size_t)fast.tokens * 40);
        size_t n = (size_t)fast.indices * (size_t)fast.stride;
        stair_net_set_weights(&fast, w, &a);
        stair_net_set_weights(&slow, w, &b);
        double one = stair_net_loss(&fast, &samples, 0, samples.blocks, true, &a);
        double two = stair_net_loss(&slow, &samples, 0, samples.blocks, true, &b);
        assert_close_relative(one, two, 1e-13);
        for (size_t i = 0; i < n; i++)
            assert_close(a.gradient.sum[i], b.gradient.sum[i], 1e-11 * (1 + fabs(b.gradient.sum[i])));
        stair_samples_destroy(&samples);
        stair_net_work_destroy(&a);
        stair_net_work_destroy(&b);
        free(x);
        free(w);
        stair_model_destroy(&model);
    }
}

static void test_single_precision_data_changes_little(void **state)
{
    (void)state;
    stair_model *model = model_of(models[1]);
    stair_sgd_options o = stair_sgd_defaults();
    o.dim = 60;
    o.epochs = 2;
    o.batch = 50;
    o.test = 100;
    stair_sgd_result *single, *wide;
    assert_int_equal(stair_sgd(context, model, &o, &single), STAIR_OK);
    o.double_data = true;
    assert_int_equal(stair_sgd(context, model, &o, &wide), STAIR_OK);
    for (size_t i = 0; i < 120; i++) assert_close(single->run[0].weights[i], wide->run[0].weights[i], 2e-5);
    stair_sgd_result_destroy(&single);
    stair_sgd_result_destroy(&wide);
    stair_model_destroy(&model);
}

/* ---- classifier ------------------------------------------------------------------------------ */

enum { VOCAB = 23, COUNT = 6, LONGEST = 7 };
static int32_t ids[COUNT * LONGEST] = {2, 5, 9, 3, 0, 0, 0, 2, 4, 4, 11, 8, 7, 3, 2, 3,  0,  0,  0, 0, 0,
                                       2, 6, 5, 3, 0, 0, 0, 2, 9, 9, 9,  3, 0, 0, 2, 12, 13, 14, 5, 3, 0};
static int length[COUNT] = {4, 7, 2, 4, 5, 6}, label[COUNT] = {0, 1, 2, 0, 1, 2};
static stair_questions questions = {COUNT, LONGEST, 3, ids, length, label};

static stair_classifier *small_classifier(bool bias, double scale, bool pad_batch)
{
    stair_classifier *c;
    assert_int_equal(stair_classifier_create(context, VOCAB, 10, 5, 3, 3, &c), STAIR_OK);
    c->longest = LONGEST;
    c->pad = 0;
    c->bias = bias;
    c->pad_batch = pad_batch;
    c->scale = scale;
    for (int r = 0; r < VOCAB; r++)
        stair_rng_normals(3, STAIR_RNG_INIT, (uint64_t)r, c->dim, c->embedding + r * c->dim8);
    for (int l = 0; l < c->layers; l++)
        for (int k = 0; k < c->rank; k++)
            stair_rng_normals(4, STAIR_RNG_INIT, (uint64_t)(l * 8 + k), c->dim,
                              stair_classifier_w(c, c->parameters, l) + k * c->dim8);
    for (int l = 0; bias && l < c->layers; l++)
        stair_rng_normals(5, STAIR_RNG_INIT, (uint64_t)l, c->rank, stair_classifier_b(c, c->parameters, l));
    double *readout = stair_classifier_readout(c, c->parameters);
    for (int k = 0; k < c->classes; k++)
        stair_rng_normals(6, STAIR_RNG_INIT, (uint64_t)k, c->dim, readout + k * c->dim8);
    return c;
}

static void check_weight(stair_classifier *c, const int *pick, double *weight, double gradient)
{
    double h = 1e-4, at = *weight, f[4], steps[4] = {-2, -1, 1, 2};
    for (int j = 0; j < 4; j++) {
        *weight = at + h * steps[j];
        assert_int_equal(stair_classifier_loss(context, c, &questions, 5, pick, &f[j], NULL), STAIR_OK);
    }
    *weight = at;
    assert_close(gradient, (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-7);
}

static void check_classifier(bool bias, double scale, bool pad_batch)
{
    stair_classifier *c = small_classifier(bias, scale, pad_batch);
    double embedding[VOCAB * 10], attention[3 * 5 * 10], attention_bias[15], readout[30], readout_bias[3],
        loss;
    stair_classifier_gradient g = {embedding, attention, attention_bias, readout, readout_bias};
    int pick[5] = {4, 1, 0, 5, 2};
    assert_int_equal(stair_classifier_loss(context, c, &questions, 5, pick, &loss, &g), STAIR_OK);
    for (int r = 0; r < VOCAB; r++)
        for (int i = 0; i < 10; i++)
            check_weight(c, pick, c->embedding + r * c->dim8 + i, embedding[r * 10 + i]);
    for (int l = 0; l < 3; l++)
        for (int k = 0; k < 5; k++) {
            for (int i = 0; i < 10; i++)
                check_weight(c, pick, stair_classifier_w(c, c->parameters, l) + k * c->dim8 + i,
                             attention[(l * 5 + k) * 10 + i]);
            if (bias)
                check_weight(c, pick, stair_classifier_b(c, c->parameters, l) + k, attention_bias[l * 5 + k]);
        }
    double *r = stair_classifier_readout(c, c->parameters);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 10; i++) check_weight(c, pick, r + k * c->dim8 + i, readout[k * 10 + i]);
        check_weight(c, pick, r + 3 * c->dim8 + k, readout_bias[k]);
    }
    stair_classifier_destroy(&c);
}

static void test_classifier_gradient_is_the_derivative(void **state)
{
    (void)state;
    check_classifier(false, 10, false);
    check_classifier(true, 2.2, false);
    check_classifier(true, 2.2, true);
}

/* ---- AdamW without gradients ------------------------------------------------------------------ */

/* worst |w - w'| and relative error of the moments, one step at a time against all at once */
static double idle_error(double epsilon, double decay, int64_t t0, int64_t t)
{
    stair_adamw adam;
    assert_int_equal(stair_adamw_create(context, 5e-5, 0.9, 0.999, epsilon, decay, t, &adam), STAIR_OK);
    enum { N = 40 };
    double w[N], m[N], v[N], slow_w[N], slow_m[N], slow_v[N], worst = 0;
    for (int i = 0; i < N; i++) {
        double g = pow(10, -9 + 0.25 * i), sign = i % 2 ? 1 : -1; /* from far below epsilon to far above */
        slow_w[i] = w[i] = sign * (1 + 0.01 * i);
        slow_m[i] = m[i] = i == 7 ? 0 : 0.1 * g * sign;
        slow_v[i] = v[i] = i == 7 ? 0 : 0.001 * g * g * (1 + i % 3);
    }
    for (int64_t s = t0 + 1; s <= t; s++)
        for (int i = 0; i < N; i++) {
            slow_w[i] *= 1 - 5e-5 * decay;
            slow_m[i] *= 0.9;
            slow_v[i] *= 0.999;
            double c1 = 1 - pow(0.9, (double)s), c2 = 1 - pow(0.999, (double)s);
            slow_w[i] -= 5e-5 / c1 * slow_m[i] / (sqrt(slow_v[i]) / sqrt(c2) + epsilon);
        }
    stair_adamw_idle(&adam, t0, t, N, w, m, v);
    for (int i = 0; i < N; i++) {
        worst = fmax(worst, fabs(w[i] - slow_w[i]));
        assert_close(m[i], slow_m[i], 1e-9 * fabs(slow_m[i]) + 1e-290);
        assert_close(v[i], slow_v[i], 1e-9 * fabs(slow_v[i]));
    }
    stair_adamw_destroy(&adam);
    return worst;
}

static void test_idle_rows_move_as_dense_adamw_moves_them(void **state)
{
    (void)state;
    static const int64_t from[] = {1, 3, 20, 100, 300, 1000, 9000}, gap[] = {1, 2, 6, 7, 30, 200, 1000};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        for (size_t j = 0; j < sizeof gap / sizeof *gap; j++) {
            assert_true(idle_error(1e-8, 0.01, from[i], from[i] + gap[j]) < 2e-11);
            assert_true(idle_error(1e-4, 0, from[i], from[i] + gap[j]) < 2e-11);
        }
}

/* A student who says 0 errs by the mean of y^2: noise on the label or on the index of y = z adds to that. */
static void test_noise_adds_to_the_error(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double more;
    } cases[] = {{"expr:z1", 0},
                 {"expr:z1,noise=0.25", 0.25},
                 {"expr:z1,prenoise=0.25", 0.25},
                 {"expr:z1,noise=0.5,prenoise=0.25", 0.75}};
    double without = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_sgd_options o = stair_sgd_defaults();
        stair_model *model = model_of(cases[k].spec);
        stair_sgd_result *result;
        o.dim = 40, o.alpha = 100, o.epochs = 1, o.start = 0, o.rate = 0.1;
        if (stair_sgd(context, model, &o, &result) != STAIR_OK)
            fail_msg("%s", stair_context_message(context));
        double error = result->run[0].history[0].train;
        if (k == 0) without = error;
        /* x and teacher are the same; 4000 products of z and noise have a mean within 3 sqrt(0.75/4000) */
        assert_close(error - without, cases[k].more, 0.1);
        stair_sgd_result_destroy(&result);
        stair_model_destroy(&model);
    }
    assert_true(without > 0.5 && without < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_gradient_is_the_derivative),
        cmocka_unit_test(test_lanes_agree_with_the_model),
        cmocka_unit_test(test_single_precision_data_changes_little),
        cmocka_unit_test(test_classifier_gradient_is_the_derivative),
        cmocka_unit_test(test_idle_rows_move_as_dense_adamw_moves_them),
        cmocka_unit_test(test_noise_adds_to_the_error),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
