/* Completion for bash.
 *
 * Bash cuts words at ':' and '=', so that the word at the cursor may be a piece of MODEL or of --name=value:
 * pieces are joined first, and what precedes the cursor's piece is cut off the proposals again. */
#include "completion.h"

#include <string.h>

static const char opening[] = "# bash completion for stair, made by: stair completion bash\n"
                              "_stair_pick() { COMPREPLY=($(compgen -W \"$1\" -- \"$2\")); }\n"
                              "_stair_files() {\n"
                              "    compopt -o filenames 2>/dev/null\n"
                              "    mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n"
                              "}\n";

static const char model_opening[] =
    "# MODEL as typed so far, the number of its letters before this piece, other words\n"
    "_stair_model() {\n"
    "    local last=${1##*[:,]} keys= key head\n"
    "    head=${1%\"$last\"}\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    case $1 in\n";

static const char model_closing[] = "    esac\n"
                                    "    [[ $last == *=* ]] && return\n"
                                    "    for key in $keys; do\n"
                                    "        [[ $key == \"$last\"* ]] && COMPREPLY+=(\"${head:$2}$key\")\n"
                                    "    done\n"
                                    "}\n";

static const char joining[] =
    "    local word=${COMP_WORDS[COMP_CWORD]} before typed flags= words= files= i=$COMP_CWORD\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _stair_pick \"$commands\" \"$word\"\n"
    "        return\n"
    "    fi\n"
    "    typed=$word\n"
    "    [[ $word == [:=] ]] && word=\n"
    "    while ((i > 2)) && [[ ${COMP_WORDS[i]} == [:=] || ${COMP_WORDS[i - 1]} == [:=] ]]; do\n"
    "        i=$((i - 1))\n"
    "        typed=${COMP_WORDS[i]}$typed\n"
    "    done\n"
    "    before=${COMP_WORDS[i - 1]}\n"
    "    [[ $typed == --*=* ]] && before=${typed%%=*} && typed=${typed#*=}\n"
    "    case ${COMP_WORDS[1]} in\n";

static const char closing[] =
    "    esac\n"
    "    if [[ $typed == -* ]]; then\n"
    "        _stair_pick \"$flags\" \"$word\"\n"
    "    elif [[ $words == *MODEL* ]]; then\n"
    "        _stair_model \"$typed\" $((${#typed} - ${#word})) \"${words//MODEL/}\"\n"
    "    elif [[ $words == *FILE* ]]; then\n"
    "        _stair_files \"$word\"\n"
    "    else\n"
    "        _stair_pick \"$words\" \"$word\"\n"
    "    fi\n"
    "}\n"
    "complete -F _stair stair\n";

static void write_models(FILE *file)
{
    fputs(model_opening, file);
    for (int i = 0; stair_model_name(i); i++) {
        fprintf(file, "    %s:*) keys=\"", stair_model_name(i));
        const stair_model_key *key;
        for (int k = 0; (key = stair_model_keys(i, k)); k++) fprintf(file, "%s%s=", k ? " " : "", key->key);
        fputs("\" ;;\n", file);
    }
    fputs("    *:*) return ;;\n    *) _stair_pick \"", file);
    completion_models(file);
    fputs(" $3\" \"$1\" ;;\n", file);
    fputs(model_closing, file);
}

/* The pattern of all options whose values are of this kind, and what to do after one. */
static void write_values(FILE *file, const cli_command *command, completion_value kind, const char *action)
{
    option_scope scope = command_scope(command);
    int count = 0;
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        if (completion_of(&entry) == kind) fprintf(file, "%s--%s", count++ ? " | " : "        ", *name);
    }
    if (count) fprintf(file, ")%s return ;;\n", action);
}

static void write_choices(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        if (completion_of(&entry) != VALUE_CHOICE) continue;
        fprintf(file, "        --%s) _stair_pick \"", *name);
        completion_choices(file, entry.is);
        fputs("\" \"$word\"; return ;;\n", file);
    }
}

/* Options with several values: the word before the last may be theirs. */
static void write_pairs(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        if (completion_takes(&entry) > 1)
            fprintf(file, "        [[ ${COMP_WORDS[i - 2]} == --%s ]] && _stair_files \"$word\" && return\n",
                    *name);
    }
}

static void write_flags(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    cli_options defaults;
    command_defaults(command, &defaults);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        char text[64];
        option_to_text(&entry, &defaults, text, sizeof text);
        bool on = entry.is->kind == STAIR_OPTION_FLAG && !strcmp(text, "yes");
        fprintf(file, "%s--%s%s", name == command->options ? "" : " ", on ? "no-" : "", *name);
    }
}

static void write_command(FILE *file, const cli_command *command)
{
    char word[64];
    fprintf(file, "    %s)\n        case $before in\n", command->name);
    write_values(file, command, VALUE_UNKNOWN, "");
    write_values(file, command, VALUE_FILE, " _stair_files \"$word\";");
    write_choices(file, command);
    fputs("        esac\n", file);
    write_pairs(file, command);
    fputs("        flags=\"", file);
    write_flags(file, command);
    fputs("\" words=\"", file);
    for (const char *at = command->words; completion_next_word(&at, word, sizeof word);)
        if (strcmp(word, "NAME")) fprintf(file, "%s ", word);
    fputs("\" ;;\n", file);
}

void completion_bash(FILE *file)
{
    fputs(opening, file);
    write_models(file);
    fputs("_stair() {\n    local commands=\"", file);
    for (const cli_command *const *c = command_table; *c; c++) fprintf(file, "%s ", (*c)->name);
    fputs("--help --version\"\n", file);
    fputs(joining, file);
    for (const cli_command *const *c = command_table; *c; c++) write_command(file, *c);
    fputs(closing, file);
}
