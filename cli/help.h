/* Help and the man page, both read from the tables of commands and options. */
#ifndef STAIR_CLI_HELP_H
#define STAIR_CLI_HELP_H

#include "command.h"

#include <stdio.h>

void help_usage(FILE *file);   /* a few lines */
void help_program(FILE *file); /* stair --help */
void help_command(FILE *file, const cli_command *command);
void help_man(FILE *file); /* roff, section 1 */

#endif
