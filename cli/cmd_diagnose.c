/* stair diagnose: the identities every channel must satisfy, with the worst violation of each. */
#include "progress.h"
#include "report.h"

#define MOST_ROWS 64

static void defaults(cli_options *o)
{
    stair_diagnose_options d = stair_diagnose_defaults();
    o->points = (int64_t)d.points;
    o->precision = d.precision;
    o->cov_low = d.cov_low;
    o->seed = d.seed;
}

static const cli_column columns[] = {
    {.name = "identity", .heading = "identity", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "violation", .heading = "violation", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "tolerance", .heading = "tolerance", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "points", .heading = "points", .kind = CELL_INT, .where = IN_ALL},
    {.name = "passed", .heading = "passed", .kind = CELL_BOOL, .where = IN_ALL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static stair_status diagnose(cli_request *request, cli_report *report, int *failed)
{
    const cli_options *o = &request->options;
    stair_diagnose_options d = {
        .points = (size_t)o->points, .precision = o->precision, .cov_low = o->cov_low, .seed = o->seed};
    stair_identity rows[MOST_ROWS];
    int count = 0;
    cli_progress progress;
    progress_start(&progress, request->context, o->quiet);
    stair_status status = stair_diagnose_check(request->context, &d);
    if (status == STAIR_OK)
        status = stair_diagnose(request->context, request->model, &d, MOST_ROWS, rows, &count);
    progress_finish(&progress);
    STAIR_TRY(status);
    for (int i = 0; i < count; i++) {
        *failed += !rows[i].passed;
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = rows[i].name},
                                                  {.real = rows[i].violation},
                                                  {.real = rows[i].tolerance},
                                                  {.integer = (int64_t)rows[i].points},
                                                  {.truth = rows[i].passed}}));
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    cli_report *report;
    int failed = 0;
    STAIR_TRY(report_open(request, columns, COLUMNS, &report));
    STAIR_TRY(report_close(&report, diagnose(request, report, &failed)));
    if (!failed) return STAIR_OK;
    return stair_fail(request->context, STAIR_FAILED, "%d of the identities of %s fail", failed,
                      stair_model_spec(request->model));
}

static const char *const names[] = {"points", "precision", "cov-low", COMMON_OPTIONS, NULL};

const cli_command command_diagnose = {
    .name = "diagnose",
    .words = "MODEL",
    .summary = "Check the identities that the posterior moments of a model must satisfy",
    .details = "Each row is one identity: its worst violation over random points, and what the errors\n"
               "reported allow.  The exit status is 1 when one of them fails.\n",
    .examples =
        "stair diagnose attention:layers=2,skip=1\nstair diagnose attention:layers=3 --points 50 --json\n",
    .options = names,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
