/* stair entropy --phases. */
#ifndef STAIR_CLI_HARD_PHASES_H
#define STAIR_CLI_HARD_PHASES_H

#include "report.h"

stair_status hard_phases_run(cli_request *request);

#endif
