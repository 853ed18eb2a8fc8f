/* fork and execv: between them the child calls only what may be called there when other threads exist. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

stair_status figure_program_find(stair_context *context, const char *name, const char *package, char **path)
{
    const char *folders = getenv("PATH");
    char file[4096];
    *path = NULL;
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        struct stat about;
        int size = snprintf(file, sizeof file, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        if (size > 0 && (size_t)size < sizeof file && stat(file, &about) == 0 && S_ISREG(about.st_mode) &&
            access(file, X_OK) == 0) {
            *path = realpath(file, NULL);
            if (*path) return STAIR_OK;
        }
        at += length + (at[length] == ':');
    }
    return stair_fail(context, STAIR_FAILED,
                      "%s is needed to draw and is not in PATH; install it (apt-get install %s)", name,
                      package);
}

static _Noreturn void become(const char *path, char *const argv[], const char *folder, const char *log)
{
    if (chdir(folder)) _exit(126);
    int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    execv(path, argv);
    _exit(127);
}

/* A signal that asks us to stop is passed on. */
static int wait_for(stair_context *context, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
        if (!stair_context_progress(context, 0, 1)) kill(child, SIGTERM);
    }
    return status;
}

static void last_line(const char *folder, const char *log, char *text, size_t size)
{
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/%s", folder, log);
    FILE *file = fopen(path, "r");
    *text = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (*line) snprintf(text, size, "%.150s", line);
    }
    if (file) fclose(file);
}

stair_status figure_program_run(stair_context *context, const char *path, char *const argv[],
                                const char *folder, const char *log)
{
    char said[160];
    pid_t child = fork();
    if (child < 0) return stair_fail(context, STAIR_FAILED, "%s: %s", path, strerror(errno));
    if (child == 0) become(path, argv, folder, log);
    int status = wait_for(context, child);
    if (!stair_context_progress(context, 0, 1)) return stair_fail(context, STAIR_FAILED, "interrupted");
    if (status == 0) return STAIR_OK;
    last_line(folder, log, said, sizeof said);
    if (status > 0 && WIFSIGNALED(status))
        return stair_fail(context, STAIR_FAILED, "%s was killed by signal %d", path, WTERMSIG(status));
    return stair_fail(context, STAIR_FAILED, "%s failed%s%s", path, *said ? ": " : "", said);
}
