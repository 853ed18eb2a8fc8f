/* From a request to files, by a library that answers at once and a gnuplot that copies ready pictures: what
 * is written and what is refused, how a figure is gone on with, what is told. */
#include "figure_stubs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <time.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "spawn.h"
#include "stamp.h"
#include "work.h"

/* mkdir as it is, or without success. */
static int mkdir_fails;
static mode_t mkdir_mode;

int mkdir(const char *path, mode_t mode)
{
    mkdir_mode = mode;
    if (!mkdir_fails) return mkdirat(AT_FDCWD, path, mode);
    errno = mkdir_fails;
    return -1;
}

/* Nothing here outlives a loss of power. */
int fsync(int fd)
{
    return fd < 0;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static const char *in(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    assert_true(snprintf(path, sizeof paths[0], "%.60s/%.400s", folder, name) < (int)sizeof paths[0]);
    return path;
}

static bool there(const char *name)
{
    struct stat about;
    return lstat(in(name), &about) == 0;
}

static char *text_of(const char *name)
{
    FILE *file = fopen(in(name), "rb");
    if (!file) fail_msg("no %s", name);
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size + 1 < 1 << 20);
    fclose(file);
    return text;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

/* What a pattern stands for, folders with what is in them. */
static void clear(const char *name)
{
    glob_t found;
    if (glob(in(name), 0, NULL, &found) == 0)
        for (size_t k = 0; k < found.gl_pathc; k++)
            assert_int_equal(nftw(found.gl_pathv[k], remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    globfree(&found);
}

static int count_in(const char *name)
{
    int count = -2;
    DIR *all = opendir(in(name));
    while (all && readdir(all)) count++;
    if (all) closedir(all);
    return count;
}

static void expect_same(const char *name, const char *wanted)
{
    char *text = text_of(name);
    if (strcmp(text, wanted) != 0) fail_msg("%s is:\n%s\nnot:\n%s", name, text, wanted);
    free(text);
}

static void expect_message(const char *part)
{
    if (!strstr(stair_context_message(context), part))
        fail_msg("'%s' is not in: %s", part, stair_context_message(context));
}

/* ---- what is made, and told --------------------------------------------------------------------------- */

static struct {
    int count, rows[32];
    char name[32][40], spec[32][512];
    bool kept[32];
    double missed[32];
} results;
static bool pictures_are_new; /* gnuplot ran for each result */
static stair_status tell_answers;

static void head_of(const figure_kind *kind, char head[1024])
{
    snprintf(head, 1024, "stair %s %s\nstair figure %s%s%s%s\n", STAIR_VERSION, stair_isa_name(), kind->name,
             request.model ? " " : "", request.model ? request.model : "",
             request.options ? request.options : "");
}

typedef struct {
    FILE *file;
    char *text;
    size_t size;
} memory_file;

static void open_memory(memory_file *m)
{
    m->file = open_memstream(&m->text, &m->size);
    assert_non_null(m->file);
}

/* gnuplot was given the plot of this table; the pictures carry the command. */
static void expect_pictures(const figure_result *result)
{
    static const char *const kinds[] = {"pdf", "svg", "png"};
    figure_job job = {.request = &request,
                      .context = context,
                      .kind = result->kind,
                      .quick = request.quick,
                      .table = (figure_table *)result->table};
    if (*result->spec) {
        job.model = model_of(result->spec);
        job.info = stair_model_describe(job.model);
    }
    figure_plot *plot = drawn(&job);
    char head[1024], name[64];
    memory_file m;
    head_of(result->kind, head);
    open_memory(&m);
    figure_gnuplot_write(plot, &figure_measures[request.size], m.file);
    fclose(m.file);
    expect_same("saw/plot.gp", m.text);
    free(m.text);
    for (int k = 0; k < plot->curves; k++) {
        open_memory(&m);
        figure_curve_write(plot, k, m.file);
        if (ftell(m.file) == 0) fputs("nan nan nan nan\n", m.file);
        fclose(m.file);
        snprintf(name, sizeof name, "saw/curve%d.dat", k);
        expect_same(name, m.text);
        free(m.text);
    }
    snprintf(name, sizeof name, "saw/curve%d.dat", plot->curves);
    assert_false(there(name));
    clear("saw/*");
    for (int k = 0; k < 3; k++) {
        char source[64], *data;
        snprintf(source, sizeof source, "tools/plot.%s", kinds[k]);
        FILE *file = fopen(in(source), "rb");
        data = calloc(1, 1024);
        size_t size = fread(data, 1, 1024, file);
        fclose(file);
        open_memory(&m);
        figure_picture_write(kinds[k], data, size, result->kind->text, head, m.file);
        fclose(m.file);
        snprintf(name, sizeof name, "out/%s.%s", result->kind->name, kinds[k]);
        file = fopen(in(name), "rb");
        assert_non_null(file);
        char *found = calloc(1, m.size + 2);
        assert_int_equal(fread(found, 1, m.size + 2, file), m.size);
        assert_memory_equal(found, m.text, m.size);
        fclose(file), free(found), free(data), free(m.text);
    }
    snprintf(name, sizeof name, "out/%s.tex", result->kind->name);
    if (request.tex) {
        open_memory(&m);
        figure_pgfplots_write(plot, &figure_measures[request.size], head, m.file);
        fclose(m.file);
        expect_same(name, m.text);
        free(m.text);
    } else
        assert_false(there(name));
    free(plot);
    stair_model_destroy(&job.model);
}

static stair_status remember(void *user, const figure_result *result)
{
    int k = results.count++;
    assert_true(user == &results && k < 32);
    snprintf(results.name[k], 40, "%s", result->kind->name);
    snprintf(results.spec[k], 512, "%s", result->spec);
    results.rows[k] = result->rows;
    results.kept[k] = result->kept;
    results.missed[k] = result->missed;
    assert_non_null(result->table);
    assert_int_equal(result->table->rows, result->rows);
    if (pictures_are_new) expect_pictures(result);
    return tell_answers;
}

/* Quick figures in the folder `out`. */
static void ask(const char *out)
{
    static char where[512];
    forget();
    snprintf(where, sizeof where, "%s", in(out));
    request = (figure_request){.context = context,
                               .folder = where,
                               .quick = true,
                               .how = stair_asymptotics_defaults(),
                               .options = " --quick"};
    request.how.seed = 77;
    tell_answers = STAIR_OK;
    pictures_are_new = false;
}

static stair_status make(const char *name)
{
    memset(&results, 0, sizeof results);
    stair_status status = figures_make(&request, name, remember, &results);
    assert_int_equal(alive, 0);
    return status;
}

static void expect_made(const char *name)
{
    stair_status status = make(name);
    if (status != STAIR_OK) fail_msg("%s: status %d, %s", name, status, stair_context_message(context));
}

static void expect_refused(const char *name, const char *part)
{
    assert_int_equal(make(name), STAIR_BAD_INPUT);
    expect_message(part);
    assert_int_equal(results.count, 0);
    assert_int_equal(calls, 0);
}

/* A gnuplot that copies ready pictures, and what it was given; or does what a test wants. */
static int open_tools(void **state)
{
    static const char script[] = "#!/bin/sh\n"
                                 "test \"$*\" = '-d plot.gp' || { echo \"words: $*\"; exit 9; }\n"
                                 "if read x; then echo \"input: $x\"; exit 8; fi\n"
                                 "cp plot.gp curve*.dat \"$STAIR_TEST/saw\"\n"
                                 "cp \"$STAIR_TEST\"/tools/plot.* .\n"
                                 "if test -e \"$STAIR_TEST/then\"; then . \"$STAIR_TEST/then\"; fi\n";
    static const char png[] = "\x89PNG\r\n\x1a\n0123456789abcdef012345678IDATxIEND1234";
    if (open_folder(state)) return 1;
    char path[4096];
    if (mkdirat(AT_FDCWD, in("tools"), 0777) || mkdirat(AT_FDCWD, in("saw"), 0777)) return 1;
    put("tools/gnuplot", script);
    put("tools/plot.png", png);
    put("tools/plot.svg", "<?xml?>\n<svg width=\"1\">\n<g/></svg>\n");
    put("tools/plot.pdf", "%PDF-1.5\n........................................................\n"
                          "trailer\n<< /Size 7 /Root 3 0 R >>\nstartxref\n99\n%%EOF\n");
    put("share/stair/questions.label", ""), put("share/stair/vocab.txt", "");
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", in("tools"));
    return chmod(in("tools/gnuplot"), 0755) || setenv("PATH", path, 1) || setenv("STAIR_TEST", folder, 1);
}

static int fresh(void **state)
{
    clear("out"), clear("then"), clear("saw/*");
    mkdir_fails = 0;
    amp_q = 0.5, bayes_q = 0.75;
    return usual(state);
}

/* ---- all figures --------------------------------------------------------------------------------------- */

static struct {
    int count;
    char name[512][40];
    int part[512], parts[512];
} stages;

/* Before each part those before it stand in NAME.state. */
static void note_stage(void *user, const char *name, int part, int parts)
{
    int k = stages.count++;
    assert_true(user == &stages && k < 512);
    snprintf(stages.name[k], 40, "%s", name);
    stages.part[k] = part;
    stages.parts[k] = parts;
    int own = 0;
    while (own < k && !strcmp(stages.name[k - own - 1], name)) own++;
    char state[64], head[1024];
    snprintf(state, sizeof state, "out/%s.state", name);
    bool several = parts > 60; /* of one figure there is nothing to go on from at first */
    assert_int_equal(there(state), own > 0 || several);
    if (!there(state)) return;
    for (const figure_kind *const *kind = figure_kinds; *kind; kind++) {
        figure_table *table = NULL;
        if (strcmp((*kind)->name, name) != 0) continue;
        head_of(*kind, head);
        assert_int_equal(figure_table_read(context, head, in(state), &table), STAIR_OK);
        assert_non_null(table);
        assert_int_equal(table->parts, own);
        figure_table_destroy(&table);
    }
}

static int parts_of(const figure_kind *kind)
{
    figure_job job = {.request = &request, .context = context, .kind = kind, .quick = request.quick};
    return kind->parts(&job);
}

static void all_figures_are_made(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        ask("out");
        request.quick = !full, request.tex = full, request.size = full ? FIGURE_SLIDE : FIGURE_PAGE;
        request.options = full ? " --tex" : " --quick";
        request.force = full;
        request.stage = note_stage, request.user = &stages;
        memset(&stages, 0, sizeof stages);
        pictures_are_new = true;
        expect_made("all");
        int kinds = 0, parts = 0, stage = 0, all = 0;
        for (; figure_kinds[kinds]; kinds++) all += parts_of(figure_kinds[kinds]);
        assert_int_equal(results.count, kinds);
        for (int k = 0; k < kinds; k++) {
            const figure_kind *kind = figure_kinds[k];
            char name[64];
            assert_string_equal(results.name[k], kind->name);
            assert_true(!results.kept[k] && results.missed[k] == 0 && results.rows[k] > 0);
            if (!kind->model)
                assert_string_equal(results.spec[k], "");
            else
                assert_true(
                    !strncmp(results.spec[k], kind->model, strlen(kind->model)) &&
                    !strcmp(results.spec[k] + strlen(kind->model), kind->prenoise ? ",prenoise=1e-3" : ""));
            for (int part = 0; part < parts_of(kind) && !kind->numbers_of; part++, stage++) {
                assert_string_equal(stages.name[stage], kind->name);
                assert_int_equal(stages.part[stage], parts + part);
                assert_int_equal(stages.parts[stage], all);
            }
            parts += parts_of(kind);
            snprintf(name, sizeof name, "out/%s.state", kind->name);
            assert_false(there(name));
        }
        assert_int_equal(stages.count, stage); /* numbers of another figure are not computed again */
        assert_int_equal(count_in("out"), kinds * (4 + full));
    }
    char *lines = text_of("out/fig1-right.csv"), *same_lines = text_of("out/phase-diagram.csv");
    char head[256];
    snprintf(head, sizeof head, "# stair %s %s\n# stair figure fig1-right --tex\n# parts 21 rows 21\nskip,",
             STAIR_VERSION, stair_isa_name());
    assert_memory_equal(lines, head, strlen(head));
    assert_string_equal(strstr(lines, "\nskip,"), strstr(same_lines, "\nskip,"));
    free(lines), free(same_lines);
    lines = text_of("out/thresholds.csv");
    assert_non_null(strstr(lines, "\nseries,tokens,layers,alpha1,alpha1_error,bound\nlayers1,2,1,"));
    free(lines);
}

/* Where the other figure is not asked for its numbers are computed, its file there or not. */
static void numbers_of_another_figure(void **state)
{
    (void)state;
    ask("out");
    expect_made("fig1-right");
    forget();
    expect_made("phase-diagram");
    assert_int_equal(calls, 9);
    clear("out/phase-diagram.*");
    forget();
    request.force = true;
    expect_made("all");
    int thresholds = 0;
    for (int k = 0; k < calls; k++)
        thresholds += !strcmp(asked[k].of, "threshold") && strstr(asked[k].spec, "layers=2,tokens=2") &&
                      asked[k].steps == 7;
    assert_int_equal(thresholds, 18); /* with prenoise and without */
}

static void variants_of_a_figure(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *model, *made[10];
    } cases[] = {
        {"fig5", NULL, {"fig5", "fig5-prenoise"}},
        {"fig5-prenoise", NULL, {"fig5-prenoise"}},
        {"staircase-curve", NULL, {"staircase"}},
        {"fig2-top", "attention:layers=1,prenoise=1e-2", {"fig2-top"}},
        {"fig2-top", "attention:layers=1", {"fig2-top", "fig2-top-prenoise"}},
        {"all",
         "attention",
         {"staircase", "fig1-left", "fig1-left-prenoise", "fig2-top", "fig2-top-prenoise", "fig2-bottom",
          "fig3-left", "fig3-left-prenoise"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ask("out");
        request.model = cases[c].model;
        request.force = true;
        pictures_are_new = true;
        expect_made(cases[c].asked);
        for (int k = 0; k < results.count; k++) {
            assert_non_null(cases[c].made[k]);
            assert_string_equal(results.name[k], cases[c].made[k]);
            if (!cases[c].model) continue;
            bool noisy = strstr(results.name[k], "-prenoise") != NULL;
            char spec[64];
            snprintf(spec, sizeof spec, "%s%s%s", cases[c].model,
                     !noisy                        ? ""
                     : strchr(cases[c].model, ':') ? ","
                                                   : ":",
                     noisy ? "prenoise=1e-3" : "");
            assert_string_equal(results.spec[k], spec);
        }
        assert_null(cases[c].made[results.count]);
    }
    for (const figure_kind *const *k = figure_kinds; *k; k++) {
        assert_int_equal((*k)->takes_data, !strcmp((*k)->name, "fig3-right"));
        assert_int_equal((*k)->prenoise, strstr((*k)->name, "-prenoise") != NULL);
        assert_memory_equal((*k)->name, (*k)->group, strlen((*k)->group));
        assert_true(*(*k)->text && (!(*k)->takes_model || (*k)->model));
    }
}

/* A shell would read other signs. */
static void commands_are_quoted(void **state)
{
    (void)state;
    ask("out");
    request.model = "expr:z1*z1 + 0.5*z1,noise=0.1";
    expect_made("staircase");
    char *lines = text_of("out/staircase.csv"), line[256];
    snprintf(line, sizeof line, "\n# stair figure staircase '%s' --quick\n", request.model);
    assert_non_null(strstr(lines, line));
    free(lines);
    request.options = NULL;
    request.force = true;
    request.model = "attention:layers=1";
    expect_made("staircase");
    lines = text_of("out/staircase.csv");
    assert_non_null(strstr(lines, "\n# stair figure staircase attention:layers=1\n"));
    free(lines);
}

/* ---- refused before anything is computed --------------------------------------------------------------- */

static void unknown_figures(void **state)
{
    (void)state;
    ask("out");
    expect_refused("fig1-lft", "unknown figure 'fig1-lft'; did you mean fig1-left?");
    expect_refused("alll", "did you mean all?");
    expect_refused("finite-sizes", "did you mean finite-size?");
    expect_refused("xyzzy-quux", "unknown figure 'xyzzy-quux'; stair figure --help lists them");
    request.model = "attention";
    expect_refused("fig1-right", "fig1-right has its own models: leave MODEL out");
    expect_refused("thresholds", "thresholds has its own models: leave MODEL out");
    expect_refused("fig1-lft", "did you mean fig1-left?");
    assert_false(there("out"));
}

static void unknown_models(void **state)
{
    (void)state;
    static char spec[600];
    ask("out");
    request.model = "attentoin";
    expect_refused("staircase", "attentoin");
    memset(spec, ' ', sizeof spec);
    memcpy(spec, "expr:", 5);
    memcpy(spec + 500, "z1,noise=0.1", 13);
    request.model = spec;
    expect_refused("staircase", "MODEL is too long for a figure");
    assert_false(there("out"));
    memcpy(spec + 499, "z1,noise=0.1", 13);
    expect_made("staircase");
    assert_string_equal(results.spec[0], spec);
}

static void folders_that_are_none(void **state)
{
    (void)state;
    static char name[4000];
    ask("out");
    put("out", "");
    expect_refused("fig5", "is not a folder");
    request.folder = in("none/of/these");
    expect_refused("fig5", "No such file or directory");
    request.folder = "/proc";
    expect_refused("fig5", "--out /proc: cannot be written: ");
    memset(name, 'x', sizeof name);
    request.folder = name;
    name[3001] = 0;
    expect_refused("fig5", "--out: name too long");
    name[3000] = 0;
    assert_int_equal(make("fig5"), STAIR_BAD_INPUT);
    assert_null(strstr(stair_context_message(context), "name too long"));
    clear("out");
}

/* Each file that would be lost; LaTeX only where it is asked for. */
static void files_that_are_there(void **state)
{
    (void)state;
    static const char *const kinds[] = {"csv", "pdf", "svg", "png", "tex"};
    for (int k = 0; k < 5; k++) {
        char name[64], part[128];
        ask("out");
        assert_int_equal(mkdirat(AT_FDCWD, in("out"), 0777), 0);
        snprintf(name, sizeof name, "out/thresholds.%s", kinds[k]);
        put(name, "mine");
        request.tex = true;
        snprintf(part, sizeof part, "thresholds.%s exists; pass --force to replace it", kinds[k]);
        expect_refused("thresholds", part);
        expect_same(name, "mine");
        assert_int_equal(count_in("out"), 1);
        request.tex = false;
        if (k < 4)
            expect_refused("thresholds", part);
        else
            expect_made("thresholds");
        if (k == 4) expect_same(name, "mine");
        request.force = request.tex = true;
        pictures_are_new = true;
        forget();
        expect_made("thresholds");
        assert_int_equal(calls, 16);
        clear("out");
    }
}

/* ---- interrupted, and gone on with ----------------------------------------------------------------------
 */

static void figures_are_gone_on_with(void **state)
{
    (void)state;
    ask("out");
    expect_made("fig5");
    char *first = text_of("out/fig5.csv"), *second = text_of("out/fig5-prenoise.csv");
    int of_both = calls, of_first = 0;
    while (!strstr(asked[of_first].spec, "prenoise=1e-3")) of_first++;
    clear("out");
    for (int when = 0; when < of_both; when += 9) {
        forget();
        request.resume = false;
        answers[when] = STAIR_FAILED;
        assert_int_equal(make("fig5"), STAIR_FAILED);
        assert_int_equal(calls, when + 1);
        assert_int_equal(results.count, when >= of_first);
        assert_true(there(when >= of_first ? "out/fig5-prenoise.state" : "out/fig5.state"));
        assert_int_equal(there("out/fig5.csv"), when >= of_first);
        forget();
        request.resume = true;
        expect_made("fig5");
        assert_true(calls > 0 && calls < of_both - when + 12); /* the part that was cut off, and the rest */
        assert_true(results.kept[0] == (when >= of_first) && !results.kept[1]);
        expect_same("out/fig5.csv", first);
        expect_same("out/fig5-prenoise.csv", second);
        assert_int_equal(count_in("out"), 8);
        clear("out");
    }
    free(first), free(second);
}

/* The table that is kept is drawn again where a picture is missing, and only that is replaced. */
static void kept_numbers_are_drawn(void **state)
{
    (void)state;
    ask("out");
    expect_made("thresholds");
    char *numbers = text_of("out/thresholds.csv");
    put("out/thresholds.svg", "mine");
    clear("out/thresholds.pdf"), clear("saw/*");
    forget();
    request.resume = true;
    request.stage = note_stage, request.user = &stages;
    stages.count = 0;
    expect_made("thresholds");
    assert_true(results.kept[0] && results.rows[0] == 16 && calls == 0 && stages.count == 0);
    assert_true(there("out/thresholds.pdf") && there("saw/plot.gp"));
    expect_same("out/thresholds.svg", "mine");
    expect_same("out/thresholds.csv", numbers);
    clear("saw/*");
    request.tex = true;
    expect_made("thresholds"); /* gnuplot is not needed for that */
    assert_true(there("out/thresholds.tex") && !there("saw/plot.gp"));
    clear("out/thresholds.tex");
    request.tex = false;
    expect_made("thresholds");
    assert_true(!there("out/thresholds.tex") && !there("saw/plot.gp"));
    request.force = pictures_are_new = true;
    expect_made("thresholds"); /* kept, and all pictures new */
    assert_true(results.kept[0] && calls == 0);
    free(numbers);
}

/* Of another request: not gone on with, and not lost. */
static void numbers_of_another_request(void **state)
{
    (void)state;
    ask("out");
    expect_made("thresholds");
    char *numbers = text_of("out/thresholds.csv");
    forget();
    request.resume = true;
    request.options = " --quick --seed 2";
    expect_refused("thresholds", "thresholds.csv is of another request; pass --force to replace it");
    expect_same("out/thresholds.csv", numbers);
    request.force = true;
    expect_made("thresholds");
    assert_true(!results.kept[0] && calls == 16);
    clear("out/thresholds.csv");
    answers[3] = STAIR_FAILED;
    forget();
    answers[3] = STAIR_FAILED;
    assert_int_equal(make("thresholds"), STAIR_FAILED);
    assert_true(there("out/thresholds.state"));
    forget();
    request.options = " --quick --seed 3";
    expect_made("thresholds");
    assert_int_equal(calls, 16);
    assert_false(there("out/thresholds.state"));
    free(numbers);
}

static void note_first(void *user, const char *name, int part, int parts)
{
    assert_true(user == &stages);
    if (stages.count++) return;
    snprintf(stages.name[0], 40, "%s", name);
    stages.part[0] = part;
    stages.parts[0] = parts;
}

/* Progress counts what is kept: a figure, and parts of the next. */
static void progress_counts_what_is_kept(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        figure_table *table;
        char head[1024];
        ask("out");
        expect_made("fig5");
        int second = 0;
        while (!strstr(asked[second].spec, "prenoise=1e-3")) second++;
        clear("out");
        forget();
        answers[more ? second + 40 : 40] = STAIR_FAILED; /* somewhere in it */
        assert_int_equal(make("fig5"), STAIR_FAILED);
        const figure_kind *kind = kind_of(more ? "fig5-prenoise" : "fig5");
        head_of(kind, head);
        assert_int_equal(
            figure_table_read(context, head, in(more ? "out/fig5-prenoise.state" : "out/fig5.state"), &table),
            STAIR_OK);
        int done = table->parts;
        figure_table_destroy(&table);
        assert_true(done > 2 && done < 12);
        forget();
        request.resume = true;
        request.stage = note_first, request.user = &stages;
        memset(&stages, 0, sizeof stages);
        expect_made("fig5");
        assert_string_equal(stages.name[0], kind->name);
        assert_true(stages.part[0] == 13 * more + done && stages.parts[0] == 26);
        assert_int_equal(stages.count, more ? 13 - done : 26 - done);
        assert_true(results.kept[0] == more && !results.kept[1]);
        clear("out");
    }
}

/* ---- what is told of a precision that is missed ----------------------------------------------------------
 */

static void missed_precision_is_told(void **state)
{
    (void)state;
    ask("out");
    answers[2] = answers[5] = STAIR_NOT_CONVERGED;
    assert_int_equal(make("thresholds"), STAIR_NOT_CONVERGED);
    expect_message("drawn, but a number has an error of 0.016, above --precision");
    assert_true(results.count == 1 && results.missed[0] == 0.004 / 0.25);
    char *lines = text_of("out/thresholds.csv");
    assert_non_null(strstr(lines, "# mark,missed,0.016,0,\n"));
    free(lines);
    assert_true(there("out/thresholds.pdf"));
    request.resume = true;
    forget();
    assert_int_equal(make("thresholds"), STAIR_NOT_CONVERGED);
    expect_message("an error of 0.016");
    assert_true(results.kept[0] && results.missed[0] == 0.016 && calls == 0);
    request.resume = false, request.force = true;
    expect_made("thresholds");
    assert_true(results.missed[0] == 0);
}

static void answers_of_the_caller(void **state)
{
    (void)state;
    ask("out");
    tell_answers = STAIR_BAD_INPUT;
    assert_int_equal(make("fig5"), STAIR_BAD_INPUT);
    assert_int_equal(results.count, 1);
    assert_int_equal(count_in("out"), 4);
}

/* ---- gnuplot ------------------------------------------------------------------------------------------- */

static void gnuplot_that_fails(void **state)
{
    (void)state;
    static const struct {
        const char *then, *message;
    } cases[] = {
        {"echo first\necho the last >&2\necho\nexit 3\n", "tools/gnuplot failed: the last"},
        {"exit 1\n", "tools/gnuplot failed"},
        {"kill -9 $$\n", "tools/gnuplot was killed by signal 9"},
        {"rm plot.svg\n", "out/thresholds.svg: gnuplot did not finish it"},
        {"echo x >> plot.png\n", "out/thresholds.png: gnuplot did not finish it"},
        {"echo x > plot.pdf\n", "out/thresholds.pdf: gnuplot did not finish it"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ask("out");
        put("then", cases[k].then);
        assert_int_equal(make("thresholds"), STAIR_FAILED);
        expect_message(cases[k].message);
        assert_int_equal(results.count, 0);
        assert_true(there("out/thresholds.csv") && !there("out/thresholds.png"));
        assert_int_equal(there("out/thresholds.pdf"), k == 3 || k == 4);
        assert_int_equal(count_in("out"), 1 + (k == 3) + 2 * (k == 4)); /* no folder of work is left */
        clear("out");
    }
    assert_int_equal(alive, 0);
}

static void no_gnuplot(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", in("bin"), 1);
    ask("out");
    stair_status status = make("fig5");
    setenv("PATH", path, 1);
    assert_int_equal(status, STAIR_FAILED);
    expect_message("gnuplot is needed to draw and is not in PATH; install it (apt-get install gnuplot-nox)");
    assert_true(!there("out") && calls == 0);
}

/* A folder that was made for figures and stays empty goes; one that was there stays. */
static void empty_folders_go(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        ask("out");
        if (k) assert_int_equal(mkdirat(AT_FDCWD, in("out"), 0777), 0);
        answers[0] = STAIR_FAILED;
        assert_int_equal(make("fig5-prenoise"), STAIR_FAILED);
        assert_int_equal(there("out"), k);
    }
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static void program_file(const char *name, const char *text)
{
    put(name, text);
    assert_int_equal(chmod(in(name), 0755), 0);
}

static void expect_found(const char *path, const char *wanted)
{
    char *found = NULL, before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    if (path)
        setenv("PATH", path, 1);
    else
        unsetenv("PATH");
    stair_status status = figure_program_find(context, path ? "a-program" : "sh", "a-package", &found);
    setenv("PATH", before, 1);
    assert_int_equal(status, wanted ? STAIR_OK : STAIR_FAILED);
    if (!wanted) {
        assert_null(found);
        expect_message(
            "a-program is needed to draw and is not in PATH; install it (apt-get install a-package)");
        return;
    }
    char *real = realpath(wanted, NULL);
    assert_string_equal(found, real);
    free(found), free(real);
}

/* The first file of that name that can be run; a part of PATH without text is the folder one is in. */
static void programs_are_found(void **state)
{
    (void)state;
    char path[2048], before[4096];
    assert_non_null(getcwd(before, sizeof before));
    program_file("bin/a-program", "");
    put("data/a-program", ""); /* cannot be run */
    assert_int_equal(mkdirat(AT_FDCWD, in("share/a-program"), 0777), 0);
    snprintf(path, sizeof path, "%s:%s:%s:%s", in("none"), in("data"), in("share"), in("bin"));
    expect_found(path, in("bin/a-program"));
    snprintf(path, sizeof path, "%s:%s", in("bin"), in("share"));
    expect_found(path, in("bin/a-program"));
    snprintf(path, sizeof path, "%s:%s", in("data"), in("share"));
    expect_found(path, NULL);
    expect_found("", NULL);
    expect_found(NULL, "/bin/sh");
    assert_int_equal(chdir(in("bin")), 0);
    snprintf(path, sizeof path, "%s::%s", in("data"), in("share"));
    expect_found(path, in("bin/a-program"));
    assert_int_equal(chdir(before), 0);
    clear("share/a-program"), clear("bin/a-program"), clear("data/a-program");
}

static stair_status run_text(const char *text)
{
    static char self[] = "a-program", word[] = "two words";
    char *const argv[] = {self, word, NULL};
    char path[512], where[512];
    program_file("bin/a-program", text);
    snprintf(path, sizeof path, "%s", in("bin/a-program"));
    snprintf(where, sizeof where, "%s", in("data"));
    return figure_program_run(context, path, argv, where, "a-log");
}

static void programs_are_run(void **state)
{
    (void)state;
    char wanted[600], *real = realpath(in("data"), NULL);
    assert_int_equal(run_text("#!/bin/sh\npwd -P\necho \"$# $1\"\ncat\necho to two >&2\n"), STAIR_OK);
    snprintf(wanted, sizeof wanted, "%s\n1 two words\nto two\n", real);
    expect_same("data/a-log", wanted);
    struct stat about;
    assert_int_equal(stat(in("data/a-log"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(run_text("#!/bin/sh\nexit 0\n"), STAIR_OK);
    expect_same("data/a-log", ""); /* what was there is gone */
    assert_int_equal(run_text("#!/bin/sh\nexit 1\n"), STAIR_FAILED);
    snprintf(wanted, sizeof wanted, "%s failed", in("bin/a-program"));
    assert_string_equal(stair_context_message(context), wanted);
    assert_int_equal(run_text("#!/no/such/program\n"), STAIR_FAILED);
    signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN); /* not for the program */
    assert_int_equal(run_text("#!/bin/sh\nkill -INT $$\n"), STAIR_FAILED);
    expect_message("was killed by signal 2");
    assert_int_equal(run_text("#!/bin/sh\nkill -HUP $$\n"), STAIR_FAILED);
    expect_message("was killed by signal 1");
    assert_int_equal(run_text("#!/bin/sh\nkill -TERM $$\n"), STAIR_FAILED);
    expect_message("was killed by signal 15");
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
    char *const argv[] = {real, NULL};
    assert_int_equal(figure_program_run(context, in("bin/a-program"), argv, in("none"), "a-log"),
                     STAIR_FAILED);
    assert_int_equal(figure_program_run(context, in("bin/a-program"), argv, in("data"), "no/log"),
                     STAIR_FAILED);
    int input = dup(0); /* nothing is read where nothing can be, either */
    close(0);
    stair_status status = run_text("#!/bin/sh\ncat\necho said\n");
    if (input >= 0) dup2(input, 0), close(input);
    assert_int_equal(status, STAIR_OK);
    expect_same("data/a-log", "said\n");
    free(real);
    clear("bin/a-program"), clear("data/a-log");
}

static int asked_to_stop, strange;

static bool go_on(void *user, double done, double all)
{
    (void)user;
    strange += done != 0 || all != 1; /* how far it is nobody knows */
    return !asked_to_stop;
}

static void nothing(int number)
{
    (void)number;
}

/* A signal that comes while one waits changes nothing, unless one is to stop: then the program is, too. */
static void programs_are_interrupted(void **state)
{
    (void)state;
    struct sigaction act = {.sa_handler = nothing}, before; /* waiting is not gone on with by itself */
    sigaction(SIGALRM, &act, &before);
    stair_context_set_progress(context, (stair_progress *)go_on, NULL);
    for (asked_to_stop = 0; asked_to_stop < 2; asked_to_stop++) {
        struct itimerval soon = {.it_value = {.tv_usec = 50000}}, never_more = {0};
        struct timeval start, end;
        setitimer(ITIMER_REAL, &soon, NULL);
        gettimeofday(&start, NULL);
        stair_status status =
            run_text(asked_to_stop ? "#!/bin/sh\nexec sleep 4\n" : "#!/bin/sh\nexec sleep 0.2\n");
        gettimeofday(&end, NULL);
        setitimer(ITIMER_REAL, &never_more, NULL);
        double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_usec - start.tv_usec);
        assert_int_equal(status, asked_to_stop ? STAIR_FAILED : STAIR_OK);
        if (asked_to_stop) expect_message("interrupted");
        assert_true(asked_to_stop ? seconds < 3 : seconds > 0.19);
    }
    stair_context_set_progress(context, NULL, NULL);
    assert_int_equal(strange, 0);
    sigaction(SIGALRM, &before, NULL);
    clear("bin/a-program"), clear("data/a-log");
}

/* ---- folders of work ------------------------------------------------------------------------------------
 */

static void left_folder(const char *name, const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "out/%s", name);
    assert_int_equal(mkdirat(AT_FDCWD, in(path), 0777), 0);
    if (!file) return;
    snprintf(path, sizeof path, "out/%s/%s", name, file);
    put(path, "");
}

/* Those of processes that are gone, unless somebody holds them; of them files of known names alone. */
static void folders_of_work_that_were_left(void **state)
{
    (void)state;
    static const char *const names[] = {"plot.gp", "plot.pdf", "plot.svg", "plot.png", "log"};
    char name[128];
    assert_int_equal(mkdirat(AT_FDCWD, in("out"), 0777), 0);
    left_folder(".stair-figure-4194999-0", NULL); /* beyond the largest process */
    for (int k = 0; k < 64 + 5; k++) {
        if (k < 64)
            snprintf(name, sizeof name, "out/.stair-figure-4194999-0/curve%d.dat", k);
        else
            snprintf(name, sizeof name, "out/.stair-figure-4194999-0/%s", names[k - 64]);
        put(name, "");
    }
    left_folder(".stair-figure-4194998-12", NULL);
    left_folder(".stair-figure-4194997-1", "curve64.dat"); /* not ours: the folder stays */
    put("out/.stair-figure-4194997-1/log", "");
    left_folder(".stair-figure-4194996-1", "log"); /* held */
    left_folder(".stair-figure-4194995", "log");
    left_folder(".stair-figure-4194994-1x", "log");
    left_folder(".stair-figure--4194993-1", "log");
    left_folder(".stair-figure-0-1", "log");
    left_folder("stair-figure-4194992-1", "log");
    put("out/.stair-figure-4194991-1", "");
    int fd = open(in("out/.stair-figure-4194996-1"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    figure_work work;
    errno = ESRCH; /* of an earlier call */
    assert_int_equal(figure_work_open(context, in("out"), &work), STAIR_OK);
    assert_true(!there("out/.stair-figure-4194999-0") && !there("out/.stair-figure-4194998-12"));
    assert_int_equal(count_in("out/.stair-figure-4194997-1"), 1);
    assert_true(there("out/.stair-figure-4194997-1/curve64.dat"));
    assert_true(there("out/.stair-figure-4194996-1/log") && there("out/.stair-figure-4194995/log"));
    assert_true(there("out/.stair-figure-4194994-1x/log") && there("out/.stair-figure--4194993-1/log"));
    assert_true(there("out/.stair-figure-0-1/log") && there("out/stair-figure-4194992-1/log"));
    assert_true(there("out/.stair-figure-4194991-1"));
    close(fd);
    figure_work_close(&work);
}

/* One of a process that is at work stays, whatever failed before; the process is left alone. */
static void folders_at_work(void **state)
{
    (void)state;
    char name[128];
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    assert_int_equal(mkdirat(AT_FDCWD, in("out"), 0777), 0);
    snprintf(name, sizeof name, ".stair-figure-%ld-7", (long)child);
    left_folder(name, "log");
    figure_work work;
    errno = ESRCH;
    assert_int_equal(figure_work_open(context, in("out"), &work), STAIR_OK);
    snprintf(name, sizeof name, "out/.stair-figure-%ld-7/log", (long)child);
    assert_true(there(name));
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* what a signal does is not done at once */
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    figure_work_close(&work);
}

/* Each has a name of its own, is nobody else's to read, and is locked while it is there. */
static void folders_of_work(void **state)
{
    (void)state;
    figure_work work[3];
    char name[128], path[FIGURE_PATH_MOST];
    assert_int_equal(mkdirat(AT_FDCWD, in("out"), 0777), 0);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(figure_work_open(context, in("out"), &work[k]), STAIR_OK);
        assert_int_equal(mkdir_mode, 0700);
        snprintf(name, sizeof name, "out/.stair-figure-%ld-%d", (long)getpid(), k);
        assert_string_equal(work[k].path, in(name));
        int fd = open(work[k].path, O_RDONLY | O_DIRECTORY);
        assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0);
        close(fd);
    }
    figure_work_path(&work[1], "plot.pdf", path);
    snprintf(name, sizeof name, "out/.stair-figure-%ld-1/plot.pdf", (long)getpid());
    assert_string_equal(path, in(name));
    fclose(fopen(path, "w"));
    figure_work_clean(&work[1]);
    assert_true(!there(name) && count_in("out") == 3);
    for (int k = 0; k < 3; k++) figure_work_close(&work[k]), figure_work_close(&work[k]);
    assert_int_equal(count_in("out"), 0);
    put("out/log", "mine");
    work[0].lock = open(in("out"), O_RDONLY | O_DIRECTORY);
    figure_work_clean(&work[0]), figure_work_close(&work[0]); /* of no folder: nothing done */
    expect_same("out/log", "mine");
    assert_int_equal(close(work[0].lock), 0);
    static const struct {
        int reason;
        stair_status status;
    } cases[] = {
        {ENOSPC, STAIR_FAILED}, {EDQUOT, STAIR_FAILED}, {EIO, STAIR_FAILED}, {EROFS, STAIR_BAD_INPUT}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mkdir_fails = cases[k].reason;
        assert_int_equal(figure_work_open(context, in("out"), &work[0]), cases[k].status);
        expect_message("/out: cannot be written: ");
        expect_message(strerror(cases[k].reason));
        assert_int_equal(work[0].path[0], 0);
    }
    mkdir_fails = EEXIST; /* always taken: not tried for ever */
    assert_int_equal(figure_work_open(context, in("out"), &work[0]), STAIR_BAD_INPUT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_figures_are_made, fresh),
        cmocka_unit_test_setup(numbers_of_another_figure, fresh),
        cmocka_unit_test_setup(variants_of_a_figure, fresh),
        cmocka_unit_test_setup(commands_are_quoted, fresh),
        cmocka_unit_test_setup(unknown_figures, fresh),
        cmocka_unit_test_setup(unknown_models, fresh),
        cmocka_unit_test_setup(folders_that_are_none, fresh),
        cmocka_unit_test_setup(files_that_are_there, fresh),
        cmocka_unit_test_setup(figures_are_gone_on_with, fresh),
        cmocka_unit_test_setup(kept_numbers_are_drawn, fresh),
        cmocka_unit_test_setup(numbers_of_another_request, fresh),
        cmocka_unit_test_setup(progress_counts_what_is_kept, fresh),
        cmocka_unit_test_setup(missed_precision_is_told, fresh),
        cmocka_unit_test_setup(answers_of_the_caller, fresh),
        cmocka_unit_test_setup(gnuplot_that_fails, fresh),
        cmocka_unit_test_setup(no_gnuplot, fresh),
        cmocka_unit_test_setup(empty_folders_go, fresh),
        cmocka_unit_test_setup(programs_are_found, fresh),
        cmocka_unit_test_setup(programs_are_run, fresh),
        cmocka_unit_test_setup(programs_are_interrupted, fresh),
        cmocka_unit_test_setup(folders_of_work_that_were_left, fresh),
        cmocka_unit_test_setup(folders_at_work, fresh),
        cmocka_unit_test_setup(folders_of_work, fresh),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_tools, close_folder);
}
