/* What users do with a classifier: look at it, predict with it, differentiate it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/parallel.h"
#include "train/classifier.h"

static const struct {
    int together; /* questions of one pass; with padding by batch it decides the answers, so threads may not
                   */
} tuning = {.together = 32};

stair_classifier_info stair_classifier_describe(const stair_classifier *c)
{
    return (stair_classifier_info){.vocab = c->vocab,
                                   .dim = c->dim,
                                   .rank = c->rank,
                                   .layers = c->layers,
                                   .classes = c->classes,
                                   .longest = c->longest,
                                   .scale = c->scale,
                                   .bias = c->bias,
                                   .pad_batch = c->pad_batch,
                                   .names = c->names};
}

static stair_status check(stair_context *context, const stair_classifier *c, const stair_questions *questions)
{
    if (questions->longest > c->longest)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "questions of up to %d ids for a classifier of at most %d", questions->longest,
                          c->longest);
    for (int i = 0; i < questions->count; i++)
        for (int k = 0; k < questions->length[i]; k++)
            if (questions->ids[(size_t)i * (size_t)questions->longest + (size_t)k] >= c->vocab)
                return stair_fail(context, STAIR_BAD_INPUT,
                                  "question %d has id %d, but the classifier knows only %d tokens", i + 1,
                                  questions->ids[(size_t)i * (size_t)questions->longest + (size_t)k],
                                  c->vocab);
    return STAIR_OK;
}

typedef struct {
    const stair_classifier *c;
    const stair_questions *questions;
    int *label;
    double *probability;
} prediction;

static stair_status predict_block(void *user, size_t block, int thread, stair_context *local)
{
    (void)thread;
    prediction *job = user;
    const stair_classifier *c = job->c;
    int first = (int)block * tuning.together, left = job->questions->count - first,
        n = left < tuning.together ? left : tuning.together, none;
    stair_pass pass;
    STAIR_TRY(stair_pass_create(local, c, n, &pass));
    stair_pass_load(c, job->questions, NULL, first, n, &pass);
    stair_pass_forward(c, &pass);
    stair_pass_loss(c, &pass, NULL, &none);
    for (int s = 0; s < n; s++) {
        const double *p = pass.logits + s * c->classes;
        int top = 0;
        for (int k = 1; k < c->classes; k++) top = p[k] > p[top] ? k : top;
        if (job->label) job->label[first + s] = top;
        if (job->probability)
            memcpy(job->probability + (size_t)(first + s) * (size_t)c->classes, p,
                   (size_t)c->classes * sizeof(double));
    }
    stair_pass_destroy(&pass);
    return STAIR_OK;
}

stair_status stair_classifier_predict(stair_context *context, const stair_classifier *classifier,
                                      const stair_questions *questions, int *label, double *probability)
{
    STAIR_TRY(check(context, classifier, questions));
    prediction job = {classifier, questions, label, probability};
    return stair_parallel(context, (size_t)((questions->count + tuning.together - 1) / tuning.together),
                          predict_block, &job);
}

/* out (rows, columns) from in (rows, stride); does nothing where out is NULL */
static void copy_out(size_t rows, size_t columns, const double *in, size_t stride, double *out)
{
    for (size_t r = 0; out && r < rows; r++)
        memcpy(out + r * columns, in + r * stride, columns * sizeof(double));
}

static void hand_out(const stair_classifier *c, const stair_pass *pass, stair_classifier_gradient *gradient)
{
    size_t d = (size_t)c->dim, d8 = (size_t)c->dim8, p = (size_t)c->rank, p8 = (size_t)c->rank8,
           k = (size_t)c->classes;
    for (size_t l = 0; l < (size_t)c->layers; l++) {
        copy_out(p, d, stair_classifier_w(c, pass->gradient, (int)l), d8,
                 gradient->attention ? gradient->attention + l * p * d : NULL);
        copy_out(1, p, stair_classifier_b(c, pass->gradient, (int)l), p8,
                 gradient->attention_bias ? gradient->attention_bias + l * p : NULL);
    }
    const double *readout = stair_classifier_readout(c, pass->gradient);
    copy_out(k, d, readout, d8, gradient->readout);
    copy_out(1, k, readout + k * d8, k, gradient->readout_bias);
    if (!gradient->embedding) return;
    memset(gradient->embedding, 0, (size_t)c->vocab * d * sizeof(double));
    for (int r = 0; r < pass->rows; r++)
        for (size_t i = 0; i < d; i++)
            gradient->embedding[(size_t)pass->id[r] * d + i] += pass->grad_x[(size_t)r * d8 + i];
}

stair_status stair_classifier_loss(stair_context *context, const stair_classifier *classifier,
                                   const stair_questions *questions, int n, const int *pick, double *loss,
                                   stair_classifier_gradient *gradient)
{
    STAIR_TRY(check(context, classifier, questions));
    int *label = malloc((size_t)n * sizeof *label), correct;
    stair_pass pass;
    if (!label) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_pass_create(context, classifier, n, &pass);
    if (status == STAIR_OK) {
        for (int s = 0; s < n; s++) label[s] = questions->label[pick[s]];
        stair_pass_load(classifier, questions, pick, 0, n, &pass);
        stair_pass_forward(classifier, &pass);
        *loss = stair_pass_loss(classifier, &pass, label, &correct);
        if (gradient) {
            stair_pass_backward(classifier, &pass, label);
            hand_out(classifier, &pass, gradient);
        }
        stair_pass_destroy(&pass);
    }
    free(label);
    return status;
}
