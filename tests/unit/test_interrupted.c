/* What commands say of their progress, and runs that are stopped: the state that is kept, the message, and
 * the same bytes from --resume on.  In place of the real progress stands one that stops where the test wants.
 */
#include "run_program.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

#include "figure.h"
#include "progress.h"
#include "training.h"

static int stop_at;       /* stage from which on the library is asked to stop; 0: never */
static int stages, calls; /* stages that were told, calls of the library's progress in the present one */
static int computed[64];  /* calls in each */
static char told[4096];   /* all stages */
static bool quiet;

static void tell(const char *format, ...)
{
    size_t used = strlen(told);
    va_list values;
    va_start(values, format);
    vsnprintf(told + used, sizeof told - used, format, values);
    va_end(values);
}

static bool tick(void *user, double done, double total)
{
    (void)user, (void)done, (void)total;
    if (stages < 64) computed[stages]++;
    calls++;
    return !(stop_at && stages >= stop_at);
}

void progress_start(cli_progress *progress, stair_context *context, bool hidden)
{
    *progress = (cli_progress){0};
    quiet = hidden;
    tell("start");
    stair_context_set_progress(context, tick, NULL);
}

void progress_stage(cli_progress *progress, double before, double share, double total)
{
    progress->total = total;
    stages++;
    tell(" %g+%g/%g", before, share, total);
}

void progress_note(const cli_progress *progress, const char *format, ...)
{
    (void)progress, (void)format;
    tell(" note");
}

void progress_finish(cli_progress *progress)
{
    (void)progress;
    tell(" end\n");
}

void signals_catch(void) {}

int signals_caught(void)
{
    return stop_at && stages >= stop_at && calls ? SIGTERM : 0;
}

/* A figure of three parts, of which the first is there already. */
stair_status figures_make(const figure_request *request, const char *name, figure_tell *each, void *user)
{
    (void)name, (void)each, (void)user;
    for (int part = 1; part < 3; part++) request->stage(request->user, "one", part, 3);
    return STAIR_OK;
}

