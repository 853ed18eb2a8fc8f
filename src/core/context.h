/* The context behind the public handle, and what every library function uses: stair_fail() and STAIR_TRY().
 */
#ifndef STAIR_CORE_CONTEXT_H
#define STAIR_CORE_CONTEXT_H

#include "core/backend.h"

struct stair_context {
    int threads;
    const stair_backend *backend; /* NULL: the processor */
    stair_progress *progress;
    void *progress_user;
    char message[512];
};

/* Records a message and returns `status`: `return stair_fail(ctx, STAIR_BAD_INPUT, "...", ...)`. */
stair_status stair_fail(stair_context *context, stair_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports progress; false when the caller wants to stop. */
bool stair_context_progress(stair_context *context, double done, double total);

#define STAIR_TRY(call)                                                                                      \
    do {                                                                                                     \
        stair_status try_status = (call);                                                                    \
        if (try_status != STAIR_OK) return try_status;                                                       \
    } while (0)

#endif
