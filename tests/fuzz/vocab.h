/* A small vocabulary as a file, for targets that need one. */
#ifndef STAIR_FUZZ_VOCAB_H
#define STAIR_FUZZ_VOCAB_H

#include "stair_train.h"

#include <stdio.h>
#include <unistd.h>

static inline stair_status small_vocab(stair_context *context, stair_vocab **vocab)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/stair-fuzz-%ld.vocab", (long)getpid());
    FILE *file = fopen(path, "w");
    if (file) {
        fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n", file);
        fclose(file);
    }
    stair_status status = stair_vocab_load(context, path, vocab);
    unlink(path);
    return status;
}

#endif
