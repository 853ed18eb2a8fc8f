/* Completion scripts for shells: what they all ask of the tables of commands and options. */
#ifndef STAIR_CLI_COMPLETION_H
#define STAIR_CLI_COMPLETION_H

#include "command.h"

#include <stdio.h>

/* What can be proposed for the value of an option. */
typedef enum {
    VALUE_NONE,    /* a flag has none */
    VALUE_UNKNOWN, /* only the user knows */
    VALUE_CHOICE,
    VALUE_FILE
} completion_value;
completion_value completion_of(const option_entry *entry);
int completion_takes(const option_entry *entry); /* values at each appearance */

/* What stands after the name of a command: its `words`, one after the other.  In capitals, MODEL and FILE are
 * kinds of words; the others are words themselves. */
bool completion_next_word(const char **words, char *word, size_t size);
bool completion_wants(const cli_command *command, const char *kind);

void completion_choices(FILE *file, const stair_option *option); /* blanks between */
void completion_models(FILE *file);

void completion_bash(FILE *file);
void completion_zsh(FILE *file);
void completion_fish(FILE *file);

#endif
