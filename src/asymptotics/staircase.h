/* The steps with the branches that begin there, and curves from them. */
#ifndef STAIR_ASYMPTOTICS_STAIRCASE_H
#define STAIR_ASYMPTOTICS_STAIRCASE_H

#include "asymptotics/branch.h"

#define STAIR_MOST_STEPS 16 /* of a curve */

typedef struct {
    stair_branch branch;    /* with the new directions learned, close to the step */
    double q[STAIR_SQUARE]; /* (P, P) at the step */
    double v;               /* mean rest there of all that is learned now */
} stair_mark;

/* As stair_threshold up to the last weak-recovery step, marks (capacity). */
stair_status stair_staircase_marks(stair_context *context, const stair_model *model,
                                   const stair_asymptotics_options *options, int capacity, stair_step *list,
                                   stair_mark *marks, int *count);

/* Both in one climb: all steps as stair_threshold finds them, and the marks.  weak_known: whatever the
 * status, the weak-recovery steps and their marks are complete. */
stair_status stair_staircase_whole(stair_context *context, const stair_model *model,
                                   const stair_asymptotics_options *options, int capacity, stair_step *list,
                                   stair_mark *marks, int *count, bool *weak_known);

/* stair_curve_create where the staircase is known: weak-recovery steps (count) and their marks, which it
 * uses up. */
stair_status stair_curve_from_steps(stair_context *context, const stair_model *model,
                                    const stair_asymptotics_options *options, double most_alpha, int count,
                                    const stair_step *steps, stair_mark *marks, stair_curve **curve);

#endif
