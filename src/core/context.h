/* The context behind the public handle, and what every library function uses: stair_fail() and STAIR_TRY().
 */
#ifndef STAIR_CORE_CONTEXT_H
#define STAIR_CORE_CONTEXT_H

#include "core/backend.h"

struct stair_ranks_link;
struct stair_pool;

struct stair_context {
    int threads;
    struct stair_pool *pool;       /* that wait for work; NULL: they are started when there is some */
    struct stair_ranks_link *link; /* ranks (core/ranks.h), or NULL */
    const stair_backend *backend;  /* NULL: the processor */
    struct stair_device *device;   /* what the backend has opened: copies of a context share it */
    stair_progress *progress;
    void *progress_user;
    double work;      /* done so far, in seconds of one usual core; counted, not timed, so that it is the same
                         everywhere, */
    double most_work; /* and the most there may be */
    uint64_t largest_array; /* bytes that one array of an archive may take in memory */
    char message[512];
};

/* Records a message and returns `status`: `return stair_fail(ctx, STAIR_BAD_INPUT, "...", ...)`. */
stair_status stair_fail(stair_context *context, stair_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives back what the backend has opened; the processor from here on. */
void stair_context_close_device(stair_context *context);

/* Reports progress; false when the caller wants to stop. */
bool stair_context_progress(stair_context *context, double done, double total);

/* Allows for so much work from here on. */
void stair_context_allow(stair_context *context, double seconds);
/* STAIR_COSTLY, with what it would cost, where `seconds` more are not allowed; of what: "an average ...". */
stair_status stair_context_afford(stair_context *context, double seconds, const char *what);

#define STAIR_TRY(call)                                                                                      \
    do {                                                                                                     \
        stair_status try_status = (call);                                                                    \
        if (try_status != STAIR_OK) return try_status;                                                       \
    } while (0)

#endif
