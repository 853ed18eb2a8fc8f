/* What every column of a result is, and in which unit: the manual page and docs/reference.md print it. */
#ifndef STAIR_CLI_COLUMN_WORDS_H
#define STAIR_CLI_COLUMN_WORDS_H

typedef struct {
    const char *name; /* as JSON has it; what an object holds with a dot, errors.bayes */
    const char *unit; /* what a number counts, or what a text is */
    const char *text;
} cli_column_word;

/* Of a command, ended by a NULL name; NULL: it prints no rows.  X_error is the error of X, in its unit, and
 * stands only where there is more to say. */
const cli_column_word *column_words(const char *command);

#endif
