/* Sums run in index order, one term after the other: digits are those of the plain loops. */
#include "asymptotics/prediction.h"

#include "core/stats.h"

void stair_prediction_spread(int n, int m, const double *a, bool lower, const double *base,
                             const double *normals, double *out)
{
    for (int i = 0; i < n; i++)
        for (int t = 0; t < m; t++) {
            double sum = base ? base[i * m + t] : 0;
            for (int k = 0; k < (lower ? i + 1 : n); k++) sum += a[i * n + k] * normals[k * m + t];
            out[i * m + t] = sum;
        }
}

void stair_prediction_add(int outputs, double scale, const double *a, const double *b, double *sum)
{
    for (int k = 0; k < outputs; k++) *sum += scale * (a[k] - b[k]) * (a[k] - b[k]);
}

void stair_prediction_average(int replicates, const double *values, double *mean, double *error)
{
    *mean = 0;
    for (int r = 0; r < replicates; r++) *mean += values[r] / replicates;
    *error = stair_replicate_error(replicates, values);
}
