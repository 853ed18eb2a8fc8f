/* JSON results: each is a row; what is nested gets the names that CSV has (entries.h).
 *
 * An array of integers is a list, shown as text.  An array of objects, the history of a run, is a table of
 * its own whose rows also say which run they belong to. */
#include "page.h"
#include "core/limits.h"
#include "io/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MOST  200 /* bytes of the name of a column; longer ones are refused */
#define DEPTH_MOST 6   /* objects and arrays within each other; results have four */

typedef struct {
    page_table results, history;
    const json_t *row; /* the result at hand */
} reader;

/* Diagonals that CSV writes as entries of a matrix. */
static const struct {
    const char *name, *matrix;
} diagonals[] = {{"overlap", "Q"},
                 {"overlap_error", "Q_error"},
                 {"direction", "direction"},
                 {"z_M", "z_M"},
                 {"z_Q", "z_Q"}};

static const char *matrix_of(const char *name)
{
    for (size_t k = 0; k < sizeof diagonals / sizeof *diagonals; k++)
        if (!strcmp(diagonals[k].name, name)) return diagonals[k].matrix;
    return NULL;
}

/* `index` goes before an ending _error or _spread. */
static stair_status name_entry(page_table *table, const char *name, const char *index, char *out)
{
    size_t length = strlen(name), stem = length;
    static const char *const endings[] = {"_error", "_spread"};
    for (int k = 0; k < 2; k++) {
        size_t size = strlen(endings[k]);
        if (length > size && !strcmp(name + length - size, endings[k])) stem = length - size;
    }
    int used = snprintf(out, NAME_MOST, "%.*s%s%s", (int)stem, name, index, name + stem);
    if (used < NAME_MOST) return STAIR_OK;
    return stair_fail(table->context, STAIR_BAD_INPUT, "%s: a name of more than %d bytes", table->path,
                      NAME_MOST - 1);
}

static stair_status put(page_table *table, const char *name, const json_t *value, int depth);

static bool is_list(const json_t *array)
{
    const json_t *item;
    size_t i;
    json_array_foreach(array, i, item)
    {
        if (!json_is_integer(item)) return false;
    }
    return true;
}

static stair_status put_list(page_table *table, const char *name, const json_t *array)
{
    char *text = NULL;
    size_t size = 0, i;
    const json_t *item;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return page_no_memory(table->context);
    json_array_foreach(array, i, item)
        fprintf(memory, "%s%" JSON_INTEGER_FORMAT, i ? " " : "", json_integer_value(item));
    json_t *value = fclose(memory) == 0 ? json_string(text) : NULL;
    free(text);
    return page_table_put(table, name, value);
}

/* Entry j of a row i of a matrix; the mirror of one above the diagonal is dropped where it says the same. */
static stair_status put_matrix_row(page_table *table, const char *name, const json_t *matrix, size_t i,
                                   const char *mark)
{
    const json_t *row = json_array_get(matrix, i), *item;
    char index[2][48], entry[2][NAME_MOST];
    size_t j;
    json_array_foreach(row, j, item)
    {
        snprintf(index[0], sizeof index[0], "%zu%s%zu", i + 1, mark, j + 1);
        snprintf(index[1], sizeof index[1], "%zu%s%zu", j + 1, mark, i + 1);
        STAIR_TRY(name_entry(table, name, index[0], entry[0]));
        STAIR_TRY(name_entry(table, name, index[1], entry[1]));
        STAIR_TRY(put(table, entry[0], item, DEPTH_MOST - 1));
        if (j < i && page_table_mirror(table, entry[0], entry[1]) != STAIR_OK)
            return page_no_memory(table->context);
    }
    return STAIR_OK;
}

static stair_status put_array(page_table *table, const char *name, const json_t *array, int depth)
{
    size_t size = json_array_size(array), widest = size, i;
    const char *matrix = matrix_of(name);
    const json_t *item;
    json_array_foreach(array, i, item)
    {
        if (json_array_size(item) > widest) widest = json_array_size(item);
    }
    const char *mark = widest > 9 ? "_" : "";
    json_array_foreach(array, i, item)
    {
        char index[48], entry[NAME_MOST];
        if (json_is_array(item)) {
            STAIR_TRY(put_matrix_row(table, name, array, i, mark));
            continue;
        }
        if (matrix)
            snprintf(index, sizeof index, "%zu%s%zu", i + 1, mark, i + 1);
        else
            snprintf(index, sizeof index, "%zu", i + 1);
        STAIR_TRY(name_entry(table, matrix ? matrix : name, index, entry));
        STAIR_TRY(put(table, entry, item, depth + 1));
    }
    return STAIR_OK;
}

static stair_status put_object(page_table *table, const char *name, const json_t *object, int depth)
{
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        char nested[NAME_MOST];
        const char *key = json_object_iter_key(at);
        bool plain = !*name || !strcmp(name, "errors"); /* errors of prediction go by their own names */
        int used = snprintf(nested, sizeof nested, "%s%s%s", plain ? "" : name, plain ? "" : "_", key);
        if (used >= NAME_MOST)
            return stair_fail(table->context, STAIR_BAD_INPUT, "%s: a name of more than %d bytes",
                              table->path, NAME_MOST - 1);
        STAIR_TRY(put(table, nested, json_object_iter_value(at), depth + 1));
    }
    return STAIR_OK;
}

