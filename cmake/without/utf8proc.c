/* In place of src/train/text.c where utf8proc is missing: no WordPiece. */
#include "train/text.h"

static stair_status no_words(stair_context *context)
{
    return stair_fail(context, STAIR_UNSUPPORTED, "no WordPiece: built without utf8proc");
}

stair_status stair_text_words(stair_context *context, const char *text, size_t length, stair_text *words)
{
    (void)text, (void)length, (void)words;
    return no_words(context);
}

stair_status stair_text_check_line(stair_context *context, const char *path, stair_text *text,
                                   stair_line line)
{
    (void)path, (void)text, (void)line;
    return no_words(context);
}
