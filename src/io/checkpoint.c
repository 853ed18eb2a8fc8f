/* Checkpoint files: magic and version, fingerprint, size, bytes, checksum of all before it. */
#include "io/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "stair_train.h"
#include "io/text_file.h"

static const char magic[16] = "stair state 002";

typedef struct {
    char magic[16];
    uint64_t fingerprint, size;
} header;

void stair_state_free(stair_state *state)
{
    free(state->data);
    *state = (stair_state){0};
}

void stair_state_put(stair_state *state, const void *bytes, size_t size)
{
    if (state->failed || size == 0) return;
    if (state->size + size > state->capacity) {
        size_t capacity = 2 * (state->size + size) + 1024;
        unsigned char *data = realloc(state->data, capacity);
        state->failed = !data;
        if (!data) return;
        state->data = data;
        state->capacity = capacity;
    }
    memcpy(state->data + state->size, bytes, size);
    state->size += size;
}

void stair_state_get(stair_state *state, void *bytes, size_t size)
{
    if (size > state->size - state->at) state->failed = true;
    if (state->failed || size == 0) return;
    memcpy(bytes, state->data + state->at, size);
    state->at += size;
}

void stair_state_move(stair_state *state, bool put, void *bytes, size_t size)
{
    put ? stair_state_put(state, bytes, size) : stair_state_get(state, bytes, size);
}

stair_status stair_state_bytes(stair_context *context, stair_state *state, void **bytes, size_t *size)
{
    if (state->failed) {
        stair_state_free(state);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    *bytes = state->data;
    *size = state->size;
    *state = (stair_state){0};
    return STAIR_OK;
}

stair_state stair_state_over(const void *bytes, size_t size)
{
    return (stair_state){.data = (unsigned char *)(uintptr_t)bytes, .size = size};
}

void stair_state_array(stair_state *state, bool put, void **array, size_t count, size_t size)
{
    if (!put && !state->failed && count * size <= state->size - state->at) *array = malloc(count * size + 1);
    if (!*array) state->failed = true;
    if (!state->failed) stair_state_move(state, put, *array, count * size);
}

static const uint64_t basis = 0xCBF29CE484222325u; /* where FNV begins */

/* FNV-1a on 64-bit words, tail bytes last: catches truncation and flipped bits, not malice. */
static uint64_t checksum(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x100000001B3u;
        h ^= h >> 29;
    }
    for (; size; size--, at++) h = (h ^ *at) * 0x100000001B3u;
    return h;
}

uint64_t stair_mark_bytes(uint64_t mark, const void *bytes, size_t size)
{
    uint64_t length = size;
    return checksum(checksum(mark, &length, sizeof length), bytes, size);
}

uint64_t stair_mark_text(uint64_t mark, const char *text)
{
    return stair_mark_bytes(mark, text, strlen(text));
}

uint64_t stair_mark_begin(const char *task)
{
    return stair_mark_text(stair_mark_text(stair_mark_text(basis, STAIR_VERSION), stair_isa_name()), task);
}

static char *old_name(const char *path)
{
    char *name = malloc(strlen(path) + 5);
    if (name) strcat(strcpy(name, path), ".old");
    return name;
}

stair_status stair_state_save(stair_context *context, const char *path, uint64_t fingerprint,
                              const stair_state *state)
{
    if (state->failed) return stair_fail(context, STAIR_NO_MEMORY, "no memory for a checkpoint");
    if (!stair_ranks_first(context)) return STAIR_OK;
    header head = {.fingerprint = fingerprint, .size = state->size};
    memcpy(head.magic, magic, sizeof magic);
    uint64_t sum = checksum(checksum(basis, &head, sizeof head), state->data, state->size);
    stair_atomic_file out;
    STAIR_TRY(stair_atomic_open(context, path, true, &out));
    bool written = fwrite(&head, sizeof head, 1, out.file) == 1 &&
                   fwrite(state->data, 1, state->size, out.file) == state->size &&
                   fwrite(&sum, sizeof sum, 1, out.file) == 1;
    if (!written) {
        stair_status status = stair_fail(context, STAIR_FAILED, "%s: %s", path, strerror(errno));
        stair_atomic_discard(&out);
        return status;
    }
    char *old = old_name(path);
    if (old) rename(path, old); /* no file yet is no failure */
    free(old);
    return stair_atomic_commit(context, &out);
}

