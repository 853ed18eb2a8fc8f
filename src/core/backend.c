/* The table of backends, and which one a context has. */
#include "core/backend.h"

#include <stdio.h>
#include <string.h>

#include "core/context.h"

const stair_backend stair_backend_cpu = {.name = "cpu"};

const stair_backend *const stair_backends[] = {&stair_backend_cpu, NULL};

static bool is_there(const stair_backend *backend)
{
    return !backend->present || backend->present();
}

stair_status stair_context_set_device(stair_context *context, const char *name)
{
    char listed[128] = "auto";
    for (const stair_backend *const *b = stair_backends; *b; b++) {
        bool named = !strcmp(name, (*b)->name);
        if (named && !is_there(*b))
            return stair_fail(context, STAIR_BAD_INPUT, "device '%s' is not there on this machine", name);
        if (named || (!strcmp(name, "auto") && is_there(*b))) {
            context->backend = *b;
            return STAIR_OK;
        }
        size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, ", %s", (*b)->name);
    }
    return stair_fail(context, STAIR_BAD_INPUT, "device must be one of %s, not '%.40s'", listed, name);
}

const char *stair_device_name(int number)
{
    int count = 0;
    while (stair_backends[count]) count++;
    return number == 0 ? "auto" : number > 0 && number <= count ? stair_backends[number - 1]->name : NULL;
}

const char *stair_context_device(const stair_context *context)
{
    return context->backend ? context->backend->name : stair_backend_cpu.name;
}
