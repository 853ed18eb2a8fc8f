/* The context's callback is replaced between begin and end; a wish to stop passes through.
 *
 * Calls go round as often as they need, and each round counts from 0.  After x rounds, of which the last may
 * be a part, x / (x + ROUNDS) of the stage is called done: it grows with every round and never ends too
 * early. */
#include "asymptotics/stage.h"

enum { ROUNDS = 64 }; /* fixed points take some ten, whole staircases some hundred */

static bool relay(void *user, double done, double total)
{
    stair_stage *stage = user;
    double part = total > 0 ? done / total : 0;
    stage->rounds += part < stage->part;
    stage->part = part;
    double x = stage->rounds + part;
    return stage->call ? stage->call(stage->user, stage->before + stage->share * x / (x + ROUNDS), 1) : true;
}

void stair_stage_begin(stair_stage *stage, stair_context *context)
{
    *stage = (stair_stage){
        .context = context, .call = context->progress, .user = context->progress_user, .share = 1};
    stair_context_set_progress(context, relay, stage);
}

void stair_stage_set(stair_stage *stage, double before, double share)
{
    stage->before = before;
    stage->share = share;
    stage->rounds = 0;
    stage->part = 0;
}

void stair_stage_end(stair_stage *stage)
{
    stair_context_set_progress(stage->context, stage->call, stage->user);
}
