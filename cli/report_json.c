/* JSON: {"stair", "command", "model", "options": {...}, "results": [...]}, one line per result.
 *
 * The frame is written by hand around one object a row, because a million results do
 * not fit in one tree.  Numbers that are not finite become null. */
#include "json_text.h"
#include "option_json.h"
#include "text_sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *real_to_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *frame(const cli_request *request)
{
    json_t *object = json_object(), *echo = json_object();
    int failed = json_object_set_new(object, "stair", json_string(STAIR_VERSION));
    failed |= json_object_set_new(object, "isa", json_string(stair_isa_name()));
    failed |= json_object_set_new(object, "device", json_string(stair_context_device(request->context)));
    failed |= json_object_set_new(object, "command", json_string(request->command->name));
    failed |= json_object_set_new(
        object, "model", request->model ? json_string(stair_model_spec(request->model)) : json_null());
    for (const char *const *name = request->command->options; *name; name++) {
        option_entry entry = option_of(&request->parse.scope, *name);
        if (request_echoes(request, entry.is))
            failed |= json_object_set_new(echo, *name, option_to_json(&entry, &request->options));
    }
    failed |= json_object_set_new(object, "options", echo);
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

static stair_status print(cli_report *report, FILE *file, json_t *object, const char *before,
                          const char *after)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = object ? open_memstream(&text, &size) : NULL;
    bool good = memory && json_write(memory, object);
    if (memory) good = !ferror(memory) && good;
    if (memory) good = fclose(memory) == 0 && good && text && size > 0;
    json_decref(object);
    if (good) /* the closing brace is part of `after` */
        fprintf(file, "%s%.*s%s", before, (int)size - 1, text, after);
    free(text);
    return good ? STAIR_OK : stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    STAIR_TRY(text_sink_open(report, sink));
    return print(report, sink->file, frame(report->request), "", ", \"results\": [");
}

static json_t *array_to_json(const double *values, const int *shape, int rank)
{
    if (rank == 0) return real_to_json(*values);
    size_t step = 1;
    for (int i = 1; i < rank; i++) step *= (size_t)shape[i];
    json_t *array = json_array();
    for (int i = 0; i < shape[0]; i++)
        if (json_array_append_new(array, array_to_json(values + (size_t)i * step, shape + 1, rank - 1))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *ints_to_json(const char *text)
{
    json_t *array = json_array();
    char *end;
    for (long number = strtol(text, &end, 10); end != text; number = strtol(text, &end, 10)) {
        text = end;
        if (json_array_append_new(array, json_integer(number))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* indices: of the model of this row, or 0. */
static json_t *cell_to_json(const cli_column *column, const cli_cell *value, int indices)
{
    if (column->rank) {
        int shape[COLUMN_RANK];
        for (int i = 0; i < column->rank; i++)
            shape[i] = indices && column_is_matrix(column) ? indices : column->shape[i];
        return array_to_json(value->array, shape, column->rank);
    }
    switch (column->kind) {
    case CELL_REAL:
        return real_to_json(value->real);
    case CELL_NATURAL:
        return natural_to_json(value->natural);
    case CELL_INT:
        return json_integer(value->integer);
    case CELL_TEXT:
        return value->text ? json_string(value->text) : json_null();
    case CELL_BOOL:
        return json_boolean(value->truth);
    case CELL_INTS:
        return ints_to_json(value->text);
    case CELL_JSON:
        return value->text ? json_loads(value->text, 0, NULL) : json_null();
    }
    return NULL;
}

/* "errors.bayes" goes into the object "errors".  False when memory runs out, so that no key is ever
 * missing without notice. */
static bool set_nested(json_t *object, const char *name, json_t *value)
{
    const char *dot = strchr(name, '.');
    if (!dot) return json_object_set_new(object, name, value) == 0;
    char outer[64];
    snprintf(outer, sizeof outer, "%.*s", (int)(dot - name), name);
    json_t *inner = json_object_get(object, outer);
    if (!inner) {
        inner = json_object();
        if (json_object_set_new(object, outer, inner)) { /* which has let go of inner */
            json_decref(value);
            return false;
        }
    }
    return set_nested(inner, dot + 1, value);
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    json_t *object = json_object();
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!(column->where & IN_JSON) ||
            set_nested(object, column->name, cell_to_json(column, &cells[c], report->indices)))
            continue;
        json_decref(object);
        return stair_fail(report->request->context, STAIR_NO_MEMORY, "out of memory");
    }
    return print(report, sink->file, object, report->rows ? ",\n" : "\n", "}");
}

static stair_status end(cli_report *report, cli_sink *sink)
{
    fputs("\n]}\n", sink->file);
    return text_sink_publish(report, sink);
}

const cli_format json_format = {"json", IN_JSON, begin, row, end, text_sink_discard};
