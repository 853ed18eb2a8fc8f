/* By how much alpha(v) of the last branch may have been above its end, where perfect recovery is stable.
 *
 * A walk is noisy; a fold lower than its noise is not seen, and the step is then known no better than that.
 * Points of a walk share their random numbers, so that ratios of alpha are less noisy than alpha: each point
 * is measured from the one that helps it most, be it solved with the full rule or the end itself, whose
 * alpha is known. */
#ifndef STAIR_ASYMPTOTICS_FOLD_H
#define STAIR_ASYMPTOTICS_FOLD_H

#include "asymptotics/branch.h"

#define STAIR_FOLD_POINTS 48 /* of a walk: v from 1 to 3e-5 by factors of 0.55 takes 18 */

typedef struct {
    int count;
    bool random;
    int replicates;
    struct {
        double v, alpha, noise;                     /* by the coarse rule; noise is relative */
        double by_replicate[STAIR_MOST_REPLICATES]; /* log alpha */
        double known, known_noise;                  /* log alpha by the full rule; noise 0: not solved */
    } point[STAIR_FOLD_POINTS];
} stair_fold;

/* The next point of a walk towards v = 0. */
void stair_fold_note(stair_fold *fold, double v, const stair_branch_point *point);
/* The same point with the full rule. */
void stair_fold_solved(stair_fold *fold, int k, const stair_branch_point *point);
/* Relative error of `limit`, the alpha at v = 0, and the point that is to blame for it. */
double stair_fold_doubt(const stair_fold *fold, double limit, int *worst);

#endif
