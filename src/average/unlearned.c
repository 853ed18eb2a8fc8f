/* The weak-recovery operator on what is not learned, as numbers of an average:
 *
 *   F(X)_ij = sum_ab sum_kl E[ G_ik,ab X_kl G_jl,ab ],   G = U^T dg U,   U (P, kernel) the basis.
 *
 * Coordinates of X.  Few unlearned directions: its entries (i, j), i >= j, kernel (kernel + 1) / 2 of them.
 * Many: the overlaps that the symmetries of the model leave free, X = U^T (sum_c x_c B_c) U with B_c the
 * entries (i, j) of class c, which is all that the leading eigenvector can have; F(X) is averaged over each
 * class. */
#include <string.h>

#include "average/average.h"

void stair_subspace_set(const stair_structure *structure, const double *q, const double *basis, int kernel,
                        stair_subspace *rest)
{
    int p = structure->model->info.indices, rows = 0;
    rest->basis = basis;
    for (int i = 0; i < p; i++) {
        rest->inside[i] = true;
        for (int j = 0; j < p; j++) rest->inside[i] &= q[i * p + j] == 0;
        rest->apart[i] = structure->symmetry.even[i] && rest->inside[i];
        rows += rest->inside[i];
    }
    rest->whole = rows == kernel; /* else q annihilates combinations of rows, too */
}

/* g (kernel, kernel) = U^T dg_ab U for tokens a and b; dg does not mix rows that are apart. */
static void project_tokens(const stair_average *average, const stair_subspace *rest, int m, int a, int b,
                           const double *dg, double *g)
{
    int p = average->indices, k = average->kernel, pm = p * m;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            double sum = 0;
            for (int r = 0; r < p; r++)
                for (int s = 0; s < p; s++)
                    if (r == s || (!rest->apart[r] && !rest->apart[s]))
                        sum += rest->basis[r * k + i] * dg[(r * m + a) * pm + s * m + b] *
                               rest->basis[s * k + j];
            g[i * k + j] = sum;
        }
}

/* l (P, P) = U U^T dg_ab U U^T, which is dg_ab itself on rows that the subspace has whole. */
static void lift_tokens(const stair_average *average, const stair_subspace *rest, int m, int a, int b,
                        const double *dg, double *l)
{
    int p = average->indices, pm = p * m;
    double g[STAIR_SQUARE];
    if (!rest->whole) {
        project_tokens(average, rest, m, a, b, dg, g);
        stair_spectral_lift(p, average->kernel, rest->basis, g, l);
        return;
    }
    for (int r = 0; r < p; r++)
        for (int s = 0; s < p; s++)
            l[r * p + s] =
                rest->inside[r] && rest->inside[s] && (r == s || (!rest->apart[r] && !rest->apart[s]))
                    ? dg[(r * m + a) * pm + s * m + b]
                    : 0;
}

/* Pairs (ij) by (kl), symmetrised over k, l. */
static void add_by_pairs(const stair_average *average, const double *g, double *out)
{
    int k = average->kernel, pairs = average->coordinates;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < k; c++)
                for (int d = 0; d < k; d++)
                    out[stair_packed(i, j) * pairs + stair_packed(c, d)] +=
                        0.5 * (g[i * k + c] * g[j * k + d] + g[i * k + d] * g[j * k + c]) / (c == d ? 1 : 2);
}

/* Class by class: the mean over entries (i, j) of one of the sum over entries (k, l) of the other. */
static void add_by_symmetry(const stair_average *average, const double *l, double *out)
{
    const stair_symmetry *s = &average->structure->symmetry;
    int p = average->indices, count = average->coordinates;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            int to = s->pair[i * p + j];
            for (int r = 0; r < p && to >= 0; r++)
                for (int t = 0; t < p && l[i * p + r] != 0; t++)
                    if (s->pair[r * p + t] >= 0)
                        out[to * count + s->pair[r * p + t]] += l[i * p + r] * l[j * p + t] / s->size[to];
        }
}

void stair_average_operator(const stair_average *average, const stair_subspace *rest, int m, const double *dg,
                            double *out)
{
    double g[STAIR_SQUARE];
    memset(out, 0, sizeof(double) * (size_t)(average->coordinates * average->coordinates));
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++) {
            if (average->by_symmetry) {
                lift_tokens(average, rest, m, a, b, dg, g);
                add_by_symmetry(average, g, out);
            } else {
                project_tokens(average, rest, m, a, b, dg, g);
                add_by_pairs(average, g, out);
            }
        }
}

static void apply_by_pairs(const stair_average *average, const double *op, const double *x, double *out)
{
    int k = average->kernel, pairs = average->coordinates;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int a = 0; a < k; a++)
                for (int b = 0; b < k; b++)
                    sum += op[stair_packed(i, j) * pairs + stair_packed(a, b)] * x[a * k + b];
            out[i * k + j] = out[j * k + i] = sum;
        }
}

static void apply_by_symmetry(const stair_average *average, const double *op, const double *basis,
                              const double *x, double *out)
{
    const stair_symmetry *s = &average->structure->symmetry;
    int p = average->indices, count = average->coordinates;
    double full[STAIR_SQUARE], coordinate[STAIR_MOST_OVERLAPS] = {0}, image[STAIR_MOST_OVERLAPS] = {0};
    stair_spectral_lift(p, average->kernel, basis, x, full);
    for (int e = 0; e < p * p; e++)
        if (s->pair[e] >= 0) coordinate[s->pair[e]] += full[e] / s->size[s->pair[e]];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) image[i] += op[i * count + j] * coordinate[j];
    for (int e = 0; e < p * p; e++) full[e] = s->pair[e] >= 0 ? image[s->pair[e]] : 0;
    stair_spectral_project(p, average->kernel, basis, full, out);
}

void stair_average_apply(const stair_average *average, int r, const double *basis, const double *x,
                         double *out)
{
    const double *op = stair_average_row(average, r) + average->indices * (average->indices + 1) / 2 + 1;
    if (average->by_symmetry)
        apply_by_symmetry(average, op, basis, x, out);
    else
        apply_by_pairs(average, op, x, out);
}

/* Sum over i of what F makes of direction i alone: bias of random nodes shows there. */
double stair_average_operator_trace(const stair_average *average, const double *op)
{
    double trace = 0;
    if (average->by_symmetry)
        for (int c = 0; c < average->coordinates; c++) trace += op[c * (average->coordinates + 1)];
    else
        for (int i = 0; i < average->kernel; i++)
            trace += op[stair_packed(i, i) * (average->coordinates + 1)];
    return trace;
}
