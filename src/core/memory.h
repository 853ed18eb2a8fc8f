/* Memory that this process may still have. */
#ifndef STAIR_CORE_MEMORY_H
#define STAIR_CORE_MEMORY_H

/* Bytes: what the system has left for programs, swap among it, and no more than the control groups of this
 * process allow in all.  INFINITY where nothing tells. */
double stair_memory_room(void);

/* The limit of the control groups named in `membership` (the text of /proc/self/cgroup), whose files lie
 * under `root` (/sys/fs/cgroup); INFINITY where there is none. */
double stair_memory_granted(const char *root, const char *membership);

#endif
