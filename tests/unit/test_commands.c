/* The table of commands, and those that one of several ranks does alone; stair bench in every format, with
 * what a benchmark found put in by the test, and its exit code where one is missed. */
#include "run_program.h"

#include <math.h>
#include <sys/wait.h>

#include "bench.h"
#include "command.h"
#include "core/context.h"
#include "figure.h"
#include "thread_ranks.h"

static size_t asked_points;
static int asked_capacity, asked_curves = -1;
static bool all_pass;
static char figure_asked[512];
static stair_status ends = STAIR_OK;

stair_status stair_bench_channel(stair_context *context, size_t points, int capacity, stair_bench_row *rows,
                                 int *count)
{
    (void)context;
    asked_points = points;
    asked_capacity = capacity;
    rows[0] = (stair_bench_row){.model = "first",
                                .cov_low = 1e-6,
                                .cov_high = 0.125,
                                .precision = 1e-8,
                                .points = points,
                                .worst_error = 1.23456e-9,
                                .nodes = 1123.456,
                                .cost = 6000.4,
                                .needed = 4000.4,
                                .limit = 7000.6,
                                .passed = true};
    rows[1] = rows[0];
    rows[1].passed = all_pass;
    rows[2] = rows[1];
    snprintf(rows[2].model, sizeof rows[2].model, "%s", "third");
    *count = 3;
    return ends == STAIR_OK ? ends : stair_fail(context, ends, "the channel ended so");
}

stair_status stair_bench_staircase(stair_context *context, bool curves, int capacity,
                                   stair_staircase_row *rows, int *count)
{
    (void)context;
    asked_curves = curves;
    asked_capacity = capacity;
    rows[0] = (stair_staircase_row){.model = "a model",
                                    .precision = 0.0123456,
                                    .error = 0.00123456,
                                    .steps = 3,
                                    .seconds = 12.3456,
                                    .limit = 20.46,
                                    .passed = all_pass};
    *count = 1;
    return ends == STAIR_OK ? ends : stair_fail(context, ends, "the staircase ended so");
}

stair_status stair_bench_amp(stair_context *context, int capacity, stair_amp_row *rows, int *count)
{
    (void)context;
    asked_capacity = capacity;
    rows[0] = (stair_amp_row){.what = "one pass",
                              .dim = 1000,
                              .samples = 4000,
                              .iterations = 5,
                              .seconds = 1.23456,
                              .pass = 2.34567,
                              .draw = 3.45678,
                              .channel = 4.56789,
                              .rest = 5.67891,
                              .value = 6.78912,
                              .unit = "GB at most",
                              .limit = 7.89123,
                              .error = 8.91234e-7,
                              .passed = all_pass};
    *count = 1;
    return ends == STAIR_OK ? ends : stair_fail(context, ends, "amp ended so");
}

/* Two figures, or the staircase of a model: what is told of them, before which parts are called. */
stair_status figures_make(const figure_request *request, const char *name, figure_tell *told, void *user)
{
    static figure_kind first = {.name = "one-name-of-forty-characters-at-the-most", .text = "what it shows"},
                       second = {.name = "two", .text = ""};
    static figure_table steps = {.marks = 6,
                                 .mark = {{"weak", 0.123456789, 0.000123456, "1"},
                                          {"missed", 9, 9, "9"},
                                          {"weak", 1.5, 0.25, "2 3"},
                                          {"weak", INFINITY, 0, ""},
                                          {"spinodal", 2.5, 0.5, ""},
                                          {"perfect", 3.25, 0.125, ""}}};
    if (!strcmp(name, "nothing")) return stair_fail(request->context, STAIR_BAD_INPUT, "nothing like it");
    figure_result result = {.kind = &first, .spec = "square", .rows = 12345, .kept = true, .table = &steps};
    if (request->model) snprintf(result.spec, sizeof result.spec, "%s", request->model);
    snprintf(figure_asked, sizeof figure_asked,
             "%s %s%s size %d quick %d tex %d force %d resume %d precise %d%s", name, request->folder,
             request->options, request->size, request->quick, request->tex, request->force, request->resume,
             request->precise, request->model ? " model" : "");
    request->stage(request->user, "one", 0, 2);
    STAIR_TRY(told(user, &result));
    if (!strncmp(name, "staircase", 9)) return STAIR_OK;
    request->stage(request->user, "two", 1, 2);
    result.kind = &second;
    result.rows = 7;
    result.kept = false;
    return told(user, &result);
}

