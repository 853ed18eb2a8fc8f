/* The one option table: flags, help, man page and the JSON echo all read it.
 *
 * To add an option: one field in `options`, one line in the table of options.c, and its name in the
 * list of each command that takes it.  Defaults belong to the library: a command copies them in. */
#ifndef STAIR_CLI_OPTIONS_H
#define STAIR_CLI_OPTIONS_H

#include "core/context.h"

#include <jansson.h>

typedef enum {
    OPTION_FLAG,   /* bool */
    OPTION_INT,    /* int64_t */
    OPTION_UINT64, /* uint64_t */
    OPTION_DOUBLE, /* double */
    OPTION_LIST,   /* option_list: a,b,c or from:to:step */
    OPTION_TEXT,   /* const char *; one of `choices` where there are some */
    OPTION_PATH,   /* const char * */
    OPTION_TEXTS   /* option_texts: `take` values each time, and again */
} option_kind;

typedef struct {
    double *values;
    size_t count;
} option_list;

#define OPTION_MOST_TEXTS 32
typedef struct {
    const char *items[OPTION_MOST_TEXTS];
    int count;
} option_texts;

typedef struct {
    const char *name; /* without the dashes */
    option_kind kind;
    size_t offset;              /* of its field in the struct that is filled */
    const char *value;          /* what help calls the value */
    const char *text;           /* one line */
    double low, high;           /* numbers and list elements, both ends allowed */
    const char *const *choices; /* ended by NULL */
    int take;                   /* OPTION_TEXTS: values at each appearance */
    bool how;                   /* says how to run or report, not what to compute: no echo */
    const char *command;        /* the one command to which the name means this */
} cli_option;

/* Every option of every command; a field that a command does not list stays zero. */
typedef struct {
    int64_t points;
    double cov_low, cov_high;
    bool full, one_cov;
    const char *logits, *y, *omega, *cov;
    double precision;
    const char *method;
    int64_t max_nodes;
    double cutoff;
    uint64_t seed;

    option_list alpha;
    int64_t dim, seeds, epochs, batch, repeat, records, test_samples, rank, layers, longest;
    double checkpoint_every;
    double rate, weight_decay, start, settle, beta1, beta2, epsilon, validation;
    bool shuffle, wide, bias, resume;
    const char *decay, *scale, *padding, *classes;
    const char *data, *vocab, *test, *weights, *predict, *save, *checkpoint;

    int64_t steps, samples, replicates, max_iterations;
    double side, widening, inner;
    const char *from;
    option_texts set;

    double start_overlap, damping, tolerance, perfect;
    bool adaptive, regenerate, history, summary, log_labels;
    const char *variant, *theory;
    option_texts pair;

    int64_t threads;
    bool json, csv, force, quiet, help;
    const char *out;
} cli_options;

extern const cli_option option_table[]; /* ended by a NULL name */

const cli_option *option_find(const cli_option *table, const char *name);
/* What the name means to a command. */
const cli_option *option_of(const cli_option *table, const char *command, const char *name);

/* Fills `target` from the command line: options that `names` lists, and at most `most` other words.
 * Strings point into argv.  `command` is for messages.  Options that were given are marked in `given`
 * (table order). */
#define OPTION_MOST 256
typedef struct {
    const cli_option *table;
    const char *const *names; /* ended by NULL */
    const char *command;
    int most;
    const char *words[4];
    int count;
    bool given[OPTION_MOST];
} option_parse;
stair_status options_read(stair_context *context, option_parse *parse, int argc, char *const *argv,
                          void *target);
bool option_given(const option_parse *parse, const char *name);
void options_free(const cli_option *table, void *target); /* the lists */

/* The value of one option as JSON, or as text the way a user would type it. */
json_t *option_to_json(const cli_option *entry, const void *target);
void option_to_text(const cli_option *entry, const void *target, char *text, size_t size);

/* Value parsers: false, or a failure, when the text is not exactly such a value. */
bool option_parse_int(const char *text, int64_t *value);
bool option_parse_uint64(const char *text, uint64_t *value);
bool option_parse_double(const char *text, double *value);
stair_status option_list_read(stair_context *context, const cli_option *entry, const char *text,
                              option_list *list);

#endif
