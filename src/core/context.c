/* Context: threads, progress callback, and the one place where messages are kept. */
#include "core/context.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/limits.h"
#include "core/pool.h"
#include "core/ranks.h"

stair_status stair_context_create(stair_context **context)
{
    *context = calloc(1, sizeof **context);
    if (!*context) return STAIR_NO_MEMORY;
    (*context)->pool = stair_pool_create(); /* it can do without */
    (*context)->most_work = INFINITY;
    (*context)->largest_array = STAIR_LARGEST_ARRAY;
    return stair_context_set_threads(*context, 0);
}

void stair_context_destroy(stair_context **context)
{
    if (*context) stair_context_close_device(*context);
    if (*context) stair_ranks_free(*context);
    if (*context) stair_pool_destroy((*context)->pool);
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
    context->threads = threads ? threads : stair_ranks_own_threads(context);
    return stair_ranks_weigh(context);
}

void stair_context_set_largest_array(stair_context *context, uint64_t bytes)
{
    context->largest_array = bytes;
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

void stair_context_allow(stair_context *context, double seconds)
{
    context->most_work = context->work + seconds;
}

/* "40 seconds", "3 minutes", "5 hours", "12 days" */
static void name_time(double seconds, char *text, size_t size)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}};
    int k = 0;
    while (k < 3 && seconds < 2 * units[k].seconds) k++;
    snprintf(text, size, "%.0f %s", ceil(seconds / units[k].seconds), units[k].name);
}

stair_status stair_context_afford(stair_context *context, double seconds, const char *what)
{
    char needed[40], left[40];
    if (context->work + seconds <= context->most_work) return STAIR_OK;
    name_time(seconds, needed, sizeof needed);
    name_time(fmax(0, context->most_work - context->work), left, sizeof left);
    return stair_fail(
        context, STAIR_COSTLY,
        "%s would take about %s of one core, and %s are left of the patience; raise --patience, "
        "or --precision",
        what, needed, left);
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
    static const char *const names[] = {"weak", "perfect", "spinodal"};
    return kind >= STAIR_STEP_WEAK && kind <= STAIR_STEP_SPINODAL ? names[kind] : NULL;
}