/* `text` without its first line. */
static const char *below(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text;
}

static const char *results_of(const char *text)
{
    const char *at = strstr(text, "\"results\"");
    return at ? at : text;
}

/* Types of the arrays of an archive, in their order. */
static char *types_in(const char *path)
{
    static char types[1024];
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 16];
    size_t size = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0, used = 0;
    if (file) fclose(file);
    types[0] = bytes[size] = 0;
    for (size_t k = 0; k + 12 < size && used < sizeof types; k++)
        if (!memcmp(bytes + k, "{'descr': '", 11))
            used += (size_t)snprintf(types + used, sizeof types - used, "%s%.*s", used ? " " : "",
                                     (int)strcspn(bytes + k + 11, "'"), bytes + k + 11);
    return types;
}

/* A benchmark in every format. */
static void shows(const char *name, const char *table, const char *json, const char *csv, const char *types)
{
    char line[128];
    all_pass = true;
    ends = STAIR_OK;
    snprintf(line, sizeof line, "stair bench %s", name);
    assert_int_equal(run_program(line), 0);
    assert_string_equal(below(printed), table);
    assert_string_equal(complained, "");
    snprintf(line, sizeof line, "stair bench %s --json", name);
    assert_int_equal(run_program(line), 0);
    assert_string_equal(results_of(printed), json);
    snprintf(line, sizeof line, "stair bench %s --csv", name);
    assert_int_equal(run_program(line), 0);
    assert_string_equal(printed, csv);
    snprintf(line, sizeof line, "stair bench %s --out b.npz --quiet", name);
    assert_int_equal(run_program(line), 0);
    assert_string_equal(types_in("b.npz"), types);
    assert_int_equal(remove("b.npz"), 0);
    assert_true(asked_capacity >= 32); /* more than any of them has */
}

#define CHANNEL_JSON(model)                                                                                  \
    "{\"model\": \"" model "\", \"cov_low\": 1e-06, \"cov_high\": 0.125, \"precision\": 1e-08, "             \
    "\"points\": 256, \"worst_error\": 1.23456e-09, \"nodes\": 1123.456, \"needed\": 4000.4, "               \
    "\"cost\": 6000.4, \"ratio\": 1.4999500049994998, \"limit\": 7000.6, \"passed\": true}"
#define CHANNEL_NUMBERS                                                                                      \
    ",1e-06,0.125,1e-08,256,1.23456e-09,1123.456,4000.4,6000.4,1.4999500049994998,7000.6,1\n"
#define CHANNEL_CELLS                                                                                        \
    "     1e-06  0.125      1e-08     256     1.23e-09   1123         4000          6000    1.5   7001  "    \
    "yes\n"
static void the_channel(void **state)
{
    (void)state;
    shows("channel",
          "model  cov from     to  precision  points  worst error  nodes  exps needed  cost in exps  ratio  "
          "limit  passed\n"
          "first" CHANNEL_CELLS "first" CHANNEL_CELLS "third" CHANNEL_CELLS,
          "\"results\": [\n" CHANNEL_JSON("first") ",\n" CHANNEL_JSON("first") ",\n" CHANNEL_JSON(
              "third") "\n]}\n",
          "model,cov_low,cov_high,precision,points,worst_error,nodes,needed,cost,ratio,limit,passed\n"
          "first" CHANNEL_NUMBERS "first" CHANNEL_NUMBERS "third" CHANNEL_NUMBERS,
          "<U96 <f8 <f8 <f8 <i8 <f8 <f8 <f8 <f8 <f8 <f8 |b1");
    assert_int_equal(asked_points, 256);
    assert_int_equal(run_program("stair bench --points 17"), 0); /* the channel is what a bare bench does */
    assert_int_equal(asked_points, 17);
    assert_non_null(strstr(printed, "exps needed"));
}

