/* The beginning of a training run: split of the questions, first weights, memory.
 *
 * First weights as PyTorch draws them: embedding N(0,1), readout and its bias uniform in
 * +-1/sqrt(D); attention N(0, start^2), biases 0.  Streams of (seed, INIT): token r has sample r,
 * row k of layer l sample 2^32 (l+1) + k, class k of the readout sample 2^40 + k.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "train/train.h"

int stair_training_held_out(const stair_train_options *options, int questions)
{
    return (int)lround(options->validation * questions);
}

int64_t stair_training_per_epoch(const stair_train_options *options, int questions)
{
    int64_t trained_on = questions - stair_training_held_out(options, questions);
    return (trained_on + options->batch - 1) / options->batch;
}

static void draw_weights(stair_classifier *c, uint64_t seed, double start)
{
    double *readout = stair_classifier_readout(c, c->parameters), bound = 1 / sqrt(c->dim);
    double *offset = readout + (size_t)c->classes * (size_t)c->dim8;
    for (int r = 0; r < c->vocab; r++)
        stair_rng_normals(seed, STAIR_RNG_INIT, (uint64_t)r, c->dim,
                          c->embedding + (size_t)r * (size_t)c->dim8);
    for (int l = 0; l < c->layers; l++)
        for (int k = 0; k < c->rank; k++) {
            double *row = stair_classifier_w(c, c->parameters, l) + (size_t)k * (size_t)c->dim8;
            stair_rng_normals(seed, STAIR_RNG_INIT, ((uint64_t)(l + 1) << 32) + (uint64_t)k, c->dim, row);
            for (int i = 0; i < c->dim; i++) row[i] *= start;
        }
    for (int k = 0; k < c->classes; k++) {
        double *row = readout + (size_t)k * (size_t)c->dim8, last[2];
        stair_rng_uniforms(seed, STAIR_RNG_INIT, ((uint64_t)1 << 40) + (uint64_t)k, c->dim, row);
        for (int i = 0; i < c->dim; i++) row[i] = bound * (2 * row[i] - 1);
        stair_rng_uniform2(seed, STAIR_RNG_INIT, ((uint64_t)1 << 40) + (uint64_t)k, (uint64_t)c->dim, last);
        offset[k] = bound * (2 * last[0] - 1);
    }
}

static stair_status make_classifier(stair_context *context, const stair_vocab *vocab, const char *classes,
                                    stair_training *t)
{
    const stair_train_options *o = t->options;
    STAIR_TRY(stair_classifier_create(context, stair_vocab_size(vocab), o->dim, o->rank, o->layers,
                                      t->questions->classes, &t->c));
    stair_classifier *c = t->c;
    c->longest = t->questions->longest;
    c->pad = stair_vocab_find(vocab, "[PAD]");
    c->pad_batch = o->pad_batch;
    c->bias = o->bias;
    c->scale = o->scale_rank ? sqrt(o->rank) : o->dim;
    c->names = strdup(classes);
    if (!c->names) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    draw_weights(c, t->seed, o->start);
    return STAIR_OK;
}

static void split_questions(stair_training *t)
{
    int n = t->questions->count;
    for (int i = 0; i < n; i++) t->split[i] = i;
    stair_rng_shuffle(t->seed, (uint64_t)1 << 40, (uint32_t)n,
                      (uint32_t *)t->split); /* not an epoch's order */
}

static stair_status allocate(stair_context *context, stair_training *t)
{
    const stair_train_options *o = t->options;
    const stair_classifier *c = t->c;
    size_t rows = (size_t)c->vocab, d = (size_t)c->dim8, n = (size_t)t->questions->count;
    size_t tokens = (size_t)o->batch * (size_t)(c->longest + 1), most = tokens < rows ? tokens : rows;
    size_t points = (size_t)o->epochs * (size_t)o->points + 1;
    t->m = calloc(c->dense, sizeof(double));
    t->v = calloc(c->dense, sizeof(double));
    t->row_m = calloc(rows * d, sizeof(double)); /* pages of rows that are never touched stay unmapped */
    t->row_v = calloc(rows * d, sizeof(double));
    t->last = calloc(rows, sizeof *t->last);
    t->slot = malloc(rows * sizeof *t->slot);
    t->used = malloc(most * sizeof *t->used);
    t->row_gradient = malloc(most * d * sizeof(double));
    t->split = malloc((n + 1) * sizeof *t->split);
    t->order = malloc((n + 1) * sizeof *t->order);
    t->label = malloc((size_t)o->batch * sizeof *t->label);
    t->snapshots = malloc(points * (size_t)(c->layers * c->rank) * (size_t)c->dim * sizeof(float));
    t->out->snapshot = calloc(points, sizeof *t->out->snapshot);
    t->out->epoch = calloc((size_t)o->epochs + 1, sizeof *t->out->epoch);
    if (!t->m || !t->v || !t->row_m || !t->row_v || !t->last || !t->slot || !t->used || !t->row_gradient ||
        !t->split || !t->order || !t->label || !t->snapshots || !t->out->snapshot || !t->out->epoch)
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t r = 0; r < rows; r++) t->slot[r] = -1;
    STAIR_TRY(stair_pass_create(context, c, o->batch, &t->pass));
    return stair_adamw_create(context, o->rate, o->beta1, o->beta2, o->epsilon, o->weight_decay, t->steps,
                              &t->adam);
}

stair_status stair_training_open(stair_context *context, const stair_vocab *vocab,
                                 const stair_questions *questions, const char *classes,
                                 const stair_train_options *options, uint64_t seed, stair_train_run *out,
                                 stair_training *t)
{
    *t =
        (stair_training){.options = options, .questions = questions, .seed = seed, .ordered = -1, .out = out};
    t->held_out = stair_training_held_out(options, questions->count);
    t->trained_on = questions->count - t->held_out;
    t->per_epoch = stair_training_per_epoch(options, questions->count);
    t->steps = t->per_epoch * options->epochs;
    stair_status status = make_classifier(context, vocab, classes, t);
    if (status == STAIR_OK) status = allocate(context, t);
    if (status == STAIR_OK) split_questions(t);
    if (status != STAIR_OK) stair_training_close(t);
    return status;
}

void stair_training_close(stair_training *t)
{
    stair_classifier_destroy(&t->c);
    stair_adamw_destroy(&t->adam);
    stair_pass_destroy(&t->pass);
    free(t->m);
    free(t->v);
    free(t->row_m);
    free(t->row_v);
    free(t->last);
    free(t->slot);
    free(t->used);
    free(t->row_gradient);
    free(t->split);
    free(t->order);
    free(t->label);
    free(t->snapshots);
    *t = (stair_training){0};
}
