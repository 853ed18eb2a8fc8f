#include "core/spectral.h"

#include <math.h>

#include "core/limits.h"
#include "core/matrix.h"

void stair_spectral_compose(int n, const double *values, const double *vectors, double *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += vectors[i * n + k] * values[k] * vectors[j * n + k];
            out[i * n + j] = sum;
        }
}

void stair_spectral_map(int n, const double *a, stair_scalar_map *map, double parameter, double *out)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    stair_matrix_eigen(n, a, values, vectors);
    for (int k = 0; k < n; k++) values[k] = map(values[k], parameter);
    stair_spectral_compose(n, values, vectors, out);
}

void stair_spectral_roots(int n, const double *a, double least, double known, double *root, double *inverse)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    stair_matrix_eigen(n, a, values, vectors);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            root[i * n + j] = inverse[i * n + j] = 0;
            for (int k = 0; k < n; k++) {
                double pair = vectors[i * n + k] * vectors[j * n + k], size = sqrt(fmax(least, values[k]));
                root[i * n + j] += pair * size;
                if (values[k] > known) inverse[i * n + j] += pair / size;
            }
        }
}

void stair_spectral_project(int p, int k, const double *u, const double *a, double *out)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            out[i * k + j] = 0;
            for (int r = 0; r < p; r++)
                for (int s = 0; s < p; s++) out[i * k + j] += u[r * k + i] * a[r * p + s] * u[s * k + j];
        }
}

void stair_spectral_lift(int p, int k, const double *u, const double *a, double *out)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            out[i * p + j] = 0;
            for (int r = 0; r < k; r++)
                for (int s = 0; s < k; s++) out[i * p + j] += u[i * k + r] * a[r * k + s] * u[j * k + s];
        }
}

int stair_packed(int i, int j)
{
    return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

double stair_shifted_root(double x, double shift)
{
    return sqrt(fmax(0, x + shift));
}
