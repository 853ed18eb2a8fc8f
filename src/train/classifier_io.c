/* Weights of a classifier as NPZ, readable by NumPy, and back.  Doubles are stored as they are: what is
 * loaded predicts exactly what was saved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "io/npz.h"
#include "train/classifier.h"

/* A member (rows, tail...) whose rows lie `stride` apart. */
static stair_status add_rows(stair_context *context, stair_npz *npz, const char *name, int rank,
                             const uint64_t *tail, size_t rows, size_t stride, const double *values)
{
    int member;
    STAIR_TRY(stair_npz_add(context, npz, name, "<f8", 8, rank, tail, &member));
    for (size_t r = 0; r < rows; r++)
        STAIR_TRY(stair_npz_append(context, npz, member, values + r * stride, 1));
    return STAIR_OK;
}

/* Layers are rank8 rows apart, so they are appended one by one. */
static stair_status add_attention(stair_context *context, stair_npz *npz, const stair_classifier *c)
{
    int member;
    size_t p = (size_t)c->rank, d = (size_t)c->dim;
    uint64_t tail[2] = {p, d};
    double *packed = malloc(p * d * sizeof(double));
    if (!packed) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_npz_add(context, npz, "attention", "<f8", 8, 3, tail, &member);
    for (int l = 0; l < c->layers && status == STAIR_OK; l++) {
        for (size_t k = 0; k < p; k++)
            memcpy(packed + k * d, stair_classifier_w(c, c->parameters, l) + k * (size_t)c->dim8,
                   d * sizeof(double));
        status = stair_npz_append(context, npz, member, packed, 1);
    }
    free(packed);
    if (status != STAIR_OK) return status;
    return add_rows(context, npz, "attention_bias", 2, tail, (size_t)c->layers, (size_t)c->rank8,
                    stair_classifier_b(c, c->parameters, 0));
}

static stair_status add_all(stair_context *context, stair_npz *npz, const stair_classifier *c)
{
    uint64_t d = (uint64_t)c->dim;
    size_t classes = (size_t)c->classes, d8 = (size_t)c->dim8;
    const double *readout = stair_classifier_readout(c, c->parameters);
    int64_t shape[4] = {c->longest, c->pad, c->bias, c->pad_batch};
    int member;
    STAIR_TRY(add_rows(context, npz, "embedding", 2, &d, (size_t)c->vocab, d8, c->embedding));
    STAIR_TRY(add_attention(context, npz, c));
    STAIR_TRY(add_rows(context, npz, "readout", 2, &d, classes, d8, readout));
    STAIR_TRY(add_rows(context, npz, "readout_bias", 1, NULL, classes, 1, readout + classes * d8));
    STAIR_TRY(add_rows(context, npz, "scale", 1, NULL, 1, 1, &c->scale));
    STAIR_TRY(stair_npz_add(context, npz, "shape", "<i8", 8, 1, NULL, &member));
    STAIR_TRY(stair_npz_append(context, npz, member, shape, 4));
    STAIR_TRY(stair_npz_add(context, npz, "classes", "|u1", 1, 1, NULL, &member));
    return stair_npz_append(context, npz, member, c->names, strlen(c->names));
}

stair_status stair_classifier_save(stair_context *context, const stair_classifier *classifier,
                                   const char *path, bool overwrite)
{
    stair_npz *npz = NULL;
    STAIR_TRY(stair_npz_create(context, path, overwrite, &npz));
    stair_status status = add_all(context, npz, classifier);
    if (status == STAIR_OK) status = stair_npz_commit(context, npz);
    stair_npz_destroy(&npz);
    return status;
}

/* An array of the archive, whose shape must be `shape` (-1: any size); nothing else is unpacked. */
static stair_status get(stair_context *context, stair_archive *archive, const char *path, const char *name,
                        int rank, const int64_t *shape, stair_npy_header *header, double **values)
{
    char text[128];
    *values = NULL;
    STAIR_TRY(stair_archive_header(context, archive, path, name, header));
    bool fits = header->rank == rank;
    for (int i = 0; fits && i < rank; i++)
        fits = header->shape[i] > 0 && header->shape[i] < 1 << 28 &&
               (shape[i] < 0 || header->shape[i] == (uint64_t)shape[i]);
    if (fits) return stair_archive_array(context, archive, path, name, header, values);
    return stair_fail(context, STAIR_BAD_INPUT,
                      "%s: array '%s' has shape %s, which does not fit a classifier", path, name,
                      stair_npy_shape_text(header, text, sizeof text));
}

