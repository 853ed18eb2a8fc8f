/* What several runs side by side share: progress, and the wish to stop. */
#ifndef STAIR_CORE_RUNS_H
#define STAIR_CORE_RUNS_H

#include "core/context.h"
#include "core/thread.h"

typedef struct {
    stair_lock lock;
    double done;  /* steps of all runs together */
    double steps; /* of one run */
    int runs;
    bool stop;
} stair_runs;

void stair_runs_open(stair_runs *runs, int count, double steps);
void stair_runs_close(stair_runs *runs);

/* Adds `steps` that a run has done and reports; false when some thread was asked to stop. */
bool stair_runs_go_on(stair_runs *runs, stair_context *local, double steps);

#endif
