/* Blocks of samples (label, omega, V) for the channel. */
#include "points.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static stair_status wrong_shape(stair_context *context, const stair_npy *npy, const char *option,
                                const char *expected)
{
    char shape[200];
    return stair_fail(context, STAIR_BAD_INPUT, "%s: --%s needs shape %s, not %s", npy->path, option,
                      expected, stair_npy_shape_text(&npy->header, shape, sizeof shape));
}

static bool has_tail(const stair_npy *npy, int rank, int a, int b)
{
    const stair_npy_header *h = &npy->header;
    return h->rank == rank && h->shape[rank - 1] == (uint64_t)b &&
           (rank < 3 || h->shape[rank - 2] == (uint64_t)a);
}

static stair_status check_labels(cli_points *points, const stair_model_info *info)
{
    char expected[64];
    int m = info->tokens, k = info->label_size;
    if (has_tail(&points->labels, 2, 0, k) || (k == m * m && has_tail(&points->labels, 3, m, m)))
        return STAIR_OK;
    if (k == m * m)
        snprintf(expected, sizeof expected, "(n, %d, %d) or (n, %d)", m, m, k);
    else
        snprintf(expected, sizeof expected, "(n, %d)", k);
    return wrong_shape(points->context, &points->labels, points->plain ? "y" : "logits", expected);
}

static stair_status check_omega(cli_points *points, const stair_model_info *info)
{
    char expected[64];
    snprintf(expected, sizeof expected, "(%" PRIu64 ", %d, %d)", points->n, info->indices, info->tokens);
    if (has_tail(&points->omega, 3, info->indices, info->tokens) &&
        points->omega.header.shape[0] == points->n)
        return STAIR_OK;
    return wrong_shape(points->context, &points->omega, "omega", expected);
}

static stair_status check_cov(cli_points *points, const stair_model_info *info)
{
    char expected[96];
    int p = info->indices;
    const stair_npy_header *h = &points->cov.header;
    bool one = h->rank == 2 && h->shape[0] == (uint64_t)p && h->shape[1] == (uint64_t)p;
    if (one || (has_tail(&points->cov, 3, p, p) && h->shape[0] == points->n)) return STAIR_OK;
    snprintf(expected, sizeof expected, "(%d, %d) or (%" PRIu64 ", %d, %d)", p, p, points->n, p, p);
    return wrong_shape(points->context, &points->cov, "cov", expected);
}

static stair_status check_choice(const cli_options *o, const option_parse *parse, cli_points *points,
                                 const stair_model_info *info)
{
    stair_context *context = points->context;
    if (o->logits && o->y)
        return stair_fail(context, STAIR_BAD_INPUT, "--logits and --y both give labels; pass one");
    if (!(o->logits || o->y) || !o->omega || !o->cov)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "given points need --logits or --y, --omega and --cov; %s is missing",
                          !(o->logits || o->y) ? "the label"
                          : !o->omega          ? "--omega"
                                               : "--cov");
    for (const char *const *name =
             (const char *const[]){"points", "cov-low", "cov-high", "full", "one-cov", NULL};
         *name; name++)
        if (option_given(parse, *name))
            return stair_fail(context, STAIR_BAD_INPUT, "--%s is for random points, and files give them",
                              *name);
    if (o->logits && !info->label_is_log)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "--logits: the labels of %s are not row softmax; pass --y",
                          stair_model_spec(points->model));
    return STAIR_OK;
}

static stair_status open_files(const cli_options *o, cli_points *points, const stair_model_info *info)
{
    stair_context *context = points->context;
    points->plain = o->y != NULL;
    STAIR_TRY(stair_npy_open(context, o->y ? o->y : o->logits, &points->labels));
    STAIR_TRY(stair_npy_open(context, o->omega, &points->omega));
    STAIR_TRY(stair_npy_open(context, o->cov, &points->cov));
    STAIR_TRY(check_labels(points, info));
    points->n = points->labels.header.shape[0];
    STAIR_TRY(check_omega(points, info));
    return check_cov(points, info);
}

static stair_status allocate(cli_points *points, const stair_model_info *info)
{
    size_t pm = (size_t)info->indices * (size_t)info->tokens,
           pp = (size_t)info->indices * (size_t)info->indices;
    size_t k = (size_t)info->label_size, n = points->block;
    points->buffer = malloc(n * (2 * k + 2 * pm + pp) * sizeof(double));
    if (!points->buffer) return stair_fail(points->context, STAIR_NO_MEMORY, "out of memory");
    points->label_block = points->buffer;
    points->plain_block = points->label_block + n * k;
    points->omega_block = points->plain_block + n * k;
    points->z_block = points->omega_block + n * pm;
    points->cov_block = points->z_block + n * pm;
    return STAIR_OK;
}

