/* Errors of averages, by the spread of their parts. */
#ifndef STAIR_CORE_STATS_H
#define STAIR_CORE_STATS_H

#include <stdbool.h>

#include "core/limits.h"

/* A standard error from n values is itself uncertain.  This factor, above 1, makes three errors hold 99.73 %
 * of all cases, as they do for a Gaussian whose width is known: Student's t. */
double stair_student(int n);

/* Of the mean of n independent values, widened by stair_student(). */
double stair_replicate_error(int n, const double *values);

/* Of the mean of n deterministic estimates by interlaced grids: the largest distance from it, and rounding.
 */
double stair_grid_error(int n, const double *values);

/* One or the other. */
double stair_spread_error(bool random, int n, const double *values);

#endif
