/* Weights files that are good archives of arbitrary arrays: what is loaded predicts, and every class has a
 * name. */
#include "io/npz.h"
#include "stair_train.h"
#include "vocab.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *at, *end;

static uint64_t next(uint64_t usual)
{
    if (at >= end) return usual;
    uint8_t byte = *at++;
    return byte < 0xF0 ? usual : (uint64_t)byte - 0xF0; /* most inputs change little */
}

static stair_status add(stair_context *context, stair_npz *npz, const char *array, int rank, uint64_t *shape)
{
    int member;
    uint64_t tail = 1;
    for (int i = 0; i < rank; i++) shape[i] = next(shape[i]);
    for (int i = 1; i < rank; i++) tail *= shape[i];
    double *row = calloc(tail + 1, sizeof *row);
    if (!row) return STAIR_NO_MEMORY;
    stair_status status = stair_npz_add(context, npz, array, "<f8", 8, rank, shape + 1, &member);
    for (uint64_t r = 0; r < shape[0] && status == STAIR_OK; r++) {
        for (uint64_t i = 0; i < tail; i++) row[i] = (double)next(1);
        status = stair_npz_append(context, npz, member, row, 1);
    }
    free(row);
    return status;
}

static stair_status make(stair_context *context, const char *path)
{
    stair_npz *npz;
    int member;
    double sizes[4] = {(double)next(6), (double)next(0), (double)next(1), (double)next(0)}, scale = 1;
    stair_status status = stair_npz_create(context, path, true, &npz);
    if (status == STAIR_OK) status = add(context, npz, "embedding", 2, (uint64_t[]){6, 2});
    if (status == STAIR_OK) status = add(context, npz, "attention", 3, (uint64_t[]){1, 1, 2});
    if (status == STAIR_OK) status = add(context, npz, "attention_bias", 2, (uint64_t[]){1, 1});
    if (status == STAIR_OK) status = add(context, npz, "readout", 2, (uint64_t[]){2, 2});
    if (status == STAIR_OK) status = add(context, npz, "readout_bias", 1, (uint64_t[]){2});
    if (status == STAIR_OK) status = stair_npz_add(context, npz, "scale", "<f8", 8, 1, NULL, &member);
    if (status == STAIR_OK) status = stair_npz_append(context, npz, member, &scale, 1);
    if (status == STAIR_OK) status = stair_npz_add(context, npz, "shape", "<f8", 8, 1, NULL, &member);
    if (status == STAIR_OK) status = stair_npz_append(context, npz, member, sizes, 4);
    if (status == STAIR_OK) status = stair_npz_add(context, npz, "classes", "|u1", 1, 1, NULL, &member);
    if (status == STAIR_OK)
        status = end > at ? stair_npz_append(context, npz, member, at, (size_t)(end - at))
                          : stair_npz_append(context, npz, member, "A,B", 3);
    if (status == STAIR_OK) status = stair_npz_commit(context, npz);
    stair_npz_destroy(&npz);
    return status;
}

static void use(stair_context *context, const stair_classifier *classifier)
{
    static const char text[] = "a b\nb\n";
    stair_classifier_info info = stair_classifier_describe(classifier);
    stair_questions_options how = {.longest = 5};
    stair_vocab *vocab;
    stair_questions *questions;
    int label[2], names = 1;
    for (const char *c = info.names; *c; c++) names += *c == ',' && c[1];
    if (names != info.classes) abort();
    if (small_vocab(context, &vocab) != STAIR_OK) abort();
    if (stair_questions_parse(context, vocab, "text", text, sizeof text - 1, &how, &questions) != STAIR_OK)
        abort();
    if (stair_classifier_predict(context, classifier, questions, label, NULL) == STAIR_OK)
        for (int k = 0; k < 2; k++)
            if (label[k] < 0 || label[k] >= info.classes) abort();
    stair_questions_destroy(&questions);
    stair_vocab_destroy(&vocab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_NAME];
    stair_context *context;
    stair_classifier *classifier;
    if (stair_context_create(&context) != STAIR_OK) return 0;
    (void)stair_context_set_threads(context, 1);
    fuzz_name(".npz", path);
    at = data;
    end = data + size;
    if (make(context, path) == STAIR_OK && stair_classifier_load(context, path, &classifier) == STAIR_OK) {
        use(context, classifier);
        stair_classifier_destroy(&classifier);
    }
    unlink(path);
    stair_context_destroy(&context);
    return 0;
}
