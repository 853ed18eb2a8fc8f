/* Progress with the time left on a terminal, and the signals that ask a run to stop. */
#ifndef STAIR_CLI_PROGRESS_H
#define STAIR_CLI_PROGRESS_H

#include "core/context.h"

typedef struct cli_progress {
    bool shown;                  /* standard error is a terminal and wants it */
    double before, share, total; /* of the whole job: done, in this library call, all; total 0: unknown */
    double started, printed;     /* seconds */
    bool ticked;
    double first;       /* fraction that was done when this process began */
    double reached;     /* fraction of the job, which never falls */
    double speed, seen; /* fraction a second, a sum of weights `seen` */
} cli_progress;

void progress_start(cli_progress *progress, stair_context *context, bool quiet);
/* What the next library call is of the whole.  share 0: a call that cannot tell how far it is, because it
 * goes round as often as it needs; then calls that ended are what is counted. */
void progress_stage(cli_progress *progress, double before, double share, double total);
/* A line above the progress, on a terminal only. */
void progress_note(const cli_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void progress_finish(cli_progress *progress);

/* SIGINT, SIGTERM, SIGHUP (unless nohup), SIGUSR1, SIGUSR2 and SIGXCPU, the warnings of batch systems: the
 * library is asked to stop, which keeps a checkpoint, files are cleaned up, the exit status is 128 + signal.
 * A second SIGINT or SIGTERM ends the process at once. */
void signals_catch(void);
int signals_caught(void); /* its number, or 0 */

#endif
