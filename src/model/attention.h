/* Deep attention with one head, shared by its files: query and key tied, or untied (untied.h). */
#ifndef STAIR_MODEL_ATTENTION_H
#define STAIR_MODEL_ATTENTION_H

#include "model/model.h"

#define STAIR_ATTENTION_SQUARE (STAIR_MAX_TOKENS * STAIR_MAX_TOKENS) /* of a matrix of scores */

/* What the rows of the last layer are mixed by. */
typedef enum {
    STAIR_MIXED_BY_LAYERS,    /* H_{L-1}, a product */
    STAIR_MIXED_BY_COMMITTEE, /* 1 + share sum_{l<L} S_l, S_l of Z_l itself: limit.c */
    STAIR_MIXED_BY_FLOW       /* flow[0] 1 + flow[1] 11^T, and there are no hidden layers: limit_flow.c */
} stair_attention_mixed;

typedef struct {
    int layers, tokens;
    int rank[STAIR_MAX_LAYERS]; /* P_l */
    int row[STAIR_MAX_LAYERS];  /* first row of layer l in Z, of its keys where queries are others: */
    bool untied;                /* queries are rows of their own, */
    int queries;                /* so many after their keys; tied: 0 */
    double skip;                /* c */
    bool linear;                /* activation: identity in place of softmax */
    bool literal;               /* the paper's mixing: S_l transposed */
    bool sequence;              /* y = S_L H_{L-1}, not S_L: sequence.c */
    stair_attention_mixed mixed;
    double share, flow[2];
    int unseen; /* dimensions of v: the part of h_L the label does not see, shared by all tokens */
    int angles; /* coordinates of the rotation of h_L */
} stair_attention;

/* Layout of stair_fibre.data, in doubles. */
typedef struct {
    int h;       /* (M, P_L): the last layer's h, up to rotation and common part */
    int centre;  /* (charts, P_L, P_L): rotations at which the charts are centred */
    int scratch; /* room for fibre_map */
} stair_attention_layout;

stair_attention_layout stair_attention_fibre_layout(const stair_attention *a, int *size);

stair_status stair_attention_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                        const double *omega, stair_fibre *fibre);
void stair_attention_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n,
                               const double *u, double *z, double *weight);
void stair_attention_ridges(const stair_fibre *fibre, double direction[2]);
int stair_attention_angle_power(const stair_fibre *fibre, int k);
extern const stair_split_ops stair_attention_split;
extern const stair_tube_ops stair_attention_tubes;
extern const stair_closed_ops stair_attention_closed;
extern const stair_batch_ops stair_attention_batch_ops;

/* What models that end in the scores of a last layer have in common with attention. */
void stair_attention_forward(const stair_model *model, const double *z, double *y, double *label);
stair_status stair_attention_label(stair_context *context, const stair_model *model, const double *y,
                                   double *label);
void stair_attention_permute(const stair_model *model, const int *order, const double *label, double *out);
/* rank=R for every layer, or R1+R2+...+RL, into a->rank. */
stair_status stair_attention_read_ranks(stair_context *context, const char *text, stair_attention *a);
/* Rows of the layers, and with them the common part of the model, once layers, tokens, ranks and
 * activation are known. */
stair_status stair_attention_size(stair_context *context, stair_model *model);

/* h (M, P_L) of a label, up to rotation and common part; BAD_INPUT when no h has this label. */
stair_status stair_attention_points(stair_context *context, const stair_attention *a, const double *label,
                                    double *h);

/* S_l = activation(query key^T), both (M, rank), one and the same where tied; log_s, the log-softmax, may be
 * NULL. */
void stair_attention_scores(const stair_attention *a, int rank, const double *query, const double *key,
                            double *s, double *log_s);

/* mixed (M, M) = H_layers of Z (P, M): the product of the mixings of the first `layers` layers, or what else
 * mixes the last one. */
void stair_attention_mixing(const stair_attention *a, int layers, const double *z, double *mixed);

/* Whether c 1 + S is singular for some real Z, or next to it: stair_fibre.rough. */
bool stair_attention_is_rough(const stair_attention *a);

/* What tied and untied weights share. */
void stair_attention_forward(const stair_model *model, const double *z, double *y, double *label);
stair_status stair_attention_label(stair_context *context, const stair_model *model, const double *y,
                                   double *label);
void stair_attention_permute(const stair_model *model, const int *order, const double *label, double *out);
extern const stair_batch_ops stair_attention_batch_ops;

#endif
