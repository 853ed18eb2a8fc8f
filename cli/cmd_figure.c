/* stair figure: figures from fresh computation, with their numbers beside them. */
#include "columns.h"
#include "number.h"
#include "progress.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_MODEL "attention:layers=2,tokens=2,rank=1,skip=1"
#define BETWEEN       48 /* points from one step to the next */

typedef struct {
    cli_request *request;
    stair_model *model;
    stair_model_info info;
    const char *folder;
    stair_staircase_curve *curve;
} figure_job;

static void defaults(cli_options *o)
{
    o->asymptotics.precision = 5e-3;
    o->out = "out";
}

static void write_pair(FILE *file, double value, double error)
{
    char text[NUMBER_MOST];
    fprintf(file, ",%s,%.3g", number_text(value, text), error);
}

/* Names of the columns are those of `stair evolve --csv`; where an index can be above 9 they are separated
 * (entries.h). */
static stair_status write_csv(const figure_job *job)
{
    stair_context *context = job->request->context;
    const stair_staircase_curve *c = job->curve;
    int p = c->indices;
    char path[4096];
    stair_atomic_file out;
    snprintf(path, sizeof path, "%s/staircase.csv", job->folder);
    STAIR_TRY(stair_atomic_open(context, path, true, &out));
    fprintf(out.file, "alpha");
    const char *mark = p > 9 ? "_" : "";
    for (int k = 1; k <= p; k++) fprintf(out.file, ",Q%d%s%d,Q%d%s%d_error", k, mark, k, k, mark, k);
    fprintf(out.file, ",bayes,bayes_error,plugin,plugin_error,weights\n");
    for (int i = 0; i < c->points; i++) {
        const stair_errors *e = &c->errors[i];
        char text[NUMBER_MOST];
        fputs(number_text(c->alpha[i], text), out.file);
        for (int k = 0; k < p; k++) write_pair(out.file, c->q[i * p + k], c->q_error[i * p + k]);
        write_pair(out.file, e->bayes, e->bayes_error);
        write_pair(out.file, e->plugin, e->plugin_error);
        fprintf(out.file, ",%s\n", number_text(e->weights, text));
    }
    return stair_atomic_commit(context, &out);
}

/* Vertical lines at the steps, each with its alpha on top. */
static void mark_steps(const stair_staircase_curve *curve, FILE *to)
{
    fprintf(to, "unset arrow\nunset label\n");
    for (int k = 0; k < curve->steps; k++) {
        double alpha = curve->step[k].alpha;
        if (!isfinite(alpha)) continue;
        fprintf(
            to,
            "set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead back dt 3 lc rgb '#999999'\n",
            alpha, alpha);
        fprintf(to, "set label '%.4g' at first %.17g, graph 1.03 center textcolor rgb '#555555'\n", alpha,
                alpha);
    }
}

static void write_script(const figure_job *job, FILE *to)
{
    int p = job->info.indices;
    static const char *const colours[] = {"#1f5fa8", "#c23b22", "#2f8f4e", "#7a4fa3", "#b8860b", "#008b8b"};
    for (int pass = 0; pass < 2; pass++) {
        fprintf(to, pass ? "set terminal pdfcairo size 5in,3.4in font 'Helvetica,11'\n"
                         : "set terminal pngcairo size 1500,1020 font 'Helvetica,26' linewidth 2\n");
        fprintf(to, "set output '%s/staircase.%s'\n", job->folder, pass ? "pdf" : "png");
        fprintf(to,
                "set datafile separator ','\nset key at graph 0.02, graph 0.93 left top Left reverse samplen "
                "2 opaque\nset border 3\n"
                "set tics nomirror out\nset xlabel 'samples per dimension {/Symbol a} = N/D'\nset ylabel "
                "'overlap, error'\n"
                "set xrange [0:%.17g]\nset yrange [0:1.02]\nset ytics 0.2\nset style fill transparent solid "
                "0.25 noborder\n",
                job->curve->alpha[job->curve->points - 1]);
        mark_steps(job->curve, to);
        fprintf(to, "plot ");
        for (int k = 0; k < p; k++)
            fprintf(to,
                    "'%s/staircase.csv' skip 1 using 1:($%d-$%d):($%d+$%d) with filledcurves lc rgb '%s' "
                    "notitle, "
                    "'' skip 1 using 1:%d with lines lw 2.5 lc rgb '%s' title 'Q_{%d%d}', ",
                    job->folder, 2 + 2 * k, 3 + 2 * k, 2 + 2 * k, 3 + 2 * k, colours[k % 6], 2 + 2 * k,
                    colours[k % 6], k + 1, k + 1);
        fprintf(to,
                "'' skip 1 using 1:%d with lines lw 2 lc rgb 'black' title 'Bayes error', "
                "'' skip 1 using 1:%d with lines lw 2 dt 2 lc rgb 'black' title 'plug-in error'\n",
                2 + 2 * p, 4 + 2 * p);
        fprintf(to, "unset output\n");
    }
}

static stair_status draw(figure_job *job)
{
    stair_context *context = job->request->context;
    FILE *plot = popen("gnuplot", "w");
    if (!plot) return stair_fail(context, STAIR_FAILED, "gnuplot: %s", strerror(errno));
    write_script(job, plot);
    if (pclose(plot) != 0)
        return stair_fail(context, STAIR_FAILED,
                          "gnuplot could not draw %s/staircase.png; is gnuplot installed?", job->folder);
    return STAIR_OK;
}