static int run(int stop, const char *line)
{
    stop_at = stop;
    stages = calls = 0;
    told[0] = 0;
    memset(computed, 0, sizeof computed);
    return run_program(line);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void told_of(const char *line, const char *expected)
{
    int code = run(0, line);
    if (code != 0 && code != 3) fail_msg("%s: exit %d, %s", line, code, complained);
    if (strcmp(told, expected) != 0) fail_msg("%s: %s", line, told);
}

#define QUICK  " --precision 0.5 --samples 64 --replicates 2 "
#define THEORY " --theory none --max-iterations 2 --precision 0.5 --dim 6 "
static void stages_are_told(void **state)
{
    (void)state;
    told_of("stair channel square --points 3", "start 0+3/3 end\n");
    told_of("stair channel square --points 16400 --csv --precision 0.1",
            "start 0+8192/16400 8192+8192/16400 16384+16/16400 end\n");
    told_of("stair diagnose linear --points 3", "start 0+1/1 end\n");
    told_of("stair figure all --out f", "start 1+1/3 2+1/3 end\n");
    told_of("stair exponents square", "start 0+1/1 end\n");
    told_of("stair threshold linear" QUICK, "start 0+0/0 end\n");
    told_of("stair threshold linear --set prenoise=0.1,0.2" QUICK, "start 0+0/2 1+0/2 end\n");
    told_of("stair entropy linear --alpha 0.3,0.4" QUICK, "start 0+0/2 1+0/2 end\n");
    told_of("stair entropy linear --alpha 0.3 --set prenoise=0.1,0.2,0.3" QUICK,
            "start 0+0/3 1+0/3 2+0/3 end\n");
    told_of("stair entropy linear --phases" QUICK, "start 0+0/0 end\n");
    told_of("stair entropy linear --phases --set prenoise=0.1,0.2" QUICK, "start 0+0/2 1+0/2 end\n");
    told_of("stair evolve linear --alpha 0.3,0.4" QUICK, "start 0+0/4 1+0/4 2+0/4 3+0/4 end\n");
    told_of("stair evolve linear --alpha 0.3 --from uninformed --set prenoise=0.1,0.2" QUICK,
            "start 0+0/2 1+0/2 end\n");
    told_of("stair sgd linear --dim 5 --alpha 1,2 --epochs 1 --test-samples 2", "start 0+1/2 1+1/2 end\n");
    told_of("stair sgd linear --dim 5 --alpha 1 --epochs 1 --test-samples 2", "start 0+1/1 end\n");
    told_of("stair sgd linear --dim 5 --epochs 1 --test-samples 2",
            "start 0+1/1 end\n"); /* alpha by default */
    told_of("stair amp linear:noise=0.1" THEORY, "start 0+1/1 1+0/1 end\n");
    told_of("stair amp linear:noise=0.1 --alpha 1,2" THEORY, "start 0+1/2 1+0/2 1+1/2 2+0/2 end\n");
    told_of("stair amp linear:noise=0.1 --alpha 1 --max-iterations 2 --dim 6", "start 0+0.9/1 0.9+0/1 end\n");
    char line[9000];
    snprintf(
        line, sizeof line,
        "stair train --data %s/data/questions.label --vocab %s/data/vocab.txt --epochs 0 --dim 2 --rank 1 "
        "--layers 1",
        run_root, run_root);
    told_of(line, "start 0+1/1 end\n");
    assert_false(quiet);
    told_of("stair exponents square --quiet", "start 0+1/1 end\n");
    assert_true(quiet);
}

/* Stopped at every stage in turn: what was complete is not computed again, the output is that of a run that
 * was not stopped, and the state is gone when it is written.  Nothing is kept where the first was stopped. */
static void resumes(const char *words, int most)
{
    char line[1024];
    snprintf(line, sizeof line, "%s --threads 1 --out f.csv --quiet", words);
    int code = run(0, line);
    if (code != 0 && code != 3) fail_msg("%s: exit %d, %s", line, code, complained);
    char *whole = text_of_file("f.csv"), *table = strdup(printed), *said = strdup(complained);
    assert_int_equal(stages, most);
    assert_false(is_there("f.csv.state"));
    for (int k = 1; k <= most; k++) {
        remove("f.csv");
        snprintf(line, sizeof line, "%s --threads 1 --out f.csv --quiet", words);
        if (run(k, line) != 128 + SIGTERM) fail_msg("%s: not stopped at %d: %s", line, k, complained);
        assert_string_equal(printed, "");
        assert_false(is_there("f.csv"));
        assert_int_equal(is_there("f.csv.state"), k > 1);
        assert_string_equal(complained, k > 1 ? "stair: interrupted; --resume goes on from the checkpoint\n"
                                              : "stair: interrupted; nothing was written\n");
        snprintf(line, sizeof line, "%s --threads 1 --out f.csv --quiet --resume", words);
        assert_int_equal(run(0, line), code);
        assert_int_equal(stages, most);
        for (int s = 1; s <= most; s++)
            if ((computed[s] > 0) != (s >= k))
                fail_msg("%s: stopped at %d, stage %d asked %d times", line, k, s, computed[s]);
        char *text = text_of_file("f.csv");
        assert_string_equal(text, whole);
        assert_string_equal(printed, table);
        assert_string_equal(complained, said);
        free(text);
        assert_false(is_there("f.csv.state"));
        assert_false(is_there("f.csv.state.old"));
    }
    remove("f.csv");
    free(whole);
    free(table);
    free(said);
}

static void evolve_resumes(void **state)
{
    (void)state;
    resumes("stair evolve square --alpha 0.3,0.4 --set prenoise=0.1,0.2" QUICK, 8);
    resumes("stair evolve square --alpha 0.3,0.4,0.5 --from uninformed --set tokens=1,2" QUICK, 6);
}

static void entropy_resumes(void **state)
{
    (void)state;
    resumes("stair entropy square --alpha 0.3,0.5 --set prenoise=0.1,0.2" QUICK, 4);
}

static void hard_phases_resume(void **state)
{
    (void)state;
    resumes("stair entropy square --phases --set prenoise=0.3,0.5 --samples 64 --precision 0.4", 2);
}

static void threshold_resumes(void **state)
{
    (void)state;
    resumes("stair threshold square --set prenoise=0.1,0.2,0.3 --steps 1" QUICK, 3);
    resumes("stair threshold attention:layers=1 --set layers=1,2 --steps 1" QUICK, 2);
}

/* NPY of n rows of `size` numbers in `tokens` rows each; tokens 0: of two axes. */
static void put_npy(const char *path, int n, int tokens, int size)
{
    char head[128], shape[64];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (tokens)
        snprintf(shape, sizeof shape, "(%d, %d, %d)", n, tokens, size);
    else
        snprintf(shape, sizeof shape, "(%d, %d)", n, size);
    snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0, head);
    for (int k = 0; k < n * size * (tokens ? tokens : 1); k++)
        fwrite(&(double){0.25 * (k % 7) - 0.5}, sizeof(double), 1, file);
    fclose(file);
}

