/* Option descriptors: every options struct of the library has one table that names its fields.
 *
 * Part of the interface of stair.h, which includes this file.  A table says of each field its name for users,
 * its kind, place, range and meaning; defaults are those of stair_X_defaults().  Flags of the program, its
 * help, manual page and completion, the options in JSON output, checks, and keywords of other languages all
 * read it, so a new option is a field, a default and a line in its table.
 *
 *     stair_gamp_options o = stair_gamp_defaults();
 *     stair_options_set(context, stair_options_find("gamp"), &o, "max-iterations", "100"); */
#ifndef STAIR_OPTIONS_H
#define STAIR_OPTIONS_H

#include "stair.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    STAIR_OPTION_FLAG,   /* bool */
    STAIR_OPTION_EITHER, /* bool, written as choice 0 (false) or choice 1 (true) */
    STAIR_OPTION_INT,    /* int */
    STAIR_OPTION_INT64,  /* int64_t */
    STAIR_OPTION_SIZE,   /* size_t */
    STAIR_OPTION_UINT64, /* uint64_t, any: a seed */
    STAIR_OPTION_DOUBLE, /* double, finite */
    STAIR_OPTION_TEXT,   /* const char *; one of the choices where there are some, NAME:K is NAME:number */
    STAIR_OPTION_PATH,   /* const char *, the name of a file; NULL for none */
    STAIR_OPTION_KINDS
} stair_option_kind;

typedef struct {
    const char *name;  /* for users: max-iterations, in Python max_iterations */
    const char *field; /* of the struct: often the same */
    stair_option_kind kind;
    size_t offset, size;               /* of the field */
    const char *value;                 /* what help calls the value; NULL for a flag */
    const char *text;                  /* one line */
    double low, high;                  /* numbers: the ends are allowed ... */
    bool above, below;                 /* ... unless above low, or below high, is asked for */
    const char *const *choices;        /* ended by NULL */
    const char *(*choice)(int number); /* or by a function: NULL past the last */
    bool optional;                     /* a text that may be NULL */
    bool how;                          /* says how to run, not what is computed */
} stair_option;

typedef struct {
    const char *name;            /* "gamp" */
    const char *type;            /* "stair_gamp_options" */
    size_t size;                 /* of the struct */
    const stair_option *options; /* ended by a NULL name */
    void (*defaults)(void *options);
} stair_options_table;

/* All tables in turn, NULL past the last; or the one of a name, NULL if there is none. */
const stair_options_table *stair_options_at(int number);
const stair_options_table *stair_options_find(const char *name);
const stair_option *stair_option_find(const stair_options_table *table, const char *name);
const char *stair_option_choice(const stair_option *option, int number); /* NULL past the last */

/* BAD_INPUT where a field is out of range, not finite or none of its choices; the message names the option,
 * what is allowed, and what was there.  stair_X_check() asks this first, then what several fields together
 * have to satisfy. */
stair_status stair_options_check(stair_context *context, const stair_options_table *table,
                                 const void *options);

/* Reads a value from text, as it is typed on the command line: numbers such as 1e-3 (integers too), yes or no
 * for a flag.  Nothing is changed when it is refused.  Texts are not copied: they have to outlive the struct.
 */
stair_status stair_option_set(stair_context *context, const stair_option *option, void *options,
                              const char *text);
stair_status stair_options_set(stair_context *context, const stair_options_table *table, void *options,
                               const char *name, const char *text);

/* The value as text that stair_option_set() reads back, cut to `size`; a text that is NULL is empty. */
void stair_option_get(const stair_option *option, const void *options, char *text, size_t size);
stair_status stair_options_get(stair_context *context, const stair_options_table *table, const void *options,
                               const char *name, char *text, size_t size);

/* "between 0 and 1", "above 0 and below 1", "auto, exact or layered"; empty where all is allowed. */
void stair_option_range(const stair_option *option, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