static void staircases(void **state)
{
    static const char *const table = "model    precision    error  steps  seconds  limit  passed\n"
                                     "a model     0.0123  0.00123      3     12.3   20.5  yes\n";
    static const char *const json = "\"results\": [\n{\"model\": \"a model\", \"precision\": 0.0123456, "
                                    "\"error\": 0.00123456, \"steps\": 3, \"seconds\": 12.3456, "
                                    "\"limit\": 20.46, \"passed\": true}\n]}\n";
    static const char *const csv = "model,precision,error,steps,seconds,limit,passed\n"
                                   "a model,0.0123456,0.00123456,3,12.3456,20.46,1\n";
    (void)state;
    shows("staircase", table, json, csv, "<U96 <f8 <f8 <i8 <f8 <f8 |b1");
    assert_int_equal(asked_curves, 0);
    shows("curves", table, json, csv, "<U96 <f8 <f8 <i8 <f8 <f8 |b1");
    assert_int_equal(asked_curves, 1);
}

static void amp(void **state)
{
    (void)state;
    shows("amp",
          "what         D  samples  s/iteration  pass  draw  denoiser  rest     error  value  unit        "
          "limit  passed\n"
          "one pass  1000     4000        1.235  2.35  3.46      4.57  5.68  8.91e-07   6.79  GB at most   "
          "7.89  yes\n",
          "\"results\": [\n{\"what\": \"one pass\", \"dim\": 1000, \"samples\": 4000, \"iterations\": 5, "
          "\"seconds\": 1.23456, \"pass\": 2.34567, \"draw\": 3.45678, \"channel\": 4.56789, "
          "\"rest\": 5.67891, \"error\": 8.91234e-07, \"value\": 6.78912, \"unit\": \"GB at most\", "
          "\"limit\": 7.89123, \"passed\": true}\n]}\n",
          "what,dim,samples,iterations,seconds,pass,draw,channel,rest,error,value,unit,limit,passed\n"
          "one pass,1000,4000,5,1.23456,2.34567,3.45678,4.56789,5.67891,8.91234e-07,6.78912,GB at "
          "most,7.89123,1\n",
          "<U64 <i8 <i8 <i8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <U24 <f8 |b1");
}

/* Rows are written all the same; what a benchmark says of its end comes before what was missed. */
static void misses_are_counted(void **state)
{
    static const struct {
        const char *line, *said, *ended;
    } cases[] = {
        {"stair bench channel", "2", "the channel ended so"},
        {"stair bench staircase", "1", "the staircase ended so"},
        {"stair bench curves", "1", "the staircase ended so"},
        {"stair bench amp", "1", "amp ended so"},
    };
    char text[128];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        all_pass = false;
        ends = STAIR_OK;
        assert_int_equal(run_program(cases[k].line), 1);
        snprintf(text, sizeof text, "stair: %s of the benchmarks miss their error or their limit\n",
                 cases[k].said);
        assert_string_equal(complained, text);
        assert_non_null(strstr(printed, "  NO\n"));
        ends = STAIR_NO_MEMORY;
        assert_int_equal(run_program(cases[k].line), 1);
        snprintf(text, sizeof text, "stair: %s\n", cases[k].ended);
        assert_string_equal(complained, text);
        assert_string_equal(printed, "");
        ends = STAIR_OK;
    }
    assert_int_equal(run_program("stair bench curve"), 2);
    assert_string_equal(complained, "stair: unknown benchmark 'curve'; did you mean curves?\n");
    assert_int_equal(run_program("stair bench zzzzzzzz"), 2);
    assert_string_equal(complained, "stair: unknown benchmark 'zzzzzzzz'; did you mean channel?\n");
    assert_int_equal(run_program("stair bench amp more"), 2);
}

