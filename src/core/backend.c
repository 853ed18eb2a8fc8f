/* The table of backends, and which one a context has. */
#include "core/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

const stair_backend stair_backend_cpu = {.name = "cpu"};

#ifdef STAIR_CUDA
extern const stair_backend stair_backend_cuda; /* cuda/backend.c */
#endif

const stair_backend *const stair_backends[] = {
#ifdef STAIR_CUDA
    &stair_backend_cuda,
#endif
    &stair_backend_cpu, NULL};

/* What may be asked for, built in or not: :K stands for a number.  The same on all machines, for help and
 * completion are. */
static const char *const names[] = {"auto", "cpu", "cuda", "cuda:K", NULL};

static bool is_there(const stair_backend *backend)
{
    return !backend->present || backend->present();
}

/* "cuda:3" is card 3 of "cuda"; a name alone is card 0.  False where it is no such name. */
static bool split_name(const char *name, size_t *length, int *number)
{
    const char *colon = strchr(name, ':');
    *length = colon ? (size_t)(colon - name) : strlen(name);
    *number = 0;
    if (!colon) return true;
    size_t digits = strspn(colon + 1, "0123456789");
    if (!digits || digits > 4 || colon[1 + digits]) return false;
    *number = atoi(colon + 1);
    return true;
}

static const stair_backend *find(const char *name, size_t length)
{
    bool best = length == 4 && !strncmp(name, "auto", 4);
    for (const stair_backend *const *b = stair_backends; *b; b++)
        if (best ? is_there(*b) : strlen((*b)->name) == length && !strncmp((*b)->name, name, length))
            return *b;
    return NULL;
}

/* Whether it is one of the names: "cuda" is one without CUDA built in, too. */
static bool is_known(const char *name, size_t length)
{
    bool numbered = name[length] == ':';
    for (const char *const *n = names; *n; n++)
        if (!strncmp(*n, name, length) && (numbered ? !strcmp(*n + length, ":K") : !(*n)[length]))
            return true;
    return false;
}

void stair_context_close_device(stair_context *context)
{
    if (context->device) context->backend->close(context->device);
    context->device = NULL;
    context->backend = NULL;
}

stair_status stair_context_set_device(stair_context *context, const char *name)
{
    size_t length;
    int number;
    if (!split_name(name, &length, &number) || !is_known(name, length))
        return stair_fail(context, STAIR_BAD_INPUT,
                          "device must be one of auto, cpu, cuda, cuda:K, not '%.40s'", name);
    const stair_backend *backend = find(name, length);
    if (!backend)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "device '%.40s' is not part of this build: cmake -DSTAIR_CUDA=ON where nvcc is "
                          "found makes one with it",
                          name);
    if (!is_there(backend))
        return stair_fail(context, STAIR_BAD_INPUT, "device '%.40s' is not there on this machine", name);
    stair_context_close_device(context);
    if (backend->open) STAIR_TRY(backend->open(context, number, &context->device));
    context->backend = backend;
    return STAIR_OK;
}

const char *stair_device_name(int number)
{
    return number >= 0 && number < (int)(sizeof names / sizeof *names) ? names[number] : NULL;
}

const char *stair_context_device(const stair_context *context)
{
    if (context->device) return context->backend->label(context->device);
    return context->backend ? context->backend->name : stair_backend_cpu.name;
}
