/* Small dense matrices, row-major, n up to a few dozen: what LAPACK is too heavy for.
 *
 * Cholesky factors and their inverses are computed in extended precision: a covariance with
 * eigenvalues 1 and 1e-10 would otherwise lose six of its digits here. */
#ifndef STAIR_CORE_MATRIX_H
#define STAIR_CORE_MATRIX_H

#include <stdbool.h>

/* lower (n, n) with lower lower^T = a, upper part zero.  False when a is not positive definite.  This and the
 * two after it need memory for more than 32 rows, and are false without. */
bool stair_matrix_cholesky(int n, const double *a, double *lower);

/* lower as above, its inverse (n, n), and the logarithm of its determinant, half that of a.  The inverse is
 * that of the factor before it is rounded to double. */
bool stair_matrix_whiten(int n, const double *a, double *lower, double *inverse, double *half_logdet);

/* values ascending, vectors (n, n) in columns: a = vectors diag(values) vectors^T.  Jacobi.  When
 * false, values are NaN. */
bool stair_matrix_eigen(int n, const double *a, double *values, double *vectors);

/* x (n, columns) with a x = b, by elimination with partial pivoting; |det a| if asked.  False when
 * singular.  a is overwritten, b becomes x. */
bool stair_matrix_solve(int n, double *a, int columns, double *b, double *det);

/* Rows of a (n, n) made orthonormal, in order; of a Gaussian matrix this is a Haar rotation. */
void stair_matrix_orthonormalise(int n, double *a);

/* The orthogonal matrix r (n, n) that maximises tr(r^T k) with det r of the given sign (+1, -1); n up to 32.
 */
void stair_matrix_procrustes(int n, const double *k, int sign, double *r);

bool stair_matrix_is_diagonal(int n, const double *a); /* up to 1e-12 */

#endif