static void figures(void **state)
{
    (void)state;
    assert_int_equal(run_program("stair figure all --out f"), 0);
    assert_string_equal(below(printed),
                        "figure                                     rows  kept  \n"
                        "one-name-of-forty-characters-at-the-most  12345  yes   what it shows\n"
                        "two                                           7  NO    \n");
    assert_string_equal(figure_asked, "all f size 0 quick 0 tex 0 force 0 resume 0 precise 0");
    assert_int_equal(run_program("stair figure --out f --csv --size slide --quick --seed 3"), 0);
    assert_string_equal(printed,
                        "figure,csv,rows,kept,text\n"
                        "one-name-of-forty-characters-at-the-most,one-name-of-forty-characters-at-the-"
                        "most.csv,12345,1,what it shows\n"
                        "two,two.csv,7,0,\n");
    assert_string_equal(figure_asked,
                        "all f --quick --seed 3 size 2 quick 1 tex 0 force 0 resume 0 precise 0");
    assert_int_equal(run_program("stair figure all --json --size page --tex --force --resume --no-quick"), 0);
    assert_string_equal(
        results_of(printed),
        "\"results\": [\n{\"figure\": \"one-name-of-forty-characters-at-the-most\", \"csv\": "
        "\"one-name-of-forty-characters-at-the-most.csv\", \"rows\": 12345, \"kept\": true, "
        "\"text\": \"what it shows\"},\n{\"figure\": \"two\", \"csv\": \"two.csv\", \"rows\": 7, "
        "\"kept\": false, \"text\": \"\"}\n]}\n");
    assert_string_equal(figure_asked, "all out --no-quick size 1 quick 0 tex 1 force 1 resume 1 precise 0");
}

static void steps_of_a_staircase(void **state)
{
    (void)state;
    assert_int_equal(run_program("stair figure staircase square --out a'b --precision 0.01 --data x,;y"), 0);
    assert_string_equal(below(printed),
                        "step         alpha     error  learns\n"
                        "weak      0.123457  0.000123  1\n"
                        "weak      1.500000      0.25  2 3\n"
                        "weak           inf         0  \n"
                        "spinodal  2.500000       0.5  \n"
                        "perfect   3.250000     0.125  \n\n"
                        "With N samples in dimension D and alpha = N/D, index 1 is learned from "
                        "alpha = 0.1235 on, index 2 3 is learned from alpha = 1.5 on, and all "
                        "weights are recovered exactly from alpha = 3.25 on.\n"
                        "Written: a'b/staircase.png, .pdf, .svg and .csv\n");
    assert_string_equal(figure_asked, "staircase a'b --data 'x,;y' --precision 0.01 size 0 quick 0 tex 0 "
                                      "force 0 resume 0 precise 1 model");
    assert_int_equal(
        run_program("stair figure staircase square --data \x1f\x7f!" /* no control characters */), 0);
    assert_non_null(strstr(figure_asked, " --data '?\x7f!' size"));
    assert_int_equal(run_program("stair figure staircase-curve attention:layers=2 --json"), 0);
    assert_non_null(
        strstr(printed, "{\"kind\": \"weak\", \"alpha\": 1.5, \"error\": 0.25, \"learns\": [2, 3]}"));
    assert_int_equal(run_program("stair figure staircase attention:layers=2"), 0);
    assert_non_null(strstr(printed, "layer 1 is learned from"));
}

