/* Files that appear whole or not at all: written under a temporary name in the same directory,
 * synchronised, renamed, and the directory synchronised. */
#ifndef STAIR_IO_ATOMIC_FILE_H
#define STAIR_IO_ATOMIC_FILE_H

#include "core/context.h"

#include <stdio.h>

typedef struct {
    FILE *file; /* write here */
    char *path, *temp;
    bool overwrite;
    bool silent; /* of a rank but the first, which writes for all: nothing is kept */
} stair_atomic_file;

/* Fails at once when `path` cannot be written, or exists and `overwrite` is false. */
stair_status stair_atomic_open(stair_context *context, const char *path, bool overwrite,
                               stair_atomic_file *out);

/* Puts the file in place; on failure nothing is left behind.  The struct is emptied either way. */
stair_status stair_atomic_commit(stair_context *context, stair_atomic_file *out);
void stair_atomic_discard(stair_atomic_file *out);

/* Whether stair_atomic_open(path, overwrite) would succeed: the folder is there and can be written to, the
 * name is not too long. */
stair_status stair_atomic_probe(stair_context *context, const char *path);

/* Removes temporary files of this program from the folder of `path` whose process is gone. */
void stair_atomic_sweep(const char *path);

/* A scratch file without a name, in the directory of `path`: it vanishes with the process. */
stair_status stair_scratch_open(stair_context *context, const char *path, FILE **scratch);

#endif
