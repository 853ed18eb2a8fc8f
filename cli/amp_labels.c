/* Labels of the user's for GAMP: read whole, file by file, into the form that the model carries. */
#include "amp_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Labels (n, K), or (n, M, M) where K is M M; of a single file for just as many samples as there are. */
static stair_status check_labels(cli_request *request, const stair_npy *npy, uint64_t samples, bool only)
{
    const stair_npy_header *h = &npy->header;
    stair_model_info info = stair_model_describe(request->model);
    uint64_t m = (uint64_t)info.tokens, k = (uint64_t)info.label_size;
    char shape[200], square[64] = "", n[24] = "n";
    bool flat = h->rank == 2 && h->shape[1] == k,
         full = k == m * m && h->rank == 3 && h->shape[1] == m && h->shape[2] == m;
    if ((flat || full) && (!only || h->shape[0] == samples)) return STAIR_OK;
    if (only) snprintf(n, sizeof n, "%" PRIu64, samples);
    if (k == m * m) snprintf(square, sizeof square, "(%s, %" PRIu64 ", %" PRIu64 ") or ", n, m, m);
    return stair_fail(request->context, STAIR_BAD_INPUT, "%s: labels need shape %s(%s, %" PRIu64 "), not %s",
                      npy->path, square, n, k, stair_npy_shape_text(h, shape, sizeof shape));
}

/* n labels into `out`, as the model carries them. */
static stair_status read_labels(cli_request *request, const stair_npy *npy, bool logits, size_t n,
                                double *out)
{
    size_t k = (size_t)stair_model_describe(request->model).label_size;
    stair_context *context = request->context;
    double *plain = logits ? out : malloc((n * k + 1) * sizeof(double));
    stair_status status = plain ? stair_npy_read(context, npy, 0, n, plain)
                                : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status != STAIR_OK) {
        if (!logits) free(plain);
        return status;
    }
    status = logits ? stair_model_labels_check(context, request->model, n, plain)
                    : stair_model_labels_from_outputs(context, request->model, n, plain, out);
    if (!logits) free(plain);
    if (status == STAIR_OK) return STAIR_OK;
    char reason[300];
    snprintf(reason, sizeof reason, "%.290s", stair_context_message(context));
    return stair_fail(context, status, "%s: %s", npy->path, reason);
}

/* Those of one file, `*at` samples after the first. */
static stair_status add_labels(cli_request *request, const char *path, bool only, bool logits, amp_data *data,
                               size_t *at)
{
    stair_npy npy;
    size_t k = (size_t)stair_model_describe(request->model).label_size, samples = data->data.samples;
    STAIR_TRY(stair_npy_open(request->context, path, &npy));
    stair_status status = check_labels(request, &npy, samples, only);
    if (status == STAIR_OK && npy.header.shape[0] > samples - *at)
        status = stair_fail(request->context, STAIR_BAD_INPUT,
                            "%s: labels of samples %zu to %" PRIu64 ", and there are only %zu samples", path,
                            *at, *at + npy.header.shape[0] - 1, samples);
    if (status == STAIR_OK) {
        status = read_labels(request, &npy, logits, (size_t)npy.header.shape[0], data->labels + *at * k);
        *at += (size_t)npy.header.shape[0];
    }
    stair_npy_close(&npy);
    return status;
}

stair_status amp_data_labels(cli_request *request, const char *word, bool logits, amp_data *data)
{
    stair_model_info info = stair_model_describe(request->model);
    size_t samples = data->data.samples, at = 0;
    file_list files;
    if (logits && !info.label_is_log)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--logits: the labels of %s are not row softmax",
                          stair_model_spec(request->model));
    data->labels = malloc((samples * (size_t)info.label_size + 1) * sizeof(double));
    if (!data->labels) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    data->data.labels = data->labels;
    STAIR_TRY(file_list_read(request->context, word, &files));
    stair_status status = STAIR_OK;
    for (size_t k = 0; k < files.count && status == STAIR_OK; k++)
        status = add_labels(request, files.names[k], files.count == 1, logits, data, &at);
    if (status == STAIR_OK && at < samples)
        status = stair_fail(request->context, STAIR_BAD_INPUT,
                            "%s: the last of %zu files of labels for %zu samples, "
                            "and there are %zu samples",
                            files.names[files.count - 1], files.count, at, samples);
    file_list_free(&files);
    return status;
}
