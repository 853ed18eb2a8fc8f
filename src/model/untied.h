/* Attention with untied query and key, shared by its files.
 *
 *   h^Q_l = H_{l-1} Q_l^T,  h^K_l = H_{l-1} K_l^T,  S_l = rowsoftmax(h^Q_l (h^K_l)^T),  H_l = (c + S_l)
 * H_{l-1}
 *
 * Rows of Z: K_1 .. K_L, Q_1 .. Q_L.  In the order of fibres the hidden rows K_1 .. K_{L-1}, Q_1 .. Q_{L-1}
 * come first, then K_L, then Q_L. */
#ifndef STAIR_MODEL_UNTIED_H
#define STAIR_MODEL_UNTIED_H

#include "model/attention.h"

/* The rest of create: `rows` are those of all keys.  Puts stair_untied_ops in place. */
stair_status stair_untied_create(stair_context *context, stair_model *model, int rows);

/* Dimensions in which keys tell the label something: softmax does not see what all tokens share. */
static inline int stair_untied_seen(const stair_attention *a)
{
    return a->tokens - !a->linear;
}

/* Whether the last layer has more rows than that: its keys are then free. */
static inline bool stair_untied_wide(const stair_attention *a)
{
    return a->rank[a->layers - 1] > stair_untied_seen(a);
}

/* Layout of stair_fibre.data, in doubles. */
typedef struct {
    int key;     /* (M, P_L): e, an orthonormal basis of the rows of the scores; wide: (M, seen) scores */
    int query;   /* (M, P_L): a, the scores in that basis; wide: (P_L, M) omega of the last queries */
    int size;    /* (P_L): square roots of the singular values of the scores, ascending */
    int centre;  /* (charts, P_L, P_L): rotations at which the charts are centred */
    int scratch; /* room for fibre_map */
} stair_untied_layout;

stair_untied_layout stair_untied_fibre_layout(const stair_attention *a, int *size);

/* Scores of the last layer, up to what softmax does not see: a (M, P_L) e^T, e (M, P_L) orthonormal columns,
 * and the square roots of their singular values, ascending.  BAD_INPUT when no queries and keys of that rank
 * have this label. */
stair_status stair_untied_points(stair_context *context, const stair_attention *a, const double *label,
                                 double *key, double *query, double *size);

stair_status stair_untied_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                     const double *omega, stair_fibre *fibre);
void stair_untied_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                            double *z, double *weight);
int stair_untied_angle_power(const stair_fibre *fibre, int k);
extern const stair_closed_ops stair_untied_closed;

/* One layer of rank one, softmax, no noise: stair_model_ops.ignorant. */
bool stair_untied_ignorant(const stair_model *model, double *logz, double *tensor);

#endif
