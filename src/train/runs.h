/* What several training runs side by side share: progress, the wish to stop, a clock. */
#ifndef STAIR_TRAIN_RUNS_H
#define STAIR_TRAIN_RUNS_H

#include "core/context.h"

#include <pthread.h>

typedef struct {
    pthread_mutex_t lock;
    double done;  /* steps of all runs together */
    double steps; /* of one run */
    int runs;
    bool stop;
} stair_runs;

void stair_runs_open(stair_runs *runs, int count, double steps);
void stair_runs_close(stair_runs *runs);

/* Adds `steps` that a run has done and reports; false when some thread was asked to stop. */
bool stair_runs_go_on(stair_runs *runs, stair_context *local, double steps);

double stair_seconds(void); /* of a clock that only goes forward */

/* BAD_INPUT: "NAME must be RANGE, not VALUE" */
stair_status stair_refuse_number(stair_context *context, const char *name, const char *range, double value);

#endif
