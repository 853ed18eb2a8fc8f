/* The posterior of tokens that the label fixes up to one common sign. */
#ifndef STAIR_MODEL_TWO_POINTS_H
#define STAIR_MODEL_TWO_POINTS_H

/* Z = +-root (m), each with prior N(omega, variance 1): log Z = log of the mean of the two densities,
 * g (m), and dg, whose entry (i, j) goes to dg[i*stride + j]. */
void stair_two_points(int m, const double *root, const double *omega, double variance, int stride,
                      double *logz, double *g, double *dg);

#endif
