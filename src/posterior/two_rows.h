/* Posterior moments of many samples that share one covariance, where the last layer has two rows and there
 * are two tokens. */
#ifndef STAIR_POSTERIOR_TWO_ROWS_H
#define STAIR_POSTERIOR_TWO_ROWS_H

#include "posterior/denoiser.h"

typedef struct stair_two_rows stair_two_rows;

/* fineness: of hidden nodes in a plane, 0.5 for errors of 1e-3; nodes: of each half of a lattice, a power of
 * two. */
stair_status stair_two_rows_create(stair_context *context, const stair_structure *structure,
                                   const double *cov, double fineness, size_t nodes, uint64_t seed,
                                   stair_two_rows **rule);
void stair_two_rows_destroy(stair_two_rows **rule);

/* Whether hidden nodes are a plane, hence not random, as long as nothing is known of the hidden rows. */
bool stair_two_rows_has_plane(const stair_structure *structure);

/* Density, in the measure of log Z_out, of the label that the last rows (x, 0) give with the hidden rows at
 * the anchor (last_row.h): labels are the half plane x_1 > x_2. */
double stair_two_rows_label_measure(const stair_two_rows *rule, const double *x);
/* Largest entry of T(u) over typical u: labels vary over that much less than the last rows do. */
double stair_two_rows_steepest(const stair_two_rows *rule);

/* Of labels given by their x, anchors (n, 2); omega (n, P, 2).  dg is zero between rows of different layers.
 */
stair_status stair_two_rows_evaluate(stair_context *context, const stair_two_rows *rule, size_t n,
                                     const double *anchors, const double *omega, stair_denoised *result);

#endif
