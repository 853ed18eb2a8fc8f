/* Student's t at the probability of three standard deviations: a table for few values, beyond it the
 * expansion in 1/(degrees of freedom) of Cornish and Fisher at z = 3 (Abramowitz and Stegun, 26.7.5). */
#include "core/stats.h"

#include <math.h>

enum { TABULATED = 8 }; /* degrees of freedom up to which a table is better than the expansion */

static const struct {
    double rounding; /* relative, of sums with a few thousand terms */
} tuning = {.rounding = 1e-14};

double stair_student(int n)
{
    static const double few[TABULATED] = {78.60050, 6.40225, 3.07298, 2.20674,
                                          1.83569,  1.63469, 1.50999, 1.42554};
    double freedom = n - 1;
    if (n < 2) return INFINITY;
    if (freedom <= TABULATED) return few[n - 2];
    return 1 + (30 / 4. + (1656 / 96. + 11592 / 384. / freedom) / freedom) / (3 * freedom);
}

static double mean_of(int n, const double *values)
{
    double mean = 0;
    for (int r = 0; r < n; r++) mean += values[r] / n;
    return mean;
}

double stair_replicate_error(int n, const double *values)
{
    double mean = mean_of(n, values), square = 0;
    for (int r = 0; r < n; r++) square += (values[r] - mean) * (values[r] - mean);
    return n > 1 ? stair_student(n) * sqrt(square / (n - 1) / n) : INFINITY;
}

double stair_grid_error(int n, const double *values)
{
    double mean = mean_of(n, values), most = 0;
    for (int r = 0; r < n; r++) most = fmax(most, fabs(values[r] - mean));
    return n > 1 ? most + tuning.rounding * fabs(mean) : INFINITY;
}

double stair_spread_error(bool random, int n, const double *values)
{
    return random ? stair_replicate_error(n, values) : stair_grid_error(n, values);
}
