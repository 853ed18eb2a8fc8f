/* In place of src/io/npz_read.c where libzip is missing: NPZ files are written, not read. */
#include "io/npz.h"

static stair_status no_zip(stair_context *context, const char *path)
{
    return stair_fail(context, STAIR_UNSUPPORTED, "%s: NPZ files cannot be read: built without libzip", path);
}

stair_status stair_archive_open(stair_context *context, const char *path, stair_archive **archive)
{
    *archive = NULL;
    return no_zip(context, path);
}

void stair_archive_close(stair_archive **archive)
{
    *archive = NULL;
}

stair_status stair_archive_header(stair_context *context, stair_archive *archive, const char *path,
                                  const char *name, stair_npy_header *header)
{
    (void)archive, (void)name, (void)header;
    return no_zip(context, path);
}

stair_status stair_archive_array(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, stair_npy_header *header, double **values)
{
    (void)archive, (void)name, (void)header, (void)values;
    return no_zip(context, path);
}

const char *stair_archive_name(stair_archive *archive, int number, char *name, size_t size)
{
    (void)archive, (void)number, (void)name, (void)size;
    return NULL;
}

stair_status stair_archive_bytes(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, uint64_t most, stair_npy_header *header,
                                 unsigned char **bytes)
{
    (void)archive, (void)name, (void)most, (void)header, (void)bytes;
    return no_zip(context, path);
}

bool stair_archive_number(const stair_npy_header *header, const unsigned char *at, double *value)
{
    (void)header, (void)at, (void)value;
    return false;
}
