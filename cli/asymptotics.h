/* What the commands on asymptotics share: their options. */
#ifndef STAIR_CLI_ASYMPTOTICS_H
#define STAIR_CLI_ASYMPTOTICS_H

#include "command.h"

void asymptotics_defaults(cli_options *options);
stair_asymptotics_options asymptotics_wanted(const cli_options *options);

#define ASYMPTOTICS_OPTIONS                                                                                  \
    "precision", "samples", "replicates", "widening", "inner", "max-iterations", "set", "checkpoint",        \
        "resume", COMMON_OPTIONS

#endif
