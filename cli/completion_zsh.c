/* Completion for zsh, in the words of its _arguments. */
#include "completion.h"

#include <string.h>

/* Text inside single quotes, where [ ] : and \ have a meaning. */
static void quote(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", file);
        else
            fprintf(file, strchr("[]:\\", *text) ? "\\%c" : "%c", *text);
}

static void write_models(FILE *file)
{
    fputs("_stair_models() {\n    if ! compset -P '*[:,]'; then\n        compadd -S '' -- ", file);
    completion_models(file);
    fputs("\n        return\n    fi\n    case $IPREFIX in\n", file);
    for (int i = 0; stair_model_name(i); i++) {
        fprintf(file, "    (%s:*) compadd -S '' --", stair_model_name(i));
        const stair_model_key *key;
        for (int k = 0; (key = stair_model_keys(i, k)); k++) fprintf(file, " %s=", key->key);
        fputs(" ;;\n", file);
    }
    fputs("    esac\n}\n", file);
}

static void write_option(FILE *file, const option_entry *entry, bool on)
{
    const stair_option *is = entry->is;
    fprintf(file, " \\\n        '%s--%s%s[", option_many(entry) == OPTION_TEXTS ? "*" : "", on ? "no-" : "",
            is->name);
    quote(file, is->text);
    putc(']', file);
    for (int k = 0; completion_of(entry) != VALUE_NONE && k < completion_takes(entry); k++) {
        putc(':', file);
        quote(file, is->value);
        putc(':', file);
        if (completion_of(entry) == VALUE_FILE)
            fputs("_files", file);
        else if (completion_of(entry) == VALUE_CHOICE) {
            putc('(', file);
            completion_choices(file, is);
            putc(')', file);
        } else
            putc(' ', file); /* nothing to propose */
    }
    putc('\'', file);
}

static void write_words(FILE *file, const cli_command *command)
{
    char word[64];
    if (!*command->words) return;
    if (completion_wants(command, "MODEL")) {
        fputs(" \\\n        '*:MODEL:_stair_models'", file);
        return;
    }
    if (completion_wants(command, "FILE")) {
        fputs(" \\\n        '*:FILE:_files'", file);
        return;
    }
    fputs(" \\\n        '1: :(", file);
    for (const char *at = command->words; completion_next_word(&at, word, sizeof word);)
        fprintf(file, "%s ", word);
    fputs(")'", file);
}

static void write_command(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    cli_options defaults;
    command_defaults(command, &defaults);
    fprintf(file, "    (%s)\n        _arguments", command->name);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        char text[64];
        option_to_text(&entry, &defaults, text, sizeof text);
        write_option(file, &entry, entry.is->kind == STAIR_OPTION_FLAG && !strcmp(text, "yes"));
    }
    write_words(file, command);
    fputs("\n        ;;\n", file);
}

void completion_zsh(FILE *file)
{
    fputs("#compdef stair\n# zsh completion for stair, made by: stair completion zsh\n", file);
    write_models(file);
    fputs("_stair() {\n    local -a commands\n    commands=(\n", file);
    for (const cli_command *const *c = command_table; *c; c++) {
        fprintf(file, "        '%s:", (*c)->name);
        quote(file, (*c)->summary);
        fputs("'\n", file);
    }
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n",
          file);
    for (const cli_command *const *c = command_table; *c; c++) write_command(file, *c);
    fputs("    esac\n}\n_stair \"$@\"\n", file);
}