static stair_status put(page_table *table, const char *name, const json_t *value, int depth)
{
    if (depth > DEPTH_MOST)
        return stair_fail(table->context, STAIR_BAD_INPUT, "%s: '%.80s' is nested too deeply", table->path,
                          name);
    if (json_is_object(value)) return put_object(table, name, value, depth);
    if (json_is_array(value) && json_array_size(value) && is_list(value)) return put_list(table, name, value);
    if (json_is_array(value)) return put_array(table, name, value, depth);
    if (json_is_boolean(value))
        return page_table_put(table, name, json_string(json_is_true(value) ? "yes" : "no"));
    return page_table_put(table, name, json_incref((json_t *)value));
}

/* The rows of a history; `alpha`, `seed` and the model are those of their run. */
static stair_status put_history(reader *in, const json_t *steps)
{
    static const char *const run[] = {"model", "alpha", "seed"};
    const json_t *step;
    size_t i;
    json_array_foreach(steps, i, step)
    {
        if (!json_is_object(step))
            return stair_fail(in->history.context, STAIR_BAD_INPUT, "%s: a history of other than objects",
                              in->history.path);
        for (size_t k = 0; k < sizeof run / sizeof *run; k++) {
            const json_t *value = json_object_get(in->row, run[k]);
            if (value && !json_object_get(step, run[k])) STAIR_TRY(put(&in->history, run[k], value, 0));
        }
        STAIR_TRY(put_object(&in->history, "", step, 0));
        STAIR_TRY(page_table_end_row(&in->history));
    }
    return STAIR_OK;
}

static stair_status put_result(reader *in, const json_t *result)
{
    json_t *object = (json_t *)result;
    in->row = result;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const json_t *value = json_object_iter_value(at);
        const char *key = json_object_iter_key(at);
        if (strlen(key) >= NAME_MOST)
            return stair_fail(in->results.context, STAIR_BAD_INPUT, "%s: a name of more than %d bytes",
                              in->results.path, NAME_MOST - 1);
        if (json_is_object(json_array_get(value, 0)))
            STAIR_TRY(put_history(in, value));
        else
            STAIR_TRY(put(&in->results, key, value, 0));
    }
    return page_table_end_row(&in->results);
}

static stair_status read_results(reader *in, const json_t *results, json_t *file)
{
    const json_t *result;
    size_t i;
    json_array_foreach(results, i, result)
    {
        if (!json_is_object(result))
            return stair_fail(in->results.context, STAIR_BAD_INPUT, "%s: result %zu is not an object",
                              in->results.path, i + 1);
        STAIR_TRY(put_result(in, result));
    }
    STAIR_TRY(page_file_add(&in->results, "results", file));
    return in->history.rows ? page_file_add(&in->history, "history", file) : STAIR_OK;
}

/* What the frame says of the request; other fields and other kinds of values are not shown. */
static stair_status copy_frame(stair_context *context, const json_t *root, json_t *file)
{
    static const char *const texts[] = {"stair", "command", "model"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        json_t *value = json_object_get(root, texts[k]);
        if (json_is_string(value) && json_object_set(file, texts[k], value)) return page_no_memory(context);
    }
    json_t *options = json_object_get(root, "options");
    if (json_is_object(options) && json_object_set(file, "options", options)) return page_no_memory(context);
    return STAIR_OK;
}

static stair_status parse(stair_context *context, const char *path, const stair_text *text, json_t **root)
{
    json_error_t error;
    errno = 0;
    *root = json_loadb(text->data, text->size, JSON_REJECT_DUPLICATES, &error);
    if (!*root && errno == ENOMEM) /* jansson calls some of these errors of syntax */
        return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    if (!*root)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: not JSON: line %d: %.120s", path, error.line,
                          error.text);
    if (!json_is_array(json_object_get(*root, "results")))
        return stair_fail(context, STAIR_BAD_INPUT, "%s: not a result of stair: no \"results\"", path);
    return STAIR_OK;
}

stair_status page_read_json(stair_context *context, const char *path, size_t *room_left, json_t *file)
{
    stair_text text;
    json_t *root = NULL;
    reader in = {0};
    STAIR_TRY(stair_text_read(context, path, &text));
    stair_status status = parse(context, path, &text, &root);
    stair_text_free(&text);
    if (status == STAIR_OK) status = page_table_open(context, path, room_left, &in.results);
    if (status == STAIR_OK) status = page_table_open(context, path, room_left, &in.history);
    if (status == STAIR_OK) status = copy_frame(context, root, file);
    if (status == STAIR_OK) status = read_results(&in, json_object_get(root, "results"), file);
    page_table_free(&in.results);
    page_table_free(&in.history);
    json_decref(root);
    return status;
}
