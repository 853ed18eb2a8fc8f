/* From argv through the tables into the structs of the library and of the program. */
#include "options.h"
#include "core/text.h"

#include <stdio.h>
#include <string.h>

/* Which member of cli_options a table of the library describes. */
static const struct {
    const char *table;
    size_t base;
} members[] = {
    {"points", offsetof(cli_options, random)},       {"channel", offsetof(cli_options, channel)},
    {"diagnose", offsetof(cli_options, diagnose)},   {"asymptotics", offsetof(cli_options, asymptotics)},
    {"gamp", offsetof(cli_options, gamp)},           {"sgd", offsetof(cli_options, sgd)},
    {"questions", offsetof(cli_options, questions)}, {"train", offsetof(cli_options, train)},
};
enum { MEMBERS = sizeof members / sizeof *members };

void options_defaults(cli_options *options)
{
    *options = (cli_options){0};
    for (int i = 0; i < MEMBERS; i++)
        stair_options_find(members[i].table)->defaults((char *)options + members[i].base);
}

static option_entry in_library(const option_scope *scope, const char *name)
{
    for (const char *const *table = scope->tables; table && *table; table++)
        for (int i = 0; i < MEMBERS; i++) {
            if (strcmp(members[i].table, *table)) continue;
            const stair_option *option = stair_option_find(stair_options_find(*table), name);
            if (option) return (option_entry){.is = option, .base = members[i].base};
        }
    return (option_entry){0};
}

/* An option of the program comes before the library's where it is for this command alone, or where it is a
 * list of what the library takes one of: --alpha. */
option_entry option_of(const option_scope *scope, const char *name)
{
    const cli_option *general = NULL;
    for (const cli_option *own = scope->own; own->is.name; own++) {
        if (strcmp(own->is.name, name)) continue;
        if (own->command ? !strcmp(own->command, scope->command) : own->many == OPTION_LIST)
            return (option_entry){.is = &own->is, .own = own};
        if (!own->command) general = own;
    }
    option_entry entry = in_library(scope, name);
    if (!entry.is && general) entry = (option_entry){.is = &general->is, .own = general};
    return entry;
}

option_count option_many(const option_entry *entry)
{
    return entry->own ? entry->own->many : OPTION_ONE;
}

/* Place of a name in the list of the command, or -1. */
static int place_of(const option_parse *parse, const char *name)
{
    for (int i = 0; parse->scope.names[i]; i++)
        if (!strcmp(parse->scope.names[i], name)) return i;
    return -1;
}

bool option_given(const option_parse *parse, const char *name)
{
    int place = place_of(parse, name);
    return place >= 0 && parse->given[place];
}

static stair_status unknown(stair_context *context, const option_parse *parse, const char *name)
{
    const char *near = stair_closest(name, parse->scope.names);
    if (near)
        return stair_fail(context, STAIR_BAD_INPUT, "unknown option --%s; did you mean --%s?", name, near);
    return stair_fail(context, STAIR_BAD_INPUT, "unknown option --%s; see stair %s --help", name,
                      parse->scope.command);
}

/* `--no-full` takes back a flag, so that one whose default is on can be turned off. */
static bool is_refusal(const option_parse *parse, const char *name)
{
    if (strncmp(name, "no-", 3) || place_of(parse, name + 3) < 0) return false;
    option_entry entry = option_of(&parse->scope, name + 3);
    return entry.is && entry.is->kind == STAIR_OPTION_FLAG;
}

/* The library's messages start with the name of the option. */
static stair_status as_flag(stair_context *context, stair_status status)
{
    char message[sizeof context->message];
    if (status == STAIR_OK) return STAIR_OK;
    snprintf(message, sizeof message, "%s", stair_context_message(context));
    return stair_fail(context, status, "--%s", message);
}

static stair_status store(stair_context *context, const option_entry *entry, const char *text, void *target)
{
    const stair_option *is = entry->is;
    void *options = (char *)target + entry->base;
    option_texts *texts = (option_texts *)((char *)options + is->offset);
    switch (option_many(entry)) {
    case OPTION_ONE:
        return as_flag(context, stair_option_set(context, is, options, text));
    case OPTION_LIST:
        return option_list_read(context, is, text, (option_list *)((char *)options + is->offset));
    case OPTION_TEXTS:
        break;
    }
    if (texts->count == OPTION_MOST_TEXTS)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s given too often", is->name);
    if (!*text) return stair_fail(context, STAIR_BAD_INPUT, "--%s needs a value, not an empty one", is->name);
    texts->items[texts->count++] = text;
    return STAIR_OK;
}

/* Values that follow the option at argv[*i]; only `--name=value` may carry one that starts with "--". */
static stair_status read_values(stair_context *context, const option_entry *entry, int argc,
                                char *const *argv, int *i, void *target)
{
    int take = option_many(entry) == OPTION_TEXTS ? entry->own->take : 1;
    for (int k = 0; k < take; k++) {
        if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
            return stair_fail(context, STAIR_BAD_INPUT, "--%s needs %s: --%s %s", entry->is->name,
                              take > 1 ? "more values" : "a value", entry->is->name, entry->is->value);
        STAIR_TRY(store(context, entry, argv[++*i], target));
    }
    return STAIR_OK;
}

static stair_status read_option(stair_context *context, option_parse *parse, int argc, char *const *argv,
                                int *i, void *target)
{
    const char *text = argv[*i] + 2, *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    char name[64];
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
    bool refused = is_refusal(parse, name);
    const char *plain = refused ? name + 3 : name;
    int place = place_of(parse, plain);
    option_entry entry = place < 0 ? (option_entry){0} : option_of(&parse->scope, plain);
    if (!entry.is) return unknown(context, parse, name);
    parse->given[place] = true;
    if (entry.is->kind == STAIR_OPTION_FLAG && equals)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s takes no value", entry.is->name);
    if (entry.is->kind == STAIR_OPTION_FLAG) return store(context, &entry, refused ? "no" : "yes", target);
    if (!equals) return read_values(context, &entry, argc, argv, i, target);
    if (option_many(&entry) == OPTION_TEXTS && entry.own->take > 1)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s needs %d values: --%s %s", name, entry.own->take,
                          name, entry.is->value);
    return store(context, &entry, equals + 1, target);
}

/* -h is --help wherever that is an option. */
static bool is_help(const option_parse *parse, const char *word)
{
    return !strcmp(word, "-h") && place_of(parse, "help") >= 0;
}

stair_status options_read(stair_context *context, option_parse *parse, int argc, char *const *argv,
                          void *target)
{
    bool only_words = false;
    char help[] = "--help", *const asked[] = {help};
    for (int i = 0; i < argc; i++) {
        int first = 0;
        if (!only_words && !strcmp(argv[i], "--"))
            only_words = true;
        else if (!only_words && !strncmp(argv[i], "--", 2))
            STAIR_TRY(read_option(context, parse, argc, argv, &i, target));
        else if (!only_words && is_help(parse, argv[i]))
            STAIR_TRY(read_option(context, parse, 1, asked, &first, target));
        else if (!only_words && argv[i][0] == '-' && argv[i][1]) /* - alone is standard input */
            return stair_fail(context, STAIR_BAD_INPUT, "unknown option %s; options start with two dashes",
                              argv[i]);
        else if (parse->count == parse->most)
            return stair_fail(context, STAIR_BAD_INPUT, "unexpected argument '%.80s'; see stair %s --help",
                              argv[i], parse->scope.command);
        else
            parse->words[parse->count++] = argv[i];
    }
    return STAIR_OK;
}
