/* Stochastic gradient descent on a teacher, several runs side by side.
 *
 *   w <- w - eta (1/D) sum_{B} grad_w |y* - y(w)|^2 - decay w,   each batch B used `repeat` times
 *
 * with decay = eta lambda (coupled, what PyTorch's SGD does and the paper's figure was made with) or
 * lambda (as the paper prints it).  A run is sequential; runs are shared among threads, so results do
 * not depend on their number.  D is the dimension of a row, of one block where the embedding has several.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/rng.h"
#include "train/sgd.h"
#include "core/clock.h"
#include "core/runs.h"
#include "io/checkpoint.h"

static const struct {
    double decay; /* weight decay times D, where none is given: that of the paper's figure */
    int64_t each; /* batches between two looks at the clock and at a request to stop */
} tuning = {.decay = 0.07, .each = 64};

/* What the threads share. */
typedef struct {
    const stair_model *model;
    const stair_sgd_options *options;
    stair_sgd_result *result;
    uint64_t fingerprint;
    stair_runs runs;
} job;

/* The order of the samples in `epoch`. */
static void shuffle(stair_descent *d, int64_t epoch)
{
    uint32_t n = (uint32_t)d->train.count;
    for (uint32_t i = 0; i < n; i++) d->order[i] = i;
    stair_rng_shuffle(d->seed, (uint64_t)epoch, n, d->order);
    d->ordered = epoch;
}

/* The samples of the current batch: a range of blocks of `train`, or of `mixed` when shuffled. */
static const stair_samples *choose(stair_descent *d, size_t *first, size_t *last)
{
    size_t size = (size_t)d->options->batch, count = d->train.count, per_epoch = (count + size - 1) / size;
    size_t at = (size_t)d->batch % per_epoch * size, end = at + size < count ? at + size : count;
    int lane;
    if (!d->options->shuffle) {
        *first = stair_samples_block(&d->train, at, &lane);
        *last = stair_samples_block(&d->train, end - 1, &lane) + 1;
        return &d->train;
    }
    int64_t epoch = d->batch / (int64_t)per_epoch;
    if (d->ordered != epoch) shuffle(d, epoch);
    memset(d->mixed.weight, 0, d->mixed.blocks * STAIR_GROUP * sizeof(double));
    for (size_t i = at; i < end; i++) {
        stair_samples_copy(&d->net, &d->train, d->order[i], &d->mixed, i - at);
        d->mixed.weight[i - at] = 1; /* a batch of its own: block and lane are the place in it */
    }
    *first = 0;
    *last = (end - at + STAIR_GROUP - 1) / STAIR_GROUP;
    return &d->mixed;
}

static double decay(const stair_descent *d)
{
    const stair_sgd_options *o = d->options;
    double lambda = o->weight_decay < 0 ? tuning.decay / d->net.one : o->weight_decay;
    return o->coupled ? o->rate * lambda : lambda;
}

bool stair_descent_batch(stair_descent *d)
{
    size_t first, last, n = (size_t)d->net.indices * (size_t)d->net.dim;
    const stair_samples *samples = choose(d, &first, &last);
    double keep = 1 - decay(d), rate = d->options->rate / d->net.one, sum = 0;
    for (int step = 0; step < d->options->repeat; step++) {
        stair_net_set_weights(&d->net, d->weights, &d->work);
        stair_net_loss(&d->net, samples, first, last, true, &d->work);
        stair_net_gradient(&d->net, &d->work, d->gradient);
        for (size_t i = 0; i < n; i++) d->weights[i] = keep * d->weights[i] - rate * d->gradient[i];
    }
    for (size_t i = 0; i < n; i++) sum += d->weights[i] * 0; /* NaN when any is not finite */
    d->batch++;
    return sum == 0;
}

/* Records are due after 0 and 10^(k/points) batches, rounded up: the next one after `batch`. */
static int64_t next_record(int64_t batch, int points)
{
    for (int k = 0;; k++) {
        double at = ceil(pow(10, (double)k / points));
        if (at > (double)batch) return (int64_t)at;
    }
}

/* Everything a run goes on from, to the file or from it. */
static void move_state(stair_descent *d, stair_state *state, bool put)
{
    stair_sgd_run *out = d->out;
    stair_state_move(state, put, &d->batch, sizeof d->batch);
    unsigned char diverged = out->diverged; /* a bool may not hold what a file does */
    stair_state_move(state, put, &diverged, 1);
    out->diverged = diverged != 0;
    if (diverged > 1) state->failed = true;
    stair_state_move(state, put, d->weights, (size_t)d->net.indices * (size_t)d->net.dim * sizeof(double));
    stair_state_move(state, put, &out->count, sizeof out->count);
    size_t size = (size_t)out->count * sizeof *out->history;
    if (!put && !state->failed && size == state->size - state->at) out->history = malloc(size + 1);
    if (!out->history) state->failed = true;
    stair_state_move(state, put, out->history, size);
}

