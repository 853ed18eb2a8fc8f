/* What one_row.c and its hot loops share. */
#ifndef STAIR_POSTERIOR_ONE_ROW_SUMS_H
#define STAIR_POSTERIOR_ONE_ROW_SUMS_H

#include "model/last_row.h"

#define STAIR_ONE_ROW_TOKENS STAIR_LAST_TOKENS
#define STAIR_ONE_ROW_ROWS   STAIR_LAST_ROWS
#define STAIR_ONE_ROW_SUMS                                                                                   \
    (1 + (1 + STAIR_ONE_ROW_ROWS) *                                                                          \
             (STAIR_ONE_ROW_TOKENS + STAIR_ONE_ROW_TOKENS * (STAIR_ONE_ROW_TOKENS + 1) / 2))
#define STAIR_ONE_ROW_LEAST -600.0 /* and exponents below this never */

typedef struct {
    int tokens, rows; /* M; hidden rows */
    int sums;         /* 1 + (1 + rows) (M + M(M+1)/2) */
} stair_one_row_shape;

typedef struct {
    double x[STAIR_ONE_ROW_TOKENS];     /* the last row at the anchor: names the label */
    double omega[STAIR_ONE_ROW_TOKENS]; /* its mean */
    double hidden[STAIR_LAST_HIDDEN];   /* means of the hidden rows */
    double half_inverse;                /* 1 / 2v of the last row */
    double least;                       /* exponents below are not visited */
} stair_one_row_sample;

/* Nodes that follow a sample, around `centre`, u = centre + root x, or all over the prior.  Around it the
 * last axes give way to the first `soft` ones by a quadratic form of them, which leaves volumes as they are.
 */
#define STAIR_HIDDEN_DIM   STAIR_LAST_HIDDEN
#define STAIR_HIDDEN_BENDS 128 /* numbers of the quadratic form of a follower */

typedef struct {
    int tokens, dim, soft;
    double centre[STAIR_HIDDEN_DIM], root[STAIR_HIDDEN_DIM * STAIR_HIDDEN_DIM];
    double whiten[STAIR_HIDDEN_DIM * STAIR_HIDDEN_DIM]; /* inverse of the root */
    double bend[STAIR_HIDDEN_BENDS];                    /* (pairs of soft axes, stiff ones) */
    double wider;                                       /* standard deviation of x */
    double mean[STAIR_HIDDEN_DIM], deviation[STAIR_HIDDEN_DIM],
        inverse[STAIR_HIDDEN_DIM]; /* prior, 1/deviation */
    double log_ratio;              /* of the two densities at their centres */
} stair_one_row_follower;

/* Equidistant nodes (low + i step, low + j step) of one hidden row of two tokens, in square cells.  What a
 * sample gives all nodes of a cell at most follows from the bounds of the cell, and few cells count. */
#define STAIR_CELL_SIDE  4 /* nodes of a cell along one axis */
#define STAIR_CELL       (STAIR_CELL_SIDE * STAIR_CELL_SIDE)
#define STAIR_MOST_CELLS 136 /* along one axis: 2 span / (4 least_fixed) of one_row.c, in whole lanes */

enum {
    CELL_TOP,
    CELL_LEAST,
    CELL_MOST = CELL_LEAST + 4,
    CELL_MIDDLE = CELL_MOST + 4,
    CELL_BOUNDS = CELL_MIDDLE + 5
};
typedef struct {
    double low, step;
    int side;       /* cells of a row */
    double *nodes;  /* (side, side, 5, STAIR_CELL): log weight and T (2, 2) */
    double *bounds; /* (side, CELL_BOUNDS, STAIR_MOST_CELLS): largest log weight, T from and to, one node */
} stair_one_row_plane;

#endif
