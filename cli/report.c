/* One report feeds up to two sinks: standard output, and the --out file. */
#include "entries.h"
#include "io/atomic_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const cli_format *const file_formats[] = {&csv_format, &json_format, &npz_format};

size_t column_size(const cli_column *column)
{
    size_t size = 1;
    for (int i = 0; i < column->rank; i++) size *= (size_t)column->shape[i];
    return size;
}

bool request_echoes(const cli_request *request, const stair_option *option)
{
    for (const char *const *name = request->unused; name && *name; name++)
        if (!strcmp(*name, option->name)) return false;
    return !option->how;
}

static const cli_format *format_of_path(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof file_formats / sizeof *file_formats; i++)
        if (!strcmp(dot + 1, file_formats[i]->extension)) return file_formats[i];
    return NULL;
}

static stair_status add_sink(cli_report *report, const cli_format *format, const char *path)
{
    cli_sink *new = &report->sinks[report->sink_count++];
    *new = (cli_sink){.format = format, .path = path};
    return format->begin(report, new);
}

static stair_status open_sinks(cli_report *report)
{
    stair_context *context = report->request->context;
    const cli_options *o = &report->request->options;
    if (o->json && o->csv)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "--json and --csv both want standard output; use --out for one");
    const cli_format *format = o->out ? format_of_path(o->out) : NULL;
    if (o->out && !format)
        return stair_fail(context, STAIR_BAD_INPUT, "--out %s: the name must end in .csv, .json or .npz",
                          o->out);
    if (format) stair_atomic_sweep(o->out);
    if (format) STAIR_TRY(add_sink(report, format, o->out));
    return add_sink(report, o->json ? &json_format : o->csv ? &csv_format : &table_format, NULL);
}

stair_status report_open(cli_request *request, const cli_column *columns, int count, cli_report **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    **out = (cli_report){.request = request, .columns = columns, .count = count};
    (*out)->cells = calloc((size_t)count, sizeof *(*out)->cells);
    (*out)->values = calloc((size_t)count, sizeof *(*out)->values);
    bool room = (*out)->cells && (*out)->values;
    stair_status status =
        room ? open_sinks(*out) : stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    return status == STAIR_OK ? STAIR_OK : report_close(out, status);
}

/* All cells of a row: the caller's, and those that its MODEL string tells. */
static const cli_cell *fill_in(cli_report *report, const cli_cell *cells)
{
    const char *spec = cells[0].text;
    for (int c = 0; c < report->count; c++) {
        const cli_column *column = &report->columns[c];
        if (!column->key) {
            report->cells[c] = *cells++;
            continue;
        }
        spec_value(spec, column->key, report->values[c]);
        if (column->kind == CELL_TEXT)
            report->cells[c].text = report->values[c];
        else
            report->cells[c].real = strtod(report->values[c], NULL);
    }
    return report->cells;
}

void report_indices(cli_report *report, int indices)
{
    report->indices = indices;
}

stair_status report_row(cli_report *report, const cli_cell *cells)
{
    const cli_cell *all = fill_in(report, cells);
    for (int i = 0; i < report->sink_count; i++)
        STAIR_TRY(report->sinks[i].format->row(report, &report->sinks[i], all));
    report->rows++;
    return STAIR_OK;
}

void report_note(cli_report *report, const char *format, ...)
{
    size_t used = strlen(report->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(report->notes + used, sizeof report->notes - used, format, args);
    va_end(args);
}

stair_status report_close(cli_report **report, stair_status status)
{
    stair_status ended = STAIR_OK;
    if (status == STAIR_OK || status == STAIR_NOT_CONVERGED)
        for (int i = 0; i < (*report)->sink_count && ended == STAIR_OK; i++)
            ended = (*report)->sinks[i].format->end(*report, &(*report)->sinks[i]);
    for (int i = 0; i < (*report)->sink_count; i++) {
        if ((*report)->sinks[i].format) (*report)->sinks[i].format->discard(&(*report)->sinks[i]);
        entries_free(&(*report)->sinks[i].entries);
    }
    free((*report)->cells);
    free((*report)->values);
    free(*report);
    *report = NULL;
    return ended == STAIR_OK ? status : ended;
}
