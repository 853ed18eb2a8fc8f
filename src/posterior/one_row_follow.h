/* Hidden nodes that follow a sample: around its posterior, and, for what is not there, all over the prior.
 *
 * A sample's own hidden rows, which its label was drawn from, are one draw from that posterior: a few steps
 * of Gauss and Newton lead from them to a mode.  There the last row fixes as many directions as it has tokens
 * (stiff, of width sqrt(v)) and leaves the others to the prior (soft); along the soft ones the surface that
 * the label allows is bent, and the stiff ones give way to a quadratic form of them.  That moves nodes
 * without changing volumes, so their density is known, and each node is weighted by the prior over the
 * density that both kinds have together (Veach and Guibas, SIGGRAPH 1995). */
#ifndef STAIR_POSTERIOR_ONE_ROW_FOLLOW_H
#define STAIR_POSTERIOR_ONE_ROW_FOLLOW_H

#include "posterior/one_row_sums.h"

/* Whether `dim` hidden coordinates of m tokens are few enough. */
bool stair_one_row_follow_fits(int dim, int m);

/* For a sample with an open fibre, from the hidden rows `drawn` (dim) on: its own, if they are known;
 * variance: of each row. */
void stair_one_row_follow(const stair_fibre *fibre, const stair_one_row_sample *sample, int dim, int m,
                          const double *variance, const double *drawn, stair_one_row_follower *follower);

#endif
