/* F(X)_ij = sum_ab sum_kl E[G_ik,ab X_kl G_jl,ab] maps positive matrices to positive ones, so by Perron
 * and Frobenius its largest eigenvalue has an eigenvector X >= 0.  F is self-adjoint in the Frobenius
 * product.  Starting from the identity, as side information does, the power method finds the X whose
 * range is the subspace that is learned first, also when the eigenvalue is degenerate. */
#include "asymptotics/operator.h"

#include <math.h>
#include <string.h>

static const struct {
    int most_steps; /* of the power method */
    double settled; /* change of the eigenvector at which it ends */
} tuning = {.most_steps = 100000, .settled = 1e-13};

static double product(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

void stair_operator_leading(const stair_average *outer, const stair_symmetry *symmetry, const double *basis,
                            stair_leading *leading)
{
    int k = outer->kernel, p = outer->indices, n = k * k;
    double x[STAIR_MOST_KERNEL * STAIR_MOST_KERNEL] = {0}, y[STAIR_MOST_KERNEL * STAIR_MOST_KERNEL],
                                 full[STAIR_SQUARE];
    memset(leading, 0, sizeof *leading);
    if (!k) return;
    for (int i = 0; i < k; i++) x[i * (k + 1)] = 1 / sqrt(k);
    for (int step = 0; step < tuning.most_steps; step++) {
        stair_average_apply(outer, -1, x, y);
        stair_spectral_lift(p, k, basis, y, full);
        stair_symmetrise(symmetry, full);
        stair_spectral_project(p, k, basis, full, y);
        double norm = sqrt(product(n, y, y)), moved = 0;
        if (!(norm > 1e-14)) break; /* F = 0: nothing is ever learned */
        for (int i = 0; i < n; i++) {
            moved = fmax(moved, fabs(y[i] / norm - x[i]));
            x[i] = y[i] / norm;
        }
        if (moved < tuning.settled) break;
    }
    stair_average_apply(outer, -1, x, y);
    leading->value = product(n, x, y);
    for (int r = 0; r < outer->replicates; r++) {
        stair_average_apply(outer, r, x, y);
        leading->by_replicate[r] = product(n, x, y);
    }
    leading->error = hypot(stair_average_spread(outer, leading->by_replicate), outer->bias * leading->value);
    double trace = 0;
    for (int i = 0; i < k; i++) trace += x[i * (k + 1)];
    for (int i = 0; i < n; i++) x[i] /= trace;
    stair_spectral_lift(p, k, basis, x, leading->x);
}
