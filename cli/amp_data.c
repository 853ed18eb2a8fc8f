/* Samples of the user's for GAMP.  X stays in its files, mapped, so that it may be larger than memory; every
 * number is looked at once before anything is computed. */
#define _DEFAULT_SOURCE /* madvise */
#include "amp_data.h"
#include "progress.h"
#include "core/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static stair_status check_shape(cli_request *request, int dim, const stair_npy *npy)
{
    const stair_npy_header *h = &npy->header;
    uint64_t m = (uint64_t)stair_model_describe(request->model).tokens;
    bool flat = m == 1 && h->rank == 2;
    char shape[200], wanted[64];
    uint64_t d = h->rank >= 2 ? h->shape[h->rank - 1] : 0;
    if ((flat || (h->rank == 3 && h->shape[1] == m)) && d >= 1 && d <= STAIR_MOST_DATA_DIM &&
        (!dim || d == (uint64_t)dim))
        return STAIR_OK;
    if (dim)
        snprintf(wanted, sizeof wanted, "(n, %" PRIu64 ", %d)", m, dim);
    else
        snprintf(wanted, sizeof wanted, "(n, %" PRIu64 ", D)", m);
    return stair_fail(request->context, STAIR_BAD_INPUT, "%s: samples need shape %s, not %s", npy->path,
                      wanted, stair_npy_shape_text(h, shape, sizeof shape));
}

static stair_status check_kind(cli_request *request, const amp_data *data, const stair_npy *npy)
{
    const stair_npy_header *h = &npy->header;
    if (h->kind == data->kind && h->size == data->size) return STAIR_OK;
    return stair_fail(request->context, STAIR_BAD_INPUT, "%s: its numbers are %c%d and those of %s %c%d",
                      npy->path, h->kind, h->size, data->files.names[0], data->kind, data->size);
}

static bool all_finite(const amp_data *data, const char *row, uint64_t n)
{
    double sum = 0; /* x - x is 0, or NaN */
    if (data->data.single)
        for (uint64_t i = 0; i < n; i++) sum += (double)(((const float *)row)[i] - ((const float *)row)[i]);
    else
        for (uint64_t i = 0; i < n; i++) sum += ((const double *)row)[i] - ((const double *)row)[i];
    return sum == 0;
}

/* The reader names the element. */
static stair_status name_element(cli_request *request, const char *path, uint64_t row)
{
    stair_npy npy;
    STAIR_TRY(stair_npy_open(request->context, path, &npy));
    double *numbers = malloc((npy.header.row_size + 1) * sizeof *numbers);
    stair_status status = numbers ? stair_npy_read(request->context, &npy, row, 1, numbers)
                                  : stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    free(numbers);
    stair_npy_close(&npy);
    return status;
}

/* Samples first .. last-1 of all, of which file k has those from `begin` on. */
static stair_status scan_file(cli_request *request, const amp_data *data, size_t k, size_t begin,
                              size_t first, size_t last)
{
    size_t row = (size_t)stair_model_describe(request->model).tokens * (size_t)data->data.dim;
    const char *x = data->parts[k].x;
    for (size_t i = first; i < last; i++) {
        if (signals_caught()) return stair_fail(request->context, STAIR_FAILED, "interrupted");
        if (!all_finite(data, x + (i - begin) * row * (size_t)data->size, row))
            return name_element(request, data->files.names[k], i - begin);
    }
    return STAIR_OK;
}

/* Each rank looks at its share. */
static stair_status scan(cli_request *request, const amp_data *data)
{
    size_t first, last, begin = 0;
    stair_status status = STAIR_OK;
    stair_ranks_mine(request->context, data->data.samples, &first, &last);
    for (size_t k = 0; k < data->files.count && status == STAIR_OK; k++) {
        size_t end = data->parts[k].end, from = first > begin ? first : begin, to = last < end ? last : end;
        if (from < to) status = scan_file(request, data, k, begin, from, to);
        begin = end;
    }
    return stair_ranks_check(request->context, status);
}