/* Bad numbers are found before the first sample is evaluated, not after hours. */
static stair_status scan(cli_points *points)
{
    if (!points->from_files) return STAIR_OK;
    for (uint64_t first = 0; first < points->n; first += points->block) {
        size_t n = points->n - first < points->block ? (size_t)(points->n - first) : points->block;
        STAIR_TRY(points_read(points, first, n));
        if (signals_caught()) return stair_fail(points->context, STAIR_FAILED, "interrupted");
    }
    return STAIR_OK;
}

static stair_status prepare(cli_request *request, cli_points *points)
{
    const cli_options *o = &request->options;
    stair_model_info info = stair_model_describe(request->model);
    points->from_files = o->logits || o->y || o->omega || o->cov;
    points->n = (uint64_t)o->points;
    if (points->from_files) {
        STAIR_TRY(check_choice(o, &request->parse, points, &info));
        STAIR_TRY(open_files(o, points, &info));
    }
    if (points->block > points->n) points->block = points->n ? (size_t)points->n : 1;
    STAIR_TRY(allocate(points, &info));
    return scan(points);
}

stair_status points_open(cli_request *request, size_t block, cli_points *points)
{
    const cli_options *o = &request->options;
    *points = (struct cli_points){.context = request->context, .model = request->model, .block = block};
    points->labels.fd = points->omega.fd = points->cov.fd = -1;
    points->random = o->random;
    points->random.seed = o->channel.seed; /* one --seed for both */
    stair_status status = prepare(request, points);
    if (status != STAIR_OK) points_close(points);
    return status;
}

static stair_status read_labels(cli_points *points, uint64_t first, size_t n)
{
    stair_context *context = points->context;
    double *read = points->plain ? points->plain_block : points->label_block;
    STAIR_TRY(stair_npy_read(context, &points->labels, first, n, read));
    size_t k = (size_t)points->labels.header.row_size;
    for (size_t i = 0; i < n; i++) { /* one at a time, to count samples from the start of the file */
        stair_status status = points->plain
                                  ? stair_model_labels_from_outputs(context, points->model, 1, read + i * k,
                                                                    points->label_block + i * k)
                                  : stair_model_labels_check(context, points->model, 1, read + i * k);
        if (status == STAIR_OK) continue;
        char reason[256];
        const char *message = stair_context_message(context), *colon = strstr(message, "sample 0: ");
        snprintf(reason, sizeof reason, "%.250s", colon ? colon + strlen("sample 0: ") : message);
        return stair_fail(context, status, "%s: sample %" PRIu64 ": %s", points->labels.path, first + i,
                          reason);
    }
    return STAIR_OK;
}

stair_status points_read(cli_points *points, uint64_t first, size_t n)
{
    if (!points->from_files) {
        points->covs = points->random.one_cov ? 1 : n;
        return stair_points_draw(points->context, points->model, &points->random, first, n, points->z_block,
                                 points->label_block, points->omega_block, points->cov_block);
    }
    STAIR_TRY(read_labels(points, first, n));
    STAIR_TRY(stair_npy_read(points->context, &points->omega, first, n, points->omega_block));
    bool one = points->cov.header.rank == 2;
    points->covs = one ? 1 : n;
    if (one)
        return stair_npy_read(points->context, &points->cov, 0, (size_t)points->cov.header.shape[0],
                              points->cov_block);
    return stair_npy_read(points->context, &points->cov, first, n, points->cov_block);
}

stair_status points_blame(cli_points *points, stair_status status)
{
    if ((status != STAIR_BAD_INPUT && status != STAIR_UNSUPPORTED) || !points->from_files) return status;
    char message[400];
    snprintf(message, sizeof message, "%s", stair_context_message(points->context));
    const stair_npy *file = strstr(message, "cov")     ? &points->cov
                            : strstr(message, "omega") ? &points->omega
                                                       : &points->labels;
    return stair_fail(points->context, status, "%s: %s", file->path, message);
}

void points_close(cli_points *points)
{
    stair_npy_close(&points->labels);
    stair_npy_close(&points->omega);
    stair_npy_close(&points->cov);
    free(points->buffer);
    points->buffer = NULL;
}
