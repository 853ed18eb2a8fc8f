/* Context: threads, progress callback, and the one place where messages are kept. */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/cores.h"

stair_status stair_context_create(stair_context **context)
{
    *context = calloc(1, sizeof **context);
    if (!*context) return STAIR_NO_MEMORY;
    return stair_context_set_threads(*context, 0);
}

void stair_context_destroy(stair_context **context)
{
    free(*context);
    *context = NULL;
}

const char *stair_context_message(const stair_context *context)
{
    return context->message;
}

stair_status stair_context_set_threads(stair_context *context, int threads)
{
    if (threads < 0 || threads > 4096)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "threads must be between 0 (all it may use) and 4096, not %d", threads);
    context->threads = threads ? threads : stair_cores();
    return STAIR_OK;
}

int stair_context_threads(const stair_context *context)
{
    return context->threads;
}

void stair_context_set_progress(stair_context *context, stair_progress *call, void *user)
{
    context->progress = call;
    context->progress_user = user;
}

bool stair_context_progress(stair_context *context, double done, double total)
{
    return context->progress ? context->progress(context->progress_user, done, total) : true;
}

stair_status stair_fail(stair_context *context, stair_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return status;
}

const char *stair_stop_name(stair_stop stop)
{
    static const char *const names[STAIR_STOPS] = {"converged", "perfect", "zero", "iterations", "diverged"};
    return stop >= 0 && stop < STAIR_STOPS ? names[stop] : NULL;
}

const char *stair_step_kind_name(stair_step_kind kind)
{
    return kind == STAIR_STEP_PERFECT ? "perfect" : "weak";
}
