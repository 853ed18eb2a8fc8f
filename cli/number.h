/* Numbers as text: the shortest decimal that reads back as the same double. */
#ifndef STAIR_CLI_NUMBER_H
#define STAIR_CLI_NUMBER_H

#include <stddef.h>

#define NUMBER_MOST 32 /* characters, the NUL included */

/* text (NUMBER_MOST): 0.15, 1e-05, nan, inf. */
const char *number_text(double value, char *text);

/* from + i step as a user would type it: rounded to the decimals that `from` and `step` were written with,
 * so that 0.1:0.5:0.05 has 0.15 and not 0.15000000000000002.  from, step: text; values: what they read as. */
double number_on_grid(const char *from, const char *step, const double value[2], size_t i);

#endif
