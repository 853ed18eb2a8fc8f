/* From a request to files: NAME.csv, NAME.pdf, NAME.svg, NAME.png and, when asked for, NAME.tex.
 *
 * Everything that can be refused is refused before anything is computed.  While a figure is computed its
 * finished parts stand in NAME.state.  gnuplot runs in a folder of its own below the target (work.c); a
 * picture is checked for being whole, stamped with its command, and put in place by a rename. */
#include "figure.h"
#include "spawn.h"
#include "stamp.h"
#include "work.h"
#include "core/text.h"
#include "io/atomic_file.h"
#include "io/text_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MOST FIGURE_PATH_MOST

static const char *const kinds_of_file[] = {"csv", "pdf", "svg", "png", "tex"};
enum { CSV, PDF, SVG, PNG, TEX, FILES };

typedef struct {
    const figure_request *request;
    const char *name;
    char *gnuplot;
    figure_work work; /* folder of gnuplot */
    bool made_folder;
    int figures, parts, done; /* parts of all figures, for progress */
    double missed;            /* by the largest error above the precision */
} figure_run;

bool figure_is_asked(const figure_kind *kind, const figure_request *request, const char *name)
{
    if (!strcmp(name, "staircase-curve")) name = "staircase"; /* what 0.1 called it */
    if (request->model && (!kind->takes_model || (kind->prenoise && strstr(request->model, "prenoise="))))
        return false;
    return !strcmp(name, "all") || !strcmp(name, kind->group) || !strcmp(name, kind->name);
}

static void path_of(const figure_run *run, const figure_kind *kind, const char *extension, char *path)
{
    snprintf(path, PATH_MOST, "%s/%s.%s", run->request->folder, kind->name, extension);
}

/* ---- jobs ------------------------------------------------------------------------------------------- */

static void close_job(figure_job *job)
{
    for (int k = 0; k < job->overlays; k++) figure_table_destroy(&job->overlay[k]);
    figure_table_destroy(&job->table);
    stair_model_destroy(&job->model);
}

static stair_status set_model(figure_job *job)
{
    const figure_kind *kind = job->kind;
    const char *spec = job->request->model && kind->takes_model ? job->request->model : kind->model;
    if (!spec) return STAIR_OK;
    int length =
        snprintf(job->spec, sizeof job->spec, "%s%s%s", spec,
                 kind->prenoise ? strchr(spec, ':') ? "," : ":" : "", kind->prenoise ? "prenoise=1e-3" : "");
    if (length < 0 || (size_t)length >= sizeof job->spec)
        return stair_fail(job->context, STAIR_BAD_INPUT, "MODEL is too long for a figure");
    STAIR_TRY(stair_model_create(job->context, job->spec, &job->model));
    job->info = stair_model_describe(job->model);
    return STAIR_OK;
}

static stair_status open_job(const figure_run *run, const figure_kind *kind, figure_job *job)
{
    *job = (figure_job){.request = run->request,
                        .context = run->request->context,
                        .kind = kind,
                        .quick = run->request->quick};
    STAIR_TRY(set_model(job));
    return kind->check ? kind->check(job) : STAIR_OK;
}