static stair_status save(stair_context *context, const char *path, uint64_t fingerprint, stair_descent *d)
{
    stair_state state = {0};
    move_state(d, &state, true);
    stair_status status = stair_state_save(context, path, fingerprint, &state);
    stair_state_free(&state);
    return status;
}

/* Whether what was read is a state that a run can be in. */
static bool sound(const stair_descent *d)
{
    bool good = d->batch >= 0 && d->batch <= d->batches && d->out->count >= 1;
    for (int i = 0; good && i < d->out->count; i++) {
        const stair_sgd_record *r = &d->out->history[i];
        good = r->batches >= 0 && r->batches <= d->batch && r->steps >= 0;
    }
    return good;
}

static stair_status restore(stair_context *context, const char *path, uint64_t fingerprint, stair_descent *d)
{
    stair_state state;
    bool found;
    stair_status status = stair_state_load(context, path, fingerprint, &state, &found);
    if (status == STAIR_OK && found) {
        move_state(d, &state, false);
        if (state.failed || !sound(d) || state.at != state.size)
            status = stair_fail(context, STAIR_FAILED, "%s: checkpoint cannot be read", path);
    }
    stair_state_free(&state);
    if (status != STAIR_OK) d->out->count = 0;
    return status;
}

/* From where the run stands to its end, or to a request to stop, which leaves a checkpoint. */
static stair_status run(job *shared, stair_context *local, stair_descent *d, const char *file)
{
    double saved = stair_seconds();
    int64_t reported = 0;
    int points = d->options->points;
    if (d->batch == 0 && d->out->count == 0) STAIR_TRY(stair_descent_record(local, d));
    int64_t due = next_record(d->batch, points);
    while (d->batch < d->batches && !d->out->diverged) {
        d->out->diverged = !stair_descent_batch(d);
        if (d->batch == due || d->batch == d->batches || d->out->diverged) {
            STAIR_TRY(stair_descent_record(local, d));
            due = next_record(d->batch, points);
        }
        if (d->batch % tuning.each && d->batch < d->batches) continue;
        bool go = stair_runs_go_on(&shared->runs, local, (double)(d->batch - reported));
        reported = d->batch;
        if (file && (!go || stair_seconds() - saved > d->options->checkpoint_every)) {
            STAIR_TRY(save(local, file, shared->fingerprint, d));
            saved = stair_seconds();
        }
        if (!go) return stair_fail(local, STAIR_FAILED, "stopped on request");
    }
    return file ? save(local, file, shared->fingerprint, d) : STAIR_OK;
}

static void settle(stair_sgd_run *out, int layers, double level)
{
    for (int l = 0; l < layers; l++) {
        out->settled[l] = INFINITY;
        for (int i = out->count - 1; i >= 0 && out->history[i].cosine[l] >= level; i--)
            out->settled[l] = out->history[i].epoch;
    }
}

static stair_status one_run(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread;
    job *shared = user;
    const stair_sgd_options *o = shared->options;
    stair_sgd_run *out = &shared->result->run[block];
    stair_descent d;
    char *file = o->checkpoint ? stair_state_name(o->checkpoint, block) : NULL;
    if (o->checkpoint && !file) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    out->seed = o->seed + block;
    stair_status status = stair_descent_open(local, shared->model, o, out->seed, out, &d);
    if (status == STAIR_OK && o->resume) status = restore(local, file, shared->fingerprint, &d);
    if (status == STAIR_OK) status = run(shared, local, &d, file);
    if (status == STAIR_OK) {
        settle(out, shared->result->layers, o->settle);
        out->weights = d.weights;
        d.weights = NULL;
    }
    stair_descent_close(&d);
    free(file);
    return status;
}

/* ---- ranks: what a run leaves behind -------------------------------------------------------------- */

static void move_run(const stair_sgd_result *r, stair_sgd_run *out, stair_state *state, bool put)
{
    void *history = out->history, *weights = out->weights;
    stair_state_move(state, put, &out->seed, sizeof out->seed);
    stair_state_move(state, put, &out->count, sizeof out->count);
    stair_state_move(state, put, out->settled, sizeof out->settled);
    stair_state_move(state, put, &out->diverged, sizeof out->diverged);
    stair_state_array(state, put, &history, (size_t)out->count, sizeof *out->history);
    stair_state_array(state, put, &weights, (size_t)r->indices * (size_t)r->dim, sizeof(double));
    out->history = history;
    out->weights = weights;
}

static stair_status pack_run(void *user, size_t k, stair_context *context, void **bytes, size_t *size)
{
    const job *shared = user;
    stair_state state = {0};
    move_run(shared->result, &shared->result->run[k], &state, true);
    return stair_state_bytes(context, &state, bytes, size);
}

