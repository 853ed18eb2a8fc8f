/* Text to words, as BERT's uncased "basic tokenizer" cuts it, and the reading of text files.
 *
 * Invariant: what leaves this file is valid UTF-8. */
#ifndef STAIR_TRAIN_TEXT_H
#define STAIR_TRAIN_TEXT_H

#include "core/context.h"

typedef struct {
    char *data;
    size_t size, capacity;
} stair_text;

void stair_text_free(stair_text *text);

/* words: the words of text (length bytes of UTF-8), normalised, each ended by a NUL byte.
 * Replaces what `words` held; BAD_INPUT names the first byte that is not UTF-8. */
stair_status stair_text_words(stair_context *context, const char *text, size_t length, stair_text *words);

/* The whole of a regular file, NUL-terminated; size without the NUL. */
stair_status stair_text_read(stair_context *context, const char *path, stair_text *text);

/* One line of a text file. */
typedef struct {
    const char *start;
    size_t length; /* without the line end, LF or CR LF */
    int number;    /* from 1 */
} stair_line;

/* Steps through the lines: `*offset` starts at 0; false past the last one.  A line end at the end
 * of the file does not begin another line; a byte order mark at its start is skipped. */
bool stair_text_line(const stair_text *text, size_t *offset, stair_line *line);

/* Refuses a line that is not UTF-8, by file, line and byte.  A stray 0xF0 becomes a space: the one
 * such byte of TREC, which its common loaders treat so. */
stair_status stair_text_check_line(stair_context *context, const char *path, stair_text *text,
                                   stair_line line);

#endif
