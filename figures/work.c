/* A folder of its own for each process, locked while that lives.  One that nobody holds and whose process is
 * gone was left by a run that was killed; what is removed of it are files of the names used here, nothing
 * else, and the folder only when that leaves it empty. */
#define _DEFAULT_SOURCE /* flock */
#include "work.h"
#include "core/context.h"
#include "plot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    int attempts; /* at a name that is not taken: folders left behind by a process of the same number */
} tuning = {.attempts = 100};

static void clean_folder(int folder)
{
    static const char *const fixed[] = {"plot.gp", "plot.pdf", "plot.svg", "plot.png", "log"};
    char name[32];
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) unlinkat(folder, fixed[k], 0);
    for (int k = 0; k < FIGURE_CURVES; k++) {
        snprintf(name, sizeof name, "curve%d.dat", k);
        unlinkat(folder, name, 0);
    }
}

/* The process in ".stair-figure-PID-K", or 0. */
static long process_of(const char *name)
{
    long process;
    int tail = 0;
    if (sscanf(name, ".stair-figure-%ld-%*d%n", &process, &tail) != 1 || !tail || name[tail]) return 0;
    return process;
}

static void sweep(const char *folder)
{
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        long process = process_of(entry->d_name);
        if (process <= 0 || kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        int fd = openat(dirfd(all), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            clean_folder(fd);
            unlinkat(dirfd(all), entry->d_name, AT_REMOVEDIR);
        }
        close(fd);
    }
    if (all) closedir(all);
}

stair_status figure_work_open(stair_context *context, const char *folder, figure_work *work)
{
    sweep(folder);
    for (int k = 0; k < tuning.attempts; k++) {
        snprintf(work->path, sizeof work->path, "%s/.stair-figure-%ld-%d", folder, (long)getpid(), k);
        if (mkdir(work->path, 0700) == 0) {
            work->lock = open(work->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (work->lock >= 0) {
                flock(work->lock, LOCK_EX | LOCK_NB); /* a file system without locks is no failure */
                return STAIR_OK;
            }
            int why = errno;
            rmdir(work->path);
            errno = why;
            break;
        }
        if (errno != EEXIST) break;
    }
    int reason = errno;
    work->path[0] = 0;
    bool full = reason == ENOSPC || reason == EDQUOT || reason == EIO;
    return stair_fail(context, full ? STAIR_FAILED : STAIR_BAD_INPUT, "--out %s: cannot be written: %s",
                      folder, strerror(reason));
}

void figure_work_path(const figure_work *work, const char *file, char *path)
{
    snprintf(path, FIGURE_PATH_MOST, "%.4000s/%s", work->path, file);
}

void figure_work_clean(const figure_work *work)
{
    if (work->path[0]) clean_folder(work->lock);
}

void figure_work_close(figure_work *work)
{
    if (!work->path[0]) return;
    clean_folder(work->lock);
    close(work->lock);
    rmdir(work->path);
    work->path[0] = 0;
}
