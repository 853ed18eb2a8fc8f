/* Text that came from a file or a command line, on a terminal: one line, and nothing that a terminal obeys.
 */
#ifndef STAIR_CLI_PLAIN_H
#define STAIR_CLI_PLAIN_H

#include <stdbool.h>
#include <stdio.h>

/* '?' for control characters, those of Latin-1 too, and for bytes that are not UTF-8. */
void plain_write(FILE *file, const char *text);
char *plain_copy(const char *text); /* the same, to be freed; NULL when out of memory */
bool plain_is_utf8(const char *text);

#endif
