/* Training of the question classifier with AdamW: several runs side by side, checkpoints, stopping. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/clock.h"
#include "core/runs.h"
#include "train/train.h"

static const struct {
    int64_t each; /* steps between two looks at the clock and at a request to stop */
} tuning = {.each = 16};

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
        if (t->step % tuning.each && t->step < t->steps) continue;
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

/* ---- ranks: what a run leaves behind -------------------------------------------------------------- */

/* The classifier: its shape, which all runs have in common, is that of one that was just made. */
static void move_classifier(stair_classifier *c, stair_state *state, bool put)
{
    stair_state_move(state, put, &c->longest, sizeof c->longest);
    stair_state_move(state, put, &c->pad, sizeof c->pad);
    stair_state_move(state, put, &c->pad_batch, sizeof c->pad_batch);
    stair_state_move(state, put, &c->bias, sizeof c->bias);
    stair_state_move(state, put, &c->scale, sizeof c->scale);
    stair_state_move(state, put, c->embedding, (size_t)c->vocab * (size_t)c->dim8 * sizeof(double));
    stair_state_move(state, put, c->parameters, c->dense * sizeof(double));
}

static void move_run(stair_train_run *out, stair_state *state, bool put)
{
    void *epoch = out->epoch, *snapshot = out->snapshot;
    stair_state_move(state, put, &out->seed, sizeof out->seed);
    stair_state_move(state, put, &out->epochs, sizeof out->epochs);
    stair_state_move(state, put, &out->snapshots, sizeof out->snapshots);
    stair_state_move(state, put, out->settled, sizeof out->settled);
    stair_state_move(state, put, &out->test_accuracy, sizeof out->test_accuracy);
    stair_state_array(state, put, &epoch, (size_t)out->epochs, sizeof *out->epoch);
    stair_state_array(state, put, &snapshot, (size_t)out->snapshots, sizeof *out->snapshot);
    out->epoch = epoch;
    out->snapshot = snapshot;
}

static stair_status pack_run(void *user, size_t k, stair_context *context, void **bytes, size_t *size)
{
    const job *shared = user;
    stair_train_run *run = &shared->result->run[k];
    stair_state state = {0};
    move_run(run, &state, true);
    stair_state_put(&state, &run->classifier->classes, sizeof run->classifier->classes);
    move_classifier(run->classifier, &state, true);
    return stair_state_bytes(context, &state, bytes, size);
}

static stair_status unpack_run(void *user, size_t k, stair_context *context, const void *bytes, size_t size)
{
    const job *shared = user;
    const stair_train_options *o = shared->options;
    stair_train_run *run = &shared->result->run[k];
    stair_state state = stair_state_over(bytes, size);
    int classes = 0;
    move_run(run, &state, false);
    stair_state_get(&state, &classes, sizeof classes);
    if (state.failed) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    STAIR_TRY(stair_classifier_create(context, stair_vocab_size(shared->vocab), o->dim, o->rank, o->layers,
                                      classes, &run->classifier));
    run->classifier->names = strdup(shared->classes);
    move_classifier(run->classifier, &state, false);
    return state.failed || !run->classifier->names ? stair_fail(context, STAIR_NO_MEMORY, "out of memory")
                                                   : STAIR_OK;
}

/* Everything that decides the numbers: the options in words, then the questions themselves. */
static uint64_t fingerprint(const stair_vocab *vocab, const stair_questions *q, const stair_train_options *o)
{
    char text[640]; /* numbers: at most 25 bytes each */
    uint64_t mark = stair_mark_begin("train");
    mark = stair_mark_bytes(mark, q->ids, (size_t)q->count * (size_t)q->longest * sizeof *q->ids);
    mark = stair_mark_bytes(mark, q->length, (size_t)q->count * sizeof *q->length);
    mark = stair_mark_bytes(mark, q->label, (size_t)q->count * sizeof *q->label);
    snprintf(text, sizeof text,
             "%d %d %d %d %d %d %.17g %.17g %.17g %.17g %.17g %.17g %d %d %.17g %d %llu %d %d %d %d", o->dim,
             o->rank, o->layers, o->scale_rank, o->bias, o->pad_batch, o->start, o->rate, o->beta1, o->beta2,
             o->epsilon, o->weight_decay, o->batch, o->epochs, o->validation, o->points,
             (unsigned long long)o->seed, stair_vocab_size(vocab), stair_vocab_find(vocab, "[PAD]"), q->count,
             q->longest);
    return stair_mark_text(mark, text);
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
    STAIR_TRY(stair_state_probe_runs(context, options->checkpoint, options->runs));
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
    stair_points_shared how = {
        .points = (size_t)r->runs, .body = one_run, .pack = pack_run, .unpack = unpack_run};
    stair_status status = stair_share_points(context, &how, &shared);
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
