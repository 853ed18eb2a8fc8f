/* UTF-8 as RFC 3629 has it: no surrogates, nothing beyond U+10FFFF, nothing longer than it needs to be. */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the character at `text`, 0 where there is none, and its number. */
static size_t decode(const unsigned char *text, unsigned *character)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *text < 0x80             ? 1
                    : (*text & 0xE0) == 0xC0 ? 2
                    : (*text & 0xF0) == 0xE0 ? 3
                    : (*text & 0xF8) == 0xF0 ? 4
                                             : 0;
    if (!length) return 0;
    *character = length == 1 ? *text : *text & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) return 0; /* the end of the text, too */
        *character = *character << 6 | (text[i] & 0x3Fu);
    }
    bool surrogate = *character >= 0xD800 && *character < 0xE000;
    return *character < least[length] || *character > 0x10FFFF || surrogate ? 0 : length;
}

/* Bytes of the next character, which is `shown` as it is or as '?'. */
static size_t step(const char *text, bool *shown)
{
    unsigned character = 0;
    size_t length = decode((const unsigned char *)text, &character);
    *shown = length && character >= ' ' && !(character >= 0x7F && character < 0xA0);
    return length ? length : 1;
}

char *plain_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *to = copy;
    while (copy && *text) {
        bool shown;
        size_t length = step(text, &shown);
        if (shown)
            memcpy(to, text, length);
        else
            *to = '?';
        to += shown ? length : 1;
        text += length;
    }
    if (copy) *to = 0;
    return copy;
}

void plain_write(FILE *file, const char *text)
{
    while (*text) {
        bool shown;
        size_t length = step(text, &shown);
        if (shown)
            fwrite(text, 1, length, file);
        else
            putc('?', file);
        text += length;
    }
}

bool plain_is_utf8(const char *text)
{
    unsigned character;
    for (size_t length; *text; text += length)
        if (!(length = decode((const unsigned char *)text, &character))) return false;
    return true;
}
