/* The line of progress on a terminal, by a clock that the test sets; and signals, which ask a run to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

static double seconds; /* what the clock says */
static bool terminal = true;
static stair_context *context;
static int shown = -1; /* a file that stands for standard error */

/* Stand before those of the C library. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    time->tv_sec = (time_t)floor(seconds);
    time->tv_nsec = (long)round(1e9 * (seconds - floor(seconds)));
    return 0;
}

int isatty(int file)
{
    return file == STDERR_FILENO && terminal;
}

/* What has been written on standard error since the last call. */
static const char *said(void)
{
    static char text[4096];
    fflush(stderr);
    off_t size = lseek(shown, 0, SEEK_CUR);
    assert_true(size >= 0 && (size_t)size < sizeof text);
    assert_int_equal(pread(shown, text, (size_t)size, 0), size);
    text[size] = 0;
    assert_int_equal(ftruncate(shown, 0), 0);
    assert_int_equal(lseek(shown, 0, SEEK_SET), 0);
    return text;
}

static int open_all(void **state)
{
    char path[] = "/tmp/stair-progress-XXXXXX";
    (void)state;
    shown = mkstemp(path);
    return shown < 0 || remove(path) || stair_context_create(&context) != STAIR_OK;
}

static int close_all(void **state)
{
    (void)state;
    stair_context_destroy(&context);
    return close(shown);
}

/* Standard error is that of the test again before anything is checked. */
static const char *line_at(double time, double done, double total)
{
    int kept = dup(STDERR_FILENO);
    dup2(shown, STDERR_FILENO);
    seconds = time;
    bool goes_on = stair_context_progress(context, done, total);
    const char *text = said();
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_true(goes_on);
    return text;
}

/* An hour is the time of the first look at the clock, so that no time is the time since zero. */
static void start(cli_progress *progress, double before, double share, double total)
{
    seconds = 3600;
    progress_start(progress, context, false);
    progress_stage(progress, before, share, total);
}

#define CLEAR "\r\033[K"
static void steady_work_tells_the_time_left(void **state)
{
    cli_progress p;
    (void)state;
    start(&p, 0, 1, 1);
    assert_string_equal(line_at(3600.1, 0.1, 100), ""); /* too early */
    assert_string_equal(line_at(3600.25, 0.25, 100), CLEAR "  0%  0 s");
    assert_string_equal(line_at(3600.4, 0.4, 100), ""); /* too early after the last */
    assert_string_equal(line_at(3601, 1, 100), CLEAR "  1%  1 s");
    assert_string_equal(line_at(3601.75, 1.75, 100), CLEAR "  1%  2 s");
    assert_string_equal(line_at(3602, 2, 100), CLEAR "  2%  98 s left");
    assert_string_equal(line_at(3650, 50, 100), CLEAR " 50%  50 s left");
    assert_string_equal(line_at(3698, 98.75, 100), CLEAR " 98%  1 s left");
    assert_string_equal(line_at(3701, 100, 100), CLEAR "100%  0 s left");
    assert_string_equal(line_at(3702, 200, 100), CLEAR "100%  0 s left");
}

/* One part in `parts` a second: what is left after ten seconds. */
static void left_after_ten(double parts, const char *line)
{
    cli_progress p;
    start(&p, 0, 1, 1);
    line_at(3601, 1, parts);
    assert_string_equal(line_at(3610, 10, parts), line);
}

static void times_have_units(void **state)
{
    (void)state;
    left_after_ten(129, CLEAR "  7%  119 s left");
    left_after_ten(131, CLEAR "  7%  2 min left");
    left_after_ten(610, CLEAR "  1%  10 min left");
    left_after_ten(7209, CLEAR "  0%  120 min left");
    left_after_ten(7300, CLEAR "  0%  2 h left");
    left_after_ten(36010, CLEAR "  0%  10 h left");
    left_after_ten(3.5e6, CLEAR "  0%  972 h left");
    left_after_ten(3.5999e6, CLEAR "  0%  1000 h left");
    left_after_ten(3.6005e6, CLEAR "  0%  10 s");
    left_after_ten(3.7e6, CLEAR "  0%  10 s"); /* above a thousand hours nobody knows */
}

/* The recent speed counts: after ten seconds of a hundredth each, three of three hundredths, weighed by how
 * much an average over a third of the time forgets meanwhile. */
static void speed_is_recent(void **state)
{
    cli_progress p;
    char line[64];
    (void)state;
    start(&p, 0, 1, 1);
    line_at(3601, 1, 100);
    line_at(3610, 10, 100);
    double kept = 1 - exp(-9 / (10 / 3.0)), weight = 1 - exp(-3 / (13 / 3.0));
    double speed = (kept * 0.01 + weight * (0.03 - kept * 0.01)) / (kept + weight * (1 - kept));
    snprintf(line, sizeof line, CLEAR " 19%%  %.0f s left", 0.81 / speed);
    assert_string_equal(line_at(3613, 19, 100), line);
    /* a rest: the speed since the start, without what was there when it began */
    line_at(3690, 19, 100);
    snprintf(line, sizeof line, CLEAR " 19%%  %.0f min left", 0.81 / (0.18 / 500) / 60);
    assert_string_equal(line_at(4100, 19, 100), line);
    /* in the first nine seconds the average is over three */
    start(&p, 0, 1, 1);
    line_at(3601, 1, 100);
    line_at(3602, 2, 100);
    kept = 1 - exp(-1 / 3.0), weight = 1 - exp(-2 / 3.0);
    speed = (kept * 0.01 + weight * (0.03 - kept * 0.01)) / (kept + weight * (1 - kept));
    snprintf(line, sizeof line, CLEAR "  8%%  %.0f s left", 0.92 / speed);
    assert_string_equal(line_at(3604, 8, 100), line);
}

