/* The whole program but main(). */
#ifndef STAIR_CLI_PROGRAM_H
#define STAIR_CLI_PROGRAM_H

#include "stair.h"

/* Returns the exit code.  ranks: every one of them calls this with the same arguments; or NULL. */
int program_run(int argc, char **argv, const stair_ranks *ranks);

#endif
