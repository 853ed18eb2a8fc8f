/* Samples in blocks of eight, and the loss of a model and its gradient on a block.
 *
 * Layouts of a block: X (M, 8, stride), `stride` a multiple of 32 with zeros after D; Z and its
 * gradient (P, M, 8), labels (K, 8): samples are the lanes.  A short block ends in samples of zeros
 * whose weight is 0.  Sums over samples are taken block by block in index order, so that nothing
 * depends on threads.
 */
#ifndef STAIR_TRAIN_BATCH_H
#define STAIR_TRAIN_BATCH_H

#include "core/products.h"
#include "model/blocks.h"

/* What is multiplied with what: fixed during a run. */
typedef struct {
    const stair_model *model;
    const stair_batch_ops *batch; /* of the model, or NULL: sample by sample */
    int dim, stride, tokens, indices, outputs;
    int one;     /* D: dimension of a row of W, of one block of the embedding (model/blocks.h) */
    bool single; /* X and the copy of w that meets it are float */
} stair_net;

stair_net stair_net_of(const stair_model *model, int dim, bool single);

/* Room for one thread. */
typedef struct {
    void *weights;               /* (P, stride) float or double: w / sqrt(D) */
    double *z, *grad_z;          /* (P, M, 8) */
    double *y;                   /* (K, 8) */
    double *scratch;             /* of the model, or of single samples */
    stair_products_sum gradient; /* (P, stride) */
} stair_net_work;

stair_status stair_net_work_create(stair_context *context, const stair_net *net, stair_net_work *work);
void stair_net_work_destroy(stair_net_work *work);

/* Takes weights (P, D) into work->weights. */
void stair_net_set_weights(const stair_net *net, const double *weights, stair_net_work *work);

/* Samples (blocks of them) in memory: x in the element type of the net. */
typedef struct {
    size_t count, blocks;
    size_t batch;   /* samples after which a new block begins */
    void *x;        /* (blocks, M, 8, stride) */
    double *y;      /* (blocks, K, 8): targets */
    double *weight; /* (blocks, 8): 1, or 0 for padding */
} stair_samples;

stair_status stair_samples_create(stair_context *context, const stair_net *net, size_t count, size_t batch,
                                  stair_samples *samples);
void stair_samples_destroy(stair_samples *samples);

/* Block and lane of a sample. */
static inline size_t stair_samples_block(const stair_samples *s, size_t sample, int *lane)
{
    size_t per_batch = (s->batch + STAIR_GROUP - 1) / STAIR_GROUP, within = sample % s->batch;
    *lane = (int)(within % STAIR_GROUP);
    return sample / s->batch * per_batch + within / STAIR_GROUP;
}

/* Puts x (M, D) of one sample in place. */
void stair_samples_set_x(const stair_net *net, stair_samples *samples, size_t sample, const double *x);
/* Copies a sample, x and y, from one set to another. */
void stair_samples_copy(const stair_net *net, const stair_samples *from, size_t sample, stair_samples *to,
                        size_t place);

/* z (P, M, 8) of a block into work->z. */
void stair_net_project(const stair_net *net, const stair_samples *samples, size_t block,
                       stair_net_work *work);

/* Sum over blocks [first, last) of |y - target|^2; with gradient, work->gradient.sum becomes d/dw of it
 * up to the factor 1/sqrt(D) that stair_net_gradient() applies. */
double stair_net_loss(const stair_net *net, const stair_samples *samples, size_t first, size_t last,
                      bool gradient, stair_net_work *work);

/* gradient (P, D) from work->gradient. */
void stair_net_gradient(const stair_net *net, const stair_net_work *work, double *gradient);

#endif
