/* The progress callback doubles as the place where a signal is noticed: handlers only set a flag. */
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define REFRESH 0.2 /* seconds */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (caught) _exit(128 + number);
    caught = number;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
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

static void print(const cli_progress *progress, double fraction, double spent)
{
    double left = fraction > 0 ? spent * (1 - fraction) / fraction : 0;
    if (progress->total <= 0)
        fprintf(stderr, "\r\033[K%.0f s", spent);
    else if (spent < 1 || fraction <= 0)
        fprintf(stderr, "\r\033[K%3.0f%%", 100 * fraction);
    else if (left < 120)
        fprintf(stderr, "\r\033[K%3.0f%%  %.0f s left", 100 * fraction, left);
    else
        fprintf(stderr, "\r\033[K%3.0f%%  %.0f min left", 100 * fraction, left / 60);
    fflush(stderr);
}

static bool tick(void *user, double done, double total)
{
    cli_progress *progress = user;
    if (progress->shown) {
        double time = now(), part = total > 0 ? done / total : 0;
        if (time - progress->printed >= REFRESH) {
            double all = progress->total > 0 ? progress->total : 1;
            progress->printed = time;
            print(progress, (progress->before + part * progress->share) / all, time - progress->started);
        }
    }
    return !caught;
}

void progress_start(cli_progress *progress, stair_context *context, bool quiet)
{
    double time = now();
    *progress =
        (struct cli_progress){.shown = !quiet && isatty(STDERR_FILENO), .started = time, .printed = time};
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
