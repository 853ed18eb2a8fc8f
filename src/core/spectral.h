/* Functions of symmetric matrices, and matrices on a subspace. */
#ifndef STAIR_CORE_SPECTRAL_H
#define STAIR_CORE_SPECTRAL_H

typedef double stair_scalar_map(double x, double parameter);

/* out (n, n): the symmetric a (n, n) with its eigenvalues x replaced by map(x, parameter). */
void stair_spectral_map(int n, const double *a, stair_scalar_map *map, double parameter, double *out);

/* out (n, n) from eigenvalues (n) and eigenvectors (n, n) in columns, as stair_matrix_eigen gives them. */
void stair_spectral_compose(int n, const double *values, const double *vectors, double *out);

/* root and inverse (n, n): the symmetric square root of a and its inverse, eigenvalues counting as at least
 * `least`; those not above `known` have no part in the inverse. */
void stair_spectral_roots(int n, const double *a, double least, double known, double *root, double *inverse);

/* out (k, k) = u^T a u, a (p, p), u (p, k) */
void stair_spectral_project(int p, int k, const double *u, const double *a, double *out);

/* out (p, p) = u a u^T, a (k, k), u (p, k) */
void stair_spectral_lift(int p, int k, const double *u, const double *a, double *out);

int stair_packed(int i, int j); /* place of entry (i, j) of a symmetric matrix among those with i >= j */

/* sqrt(max(0, x + shift)), for symmetric square roots: eigenvalues below zero by rounding count as zero. */
double stair_shifted_root(double x, double shift);

#endif
