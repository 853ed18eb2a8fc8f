/*   P = Phi(b) - Phi(a),   mean = (phi(a) - phi(b)) / P,   variance = 1 + (a phi(a) - b phi(b)) / P - mean^2
 *
 * with phi(a) taken out as a factor where the interval is on one side of zero, so that nothing underflows,
 * and by Gauss-Legendre nodes where it is so narrow that the differences would cancel. */
#include "channel/normal.h"

#include <math.h>

enum { NODES = 16 }; /* exact to rounding while density changes by e^4 at most */

double stair_erfcx(double x)
{
    if (x < 8) return exp(x * x) * erfc(x);
    double sum = 1, term = 1, y = 1 / (2 * x * x); /* asymptotic: its smallest term is below 1e-20 */
    for (int k = 1; k <= 20; k++) sum += term *= -(2 * k - 1) * y;
    return sum / (x * sqrt(M_PI));
}

void stair_gauss_legendre(int n, double *node, double *weight)
{
    for (int i = 0; i < n; i++) {
        double x = cos(M_PI * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int step = 0; step < 60; step++) {
            double before = 1, now = x;
            for (int k = 2; k <= n; k++) {
                double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
                before = now;
                now = next;
            }
            slope = n * (x * now - before) / (x * x - 1);
            double move = now / slope;
            x -= move;
            if (fabs(move) < 1e-16) break;
        }
        node[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

static stair_truncated narrow_interval(double a, double b)
{
    double node[NODES], weight[NODES], middle = 0.5 * (a + b), half = 0.5 * (b - a), sum[3] = {0};
    stair_gauss_legendre(NODES, node, weight);
    for (int i = 0; i < NODES; i++) { /* counted from the middle, whose density is taken out */
        double x = half * node[i], mass = weight[i] * exp(-x * (middle + 0.5 * x));
        sum[0] += mass;
        sum[1] += mass * x;
        sum[2] += mass * x * x;
    }
    double mean = sum[1] / sum[0];
    return (stair_truncated){.logmass = log(half * sum[0]) - 0.5 * middle * middle - 0.5 * log(2 * M_PI),
                             .mean = middle + mean,
                             .variance = fmax(0, sum[2] / sum[0] - mean * mean)};
}

/* 0 <= a < b, both in units of phi(a). */
static stair_truncated one_side(double a, double b)
{
    double end = isinf(b) ? 0 : exp(0.5 * (a - b) * (a + b));
    double scaled =
        sqrt(M_PI_2) * (stair_erfcx(a * M_SQRT1_2) - (end > 0 ? end * stair_erfcx(b * M_SQRT1_2) : 0));
    double mean = (1 - end) / scaled, slope = (a - (end > 0 ? b * end : 0)) / scaled;
    return (stair_truncated){.logmass = log(scaled) - 0.5 * a * a - 0.5 * log(2 * M_PI),
                             .mean = mean,
                             .variance = fmax(0, 1 + slope - mean * mean)};
}

static double density(double x)
{
    return isinf(x) ? 0 : exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

stair_truncated stair_normal_between(double a, double b)
{
    if (isinf(a) && isinf(b)) return (stair_truncated){.variance = 1};
    if (!isinf(a) && !isinf(b) && (b - a) * (1 + fmax(fabs(a), fabs(b))) < 2) return narrow_interval(a, b);
    if (a >= 0) return one_side(a, b);
    if (b <= 0) {
        stair_truncated t = one_side(-b, -a);
        t.mean = -t.mean;
        return t;
    }
    double mass = 0.5 * (erf(b * M_SQRT1_2) - erf(a * M_SQRT1_2)), low = density(a), high = density(b);
    double mean = (low - high) / mass;
    double slope = ((isinf(a) ? 0 : a * low) - (isinf(b) ? 0 : b * high)) / mass;
    return (stair_truncated){
        .logmass = log(mass), .mean = mean, .variance = fmax(0, 1 + slope - mean * mean)};
}
