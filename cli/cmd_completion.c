/* stair completion: scripts that complete commands, flags and values, made from the tables. */
#include "completion.h"
#include "core/text.h"

#include <string.h>

completion_value completion_of(const option_entry *entry)
{
    if (entry->is->kind == STAIR_OPTION_FLAG) return VALUE_NONE;
    if (stair_option_choice(entry->is, 0)) return VALUE_CHOICE;
    return entry->is->kind == STAIR_OPTION_PATH ? VALUE_FILE : VALUE_UNKNOWN;
}

int completion_takes(const option_entry *entry)
{
    return option_many(entry) == OPTION_TEXTS ? entry->own->take : 1;
}

bool completion_next_word(const char **words, char *word, size_t size)
{
    static const char between[] = " []|.";
    *words += strspn(*words, between);
    int length = (int)strcspn(*words, between);
    snprintf(word, size, "%.*s", length, *words);
    *words += length;
    return length > 0;
}

bool completion_wants(const cli_command *command, const char *kind)
{
    char word[64];
    for (const char *at = command->words; completion_next_word(&at, word, sizeof word);)
        if (!strcmp(word, kind)) return true;
    return false;
}

void completion_choices(FILE *file, const stair_option *option)
{
    for (int i = 0; stair_option_choice(option, i); i++)
        fprintf(file, "%s%s", i ? " " : "", stair_option_choice(option, i));
}

void completion_models(FILE *file)
{
    for (int i = 0; stair_model_name(i); i++) fprintf(file, "%s%s", i ? " " : "", stair_model_name(i));
}

static const struct {
    const char *name;
    void (*write)(FILE *file);
} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
enum { SHELLS = sizeof shells / sizeof *shells };

static stair_status run(cli_request *request)
{
    const char *word = request->parse.count ? request->parse.words[0] : "", *known[SHELLS + 1] = {NULL};
    for (int i = 0; i < SHELLS; i++) {
        known[i] = shells[i].name;
        if (strcmp(word, shells[i].name)) continue;
        shells[i].write(stdout);
        return STAIR_OK;
    }
    const char *near = stair_closest(word, known);
    return stair_fail(request->context, STAIR_BAD_INPUT,
                      "completion needs a shell, bash, zsh or fish, not '%.80s'%s%s%s", word,
                      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static const char *const names[] = {"help", NULL};

const cli_command command_completion = {
    .name = "completion",
    .words = "bash|zsh|fish",
    .summary = "Print a script that completes commands, options and their values",
    .details =
        "bash: source it, from ~/.bashrc say; zsh: keep it as _stair in a folder of $fpath; fish: keep it\n"
        "as ~/.config/fish/completions/stair.fish.\n",
    .examples = "stair completion bash > ~/.local/share/bash-completion/completions/stair\n"
                "stair completion zsh > ~/.zfunc/_stair\n",
    .options = names,
    .most_words = 1,
    .alone = true,
    .run = run,
};
