/* What the two estimators of prediction errors share: Gaussian fields and averages of squared distances.
 *
 * There are two, for they estimate different things.  In state evolution (errors.c) teacher and posterior are
 * exchangeable given omega: M = Q and V = 1 - Q, so the Bayes error is half the squared distance of two
 * posterior draws, which is never negative and exact at perfect recovery.  A run (gamp/measure.c) has M, Q
 * and V of its own, which agree only as D grows; its error is a sum of three terms that cancel, over Z and
 * omega drawn jointly.  Where M = Q and V = 1 - Q both have the same mean. */
#ifndef STAIR_ASYMPTOTICS_PREDICTION_H
#define STAIR_ASYMPTOTICS_PREDICTION_H

#include <stdbool.h>

/* out (n, M) = base (n, M) + a (n, n) normals (n, M); base may be NULL; lower: a is zero above its diagonal
 */
void stair_prediction_spread(int n, int m, const double *a, bool lower, const double *base,
                             const double *normals, double *out);

/* sum += scale |a - b|^2 for outputs a, b (K) */
void stair_prediction_add(int outputs, double scale, const double *a, const double *b, double *sum);

/* Mean over replicates, and its error. */
void stair_prediction_average(int replicates, const double *values, double *mean, double *error);

#endif
