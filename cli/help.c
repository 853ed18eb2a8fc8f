/* What `stair --help`, `stair COMMAND --help` and `stair man` print. */
#include "help.h"
#include "column_words.h"

#include <string.h>

#define COLUMNS 100 /* of help, at most */
#define INDENT  20

static const char intro[] =
    "Stair tells how much data it takes to learn a sequence multi-index model or a deep\n"
    "attention network, layer by layer.\n";
static const char model_text[] =
    "MODEL is one string, name:key=value,...  such as attention:layers=2,tokens=2,skip=1;\n"
    "stair models lists them, stair models MODEL describes one.\n";
static const struct {
    const char *code, *text;
} exits[] = {
    {"0", "done"},
    {"1", "failed: a check did not hold, or the machine did not play along"},
    {"2", "bad usage or bad input; nothing was written"},
    {"3", "did not reach the requested precision; results are printed with their errors"},
    {"130, 143", "interrupted by SIGINT or SIGTERM; no results, and a checkpoint only where it says so"},
    {"129, 138", "the same by SIGHUP or SIGUSR1"},
};

static const char environment_text[] =
    "STAIR_ISA=v2, v3 or v4: the best instruction set to use (SSE2, AVX2, AVX-512).\n"
    "Digits are the same on all machines that run the same one.\n"
    "STAIR_LARGEST_ARRAY=BYTES: what an array of an NPZ file may take in memory; 2^30 without it.\n";

void help_usage(FILE *file)
{
    fputs("usage: stair COMMAND [MODEL] [--option value]...\n\n", file);
    for (const cli_command *const *c = command_table; *c; c++)
        fprintf(file, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fputs("\nstair --help says more; stair COMMAND --help gives options and examples.\n", file);
}

void help_program(FILE *file)
{
    fprintf(file, "stair %s\n%s\nusage: stair COMMAND [MODEL] [--option value]...\n\ncommands:\n",
            STAIR_VERSION, intro);
    for (const cli_command *const *c = command_table; *c; c++)
        fprintf(file, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fprintf(file, "\n%s\nexamples:\n", model_text);
    for (const cli_command *const *c = command_table; *c; c++) {
        const char *example = (*c)->examples;
        fprintf(file, "  %.*s\n", (int)strcspn(example, "\n"), example);
    }
    fputs("\nexit status:\n", file);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        fprintf(file, "  %-10s %s\n", exits[i].code, exits[i].text);
    fprintf(file, "\nenvironment:\n%s", environment_text);
    fputs("\nstair COMMAND --help gives the options of a command; stair man prints the manual page.\n"
          "mpirun -n R stair-mpi COMMAND ... is the same program on R ranks, with the same bytes.\n",
          file);
}

/* What a default is called, or nothing. */
static void default_text(const option_entry *entry, const cli_options *defaults, char *text, size_t size)
{
    option_to_text(entry, defaults, text, size);
    if (entry->is->kind != STAIR_OPTION_FLAG) return;
    if (!strcmp(text, "yes"))
        snprintf(text, size, "on, --no-%s turns it off", entry->is->name);
    else
        *text = 0;
}

static void text_and_default(const option_entry *entry, const cli_options *defaults, char *text, size_t size)
{
    char value[96];
    default_text(entry, defaults, value, sizeof value);
    snprintf(text, size, *value ? "%s [%s]" : "%s", entry->is->text, value);
}

/* Words from column `at` on, in lines of at most COLUMNS characters. */
static void print_wrapped(FILE *file, size_t at, const char *text)
{
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        if (at + 1 + length > COLUMNS) at = (size_t)fprintf(file, "\n%*s", INDENT, "") - 1;
        at += (size_t)fprintf(file, " %.*s", (int)length, text);
    }
    putc('\n', file);
}

void help_command(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    cli_options defaults;
    command_defaults(command, &defaults);
    fprintf(file, "usage: stair %s%s%s [--option value]...\n\n%s.\n", command->name,
            *command->words ? " " : "", command->words, command->summary);
    if (command->details) fprintf(file, "\n%s", command->details);
    fputs("\noptions:\n", file);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        char flag[48], text[512];
        snprintf(flag, sizeof flag, "--%s %s", entry.is->name, entry.is->value ? entry.is->value : "");
        fprintf(file, "  %-18s", flag);
        text_and_default(&entry, &defaults, text, sizeof text);
        print_wrapped(file, strlen(flag) > 18 ? strlen(flag) + 2 : 20, text);
    }
    fputs("\nexamples:\n", file);
    for (const char *line = command->examples; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(file, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* Text in roff: dashes and backslashes escaped, no line that looks like a request. */
static void roff(FILE *file, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", file);
        start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '-')
            fputs("\\-", file);
        else
            putc(*text, file);
    }
}

static void man_columns(FILE *file, const char *command)
{
    const cli_column_word *word = column_words(command);
    if (!word) return;
    fputs(".PP\nColumns (X_error is the error of X, in its unit):\n", file);
    for (; word->name; word++) {
        fputs(".TP\n\\fB", file);
        roff(file, word->name);
        fputs("\\fR [", file);
        roff(file, word->unit);
        fputs("]\n", file);
        roff(file, word->text);
        putc('\n', file);
    }
}

static void man_command(FILE *file, const cli_command *command)
{
    option_scope scope = command_scope(command);
    cli_options defaults;
    command_defaults(command, &defaults);
    fprintf(file, ".SS stair %s %s\n", command->name, command->words);
    roff(file, command->summary);
    fputs(".\n", file);
    if (command->details) {
        fputs(".PP\n", file);
        roff(file, command->details);
    }
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        char value[96];
        fputs(".TP\n\\fB\\-\\-", file);
        roff(file, entry.is->name);
        fprintf(file, "\\fR \\fI%s\\fR\n", entry.is->value ? entry.is->value : "");
        roff(file, entry.is->text);
        default_text(&entry, &defaults, value, sizeof value);
        if (*value) fprintf(file, "\n(default %s)", value);
        putc('\n', file);
    }
    man_columns(file, command->name);
    fputs(".PP\nExamples:\n.PP\n.nf\n", file);
    roff(file, command->examples);
    fputs(".fi\n", file);
}

void help_man(FILE *file)
{
    fprintf(file,
            ".TH STAIR 1 \"\" \"stair %s\" \"User Commands\"\n.SH NAME\nstair \\- how much data it takes to "
            "learn, layer by layer\n",
            STAIR_VERSION);
    fputs(".SH SYNOPSIS\n.B stair\n.I COMMAND\n[\\fIMODEL\\fR] [\\fB\\-\\-option\\fR \\fIvalue\\fR]...\n.SH "
          "DESCRIPTION\n",
          file);
    roff(file, intro);
    fputs(".PP\n", file);
    roff(file, model_text);
    fputs(".SH COMMANDS\n", file);
    for (const cli_command *const *c = command_table; *c; c++) man_command(file, *c);
    fputs(".SH EXIT STATUS\n", file);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        fprintf(file, ".TP\n%s\n%s\n", exits[i].code, exits[i].text);
    fputs(".SH ENVIRONMENT\n", file);
    roff(file, environment_text);
}
