/* stair bench: verifies, then times, in units of one vector exp of the same run. */
#include "progress.h"
#include "report.h"
#include "bench.h"
#include "core/text.h"

#include <string.h>

#define MOST_ROWS      64  /* of a benchmark */
#define DEFAULT_POINTS 256 /* posteriors of each row of the channel */

static void defaults(cli_options *o)
{
    o->points = DEFAULT_POINTS;
}

static const cli_column columns[] = {
    {.name = "model", .heading = "model", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "cov_low", .heading = "cov from", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "cov_high", .heading = "to", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "precision", .heading = "precision", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "points", .heading = "points", .kind = CELL_INT, .where = IN_ALL},
    {.name = "worst_error", .heading = "worst error", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "nodes", .heading = "nodes", .kind = CELL_REAL, .where = IN_ALL, .fixed = true},
    {.name = "needed", .heading = "exps needed", .kind = CELL_REAL, .where = IN_ALL, .fixed = true},
    {.name = "cost", .heading = "cost in exps", .kind = CELL_REAL, .where = IN_ALL, .fixed = true},
    {.name = "ratio", .heading = "ratio", .kind = CELL_REAL, .where = IN_ALL},
    {.name = "limit", .heading = "limit", .kind = CELL_REAL, .where = IN_ALL, .fixed = true},
    {.name = "passed", .heading = "passed", .kind = CELL_BOOL, .where = IN_ALL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static stair_status bench(cli_request *request, cli_report *report, int *failed)
{
    stair_bench_row rows[MOST_ROWS];
    int count = 0;
    cli_progress progress;
    progress_start(&progress, request->context, request->options.quiet);
    stair_status status =
        stair_bench_channel(request->context, (size_t)request->options.points, MOST_ROWS, rows, &count);
    progress_finish(&progress);
    STAIR_TRY(status);
    for (int i = 0; i < count; i++) {
        const stair_bench_row *r = &rows[i];
        *failed += !r->passed;
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = r->model},
                                                  {.real = r->cov_low},
                                                  {.real = r->cov_high},
                                                  {.real = r->precision},
                                                  {.integer = (int64_t)r->points},
                                                  {.real = r->worst_error},
                                                  {.real = r->nodes},
                                                  {.real = r->needed},
                                                  {.real = r->cost},
                                                  {.real = r->cost / r->needed},
                                                  {.real = r->limit},
                                                  {.truth = r->passed}}));
    }
    return STAIR_OK;
}

static const cli_column staircase_columns[] = {
    {.name = "model", .heading = "model", .kind = CELL_TEXT, .where = IN_ALL, .width = 96},
    {.name = "precision", .heading = "precision", .where = IN_ALL},
    {.name = "error", .heading = "error", .where = IN_ALL},
    {.name = "steps", .heading = "steps", .kind = CELL_INT, .where = IN_ALL},
    {.name = "seconds", .heading = "seconds", .where = IN_ALL, .digits = 1, .fixed = true},
    {.name = "limit", .heading = "limit", .where = IN_ALL},
    {.name = "passed", .heading = "passed", .kind = CELL_BOOL, .where = IN_ALL},
};
enum { STAIRCASE_COLUMNS = sizeof staircase_columns / sizeof *staircase_columns };

static stair_status time_staircase(cli_request *request, bool curves, cli_report *report, int *failed)
{
    stair_staircase_row rows[MOST_ROWS];
    int count = 0;
    cli_progress progress;
    progress_start(&progress, request->context, request->options.quiet);
    stair_status status = stair_bench_staircase(request->context, curves, MOST_ROWS, rows, &count);
    progress_finish(&progress);
    STAIR_TRY(status);
    for (int i = 0; i < count; i++) {
        const stair_staircase_row *r = &rows[i];
        *failed += !r->passed;
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = r->model},
                                                  {.real = r->precision},
                                                  {.real = r->error},
                                                  {.integer = r->steps},
                                                  {.real = r->seconds},
                                                  {.real = r->limit},
                                                  {.truth = r->passed}}));
    }
    return STAIR_OK;
}

static stair_status bench_staircase(cli_request *request, cli_report *report, int *failed)
{
    return time_staircase(request, false, report, failed);
}

static stair_status bench_curves(cli_request *request, cli_report *report, int *failed)
{
    return time_staircase(request, true, report, failed);
}

