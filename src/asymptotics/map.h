/* The map of state evolution on the learned subspace of a branch, in y = log Qhat: where it leads, its
 * Jacobian, Newton's step. */
#ifndef STAIR_ASYMPTOTICS_MAP_H
#define STAIR_ASYMPTOTICS_MAP_H

#include "asymptotics/branch.h"

/* At given alpha, or at a given mean v of 1 - Q on what is learned, from which alpha follows. */
typedef struct {
    bool by_mean;
    double value; /* alpha, or v */
} stair_map_target;

typedef struct {
    double image[STAIR_SQUARE]; /* (d, d): where the map leads */
    double alpha;
    double residual; /* largest change */
} stair_map_value;

/* Averages at the overlap of b; with the full effort it is seen to that one rule serves all of a solve. */
stair_status stair_map_average(stair_branch *b, const stair_average_effort *effort, stair_average *average);
/* The map by replicate r of an average, or by their mean for r < 0. */
void stair_map_from(const stair_branch *b, const stair_average *average, int r, stair_map_target target,
                    stair_map_value *out);
/* Both. */
stair_status stair_map_at(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                          stair_map_target target, stair_map_value *out);

/* (1 - J)^-1 in independent directions of y, and the slope of log alpha along each. */
typedef struct {
    int count;
    double direction[STAIR_MAX_INDICES][STAIR_SQUARE]; /* orthonormal, in the space of y */
    double inverse[STAIR_SQUARE];                      /* (1 - J)^-1 */
    double slope[STAIR_MAX_INDICES];                   /* d log alpha along each */
} stair_newton;

/* J by differences. */
stair_status stair_newton_find(stair_branch *b, const stair_average_effort *effort, stair_average *average,
                               stair_map_target target, stair_newton *newton);
/* step (d, d) = (1 - J)^-1 (to - y), and the change of log alpha that comes with it. */
void stair_newton_step(const stair_branch *b, const stair_newton *newton, const double *to, double *step);
double stair_newton_slope(const stair_branch *b, const stair_newton *newton, const double *step);

#endif
