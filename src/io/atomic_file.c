/* The temporary name carries the process number, so two runs never share one.  While it is written to, the
 * file is locked: one that is not, and whose process is gone, was left by a run that was killed.  The lock is
 * what tells on a folder that other machines share, where process numbers do not. */
#define _DEFAULT_SOURCE /* flock */
#include "io/atomic_file.h"
#include "core/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    int attempts; /* at a name that is not taken: files left behind by a process of the same number */
} tuning = {.attempts = 100};

/* Length of the directory part of `path`, slash included. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static int create_unique(const char *path, char **name)
{
    size_t directory = directory_length(path), size = directory + 64;
    *name = malloc(size);
    if (!*name) return -1;
    for (int k = 0; k < tuning.attempts; k++) {
        snprintf(*name, size, "%.*s.stair-%ld-%d.tmp", (int)directory, path, (long)getpid(), k);
        int fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            flock(fd, LOCK_EX | LOCK_NB); /* a file system without locks is no failure */
            return fd;
        }
        if (errno != EEXIST) break;
    }
    int reason = errno;
    free(*name);
    *name = NULL;
    errno = reason;
    return -1;
}

static stair_status open_failed(stair_context *context, const char *path)
{
    if (errno == ENOMEM) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EIO;
    return stair_fail(context, full ? STAIR_FAILED : STAIR_BAD_INPUT, "%s: cannot be written: %s", path,
                      strerror(errno));
}

static stair_status check_target(stair_context *context, const char *path, bool overwrite)
{
    struct stat info;
    const char *base = path + directory_length(path);
    if (!*base) return stair_fail(context, STAIR_BAD_INPUT, "'%s': not the name of a file", path);
    if (strlen(base) > NAME_MAX) /* the temporary name is short, so that opening it would not tell */
        return stair_fail(context, STAIR_BAD_INPUT, "%.40s...: a name of more than %d bytes", base, NAME_MAX);
    if (lstat(path, &info)) return STAIR_OK;
    if (S_ISDIR(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: is a directory", path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
        return stair_fail(context, STAIR_BAD_INPUT, "%s: is not a regular file", path);
    if (!overwrite)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: exists; pass --force to replace it", path);
    return STAIR_OK;
}

stair_status stair_atomic_open(stair_context *context, const char *path, bool overwrite,
                               stair_atomic_file *out)
{
    *out = (stair_atomic_file){.overwrite = overwrite, .silent = !stair_ranks_first(context)};
    if (!out->silent) STAIR_TRY(check_target(context, path, overwrite));
    int fd = out->silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : create_unique(path, &out->temp);
    if (fd < 0) return open_failed(context, path);
    out->file = fdopen(fd, "w+b");
    out->path = strdup(path);
    if (out->file && out->path) return STAIR_OK;
    if (!out->file) close(fd);
    stair_atomic_discard(out);
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

stair_status stair_atomic_probe(stair_context *context, const char *path)
{
    stair_atomic_file trial;
    STAIR_TRY(stair_atomic_open(context, path, true, &trial));
    stair_atomic_discard(&trial);
    return STAIR_OK;
}

/* The process in ".stair-PID-K.tmp", or 0. */
static long process_of(const char *name)
{
    long process;
    int tail = 0;
    if (sscanf(name, ".stair-%ld-%*d.tmp%n", &process, &tail) != 1 || !tail || name[tail]) return 0;
    return process;
}

void stair_atomic_sweep(const char *path)
{
    size_t length = directory_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    DIR *all = folder ? opendir(folder) : NULL;
    free(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        long process = process_of(entry->d_name);
        if (process <= 0 || kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        int fd = openat(dirfd(all), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(all), entry->d_name, 0);
        close(fd);
    }
    if (all) closedir(all);
}

static void forget(stair_atomic_file *out)
{
    free(out->path);
    free(out->temp);
    *out = (stair_atomic_file){0};
}

void stair_atomic_discard(stair_atomic_file *out)
{
    if (out->file) fclose(out->file);
    if (out->temp) unlink(out->temp);
    forget(out);
}

/* A link refuses to replace a file that appeared meanwhile; where links do not exist, rename. */
static int put_in_place(const stair_atomic_file *out)
{
    if (!out->overwrite) {
        if (link(out->temp, out->path) == 0) return unlink(out->temp);
        if (errno == EEXIST) return -1;
    }
    return rename(out->temp, out->path);
}

static void sync_directory(const char *path)
{
    size_t length = directory_length(path);
    char *name = length ? strndup(path, length) : strdup(".");
    int fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd); /* some file systems cannot; the file itself is safe already */
        close(fd);
    }
    free(name);
}

stair_status stair_atomic_commit(stair_context *context, stair_atomic_file *out)
{
    if (out->silent) {
        stair_atomic_discard(out);
        return STAIR_OK;
    }
    bool written = !ferror(out->file) && fflush(out->file) == 0 && fsync(fileno(out->file)) == 0;
    int reason = errno;
    if (fclose(out->file) && written) {
        written = false;
        reason = errno;
    }
    out->file = NULL;
    if (written && put_in_place(out)) {
        written = false;
        reason = errno;
    }
    stair_status status = STAIR_OK;
    if (written)
        sync_directory(out->path);
    else {
        status = stair_fail(context, STAIR_FAILED, "%s: cannot be written: %s", out->path, strerror(reason));
        unlink(out->temp);
    }
    forget(out);
    return status;
}

stair_status stair_scratch_open(stair_context *context, const char *path, FILE **scratch)
{
    char *name;
    int fd = create_unique(path, &name);
    if (fd < 0) return open_failed(context, path);
    unlink(name);
    free(name);
    *scratch = fdopen(fd, "w+b");
    if (*scratch) return STAIR_OK;
    close(fd);
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}
