/* stair models: the registry, or one model with its sizes and keys. */
#include "report.h"

#include <string.h>

static const cli_column list_columns[] = {
    {.name = "name", .heading = "model", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "summary", .heading = "what it is", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
};
static const cli_column describe_columns[] = {
    {.name = "kind", .heading = "", .kind = CELL_TEXT, .where = IN_ALL, .width = 8},
    {.name = "name", .heading = "name", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "value", .heading = "value", .kind = CELL_TEXT, .where = IN_ALL, .width = 128},
    {.name = "default", .heading = "default", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "text", .heading = "meaning", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
};

static stair_status list(cli_report *report)
{
    for (int i = 0; stair_model_name(i); i++)
        STAIR_TRY(report_row(report,
                             (cli_cell[]){{.text = stair_model_name(i)}, {.text = stair_model_summary(i)}}));
    return STAIR_OK;
}

static stair_status size_row(cli_report *report, const char *name, int value, const char *text)
{
    char number[16];
    snprintf(number, sizeof number, "%d", value);
    return report_row(
        report,
        (cli_cell[]){{.text = "size"}, {.text = name}, {.text = number}, {.text = NULL}, {.text = text}});
}

/* The value of `key` in a canonical spec, where every key is written out. */
static const char *value_of(const char *spec, const char *key, char *text, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ',')) {
        if (strncmp(at + 1, key, length) || at[1 + length] != '=') continue;
        const char *value = at + 2 + length;
        snprintf(text, size, "%.*s", (int)strcspn(value, ","), value);
        return text;
    }
    return NULL;
}

static stair_status describe(cli_request *request, cli_report *report)
{
    stair_model_info info = stair_model_describe(request->model);
    int number = 0;
    STAIR_TRY(size_row(report, "L", info.layers, "layers"));
    STAIR_TRY(size_row(report, "M", info.tokens, "tokens"));
    STAIR_TRY(size_row(report, "P", info.indices, "indices, rows of Z"));
    STAIR_TRY(size_row(report, "K", info.label_size,
                       info.label_is_log ? "numbers in a label, carried as log y" : "numbers in a label"));
    while (stair_model_name(number) && strcmp(stair_model_name(number), info.name)) number++;
    const stair_model_key *key;
    for (int k = 0; stair_model_name(number) && (key = stair_model_keys(number, k)); k++) {
        char text[96];
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = "key"},
                                                  {.text = key->key},
                                                  {.text = value_of(stair_model_spec(request->model),
                                                                    key->key, text, sizeof text)},
                                                  {.text = key->value},
                                                  {.text = key->text}}));
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    cli_report *report;
    if (request->parse.count == 0) {
        STAIR_TRY(report_open(request, list_columns, 2, &report));
        return report_close(&report, list(report));
    }
    STAIR_TRY(stair_model_create(request->context, request->parse.words[0], &request->model));
    STAIR_TRY(report_open(request, describe_columns, 5, &report));
    return report_close(&report, describe(request, report));
}

static const char *const names[] = {"json", "csv", "out", "force", "help", NULL};

const cli_command command_models = {
    .name = "models",
    .words = "[MODEL]",
    .summary = "List the models, or describe one: sizes, keys, defaults",
    .examples = "stair models\nstair models attention:layers=3,rank=1+2+1\n",
    .options = names,
    .most_words = 1,
    .run = run,
};
