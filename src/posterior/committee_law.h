/* The law of what a committee of unlearned hidden layers does to two tokens.
 *
 * A layer sees one row (x, y) ~ N(0, 1)^2 of two tokens and has the mixing S = rowsoftmax of its products:
 * a = S_12 and b = S_21.  With s = (x + y)/sqrt 2, d = (x - y)/sqrt 2,
 *
 *   a = 1/(1 + exp(d^2 + s d)),   b = 1/(1 + exp(d^2 - s d)).
 *
 * The committee of n layers acts by U = sum_l (a_l + b_l) and V = sum_l (a_l - b_l) alone.  By exchange all
 * layers have one and the same conditional second moments, Gamma = E[(s^2 - 1, d^2 - 1, s d) | U, V].
 * This is the density of (U, V) and its product with Gamma, on a grid:
 *
 *   density = FT^-1 phi^n,   density Gamma = FT^-1 phi^(n-1) psi,
 *   phi = E exp(i k.(u, v)),  psi = E (s^2 - 1, d^2 - 1, s d) exp(i k.(u, v))  of one layer.
 *
 * Frequencies are cut smoothly at pi/step: what is integrated against the density has none there, and sums
 * over the grid are then exact beyond all powers of the step.  There are several grids: what is wide needs
 * few nodes. */
#ifndef STAIR_POSTERIOR_COMMITTEE_LAW_H
#define STAIR_POSTERIOR_COMMITTEE_LAW_H

#include "core/context.h"

enum { COMMITTEE_MASS, COMMITTEE_SS, COMMITTEE_DD, COMMITTEE_SD, COMMITTEE_NUMBERS };

#define COMMITTEE_GRIDS 8 /* of one law: each twice as fine as the one before */

typedef struct {
    int rows, columns; /* values of U, of V */
    double step, u, v; /* distance of neighbours; first values */
    double *table;     /* (rows, COMMITTEE_NUMBERS, columns): times step^2; together 1 */
} stair_committee_grid;

typedef struct {
    int grids;
    stair_committee_grid grid[COMMITTEE_GRIDS];
} stair_committee_law;

/* Mean of u of one layer, and standard deviations of u and v. */
void stair_committee_moments(double *mean, double *deviation_u, double *deviation_v);

/* a and b of a layer at s and d. */
void stair_committee_layer(double s, double d, double *a, double *b);

/* The law of n layers, with grids down to this step or less; and whether there is room for so fine a one. */
bool stair_committee_law_fits(int n, double step);
stair_status stair_committee_law_create(stair_context *context, int n, double step, stair_committee_law *law);
void stair_committee_law_destroy(stair_committee_law *law);

#endif
