/* Sums over hidden nodes of one sample, as posterior/one_row_hot.c has them, for two tokens, in double
 * precision:
 *
 *   e+- = factor exp(log weight - |+-w - omega|^2 / 2v),   sums of e, e r, e r r^T for r = +-w - omega,
 * and of (e+ + e-) s, s s^T for each hidden row's s = z - omega.
 *
 * A sample is packed as x (2), omega (2), hidden (rows, 2).  Threads of a block take nodes in turn; their
 * sums are added by a fixed tree. */
#ifndef STAIR_KERNELS_ONE_ROW_H
#define STAIR_KERNELS_ONE_ROW_H

#include "kernels/mixing.h"

#define STAIR_ONE_ROW_NONE       -600.0                 /* exponents below count for nothing */
#define STAIR_ONE_ROW_CARD(rows) (1 + 5 * ((rows) + 1)) /* sums */

/* Adds what a node with last row w has of the sums of the last row, both signs; returns e+ + e-. */
STAIR_HD double stair_hd_one_row_last(const double *sample, double half_inverse, const double w[2],
                                      double log_weight, double factor, double *acc)
{
    double p0 = w[0] - sample[2], p1 = w[1] - sample[3], m0 = -w[0] - sample[2], m1 = -w[1] - sample[3];
    double plus = log_weight - half_inverse * (p0 * p0 + p1 * p1),
           minus = log_weight - half_inverse * (m0 * m0 + m1 * m1);
    if (!(plus > STAIR_ONE_ROW_NONE) && !(minus > STAIR_ONE_ROW_NONE)) return 0;
    plus = plus > STAIR_ONE_ROW_NONE ? factor * exp(plus) : 0;
    minus = minus > STAIR_ONE_ROW_NONE ? factor * exp(minus) : 0;
    acc[0] += plus + minus;
    acc[1] += plus * p0 + minus * m0;
    acc[2] += plus * p1 + minus * m1;
    acc[3] += plus * p0 * p0 + minus * m0 * m0;
    acc[4] += plus * p1 * p0 + minus * m1 * m0;
    acc[5] += plus * p1 * p1 + minus * m1 * m1;
    return plus + minus;
}

/* away (rows, 2): z - omega; first: sums of `away` are wanted, and not only their squares. */
STAIR_HD void stair_hd_one_row_add(const int rows, const int first, const double *sample, double half_inverse,
                                   const double w[2], const double *away, double log_weight, double factor,
                                   double *acc)
{
    double both = stair_hd_one_row_last(sample, half_inverse, w, log_weight, factor, acc);
    if (both == 0) return;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < rows; k++) {
        double a = away[2 * k], b = away[2 * k + 1], *at = acc + 6 + 5 * k;
        if (first) {
            at[0] += both * a;
            at[1] += both * b;
        }
        at[2] += both * a * a;
        at[3] += both * b * a;
        at[4] += both * b * b;
    }
}

/* Node of a table in blocks of 64: log weight, T (2, 2), z (rows, 2). */
STAIR_HD void stair_hd_one_row_read(const int rows, const double *table, int node, double *to)
{
    const double *at = table + (long)(node / 64) * (5 + 2 * rows) * 64 + node % 64;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int c = 0; c < 5 + 2 * rows; c++) to[c] = at[64 * c];
}

/* That node for one sample. */
STAIR_HD void stair_hd_one_row_table(const int rows, const double *node, const double *sample,
                                     double half_inverse, double *acc)
{
    double w[2] = {node[1] * sample[0] + node[2] * sample[1], node[3] * sample[0] + node[4] * sample[1]};
    stair_hd_one_row_add(rows, 0, sample, half_inverse, w, node + 5, node[0], 1, acc);
}

/* Node x (rows, 2), standard deviations of the prior from the means; the map of hidden layers is at hand. */
STAIR_HD void stair_hd_one_row_move(const stair_mixing *mixing, const int rows, const double *deviation,
                                    const double *x, double log_measure, const double *sample,
                                    double half_inverse, double *acc)
{
    double u[2 * STAIR_MIXING_ROWS], away[2 * STAIR_MIXING_ROWS], w[2] = {sample[0], sample[1]};
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < 2 * rows; k++) {
        away[k] = deviation[k / 2] * x[k];
        u[k] = sample[4 + k] + away[k];
    }
    double weight = stair_hd_unmix(mixing, rows, u, w);
    stair_hd_one_row_add(rows, 1, sample, half_inverse, w, away, log_measure, weight, acc);
}

/* A plane of fixed nodes (low + i step, low + j step), in cells of 4 x 4: log weight and T (2, 2) of each
 * cell, 16 numbers each. */
typedef struct {
    double low, step;
    int side; /* cells of a row */
} stair_one_row_grid;

/* Cells along one axis within `reach` of the mean: from .. to - 1. */
STAIR_HD void stair_hd_one_row_range(const stair_one_row_grid *g, double mean, double reach, int *from,
                                     int *to)
{
    double a = (mean - reach - g->low) / (4 * g->step), b = (mean + reach - g->low) / (4 * g->step);
    *from = a < 0 ? 0 : a < g->side ? (int)a : g->side;
    *to = 1 + (b < 0 ? 0 : b < g->side ? (int)b : g->side);
    if (*to > g->side) *to = g->side;
}

/* Node (i, j) of the plane; the prior is exp(-prior |z - mean|^2). */
STAIR_HD void stair_hd_one_row_fixed(const stair_one_row_grid *g, const double *nodes, int i, int j,
                                     double prior, const double *sample, double half_inverse, double *acc)
{
    const double *cell = nodes + ((long)(i / 4) * g->side + j / 4) * 80 + (i % 4) * 4 + j % 4;
    double away[2] = {g->low + i * g->step - sample[4], g->low + j * g->step - sample[5]};
    double w[2] = {cell[16] * sample[0] + cell[32] * sample[1], cell[48] * sample[0] + cell[64] * sample[1]};
    stair_hd_one_row_add(1, 1, sample, half_inverse, w, away,
                         cell[0] - prior * (away[0] * away[0] + away[1] * away[1]), 1, acc);
}

#endif
