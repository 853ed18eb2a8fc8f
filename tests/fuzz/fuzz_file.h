/* Names of files that targets write: in TMPDIR, which may be memory, or /tmp. */
#ifndef STAIR_FUZZ_FILE_H
#define STAIR_FUZZ_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUZZ_NAME 256

/* One name for a process and an ending. */
static inline void fuzz_name(const char *ending, char name[FUZZ_NAME])
{
    const char *folder = getenv("TMPDIR");
    snprintf(name, FUZZ_NAME, "%s/stair-fuzz-%ld%s", folder && *folder ? folder : "/tmp", (long)getpid(),
             ending);
}

static inline bool fuzz_put(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    bool written = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

#endif
