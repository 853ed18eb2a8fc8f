/* Attention with several heads and a readout, shared by its files. */
#ifndef STAIR_MODEL_HEADS_H
#define STAIR_MODEL_HEADS_H

#include "model/attention.h"

typedef struct {
    stair_attention shape;                              /* layers, tokens, ranks, skip, activation, mixing */
    int heads, outputs;                                 /* H, R */
    int key[STAIR_MAX_LAYERS], query[STAIR_MAX_LAYERS]; /* first row of layer l; the same one where tied */
    int value;                                          /* first row of the readout */
    double scale;                                       /* 1/sqrt(H), of keys and of queries */
    int given, place[STAIR_MAX_INDICES]; /* rows of u, and the one that a row of Z enters: model/marginal.h */
} stair_heads;

/* Row of Z: row k of W_l^{hh'}, which acts on block h', of the keys or queries that begin at `first`. */
static inline int stair_heads_row(const stair_heads *a, int first, int layer, int head, int block, int k)
{
    return first + (head * a->heads + block) * a->shape.rank[layer] + k;
}

/* Makes `model` one with heads: shape (of which it takes a copy) and the values of the other keys. */
stair_status stair_heads_create(stair_context *context, stair_model *model, const stair_attention *shape,
                                bool untied, int heads, int readout);

#endif