static void stages_of_given_data_are_told(void **state)
{
    (void)state;
    put_npy("x.npy", 4, 1, 3);
    put_npy("y.npy", 4, 0, 1);
    told_of("stair amp linear:noise=0.1 --data x.npy y.npy --max-iterations 2 --save p.npz --quiet",
            "start 0+1/1 end\n");
    told_of("stair amp linear:noise=0.1 --data x.npy y.npy --max-iterations 2 --predict x.npy",
            "start 0+1/1 end\n");
    told_of("stair amp linear:noise=0.1 --load p.npz --predict x.npy", "start 0+1/1 end\n");
}

/* Descent and GAMP keep the state of run k in FILE.state.k, or of alpha i in FILE.state.i.k. */
static void runs_resume(void **state)
{
    static const struct {
        const char *words, *kept;
        int stage;
    } cases[] = {
        {"stair sgd linear --dim 5 --alpha 2 --epochs 30 --test-samples 2", "f.csv.state.0", 1},
        {"stair amp linear:noise=0.1 --alpha 1,2" THEORY, "f.csv.state.0.0", 3},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char line[512];
        snprintf(line, sizeof line, "%s --threads 1 --out f.csv", cases[k].words);
        int code = run(0, line);
        char *whole = text_of_file("f.csv");
        assert_non_null(whole);
        assert_false(is_there(cases[k].kept));
        remove("f.csv");
        assert_int_equal(run(cases[k].stage, line), 128 + SIGTERM);
        assert_string_equal(complained, "stair: interrupted; --resume goes on from the checkpoint\n");
        if (!is_there(cases[k].kept)) fail_msg("%s: no %s", line, cases[k].kept);
        snprintf(line, sizeof line, "%s --threads 1 --out f.csv --resume", cases[k].words);
        assert_int_equal(run(0, line), code);
        char *text = text_of_file("f.csv");
        assert_string_equal(text, whole);
        free(text);
        free(whole);
        remove("f.csv");
        assert_false(is_there(cases[k].kept));
    }
}

/* A file of that name, written `ago` seconds ago. */
static void put_file(const char *path, int ago)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    struct timespec times[2] = {{.tv_sec = time(NULL) - ago}, {.tv_sec = time(NULL) - ago}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What --resume would find: the file itself or one with a number behind it, of this run or gone on from. */
static void states_that_are_kept(void **state)
{
    static const struct {
        const char *file;
        int ago;
        bool kept, resumed;
    } cases[] = {
        {"ck", 0, true, true},       {"ck.0", 0, true, true},   {"ck.3.1", 0, true, true},
        {"ckx", 0, false, false},    {"ck0", 0, false, false},  {"c", 0, false, false},
        {"xck", 0, false, false},    {"ck", 1000, false, true}, {"ck.0", 1000, false, true},
        {"ckx", 1000, false, false},
    };
    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int resume = 0; resume < 2; resume++)
            for (int folder = 0; folder < 2; folder++) {
                char path[64];
                cli_request request = {.command = command_find("evolve"), .started = time(NULL) - 500};
                request.parse.scope = command_scope(request.command);
                for (int n = 0; request.command->options[n]; n++)
                    request.parse.given[n] = resume && !strcmp(request.command->options[n], "resume");
                assert_false(training_kept(&request));
                request.checkpoint = folder ? "d/ck" : "ck";
                assert_false(training_kept(&request));
                snprintf(path, sizeof path, "%s%s", folder ? "d/" : "", cases[k].file);
                put_file(path, cases[k].ago);
                if (training_kept(&request) != (resume ? cases[k].resumed : cases[k].kept))
                    fail_msg("%s, %d s ago, %d", path, cases[k].ago, resume);
                remove(path);
            }
    cli_request nowhere = {.checkpoint = "none/ck"};
    assert_false(training_kept(&nowhere));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_told),
        cmocka_unit_test(evolve_resumes),
        cmocka_unit_test(entropy_resumes),
        cmocka_unit_test(hard_phases_resume),
        cmocka_unit_test(threshold_resumes),
        cmocka_unit_test(states_that_are_kept),
        cmocka_unit_test(stages_of_given_data_are_told),
        cmocka_unit_test(runs_resume),
    };
    return cmocka_run_group_tests(tests, open_run_folder, close_run_folder);
}
