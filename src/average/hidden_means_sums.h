/* What hidden_means.c and its hot loops share. */
#ifndef STAIR_AVERAGE_HIDDEN_MEANS_SUMS_H
#define STAIR_AVERAGE_HIDDEN_MEANS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define STAIR_MEANS_SPAN 16 /* floats: nodes and means come in multiples of this */
#define STAIR_MEANS_DIM  16 /* most hidden coordinates */
#define STAIR_MEANS_SUMS (3 + 3 * STAIR_MEANS_DIM / 2)

/* Hidden nodes, structure of arrays. */
typedef struct {
    size_t count;      /* a multiple of the span */
    float *log_weight; /* (count) */
    float *t[4];       /* T(u) */
    float *u[STAIR_MEANS_DIM];
} stair_means_nodes;

/* A label, and the prior of the last row. */
typedef struct {
    float x[2], omega[2], half_inverse;
} stair_means_label;

/* Sums over nodes: 1, the residual r of the last row (2), then of every hidden row with overlap u (2), of the
 * others u u^T (3). */
typedef struct {
    int dim, sums;
    int known[STAIR_MEANS_DIM / 2]; /* hidden rows with overlap */
} stair_means_shape;

#endif