static void it_never_goes_back(void **state)
{
    cli_progress p;
    (void)state;
    start(&p, 0, 1, 1);
    line_at(3601, 50, 100);
    assert_string_equal(line_at(3602, 20, 100), CLEAR " 50%  2 s");
    assert_string_equal(line_at(3603, 0, 0), CLEAR " 50%  3 s"); /* and no total is no progress */
    assert_int_equal((int)line_at(3604, 75, 100)[strlen(CLEAR) + 1], '7');
}

/* The second of four calls, half done; and calls that cannot tell how far they are. */
static void stages_are_parts_of_a_whole(void **state)
{
    cli_progress p;
    (void)state;
    start(&p, 3, 3, 12);
    assert_string_equal(line_at(3601, 5, 10), CLEAR " 37%  1 s");
    progress_stage(&p, 6, 0, 12);
    assert_string_equal(line_at(3601.5, 5, 10), CLEAR " 50%  2 s");
    progress_stage(&p, 9, 0, 12);
    assert_string_equal(line_at(3601.8, 10, 10), CLEAR " 75%  2 s");
    progress_stage(&p, 12, 12, 12);
    assert_string_equal(line_at(3604, 10, 10), CLEAR "100%  0 s left");
    start(&p, 1, 0, 0); /* nobody knows of how many */
    assert_string_equal(line_at(3607, 5, 10), CLEAR "7 s");
    start(&p, 0, 1, 0);
    line_at(3603, 5, 10);
    assert_string_equal(line_at(3608, 6, 10), CLEAR "8 s");
}

/* A line in between, and the end; on a terminal alone, and only where it is wanted. */
static void notes_and_the_end(void **state)
{
    cli_progress p;
    (void)state;
    for (int k = 0; k < 4; k++) {
        seconds = 3600;
        terminal = k != 1;
        progress_start(&p, context, k == 2);
        progress_stage(&p, 0, 1, 1);
        assert_int_equal(p.shown, k == 0 || k == 3);
        int kept = dup(STDERR_FILENO);
        dup2(shown, STDERR_FILENO);
        progress_note(&p, "note %d of %s\n", k, "it");
        char note[64];
        snprintf(note, sizeof note, "%s", said());
        progress_finish(&p);
        char end[64];
        snprintf(end, sizeof end, "%s", said());
        progress_note(&p, "too late");
        progress_finish(&p);
        const char *late = said();
        dup2(kept, STDERR_FILENO);
        close(kept);
        assert_string_equal(note, k == 0 ? CLEAR "note 0 of it\n" : k == 3 ? CLEAR "note 3 of it\n" : "");
        assert_string_equal(end, k == 0 || k == 3 ? CLEAR : "");
        assert_string_equal(late, "");
        assert_string_equal(line_at(3605, 1, 2), "");
    }
    terminal = true;
}

/* In a process of its own, whose exit status says which check failed. */
static void in_a_child(int (*body)(void), int expected)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), expected);
}

static int first_signal(int number)
{
    cli_progress p;
    terminal = false;
    signal(SIGHUP, SIG_DFL);
    signals_catch();
    progress_start(&p, context, true);
    if (signals_caught() || !stair_context_progress(context, 0, 1)) return 1;
    raise(number);
    if (stair_context_progress(context, 0, 1)) return 2;
    return signals_caught() == number ? 0 : 3;
}

static int each_signal(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        pid_t child = fork();
        if (child == 0) _exit(first_signal(numbers[k]));
        int status = 0;
        if (waitpid(child, &status, 0) != child || status) return 10 + (int)k;
    }
    return 0;
}

static int warned_twice(void)
{
    if (first_signal(SIGUSR1)) return 1;
    raise(SIGUSR1);
    raise(SIGXCPU);
    return signals_caught() == SIGUSR1 ? 42 : 2;
}

static int insisted_on(void)
{
    if (first_signal(SIGUSR2)) return 1;
    raise(SIGTERM);
    return 2;
}

static int interrupted_twice(void)
{
    if (first_signal(SIGINT)) return 1;
    raise(SIGINT);
    return 2;
}

static int ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    signals_catch();
    raise(SIGHUP);
    raise(SIGXFSZ);
    return signals_caught() ? 1 : 42;
}

static void signals_ask_to_stop(void **state)
{
    (void)state;
    in_a_child(each_signal, 0);
    in_a_child(warned_twice, 42);
    in_a_child(insisted_on, 128 + SIGTERM);
    in_a_child(interrupted_twice, 128 + SIGINT);
    in_a_child(ignored, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_work_tells_the_time_left),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(speed_is_recent),
        cmocka_unit_test(it_never_goes_back),
        cmocka_unit_test(stages_are_parts_of_a_whole),
        cmocka_unit_test(notes_and_the_end),
        cmocka_unit_test(signals_ask_to_stop),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
