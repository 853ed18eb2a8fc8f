/* All commands, in the order help lists them.  A new one: its file, and a line here. */
#include "command.h"

#include <string.h>

extern const cli_command command_models, command_channel, command_diagnose, command_bench, command_man,
    command_sgd, command_train, command_tokenize, command_threshold, command_evolve, command_entropy,
    command_figure, command_amp;

const cli_command *const command_table[] = {
    &command_models,   &command_threshold,
    &command_evolve,   &command_entropy,
    &command_figure,   &command_channel,
    &command_amp,      &command_sgd,
    &command_train,    &command_tokenize,
    &command_diagnose, &command_bench,
    &command_man,      NULL,
};

const cli_command *command_find(const char *name)
{
    for (const cli_command *const *entry = command_table; *entry; entry++)
        if (!strcmp((*entry)->name, name)) return *entry;
    return NULL;
}
