/* Every allocation of training fails in turn: an error status, no crash, no leak.  The C library's
 * allocator is replaced, so sanitizers sit this one out. */
#include "stair_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPLACED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define REPLACED 0
#endif
#endif
#ifndef REPLACED
#define REPLACED 1
#endif

static long countdown = -1; /* allocations until one fails; negative: none does */
static long balance;

#if REPLACED && defined(__GLIBC__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);

static bool refuse(void)
{
    return countdown >= 0 && countdown-- == 0;
}

static void *counted(void *got)
{
    balance += got != NULL;
    return got;
}

void *malloc(size_t size)
{
    return refuse() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *pointer, size_t size)
{
    if (refuse()) return NULL;
    balance -= pointer != NULL;
    return counted(__libc_realloc(pointer, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *pointer)
{
    balance -= pointer != NULL;
    __libc_free(pointer);
}
#endif

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

static void fail_in_turn(stair_status (*work)(stair_context *context), long stride)
{
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, 1), STAIR_OK);
    assert_int_equal(work(context), STAIR_OK); /* what is allocated once and kept is so now */
    for (long n = 0;; n += stride) {
        long before = balance;
        countdown = n;
        stair_status status = work(context);
        bool reached = countdown < 0;
        countdown = -1;
        assert_int_equal(balance, before);
        if (!reached) {
            assert_int_equal(status, STAIR_OK);
            break;
        }
        if (!REPLACED) break;
    }
    stair_context_destroy(&context);
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
