/* What /proc/meminfo and the control groups say of memory. */
#include "core/memory.h"
#include "core/cores.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Version 1 writes a number near 2^63 where there is no limit, version 2 the word max. */
static double limit_of(const char *folder, bool second_version)
{
    char line[128], *end;
    const char *name = second_version ? "memory.max" : "memory.limit_in_bytes";
    if (!stair_group_line(folder, name, line, sizeof line)) return INFINITY;
    double bytes = strtod(line, &end);
    return end > line && bytes > 0 && bytes < 0x1p62 ? bytes : INFINITY;
}

double stair_memory_granted(const char *root, const char *membership)
{
    return stair_group_least(root, membership, "memory", limit_of);
}

/* In kB: MemAvailable and SwapFree. */
static double left_over(void)
{
    char line[128];
    double available, swap, sum = 0;
    bool told = false;
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return INFINITY;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %lf", &available) == 1) sum += available, told = true;
        if (sscanf(line, "SwapFree: %lf", &swap) == 1) sum += swap;
    }
    fclose(file);
    return told ? 1024 * sum : INFINITY;
}

double stair_memory_room(void)
{
    char membership[STAIR_GROUP_TEXT];
    double granted =
        stair_group_membership(membership) ? stair_memory_granted("/sys/fs/cgroup", membership) : INFINITY;
    return fmin(left_over(), granted);
}
