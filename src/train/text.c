/* BERT's basic tokenizer, uncased (Devlin et al. 2019, and the tokenizers published with it).
 *
 *   clean    drop U+0000, U+FFFD and category C (controls, format, unassigned); \t \n \r and
 *            category Z become a space
 *   CJK      an ideograph is a word of its own
 *   NFD, drop category Mn (accents), lower case, letter by letter
 *   split    at spaces; a punctuation mark (ASCII's, or category P) is a word of its own
 *
 * Lower case is taken letter by letter, as the Rust tokenizer does: a capital sigma at the end of a
 * word gives the ordinary sigma.
 */
#include "train/text.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static bool reserve(stair_text *text, size_t size)
{
    if (size <= text->capacity) return true;
    char *data = realloc(text->data, 2 * size + 64);
    if (!data) return false;
    text->data = data;
    text->capacity = 2 * size + 64;
    return true;
}

static bool is_cjk(utf8proc_int32_t c)
{
    static const utf8proc_int32_t ranges[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                                 {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF},
                                                 {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static bool is_space(utf8proc_int32_t c, utf8proc_category_t category)
{
    return c == '\t' || c == '\n' || c == '\r' || category == UTF8PROC_CATEGORY_ZS ||
           category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/* category C: CN is utf8proc's zero, the rest are its last four */
static bool is_dropped(utf8proc_int32_t c, utf8proc_category_t category)
{
    return c == 0 || c == 0xFFFD || category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CC ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CS ||
           category == UTF8PROC_CATEGORY_CO;
}

static bool is_punctuation(utf8proc_int32_t c)
{
    if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126))
        return true;
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* Words under construction: `open` when the last byte belongs to an unfinished word. */
typedef struct {
    stair_text *out;
    bool open;
} writer;

static void close_word(writer *w)
{
    if (w->open) w->out->data[w->out->size++] = '\0';
    w->open = false;
}

static bool put(writer *w, utf8proc_int32_t c)
{
    if (!reserve(w->out, w->out->size + 8)) return false;
    bool alone = is_punctuation(c);
    if (alone) close_word(w);
    w->out->size += (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)w->out->data + w->out->size);
    w->open = true;
    if (alone) close_word(w);
    return true;
}

/* One letter of the input: cleaned, decomposed, stripped, lowered.  False when out of memory. */
static bool put_letter(writer *w, utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    bool space = is_space(c, category), cjk = is_cjk(c);
    if (!space && is_dropped(c, category)) return true;
    if (!reserve(w->out, w->out->size + 8)) return false;
    if (space || cjk) close_word(w);
    if (space) return true;
    /* Canonical decomposition of one letter: at most 4 code points, 32 leaves room for any version.
     * Reordering of marks, the rest of NFD, moves only what is dropped here. */
    utf8proc_int32_t parts[32];
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(c, parts, 32, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > 32) {
        parts[0] = c;
        n = 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        if (utf8proc_category(parts[i]) == UTF8PROC_CATEGORY_MN) continue;
        if (!put(w, utf8proc_tolower(parts[i]))) return false;
    }
    if (cjk) close_word(w);
    return true;
}

stair_status stair_text_words(stair_context *context, const char *text, size_t length, stair_text *words)
{
    words->size = 0;
    writer w = {words, false};
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &c);
        if (used < 1) return stair_fail(context, STAIR_BAD_INPUT, "byte %zu is not UTF-8", at + 1);
        if (!put_letter(&w, c)) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        at += (size_t)used;
    }
    if (!reserve(words, words->size + 1)) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    close_word(&w);
    return STAIR_OK;
}

stair_status stair_text_check_line(stair_context *context, const char *path, stair_text *text,
                                   stair_line line)
{
    utf8proc_uint8_t *bytes = (utf8proc_uint8_t *)text->data + (line.start - text->data);
    for (size_t at = 0; at < line.length;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate(bytes + at, (utf8proc_ssize_t)(line.length - at), &c);
        if (used < 1 && bytes[at] == 0xF0) {
            bytes[at] = ' ';
            used = 1;
        }
        if (used == 1 && c == 0)
            return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: byte %zu is NUL", path, line.number, at + 1);
        if (used < 1)
            return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: byte %zu (0x%02X) is not UTF-8", path,
                              line.number, at + 1, bytes[at]);
        at += (size_t)used;
    }
    return STAIR_OK;
}
