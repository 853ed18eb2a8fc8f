/* Arbitrary bytes as vocabulary, as questions, as checkpoint and as weights: refused or read. */
#include "fuzz_file.h"
#include "io/checkpoint.h"
#include "stair_train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_questions(stair_context *context, const stair_vocab *vocab, const char *path)
{
    stair_questions_options labelled = stair_questions_defaults(), plain = {.longest = 5};
    stair_questions *questions;
    if (stair_questions_load(context, vocab, path, &labelled, &questions) == STAIR_OK)
        stair_questions_destroy(&questions);
    if (stair_questions_load(context, vocab, path, &plain, &questions) == STAIR_OK)
        stair_questions_destroy(&questions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##a\n1\n##2\nwhen\n?\n";
    char path[FUZZ_NAME], known[FUZZ_NAME];
    stair_context *context;
    stair_vocab *vocab;
    stair_state state;
    stair_classifier *classifier;
    bool found;
    fuzz_name("", path);
    fuzz_name(".vocab", known);
    if (stair_context_create(&context) != STAIR_OK) return 0;
    if (fuzz_put(path, data, size) && fuzz_put(known, words, sizeof words - 1)) {
        if (stair_vocab_load(context, path, &vocab) == STAIR_OK) stair_vocab_destroy(&vocab);
        if (stair_vocab_load(context, known, &vocab) == STAIR_OK) {
            read_questions(context, vocab, path);
            stair_vocab_destroy(&vocab);
        }
        if (stair_state_load(context, path, 1, &state, &found) == STAIR_OK) stair_state_free(&state);
        if (stair_classifier_load(context, path, &classifier) == STAIR_OK)
            stair_classifier_destroy(&classifier);
    }
    unlink(path);
    unlink(known);
    stair_context_destroy(&context);
    return 0;
}
