/* Runs side by side: one counter under a lock.  Only the calling thread's context carries a progress
 * callback, so what it answers is kept for the others. */
#include "core/runs.h"

void stair_runs_open(stair_runs *runs, int count, double steps)
{
    *runs = (stair_runs){.runs = count, .steps = steps};
    stair_lock_create(&runs->lock);
}

void stair_runs_close(stair_runs *runs)
{
    stair_lock_destroy(&runs->lock);
}

bool stair_runs_go_on(stair_runs *runs, stair_context *local, double steps)
{
    stair_lock_take(&runs->lock);
    runs->done += steps;
    double done = runs->steps > 0 ? runs->done / runs->steps : runs->runs;
    stair_lock_release(&runs->lock);
    bool go = stair_context_progress(local, done, runs->runs);
    stair_lock_take(&runs->lock);
    if (!go) runs->stop = true;
    go = !runs->stop;
    stair_lock_release(&runs->lock);
    return go;
}
