/* Names of files in one word, or in a text file that it names. */
#define _POSIX_C_SOURCE 200809L /* access, strndup */
#include "file_list.h"
#include "io/text_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void file_list_free(file_list *list)
{
    for (size_t k = 0; k < list->count; k++) free(list->names[k]);
    free(list->names);
    *list = (file_list){0};
}

static stair_status append(stair_context *context, const char *name, size_t length, file_list *list)
{
    if (!(list->count & (list->count - 1))) { /* room for twice as many at every power of two */
        char **more = realloc(list->names, (2 * list->count + 1) * sizeof *more);
        if (!more) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        list->names = more;
    }
    char *copy = strndup(name, length);
    if (!copy) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    list->names[list->count++] = copy;
    return STAIR_OK;
}

static stair_status split(stair_context *context, const char *word, file_list *list)
{
    for (const char *at = word;; at++) {
        size_t length = strcspn(at, ",");
        if (!length)
            return stair_fail(context, STAIR_BAD_INPUT, "%s: an empty name in a list of files", word);
        STAIR_TRY(append(context, at, length, list));
        at += length;
        if (!*at) return STAIR_OK;
    }
}

/* Empty lines are no names. */
static stair_status read_lines(stair_context *context, const char *path, file_list *list)
{
    stair_text text;
    stair_line line;
    size_t offset = 0;
    STAIR_TRY(stair_text_read(context, path, &text));
    stair_status status = STAIR_OK;
    while (status == STAIR_OK && stair_text_line(&text, &offset, &line))
        if (line.length) status = append(context, line.start, line.length, list);
    stair_text_free(&text);
    if (status == STAIR_OK && !list->count)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: a list of files without a name", path);
    return status;
}

stair_status file_list_read(stair_context *context, const char *word, file_list *list)
{
    *list = (file_list){0};
    bool whole = !access(word, F_OK) || (word[0] != '@' && !strchr(word, ','));
    stair_status status = whole            ? append(context, word, strlen(word), list)
                          : word[0] == '@' ? read_lines(context, word + 1, list)
                                           : split(context, word, list);
    if (status != STAIR_OK) file_list_free(list);
    return status;
}
