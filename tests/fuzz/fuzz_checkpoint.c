/* Checkpoints of arbitrary contents with a right checksum and a right fingerprint: a small run of each kind
 * is made once, then its bytes are overwritten where the input says, and it is resumed. */
#include "io/checkpoint.h"
#include "io/text_file.h"
#include "stair_gamp.h"
#include "stair_train.h"
#include "vocab.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SGD, GAMP, TRAIN, KINDS };

static char name[FUZZ_NAME], file[FUZZ_NAME + 2];
static stair_text kept[KINDS]; /* the file that a whole run left */

static stair_status run(stair_context *context, int kind, bool resume)
{
    static const char text[] = "A:x a b\nB:x b\nA:x a\n";
    stair_model *model = NULL;
    stair_status status = stair_model_create(context, "attention:layers=1", &model);
    if (status == STAIR_OK && kind == SGD) {
        stair_sgd_options o = stair_sgd_defaults();
        stair_sgd_result *result;
        o.dim = 4, o.alpha = 2, o.epochs = 2, o.test = 8, o.checkpoint = name, o.resume = resume;
        status = stair_sgd(context, model, &o, &result);
        stair_sgd_result_destroy(&result);
    } else if (status == STAIR_OK && kind == GAMP) {
        stair_gamp_options o = stair_gamp_defaults();
        stair_gamp_result *result;
        o.dim = 4, o.alpha = 2, o.max_iterations = 2, o.test = 8, o.checkpoint = name, o.resume = resume;
        status = stair_gamp(context, model, &o, &result);
        stair_gamp_result_destroy(&result);
    } else if (status == STAIR_OK) {
        stair_vocab *vocab = NULL;
        stair_questions *questions = NULL;
        stair_train_result *result = NULL;
        stair_train_options o = stair_train_defaults();
        stair_questions_options how = {.longest = 6, .classes = "A,B"};
        o.dim = 2, o.rank = 1, o.layers = 1, o.epochs = 2, o.batch = 2, o.validation = 0, o.checkpoint = name,
        o.resume = resume;
        status = small_vocab(context, &vocab);
        if (status == STAIR_OK)
            status = stair_questions_parse(context, vocab, "text", text, sizeof text - 1, &how, &questions);
        if (status == STAIR_OK)
            status = stair_train(context, vocab, questions, how.classes, NULL, &o, &result);
        stair_train_result_destroy(&result);
        stair_questions_destroy(&questions);
        stair_vocab_destroy(&vocab);
    }
    stair_model_destroy(&model);
    return status;
}

static void prepare(stair_context *context)
{
    fuzz_name("", name);
    snprintf(file, sizeof file, "%s.0", name);
    for (int kind = 0; kind < KINDS; kind++)
        if (run(context, kind, false) != STAIR_OK ||
            stair_text_read(context, file, &kept[kind]) != STAIR_OK) {
            fprintf(stderr, "%s\n", stair_context_message(context));
            abort();
        }
}

/* Input: kind, then groups of (offset, two bytes; length, one; bytes). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stair_context *context;
    uint64_t fingerprint;
    if (size < 1 || stair_context_create(&context) != STAIR_OK) return 0;
    (void)stair_context_set_threads(context, 1);
    if (!name[0]) prepare(context);
    int kind = data[0] % KINDS;
    const stair_text *from = &kept[kind];
    stair_state state = {0};
    memcpy(&fingerprint, from->data + 16, sizeof fingerprint);
    stair_state_put(&state, from->data + 32, from->size - 40);
    for (size_t at = 1; at + 3 < size && !state.failed;) {
        size_t offset = (data[at] | (size_t)data[at + 1] << 8) % state.size, length = data[at + 2] % 16;
        for (at += 3; length && at < size && offset < state.size; length--) state.data[offset++] = data[at++];
    }
    if (stair_state_save(context, file, fingerprint, &state) == STAIR_OK)
        if (run(context, kind, true) == STAIR_BAD_INPUT) abort(); /* it is this request's */
    stair_state_free(&state);
    stair_checkpoint_remove(name, 1);
    stair_context_destroy(&context);
    return 0;
}