static void list_learned(const stair_step *step, char *text, size_t size)
{
    size_t used = 0;
    for (int k = 0; k < step->learn_count && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", k ? " " : "", step->learns[k]);
}

static void say(cli_report *report, const figure_job *job)
{
    report_note(report, "\nWith N samples in dimension D and alpha = N/D, ");
    for (int k = 0; k < job->curve->steps; k++) {
        const stair_step *step = &job->curve->step[k];
        char learned[64] = "";
        list_learned(step, learned, sizeof learned);
        if (step->kind == STAIR_STEP_PERFECT)
            report_note(report, "and all weights are recovered exactly from alpha = %.4g on.\n", step->alpha);
        else if (isfinite(step->alpha))
            report_note(report, "%s %s is learned from alpha = %.4g on, ",
                        job->info.layers > 1 ? "layer" : "index", learned, step->alpha);
    }
    report_note(report, "Written: %s/staircase.png, .pdf and .csv\n", job->folder);
}

static stair_status print_steps(cli_report *report, const figure_job *job)
{
    for (int k = 0; k < job->curve->steps; k++) {
        char learned[64] = "";
        list_learned(&job->curve->step[k], learned, sizeof learned);
        STAIR_TRY(report_row(report, (cli_cell[]){{.text = stair_step_kind_name(job->curve->step[k].kind)},
                                                  {.real = job->curve->step[k].alpha},
                                                  {.real = job->curve->step[k].error},
                                                  {.text = learned}}));
    }
    say(report, job);
    return STAIR_OK;
}

static stair_status make(figure_job *job)
{
    cli_column columns[] = {column_text("kind", "step", 8), column_real("alpha", "alpha", 6),
                            column_real("error", "error", 0), column_ints("learns", "learns", 64)};
    stair_asymptotics_options how = job->request->options.asymptotics;
    cli_report *report;
    cli_progress progress;
    STAIR_TRY(report_open(job->request, columns, 4, &report));
    progress_start(&progress, job->request->context, job->request->options.quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status computed =
        stair_staircase_curve_create(job->request->context, job->model, &how, BETWEEN, &job->curve);
    progress_finish(&progress);
    stair_status status = job->curve ? write_csv(job) : computed;
    if (status == STAIR_OK) status = draw(job);
    if (status == STAIR_OK) status = print_steps(report, job);
    status = report_close(&report, status);
    if (status == STAIR_OK && computed == STAIR_NOT_CONVERGED)
        return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                          "drawn, but an overlap has an error of %.2g, above --precision %g; set --samples, "
                          "or a larger --precision",
                          job->curve->worst, how.precision);
    return status;
}

/* The folder, and in it no figure that would be lost: before anything is computed. */
static stair_status make_place(const figure_job *job)
{
    static const char *const extensions[] = {"csv", "png", "pdf"};
    stair_context *context = job->request->context;
    char path[4096];
    if (mkdir(job->folder, 0777) != 0 && errno != EEXIST)
        return stair_fail(context, STAIR_BAD_INPUT, "--out %s: %s", job->folder, strerror(errno));
    for (size_t k = 0; k < sizeof extensions / sizeof *extensions && !job->request->options.force; k++) {
        struct stat about;
        snprintf(path, sizeof path, "%s/staircase.%s", job->folder, extensions[k]);
        if (lstat(path, &about) == 0)
            return stair_fail(context, STAIR_BAD_INPUT, "%s exists; pass --force to replace it", path);
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    stair_context *context = request->context;
    const char *name = request->parse.count ? request->parse.words[0] : "all";
    stair_asymptotics_options how = request->options.asymptotics;
    if (strcmp(name, "all") && strcmp(name, "staircase-curve"))
        return stair_fail(context, STAIR_BAD_INPUT, "unknown figure '%.80s'; did you mean staircase-curve?",
                          name);
    STAIR_TRY(stair_asymptotics_check(context, &how));
    figure_job job = {.request = request, .folder = request->options.out};
    request->options.out = NULL; /* a folder here: reports have nothing to write there */
    stair_status status =
        strpbrk(job.folder, "'\\\n") || strlen(job.folder) > 3000
            ? stair_fail(context, STAIR_BAD_INPUT, "--out: a folder without quotes or backslashes, please")
            : STAIR_OK;
    if (status == STAIR_OK)
        status = stair_model_create(
            context, request->parse.count > 1 ? request->parse.words[1] : DEFAULT_MODEL, &job.model);
    if (status == STAIR_OK) status = make_place(&job);
    if (status == STAIR_OK) {
        job.info = stair_model_describe(job.model);
        status = make(&job);
    }
    stair_staircase_curve_destroy(&job.curve);
    stair_model_destroy(&job.model);
    return status;
}

static const char *const tables[] = {"asymptotics", NULL};
static const char *const names[] = {"precision",      "samples",  "replicates",   "widening", "inner",
                                    "max-iterations", "patience", COMMON_OPTIONS, NULL};

const cli_command command_figure = {
    .name = "figure",
    .words = "NAME|all [MODEL]",
    .summary = "Figures from fresh computation: png, pdf and csv in the folder --out",
    .details =
        "staircase-curve: overlaps and errors against alpha, the steps marked, in staircase.png, .pdf and\n"
        ".csv.  Files that are there already are kept unless --force is given.\n",
    .examples = "stair figure staircase-curve --out out\n",
    .options = names,
    .tables = tables,
    .most_words = 2,
    .defaults = defaults,
    .run = run,
};
