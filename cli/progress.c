/* The time left comes from the recent speed, an average that forgets; where the job rests for a while, as
 * when one step of many takes long, from the speed since the start.
 *
 * The progress callback doubles as the place where a signal is noticed: handlers only set a flag. */
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Seconds. */
#define REFRESH  0.2
#define SETTLING 2 /* before a time left is told */
#define MEMORY   3 /* of the speed; a third of the time spent where that is longer */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    bool insists = number == SIGINT || number == SIGTERM; /* warnings of a batch system may come twice */
    if (caught && insists) _exit(128 + number);
    if (!caught) caught = number;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
        struct sigaction before;
        bool nohup =
            stops[k] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!nohup) sigaction(stops[k], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, NULL); /* a file that may not grow is an error of write, like a full disk */
}

int signals_caught(void)
{
    return caught;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A fraction of the job that was done before this process began is no speed. */
static void measure(cli_progress *progress, double fraction, double time)
{
    double passed = time - progress->printed, spent = time - progress->started;
    double memory = fmax(MEMORY, spent / 3), weight = 1 - exp(-passed / memory);
    double gain = fmax(0, fraction - progress->reached);
    if (progress->ticked) {
        progress->speed += weight * (gain / passed - progress->speed);
        progress->seen += weight * (1 - progress->seen);
    } else
        progress->first = fraction;
    progress->ticked = true;
    progress->reached += gain; /* never backwards: a call inside a call counts from 0 again */
}

static void print(const cli_progress *progress, double spent)
{
    double recent = progress->seen > 0 ? progress->speed / progress->seen : 0;
    double speed = fmax(recent, (progress->reached - progress->first) / spent);
    double left = speed > 0 ? (1 - progress->reached) / speed : INFINITY;
    char time[32] = "";
    if (spent < SETTLING || left > 3600 * 1000)
        snprintf(time, sizeof time, "%.0f s", spent);
    else if (left < 120)
        snprintf(time, sizeof time, "%.0f s left", left);
    else if (left < 7200)
        snprintf(time, sizeof time, "%.0f min left", left / 60);
    else
        snprintf(time, sizeof time, "%.0f h left", left / 3600);
    if (progress->total <= 0)
        fprintf(stderr, "\r\033[K%.0f s", spent);
    else
        fprintf(stderr, "\r\033[K%3.0f%%  %s", floor(100 * progress->reached), time);
    fflush(stderr);
}

static bool tick(void *user, double done, double total)
{
    cli_progress *progress = user;
    if (progress->shown) {
        double time = now(), part = total > 0 ? fmin(1, done / total) : 0;
        if (time - progress->printed >= REFRESH) {
            double all = progress->total > 0 ? progress->total : 1;
            measure(progress, fmin(1, (progress->before + part * progress->share) / all), time);
            progress->printed = time;
            print(progress, time - progress->started);
        }
    }
    return !caught;
}

void progress_start(cli_progress *progress, stair_context *context, bool quiet)
{
    double time = now();
    *progress =
        (struct cli_progress){.shown = !quiet && isatty(STDERR_FILENO) && !stair_context_rank(context),
                              .started = time,
                              .printed = time};
    stair_context_set_progress(context, tick, progress);
}

void progress_stage(cli_progress *progress, double before, double share, double total)
{
    progress->before = before;
    progress->share = share;
    progress->total = total;
}

void progress_note(const cli_progress *progress, const char *format, ...)
{
    va_list values;
    if (!progress->shown) return;
    va_start(values, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, values);
    va_end(values);
}

void progress_finish(cli_progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}
