/* NPZ archives: ZIP files of NPY arrays.
 *
 * Written as a stream: each member grows in memory, then in a scratch file of its own, and the archive
 * (stored, 64-bit where needed) is put together and put in place at the end.  Read, stored or deflated, an
 * array at a time. */
#ifndef STAIR_IO_NPZ_H
#define STAIR_IO_NPZ_H

#include "io/npy.h"

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct stair_npz stair_npz;

stair_status stair_npz_create(stair_context *context, const char *path, bool overwrite, stair_npz **npz);

/* Adds array `name` of shape (rows, tail...), element type `descr` ("<f8", "<i8", "<U8", ...) of
 * `size` bytes; its number is `*member`.  tail (rank - 1). */
stair_status stair_npz_add(stair_context *context, stair_npz *npz, const char *name, const char *descr,
                           size_t size, int rank, const uint64_t *tail, int *member);

/* Appends n rows to a member. */
stair_status stair_npz_append(stair_context *context, stair_npz *npz, int member, const void *rows, size_t n);

stair_status stair_npz_commit(stair_context *context, stair_npz *npz);
void stair_npz_destroy(stair_npz **npz); /* what was not committed leaves no trace */

/* ZIP sizes from here on are written in 64 bits; a test lowers it. */
void stair_npz_set_zip64_from(stair_npz *npz, uint64_t size);

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct zip stair_archive;

stair_status stair_archive_open(stair_context *context, const char *path, stair_archive **archive);
void stair_archive_close(stair_archive **archive);

/* Shape and type of array `name`, of which nothing else is unpacked. */
stair_status stair_archive_header(stair_context *context, stair_archive *archive, const char *path,
                                  const char *name, stair_npy_header *header);

/* values (header->count), to be freed, of array `name`: real numbers in C order, all finite. */
stair_status stair_archive_array(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, stair_npy_header *header, double **values);

/* Names of the arrays, by number; NULL past the last one.  A member that is no array has its whole name. */
const char *stair_archive_name(stair_archive *archive, int number, char *name, size_t size);

/* bytes (header->count * header->size), to be freed: the elements as they are, texts and booleans too. */
stair_status stair_archive_bytes(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, uint64_t most, stair_npy_header *header,
                                 unsigned char **bytes);
/* The element at `at` as a number; false for a kind that is none.  NaN and infinities are numbers. */
bool stair_archive_number(const stair_npy_header *header, const unsigned char *at, double *value);

#endif
