/* stair models: the registry, or one model with its formula, sizes, keys and an example. */
#include "report.h"
#include "spec.h"

#include <stdio.h>
#include <string.h>

static const cli_column list_columns[] = {
    {.name = "name", .heading = "model", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "formula", .heading = NULL, .kind = CELL_TEXT, .where = IN_DATA, .width = 160},
    {.name = "summary", .heading = "what it is", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "example", .heading = NULL, .kind = CELL_TEXT, .where = IN_DATA, .width = 160},
};
static const cli_column describe_columns[] = {
    {.name = "kind", .heading = "", .kind = CELL_TEXT, .where = IN_ALL, .width = 8},
    {.name = "name", .heading = "name", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "value", .heading = "value", .kind = CELL_TEXT, .where = IN_ALL, .width = 128},
    {.name = "default", .heading = "default", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "text", .heading = "meaning", .kind = CELL_TEXT, .where = IN_ALL, .width = 160},
};
enum { LISTED = sizeof list_columns / sizeof *list_columns };
enum { DESCRIBED = sizeof describe_columns / sizeof *describe_columns };

static stair_status list(cli_report *report)
{
    for (int i = 0; stair_model_name(i); i++) {
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = stair_model_name(i)},
                                                  {.text = stair_model_formula(i)},
                                                  {.text = stair_model_summary(i)},
                                                  {.text = stair_model_example(i)}}));
        report_note(report, "%s%s: %s\n", i ? "" : "\n", stair_model_name(i), stair_model_formula(i));
    }
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

/* A line that is no size and no key. */
static stair_status text_row(cli_report *report, const char *kind, const char *name, const char *text)
{
    return report_row(
        report, (cli_cell[]){{.text = kind}, {.text = name}, {.text = NULL}, {.text = NULL}, {.text = text}});
}

static stair_status write_sizes(cli_report *report, stair_model_info info)
{
    STAIR_TRY(size_row(report, "L", info.layers, "layers"));
    STAIR_TRY(size_row(report, "M", info.tokens, "tokens"));
    STAIR_TRY(size_row(report, "P", info.indices, "indices, rows of Z"));
    return size_row(report, "K", info.label_size,
                    info.label_is_log ? "numbers in a label, carried as log y" : "numbers in a label");
}

/* Without a model, which would need a file, there are no sizes and no values. */
static stair_status describe(cli_request *request, int number, cli_report *report)
{
    const char *spec = request->model ? stair_model_spec(request->model) : "";
    const char *name = stair_model_name(number);
    char text[SPEC_MOST];
    STAIR_TRY(text_row(report, "formula", name, stair_model_formula(number)));
    if (request->model) STAIR_TRY(write_sizes(report, stair_model_describe(request->model)));
    const stair_model_key *key;
    for (int k = 0; (key = stair_model_keys(number, k)); k++) {
        bool there = spec_value(spec, key->key, text);
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = "key"},
                                                  {.text = key->key},
                                                  {.text = there ? text : NULL},
                                                  {.text = key->value},
                                                  {.text = key->text}}));
    }
    snprintf(text, sizeof text, "stair threshold %s", stair_model_example(number));
    return text_row(report, "example", name, text);
}

/* The word, or the example of a model whose first key has no default; NULL where that is a file, for code is
 * loaded only when its path is given. */
static const char *described(const char *word)
{
    int number = spec_model(word);
    const stair_model_key *key = number >= 0 ? stair_model_keys(number, 0) : NULL;
    bool bare = key && !key->value && !strchr(word, ':');
    if (bare && strstr(key->text, ".so")) return NULL;
    return bare ? stair_model_example(number) : word;
}

static stair_status run(cli_request *request)
{
    cli_report *report;
    if (request->parse.count == 0) {
        STAIR_TRY(report_open(request, list_columns, LISTED, &report));
        return report_close(&report, list(report));
    }
    const char *word = request->parse.words[0], *spec = described(word);
    if (spec) STAIR_TRY(stair_model_create(request->context, spec, &request->model));
    STAIR_TRY(report_open(request, describe_columns, DESCRIBED, &report));
    int number = spec_model(spec ? stair_model_spec(request->model) : word);
    return report_close(&report, describe(request, number, report));
}

static const char *const names[] = {"json", "csv", "out", "force", "help", NULL};

const cli_command command_models = {
    .name = "models",
    .words = "[MODEL]",
    .summary = "List the models, or describe one: formula, sizes, keys, defaults, an example",
    .examples = "stair models\nstair models attention:layers=3,rank=1+2+1\n",
    .options = names,
    .most_words = 1,
    .alone = true,
    .run = run,
};
