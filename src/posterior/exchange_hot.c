/* Sums along one row of the grid of a committee, see exchange.c. */
#include "core/isa.h"
#include "core/lanes.h"
#include "posterior/exchange_sums.h"

void STAIR_HOT(stair_exchange_row)(int n, int columns, const double *table, double x, double step,
                                   double half_inverse, double *sums);

/* Columns j < n, a multiple of 8, of table (COMMITTEE_NUMBERS, columns): weights exp(-half_inverse t^2),
 * t = x + j step. */
void STAIR_HOT(stair_exchange_row)(int n, int columns, const double *table, double x, double step,
                                   double half_inverse, double *sums)
{
    lanes acc[EXCHANGE_SUMS], number;
    for (int k = 0; k < EXCHANGE_SUMS; k++) acc[k] = lanes_set(0);
    for (int i = 0; i < LANES; i++) number[i] = i;
    for (int j = 0; j < n; j += LANES) {
        lanes t = x + (number + j) * step, weight = lanes_exp(-half_inverse * t * t);
        lanes mass = weight * lanes_load(table + j), first = mass * t;
        acc[COMMITTEE_MASS] += mass;
        for (int k = 1; k < COMMITTEE_NUMBERS; k++)
            acc[k] += weight * lanes_load(table + (long)k * columns + j);
        acc[EXCHANGE_FIRST] += first;
        acc[EXCHANGE_SECOND] += first * t;
    }
    for (int k = 0; k < EXCHANGE_SUMS; k++) sums[k] = lanes_sum(acc[k]);
}
