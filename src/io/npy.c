/* NPY data: blocks of rows from a file, converted to doubles in C order. */
#include "io/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ELEMENTS = 4096 /* converted at a time: 32 kB on the stack */
};

static stair_status bad(stair_context *context, const char *path, const char *reason)
{
    return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, reason);
}

/* A FIFO without a writer would block a plain open for ever. */
static stair_status open_regular(stair_context *context, const char *path, int *fd, uint64_t *bytes)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &info)) return bad(context, path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return bad(context, path, "is a directory, not an NPY file");
    if (!S_ISREG(info.st_mode))
        return bad(context, path, "is not a regular file; save the array to a file first");
    *bytes = (uint64_t)info.st_size;
    return STAIR_OK;
}

static stair_status read_exactly(stair_context *context, const stair_npy *npy, uint64_t offset, size_t size,
                                 void *out)
{
    char *at = out;
    while (size > 0) {
        ssize_t got = pread(npy->fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return stair_fail(context, STAIR_FAILED, "%s: %s", npy->path, strerror(errno));
        if (got == 0) return bad(context, npy->path, "truncated");
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return STAIR_OK;
}

static stair_status read_header(stair_context *context, stair_npy *npy, uint64_t bytes)
{
    unsigned char start[12];
    char text[STAIR_NPY_HEADER];
    if (bytes < sizeof start) return bad(context, npy->path, "is not an NPY file (too short)");
    STAIR_TRY(read_exactly(context, npy, 0, sizeof start, start));
    if (memcmp(start, "\x93NUMPY", 6))
        return bad(context, npy->path, "is not an NPY file; write one with numpy.save");
    if (start[6] < 1 || start[6] > 3) return bad(context, npy->path, "unknown NPY version");
    uint64_t length = start[8] | (uint64_t)start[9] << 8;
    if (start[6] > 1) length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    npy->offset = start[6] > 1 ? 12 : 10;
    if (length > STAIR_NPY_HEADER) return bad(context, npy->path, "NPY header over 10 kB");
    if (npy->offset + length > bytes) return bad(context, npy->path, "truncated within the NPY header");
    STAIR_TRY(read_exactly(context, npy, npy->offset, (size_t)length, text));
    npy->offset += length;
    return stair_npy_header_parse(context, npy->path, text, (size_t)length, &npy->header);
}

static stair_status check_length(stair_context *context, const stair_npy *npy, uint64_t bytes)
{
    uint64_t there = bytes - npy->offset, expected = npy->header.count * (uint64_t)npy->header.size;
    char shape[200];
    if (there == expected) return STAIR_OK;
    stair_npy_shape_text(&npy->header, shape, sizeof shape);
    return stair_fail(context, STAIR_BAD_INPUT,
                      "%s: %s: shape %s needs %" PRIu64 " bytes of data, the file has %" PRIu64, npy->path,
                      there < expected ? "truncated" : "trailing bytes", shape, expected, there);
}

stair_status stair_npy_open(stair_context *context, const char *path, stair_npy *npy)
{
    uint64_t bytes = 0;
    *npy = (stair_npy){.fd = -1};
    stair_status status = open_regular(context, path, &npy->fd, &bytes);
    if (status == STAIR_OK && !(npy->path = strdup(path)))
        status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) status = read_header(context, npy, bytes);
    if (status == STAIR_OK) status = check_length(context, npy, bytes);
    if (status != STAIR_OK) stair_npy_close(npy);
    return status;
}

void stair_npy_close(stair_npy *npy)
{
    if (npy->fd >= 0) close(npy->fd);
    free(npy->path);
    *npy = (stair_npy){.fd = -1};
}

static double widen(const stair_npy_header *header, const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (int k = 0; k < header->size; k++) /* little-endian, whatever the file's order */
        bits |= (uint64_t)bytes[header->swap ? header->size - 1 - k : k] << (8 * k);
    if (header->kind == 'f' && header->size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (header->kind == 'f') {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return value;
    }
    if (header->kind != 'i') return bits >> 53 ? NAN : (double)bits;
    int shift = 64 - 8 * header->size;
    int64_t value = (int64_t)(bits << shift) >> shift;
    return value > INT64_C(1) << 53 || value < -(INT64_C(1) << 53) ? NAN : (double)value;
}

/* The index of element t of a row, as text "3, 0, 1" with the row number in front. */
static stair_status not_finite(stair_context *context, const stair_npy *npy, uint64_t row, uint64_t t,
                               double value)
{
    const stair_npy_header *header = &npy->header;
    uint64_t index[STAIR_NPY_RANK];
    char text[200];
    int used = snprintf(text, sizeof text, "%" PRIu64, row);
    for (int i = header->rank - 1; i > 0; i--) {
        index[i] = t % header->shape[i];
        t /= header->shape[i];
    }
    for (int i = 1; i < header->rank; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %" PRIu64, index[i]);
    if (header->kind != 'f')
        return stair_fail(context, STAIR_BAD_INPUT, "%s: element [%s] is an integer beyond 2^53", npy->path,
                          text);
    return stair_fail(context, STAIR_BAD_INPUT, "%s: element [%s] is %s; every number must be finite",
                      npy->path, text,
                      isnan(value) ? "nan"
                      : value > 0  ? "inf"
                                   : "-inf");
}

/* Elements start .. start+n-1 in file order, which go to out[0], out[stride], ... */
typedef struct {
    uint64_t start; /* in file order */
    uint64_t n;
    size_t stride;   /* of out */
    uint64_t row, t; /* row of the first one, and its place in that row in C order */
    bool by_row;     /* element k is in row `row` + k, as in a column; else k / row_size rows further */
} run;

static stair_status read_run(stair_context *context, const stair_npy *npy, run part, double *out)
{
    const stair_npy_header *header = &npy->header;
    unsigned char raw[ELEMENTS * 8];
    for (uint64_t done = 0; done < part.n;) {
        size_t now = part.n - done < ELEMENTS ? (size_t)(part.n - done) : ELEMENTS,
               size = (size_t)header->size;
        STAIR_TRY(read_exactly(context, npy, npy->offset + (part.start + done) * size, now * size, raw));
        for (size_t k = 0; k < now; k++, done++) {
            double value = widen(header, raw + k * size);
            out[done * part.stride] = value;
            if (isfinite(value)) continue;
            if (part.by_row) return not_finite(context, npy, part.row + done, part.t, value);
            return not_finite(context, npy, part.row + done / header->row_size, done % header->row_size,
                              value);
        }
    }
    return STAIR_OK;
}

/* Place of C-order element t of a row among the columns of a Fortran-order file. */
static uint64_t fortran_column(const stair_npy_header *header, uint64_t t)
{
    uint64_t weight[STAIR_NPY_RANK], product = 1, column = 0;
    for (int i = 1; i < header->rank; i++) {
        weight[i] = product;
        product *= header->shape[i];
    }
    for (int i = header->rank - 1; i > 0; i--) {
        column += t % header->shape[i] * weight[i];
        t /= header->shape[i];
    }
    return column;
}

stair_status stair_npy_read(stair_context *context, const stair_npy *npy, uint64_t first, size_t n,
                            double *out)
{
    const stair_npy_header *header = &npy->header;
    if (n == 0 || header->row_size == 0) return STAIR_OK;
    if (!header->fortran) {
        run all = {.start = first * header->row_size, .n = n * header->row_size, .stride = 1, .row = first};
        return read_run(context, npy, all, out);
    }
    for (uint64_t t = 0; t < header->row_size; t++) {
        run column = {.start = fortran_column(header, t) * header->shape[0] + first,
                      .n = n,
                      .stride = (size_t)header->row_size,
                      .row = first,
                      .t = t,
                      .by_row = true};
        STAIR_TRY(read_run(context, npy, column, out + t));
    }
    return STAIR_OK;
}
