/* Completion for fish: a line for every command, and one for every option of every command. */
#include "completion.h"

#include <string.h>

static const char opening[] = "# fish completion for stair, made by: stair completion fish\n"
                              "function __stair_first\n"
                              "    test (count (commandline -opc)) -eq 1\n"
                              "end\n"
                              "function __stair_in\n"
                              "    set -l typed (commandline -opc)\n"
                              "    test (count $typed) -ge 2; and test $typed[2] = $argv[1]\n"
                              "end\n"
                              "complete -c stair -f\n"
                              "complete -c stair -n __stair_first -l help -d 'what there is'\n"
                              "complete -c stair -n __stair_first -l version -d 'version'\n";

/* Text inside single quotes. */
static void quote(FILE *file, const char *text)
{
    for (; *text; text++) fprintf(file, strchr("'\\", *text) ? "\\%c" : "%c", *text);
}

static void write_option(FILE *file, const cli_command *command, const option_entry *entry, bool on)
{
    fprintf(file, "complete -c stair -n '__stair_in %s' -l %s%s", command->name, on ? "no-" : "",
            entry->is->name);
    if (!strcmp(entry->is->name, "help")) fputs(" -s h", file);
    if (completion_of(entry) == VALUE_FILE) fputs(" -r -F", file);
    if (completion_of(entry) == VALUE_UNKNOWN || completion_of(entry) == VALUE_CHOICE) fputs(" -x", file);
    if (completion_of(entry) == VALUE_CHOICE) {
        fputs(" -a '", file);
        completion_choices(file, entry->is);
        putc('\'', file);
    }
    fputs(" -d '", file);
    quote(file, entry->is->text);
    fputs("'\n", file);
}

/* A model by its name, or with the first of its keys. */
static void write_models(FILE *file)
{
    completion_models(file);
    for (int i = 0; stair_model_name(i); i++) {
        const stair_model_key *key;
        for (int k = 0; (key = stair_model_keys(i, k)); k++)
            fprintf(file, " %s:%s=", stair_model_name(i), key->key);
    }
}

static void write_words(FILE *file, const cli_command *command)
{
    char word[64];
    for (const char *at = command->words; completion_next_word(&at, word, sizeof word);) {
        if (!strcmp(word, "NAME")) continue;
        fprintf(file, "complete -c stair -n '__stair_in %s' ", command->name);
        if (!strcmp(word, "FILE")) {
            fputs("-F\n", file);
            continue;
        }
        fputs("-a '", file);
        if (!strcmp(word, "MODEL"))
            write_models(file);
        else
            fputs(word, file);
        fputs("'\n", file);
    }
}

void completion_fish(FILE *file)
{
    fputs(opening, file);
    for (const cli_command *const *c = command_table; *c; c++) {
        fprintf(file, "complete -c stair -n __stair_first -a %s -d '", (*c)->name);
        quote(file, (*c)->summary);
        fputs("'\n", file);
    }
    for (const cli_command *const *c = command_table; *c; c++) {
        option_scope scope = command_scope(*c);
        cli_options defaults;
        command_defaults(*c, &defaults);
        for (const char *const *name = (*c)->options; *name; name++) {
            option_entry entry = option_of(&scope, *name);
            char text[64];
            option_to_text(&entry, &defaults, text, sizeof text);
            write_option(file, *c, &entry, entry.is->kind == STAIR_OPTION_FLAG && !strcmp(text, "yes"));
        }
        write_words(file, *c);
    }
}