/* The exact command of one figure, and who ran it: first lines of the CSV, metadata of pictures. */
static void head_of(const figure_job *job, const figure_kind *kind, char *head, size_t size)
{
    const figure_request *r = job->request;
    bool given = r->model && kind->takes_model,
         plain = given && strspn(r->model, "abcdefghijklmnopqrstuvwxyz"
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:=,.+-_") == strlen(r->model);
    const char *quote = plain ? "" : "'";
    snprintf(head, size, "stair %s %s\nstair figure %s%s%s%s%s%s\n", STAIR_VERSION, stair_isa_name(),
             kind->name, given ? " " : "", given ? quote : "", given ? r->model : "", given ? quote : "",
             r->options ? r->options : "");
}

/* ---- before anything is computed --------------------------------------------------------------------- */

static stair_status unknown_figure(const figure_run *run)
{
    const char *names[64];
    int count = 0;
    for (const figure_kind *const *k = figure_kinds; *k && count < 60; k++) {
        if (run->request->model && !(*k)->takes_model && !strcmp((*k)->group, run->name))
            return stair_fail(run->request->context, STAIR_BAD_INPUT,
                              "%s has its own models: leave MODEL out", run->name);
        if (!count || strcmp(names[count - 1], (*k)->group) != 0) names[count++] = (*k)->group;
    }
    names[count++] = "all";
    names[count] = NULL;
    const char *near = stair_closest(run->name, names);
    if (near)
        return stair_fail(run->request->context, STAIR_BAD_INPUT, "unknown figure '%.80s'; did you mean %s?",
                          run->name, near);
    return stair_fail(run->request->context, STAIR_BAD_INPUT,
                      "unknown figure '%.80s'; stair figure --help lists them", run->name);
}

/* A figure that is resumed keeps its files: those that are of another request would be lost. */
static stair_status check_files(const figure_run *run, const figure_kind *kind)
{
    const figure_request *r = run->request;
    char path[PATH_MOST];
    for (int k = 0; k < FILES && !r->force && !r->resume; k++) {
        struct stat about;
        path_of(run, kind, kinds_of_file[k], path);
        if ((k != TEX || r->tex) && lstat(path, &about) == 0)
            return stair_fail(r->context, STAIR_BAD_INPUT, "%s exists; pass --force to replace it", path);
    }
    return STAIR_OK;
}

static stair_status check_all(figure_run *run)
{
    for (const figure_kind *const *k = figure_kinds; *k; k++) {
        figure_job job;
        if (!figure_is_asked(*k, run->request, run->name)) continue;
        stair_status status = open_job(run, *k, &job);
        if (status == STAIR_OK) run->parts += (*k)->parts(&job);
        close_job(&job);
        if (status == STAIR_OK) status = check_files(run, *k);
        if (status != STAIR_OK) return status;
        run->figures++;
    }
    return run->figures ? STAIR_OK : unknown_figure(run);
}

static stair_status make_folder(figure_run *run)
{
    const figure_request *r = run->request;
    struct stat about;
    if (mkdir(r->folder, 0777) == 0)
        run->made_folder = true;
    else if (errno != EEXIST)
        return stair_fail(r->context, STAIR_BAD_INPUT, "--out %s: %s", r->folder, strerror(errno));
    else if (stat(r->folder, &about) || !S_ISDIR(about.st_mode))
        return stair_fail(r->context, STAIR_BAD_INPUT, "--out %s: is not a folder", r->folder);
    char inside[PATH_MOST];
    snprintf(inside, sizeof inside, "%.4000s/", r->folder);
    stair_atomic_sweep(inside);
    return figure_work_open(r->context, r->folder, &run->work);
}

static void remove_folders(figure_run *run)
{
    figure_work_close(&run->work);
    if (run->made_folder) rmdir(run->request->folder); /* only where nothing is in it */
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

static stair_status compute_parts(figure_run *run, figure_job *job, const char *head, const char *state)
{
    const figure_request *r = run->request;
    int parts = job->kind->parts(job), begun = run->done;
    if (run->figures > 1) /* there is something to go on from: the figures before */
        STAIR_TRY(figure_table_write(job->context, job->table, head, state, true));
    for (int k = job->table->parts; k < parts; k++) {
        run->done = begun + k;
        if (r->stage) r->stage(r->user, job->kind->name, run->done, run->parts);
        STAIR_TRY(job->kind->compute(job, k));
        job->table->parts = k + 1;
        if (k + 1 < parts) STAIR_TRY(figure_table_write(job->context, job->table, head, state, true));
    }
    run->done = begun + parts;
    if (job->missed > 0) /* kept with the numbers, so that --resume tells of it too */
        return figure_table_mark(job->context, job->table, "missed", job->missed, 0, "");
    return STAIR_OK;
}

static double missed_by(const figure_table *table)
{
    for (int k = 0; k < table->marks; k++)
        if (!strcmp(table->mark[k].name, "missed")) return table->mark[k].value;
    return 0;
}

static stair_status new_table(figure_job *job)
{
    char names[2048] = "";
    job->kind->columns(job, names, sizeof names);
    return figure_table_create(job->context, names, &job->table);
}

/* Numbers that another figure of this run has as well; *table stays NULL where there is none. */
static stair_status borrow_numbers(const figure_run *run, figure_job *job)
{
    const figure_kind *other = job->kind->numbers_of;
    char head[2048], path[PATH_MOST];
    if (!other || !figure_is_asked(other, run->request, run->name)) return STAIR_OK;
    head_of(job, other, head, sizeof head);
    path_of(run, other, "csv", path);
    return figure_table_read(job->context, head, path, &job->table);
}

/* From NAME.csv where that is of the same request, from NAME.state where parts of it are, else afresh. */
static stair_status get_numbers(figure_run *run, figure_job *job, const char *head, figure_result *result)
{
    const figure_request *r = run->request;
    char path[PATH_MOST], state[PATH_MOST];
    struct stat about;
    path_of(run, job->kind, "csv", path);
    path_of(run, job->kind, "state", state);
    if (r->resume) STAIR_TRY(figure_table_read(job->context, head, path, &job->table));
    if (job->table) {
        result->kept = true;
        run->done += job->kind->parts(job);
        return STAIR_OK;
    }
    if (!r->force && lstat(path, &about) == 0)
        return stair_fail(job->context, STAIR_BAD_INPUT,
                          "%s is of another request; pass --force to replace it", path);
    if (r->resume) STAIR_TRY(figure_table_read(job->context, head, state, &job->table));
    if (!job->table) STAIR_TRY(borrow_numbers(run, job));
    if (!job->table) STAIR_TRY(new_table(job));
    STAIR_TRY(compute_parts(run, job, head, state));
    job->table->one_series = true;
    for (int row = 0; row < job->table->rows; row++)
        if (job->table->series[row][0]) job->table->one_series = false;
    STAIR_TRY(figure_table_write(job->context, job->table, head, path, r->force));
    unlink(state);
    return STAIR_OK;
}

/* ---- pictures ---------------------------------------------------------------------------------------- */

static stair_status open_work(figure_run *run, const char *file, FILE **out)
{
    char path[PATH_MOST];
    figure_work_path(&run->work, file, path);
    *out = fopen(path, "wb");
    if (*out) return STAIR_OK;
    return stair_fail(run->request->context, STAIR_FAILED, "%s: cannot be written: %s", path,
                      strerror(errno));
}

static stair_status close_work(figure_run *run, const char *file, FILE *out)
{
    bool good = !ferror(out);
    errno = 0;
    if (fclose(out) == 0 && good) return STAIR_OK;
    return stair_fail(run->request->context, STAIR_FAILED, "%s/%s: cannot be written: %s",
                      run->request->folder, file, errno ? strerror(errno) : "is the disk full?");
}

static stair_status write_inputs(figure_run *run, const figure_plot *plot)
{
    FILE *out;
    for (int k = 0; k < plot->curves; k++) {
        char name[32];
        snprintf(name, sizeof name, "curve%d.dat", k);
        STAIR_TRY(open_work(run, name, &out));
        figure_curve_write(plot, k, out);
        if (ftell(out) == 0) fputs("nan nan nan nan\n", out); /* gnuplot stops at an empty file */
        STAIR_TRY(close_work(run, name, out));
    }
    STAIR_TRY(open_work(run, "plot.gp", &out));
    figure_gnuplot_write(plot, &figure_measures[run->request->size], out);
    return close_work(run, "plot.gp", out);
}

static stair_status place_picture(figure_run *run, const figure_job *job, const char *kind, const char *head,
                                  const char *path)
{
    stair_context *context = job->context;
    stair_text data = {0};
    char source[PATH_MOST], name[32];
    snprintf(name, sizeof name, "plot.%s", kind);
    figure_work_path(&run->work, name, source);
    stair_status status = stair_text_read(context, source, &data);
    if (status != STAIR_OK || !figure_picture_is_whole(kind, data.data, data.size))
        status = stair_fail(context, STAIR_FAILED, "%s: gnuplot did not finish it; is the disk full?", path);
    stair_atomic_file out;
    if (status == STAIR_OK) status = stair_atomic_open(context, path, run->request->force, &out);
    if (status == STAIR_OK) {
        figure_picture_write(kind, data.data, data.size, job->kind->text, head, out.file);
        status = stair_atomic_commit(context, &out);
    }
    stair_text_free(&data);
    return status;
}

static stair_status place_tex(figure_run *run, const figure_plot *plot, const char *head, const char *path)
{
    stair_atomic_file out;
    STAIR_TRY(stair_atomic_open(run->request->context, path, run->request->force, &out));
    figure_pgfplots_write(plot, &figure_measures[run->request->size], head, out.file);
    return stair_atomic_commit(run->request->context, &out);
}

/* Without --force files that are there stay. */
static bool is_wanted(const figure_run *run, const figure_kind *kind, int file, char *path)
{
    struct stat about;
    path_of(run, kind, kinds_of_file[file], path);
    if (file == TEX && !run->request->tex) return false;
    return run->request->force || lstat(path, &about) != 0;
}

static stair_status draw(figure_run *run, figure_job *job, const char *head)
{
    char path[PATH_MOST], script[] = "plot.gp", quiet[] = "-d", self[] = "gnuplot";
    char *const argv[] = {self, quiet, script, NULL};
    bool any = false, pictures = false;
    for (int k = PDF; k < FILES; k++) {
        bool wanted = is_wanted(run, job->kind, k, path);
        any |= wanted;
        pictures |= wanted && k != TEX;
    }
    if (!any) return STAIR_OK;
    figure_plot *plot = calloc(1, sizeof *plot);
    if (!plot) return stair_fail(job->context, STAIR_NO_MEMORY, "out of memory");
    *plot = (figure_plot){.table = job->table, .x = {NAN, NAN}, .y = {NAN, NAN}, .key_columns = 4};
    stair_status status = job->kind->draw(job, plot);
    if (status == STAIR_OK && pictures) status = write_inputs(run, plot);
    if (status == STAIR_OK && pictures)
        status = figure_program_run(job->context, run->gnuplot, argv, run->work.path, "log");
    for (int k = PDF; k < FILES && status == STAIR_OK; k++)
        if (is_wanted(run, job->kind, k, path))
            status = k == TEX ? place_tex(run, plot, head, path)
                              : place_picture(run, job, kinds_of_file[k], head, path);
    figure_work_clean(&run->work);
    free(plot);
    return status;
}

static stair_status make_one(figure_run *run, const figure_kind *kind, figure_tell *tell, void *user)
{
    figure_job job;
    figure_result result = {.kind = kind};
    char head[2048];
    stair_status status = open_job(run, kind, &job);
    head_of(&job, kind, head, sizeof head);
    if (status == STAIR_OK) status = get_numbers(run, &job, head, &result);
    if (status == STAIR_OK) status = draw(run, &job, head);
    if (status == STAIR_OK) {
        snprintf(result.spec, sizeof result.spec, "%s", job.spec);
        result.rows = job.table->rows;
        result.missed = missed_by(job.table);
        result.table = job.table;
        run->missed = fmax(run->missed, result.missed);
        status = tell(user, &result);
    }
    close_job(&job);
    return status;
}

stair_status figures_make(const figure_request *request, const char *name, figure_tell *tell, void *user)
{
    figure_run run = {.request = request, .name = name};
    if (strlen(request->folder) > 3000)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--out: name too long");
    stair_status status = check_all(&run);
    if (status == STAIR_OK)
        status = figure_program_find(request->context, "gnuplot", "gnuplot-nox", &run.gnuplot);
    if (status == STAIR_OK) status = make_folder(&run);
    for (const figure_kind *const *k = figure_kinds; *k && status == STAIR_OK; k++)
        if (figure_is_asked(*k, request, name)) status = make_one(&run, *k, tell, user);
    remove_folders(&run);
    free(run.gnuplot);
    if (status == STAIR_OK && run.missed > 0)
        return stair_fail(request->context, STAIR_NOT_CONVERGED,
                          "drawn, but a number has an error of %.2g, above --precision; set --samples, or a "
                          "larger --precision",
                          run.missed);
    return status;
}
