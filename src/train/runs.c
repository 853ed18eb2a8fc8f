/* Runs side by side: one counter under a lock.  Only the calling thread's context carries a progress
 * callback, so what it answers is kept for the others. */
#include "train/runs.h"

#include <time.h>

void stair_runs_open(stair_runs *runs, int count, double steps)
{
    *runs = (stair_runs){.runs = count, .steps = steps};
    pthread_mutex_init(&runs->lock, NULL);
}

void stair_runs_close(stair_runs *runs)
{
    pthread_mutex_destroy(&runs->lock);
}

bool stair_runs_go_on(stair_runs *runs, stair_context *local, double steps)
{
    pthread_mutex_lock(&runs->lock);
    runs->done += steps;
    double done = runs->steps > 0 ? runs->done / runs->steps : runs->runs;
    pthread_mutex_unlock(&runs->lock);
    bool go = stair_context_progress(local, done, runs->runs);
    pthread_mutex_lock(&runs->lock);
    if (!go) runs->stop = true;
    go = !runs->stop;
    pthread_mutex_unlock(&runs->lock);
    return go;
}

double stair_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

stair_status stair_refuse_number(stair_context *context, const char *name, const char *range, double value)
{
    return stair_fail(context, STAIR_BAD_INPUT, "%s must be %s, not %.15g", name, range, value);
}
