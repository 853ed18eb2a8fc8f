/* JSON values as text, on one line, with numbers as short as they read back (number.h). */
#ifndef STAIR_CLI_JSON_TEXT_H
#define STAIR_CLI_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* False when memory runs out. */
bool json_write(FILE *file, const json_t *value);

#endif
