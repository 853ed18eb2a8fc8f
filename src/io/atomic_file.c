/* The temporary name carries the process number, so two runs never share one. */
#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
        if (fd >= 0) return fd;
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
    *out = (stair_atomic_file){.overwrite = overwrite};
    STAIR_TRY(check_target(context, path, overwrite));
    int fd = create_unique(path, &out->temp);
    if (fd < 0) return open_failed(context, path);
    out->file = fdopen(fd, "w+b");
    out->path = strdup(path);
    if (out->file && out->path) return STAIR_OK;
    if (!out->file) close(fd);
    stair_atomic_discard(out);
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
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
