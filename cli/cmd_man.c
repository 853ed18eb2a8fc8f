/* stair man: the manual page, made from the tables so that it never lags behind. */
#include "help.h"

static stair_status run(cli_request *request)
{
    (void)request;
    help_man(stdout);
    return STAIR_OK;
}

static const char *const names[] = {"help", NULL};

const cli_command command_man = {
    .name = "man",
    .words = "",
    .summary = "Print the manual page",
    .examples = "stair man | man -l -\n",
    .options = names,
    .alone = true,
    .run = run,
};
