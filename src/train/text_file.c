/* Text files, whole, and their lines, with errors that name the line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utf8proc.h>

#include "train/text.h"

#define LARGEST_FILE ((size_t)1 << 31)

static stair_status read_open(stair_context *context, const char *path, FILE *file, stair_text *text)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    if ((uintmax_t)info.st_size > LARGEST_FILE)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: larger than 2 GiB", path);
    size_t size = (size_t)info.st_size;
    char *data = malloc(size + 1);
    if (!data) return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    size_t got = fread(data, 1, size, file);
    if (got != size) {
        free(data);
        return stair_fail(context, STAIR_BAD_INPUT, "%s: read %zu of %zu bytes", path, got, size);
    }
    data[size] = '\0';
    *text = (stair_text){data, size, size + 1};
    return STAIR_OK;
}

stair_status stair_text_read(stair_context *context, const char *path, stair_text *text)
{
    *text = (stair_text){0};
    struct stat info;
    /* opening a FIFO would wait for a writer, so look before */
    if (stat(path, &info) != 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    FILE *file = fopen(path, "rb");
    if (!file) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    stair_status status = read_open(context, path, file, text);
    fclose(file);
    return status;
}

bool stair_text_line(const stair_text *text, size_t *offset, stair_line *line)
{
    if (*offset == 0) {
        line->number = 0;
        if (text->size >= 3 && memcmp(text->data, "\xEF\xBB\xBF", 3) == 0) *offset = 3;
    }
    if (*offset >= text->size) return false;
    const char *start = text->data + *offset;
    const char *end = memchr(start, '\n', text->size - *offset);
    size_t length = end ? (size_t)(end - start) : text->size - *offset;
    *offset += length + (end != NULL);
    if (length > 0 && start[length - 1] == '\r') length--;
    *line = (stair_line){start, length, line->number + 1};
    return true;
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
        if (used < 1)
            return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: byte %zu (0x%02X) is not UTF-8", path,
                              line.number, at + 1, bytes[at]);
        at += (size_t)used;
    }
    return STAIR_OK;
}
