/* Cholesky, Jacobi eigenvalues, elimination and Procrustes for small matrices. */
#include "core/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_ROWS = 32 }; /* of a matrix whose scratch is on the stack: frames stay far below 64 kB */

static const struct {
    int sweeps;      /* of Jacobi at most; a dozen is usual */
    double off;      /* sum of squares off the diagonal, relative, at which Jacobi ends */
    double singular; /* eigenvalue of K^T K, relative, below which K v is mostly rounding */
    double diagonal; /* entry off the diagonal that counts as zero */
} tuning = {.sweeps = 60, .off = 1e-34, .singular = 1e-6, .diagonal = 1e-12};

static bool cholesky_extended(int n, const double *a, long double *lower)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            long double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= lower[i * n + k] * lower[j * n + k];
            if (i == j) {
                if (!(sum > 0)) return false;
                lower[i * n + i] = sqrtl(sum);
            } else
                lower[i * n + j] = sum / lower[j * n + j];
        }
    return true;
}

bool stair_matrix_cholesky(int n, const double *a, double *lower)
{
    long double room[SMALL_ROWS * SMALL_ROWS],
        *factor = n > SMALL_ROWS ? malloc(sizeof *room * (size_t)(n * n)) : room;
    bool positive = factor && cholesky_extended(n, a, factor);
    for (int i = 0; i < n && positive; i++)
        for (int j = 0; j < n; j++) lower[i * n + j] = j <= i ? (double)factor[i * n + j] : 0.0;
    if (factor != room) free(factor);
    return positive;
}

/* inverse (n, n) of the lower triangle of `factor`; returns the logarithm of its determinant */
static long double invert_extended(int n, const long double *factor, long double *inverse)
{
    long double logdet = 0;
    for (int i = 0; i < n; i++) {
        logdet += logl(factor[i * n + i]);
        for (int j = 0; j <= i; j++) {
            long double sum = i == j;
            for (int k = j; k < i; k++) sum -= factor[i * n + k] * inverse[k * n + j];
            inverse[i * n + j] = sum / factor[i * n + i];
        }
    }
    return logdet;
}

bool stair_matrix_whiten(int n, const double *a, double *lower, double *inverse, double *half_logdet)
{
    long double room[2 * SMALL_ROWS * SMALL_ROWS],
        *factor = n > SMALL_ROWS ? malloc(2 * sizeof *room * (size_t)(n * n)) : room;
    long double *inv = factor + n * n;
    bool positive = factor && cholesky_extended(n, a, factor);
    if (positive) *half_logdet = (double)invert_extended(n, factor, inv);
    for (int i = 0; i < n && positive; i++)
        for (int j = 0; j < n; j++) {
            lower[i * n + j] = j <= i ? (double)factor[i * n + j] : 0.0;
            inverse[i * n + j] = j <= i ? (double)inv[i * n + j] : 0.0;
        }
    if (factor != room) free(factor);
    return positive;
}

static void jacobi_rotate(int n, double *a, double *vectors, int p, int q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = vectors[k * n + p], y = vectors[k * n + q];
        vectors[k * n + p] = c * x - s * y;
        vectors[k * n + q] = s * x + c * y;
    }
}

static void sort_pairs(int n, double *values, double *vectors)
{
    for (int i = 0; i < n; i++) {
        int least = i;
        for (int j = i + 1; j < n; j++)
            if (values[j] < values[least]) least = j;
        if (least == i) continue;
        double swap = values[i];
        values[i] = values[least];
        values[least] = swap;
        for (int k = 0; k < n; k++) {
            swap = vectors[k * n + i];
            vectors[k * n + i] = vectors[k * n + least];
            vectors[k * n + least] = swap;
        }
    }
}

bool stair_matrix_eigen(int n, const double *a, double *values, double *vectors)
{
    double room[SMALL_ROWS * SMALL_ROWS],
        *work = n > SMALL_ROWS ? malloc(sizeof *room * (size_t)(n * n)) : room;
    for (int i = 0; i < n && !work; i++) values[i] = NAN;
    if (!work) return false;
    memcpy(work, a, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n * n; i++) vectors[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < tuning.sweeps; sweep++) {
        double off = 0, scale = 0;
        for (int p = 0; p < n; p++)
            for (int q = 0; q < n; q++) *(p == q ? &scale : &off) += work[p * n + q] * work[p * n + q];
        if (off <= tuning.off * scale || off == 0) break;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (work[p * n + q] != 0) jacobi_rotate(n, work, vectors, p, q);
    }
    for (int i = 0; i < n; i++) values[i] = work[i * n + i];
    sort_pairs(n, values, vectors);
    if (work != room) free(work);
    return true;
}

