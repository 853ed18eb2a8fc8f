/* Quasi-random points: rank-1 lattices with random shifts, and the map to Gaussians. */
#ifndef STAIR_CORE_QMC_H
#define STAIR_CORE_QMC_H

#include <stdint.h>

/* Point i of n of a rank-1 lattice in (0,1)^dim, shifted by shift (dim) modulo one (NULL: by 1/2n),
 * and folded by the tent map, so that smooth functions need not be periodic. */
void stair_qmc_point(int dim, uint64_t n, uint64_t i, const double *shift, double *out);

/* Point i of n for functions that are even, f(u) = f(1 - u): one of each pair of such points in a lattice of
 * 2n. */
void stair_qmc_even_point(int dim, uint64_t n, uint64_t i, const double *shift, double *out);

/* Inverses of the standard normal distribution function and of erf, |u| < 1, to the last digits. */
double stair_qmc_normal(double p);
double stair_inverse_erf(double u);

/* stair_qmc_point, mapped to a Gaussian point. */
void stair_qmc_gaussian(int dim, uint64_t n, uint64_t i, const double *shift, double *out);

/* Gaussian points shared by everyone: (STAIR_QMC_SHIFTS, dim, STAIR_QMC_TABLE), one random shift of the
 * lattice each, in an order whose first 2^k points are a lattice too.  Built once per dimension; NULL without
 * memory. */
#define STAIR_QMC_SHIFTS 8    /* tables of a dimension */
#define STAIR_QMC_TABLE  4096 /* points of each; a power of two */
#define STAIR_QMC_DIM    128  /* most dimensions: above STAIR_MAX_DIM */
const double *stair_qmc_normals(int dim);

#endif
