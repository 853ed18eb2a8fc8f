/* GAMP, averages and both kinds of training on several threads: the same bytes as on one.  Short enough for
 * the thread sanitizer, which runs it too. */
#include "fixture.h"
#include "stair_train.h"

#include <string.h>

static const int threads[] = {1, 2, 5};
enum { WIDTHS = sizeof threads / sizeof *threads };

/* work(out, size) on each number of threads gives the same doubles. */
static void same_on_all(void (*work)(double *out), size_t size)
{
    double first[512], again[512];
    assert_true(size <= 512);
    for (int t = 0; t < WIDTHS; t++) {
        memset(again, 0, sizeof again);
        assert_int_equal(stair_context_set_threads(context, threads[t]), STAIR_OK);
        work(again);
        if (t == 0) memcpy(first, again, sizeof first);
        assert_memory_equal(first, again, size * sizeof(double));
    }
    assert_int_equal(stair_context_set_threads(context, 1), STAIR_OK);
}

static void run_gamp(double *out)
{
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options o = stair_gamp_defaults();
    stair_gamp_result *result;
    o.dim = 64;
    o.alpha = 1.5;
    o.max_iterations = 5;
    o.test = 64;
    assert_int_equal(stair_gamp(context, model, &o, &result), STAIR_OK);
    memcpy(out, result->run[0].weights, 128 * sizeof(double));
    stair_gamp_result_destroy(&result);
    stair_model_destroy(&model);
}

static void run_averages(double *out)
{
    static const char *const specs[] = {"attention:layers=1", "attention:layers=2", "square:noise=0.5",
                                        "attention:layers=1,tokens=3"};
    for (int k = 0; k < 4; k++) {
        stair_model *model = model_of(specs[k]);
        stair_asymptotics_options o = stair_asymptotics_defaults();
        stair_step step[2];
        int count;
        o.precision = 0.1;
        assert_int_equal(stair_threshold(context, model, &o, 1, 2, step, &count), STAIR_OK);
        out[2 * k] = step[0].alpha;
        out[2 * k + 1] = step[0].error;
        stair_model_destroy(&model);
    }
}

static void run_descent(double *out)
{
    stair_model *model = model_of("attention:layers=2");
    stair_sgd_options o = stair_sgd_defaults();
    stair_sgd_result *result;
    o.dim = 40;
    o.alpha = 20;
    o.epochs = 3;
    o.batch = 300;
    o.test = 64;
    o.shuffle = true;
    assert_int_equal(stair_sgd(context, model, &o, &result), STAIR_OK);
    memcpy(out, result->run[0].weights, 80 * sizeof(double));
    stair_sgd_result_destroy(&result);
    stair_model_destroy(&model);
}

static void run_training(double *out)
{
    stair_vocab *vocab;
    stair_questions *questions;
    stair_train_result *result;
    stair_questions_options how = stair_questions_defaults();
    stair_train_options o = stair_train_defaults();
    o.dim = 8;
    o.rank = 3;
    o.epochs = 2;
    o.batch = 64;
    assert_int_equal(stair_vocab_load(context, "data/vocab.txt", &vocab), STAIR_OK);
    assert_int_equal(stair_questions_load(context, vocab, "data/questions.label", &how, &questions),
                     STAIR_OK);
    assert_int_equal(stair_train(context, vocab, questions, how.classes, NULL, &o, &result), STAIR_OK);
    for (int e = 0; e < 2; e++) {
        out[2 * e] = result->run[0].epoch[e].train_loss;
        out[2 * e + 1] = result->run[0].epoch[e].validation_loss;
    }
    stair_train_result_destroy(&result);
    stair_questions_destroy(&questions);
    stair_vocab_destroy(&vocab);
}

static void gamp(void **state)
{
    (void)state;
    same_on_all(run_gamp, 128);
}

static void averages(void **state)
{
    (void)state;
    same_on_all(run_averages, 8);
}

static void descent(void **state)
{
    (void)state;
    same_on_all(run_descent, 80);
}

static void training(void **state)
{
    (void)state;
    same_on_all(run_training, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamp),
        cmocka_unit_test(averages),
        cmocka_unit_test(descent),
        cmocka_unit_test(training),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
