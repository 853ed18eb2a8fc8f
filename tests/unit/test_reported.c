/* Numbers that stand beside the main ones, against formulas: errors of predictions and of entropies, the
 * change of an iteration, the batches of an epoch, similarities of weights. */
#include "fixture.h"
#include "train/sgd.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* y = z^2, z = omega + e, omega ~ N(0, q), e ~ N(0, v), v = 1 - q + prenoise:
 *   Bayes E Var(y|omega) = 2 v^2 + 4 q v,  plug-in E (2 omega e + e^2)^2 = 4 q v + 3 v^2,  weights 1 - q^2.
 */
static void errors_of_squares(void **state)
{
    (void)state;
    stair_model *model = model_of("square:prenoise=0.3");
    stair_asymptotics_options how = stair_asymptotics_defaults();
    double pull = 0;
    for (int k = 0; k < 6; k++) {
        double q = 0.15 * (k + 1), v = 1 - q + 0.3, bayes = 2 * v * v + 4 * q * v;
        stair_errors e;
        how.seed = (uint64_t)k;
        assert_int_equal(stair_errors_at(context, model, &how, &q, NULL, &e), STAIR_OK);
        assert_true(e.bayes_error > 0 && e.plugin_error > 0 && e.bayes_error < 0.05 * bayes);
        assert_close(e.bayes, bayes, 5 * e.bayes_error);
        assert_close(e.plugin, 4 * q * v + 3 * v * v, 5 * e.plugin_error);
        assert_close(e.gibbs, 2 * e.bayes, 1e-12);
        assert_close(e.weights, 1 - q * q, 1e-12);
        pull += fabs(e.bayes - bayes) / e.bayes_error / 6;
    }
    assert_true(pull > 0.1 && pull < 3);
    stair_model_destroy(&model);
}

/* Samples of labels: seeds differ by about the error that each of them states. */
static void entropies_of_samples(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,tokens=3,noise=0.5");
    stair_asymptotics_options how = stair_asymptotics_defaults();
    double q = 0.4, value[4], error[4], mean = 0, spread = 0;
    how.precision = 0.1;
    for (int k = 0; k < 4; k++) {
        how.seed = (uint64_t)(k + 1);
        assert_int_equal(stair_entropy_at(context, model, &how, 1, &q, &value[k], &error[k]), STAIR_OK);
        assert_true(error[k] > 0 && error[k] < 0.1);
        mean += value[k] / 4;
    }
    for (int k = 0; k < 4; k++) spread = fmax(spread, fabs(value[k] - mean));
    for (int k = 0; k < 4; k++) assert_true(spread < 10 * error[k]);
    stair_model_destroy(&model);
}

static stair_gamp_result *iterate(const stair_model *model, int iterations)
{
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *result;
    o.dim = 30;
    o.alpha = 3;
    o.max_iterations = iterations;
    o.damping = 0.2;
    assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_OK);
    return result;
}

static void change_of_an_iteration(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_result *before = iterate(model, 2), *after = iterate(model, 3);
    double moved = 0, square = 0;
    assert_int_equal(after->run[0].iterations, 3);
    for (int i = 0; i < 30; i++) {
        double w = after->run[0].weights[i], step = w - before->run[0].weights[i];
        moved += step * step;
        square += w * w;
    }
    assert_close(after->run[0].history[3].change, sqrt(moved / square), 1e-9);
    stair_gamp_result_destroy(&before);
    stair_gamp_result_destroy(&after);
    stair_model_destroy(&model);
}

/* Weights (D) after one epoch of 10 samples in batches of 4, where sample `changed` has another label. */
static void descend(const stair_model *model, bool shuffle, int changed, double *weights)
{
    stair_sgd_options o = stair_sgd_defaults();
    stair_sgd_run out = {0};
    stair_descent d;
    int lane;
    o.dim = 5;
    o.alpha = 2;
    o.batch = 4;
    o.repeat = 1;
    o.epochs = 1;
    o.test = 8;
    o.shuffle = shuffle;
    assert_int_equal(stair_sgd_batches(&o), 3);
    assert_int_equal(stair_descent_open(context, model, &o, 1, &out, &d), STAIR_OK);
    assert_int_equal(d.train.count, 10);
    if (changed >= 0) {
        size_t block = stair_samples_block(&d.train, (size_t)changed, &lane);
        d.train.y[block * (size_t)d.net.outputs * STAIR_GROUP + (size_t)lane] += 0.5;
    }
    for (int b = 0; b < 3; b++) assert_true(stair_descent_batch(&d));
    memcpy(weights, d.weights, 5 * sizeof(double));
    stair_descent_close(&d);
    free(out.history);
}

static void every_sample_is_used(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        double plain[5], other[5];
        descend(model, shuffle, -1, plain);
        for (int i = 0; i < 10; i++) {
            descend(model, shuffle, i, other);
            if (!memcmp(plain, other, sizeof plain)) fail_msg("sample %d changes nothing", i);
        }
    }
    stair_model_destroy(&model);
}

/* tr(A B) / (|A| |B|) of A = sum over `inner` of products, w (2, 3): rows (D, D) or columns (P, P). */
static double similarity(const float *a, const float *b, bool features)
{
    double ab = 0, aa = 0, bb = 0;
    int n = features ? 3 : 2, inner = features ? 2 : 3;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double ga = 0, gb = 0;
            for (int k = 0; k < inner; k++) {
                int x = features ? 3 * k + i : 3 * i + k, y = features ? 3 * k + j : 3 * j + k;
                ga += (double)a[x] * (double)a[y];
                gb += (double)b[x] * (double)b[y];
            }
            ab += ga * gb;
            aa += ga * ga;
            bb += gb * gb;
        }
    return ab / sqrt(aa * bb);
}

static void similarity_is_of_what_the_network_sees(void **state)
{
    (void)state;
    static const float w[2][6] = {{1, 2, -1, 0.5f, 0, 3}, {-2, 1, 0.25f, 1, 1, -1}};
    stair_vocab *vocab;
    stair_questions *questions;
    stair_train_run out = {0};
    stair_training t;
    stair_questions_options read = stair_questions_defaults();
    stair_train_options o = stair_train_defaults();
    o.dim = 3;
    o.rank = 2;
    o.layers = 1;
    o.epochs = 1;
    assert_int_equal(stair_vocab_load(context, "data/vocab.txt", &vocab), STAIR_OK);
    assert_int_equal(stair_questions_load(context, vocab, "data/questions.label", &read, &questions),
                     STAIR_OK);
    assert_int_equal(stair_training_open(context, vocab, questions, read.classes, &o, 1, &out, &t), STAIR_OK);
    memcpy(t.snapshots, w, sizeof w);
    out.snapshots = 2;
    stair_training_finish(&t);
    assert_close(out.snapshot[0].similarity[0], similarity(w[0], w[1], true), 1e-12);
    assert_close(out.snapshot[0].similarity_rank[0], similarity(w[0], w[1], false), 1e-12);
    assert_close(out.snapshot[1].similarity[0], 1, 1e-12);
    assert_close(out.snapshot[1].norm[0], sqrt(4 + 1 + 0.0625 + 3), 1e-12);
    stair_training_close(&t);
    free(out.snapshot);
    free(out.epoch);
    stair_questions_destroy(&questions);
    stair_vocab_destroy(&vocab);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_squares),
        cmocka_unit_test(entropies_of_samples),
        cmocka_unit_test(change_of_an_iteration),
        cmocka_unit_test(every_sample_is_used),
        cmocka_unit_test(similarity_is_of_what_the_network_sees),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_context, close_context);
}
