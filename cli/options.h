/* Options of the commands: the library's, as its tables describe them, and the program's own.
 *
 * A flag of the library goes straight into the library's struct, which is a member of cli_options.  To add
 * one: a line in the library's table, and its name in the list of each command that takes it.  To add one of
 * the program: a field below, a line in the table of options.c, and the same lists.  Flags, help, manual
 * page, completion and the JSON echo all read the tables. */
#ifndef STAIR_CLI_OPTIONS_H
#define STAIR_CLI_OPTIONS_H

#include "core/context.h"
#include "core/options.h"

typedef struct {
    double *values;
    size_t count;
} option_list;

#define OPTION_MOST_TEXTS 32 /* times that an option may be given */
typedef struct {
    const char *items[OPTION_MOST_TEXTS];
    int count;
} option_texts;

typedef enum {
    OPTION_ONE,  /* value, of the library's kinds */
    OPTION_LIST, /* option_list: numbers a,b,c or from:to:step, each within the range */
    OPTION_TEXTS /* option_texts: `take` values each time, and again */
} option_count;

/* An option of the program alone. */
typedef struct {
    stair_option is;
    option_count many;
    int take;
    const char *command; /* the one command to which the name means this */
} cli_option;

/* Every option of every command. */
typedef struct {
    stair_points_options random;
    stair_channel_options channel;
    stair_diagnose_options diagnose;
    stair_asymptotics_options asymptotics;
    stair_gamp_options gamp;
    stair_sgd_options sgd;
    stair_questions_options questions;
    stair_train_options train;

    int64_t points;                       /* channel, bench */
    const char *logits, *y, *omega, *cov; /* channel */
    option_list alpha;
    const char *from; /* evolve */
    int steps;        /* threshold */
    int degree;       /* exponents */
    bool phases;      /* entropy */
    option_texts set;
    const char *checkpoint; /* of a grid */
    bool resume;
    option_texts pair; /* amp */
    bool log_labels, history, summary, dry_run;
    const char *theory;
    int samples;                               /* of a trajectory */
    const char *data, *vocab, *test, *weights; /* train */
    const char *predict, *save, *load;

    bool quick, tex; /* figure */
    const char *size, *overlay;

    int threads;
    const char *device;
    bool json, csv, force, quiet, help;
    const char *out;
    const char *title; /* report */
    bool plain;
} cli_options;

extern const cli_option own_options[]; /* ended by a NULL name */

/* Where the options of a command are looked up. */
typedef struct {
    const char *command;
    const char *const *names;  /* those it takes, ended by NULL */
    const char *const *tables; /* of the library, ended by NULL; or NULL */
    const cli_option *own;
} option_scope;

/* What a name means to a command.  `is` is NULL where it means nothing. */
typedef struct {
    const stair_option *is;
    const cli_option *own; /* NULL: the library's */
    size_t base;           /* of the struct that holds the field, in the struct that is filled */
} option_entry;
option_entry option_of(const option_scope *scope, const char *name);
option_count option_many(const option_entry *entry);

/* Fills the library's structs with their defaults, everything else with zero. */
void options_defaults(cli_options *options);

/* Fills `target` from the command line: options that the scope names, and at most `most` other words.
 * Strings point into argv.  Options that were given are marked, in the order of names. */
#define OPTION_MOST       64  /* options of a command */
#define OPTION_MOST_WORDS 256 /* words of a command that are none: files of a report */
typedef struct {
    option_scope scope;
    int most;
    const char *words[OPTION_MOST_WORDS];
    int count;
    bool given[OPTION_MOST];
} option_parse;
stair_status options_read(stair_context *context, option_parse *parse, int argc, char *const *argv,
                          void *target);
bool option_given(const option_parse *parse, const char *name);
void options_free(const cli_option *own, void *target); /* the lists */

/* The value of one option as text, the way a user would type it. */
void option_to_text(const option_entry *entry, const void *target, char *text, size_t size);

/* a,b,c or from:to:step; each number within the range of `option`. */
stair_status option_list_read(stair_context *context, const stair_option *option, const char *text,
                              option_list *list);

#endif
