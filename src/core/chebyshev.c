/* Least squares with a Gaussian prior, by the normal equations: a dozen terms are few enough. */
#include "core/chebyshev.h"

#include <math.h>
#include <stddef.h>

#include "core/matrix.h"

enum { TERMS = STAIR_CHEBYSHEV_TERMS };

static const struct {
    double size, decay; /* of term a >= 1: size * decay^(a - 1).  On branches known to 1e-5 they fall faster,
                           by two and more */
    double free;        /* of term 0: anything */
    double whole;       /* part of a branch from which on it counts as whole */
    double no_slope;    /* what the slope at z = -1 may be */
    int widenings;      /* times that the prior is widened at most */
} tuning = {.size = 0.3, .decay = 0.4, .free = 10.0, .whole = 0.75, .no_slope = 1e-4, .widenings = 4};

static void polynomials(double z, double *t)
{
    for (int k = 0; k < TERMS; k++) t[k] = k == 0 ? 1 : k == 1 ? z : 2 * z * t[k - 1] - t[k - 2];
}

double stair_chebyshev_value(const stair_chebyshev *fit, double z)
{
    double t[TERMS], sum = 0;
    polynomials(z, t);
    for (int a = 0; a < TERMS; a++) sum += fit->coefficient[a] * t[a];
    return sum;
}

/* Size of coefficient a that is expected on a branch that goes `reach` of the way. */
static double expected_size(double reach, int a)
{
    double part = fmin(1, reach / tuning.whole);
    return a ? part * tuning.size * pow(part * tuning.decay, a - 1) : tuning.free;
}

/* Least squares with a prior for the coefficients, `wide` times the expected ones, the error enlarged where
 * nodes miss the fit by more than theirs. */
static void fit_with_prior(double reach, double wide, int n, const double *z, const double *value,
                           const double *error, stair_chebyshev *fit)
{
    double normal[TERMS * TERMS] = {0}, right[TERMS] = {0}, t[TERMS], chi = 0;
    for (int a = 0; a < TERMS; a++) normal[a * (TERMS + 1)] = pow(wide * expected_size(reach, a), -2);
    for (int i = 0; i < n; i++) {
        double weight = 1 / (error[i] * error[i]);
        polynomials(z[i], t);
        for (int a = 0; a < TERMS; a++) {
            right[a] += weight * t[a] * value[i];
            for (int b = 0; b < TERMS; b++) normal[a * TERMS + b] += weight * t[a] * t[b];
        }
    }
    /* no slope at z = -1, the step where the branch begins: all grows from there like x^2 */
    for (int a = 0; a < TERMS; a++)
        for (int b = 0; b < TERMS; b++)
            normal[a * TERMS + b] +=
                ((a + b) % 2 ? -1.0 : 1.0) * a * a * b * b / (tuning.no_slope * tuning.no_slope);
    for (int a = 0; a < TERMS * TERMS; a++) fit->covariance[a] = a % (TERMS + 1) == 0;
    stair_matrix_solve(TERMS, normal, TERMS, fit->covariance, NULL);
    for (int a = 0; a < TERMS; a++) {
        fit->coefficient[a] = 0;
        for (int b = 0; b < TERMS; b++) fit->coefficient[a] += fit->covariance[a * TERMS + b] * right[b];
    }
    for (int i = 0; i < n; i++) chi += pow((value[i] - stair_chebyshev_value(fit, z[i])) / error[i], 2);
    for (int a = 0; a < TERMS * TERMS; a++) fit->covariance[a] *= fmax(1, chi / n);
}

/* With a prior as wide as the coefficients turn out to be. */
void stair_chebyshev_fit(double reach, int n, const double *z, const double *value, const double *error,
                         stair_chebyshev *fit)
{
    double wide = 1;
    for (int k = 0; k < tuning.widenings; k++) {
        fit_with_prior(reach, wide, n, z, value, error, fit);
        double most = 0;
        for (int a = 1; a < TERMS; a++)
            most = fmax(most, fabs(fit->coefficient[a]) / expected_size(reach, a));
        if (most <= wide) return;
        wide = most;
    }
}

double stair_chebyshev_error(const stair_chebyshev *fit, double z)
{
    double t[TERMS], square = 0;
    polynomials(z, t);
    for (int a = 0; a < TERMS; a++)
        for (int b = 0; b < TERMS; b++) square += t[a] * t[b] * fit->covariance[a * TERMS + b];
    return sqrt(fmax(0, square));
}