stair_status stair_state_probe(stair_context *context, const char *path, const char *parts)
{
    size_t size = strlen(path) + strlen(parts) + 5;
    char *name = malloc(size);
    if (!name) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    snprintf(name, size, "%s%s.old", path, parts); /* the longest name there will be */
    stair_status status = stair_atomic_probe(context, name);
    free(name);
    if (status == STAIR_OK && stair_ranks_first(context)) stair_atomic_sweep(path);
    return status;
}

stair_status stair_state_probe_runs(stair_context *context, const char *checkpoint, int runs)
{
    char parts[24];
    if (!checkpoint) return STAIR_OK;
    snprintf(parts, sizeof parts, ".%d", runs - 1);
    return stair_state_probe(context, checkpoint, parts);
}

/* 1: good, 0: damaged, -1: another request's */
static int judge(const stair_text *file, uint64_t fingerprint)
{
    header head;
    uint64_t sum;
    if (file->size < sizeof head + sizeof sum) return 0;
    memcpy(&head, file->data, sizeof head);
    memcpy(&sum, file->data + file->size - sizeof sum, sizeof sum);
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.size != file->size - sizeof head - sizeof sum)
        return 0;
    if (checksum(checksum(basis, file->data, sizeof head), file->data + sizeof head, head.size) != sum)
        return 0;
    return head.fingerprint == fingerprint ? 1 : -1;
}

static stair_status load_one(stair_context *context, const char *path, uint64_t fingerprint,
                             stair_state *state, int *verdict)
{
    stair_text file = {0};
    STAIR_TRY(stair_text_read(context, path, &file));
    *verdict = judge(&file, fingerprint);
    if (*verdict == 1) stair_state_put(state, file.data + sizeof(header), file.size - sizeof(header) - 8);
    stair_text_free(&file);
    if (*verdict == 1 && state->failed)
        return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    if (*verdict < 0)
        return stair_fail(
            context, STAIR_BAD_INPUT,
            "%s: checkpoint of another request, version or instruction set; remove it or choose "
            "another file",
            path);
    return STAIR_OK;
}

static stair_status load(stair_context *context, const char *path, uint64_t fingerprint, stair_state *state,
                         bool *found)
{
    *state = (stair_state){0};
    *found = false;
    char *old = old_name(path);
    if (!old) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    const char *names[2] = {path, old};
    stair_status status = STAIR_OK;
    int verdict = 0, seen = 0;
    for (int i = 0; i < 2 && status == STAIR_OK && verdict == 0; i++) {
        if (access(names[i], F_OK) != 0) continue;
        seen++;
        status = load_one(context, names[i], fingerprint, state, &verdict);
    }
    free(old);
    *found = verdict == 1;
    if (status == STAIR_OK && seen && verdict == 0)
        return stair_fail(context, STAIR_FAILED, "%s: checkpoint damaged; remove it to start again", path);
    return status;
}

/* Rank 0 reads, since only it has written; the others are told. */
stair_status stair_state_load(stair_context *context, const char *path, uint64_t fingerprint,
                              stair_state *state, bool *found)
{
    uint64_t told[2] = {0};
    *state = (stair_state){0};
    stair_status status = STAIR_OK;
    if (stair_ranks_first(context)) status = load(context, path, fingerprint, state, found);
    if (!stair_ranks_many(context)) return status;
    if (stair_ranks_first(context)) told[0] = *found, told[1] = state->size;
    STAIR_TRY(stair_ranks_copy(context, status, told, sizeof told));
    *found = told[0];
    if (!stair_ranks_first(context)) {
        state->data = malloc(told[1] + 1);
        state->size = state->capacity = told[1];
        if (!state->data) status = stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    }
    return stair_ranks_copy(context, status, state->data, told[1]);
}

char *stair_state_name(const char *checkpoint, size_t k)
{
    char *name = malloc(strlen(checkpoint) + 24);
    if (name) sprintf(name, "%s.%zu", checkpoint, k);
    return name;
}

void stair_checkpoint_remove(const char *checkpoint, int runs)
{
    for (int k = 0; k < runs; k++) {
        char *name = stair_state_name(checkpoint, (size_t)k), *old = name ? old_name(name) : NULL;
        if (name) remove(name);
        if (old) remove(old);
        free(name);
        free(old);
    }
}
