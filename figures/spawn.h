/* Another program, started with a list of arguments: no shell sees them. */
#ifndef STAIR_FIGURES_SPAWN_H
#define STAIR_FIGURES_SPAWN_H

#include "core/context.h"

/* Where PATH has it, as an absolute name to be freed; STAIR_FAILED with what to install. */
stair_status figure_program_find(stair_context *context, const char *name, const char *package, char **path);

/* Runs it in `folder`, standard input empty, what it prints in the file `log` there.  STAIR_FAILED with the
 * last line of that where its exit status is not 0. */
stair_status figure_program_run(stair_context *context, const char *path, char *const argv[],
                                const char *folder, const char *log);

#endif
