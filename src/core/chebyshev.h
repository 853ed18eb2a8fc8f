/* Smooth curves through noisy values: Chebyshev polynomials with a prior that says how fast coefficients
 * fall.
 *
 * Term 0 is free, term a >= 1 is of the size 0.3 0.4^(a - 1) or less on a whole branch, smaller in
 * proportion on a short piece of one; where the values show larger ones the prior is made as wide.  The slope
 * vanishes at z = -1, where every branch begins like a square.  The error is that of the posterior, enlarged
 * where values miss the fit by more than their own errors. */
#ifndef STAIR_CORE_CHEBYSHEV_H
#define STAIR_CORE_CHEBYSHEV_H

#define STAIR_CHEBYSHEV_TERMS 12 /* the last is expected to be 0.3 0.4^10 = 3e-5 of a whole branch */

typedef struct {
    double coefficient[STAIR_CHEBYSHEV_TERMS];
    double covariance[STAIR_CHEBYSHEV_TERMS * STAIR_CHEBYSHEV_TERMS];
} stair_chebyshev;

/* To n values with errors at places z in [-1, 1]; reach: the part of a whole branch that they cover. */
void stair_chebyshev_fit(double reach, int n, const double *z, const double *value, const double *error,
                         stair_chebyshev *fit);
double stair_chebyshev_value(const stair_chebyshev *fit, double z);
double stair_chebyshev_error(const stair_chebyshev *fit, double z);

#endif
