/* What the commands on asymptotics share: their options. */
#ifndef STAIR_CLI_ASYMPTOTICS_H
#define STAIR_CLI_ASYMPTOTICS_H

#include "command.h"

#define ASYMPTOTICS_OPTIONS                                                                                  \
    "precision", "samples", "replicates", "widening", "inner", "method", "max-iterations", "patience",       \
        "set", "checkpoint", "resume", COMMON_OPTIONS

#endif
