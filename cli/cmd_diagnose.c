/* stair diagnose: the identities every channel must satisfy, with the worst violation of each. */
#include "progress.h"
#include "report.h"

#define MOST_IDENTITIES 64 /* identities */

static const cli_column columns[] = {
    {.name = "identity", .heading = "identity", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "violation", .heading = "violation", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "tolerance", .heading = "tolerance", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "points", .heading = "points", .kind = CELL_INT, .where = IN_ALL},
    {.name = "resolved", .heading = "resolved", .kind = CELL_INT, .where = IN_ALL},
    {.name = "verdict", .heading = "verdict", .kind = CELL_TEXT, .where = IN_ALL, .width = 16},
    {.name = "passed", .heading = "passed", .kind = CELL_BOOL, .where = IN_DATA},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* verdicts (STAIR_VERDICTS): how many rows have each */
static stair_status diagnose(cli_request *request, cli_report *report, int *verdicts)
{
    const stair_diagnose_options *how = &request->options.diagnose;
    stair_identity rows[MOST_IDENTITIES];
    int count = 0;
    cli_progress progress;
    progress_start(&progress, request->context, request->options.quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status status = stair_diagnose_check(request->context, how);
    if (status == STAIR_OK)
        status = stair_diagnose(request->context, request->model, how, MOST_IDENTITIES, rows, &count);
    progress_finish(&progress);
    STAIR_TRY(status);
    for (int i = 0; i < count; i++) {
        verdicts[rows[i].verdict]++;
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = rows[i].name},
                                                  {.real = rows[i].violation},
                                                  {.real = rows[i].tolerance},
                                                  {.integer = (int64_t)rows[i].points},
                                                  {.integer = (int64_t)rows[i].resolved},
                                                  {.text = stair_verdict_name(rows[i].verdict)},
                                                  {.truth = rows[i].verdict == STAIR_HOLDS}}));
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    cli_report *report;
    int verdicts[STAIR_VERDICTS] = {0};
    STAIR_TRY(report_open(request, columns, COLUMNS, &report));
    STAIR_TRY(report_close(&report, diagnose(request, report, verdicts)));
    if (verdicts[STAIR_FAILS])
        return stair_fail(request->context, STAIR_FAILED, "%d of the identities of %s fail",
                          verdicts[STAIR_FAILS], stair_model_spec(request->model));
    if (verdicts[STAIR_NOT_RESOLVED])
        return stair_fail(
            request->context, STAIR_NOT_CONVERGED,
            "%d of the identities of %s are not resolved: the errors reported are too large to tell",
            verdicts[STAIR_NOT_RESOLVED], stair_model_spec(request->model));
    return STAIR_OK;
}

static const char *const tables[] = {"diagnose", NULL};
static const char *const names[] = {"points", "precision", "cov-low", COMMON_OPTIONS, NULL};

const cli_command command_diagnose = {
    .name = "diagnose",
    .words = "MODEL",
    .summary = "Check the identities that the posterior moments of a model must satisfy",
    .details =
        "Each row is one identity: its worst violation over random points, and what the errors\n"
        "reported allow.  Where they allow more than 0.1, relative or in units of V, a point does not\n"
        "resolve the identity: it can show that it fails, not that it holds.  With fewer than half of\n"
        "the points resolved the verdict is 'not resolved', which is no pass.  The exit status is 1 when\n"
        "an identity fails, 3 when none fails and some are not resolved.\n",
    .examples =
        "stair diagnose attention:layers=2,skip=1\nstair diagnose attention:layers=3 --points 50 --json\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .run = run,
};
