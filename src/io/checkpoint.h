/* Checkpoints: one file of bytes with a format version, the fingerprint of the request it belongs to
 * and a checksum.  Written beside and renamed; the one before is kept as FILE.old and tried when
 * FILE is damaged. */
#ifndef STAIR_IO_CHECKPOINT_H
#define STAIR_IO_CHECKPOINT_H

#include "core/ranks.h"

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

/* What runs leave behind, for the ranks that did not run them (stair_share_points): one list of fields again.
 * stair_state_bytes hands over the bytes that were put; stair_state_over reads some that are not its own. */
stair_status stair_state_bytes(stair_context *context, stair_state *state, void **bytes, size_t *size);
stair_state stair_state_over(const void *bytes, size_t size);
/* `count` things of `size` bytes at *array; when reading, in new memory. */
void stair_state_array(stair_state *state, bool put, void **array, size_t count, size_t size);

/* The fingerprint of a request: all that decides its numbers, one thing after the other and each of them
 * whole.  It begins with what is running: version and instruction set. */
uint64_t stair_mark_begin(const char *task);
uint64_t stair_mark_bytes(uint64_t mark, const void *bytes, size_t size); /* their number counts, too */
uint64_t stair_mark_text(uint64_t mark, const char *text);

/* Whether a checkpoint can be written here: called before anything is computed.  `parts` is the longest of
 * what follows the name, such as ".99"; also removes temporary files that killed runs left in the same
 * folder. */
stair_status stair_state_probe(stair_context *context, const char *path, const char *parts);
/* The same for FILE.0 .. FILE.(runs-1); nothing where `checkpoint` is NULL. */
stair_status stair_state_probe_runs(stair_context *context, const char *checkpoint, int runs);

stair_status stair_state_save(stair_context *context, const char *path, uint64_t fingerprint,
                              const stair_state *state);

/* `found` false when there is no file.  A checkpoint of another request is BAD_INPUT; two damaged
 * ones are FAILED. */
stair_status stair_state_load(stair_context *context, const char *path, uint64_t fingerprint,
                              stair_state *state, bool *found);
/* FILE.k, to be freed; NULL when out of memory. */
char *stair_state_name(const char *checkpoint, size_t k);

#endif
