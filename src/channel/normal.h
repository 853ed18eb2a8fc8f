/* A standard normal cut off to an interval: mass and moments, stable far out in its tails. */
#ifndef STAIR_CHANNEL_NORMAL_H
#define STAIR_CHANNEL_NORMAL_H

typedef struct {
    double logmass;        /* log P(a < x < b) */
    double mean, variance; /* of x given a < x < b */
} stair_truncated;

/* a < b; either may be infinite. */
stair_truncated stair_normal_between(double a, double b);

/* exp(x^2) erfc(x), x >= 0 */
double stair_erfcx(double x);

/* Nodes and weights of Gauss-Legendre on (-1, 1), n up to 32. */
void stair_gauss_legendre(int n, double *node, double *weight);

#endif
