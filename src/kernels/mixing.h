/* Hidden layers of attention, two tokens and one row each, undone: x <- B_1^-1 ... B_n^-1 K x with
 *
 *   B_l = c 1 + softmax(h_l h_l^T),   h_l = B_{l-1} ... B_1 u_l,   weight = density / |det B_1 ... B_n|,
 *
 * which is model/attention_hot.c for one node, in double precision.  K and `density` are the caller's: with
 * K = H(anchor) the result is T(u) x of model/last_row.h. */
#ifndef STAIR_KERNELS_MIXING_H
#define STAIR_KERNELS_MIXING_H

#include "kernels/hd.h"

#define STAIR_MIXING_ROWS 3 /* hidden rows, at most */
#define STAIR_MIXING_SATURATED                                                                               \
    300.0                       /* logit beyond which a softmax of two is 0 or 1, its square being finite */
#define STAIR_MIXING_TINY 1e-60 /* |det| below stands for a singular mixing */

typedef struct {
    int rows, linear, literal; /* layers; identity in place of softmax; S transposed */
    double skip;               /* c */
    double k[4], density;
} stair_mixing;

/* b (2, 2) of layer `u` (2), mixed by h (2, 2), or by nothing where first. */
STAIR_HD void stair_hd_mixing(const stair_mixing *f, const double *u, int first, const double *h, double *b)
{
    double a = first ? u[0] : h[0] * u[0] + h[1] * u[1], d = first ? u[1] : h[2] * u[0] + h[3] * u[1];
    if (f->linear) {
        b[0] = a * a;
        b[1] = b[2] = a * d;
        b[3] = d * d;
    } else {
        double one = 1 + exp(fmin(a * a - a * d, STAIR_MIXING_SATURATED)),
               two = 1 + exp(fmin(d * d - a * d, STAIR_MIXING_SATURATED));
        double both = 1 / (one * two), o1 = two * both, o2 = one * both;
        b[0] = 1 - o1;
        b[1] = f->literal ? o2 : o1;
        b[2] = f->literal ? o1 : o2;
        b[3] = 1 - o2;
    }
    b[0] += f->skip;
    b[3] += f->skip;
}

/* x (2) at hidden rows u (rows, 2); returns the weight. */
STAIR_HD double stair_hd_unmix(const stair_mixing *f, const int rows, const double *u, double x[2])
{
    double b[4 * STAIR_MIXING_ROWS], h[4] = {1, 0, 0, 1}, weight = f->density;
    double top = f->k[0] * x[0] + f->k[1] * x[1], low = f->k[2] * x[0] + f->k[3] * x[1];
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int l = 0; l < rows; l++) {
        stair_hd_mixing(f, u + 2 * l, l == 0, h, b + 4 * l);
        double next[4] = {b[4 * l] * h[0] + b[4 * l + 1] * h[2], b[4 * l] * h[1] + b[4 * l + 1] * h[3],
                          b[4 * l + 2] * h[0] + b[4 * l + 3] * h[2],
                          b[4 * l + 2] * h[1] + b[4 * l + 3] * h[3]};
        for (int i = 0; i < 4; i++) h[i] = next[i];
    }
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int l = rows - 1; l >= 0; l--) {
        double det = b[4 * l] * b[4 * l + 3] - b[4 * l + 1] * b[4 * l + 2];
        if (!(fabs(det) > STAIR_MIXING_TINY)) det = STAIR_MIXING_TINY;
        double inverse = 1 / det, up = (b[4 * l + 3] * top - b[4 * l + 1] * low) * inverse;
        low = (b[4 * l] * low - b[4 * l + 2] * top) * inverse;
        top = up;
        weight *= inverse;
    }
    x[0] = top;
    x[1] = low;
    return fmin(fabs(weight), 1 / STAIR_MIXING_TINY);
}

#endif
