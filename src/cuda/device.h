/* One card: opening it, its memory, copies, errors.  For C and CUDA alike.
 *
 * Memory is plain cudaMalloc: what does not fit is STAIR_NO_MEMORY with a sentence that says how much was
 * asked for, for what, and how much is free.  Every function may be called from any thread; work on a card is
 * in the order of its one stream.  stair_cuda_lock is for those who keep state on the device between calls.
 */
#ifndef STAIR_CUDA_DEVICE_H
#define STAIR_CUDA_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "core/context.h"
#include "core/thread.h"

/* What a seam keeps on the card from call to call; freed with the device, in reverse order of adding. */
typedef struct stair_cuda_kept {
    const void *owner; /* any address that tells kinds apart */
    void *state;
    void (*destroy)(struct stair_device *device, void *state);
    struct stair_cuda_kept *next;
} stair_cuda_kept;

typedef struct stair_device {
    int number;
    char name[16];  /* cuda:0 */
    char card[128]; /* as the driver names it */
    int processors; /* multiprocessors */
    size_t memory;  /* bytes in all */
    size_t cache;   /* bytes of the second-level cache */
    double chunk;   /* bytes of X that are drawn at a time, where above zero; else what resident.c thinks */
    bool twice;     /* a pass reads stored X twice, to compare with one that reads it once */
    void *stream;   /* a cudaStream_t: kernels and copies, in order */
    void *copies;   /* another, for copies beside kernels */
    stair_lock lock;
    stair_cuda_kept *kept;
} stair_device;

bool stair_cuda_present(void);
stair_status stair_cuda_open(stair_context *context, int number, stair_device **device);
void stair_cuda_close(stair_device *device);
const char *stair_cuda_label(const stair_device *device);

/* The calling thread speaks to this card from here on: before every kernel. */
void stair_cuda_use(const stair_device *device);

/* STAIR_OK, or what a CUDA call said, with `what` it was about: error is a cudaError_t. */
stair_status stair_cuda_check(stair_context *context, int error, const char *what);
/* The same of the last launch. */
stair_status stair_cuda_launched(stair_context *context, const char *what);

/* bytes for `what` ("X", "sums of averages"); *out is NULL when it fails. */
stair_status stair_cuda_alloc(stair_context *context, const stair_device *device, size_t bytes,
                              const char *what, void **out);
void stair_cuda_free(const stair_device *device, void *memory); /* NULL is fine */
size_t stair_cuda_free_bytes(const stair_device *device);       /* what is left on the card */

/* Copies in the order of the stream.  Up returns when `from` may be changed, down when `to` is there. */
stair_status stair_cuda_up(stair_context *context, const stair_device *device, void *to, const void *from,
                           size_t bytes);
/* rows of `bytes` each, to_step and bytes apart */
stair_status stair_cuda_up_rows(stair_context *context, const stair_device *device, void *to, size_t to_step,
                                const void *from, size_t bytes, size_t rows);
stair_status stair_cuda_down(stair_context *context, const stair_device *device, void *to, const void *from,
                             size_t bytes);
stair_status stair_cuda_zero(stair_context *context, const stair_device *device, void *to, size_t bytes);
/* All that was asked for is done; errors of kernels come out here. */
stair_status stair_cuda_wait(stair_context *context, const stair_device *device);

/* Seconds that the kernels between two calls took. */
stair_status stair_cuda_clock_start(stair_context *context, stair_device *device, void **clock);
stair_status stair_cuda_clock_stop(stair_context *context, stair_device *device, void *clock,
                                   double *seconds);

/* State of a seam: what `owner` has kept, or NULL.  With the lock of the device taken. */
void *stair_cuda_kept_find(stair_device *device, const void *owner);
stair_status stair_cuda_keep(stair_context *context, stair_device *device, const void *owner, void *state,
                             void (*destroy)(stair_device *device, void *state));

#ifdef __cplusplus
}
#endif
#endif
