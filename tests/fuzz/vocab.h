/* A small vocabulary as a file, for targets that need one. */
#ifndef STAIR_FUZZ_VOCAB_H
#define STAIR_FUZZ_VOCAB_H

#include "fuzz_file.h"
#include "stair_train.h"

static inline stair_status small_vocab(stair_context *context, stair_vocab **vocab)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n";
    char path[FUZZ_NAME];
    fuzz_name(".vocab", path);
    if (!fuzz_put(path, words, sizeof words - 1)) abort();
    stair_status status = stair_vocab_load(context, path, vocab);
    unlink(path);
    return status;
}

#endif
