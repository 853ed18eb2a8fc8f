/* One result file: its format by the ending of its name, its tables, and what to draw of them. */
#include "page.h"
#include "core/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *ending;
    stair_status (*read)(stair_context *context, const char *path, size_t *room_left, json_t *file);
} formats[] = {{".json", page_read_json}, {".csv", page_read_csv}, {".npz", page_read_npz}};
enum { FORMATS = sizeof formats / sizeof *formats };

stair_status page_file_add(page_table *table, const char *name, json_t *file)
{
    json_t *closed;
    STAIR_TRY(page_table_close(table, name, &closed));
    json_t *plots = page_plots(closed);
    bool good = plots && json_object_set_new(closed, "plots", plots) == 0;
    if (json_array_append_new(json_object_get(file, "tables"), closed) || !good)
        return page_no_memory(table->context);
    return STAIR_OK;
}

static int format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    int k = 0;
    while (k < FORMATS && (!dot || strcmp(dot, formats[k].ending))) k++;
    return k;
}

/* Looks before a large file or a pipe is read. */
static stair_status check(stair_context *context, const char *path)
{
    struct stat about;
    if (format_of(path) == FORMATS)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: the name must end in .json, .csv or .npz", path);
    if (stat(path, &about) != 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    if ((uintmax_t)about.st_size > STAIR_LARGEST_RESULT)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: larger than %zu MiB", path,
                          STAIR_LARGEST_RESULT >> 20);
    return STAIR_OK;
}

static stair_status set_line(stair_context *context, json_t *file)
{
    char *line = page_command_line(file);
    int failed = line ? json_object_set_new(file, "line", json_string(line)) : 0;
    free(line);
    return failed ? page_no_memory(context) : STAIR_OK;
}

/* The name without folders; bytes that are no UTF-8 become question marks. */
static json_t *shown_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    json_t *name = json_string(slash ? slash + 1 : path);
    if (name) return name;
    char *copy = strdup(slash ? slash + 1 : path);
    for (char *c = copy; c && *c; c++)
        if (*c & 0x80) *c = '?';
    name = copy ? json_string(copy) : NULL;
    free(copy);
    return name;
}

stair_status page_file_read(stair_context *context, const char *path, size_t *room_left, json_t **file)
{
    *file = NULL;
    STAIR_TRY(check(context, path));
    json_t *name = shown_name(path);
    *file = name ? json_pack("{s:o, s:[]}", "file", name, "tables") : NULL;
    if (!*file) return page_no_memory(context);
    stair_status status = formats[format_of(path)].read(context, path, room_left, *file);
    if (status == STAIR_OK) status = set_line(context, *file);
    if (status == STAIR_OK) return STAIR_OK;
    json_decref(*file);
    *file = NULL;
    return status;
}
