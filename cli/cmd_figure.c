/* stair figure: figures from fresh computation, with their numbers beside them. */
#include "columns.h"
#include "progress.h"
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MOST 1024 /* bytes of the options in the command of a figure */

typedef struct {
    cli_request *request;
    cli_report *report;
    cli_progress progress;
    const char *folder;
    bool steps; /* one staircase: its steps are what is reported */
    char options[COMMAND_MOST];
} figure_command;

static void defaults(cli_options *o)
{
    o->asymptotics.precision = 5e-3;
    o->out = "out";
    o->size = "column";
}

/* ---- the command that stands in files -------------------------------------------------------------------
 */

static void append_quoted(char *text, size_t size, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:=,.+-_/";
    size_t used = strlen(text);
    if (strspn(value, plain) == strlen(value)) {
        snprintf(text + used, size - used, "%s", value);
        return;
    }
    used += (size_t)snprintf(text + used, size - used, "'");
    for (; *value && used + 8 < size; value++)
        used += (size_t)snprintf(text + used, size - used, *value == '\'' ? "'\\''" : "%c",
                                 (unsigned char)*value < 32 ? '?' : *value);
    snprintf(text + used, size - used, "'");
}

/* Those that were given and change the numbers. */
static stair_status write_options(figure_command *f)
{
    option_scope scope = command_scope(f->request->command);
    for (const char *const *name = scope.names; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        char value[COMMAND_MOST / 2];
        if (!option_given(&f->request->parse, *name) || entry.is->how) continue;
        option_to_text(&entry, &f->request->options, value, sizeof value);
        size_t used = strlen(f->options);
        if (used + 2 * strlen(value) + strlen(*name) + 16 > sizeof f->options)
            return stair_fail(f->request->context, STAIR_BAD_INPUT, "--%s: too long for a figure", *name);
        if (entry.is->kind == STAIR_OPTION_FLAG) {
            snprintf(f->options + used, sizeof f->options - used, strcmp(value, "yes") ? " --no-%s" : " --%s",
                     *name);
            continue;
        }
        snprintf(f->options + used, sizeof f->options - used, " --%s ", *name);
        append_quoted(f->options, sizeof f->options, value);
    }
    return STAIR_OK;
}

/* ---- what is reported -------------------------------------------------------------------------------------
 */

static void say_steps(figure_command *f, const figure_table *table, bool layers)
{
    report_note(f->report, "\nWith N samples in dimension D and alpha = N/D, ");
    for (int k = 0; k < table->marks; k++) {
        const figure_mark *m = &table->mark[k];
        if (!strcmp(m->name, "perfect"))
            report_note(f->report, "and all weights are recovered exactly from alpha = %.4g on.\n", m->value);
        else if (!strcmp(m->name, "weak") && isfinite(m->value))
            report_note(f->report, "%s %s is learned from alpha = %.4g on, ", layers ? "layer" : "index",
                        m->text, m->value);
    }
}

static stair_status tell_steps(figure_command *f, const figure_result *result)
{
    const figure_table *table = result->table;
    for (int k = 0; k < table->marks; k++) {
        const figure_mark *m = &table->mark[k];
        if (!strcmp(m->name, "missed")) continue;
        STAIR_TRY(report_row(
            f->report,
            (cli_cell[]){{.text = m->name}, {.real = m->value}, {.real = m->error}, {.text = m->text}}));
    }
    say_steps(f, table, strstr(result->spec, "attention") != NULL);
    report_note(f->report, "Written: %s/staircase.png, .pdf, .svg and .csv\n", f->folder);
    return STAIR_OK;
}

static stair_status tell(void *user, const figure_result *result)
{
    figure_command *f = user;
    if (f->steps) return tell_steps(f, result);
    char csv[64];
    snprintf(csv, sizeof csv, "%s.csv", result->kind->name);
    return report_row(f->report, (cli_cell[]){{.text = result->kind->name},
                                              {.text = csv},
                                              {.integer = result->rows},
                                              {.truth = result->kept},
                                              {.text = result->kind->text}});
}

static void stage(void *user, const char *name, int part, int parts)
{
    figure_command *f = user;
    static char state[4096]; /* lives as long as the request that points to it */
    snprintf(state, sizeof state, "%.4000s/%.60s.state", f->folder, name);
    f->request->checkpoint = state;
    progress_stage(&f->progress, part, 1, parts);
}

/* ---- the command ------------------------------------------------------------------------------------------
 */

