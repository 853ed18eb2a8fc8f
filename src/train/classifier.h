/* The question classifier: embedding, tied self-attention layers, mean pooling, linear readout.
 *
 *   x_0 = E[ids]  (M, D);   h_l = x_{l-1} w_l^T + b_l  (M, P);   S_l = rowsoftmax(h_l h_l^T / scale)
 *   x_l = S_l x_{l-1};      logits = R mean_m(x_L) + r
 *
 * Positions that hold [PAD] have the same row all the way up, so they are carried once with a
 * multiplicity mu: S_ij = mu_j e^{a_ij} / sum_k mu_k e^{a_ik}, mean = sum_i mu_i x_i / M.  This is the
 * padded network exactly, at the cost of the unpadded one; gradients are those of the shared row.
 *
 * Invariant: arrays have D and P rounded up to 8; the extra columns are zero and stay zero.
 */
#ifndef STAIR_TRAIN_CLASSIFIER_H
#define STAIR_TRAIN_CLASSIFIER_H

#include "stair_train.h"

struct stair_classifier {
    int vocab, dim, rank, layers, classes;
    int dim8, rank8;  /* rounded up */
    int longest, pad; /* padded length M, and the id of [PAD] */
    bool pad_batch;   /* pad to the longest question of the batch instead */
    bool bias;        /* b_l is trained; otherwise it is zero */
    double scale;
    char *names;        /* "ABBR,DESC,..." */
    size_t dense;       /* number of dense parameters: all but the embedding */
    double *embedding;  /* (vocab, dim8) */
    double *parameters; /* (dense): w (L, rank8, dim8), b (L, rank8), R (classes, dim8), r (classes) */
};

static inline double *stair_classifier_w(const stair_classifier *c, double *parameters, int layer)
{
    return parameters + (size_t)layer * (size_t)c->rank8 * (size_t)c->dim8;
}
static inline double *stair_classifier_b(const stair_classifier *c, double *parameters, int layer)
{
    return stair_classifier_w(c, parameters, c->layers) + (size_t)layer * (size_t)c->rank8;
}
static inline double *stair_classifier_readout(const stair_classifier *c, double *parameters)
{
    return stair_classifier_b(c, parameters, c->layers);
}

stair_status stair_classifier_create(stair_context *context, int vocab, int dim, int rank, int layers,
                                     int classes, stair_classifier **classifier);

/* Room for a batch, and the pass through it. */
typedef struct {
    int capacity;               /* samples */
    int samples, rows;          /* of the batch at hand; rows: distinct positions of all samples */
    int *start;                 /* (samples + 1): first row of each sample */
    double *length;             /* (samples): M */
    int32_t *id;                /* (rows) */
    double *multiplicity;       /* (samples, wide): mu of each row, 0 in the padding */
    int wide;                   /* longest + 1 rounded up to 8: row stride of the score matrices */
    double **x;                 /* (layers + 1): (rows, dim8) */
    double **h;                 /* (layers): (rows, rank8) */
    double **s;                 /* (layers): (rows, wide) */
    double *pooled;             /* (samples, dim8) */
    double *logits;             /* (samples, classes); after the loss: probabilities */
    double *grad_x, *grad_next; /* (rows, dim8) */
    double *grad_h, *grad_s;    /* (rows, rank8), (wide, wide) */
    double *flip;               /* a transposed matrix */
    double *gradient;           /* (dense) */
    double *memory;
} stair_pass;

stair_status stair_pass_create(stair_context *context, const stair_classifier *c, int capacity,
                               stair_pass *pass);
void stair_pass_destroy(stair_pass *pass);

/* The questions pick[0..n), or first..first+n when pick is NULL: ids, multiplicities. */
void stair_pass_load(const stair_classifier *c, const stair_questions *questions, const int *pick, int first,
                     int n, stair_pass *pass);

/* logits from the embedding's present rows */
void stair_pass_forward(const stair_classifier *c, stair_pass *pass);

/* Mean cross-entropy against label (samples); leaves probabilities in logits.  correct: how many
 * questions have their label on top. */
double stair_pass_loss(const stair_classifier *c, stair_pass *pass, const int *label, int *correct);

/* After forward and loss: gradient of the loss in pass->gradient, and in pass->grad_x (rows, dim8)
 * for the row of the embedding behind every position. */
void stair_pass_backward(const stair_classifier *c, stair_pass *pass, const int *label);

#endif