/* Types of the arrays of --out FILE.npz: how wide texts are. */
static void archives_have_their_widths(void **state)
{
    static const char *const cases[][2] = {
        {"models", "<U96 <U160 <U96 <U160"},
        {"models square", "<U8 <U96 <U128 <U96 <U160"},
        {"diagnose linear --points 1", "<U96 <f8 <f8 <i8 <i8 <U16 |b1"},
        {"channel square --points 1", "<f8 <f8 <f8 <f8 <i8 <U8 <f8 <f8 <f8"},
        {"exponents square", "<i8 <i8 <U64 <f8 <f8 <i8 <i8 <i8 <U64 <f8 <f8 <i8 <i8"},
        {"threshold linear --steps 1", "<U8 <f8 <f8 <U64 |b1 <f8 <f8 <f8 <f8 <f8"},
        {"threshold linear --steps 1 --set prenoise=0.1,0.25",
         "<U120 <f8 <U8 <f8 <f8 <U64 |b1 <f8 <f8 <f8 <f8 <f8"},
        {"evolve linear --alpha 0.3 --samples 64 --replicates 2 --precision 0.5 --from informed",
         "<f8 <U12 <f8 <f8 <i8 <f8 <U12 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8"},
        {"entropy square --phases --samples 64 --precision 0.5", "<f8 <f8 <f8 <f8 <U8"},
        {"sgd linear --dim 4 --alpha 1 --epochs 1 --test-samples 2",
         "<f8 <u8 <i8 <i8 <f8 <f8 <f8 <f8 <f8 <f8"},
        {"amp linear:noise=0.1 --dim 4 --alpha 1 --theory none --max-iterations 1 --precision 0.5",
         "<f8 <u8 <i8 <U12 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8 <f8"},
    };
    char line[256];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(line, sizeof line, "stair %s --out t.npz", cases[k][0]);
        int code = run_program(line);
        if (code != 0 && code != 3) fail_msg("%s: %s", line, complained);
        if (strcmp(types_in("t.npz"), cases[k][1])) fail_msg("%s: %s", line, types_in("t.npz"));
        remove("t.npz");
    }
}

/* What is done without a command, and what is none. */
static void exits(void **state)
{
    static const struct {
        const char *line, *first;
        int code;
    } cases[] = {
        {"stair --version", "stair " STAIR_VERSION "\n", 0},
        {"stair --help", "stair", 0},
        {"stair -h", "stair", 0},
        {"stair help", "stair", 0},
        {"stair help bench", "usage: stair bench", 0},
        {"stair --help bench", "usage: stair bench", 0},
        {"stair bench --help", "usage: stair bench", 0},
        {"stair help nothing", "", 2},
        {"stair nothing", "", 2},
        {"stair", "", 2},
        {"stair bench nothing", "", 2},
        {"stair bench amp --quiet --csv", "what,dim", 0},
    };
    (void)state;
    all_pass = true;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (run_program(cases[k].line) != cases[k].code) fail_msg("%s", cases[k].line);
        if (strncmp(printed, cases[k].first, strlen(cases[k].first)) || !*printed != (cases[k].code != 0))
            fail_msg("%s: %s", cases[k].line, printed);
        assert_int_equal(!*complained, cases[k].code == 0);
    }
}

/* In a process of its own: a standard file that is closed is opened, so that no other file takes its number;
 * what would go to standard output is a loss that is noticed. */
static int with_closed(int fd)
{
    close(fd);
    int code = run_program_on(NULL, "stair --version");
    if (fcntl(fd, F_GETFD) < 0) return 10;
    bool writes = write(fd, "x", 1) == 1;
    return code + (writes ? 20 : 30);
}

static void closed_files_are_filled(void **state)
{
    static const int expected[] = {30, 31, 20}; /* read only, and the version is lost; the last swallows */
    (void)state;
    for (int fd = 0; fd < 3; fd++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            if (redirect(STDOUT_FILENO, "version") < 0) _exit(99);
            _exit(with_closed(fd));
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected[fd]);
    }
}

