/* Text files, whole, and their lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "io/text_file.h"

void stair_text_free(stair_text *text)
{
    free(text->data);
    *text = (stair_text){0};
}

static stair_status read_open(stair_context *context, const char *path, FILE *file, stair_text *text)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    if ((uintmax_t)info.st_size > STAIR_LARGEST_TEXT)
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
    if (!file)
        return stair_fail(context, errno == ENOMEM ? STAIR_NO_MEMORY : STAIR_BAD_INPUT, "%s: %s", path,
                          strerror(errno));
    stair_status status = read_open(context, path, file, text);
    fclose(file);
    return status;
}

stair_status stair_text_read_stream(stair_context *context, const char *name, FILE *file, stair_text *text)
{
    *text = (stair_text){0};
    for (size_t got = 1; got > 0;) {
        if (text->capacity - text->size < 2) {
            size_t capacity = text->capacity ? 2 * text->capacity : 65536;
            char *data = capacity > 2 * STAIR_LARGEST_TEXT ? NULL : realloc(text->data, capacity);
            if (!data) {
                stair_text_free(text);
                return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory, or more than 2 GiB", name);
            }
            text->data = data;
            text->capacity = capacity;
        }
        got = fread(text->data + text->size, 1, text->capacity - text->size - 1, file);
        text->size += got;
    }
    if (ferror(file)) {
        int reason = errno;
        stair_text_free(text);
        return stair_fail(context, STAIR_FAILED, "%s: %s", name, strerror(reason));
    }
    text->data[text->size] = '\0';
    return STAIR_OK;
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