static stair_status map(cli_request *request, const stair_npy *npy, amp_map *to, const void **x)
{
    to->size = (size_t)(npy->offset + npy->header.count * (uint64_t)npy->header.size);
    void *memory = mmap(NULL, to->size, PROT_READ, MAP_PRIVATE, npy->fd, 0);
    if (memory == MAP_FAILED)
        return stair_fail(request->context, STAIR_FAILED, "%s: cannot be mapped", npy->path);
    to->memory = memory;
    madvise(memory, to->size, MADV_SEQUENTIAL); /* a wish: refusal is no failure */
    *x = (const char *)memory + npy->offset;
    return STAIR_OK;
}

/* Opens file k; what can be mapped is, and stays so when the file is closed again. */
static stair_status add_file(cli_request *request, size_t k, amp_data *data)
{
    stair_npy npy;
    STAIR_TRY(stair_npy_open(request->context, data->files.names[k], &npy));
    const stair_npy_header *h = &npy.header;
    stair_status status = check_shape(request, data->data.dim, &npy);
    if (status == STAIR_OK && k == 0) {
        data->data.dim = (int)h->shape[h->rank - 1];
        data->kind = h->kind;
        data->size = h->size;
        data->mapped = true;
    }
    if (status == STAIR_OK) status = check_kind(request, data, &npy);
    if (status == STAIR_OK) {
        bool plain = h->count == 0 ||
                     (h->kind == 'f' && !h->swap && !h->fortran && npy.offset % (uint64_t)h->size == 0);
        data->data.samples += (size_t)h->shape[0];
        data->parts[k].end = data->data.samples;
        data->mapped &= plain;
        if (plain && h->count) status = map(request, &npy, &data->maps[k], &data->parts[k].x);
    }
    stair_npy_close(&npy);
    return status;
}

/* All files as doubles in memory. */
static stair_status convert(cli_request *request, amp_data *data)
{
    size_t row = (size_t)stair_model_describe(request->model).tokens * (size_t)data->data.dim, at = 0;
    data->data.single = false;
    data->copy = malloc((data->data.samples * row + 1) * sizeof *data->copy);
    if (!data->copy)
        return stair_fail(request->context, STAIR_NO_MEMORY,
                          "%s: no memory to convert it; save float32 or float64 in C order",
                          data->files.names[0]);
    for (size_t k = 0; k < data->files.count; k++) {
        stair_npy npy;
        STAIR_TRY(stair_npy_open(request->context, data->files.names[k], &npy));
        bool same = npy.header.shape[0] == data->parts[k].end - at && npy.header.row_size == row;
        stair_status status =
            same ? stair_npy_read(request->context, &npy, 0, (size_t)npy.header.shape[0],
                                  data->copy + at * row)
                 : stair_fail(request->context, STAIR_BAD_INPUT, "%s: changed while it was read", npy.path);
        stair_npy_close(&npy);
        STAIR_TRY(status);
        at = data->parts[k].end;
    }
    data->data.x = data->copy;
    return STAIR_OK;
}

static stair_status add_files(cli_request *request, amp_data *data)
{
    size_t n = data->files.count;
    data->parts = calloc(n, sizeof *data->parts);
    data->maps = calloc(n, sizeof *data->maps);
    if (!data->parts || !data->maps) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t k = 0; k < n; k++) STAIR_TRY(add_file(request, k, data));
    if (request->options.dry_run) { /* nobody looks at the numbers */
        data->data.single = data->mapped && data->size == sizeof(float);
        data->data.x = data->mapped ? data->parts[0].x : NULL;
        return STAIR_OK;
    }
    if (!data->mapped) return convert(request, data);
    data->data.single = data->size == sizeof(float);
    data->data.x = data->parts[0].x;
    data->data.parts = n > 1 ? data->parts : NULL;
    data->data.part_count = n;
    return scan(request, data);
}

stair_status amp_data_open(cli_request *request, const char *word, int dim, amp_data *data)
{
    *data = (amp_data){.data.dim = dim};
    stair_status status = file_list_read(request->context, word, &data->files);
    if (status == STAIR_OK) status = add_files(request, data);
    if (status != STAIR_OK) amp_data_close(data);
    return status;
}

void amp_data_close(amp_data *data)
{
    for (size_t k = 0; k < data->files.count && data->maps; k++)
        if (data->maps[k].memory) munmap(data->maps[k].memory, data->maps[k].size);
    file_list_free(&data->files);
    free(data->maps);
    free(data->parts);
    free(data->copy);
    free(data->labels);
    *data = (amp_data){0};
}
