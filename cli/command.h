/* A command: one file cmd_<name>.c that ends in its descriptor, one line in the table of commands.c.
 *
 * The way of a request: argv -> option tables -> the library's structs in `options` -> one library call ->
 * report rows. */
#ifndef STAIR_CLI_COMMAND_H
#define STAIR_CLI_COMMAND_H

#include "options.h"

#include <time.h>

typedef struct {
    stair_context *context;
    const struct cli_command *command;
    cli_options options;
    option_parse parse;
    stair_model *model;     /* NULL where the command has none */
    const char *checkpoint; /* where states are kept: this file, or this name with .k behind it; or NULL */
    time_t started;
    const char *const
        *unused; /* options without meaning for this request, ended by NULL: not echoed; or NULL */
} cli_request;

/* Whether an option is part of what was computed, and of its echo in reports. */
bool request_echoes(const cli_request *request, const stair_option *option);

typedef struct cli_command {
    const char *name;
    const char *words;          /* what stands after the name: "MODEL" */
    const char *summary;        /* one line */
    const char *details;        /* a paragraph, or NULL */
    const char *examples;       /* lines, each a command */
    const char *const *options; /* names, ended by NULL */
    const char *const *tables;  /* of the library where these are found first, ended by NULL; or NULL */
    int most_words;
    bool needs_model;                       /* the first word is a MODEL */
    bool alone;                             /* nothing in it that ranks would share: the first does it */
    void (*defaults)(cli_options *options); /* where they are not the library's, or NULL */
    stair_status (*run)(cli_request *request);
} cli_command;

extern const cli_command *const command_table[]; /* ended by NULL */
const cli_command *command_find(const char *name);
option_scope command_scope(const cli_command *command);
void command_defaults(const cli_command *command, cli_options *options);

/* Options of every command that prints results. */
#define COMMON_OPTIONS "seed", "threads", "device", "json", "csv", "out", "force", "quiet", "help"

#endif
