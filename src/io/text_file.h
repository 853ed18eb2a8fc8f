/* Text files, whole, and their lines. */
#ifndef STAIR_IO_TEXT_FILE_H
#define STAIR_IO_TEXT_FILE_H

#include "core/context.h"

#include <stdio.h>

typedef struct {
    char *data;
    size_t size, capacity;
} stair_text;

void stair_text_free(stair_text *text);

/* The whole of a regular file, NUL-terminated; size without the NUL. */
stair_status stair_text_read(stair_context *context, const char *path, stair_text *text);

/* What is left of an open file of any kind, a pipe or a terminal too; `name` is for messages. */
stair_status stair_text_read_stream(stair_context *context, const char *name, FILE *file, stair_text *text);

/* One line of a text file. */
typedef struct {
    const char *start;
    size_t length; /* without the line end, LF or CR LF */
    int number;    /* from 1 */
} stair_line;

/* Steps through the lines: `*offset` starts at 0; false past the last one.  A line end at the end
 * of the file does not begin another line; a byte order mark at its start is skipped. */
bool stair_text_line(const stair_text *text, size_t *offset, stair_line *line);

#endif
