/* The context's callback is replaced between begin and end; a wish to stop passes through. */
#include "asymptotics/stage.h"

static bool relay(void *user, double done, double total)
{
    const stair_stage *stage = user;
    double part = total > 0 ? done / total : 0;
    return stage->call ? stage->call(stage->user, stage->before + part * stage->share, 1) : true;
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
}

void stair_stage_end(stair_stage *stage)
{
    stair_context_set_progress(stage->context, stage->call, stage->user);
}
