/* NPY files for GAMP.  X stays in its file, mapped, so that it may be larger than memory; every number is
 * looked at once before anything is computed. */
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

static bool all_finite(const amp_data *data, const char *row, uint64_t n)
{
    double sum = 0; /* x - x is 0, or NaN */
    if (data->data.single)
        for (uint64_t i = 0; i < n; i++) sum += (double)(((const float *)row)[i] - ((const float *)row)[i]);
    else
        for (uint64_t i = 0; i < n; i++) sum += ((const double *)row)[i] - ((const double *)row)[i];
    return sum == 0;
}

static stair_status scan_rows(cli_request *request, amp_data *data, uint64_t first, uint64_t last)
{
    const stair_npy_header *h = &data->x.header;
    for (uint64_t r = first; r < last; r++) {
        if (signals_caught()) return stair_fail(request->context, STAIR_FAILED, "interrupted");
        if (all_finite(data, (const char *)data->data.x + r * h->row_size * (uint64_t)h->size, h->row_size))
            continue;
        double *row = malloc(h->row_size * sizeof(double)); /* the reader names the element */
        stair_status status = row ? stair_npy_read(request->context, &data->x, r, 1, row)
                                  : stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
        free(row);
        return status;
    }
    return STAIR_OK;
}

/* Each rank looks at its share. */
static stair_status scan(cli_request *request, amp_data *data)
{
    size_t first, last;
    stair_ranks_mine(request->context, (size_t)data->x.header.shape[0], &first, &last);
    return stair_ranks_check(request->context, scan_rows(request, data, first, last));
}

static stair_status map(cli_request *request, amp_data *data)
{
    const stair_npy *npy = &data->x;
    data->map_size = (size_t)(npy->offset + npy->header.count * (uint64_t)npy->header.size);
    void *memory = mmap(NULL, data->map_size, PROT_READ, MAP_PRIVATE, npy->fd, 0);
    if (memory == MAP_FAILED)
        return stair_fail(request->context, STAIR_FAILED, "%s: cannot be mapped", npy->path);
    data->map = memory;
    madvise(memory, data->map_size, MADV_SEQUENTIAL); /* a wish: refusal is no failure */
    data->data.x = (const char *)memory + npy->offset;
    return scan(request, data);
}

static stair_status convert(cli_request *request, amp_data *data)
{
    const stair_npy_header *h = &data->x.header;
    data->data.single = false;
    data->copy = malloc((h->count + 1) * sizeof(double));
    if (!data->copy)
        return stair_fail(request->context, STAIR_NO_MEMORY,
                          "%s: no memory to convert it; save float32 or float64 in C order", data->x.path);
    data->data.x = data->copy;
    return stair_npy_read(request->context, &data->x, 0, (size_t)h->shape[0], data->copy);
}

stair_status amp_data_open(cli_request *request, const char *path, int dim, amp_data *data)
{
    *data = (amp_data){.x.fd = -1};
    stair_status status = stair_npy_open(request->context, path, &data->x);
    if (status == STAIR_OK) status = check_shape(request, dim, &data->x);
    if (status == STAIR_OK) {
        const stair_npy_header *h = &data->x.header;
        bool plain = h->kind == 'f' && !h->swap && !h->fortran && h->count > 0 &&
                     data->x.offset % (uint64_t)h->size == 0;
        data->data.dim = (int)h->shape[h->rank - 1];
        data->data.samples = (size_t)h->shape[0];
        data->data.single = h->size == 4;
        status = plain ? map(request, data) : convert(request, data);
    }
    if (status != STAIR_OK) amp_data_close(data);
    return status;
}

static stair_status check_labels(cli_request *request, const stair_npy *npy, uint64_t samples)
{
    const stair_npy_header *h = &npy->header;
    stair_model_info info = stair_model_describe(request->model);
    uint64_t m = (uint64_t)info.tokens, k = (uint64_t)info.label_size;
    char shape[200], square[64] = "";
    bool flat = h->rank == 2 && h->shape[1] == k,
         full = k == m * m && h->rank == 3 && h->shape[1] == m && h->shape[2] == m;
    if ((flat || full) && h->shape[0] == samples) return STAIR_OK;
    if (k == m * m)
        snprintf(square, sizeof square, "(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ") or ", samples, m, m);
    return stair_fail(request->context, STAIR_BAD_INPUT,
                      "%s: labels need shape %s(%" PRIu64 ", %" PRIu64 "), not %s", npy->path, square,
                      samples, k, stair_npy_shape_text(h, shape, sizeof shape));
}

static stair_status read_labels(cli_request *request, const stair_npy *npy, bool logits, amp_data *data)
{
    size_t n = data->data.samples, k = (size_t)stair_model_describe(request->model).label_size;
    stair_context *context = request->context;
    data->labels = malloc((n * k + 1) * sizeof(double));
    if (!data->labels) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    data->data.labels = data->labels;
    double *plain = logits ? data->labels : malloc((n * k + 1) * sizeof(double));
    stair_status status = plain ? stair_npy_read(context, npy, 0, n, plain)
                                : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status != STAIR_OK) {
        if (!logits) free(plain);
        return status;
    }
    status = logits ? stair_model_labels_check(context, request->model, n, plain)
                    : stair_model_labels_from_outputs(context, request->model, n, plain, data->labels);
    if (!logits) free(plain);
    if (status == STAIR_OK) return STAIR_OK;
    char reason[300];
    snprintf(reason, sizeof reason, "%.290s", stair_context_message(context));
    return stair_fail(context, status, "%s: %s", npy->path, reason);
}

stair_status amp_data_labels(cli_request *request, const char *path, bool logits, amp_data *data)
{
    stair_npy npy;
    if (logits && !stair_model_describe(request->model).label_is_log)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--logits: the labels of %s are not row softmax",
                          stair_model_spec(request->model));
    STAIR_TRY(stair_npy_open(request->context, path, &npy));
    stair_status status = check_labels(request, &npy, data->data.samples);
    if (status == STAIR_OK) status = read_labels(request, &npy, logits, data);
    stair_npy_close(&npy);
    return status;
}

void amp_data_close(amp_data *data)
{
    if (data->map) munmap(data->map, data->map_size);
    free(data->copy);
    free(data->labels);
    stair_npy_close(&data->x);
    *data = (amp_data){.x.fd = -1};
}
