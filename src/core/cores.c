/* What limits a process to fewer cores than the machine has.
 *
 * The affinity mask: taskset, a batch system.  The quota of a control group: containers.  A group is limited
 * by those above it too, so every folder on the way up is looked at.  A line of /proc/self/cgroup, and where
 * its quota stands:
 *
 *   version 2   0::/a/b                /sys/fs/cgroup/a/b/cpu.max: "QUOTA PERIOD" or "max PERIOD"
 *   version 1   4:cpu,cpuacct:/a/b     /sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us (-1: none), cpu.cfs_period_us
 *
 * A part of a core counts as a whole one, so that all of the quota can be used. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#endif

#include "core/cores.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_PATH = STAIR_GROUP_TEXT };

bool stair_group_line(const char *folder, const char *name, char *line, int size)
{
    char path[LONGEST_PATH + 64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "r");
    bool got = file && fgets(line, size, file);
    if (file) fclose(file);
    return got;
}

/* quota / period, or INFINITY where they are not two positive numbers. */
static double ratio(const char *quota, const char *period)
{
    double top = strtod(quota, NULL), bottom = strtod(period, NULL);
    return isfinite(top) && isfinite(bottom) && top > 0 && bottom > 0 ? top / bottom : INFINITY;
}

static double quota_of(const char *folder, bool second_version)
{
    char first[128], second[128];
    if (second_version) {
        if (!stair_group_line(folder, "cpu.max", first, sizeof first)) return INFINITY;
        const char *period = strchr(first, ' ');
        return period ? ratio(first, period) : INFINITY;
    }
    return stair_group_line(folder, "cpu.cfs_quota_us", first, sizeof first) &&
                   stair_group_line(folder, "cpu.cfs_period_us", second, sizeof second)
               ? ratio(first, second)
               : INFINITY;
}

/* The least on the way from a group up to the root. */
static double walk_up(const char *root, const char *controller, const char *group, size_t length,
                      stair_group_limit *limit)
{
    char folder[LONGEST_PATH];
    int top = snprintf(folder, sizeof folder, *controller ? "%s/%s" : "%s%s", root, controller);
    double least = INFINITY;
    if (top < 0 || (size_t)top + length >= sizeof folder) return least;
    memcpy(folder + top, group, length);
    folder[(size_t)top + length] = '\0';
    for (;;) {
        least = fmin(least, limit(folder, !*controller));
        char *slash = strrchr(folder + top, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* Whether `list`, words between commas up to a colon, holds `word`. */
static bool lists(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (;; list++) {
        if (!strncmp(list, word, size) && (list[size] == ',' || list[size] == ':')) return true;
        list += strcspn(list, ",:\n");
        if (*list != ',') return false;
    }
}

double stair_group_least(const char *root, const char *membership, const char *controller,
                         stair_group_limit *limit)
{
    double least = INFINITY;
    for (const char *line = membership; *line;) {
        size_t length = strcspn(line, "\n");
        const char *controllers = memchr(line, ':', length), *group = NULL;
        if (controllers) group = memchr(controllers + 1, ':', length - (size_t)(controllers + 1 - line));
        if (group) {
            size_t left = length - (size_t)(group + 1 - line);
            if (group == controllers + 1)
                least = fmin(least, walk_up(root, "", group + 1, left, limit));
            else if (lists(controllers + 1, controller))
                least = fmin(least, walk_up(root, controller, group + 1, left, limit));
        }
        line += length + (line[length] == '\n');
    }
    return least;
}

bool stair_group_membership(char text[STAIR_GROUP_TEXT])
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file) return false;
    text[fread(text, 1, STAIR_GROUP_TEXT - 1, file)] = '\0';
    fclose(file);
    return true;
}

double stair_cores_granted(const char *root, const char *membership)
{
    return stair_group_least(root, membership, "cpu", quota_of);
}

static double granted(void)
{
    char membership[STAIR_GROUP_TEXT];
    return stair_group_membership(membership) ? stair_cores_granted("/sys/fs/cgroup", membership) : INFINITY;
}

/* Cores in the affinity mask; 0 where the system does not tell. */
static int in_mask(void)
{
    int count = 0;
#ifdef __linux__
    for (int most = 1024; most <= 1 << 20 && !count; most *= 4) { /* too small a mask is refused */
        cpu_set_t *mask = CPU_ALLOC(most);
        size_t size = CPU_ALLOC_SIZE(most);
        if (mask && !sched_getaffinity(0, size, mask)) count = CPU_COUNT_S(size, mask);
        CPU_FREE(mask);
    }
#endif
    return count;
}

int stair_cores(void)
{
#ifdef STAIR_SERIAL
    return 1;
#endif
    int cores = in_mask();
    if (cores < 1) cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double time = ceil(granted());
    if (time < cores) cores = (int)time;
    return cores < 1 ? 1 : cores;
}
