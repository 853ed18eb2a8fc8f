/* Training of the question classifier with AdamW: several runs side by side, checkpoints, stopping. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/clock.h"
#include "core/runs.h"
#include "train/train.h"

stair_train_options stair_train_defaults(void)
{
    return (stair_train_options){.dim = 128,
                                 .rank = 64,
                                 .layers = 2,
                                 .start = 1e-4,
                                 .rate = 5e-5,
                                 .beta1 = 0.9,
                                 .beta2 = 0.999,
                                 .epsilon = 1e-8,
                                 .weight_decay = 0.01,
                                 .batch = 16,
                                 .epochs = 40,
                                 .validation = 0.2,
                                 .points = 10,
                                 .settle = 0.9,
                                 .runs = 1,
                                 .seed = 1,
                                 .checkpoint_every = 60};
}

stair_status stair_train_check(stair_context *context, const stair_train_options *o)
{
    if (o->dim < 1 || o->dim > 65536)
        return stair_refuse_number(context, "dim", "between 1 and 65536", o->dim);
    if (o->rank < 1 || o->rank > 65536)
        return stair_refuse_number(context, "rank", "between 1 and 65536", o->rank);
    if (o->layers < 1 || o->layers > 16)
        return stair_refuse_number(context, "layers", "between 1 and 16", o->layers);
    if (!isfinite(o->start) || o->start < 0)
        return stair_refuse_number(context, "start", "finite and not negative", o->start);
    if (!isfinite(o->rate) || o->rate < 0)
        return stair_refuse_number(context, "rate", "finite and not negative", o->rate);
    if (!(o->beta1 >= 0 && o->beta1 < 1))
        return stair_refuse_number(context, "beta1", "at least 0 and below 1", o->beta1);
    if (!(o->beta2 >= 0 && o->beta2 < 1))
        return stair_refuse_number(context, "beta2", "at least 0 and below 1", o->beta2);
    if (!(o->epsilon > 0 && o->epsilon < 1))
        return stair_refuse_number(context, "epsilon", "above 0 and below 1", o->epsilon);
    if (!(o->weight_decay >= 0 && o->rate * o->weight_decay < 1))
        return stair_refuse_number(context, "weight-decay", "at least 0 and below 1/rate", o->weight_decay);
    if (o->batch < 1 || o->batch > 1 << 20)
        return stair_refuse_number(context, "batch", "between 1 and 2^20", o->batch);
    if (o->epochs < 0 || o->epochs > 1 << 20)
        return stair_refuse_number(context, "epochs", "between 0 and 2^20", o->epochs);
    if (!(o->validation >= 0 && o->validation < 1))
        return stair_refuse_number(context, "validation", "at least 0 and below 1", o->validation);
    if (o->points < 1 || o->points > 10000)
        return stair_refuse_number(context, "points", "between 1 and 10000", o->points);
    if ((int64_t)o->epochs * o->points > 1 << 24)
        return stair_refuse_number(context, "epochs * records", "at most 2^24",
                                   (double)o->epochs * o->points);
    if (!(o->settle > 0 && o->settle < 1))
        return stair_refuse_number(context, "settle", "between 0 and 1", o->settle);
    if (o->runs < 1 || o->runs > 100000)
        return stair_refuse_number(context, "runs", "between 1 and 100000", o->runs);
    if (o->resume && !o->checkpoint)
        return stair_fail(context, STAIR_BAD_INPUT, "resume needs a checkpoint file");
    return STAIR_OK;
}

typedef struct {
    const stair_vocab *vocab;
    const stair_questions *questions, *test;
    const char *classes;
    const stair_train_options *options;
    stair_train_result *result;
    uint64_t fingerprint;
    stair_runs runs;
} job;

static stair_status save(stair_context *context, const char *path, uint64_t fingerprint,
                         const stair_training *t)
{
    stair_state state = {0};
    stair_training_put(t, &state);
    stair_status status = stair_state_save(context, path, fingerprint, &state);
    stair_state_free(&state);
    return status;
}

static stair_status restore(stair_context *context, const char *path, uint64_t fingerprint, stair_training *t)
{
    stair_state state;
    bool found;
    STAIR_TRY(stair_state_load(context, path, fingerprint, &state, &found));
    if (found) stair_training_get(t, &state);
    bool failed = state.failed;
    stair_state_free(&state);
    return failed ? stair_fail(context, STAIR_FAILED, "%s: checkpoint cannot be read", path) : STAIR_OK;
}

static stair_status run(job *shared, stair_context *local, stair_training *t, const char *file)
{
    double saved = stair_seconds();
    int64_t reported = 0;
    stair_training_snapshot(t);
    while (t->step < t->steps) {
        stair_training_step(t);
        stair_training_snapshot(t);
        if (t->step % t->per_epoch == 0) stair_training_evaluate(t);
        if (t->step % 16 && t->step < t->steps) continue;
        bool go = stair_runs_go_on(&shared->runs, local, (double)(t->step - reported));
        reported = t->step;
        if (file && (!go || stair_seconds() - saved > t->options->checkpoint_every)) {
            STAIR_TRY(save(local, file, shared->fingerprint, t));
            saved = stair_seconds();
        }
        if (!go) return stair_fail(local, STAIR_FAILED, "stopped on request");
    }
    if (file) STAIR_TRY(save(local, file, shared->fingerprint, t));
    stair_training_finish(t);
    return STAIR_OK;
}

static stair_status test(stair_context *context, const stair_questions *questions, stair_train_run *out)
{
    out->test_accuracy = NAN;
    if (!questions) return STAIR_OK;
    int *label = malloc((size_t)questions->count * sizeof *label), right = 0;
    if (!label) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_classifier_predict(context, out->classifier, questions, label, NULL);
    for (int i = 0; status == STAIR_OK && i < questions->count; i++) right += label[i] == questions->label[i];
    out->test_accuracy = (double)right / questions->count;
    free(label);
    return status;
}

static stair_status one_run(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread;
    job *shared = user;
    const stair_train_options *o = shared->options;
    stair_train_run *out = &shared->result->run[block];
    stair_training t;
    out->seed = o->seed + block;
    char *file = o->checkpoint ? stair_state_name(o->checkpoint, block) : NULL;
    if (o->checkpoint && !file) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    stair_status status =
        stair_training_open(local, shared->vocab, shared->questions, shared->classes, o, out->seed, out, &t);
    if (status == STAIR_OK && o->resume) status = restore(local, file, shared->fingerprint, &t);
    if (status == STAIR_OK) status = run(shared, local, &t, file);
    if (status == STAIR_OK) {
        out->classifier = t.c;
        t.c = NULL;
        stair_context quiet = {.threads = 1}; /* a test is no progress */
        status = test(&quiet, shared->test, out);
        if (status != STAIR_OK) stair_fail(local, status, "%s", quiet.message);
    }
    stair_training_close(&t);
    free(file);
    return status;
}

