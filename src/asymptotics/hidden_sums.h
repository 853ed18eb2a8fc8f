/* What hidden.c and its hot loops share. */
#ifndef STAIR_ASYMPTOTICS_HIDDEN_SUMS_H
#define STAIR_ASYMPTOTICS_HIDDEN_SUMS_H

#include "model/model.h"

#define STAIR_HIDDEN_TOKENS 4
#define STAIR_HIDDEN_ROWS   8
#define STAIR_HIDDEN_SUMS                                                                                    \
    (1 +                                                                                                     \
     (1 + STAIR_HIDDEN_ROWS) * (STAIR_HIDDEN_TOKENS + STAIR_HIDDEN_TOKENS * (STAIR_HIDDEN_TOKENS + 1) / 2))
#define STAIR_HIDDEN_LEAST -600.0 /* exponents below are not visited */

typedef struct {
    int tokens, rows; /* M; hidden rows */
    int sums;         /* 1 + (1 + rows) (M + M(M+1)/2) */
} stair_hidden_shape;

typedef struct {
    double x[STAIR_HIDDEN_TOKENS];                          /* the last row at the anchor: names the label */
    double omega[STAIR_HIDDEN_TOKENS];                      /* its mean */
    double hidden[STAIR_HIDDEN_ROWS * STAIR_HIDDEN_TOKENS]; /* means of the hidden rows */
    double half_inverse;                                    /* 1 / 2v of the last row */
} stair_hidden_sample;

/* Equidistant nodes (low + i step, low + j step) of one hidden row of two tokens, a row of the plane for each
 * i: log weight and T (2, 2), `stride` numbers each. */
typedef struct {
    double low, step;
    int side;
    size_t stride; /* a multiple of eight, not below `side` */
    double *columns;
} stair_hidden_plane;

#endif
