/* Two last rows of two tokens as a function of the label, once the hidden rows u are given: a rotation of
 * both together, and before that rows
 *
 *   w(u; y) = T(u) x,   v k,   k = H(u)^-1 (1, 1) parallel to (1, 1) and the same for every u,   weight(u; y)
 * = |det H|^-2,
 *
 * with any number v and x = w(u0; y) at an anchor u0 (last_row.h).  So it is in attention with a
 * row-stochastic mixing. */
#ifndef STAIR_MODEL_LAST_PAIR_H
#define STAIR_MODEL_LAST_PAIR_H

#include "model/structure.h"

#define STAIR_PAIR_ROWS  8                           /* hidden rows, at most */
#define STAIR_PAIR_CELLS (2 * (STAIR_PAIR_ROWS + 2)) /* of Z */

/* A fibre at one rotation: row w lies along `axis`. */
typedef struct {
    stair_fibre fibre;
    double axis[2];
} stair_straight;

/* Fibres of two labels whose x are independent: `inverse` (2, 2) turns their maps into T. */
typedef struct {
    int dim; /* hidden coordinates */
    double anchor[STAIR_PAIR_CELLS];
    stair_straight label[2];
    double inverse[4];
    int opened;
    double common, weight; /* k = common (1, 1), and |det H|^-2 at the anchor */
} stair_last_pair;

/* Whether it is so, of a structure whose symmetries and fibre are known; by_shape: two hidden rows matter
 * through their shape (hidden_nodes.c) alone.  Found by trying; the answer is structure->last_pair. */
stair_status stair_last_pair_holds(stair_context *context, const stair_structure *structure, bool *holds,
                                   bool *by_shape);

stair_status stair_last_pair_open(stair_context *context, const stair_model *model, stair_last_pair *last);
void stair_last_pair_close(stair_last_pair *last);

/* table (5, STAIR_BLOCK): |det H|^-2 and T at a block of hidden places u (dim, STAIR_BLOCK). */
void stair_last_pair_map(const stair_last_pair *last, const double *u, double *table);

/* Over u ~ N(0, variance of its row): as stair_last_row_slopes. */
void stair_last_pair_slopes(const stair_last_pair *last, const double *variance, bool by_shape, double *slope,
                            double *steepest);

/* Opens the fibre of a label, or of the label of rows z (P, 2). */
stair_status stair_straight_open(stair_context *context, const double *label, const double *anchor,
                                 stair_straight *f);
stair_status stair_straight_open_at(stair_context *context, const double *z, const double *anchor,
                                    stair_straight *f);

/* w (2, STAIR_BLOCK) and |det H|^-2 at a block of places, or w (2) at a single one; with v not zero, v k in
 * place of w. */
void stair_straight_map(const stair_straight *f, const double *u, double v, double *w, double *weight);
double stair_straight_one(const stair_straight *f, const double *u, double v, double *w);

#endif