/* Everything that decides the numbers: the options in words, then the questions themselves. */
static uint64_t fingerprint(const stair_vocab *vocab, const stair_questions *q, const stair_train_options *o)
{
    char text[640];
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < (size_t)q->count * (size_t)q->longest; i++)
        sum = (sum ^ (uint64_t)q->ids[i]) * 1099511628211u;
    for (int i = 0; i < q->count; i++) sum = (sum ^ (uint64_t)q->label[i]) * 1099511628211u;
    snprintf(text, sizeof text,
             "train %d %d %d %d %d %d %.17g %.17g %.17g %.17g %.17g %.17g %d %d %.17g %d %llu %d %d %d %llx",
             o->dim, o->rank, o->layers, o->scale_rank, o->bias, o->pad_batch, o->start, o->rate, o->beta1,
             o->beta2, o->epsilon, o->weight_decay, o->batch, o->epochs, o->validation, o->points,
             (unsigned long long)o->seed, stair_vocab_size(vocab), q->count, q->longest,
             (unsigned long long)sum);
    return stair_state_fingerprint(text);
}

static stair_status check_questions(stair_context *context, const stair_questions *q,
                                    const stair_train_options *o)
{
    if (q->classes < 2)
        return stair_fail(context, STAIR_BAD_INPUT, "training needs questions of at least 2 classes");
    if (q->count - stair_training_held_out(o, q->count) < 1)
        return stair_fail(context, STAIR_BAD_INPUT, "no questions are left to train on");
    for (int i = 0; i < q->count; i++)
        if (q->label[i] < 0 || q->label[i] >= q->classes)
            return stair_fail(context, STAIR_BAD_INPUT, "question %d has no label", i + 1);
    return STAIR_OK;
}

stair_status stair_train(stair_context *context, const stair_vocab *vocab, const stair_questions *questions,
                         const char *classes, const stair_questions *test_questions,
                         const stair_train_options *options, stair_train_result **result)
{
    *result = NULL;
    STAIR_TRY(stair_train_check(context, options));
    STAIR_TRY(check_questions(context, questions, options));
    stair_train_result *r = calloc(1, sizeof *r);
    if (r) r->run = calloc((size_t)options->runs, sizeof *r->run);
    if (!r || !r->run) {
        free(r);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    r->runs = options->runs;
    r->layers = options->layers;
    r->questions = questions->count;
    r->held_out = stair_training_held_out(options, questions->count);
    job shared = {.vocab = vocab,
                  .questions = questions,
                  .test = test_questions,
                  .classes = classes,
                  .options = options,
                  .result = r,
                  .fingerprint = fingerprint(vocab, questions, options)};
    double steps = (double)(stair_training_per_epoch(options, questions->count) * options->epochs);
    stair_runs_open(&shared.runs, r->runs, steps);
    stair_status status = stair_parallel(context, (size_t)r->runs, one_run, &shared);
    stair_runs_close(&shared.runs);
    *result = r;
    if (status != STAIR_OK) stair_train_result_destroy(result);
    return status;
}

void stair_train_result_destroy(stair_train_result **result)
{
    if (!*result) return;
    for (int k = 0; k < (*result)->runs; k++) {
        free((*result)->run[k].epoch);
        free((*result)->run[k].snapshot);
        stair_classifier_destroy(&(*result)->run[k].classifier);
    }
    free((*result)->run);
    free(*result);
    *result = NULL;
}