static const cli_column amp_columns[] = {
    {.name = "what", .heading = "what", .kind = CELL_TEXT, .where = IN_ALL, .width = 64},
    {.name = "dim", .heading = "D", .kind = CELL_INT, .where = IN_ALL},
    {.name = "samples", .heading = "samples", .kind = CELL_INT, .where = IN_ALL},
    {.name = "iterations", .kind = CELL_INT, .where = IN_DATA},
    {.name = "seconds", .heading = "s/iteration", .where = IN_ALL, .digits = 4},
    {.name = "pass", .heading = "pass", .where = IN_ALL, .digits = 3},
    {.name = "draw", .heading = "draw", .where = IN_ALL, .digits = 3},
    {.name = "channel", .heading = "denoiser", .where = IN_ALL, .digits = 3},
    {.name = "rest", .heading = "rest", .where = IN_ALL, .digits = 3},
    {.name = "error", .heading = "error", .where = IN_ALL},
    {.name = "value", .heading = "value", .where = IN_ALL, .digits = 3},
    {.name = "unit", .heading = "unit", .kind = CELL_TEXT, .where = IN_ALL, .width = 24},
    {.name = "limit", .heading = "limit", .where = IN_ALL},
    {.name = "passed", .heading = "passed", .kind = CELL_BOOL, .where = IN_ALL},
};
enum { AMP_COLUMNS = sizeof amp_columns / sizeof *amp_columns };

static stair_status bench_amp(cli_request *request, cli_report *report, int *failed)
{
    stair_amp_row rows[MOST_ROWS];
    int count = 0;
    cli_progress progress;
    progress_start(&progress, request->context, request->options.quiet);
    stair_status status = stair_bench_amp(request->context, MOST_ROWS, rows, &count);
    progress_finish(&progress);
    STAIR_TRY(status);
    for (int i = 0; i < count; i++) {
        const stair_amp_row *r = &rows[i];
        *failed += !r->passed;
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = r->what},
                                                  {.integer = r->dim},
                                                  {.integer = (int64_t)r->samples},
                                                  {.integer = r->iterations},
                                                  {.real = r->seconds},
                                                  {.real = r->pass},
                                                  {.real = r->draw},
                                                  {.real = r->channel},
                                                  {.real = r->rest},
                                                  {.real = r->error},
                                                  {.real = r->value},
                                                  {.text = r->unit},
                                                  {.real = r->limit},
                                                  {.truth = r->passed}}));
    }
    return STAIR_OK;
}

static const struct {
    const char *name;
    const cli_column *columns;
    int count;
    stair_status (*run)(cli_request *request, cli_report *report, int *failed);
} benches[] = {
    {"channel", columns, COLUMNS, bench},
    {"staircase", staircase_columns, STAIRCASE_COLUMNS, bench_staircase},
    {"curves", staircase_columns, STAIRCASE_COLUMNS, bench_curves},
    {"amp", amp_columns, AMP_COLUMNS, bench_amp},
};
enum { BENCHES = sizeof benches / sizeof *benches };

static stair_status run(cli_request *request)
{
    cli_report *report;
    int failed = 0, k = 0;
    const char *word = request->parse.count ? request->parse.words[0] : benches[0].name,
               *known[BENCHES + 1] = {NULL};
    for (int i = 0; i < BENCHES; i++) known[i] = benches[i].name;
    while (k < BENCHES && strcmp(word, benches[k].name)) k++;
    if (k == BENCHES) {
        const char *near = stair_closest(word, known);
        return stair_fail(request->context, STAIR_BAD_INPUT, "unknown benchmark '%.80s'; did you mean %s?",
                          word, near ? near : benches[0].name);
    }
    STAIR_TRY(report_open(request, benches[k].columns, benches[k].count, &report));
    STAIR_TRY(report_close(&report, benches[k].run(request, report, &failed)));
    if (!failed) return STAIR_OK;
    return stair_fail(request->context, STAIR_FAILED, "%d of the benchmarks miss their error or their limit",
                      failed);
}

static const char *const names[] = {"points", "threads", "json", "csv", "out",
                                    "force",  "quiet",   "help", NULL};

const cli_command command_bench = {
    .name = "bench",
    .words = "[channel|staircase|curves|amp]",
    .summary = "Verify, then time: the channel in units of one vector exp, the staircase, GAMP",
    .details = "Costs are ratios to one exp of a vector loop timed in the same run, so they carry over\n"
               "from machine to machine; `exps needed` counts the integrand's own and `ratio` says how far\n"
               "the cost is from it.  `curves` times the curves of overlaps, which takes ten minutes.\n"
               "For amp, times of one iteration are split into products with\n"
               "X, drawing X, denoising and the rest (processor seconds), and reading X alone is timed "
               "beside.  The\n"
               "exit status is 1 when an error or a limit is missed.\n",
    .examples = "stair bench channel\nstair bench channel --points 64 --json\nstair bench staircase\nstair "
                "bench curves --threads 2\nstair bench amp --threads 2\n",
    .options = names,
    .most_words = 1,
    .defaults = defaults,
    .alone = true,
    .run = run,
};