/* Ranges, how many values, and whose they are; `how`: not part of what is computed. */
static void own_options_have_their_ranges(void **state)
{
    static const char *const kept = "points 1..1000000000000\n"
                                    "logits\n"
                                    "y\n"
                                    "omega\n"
                                    "cov\n"
                                    "alpha 0..1000000000 list\n"
                                    "set 1 each\n"
                                    "from both|uninformed|informed\n"
                                    "steps 0..1000\n"
                                    "phases\n"
                                    "degree 1..8\n"
                                    "checkpoint how\n"
                                    "resume how\n"
                                    "amp data 2 each\n"
                                    "amp logits\n"
                                    "amp predict\n"
                                    "amp save how\n"
                                    "amp load\n"
                                    "amp samples 128..268435456\n"
                                    "theory none|fixed|trajectory\n"
                                    "history how\n"
                                    "summary how\n"
                                    "dry-run how\n"
                                    "data\n"
                                    "vocab\n"
                                    "test\n"
                                    "weights\n"
                                    "predict\n"
                                    "save how\n"
                                    "quick\n"
                                    "size column|page|slide how\n"
                                    "overlay how\n"
                                    "tex how\n"
                                    "figure data\n"
                                    "figure resume how\n"
                                    "figure out how\n"
                                    "figure force how\n"
                                    "report out how\n"
                                    "merge out how\n"
                                    "title how\n"
                                    "plain how\n"
                                    "threads 0..4096 how\n"
                                    "device optional how\n"
                                    "json how\n"
                                    "csv how\n"
                                    "out how\n"
                                    "force how\n"
                                    "report quiet how\n"
                                    "quiet how\n"
                                    "help how\n";
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    cli_options options;
    (void)state;
    options_defaults(&options);
    for (const cli_option *o = own_options; o->is.name; o++) {
        fprintf(to, "%s%s%s", o->command ? o->command : "", o->command ? " " : "", o->is.name);
        if (o->is.low != 0 || o->is.high != 0) fprintf(to, " %.15g..%.15g", o->is.low, o->is.high);
        if (o->many == OPTION_LIST) fputs(" list", to);
        if (o->many == OPTION_TEXTS) fprintf(to, " %d each", o->take);
        for (int k = 0; stair_option_choice(&o->is, k) && o->is.choices; k++)
            fprintf(to, "%s%s", k ? "|" : " ", stair_option_choice(&o->is, k));
        fprintf(to, "%s%s\n", o->is.optional ? " optional" : "", o->is.how ? " how" : "");
    }
    fclose(to);
    assert_string_equal(text, kept);
    free(text);
}

/* ---- several ranks ------------------------------------------------------------------------------------ */

/* In place of the C library's: ranks of this test share a standard output, which stays open. */
static _Atomic int silenced;

FILE *freopen(const char *path, const char *mode, FILE *file)
{
    (void)path, (void)mode;
    silenced++;
    return file;
}

typedef struct {
    const char *line;
    int code[2];
} shared_line;

static void by_rank(const stair_ranks *ranks, void *user)
{
    shared_line *run = user;
    run->code[ranks->rank] = run_program_on(ranks, run->line);
}

static void by_two_ranks(void *user)
{
    run_ranks(2, by_rank, user);
}

/* Commands in which there is nothing to share: of two ranks one does all, and both end alike. */
static void one_rank_is_enough(void **state)
{
    static const char *const lines[] = {
        "stair models --csv",      "stair models square",          "stair man",
        "stair bench amp --quiet", "stair completion bash",        "stair help threshold",
        "stair report none.json",  "stair merge none.csv",         "stair tokenize none",
        "stair bench nothing",     "stair figure nothing --out f",
    };
    (void)state;
    all_pass = true;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        int code = run_program(lines[k]);
        char *out = strdup(printed), *err = strdup(complained);
        shared_line run = {.line = lines[k]};
        silenced = 0;
        capture(by_two_ranks, &run);
        assert_int_equal(silenced, 1);
        assert_int_equal(run.code[0], code);
        assert_int_equal(run.code[1], code);
        if (strncmp(lines[k], "stair help", 10) != 0) assert_string_equal(printed, out);
        assert_string_equal(complained, err);
        free(out);
        free(err);
    }
}

/* Grids whose units ranks take: every rank has the rows of one process, and here both print them, one after
 * the other or mixed line by line. */
