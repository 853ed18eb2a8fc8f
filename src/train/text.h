/* Text to words, as BERT's uncased "basic tokenizer" cuts it.
 *
 * Invariant: what leaves this file is valid UTF-8. */
#ifndef STAIR_TRAIN_TEXT_H
#define STAIR_TRAIN_TEXT_H

#include "io/text_file.h"

/* words: the words of text (length bytes of UTF-8), normalised, each ended by a NUL byte.
 * Replaces what `words` held; BAD_INPUT names the first byte that is not UTF-8. */
stair_status stair_text_words(stair_context *context, const char *text, size_t length, stair_text *words);

/* Refuses a line that is not UTF-8, by file, line and byte.  A stray 0xF0 becomes a space: the one
 * such byte of TREC, which its common loaders treat so. */
stair_status stair_text_check_line(stair_context *context, const char *path, stair_text *text,
                                   stair_line line);

#endif
