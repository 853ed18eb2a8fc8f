/* Progress of a call that is made of several: each tells its own, which is a part of the whole.
 *
 *   stair_stage stage;
 *   stair_stage_begin(&stage, context);
 *   stair_stage_set(&stage, 0.3, 0.7);   what follows takes the whole from 0.3 to 1
 *   stair_stage_end(&stage);
 *
 * What is told never falls while `before` does not; share 0: what follows tells nothing but that it lives. */
#ifndef STAIR_ASYMPTOTICS_STAGE_H
#define STAIR_ASYMPTOTICS_STAGE_H

#include "core/context.h"

typedef struct {
    stair_context *context;
    stair_progress *call; /* the caller's */
    void *user;
    double before, share;
    double rounds, part; /* of the calls since stair_stage_set: whole ones, and the present one */
} stair_stage;

void stair_stage_begin(stair_stage *stage, stair_context *context);
void stair_stage_set(stair_stage *stage, double before, double share);
void stair_stage_end(stair_stage *stage);

#endif