static figure_request request_of(figure_command *f)
{
    const cli_request *request = f->request;
    const cli_options *o = &request->options;
    figure_request r = {.context = request->context,
                        .folder = f->folder,
                        .model = request->parse.count > 1 ? request->parse.words[1] : NULL,
                        .data = o->data,
                        .vocab = o->vocab,
                        .overlay = o->overlay,
                        .quick = o->quick,
                        .tex = o->tex,
                        .force = o->force,
                        .resume = o->resume,
                        .how = o->asymptotics,
                        .precise = option_given(&request->parse, "precision"),
                        .options = f->options,
                        .stage = stage,
                        .user = f};
    while (r.size + 1 < FIGURE_SIZES && strcmp(figure_measures[r.size].name, o->size) != 0) r.size++;
    return r;
}

static stair_status open_report(figure_command *f)
{
    static cli_column steps[4], figures[5];
    steps[0] = column_text("kind", "step", 8);
    steps[1] = column_real("alpha", "alpha", 6);
    steps[2] = column_real("error", "error", 0);
    steps[3] = column_ints("learns", "learns", 64);
    figures[0] = column_text("figure", "figure", 40);
    figures[1] = column_text("csv", NULL, 64);
    figures[2] = column_int("rows", "rows");
    figures[3] = column_bool("kept", "kept");
    figures[4] = column_text("text", "", 160);
    return f->steps ? report_open(f->request, steps, 4, &f->report)
                    : report_open(f->request, figures, 5, &f->report);
}

static stair_status run(cli_request *request)
{
    figure_command f = {.request = request, .folder = request->options.out};
    const char *name = request->parse.count ? request->parse.words[0] : "all";
    f.steps = !strcmp(name, "staircase") || !strcmp(name, "staircase-curve");
    request->options.out = NULL; /* a folder here: reports have nothing to write there */
    if (!f.folder || !*f.folder) return stair_fail(request->context, STAIR_BAD_INPUT, "--out needs a folder");
    STAIR_TRY(stair_asymptotics_check(request->context, &request->options.asymptotics));
    STAIR_TRY(write_options(&f));
    STAIR_TRY(open_report(&f));
    figure_request how = request_of(&f);
    progress_start(&f.progress, request->context, request->options.quiet);
    stair_status status = figures_make(&how, name, tell, &f);
    progress_finish(&f.progress);
    return report_close(&f.report, status);
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {
    "quick",   "size",       "overlay",  "tex",   "data",           "vocab",    "resume",       "precision",
    "samples", "replicates", "widening", "inner", "max-iterations", "patience", COMMON_OPTIONS, NULL};

const cli_command command_figure = {
    .name = "figure",
    .words = "NAME|all [MODEL]",
    .summary = "Figures of the paper and beyond from fresh computation: pdf, svg, png and csv in a folder",
    .details =
        "staircase       overlaps and errors against alpha, the steps marked\n"
        "fig1-left       the same of two layers as in the paper, with crosses of GAMP\n"
        "fig1-right      thresholds of two layers against the skip strength\n"
        "fig2-top        layers over iterations of GAMP\n"
        "fig2-bottom     layers over epochs of SGD\n"
        "fig3-left       overlaps and errors of three layers against alpha\n"
        "fig3-right      layers of a question classifier over epochs of AdamW\n"
        "fig5            layer 1 where the overlap of layer 2 is held\n"
        "phase-diagram   what is learned at skip strength c and alpha\n"
        "thresholds      first thresholds against tokens and layers\n"
        "free-entropy    free entropy of phase retrieval, with the hard phase\n"
        "sgd-bayes       SGD beside the Bayes-optimal estimator\n"
        "finite-size     the step of one layer in dimensions 250 to 8000\n"
        "\n"
        "Where they differ there are two of a figure: exact, and NAME-prenoise with prenoise=1e-3, as the\n"
        "paper's numbers were made.  Numbers stand in NAME.csv; the command is in the metadata of all "
        "files.\n"
        "Files that are there already are kept: --force replaces them, --resume goes on without them.\n"
        "--patience is for a MODEL of yours.\n",
    .examples = "stair figure all --quick --out out\n"
                "stair figure fig1-left --out out --overlay authors --size page --tex\n"
                "stair figure fig3-right --data trec.label --vocab vocab.txt --out out\n"
                "stair figure staircase attention:layers=2,skip=2 --out out\n",
    .options = names,
    .tables = tables,
    .most_words = 2,
    .defaults = defaults,
    .alone = true,
    .run = run,
};
