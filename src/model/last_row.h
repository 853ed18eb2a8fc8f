/* The last row as a linear function of the label, once the hidden rows u are given:
 *
 *   w(u; y) = T(u) x,   x = w(u0; y) at an anchor u0,   weight(u; y) = weight(u),
 *
 * as in attention of last rank one: T(u) = H(u)^-1 H(u0), h = +-gamma. */
#ifndef STAIR_MODEL_LAST_ROW_H
#define STAIR_MODEL_LAST_ROW_H

#include "model/structure.h"

#define STAIR_LAST_TOKENS 8                                                       /* M, at most */
#define STAIR_LAST_ROWS   16                                                      /* hidden ones, */
#define STAIR_LAST_HIDDEN 32                                                      /* and numbers in them */
#define STAIR_LAST_ROOM   ((STAIR_LAST_HIDDEN + STAIR_LAST_TOKENS) * STAIR_BLOCK) /* Z of a block of nodes */

/* Fibres of M labels whose anchors are independent: `inverse` (M, M) turns their maps into T. */
typedef struct {
    int m, dim; /* tokens; hidden coordinates */
    double anchor[STAIR_LAST_HIDDEN];
    stair_fibre fibre[STAIR_LAST_TOKENS];
    double inverse[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS];
    int opened;
} stair_last_row;

/* Whether it is so, of a structure whose symmetries and fibre are known: one last row, even hidden rows, no
 * noise on y.  Found by trying; the answer is structure->last_row. */
stair_status stair_last_row_holds(stair_context *context, const stair_structure *structure, bool *holds);

/* The anchor (rows, M): tokens at different values, so that no mixing built from them is close to singular.
 */
void stair_last_row_anchor(int rows, int m, double *anchor);

stair_status stair_last_row_open(stair_context *context, const stair_model *model, stair_last_row *last);
void stair_last_row_close(stair_last_row *last);

/* T (M, M, STAIR_BLOCK) and weight of the first n nodes u (dim, STAIR_BLOCK). */
void stair_last_row_map(const stair_last_row *last, int n, const double *u, double *t, double *weight);

/* Over u ~ N(0, variance of its row): root mean square of |dw/du| in units of the hidden standard deviations,
 * and the largest entry of T, over which labels vary that much less than the last row does. */
void stair_last_row_slopes(const stair_last_row *last, const double *variance, double *slope,
                           double *steepest);

/* Two tokens: the largest |T e| over typical u, e along the sum of the tokens and along their difference. */
void stair_last_row_reach(const stair_last_row *last, double reach[2]);

/* A fibre open at the label of these rows; and w (M) and the weight of an open fibre at u (dim). */
stair_status stair_last_row_open_at(stair_context *context, const stair_model *model, const double *hidden,
                                    const double *w, stair_fibre *fibre);
double stair_last_row_one(const stair_fibre *fibre, int m, const double *u, double *w);

#endif
