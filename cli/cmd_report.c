/* stair report: one self-contained page from result files. */
#include "core/limits.h"
#include "io/atomic_file.h"
#include "page.h"

#include <string.h>

static stair_status check(cli_request *request)
{
    const char *out = request->options.out, *dot = out ? strrchr(out, '.') : NULL;
    if (request->parse.count == 0)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "report needs result files: stair report run.json --out page.html");
    if (!out) return stair_fail(request->context, STAIR_BAD_INPUT, "report needs --out page.html");
    /* another ending may be a result, which --force would replace */
    if (!dot || (strcmp(dot, ".html") && strcmp(dot, ".htm")))
        return stair_fail(request->context, STAIR_BAD_INPUT, "--out %s: the name must end in .html", out);
    if (request->options.title && !*request->options.title)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--title needs a text");
    return STAIR_OK;
}

static stair_status read_files(cli_request *request, json_t *files)
{
    size_t room_left = STAIR_MOST_PAGE_CELLS;
    for (int k = 0; k < request->parse.count; k++) {
        json_t *file;
        STAIR_TRY(page_file_read(request->context, request->parse.words[k], &room_left, &file));
        if (json_array_append_new(files, file)) return page_no_memory(request->context);
    }
    return STAIR_OK;
}

static stair_status write_page(cli_request *request, json_t *files)
{
    stair_atomic_file out;
    page_content made = {.title = request->options.title ? request->options.title : "Results of stair",
                         .files = files,
                         .plain = request->options.plain || page_script_size == 0};
    STAIR_TRY(stair_atomic_open(request->context, request->options.out, request->options.force, &out));
    stair_status status = page_write(request->context, out.file, &made);
    if (status != STAIR_OK) {
        stair_atomic_discard(&out);
        return status;
    }
    return stair_atomic_commit(request->context, &out);
}

static stair_status run(cli_request *request)
{
    STAIR_TRY(check(request));
    json_t *files = json_array();
    if (!files) return page_no_memory(request->context);
    stair_status status = read_files(request, files);
    if (status == STAIR_OK) status = write_page(request, files);
    json_decref(files);
    if (status == STAIR_OK && !request->options.quiet) printf("Written: %s\n", request->options.out);
    return status;
}

static const char *const names[] = {"out", "title", "plain", "force", "quiet", "help", NULL};

const cli_command command_report = {
    .name = "report",
    .words = "FILE...",
    .summary = "One self-contained page from result files: plots, tables, options, commands",
    .details =
        "FILEs are what --out or --json of any command wrote: json, csv or npz.  The page needs no network:\n"
        "plots with zoom, values and error bars, tables that sort, the options, seeds, versions and the\n"
        "command of each file.  JSON tells most; CSV and NPZ hold the numbers alone.  Column X_error has "
        "the\n"
        "error bars of X.  --plain, or a program built without node, makes pictures instead of scripts.\n",
    .examples = "stair report evolve.json threshold.json --out page.html\n"
                "stair report runs/*.csv --title 'Two layers' --out page.html --force\n",
    .options = names,
    .most_words = OPTION_MOST_WORDS,
    .alone = true,
    .run = run,
};
