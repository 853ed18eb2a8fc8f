/* How many threads this process may keep busy: the least of its affinity mask and of the processor time that
 * its control groups grant it. */
#ifndef STAIR_CORE_CORES_H
#define STAIR_CORE_CORES_H

#include <stddef.h>

int stair_cores(void); /* at least 1 */

/* Cores' worth of time granted by the control groups named in `membership` (the text of /proc/self/cgroup),
 * whose files lie under `root` (/sys/fs/cgroup); INFINITY where nothing limits it. */
double stair_cores_granted(const char *root, const char *membership);

#endif
