/* NPY arrays (NumPy format 1.0, 2.0, 3.0), read and written in blocks of rows.
 *
 * A row is everything after the first dimension.  Files are never loaded whole, so their size does
 * not matter; headers are not trusted. */
#ifndef STAIR_IO_NPY_H
#define STAIR_IO_NPY_H

#include "core/context.h"
#include "core/limits.h"

#include <stdio.h>

typedef struct {
    char kind; /* f, i, u or b; U where texts are read */
    int size;  /* bytes of one element */
    bool swap; /* big-endian */
    bool fortran;
    int rank;
    uint64_t shape[STAIR_NPY_RANK];
    uint64_t count;    /* elements */
    uint64_t row_size; /* elements of one row */
} stair_npy_header;

typedef struct {
    stair_npy_header header;
    int fd;
    uint64_t offset; /* of the first element */
    char *path;
} stair_npy;

/* Reads a header of `size` bytes, the text after the length field; `path` names it in messages. */
stair_status stair_npy_header_parse(stair_context *context, const char *path, const char *text, size_t size,
                                    stair_npy_header *header);
/* The same where elements may be texts, '<U8': four bytes for each character, `size` of all. */
stair_status stair_npy_header_parse_any(stair_context *context, const char *path, const char *text,
                                        size_t size, stair_npy_header *header);

/* Opens a regular file whose length fits its header; never blocks. */
stair_status stair_npy_open(stair_context *context, const char *path, stair_npy *npy);
void stair_npy_close(stair_npy *npy);

/* out (n, row_size): rows first .. first+n-1 as doubles in C order.  Refuses NaN and infinity, and
 * integers that a double cannot hold, with their index. */
stair_status stair_npy_read(stair_context *context, const stair_npy *npy, uint64_t first, size_t n,
                            double *out);

/* "(3, 2, 2)" of the header, for messages. */
const char *stair_npy_shape_text(const stair_npy_header *header, char *text, size_t size);

/* Writes a header for (rows, tail...) at the start of `file`; its size does not depend on `rows`, so
 * that it can be written again when the number is known.  tail (rank - 1). */
stair_status stair_npy_header_write(stair_context *context, FILE *file, const char *descr, uint64_t rows,
                                    int rank, const uint64_t *tail);

#endif