static stair_status unpack_run(void *user, size_t k, stair_context *context, const void *bytes, size_t size)
{
    const job *shared = user;
    stair_state state = stair_state_over(bytes, size);
    move_run(shared->result, &shared->result->run[k], &state, false);
    return state.failed ? stair_fail(context, STAIR_NO_MEMORY, "out of memory") : STAIR_OK;
}

/* Everything that decides the numbers, in words. */
static uint64_t fingerprint(const stair_model *model, const stair_sgd_options *o)
{
    char text[512]; /* numbers: at most 25 bytes each */
    snprintf(text, sizeof text, "%d %.17g %.17g %.17g %d %.17g %d %d %d %d %d %d %d %llu", o->dim, o->alpha,
             o->rate, o->weight_decay, o->coupled, o->start, o->batch, o->repeat, o->epochs, o->shuffle,
             o->double_data, o->test, o->points, (unsigned long long)o->seed);
    return stair_mark_text(stair_mark_text(stair_mark_begin("sgd"), stair_model_spec(model)), text);
}

stair_status stair_sgd(stair_context *context, const stair_model *model, const stair_sgd_options *options,
                       stair_sgd_result **result)
{
    *result = NULL;
    STAIR_TRY(stair_sgd_check(context, options));
    STAIR_TRY(stair_blocks_check(context, model, options->dim));
    if (!model->ops->gradient && !model->ops->batch)
        return stair_fail(context, STAIR_UNSUPPORTED, "%s has no gradient to descend", model->info.name);
    STAIR_TRY(stair_state_probe_runs(context, options->checkpoint, options->seeds));
    stair_sgd_result *r = calloc(1, sizeof *r);
    if (r) r->run = calloc((size_t)options->seeds, sizeof *r->run);
    if (!r || !r->run) {
        free(r);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    r->runs = options->seeds;
    r->layers = model->info.row_layers;
    r->indices = model->info.indices;
    r->dim = options->dim;
    r->samples = stair_sgd_samples(options);
    job shared = {
        .model = model, .options = options, .result = r, .fingerprint = fingerprint(model, options)};
    stair_runs_open(&shared.runs, r->runs, (double)stair_sgd_batches(options));
    stair_points_shared how = {
        .points = (size_t)r->runs, .body = one_run, .pack = pack_run, .unpack = unpack_run};
    stair_status status = stair_share_points(context, &how, &shared);
    stair_runs_close(&shared.runs);
    *result = r;
    if (status != STAIR_OK) stair_sgd_result_destroy(result);
    return status;
}

void stair_sgd_result_destroy(stair_sgd_result **result)
{
    if (!*result) return;
    for (int k = 0; k < (*result)->runs; k++) {
        free((*result)->run[k].history);
        free((*result)->run[k].weights);
    }
    free((*result)->run);
    free(*result);
    *result = NULL;
}

stair_status stair_sgd_gradient(stair_context *context, const stair_model *model, int dim, size_t n,
                                const double *x, const double *y, const double *weights, double *loss,
                                double *gradient)
{
    if (dim < 1 || n < 1)
        return stair_fail(context, STAIR_BAD_INPUT, "a gradient needs dim and n of at least 1");
    if (!model->ops->gradient && !model->ops->batch)
        return stair_fail(context, STAIR_UNSUPPORTED, "%s has no gradient to descend", model->info.name);
    STAIR_TRY(stair_blocks_check(context, model, dim));
    stair_net net = stair_net_of(model, dim, false);
    stair_net_work work;
    stair_samples samples;
    STAIR_TRY(stair_net_work_create(context, &net, &work));
    stair_status status = stair_samples_create(context, &net, n, STAIR_GROUP, &samples);
    if (status == STAIR_OK) {
        size_t outputs = (size_t)net.outputs, rows = (size_t)net.tokens * (size_t)dim;
        for (size_t i = 0; i < n; i++) {
            stair_samples_set_x(&net, &samples, i, x + i * rows);
            for (size_t k = 0; k < outputs; k++)
                samples.y[(i / STAIR_GROUP * outputs + k) * STAIR_GROUP + i % STAIR_GROUP] =
                    y[i * outputs + k];
        }
        stair_net_set_weights(&net, weights, &work);
        *loss = stair_net_loss(&net, &samples, 0, samples.blocks, gradient != NULL, &work) / (double)n;
        if (gradient) stair_net_gradient(&net, &work, gradient);
        for (size_t i = 0; gradient && i < (size_t)net.indices * (size_t)dim; i++) gradient[i] /= (double)n;
        stair_samples_destroy(&samples);
    }
    stair_net_work_destroy(&work);
    return status;
}