/* Copies packed rows into padded ones and frees the packed. */
static void unpack(size_t rows, size_t columns, double **packed, double *out, size_t stride)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * stride, *packed + r * columns, columns * sizeof(double));
    free(*packed);
    *packed = NULL;
}

static bool whole(double value, int least, int most)
{
    return value >= least && value <= most && value == (int)value;
}

/* Names with commas between, none of them empty; 0 where they are not that.  The last comma may end them. */
static int count_names(const char *names)
{
    int count = 0;
    for (const char *at = names; *at; count++) {
        size_t length = strcspn(at, ",");
        if (length == 0) return 0;
        at += length + (at[length] == ',');
    }
    return count;
}

/* The names of the classes: text, and as many as the readout has rows. */
static stair_status load_names(stair_context *context, stair_archive *archive, const char *path,
                               stair_classifier *c)
{
    stair_npy_header h;
    double *v;
    STAIR_TRY(stair_archive_header(context, archive, path, "classes", &h));
    if (h.count > STAIR_MOST_CLASSES * STAIR_MOST_CLASS_NAME)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: array 'classes' is too long", path);
    STAIR_TRY(get(context, archive, path, "classes", 1, (int64_t[]){-1}, &h, &v));
    c->names = calloc((size_t)h.count + 1, 1);
    bool text = true;
    for (uint64_t i = 0; c->names && i < h.count; i++) {
        text &= whole(v[i], ' ', 255) && v[i] != 127;
        if (text) c->names[i] = (char)(unsigned char)v[i];
    }
    free(v);
    if (!c->names) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (!text) return stair_fail(context, STAIR_BAD_INPUT, "%s: array 'classes' is not text", path);
    if (count_names(c->names) != c->classes)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: array 'classes' does not name the %d of the readout",
                          path, c->classes);
    return STAIR_OK;
}

/* Everything but the embedding and attention matrices, which decided the shape. */
static stair_status load_rest(stair_context *context, stair_archive *archive, const char *path,
                              stair_classifier *c)
{
    stair_npy_header h;
    double *v;
    double *readout = stair_classifier_readout(c, c->parameters);
    STAIR_TRY(get(context, archive, path, "attention_bias", 2, (int64_t[]){c->layers, c->rank}, &h, &v));
    unpack((size_t)c->layers, (size_t)c->rank, &v, stair_classifier_b(c, c->parameters, 0), (size_t)c->rank8);
    STAIR_TRY(get(context, archive, path, "readout", 2, (int64_t[]){c->classes, c->dim}, &h, &v));
    unpack((size_t)c->classes, (size_t)c->dim, &v, readout, (size_t)c->dim8);
    STAIR_TRY(get(context, archive, path, "readout_bias", 1, (int64_t[]){c->classes}, &h, &v));
    unpack(1, (size_t)c->classes, &v, readout + (size_t)c->classes * (size_t)c->dim8, (size_t)c->classes);
    STAIR_TRY(get(context, archive, path, "scale", 1, (int64_t[]){1}, &h, &v));
    unpack(1, 1, &v, &c->scale, 1);
    STAIR_TRY(get(context, archive, path, "shape", 1, (int64_t[]){4}, &h, &v));
    double shape[4];
    unpack(1, 4, &v, shape, 4);
    if (!whole(shape[0], 2, STAIR_MOST_IDS) || !whole(shape[1], 0, c->vocab - 1) || !whole(shape[2], 0, 1) ||
        !whole(shape[3], 0, 1) || !(c->scale > 0))
        return stair_fail(context, STAIR_BAD_INPUT, "%s: arrays 'shape' or 'scale' make no sense", path);
    c->longest = (int)shape[0];
    c->pad = (int)shape[1];
    c->bias = shape[2] != 0;
    c->pad_batch = shape[3] != 0;
    return load_names(context, archive, path, c);
}

