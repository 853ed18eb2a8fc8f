/* One hidden node of average/hidden_means.c, for a label and for a hidden mean, in single precision:
 *
 *   exponent = log weight - min |+-T x - omega|^2 / 2v,   carried = (e+ + e-), e r, (e+ + e-) u or u u^T,
 *   A = exp(-|u - nu|^2 / 2V), or exp(base + u . nu / V + constant) where nodes are random.
 *
 * A block of threads has one label and the nodes of one half; sums are over runs of nodes, one a thread, and
 * then over threads in order. */
#ifndef STAIR_KERNELS_MEANS_H
#define STAIR_KERNELS_MEANS_H

#include "kernels/hd.h"

#define STAIR_MEANS_ROWS 3  /* hidden rows, at most */
#define STAIR_MEANS_WIDE 32 /* floats of a node that counts, at most: u, base, what is carried */

/* A label: x, omega, 1/2v. */
typedef struct {
    float x[2], omega[2], half_inverse;
} stair_means_seen;

typedef struct {
    int rows, sums, known[STAIR_MEANS_ROWS]; /* hidden rows; numbers carried; rows with overlap */
    int dims, axis[2 * STAIR_MEANS_ROWS];    /* coordinates of rows with overlap */
    int wide;                                /* floats of a node that counts, a multiple of 4 */
} stair_means_form;

/* t (2, 2) */
STAIR_HD float stair_hd_means_exponent(const stair_means_seen *label, float log_weight, const float t[4])
{
    float w0 = t[0] * label->x[0] + t[1] * label->x[1], w1 = t[2] * label->x[0] + t[3] * label->x[1];
    float a0 = w0 - label->omega[0], a1 = w1 - label->omega[1], b0 = w0 + label->omega[0],
          b1 = w1 + label->omega[1];
    return log_weight - label->half_inverse * fminf(a0 * a0 + a1 * a1, b0 * b0 + b1 * b1);
}

/* out (wide): coordinates with overlap, base, carried. */
STAIR_HD void stair_hd_means_carry(const stair_means_form *form, const stair_means_seen *label,
                                   float log_weight, const float t[4], const float *u, float base, float top,
                                   float *out)
{
    float w0 = t[0] * label->x[0] + t[1] * label->x[1], w1 = t[2] * label->x[0] + t[3] * label->x[1];
    float p0 = w0 - label->omega[0], p1 = w1 - label->omega[1], m0 = -w0 - label->omega[0],
          m1 = -w1 - label->omega[1];
    float plus = expf(log_weight - top - label->half_inverse * (p0 * p0 + p1 * p1)),
          minus = expf(log_weight - top - label->half_inverse * (m0 * m0 + m1 * m1)), both = plus + minus;
    int at = 0;
    for (int d = 0; d < form->dims; d++) out[at++] = u[form->axis[d]];
    out[at++] = base;
    out[at++] = both;
    out[at++] = plus * p0 + minus * m0;
    out[at++] = plus * p1 + minus * m1;
    for (int row = 0; row < form->rows; row++) {
        float a = u[2 * row], b = u[2 * row + 1];
        if (form->known[row]) {
            out[at++] = both * a;
            out[at++] = both * b;
        } else {
            out[at++] = both * a * a;
            out[at++] = both * a * b;
            out[at++] = both * b * b;
        }
    }
}

/* A of a random node; omega (dims): means in units of the variance. */
STAIR_HD float stair_hd_means_random(const int dims, const float *node, const float *omega, float constant)
{
    float e = constant + node[dims];
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int d = 0; d < dims; d++) e += node[d] * omega[d];
    return expf(e);
}

/* A of a node of the plane.  The mean is high + low: it was known to more digits. */
STAIR_HD float stair_hd_means_plane(const float *node, const float high[2], const float low[2], float inverse)
{
    float a = (node[0] - high[0]) - low[0], b = (node[1] - high[1]) - low[1];
    return expf(-inverse * (a * a + b * b));
}

/* Whether a node may count for a mean within `radius` of the centre: A above exp(-most). */
STAIR_HD int stair_hd_means_close(const float *node, const float centre[2], float radius)
{
    float a = node[0] - centre[0], b = node[1] - centre[1];
    return a * a + b * b < radius * radius;
}

#endif
