/* From the public options to the rules of the folder. */
#ifndef STAIR_ASYMPTOTICS_ASYMPTOTICS_H
#define STAIR_ASYMPTOTICS_ASYMPTOTICS_H

#include "asymptotics/branch.h"

/* Rules, tolerances and symmetries; nothing learned yet. */
stair_status stair_branch_prepare(stair_branch *b, stair_context *context, const stair_model *model,
                                  const stair_asymptotics_options *options);

/* Makes the full rule as careful as it takes to bring the relative error of `point`, part of which is its
 * bias, from `error` to `wanted`.  False where it is good enough already, or cannot be bettered. */
bool stair_branch_sharpen(stair_branch *b, const stair_branch_point *point, double error, double wanted);

/* Puts the branch at q (P, P); directions with less than 1e-6 of the largest overlap are unlearned. */
void stair_branch_place(stair_branch *b, const double *q);

#endif
