/* The weak-recovery steps with the branches that begin there. */
#ifndef STAIR_ASYMPTOTICS_STAIRCASE_H
#define STAIR_ASYMPTOTICS_STAIRCASE_H

#include "asymptotics/branch.h"

typedef struct {
    stair_branch branch;    /* with the new directions learned, close to the step */
    double q[STAIR_SQUARE]; /* (P, P) at the step */
    double v;               /* mean rest there of all that is learned now */
} stair_mark;

/* As stair_threshold up to the last weak-recovery step, marks (capacity). */
stair_status stair_staircase_marks(stair_context *context, const stair_model *model,
                                   const stair_asymptotics_options *options, int capacity, stair_step *list,
                                   stair_mark *marks, int *count);

#endif
