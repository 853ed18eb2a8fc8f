/* F(X)_ij = H sum_ab sum_kl E[G_ik,ab X_kl G_jl,ab], H blocks of the embedding (branch.h), maps positive
 * matrices to positive ones, so by Perron and Frobenius its largest eigenvalue has an eigenvector X >= 0.  F
 * is self-adjoint in the Frobenius product.  Starting from the identity, as side information does, the power
 * method finds the X whose range is the subspace that is learned first, also when the eigenvalue is
 * degenerate.
 *
 * The largest eigenvalue of an average is too large: X is chosen by the noise that it is then measured with,
 * the more so the closer other eigenvalues are.  X chosen by all replicates but one and measured with that
 * one knows nothing of its noise, and is too small if anything; how far apart the two are is part of the
 * error. */
#include "asymptotics/operator.h"

#include <math.h>
#include <string.h>

static const struct {
    int most_steps; /* of the power method */
    double settled; /* change of the eigenvector at which it ends */
    int few_steps;  /* of it from there on, with one replicate left out */
    double chosen;  /* errors by which the value may be too large before that is counted */
} tuning = {.most_steps = 100000, .settled = 1e-13, .few_steps = 100, .chosen = 0.5};

static double product(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* y = F(x), averaged over the symmetries; `without`: a replicate that is left out of the mean, or -1. */
static void apply(const stair_average *average, const stair_symmetry *symmetry, const double *basis,
                  int without, const double *x, double *y)
{
    int k = average->kernel, p = average->indices, count = average->replicates;
    double full[STAIR_SQUARE], one[STAIR_SQUARE];
    stair_average_apply(average, -1, basis, x, y);
    if (without >= 0) {
        stair_average_apply(average, without, basis, x, one);
        for (int i = 0; i < k * k; i++) y[i] = (count * y[i] - one[i]) / (count - 1);
    }
    stair_spectral_lift(p, k, basis, y, full);
    stair_symmetrise(symmetry, full);
    stair_spectral_project(p, k, basis, full, y);
}

/* x (kernel, kernel), of norm one, towards the leading eigenvector. */
static void iterate(const stair_average *average, const stair_symmetry *symmetry, const double *basis,
                    int without, int most, double *x)
{
    int n = average->kernel * average->kernel;
    double y[STAIR_SQUARE];
    for (int step = 0; step < most; step++) {
        apply(average, symmetry, basis, without, x, y);
        double norm = sqrt(product(n, y, y)), moved = 0;
        if (!(norm > 1e-14)) return; /* F = 0: nothing is ever learned */
        for (int i = 0; i < n; i++) {
            moved = fmax(moved, fabs(y[i] / norm - x[i]));
            x[i] = y[i] / norm;
        }
        if (moved < tuning.settled) return;
    }
}

/* <x, F_r(x)> */
static double measure(const stair_average *average, const double *basis, int r, const double *x)
{
    double y[STAIR_SQUARE];
    stair_average_apply(average, r, basis, x, y);
    return average->structure->model->blocks * product(average->kernel * average->kernel, x, y);
}

/* By how much the value exceeds that of eigenvectors which do not know the noise they are measured with. */
static double chosen_by_noise(const stair_average *average, const stair_symmetry *symmetry,
                              const double *basis, const double *x, double value)
{
    double other[STAIR_SQUARE], fair = 0;
    size_t size = sizeof(double) * (size_t)(average->kernel * average->kernel);
    for (int r = 0; r < average->replicates; r++) {
        memcpy(other, x, size);
        iterate(average, symmetry, basis, r, tuning.few_steps, other);
        fair += measure(average, basis, r, other) / average->replicates;
    }
    return fmax(0, value - fair);
}

void stair_operator_leading(const stair_average *average, const stair_symmetry *symmetry, const double *basis,
                            stair_leading *leading)
{
    int k = average->kernel, p = average->indices, n = k * k;
    double x[STAIR_SQUARE] = {0};
    memset(leading, 0, sizeof *leading);
    if (!k) return;
    for (int i = 0; i < k; i++) x[i * (k + 1)] = 1 / sqrt(k);
    iterate(average, symmetry, basis, -1, tuning.most_steps, x);
    leading->value = measure(average, basis, -1, x);
    for (int r = 0; r < average->replicates; r++) leading->by_replicate[r] = measure(average, basis, r, x);
    leading->error =
        hypot(stair_average_spread(average, leading->by_replicate), average->bias * leading->value);
    if (average->random) {
        double chosen = chosen_by_noise(average, symmetry, basis, x, leading->value);
        if (chosen > tuning.chosen * leading->error) leading->error = hypot(leading->error, chosen);
    }
    double trace = 0;
    for (int i = 0; i < k; i++) trace += x[i * (k + 1)];
    for (int i = 0; i < n; i++) x[i] /= trace;
    stair_spectral_lift(p, k, basis, x, leading->x);
}
