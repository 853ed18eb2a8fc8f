/* Clocks.  Processor time includes waiting for memory; what other programs do on the same cores does not
 * count. */
#ifndef STAIR_CORE_CLOCK_H
#define STAIR_CORE_CLOCK_H

#include <time.h>

static inline double stair_clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of the calling thread; of all threads of the process. */
static inline double stair_thread_seconds(void)
{
    return stair_clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}
static inline double stair_process_seconds(void)
{
    return stair_clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* Wall time, of a clock that only goes forward. */
static inline double stair_seconds(void)
{
    return stair_clock_seconds(CLOCK_MONOTONIC);
}

#endif
