/* Where a branch loses its stability: log(alpha times the leading eigenvalue) passes zero along log v.
 *
 * The points of a walk are noisy one by one; slopes of a straight line through several lead from the last of
 * them, solved with the full rule, to the crossing. */
#ifndef STAIR_ASYMPTOTICS_CROSSING_H
#define STAIR_ASYMPTOTICS_CROSSING_H

#include "asymptotics/branch.h"

typedef struct {
    double v, alpha, height;          /* height: log(alpha * eigenvalue) */
    double alpha_noise, height_noise; /* errors of log alpha and of the height */
} stair_walk_point;

typedef struct {
    stair_walk_point at;                   /* close to it, solved with the full rule */
    double slope, alpha_slope;             /* of the height and of log alpha, in log v, */
    double slope_noise, alpha_slope_noise; /* and what the noise of the points they come from does to them */
    double error, v_error;                 /* relative, of alpha and of v at the crossing */
    double doubt; /* part of `error`: what the way from `at` to the crossing may be wrong by */
    double start; /* v where the branch begins */
} stair_crossing;

/* v where the height is zero by the slopes, on the branch. */
double stair_crossing_mean(const stair_crossing *c);
/* Slopes by a straight line through n points, which are noisy one by one. */
void stair_crossing_slopes(int n, const stair_walk_point *point, stair_crossing *c);
/* error, v_error and doubt.  Every replicate crosses at its own alpha and v; from the point to the crossing
 * the slopes lead, which bend, and have errors. */
void stair_crossing_errors(const stair_branch_point *point, stair_crossing *c);

#endif
