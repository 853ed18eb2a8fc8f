/* Training when memory runs out: failing_memory.h. */
#include "failing_memory.h"
#include "stair_train.h"

#include <stdio.h>
#include <unistd.h>

static char folder[] = "/tmp/stair-memory-XXXXXX";
static char state[64], weights[64];

static stair_status descend(stair_context *context)
{
    stair_model *model;
    stair_sgd_result *result;
    stair_sgd_options o = stair_sgd_defaults();
    o.dim = 12;
    o.epochs = 2;
    o.batch = 50;
    o.test = 8;
    o.shuffle = true;
    o.checkpoint = state;
    o.resume = true;
    stair_status status = stair_model_create(context, "attention:layers=2", &model);
    if (status != STAIR_OK) return status;
    status = stair_sgd(context, model, &o, &result);
    stair_sgd_result_destroy(&result);
    stair_model_destroy(&model);
    stair_checkpoint_remove(state, 1);
    return status;
}

static stair_status learn(stair_context *context)
{
    stair_vocab *vocab = NULL;
    stair_questions *questions = NULL;
    stair_train_result *result = NULL;
    stair_classifier *loaded = NULL;
    stair_questions_options how = stair_questions_defaults();
    stair_train_options o = stair_train_defaults();
    int label[256];
    o.dim = 4;
    o.rank = 3;
    o.epochs = 1;
    o.batch = 64;
    o.checkpoint = state;
    o.resume = true;
    stair_status status = stair_vocab_load(context, "data/vocab.txt", &vocab);
    if (status == STAIR_OK)
        status = stair_questions_load(context, vocab, "data/questions.label", &how, &questions);
    if (status == STAIR_OK)
        status = stair_train(context, vocab, questions, how.classes, questions, &o, &result);
    if (status == STAIR_OK) status = stair_classifier_save(context, result->run[0].classifier, weights, true);
    long paused = countdown; /* libzip itself loses a block when it runs out of memory */
    countdown = -1;
    if (status == STAIR_OK) status = stair_classifier_load(context, weights, &loaded);
    countdown = paused;
    if (status == STAIR_OK) status = stair_classifier_predict(context, loaded, questions, label, NULL);
    stair_classifier_destroy(&loaded);
    stair_train_result_destroy(&result);
    stair_questions_destroy(&questions);
    stair_vocab_destroy(&vocab);
    stair_checkpoint_remove(state, 1);
    return status;
}

static void test_sgd_survives_every_failure(void **unused)
{
    (void)unused;
    fail_in_turn(descend, 1);
}

/* one in seven: an allocation for every question would make thousands of trainings */
static void test_train_survives_failures(void **unused)
{
    (void)unused;
    fail_in_turn(learn, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_survives_every_failure),
        cmocka_unit_test(test_train_survives_failures),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(state, sizeof state, "%s/state", folder);
    snprintf(weights, sizeof weights, "%s/w.npz", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(weights);
    rmdir(folder);
    return failed;
}