static void swap_rows(int columns, double *x, int i, int j)
{
    for (int k = 0; k < columns; k++) {
        double swap = x[i * columns + k];
        x[i * columns + k] = x[j * columns + k];
        x[j * columns + k] = swap;
    }
}

bool stair_matrix_solve(int n, double *a, int columns, double *b, double *det)
{
    double product = 1;
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(a[j * n + i]) > fabs(a[pivot * n + i])) pivot = j;
        if (pivot != i) {
            swap_rows(n, a, i, pivot);
            swap_rows(columns, b, i, pivot);
        }
        product *= fabs(a[i * n + i]);
        if (!(product > 0)) {
            if (det) *det = 0;
            return false;
        }
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            double factor = a[j * n + i] / a[i * n + i];
            for (int k = i; k < n; k++) a[j * n + k] -= factor * a[i * n + k];
            for (int k = 0; k < columns; k++) b[j * columns + k] -= factor * b[i * columns + k];
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < columns; k++) b[i * columns + k] /= a[i * n + i];
    if (det) *det = product;
    return true;
}

void stair_matrix_orthonormalise(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        double *row = a + i * n, norm = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < i; k++) {
                double dot = 0;
                for (int j = 0; j < n; j++) dot += row[j] * a[k * n + j];
                for (int j = 0; j < n; j++) row[j] -= dot * a[k * n + j];
            }
        for (int j = 0; j < n; j++) norm += row[j] * row[j];
        for (int j = 0; j < n; j++) row[j] /= sqrt(norm);
    }
}

/* Replaces column j of u by a unit vector orthogonal to the columns after it. */
static void complete_column(int n, double *u, int j)
{
    for (int axis = 0; axis < n; axis++) {
        double column[SMALL_ROWS], norm = 0;
        for (int i = 0; i < n; i++) column[i] = i == axis;
        for (int pass = 0; pass < 2; pass++)
            for (int k = j + 1; k < n; k++) {
                double dot = 0;
                for (int i = 0; i < n; i++) dot += column[i] * u[i * n + k];
                for (int i = 0; i < n; i++) column[i] -= dot * u[i * n + k];
            }
        for (int i = 0; i < n; i++) norm += column[i] * column[i];
        if (norm < 0.5 / n) continue;
        for (int i = 0; i < n; i++) u[i * n + j] = column[i] / sqrt(norm);
        return;
    }
}

static double determinant_sign(int n, const double *a)
{
    double work[SMALL_ROWS * SMALL_ROWS], sign = 1;
    memcpy(work, a, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(work[j * n + i]) > fabs(work[pivot * n + i])) pivot = j;
        if (pivot != i) {
            swap_rows(n, work, i, pivot);
            sign = -sign;
        }
        if (work[i * n + i] < 0) sign = -sign;
        for (int j = i + 1; j < n; j++) {
            double factor = work[j * n + i] / work[i * n + i];
            for (int k = i; k < n; k++) work[j * n + k] -= factor * work[i * n + k];
        }
    }
    return sign;
}

void stair_matrix_procrustes(int n, const double *k, int sign, double *r)
{
    double gram[SMALL_ROWS * SMALL_ROWS] = {0}, v[SMALL_ROWS * SMALL_ROWS], u[SMALL_ROWS * SMALL_ROWS],
                             values[SMALL_ROWS];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < n; l++) gram[i * n + j] += k[l * n + i] * k[l * n + j];
        }
    stair_matrix_eigen(n, gram, values, v);
    for (int j = n - 1; j >= 0; j--) { /* largest singular value first; it is exact */
        double norm = 0;
        for (int i = 0; i < n; i++) {
            u[i * n + j] = 0;
            for (int l = 0; l < n; l++) u[i * n + j] += k[i * n + l] * v[l * n + j];
            norm += u[i * n + j] * u[i * n + j];
        }
        if (values[j] > tuning.singular * values[n - 1] && norm > 0)
            for (int i = 0; i < n; i++) u[i * n + j] /= sqrt(norm);
        else
            complete_column(n, u, j);
    }
    for (int attempt = 0; attempt < 2; attempt++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                r[i * n + j] = 0;
                for (int l = 0; l < n; l++) r[i * n + j] += u[i * n + l] * v[j * n + l];
            }
        if (determinant_sign(n, r) * sign > 0) return;
        for (int i = 0; i < n; i++) u[i * n] = -u[i * n]; /* flip the weakest direction */
    }
}

bool stair_matrix_is_diagonal(int n, const double *a)
{
    for (int i = 0; i < n * n; i++)
        if (i % (n + 1) && fabs(a[i]) > tuning.diagonal) return false;
    return true;
}