/* Every array against every other, before the first is unpacked. */
static stair_status check_shapes(stair_context *context, stair_archive *archive, const char *path)
{
    static const char *const names[] = {"embedding",    "attention", "attention_bias", "readout",
                                        "readout_bias", "scale",     "shape"};
    static const int ranks[] = {2, 3, 2, 2, 1, 1, 1};
    stair_npy_header h[7];
    for (int k = 0; k < 7; k++) {
        STAIR_TRY(stair_archive_header(context, archive, path, names[k], &h[k]));
        char text[128];
        if (h[k].rank != ranks[k])
            return stair_fail(context, STAIR_BAD_INPUT,
                              "%s: array '%s' has shape %s, which does not fit a classifier", path, names[k],
                              stair_npy_shape_text(&h[k], text, sizeof text));
    }
    const struct {
        int array, other;
        uint64_t size, wanted;
    } agree[] = {{1, 0, h[1].shape[2], h[0].shape[1]},
                 {2, 1, h[2].shape[0], h[1].shape[0]},
                 {2, 1, h[2].shape[1], h[1].shape[1]},
                 {3, 0, h[3].shape[1], h[0].shape[1]},
                 {4, 3, h[4].shape[0], h[3].shape[0]},
                 {5, 5, h[5].shape[0], 1},
                 {6, 6, h[6].shape[0], 4}};
    for (size_t k = 0; k < sizeof agree / sizeof *agree; k++)
        if (agree[k].size != agree[k].wanted)
            return stair_fail(context, STAIR_BAD_INPUT, "%s: array '%s' does not fit '%s'", path,
                              names[agree[k].array], names[agree[k].other]);
    if (h[3].shape[0] > STAIR_MOST_CLASSES)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: more than %d classes", path, STAIR_MOST_CLASSES);
    return STAIR_OK;
}

static stair_status load_all(stair_context *context, stair_archive *archive, const char *path,
                             stair_classifier **classifier)
{
    stair_npy_header embedding, attention, bias;
    double *e = NULL, *a = NULL, *b = NULL;
    STAIR_TRY(check_shapes(context, archive, path));
    stair_status status = get(context, archive, path, "embedding", 2, (int64_t[]){-1, -1}, &embedding, &e);
    if (status == STAIR_OK)
        status = get(context, archive, path, "attention", 3, (int64_t[]){-1, -1, (int64_t)embedding.shape[1]},
                     &attention, &a);
    if (status == STAIR_OK)
        status = get(context, archive, path, "readout_bias", 1, (int64_t[]){-1}, &bias, &b);
    free(b);
    if (status == STAIR_OK && attention.shape[0] > STAIR_MAX_LAYERS)
        status =
            stair_fail(context, STAIR_BAD_INPUT, "%s: more than %d attention layers", path, STAIR_MAX_LAYERS);
    if (status == STAIR_OK)
        status = stair_classifier_create(context, (int)embedding.shape[0], (int)embedding.shape[1],
                                         (int)attention.shape[1], (int)attention.shape[0], (int)bias.shape[0],
                                         classifier);
    if (status == STAIR_OK) {
        stair_classifier *c = *classifier;
        size_t layer = (size_t)c->rank * (size_t)c->dim;
        for (size_t l = 0; l < (size_t)c->layers; l++)
            for (size_t k = 0; k < (size_t)c->rank; k++)
                memcpy(stair_classifier_w(c, c->parameters, (int)l) + k * (size_t)c->dim8,
                       a + l * layer + k * (size_t)c->dim, (size_t)c->dim * sizeof(double));
        unpack((size_t)c->vocab, (size_t)c->dim, &e, c->embedding, (size_t)c->dim8);
        status = load_rest(context, archive, path, c);
    }
    free(e);
    free(a);
    return status;
}

stair_status stair_classifier_load(stair_context *context, const char *path, stair_classifier **classifier)
{
    stair_archive *archive;
    *classifier = NULL;
    STAIR_TRY(stair_archive_open(context, path, &archive));
    stair_status status = load_all(context, archive, path, classifier);
    stair_archive_close(&archive);
    if (status != STAIR_OK) stair_classifier_destroy(classifier);
    return status;
}
