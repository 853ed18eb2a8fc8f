/* For those who write a table of options, and what reads numbers from text. */
#ifndef STAIR_CORE_OPTIONS_H
#define STAIR_CORE_OPTIONS_H

#include "stair.h"

/* The first members of a row: name for users, kind, struct and field. */
#define STAIR_OPTION(title, type, structure, member)                                                         \
    .name = title, .field = #member, .kind = STAIR_OPTION_##type, .offset = offsetof(structure, member),     \
    .size = sizeof(((structure *)0)->member)

/* One table for each options struct, defined in options.c of the room it belongs to. */
extern const stair_options_table stair_points_table, stair_channel_table, stair_diagnose_table,
    stair_asymptotics_table, stair_gamp_table, stair_gamp_theory_table, stair_sgd_table,
    stair_questions_table, stair_train_table;

/* The field of one option alone. */
stair_status stair_option_check(stair_context *context, const stair_option *option, const void *options);

/* False when the text is not exactly such a number: no blanks, hexadecimals, nan or inf. */
bool stair_parse_double(const char *text, double *value);
bool stair_parse_int(const char *text, int64_t *value); /* 1e6 is one */
bool stair_parse_uint64(const char *text, uint64_t *value);

#endif
