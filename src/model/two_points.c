/* A label that leaves one sign open:  Z = +-r,  prior N(omega, v 1), M tokens.  With t = r.omega / v
 *
 *   log Z = -(M/2) log(2 pi v) - (|r|^2 + |omega|^2) / (2 v) + log cosh t
 *   E[Z]  = r tanh t,        Cov = r r^T / cosh^2 t,
 *   g     = (E[Z] - omega) / v,      dg = Cov / v^2 - 1 / v.
 *
 * Written from the likelier of the two points, s r with s = sign t, and e = exp(-2 |t|), so that nothing
 * cancels where v is small:  |r|^2 + |omega|^2 - 2 |t| v = |s r - omega|^2,  tanh |t| = 1 - 2 e / (1 + e). */
#include "model/two_points.h"

#include <math.h>

void stair_two_points(int m, const double *root, const double *omega, double variance, int stride,
                      double *logz, double *g, double *dg)
{
    double dot = 0, distance2 = 0;
    for (int i = 0; i < m; i++) dot += root[i] * omega[i];
    double sign = dot < 0 ? -1 : 1, other = exp(-2 * fabs(dot) / variance);
    double less = 2 * other / (1 + other), square = 4 * other / ((1 + other) * (1 + other));
    for (int i = 0; i < m; i++) {
        double away = sign * root[i] - omega[i];
        distance2 += away * away;
        g[i] = (away - sign * less * root[i]) / variance;
        for (int j = 0; j < m; j++)
            dg[i * stride + j] = (square * root[i] * root[j] / variance - (i == j)) / variance;
    }
    *logz = -0.5 * m * log(2 * M_PI * variance) - 0.5 * distance2 / variance + log1p(other) - M_LN2;
}
