/* Checkpoints: one file of bytes with a format version, the fingerprint of the request it belongs to
 * and a checksum.  Written beside and renamed; the one before is kept as FILE.old and tried when
 * FILE is damaged. */
#ifndef STAIR_IO_CHECKPOINT_H
#define STAIR_IO_CHECKPOINT_H

#include "core/context.h"

typedef struct {
    unsigned char *data;
    size_t size, capacity, at; /* at: next byte to be read */
    bool failed;               /* out of memory, or read past the end */
} stair_state;

void stair_state_free(stair_state *state);
void stair_state_put(stair_state *state, const void *bytes, size_t size);
void stair_state_get(stair_state *state, void *bytes, size_t size);
/* One or the other, so that one list of fields serves both directions. */
void stair_state_move(stair_state *state, bool put, void *bytes, size_t size);

uint64_t stair_state_fingerprint(const char *request);

stair_status stair_state_save(stair_context *context, const char *path, uint64_t fingerprint,
                              const stair_state *state);

/* `found` false when there is no file.  A checkpoint of another request is BAD_INPUT; two damaged
 * ones are FAILED. */
stair_status stair_state_load(stair_context *context, const char *path, uint64_t fingerprint,
                              stair_state *state, bool *found);
/* FILE.k, to be freed; NULL when out of memory. */
char *stair_state_name(const char *checkpoint, size_t k);

#endif