static void ranks_have_the_same_rows(void **state)
{
#define QUICK " --precision 0.5 --samples 64 --replicates 2 --threads 1 --quiet --csv"
    static const char *const lines[] = {
        "stair evolve linear --alpha 0.3,0.5 --from uninformed --set prenoise=0.1,0.2,0.3" QUICK,
        "stair evolve linear --alpha 0.3 --set prenoise=0.1,0.2" QUICK,
        "stair threshold linear --set prenoise=0.1,0.2,0.3" QUICK,
        "stair entropy linear --alpha 0.3,0.5 --set prenoise=0.1,0.2" QUICK,
        "stair entropy linear --phases --set prenoise=0.1,0.2" QUICK,
    };
    (void)state;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        int code = run_program(lines[k]);
        char *out = strdup(printed), *err = strdup(complained);
        shared_line run = {.line = lines[k]};
        capture(by_two_ranks, &run);
        assert_int_equal(run.code[0], code);
        assert_int_equal(run.code[1], code);
        assert_string_equal(complained, err);
        assert_int_equal(strlen(printed), 2 * strlen(out));
        for (char *rest = out, *line; (line = strtok_r(rest, "\n", &rest));) {
            const char *first = strstr(printed, line);
            if (!first || !strstr(first + 1, line))
                fail_msg("%s: not twice: %s\n%s", lines[k], line, printed);
        }
        free(out);
        free(err);
    }
}

/* A refusal of each, how many words it takes, whether the first is a model, and whether one rank does it. */
static void commands_take_their_words(void **state)
{
    static const struct {
        const char *line, *reason;
        int words;
        bool model, alone;
    } cases[] = {
        {"models square:x=1", "'x'", 1, false, true},
        {"threshold square --precision 0", "precision", 1, true, false},
        {"evolve square", "evolve needs --alpha LIST", 1, true, false},
        {"entropy square", "entropy needs --alpha LIST, or --phases", 1, true, false},
        {"exponents product:indices=9 --degree 9", "--degree must be", 1, true, false},
        {"figure nothing", "nothing", 2, false, true},
        {"report", "needs result files", OPTION_MOST_WORDS, false, true},
        {"merge", "needs result files", OPTION_MOST_WORDS, false, true},
        {"channel square --y none.npy", "need --logits or --y", 1, true, false},
        {"amp square --predict x.npy", "--predict goes with --data or --load", 1, true, false},
        {"sgd square --checkpoint c --alpha 1,2", "--checkpoint goes with one --alpha", 1, true, false},
        {"train", "needs --data and --vocab", 0, false, false},
        {"tokenize", "needs a vocabulary", 1, false, true},
        {"diagnose linear --points 0", "points", 1, true, false},
        {"bench nothing", "unknown benchmark", 1, false, true},
        {"completion ksh", "did you mean zsh", 1, false, true},
        {"man more", "unexpected argument", 0, false, true},
    };
    size_t count = 0;
    (void)state;
    while (command_table[count]) count++;
    assert_int_equal(count, sizeof cases / sizeof *cases);
    for (size_t k = 0; k < count; k++) {
        const cli_command *command = command_table[k];
        char line[2048] = "stair ";
        size_t used = strlen(line);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s", cases[k].line);
        if (run_program(line) != 2 || !strstr(complained, cases[k].reason))
            fail_msg("%s: %s", line, complained);
        assert_int_equal(strncmp(cases[k].line, command->name, strlen(command->name)), 0);
        assert_int_equal(command->most_words, cases[k].words);
        assert_int_equal(command->needs_model, cases[k].model);
        assert_int_equal(command->alone, cases[k].alone);
        used = (size_t)snprintf(line, sizeof line, "stair %s", command->name);
        for (int w = 0; w <= cases[k].words; w++)
            used += (size_t)snprintf(line + used, sizeof line - used, " x");
        assert_int_equal(run_program(line), 2);
        if (!strstr(complained, "unexpected argument 'x'")) fail_msg("%s: %s", line, complained);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_channel),
        cmocka_unit_test(staircases),
        cmocka_unit_test(amp),
        cmocka_unit_test(misses_are_counted),
        cmocka_unit_test(figures),
        cmocka_unit_test(steps_of_a_staircase),
        cmocka_unit_test(exits),
        cmocka_unit_test(archives_have_their_widths),
        cmocka_unit_test(closed_files_are_filled),
        cmocka_unit_test(own_options_have_their_ranges),
        cmocka_unit_test(one_rank_is_enough),
        cmocka_unit_test(ranks_have_the_same_rows),
        cmocka_unit_test(commands_take_their_words),
    };
    return cmocka_run_group_tests(tests, open_run_folder, close_run_folder);
}
