/* In place of what writes and reads JSON (cli/report_json.c, cli/page*.c, cli/cmd_report.c,
 * cli/amp_history.c) where jansson is missing: they are refused by name, before anything is computed. */
#include "amp_rows.h"
#include "command.h"

#include <string.h>

char *amp_history_text(const stair_gamp_run *run, int p)
{
    (void)run, (void)p;
    return strdup("null"); /* for JSON alone */
}

static stair_status begin(cli_report *report, cli_sink *sink)
{
    (void)sink;
    return stair_fail(report->request->context, STAIR_UNSUPPORTED, "no JSON: built without jansson");
}

static stair_status row(cli_report *report, cli_sink *sink, const cli_cell *cells)
{
    (void)report, (void)sink, (void)cells;
    return STAIR_OK;
}

static stair_status end(cli_report *report, cli_sink *sink)
{
    (void)report, (void)sink;
    return STAIR_OK;
}

static void discard(cli_sink *sink)
{
    (void)sink;
}

const cli_format json_format = {
    .extension = "json", .where = IN_ALL, .begin = begin, .row = row, .end = end, .discard = discard};

static stair_status run(cli_request *request)
{
    return stair_fail(request->context, STAIR_UNSUPPORTED, "no pages: built without jansson");
}

static const char *const names[] = {"help", NULL};

const cli_command command_report = {
    .name = "report",
    .words = "FILE...",
    .summary = "One self-contained page from result files (built without jansson: not here)",
    .examples = "",
    .options = names,
    .most_words = OPTION_MOST_WORDS,
    .alone = true,
    .run = run};
