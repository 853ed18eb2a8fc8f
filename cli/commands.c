/* All commands, in the order help lists them.  A new one: its file, and a line here. */
#include "command.h"

#include <string.h>

extern const cli_command command_models, command_channel, command_diagnose, command_bench, command_man,
    command_sgd, command_train, command_tokenize, command_threshold, command_evolve, command_entropy,
    command_figure, command_report, command_amp, command_completion, command_exponents, command_merge;

const cli_command *const command_table[] = {
    &command_models,     &command_threshold, &command_evolve,
    &command_entropy,    &command_exponents, &command_figure,
    &command_report,     &command_merge,     &command_channel,
    &command_amp,        &command_sgd,       &command_train,
    &command_tokenize,   &command_diagnose,  &command_bench,
    &command_completion, &command_man,       NULL,
};

const cli_command *command_find(const char *name)
{
    for (const cli_command *const *entry = command_table; *entry; entry++)
        if (!strcmp((*entry)->name, name)) return *entry;
    return NULL;
}

option_scope command_scope(const cli_command *command)
{
    return (option_scope){
        .command = command->name, .names = command->options, .tables = command->tables, .own = own_options};
}

void command_defaults(const cli_command *command, cli_options *options)
{
    options_defaults(options);
    if (command->defaults) command->defaults(options);
}
