/* How many threads this process may keep busy: the least of its affinity mask and of the processor time that
 * its control groups grant it. */
#ifndef STAIR_CORE_CORES_H
#define STAIR_CORE_CORES_H

#include <stdbool.h>
#include <stddef.h>

int stair_cores(void); /* at least 1 */

/* Cores' worth of time granted by the control groups named in `membership` (the text of /proc/self/cgroup),
 * whose files lie under `root` (/sys/fs/cgroup); INFINITY where nothing limits it. */
double stair_cores_granted(const char *root, const char *membership);

/* ---- what a control group says, for core/memory.c -------------------------------------------------- */

enum { STAIR_GROUP_TEXT = 4096 };
bool stair_group_membership(char text[STAIR_GROUP_TEXT]);                          /* /proc/self/cgroup */
bool stair_group_line(const char *folder, const char *name, char *line, int size); /* the first of a file */
/* The least that `limit` reads on the way from each group of `controller` up to the root. */
typedef double stair_group_limit(const char *folder, bool second_version);
double stair_group_least(const char *root, const char *membership, const char *controller,
                         stair_group_limit *limit);

#endif
