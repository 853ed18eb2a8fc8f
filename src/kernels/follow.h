/* Hidden nodes that follow a sample, as stair_one_row_placed of posterior/one_row_hot.c makes them: around
 * the sample's posterior or all over the prior, each for all signs of its rows; and what such a node adds.
 *
 * With c = u.omega/v of each row the prior of +-u is exp(-(|u|^2 + |omega|^2)/2v) 2 cosh c, and tanh c the
 * mean sign.  Around its centre u = centre + root x, where the last axes give way to the first `soft` ones by
 * a quadratic form, which leaves volumes as they are. */
#ifndef STAIR_KERNELS_FOLLOW_H
#define STAIR_KERNELS_FOLLOW_H

#include "kernels/one_row.h"

#define STAIR_FOLLOW_DIM    (2 * STAIR_MIXING_ROWS) /* coordinates of hidden rows */
#define STAIR_FOLLOW_BENDS  20    /* pairs of soft axes times stiff ones: 10 x 2 for three rows */
#define STAIR_FOLLOW_LEVELS 5     /* of nodes: a first look, then from fewest to all */
#define STAIR_FOLLOW_SETS   64    /* of nodes; those of higher levels are shared by 1, 1, 2, 4, 8 */
#define STAIR_FOLLOW_MOST   600.0 /* logarithm of a ratio of densities, */
#define STAIR_FOLLOW_LEAST  -25.0 /* beside 1 */

typedef struct {
    double centre[STAIR_FOLLOW_DIM], root[STAIR_FOLLOW_DIM * STAIR_FOLLOW_DIM];
    double whiten[STAIR_FOLLOW_DIM * STAIR_FOLLOW_DIM], bend[STAIR_FOLLOW_BENDS];
    double inverse2[STAIR_MIXING_ROWS]; /* 1 / variance of each row */
    double wider, log_ratio;
} stair_follow;

/* Sets that share the nodes of a level. */
STAIR_HD int stair_hd_follow_alike(int level)
{
    return level ? 1 << (level - 1) : 1;
}

/* The level that the halves of a first look ask for: masses one and two of it. */
STAIR_HD int stair_hd_follow_level(double one, double two, double agreed, int disagree)
{
    double apart = fabs(log(one / two)), limit = agreed;
    int level = 1;
    for (; level < STAIR_FOLLOW_LEVELS - 1 && !(apart < limit); limit *= disagree) level++;
    return level;
}

STAIR_HD void stair_hd_follow_bend(const int rows, const double *bend, double sign, double *x)
{
    const int soft = 2 * rows - 2;
    int at = 0;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int a = 0; a < soft; a++)
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
        for (int b = 0; b <= a; b++) {
            double product = sign * x[a] * x[b];
            x[soft] += bend[at++] * product;
            x[soft + 1] += bend[at++] * product;
        }
}

/* |x|^2 of node u with the signs of its rows from the bits of `mirror`. */
STAIR_HD double stair_hd_follow_square(const int rows, const stair_follow *f, int mirror, const double *u)
{
    const int dim = 2 * rows;
    double x[STAIR_FOLLOW_DIM], away[STAIR_FOLLOW_DIM], square = 0;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < dim; k++) away[k] = (mirror >> (k / 2) & 1 ? -u[k] : u[k]) - f->centre[k];
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < dim; k++) {
        x[k] = 0;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
        for (int l = 0; l < dim; l++) x[k] += f->whiten[k * dim + l] * away[l];
    }
    stair_hd_follow_bend(rows, f->bend, 1, x);
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < dim; k++) square += x[k] * x[k];
    return square;
}

/* Node u (rows, 2) and the mean signs of its rows from normal x; returns the prior of all signs in units of
 * the density that nodes have there.  mean (rows, 2). */
STAIR_HD double stair_hd_follow_place(const int rows, const stair_follow *f, int around,
                                      const double *deviation, const double *mean, const double *normal,
                                      double *u, double *side)
{
    const int dim = 2 * rows;
    double x[STAIR_FOLLOW_DIM], far = f->log_ratio, fold = 1, near = 0;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < dim; k++) x[k] = around ? f->wider * normal[k] : normal[k];
    if (around) stair_hd_follow_bend(rows, f->bend, -1, x);
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < dim; k++) {
        u[k] = around ? f->centre[k] : mean[k] + deviation[k / 2] * x[k];
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
        for (int l = 0; l < dim; l++) u[k] += around ? f->root[k * dim + l] * x[l] : 0;
    }
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int r = 0; r < rows; r++) {
        double a = u[2 * r], b = u[2 * r + 1], c = mean[2 * r], d = mean[2 * r + 1];
        double along = f->inverse2[r] * (a * c + b * d), small = exp(-2 * fabs(along));
        far += 0.5 * f->inverse2[r] * (a * a + b * b + c * c + d * d) - fabs(along);
        fold *= 1 + small;
        side[r] = (1 - small) / (1 + small) * (along < 0 ? -1 : 1);
    }
    for (int mirror = 0; mirror < 1 << rows; mirror++) {
        double ratio = far - 0.5 / (f->wider * f->wider) * stair_hd_follow_square(rows, f, mirror, u);
        if (ratio > STAIR_FOLLOW_LEAST) near += exp(fmin(ratio, STAIR_FOLLOW_MOST));
    }
    return fold / (fold + near);
}

/* Node `normal` (rows, 2) of `count` for one sample. */
STAIR_HD void stair_hd_follow_add(const stair_mixing *mixing, const int rows, const stair_follow *f,
                                  int around, const double *deviation, const double *normal, double count,
                                  const double *sample, double half_inverse, double *acc)
{
    double u[STAIR_FOLLOW_DIM], side[STAIR_MIXING_ROWS], w[2] = {sample[0], sample[1]};
    double share = stair_hd_follow_place(rows, f, around, deviation, sample + 4, normal, u, side);
    double factor = stair_hd_unmix(mixing, rows, u, w) * share / count;
    double both = stair_hd_one_row_last(sample, half_inverse, w, 0, factor, acc);
    if (both == 0) return;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < rows; k++) {
        double a = u[2 * k], b = u[2 * k + 1], *at = acc + 6 + 5 * k;
        double x = side[k] * a - sample[4 + 2 * k], y = side[k] * b - sample[5 + 2 * k],
               rest = both * (1 - side[k] * side[k]);
        at[0] += both * x;
        at[1] += both * y;
        at[2] += both * x * x + rest * a * a;
        at[3] += both * y * x + rest * b * a;
        at[4] += both * y * y + rest * b * b;
    }
}

#endif
