/* A stream with memory of its own, for one call at a time: threads that ask a card at once have one each.
 *
 * Memory grows and stays until the device is closed.  Room on the host is pinned, so that copies are fast and
 * overlap with what other streams do. */
#ifndef STAIR_CUDA_SLOT_H
#define STAIR_CUDA_SLOT_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device.h"

enum { STAIR_SLOT_ROOMS = 8 };

typedef struct stair_cuda_slot {
    stair_device *device;
    void *stream;                                          /* a cudaStream_t */
    void *room[STAIR_SLOT_ROOMS], *host[STAIR_SLOT_ROOMS]; /* on the card; pinned */
    size_t bytes[STAIR_SLOT_ROOMS], host_bytes[STAIR_SLOT_ROOMS];
    struct stair_cuda_slot *next;
} stair_cuda_slot;

stair_status stair_cuda_slot_take(stair_context *context, stair_cuda_slot **slot);
void stair_cuda_slot_give(stair_cuda_slot *slot); /* NULL is fine */

/* At least so many bytes on the card, or pinned on the host; what was there before is lost. */
stair_status stair_cuda_slot_room(stair_context *context, stair_cuda_slot *slot, int k, size_t bytes,
                                  const char *what, void **room);
stair_status stair_cuda_slot_host(stair_context *context, stair_cuda_slot *slot, int k, size_t bytes,
                                  void **host);

/* Copies in the order of the stream, from and to pinned memory; wait before it is read or changed. */
stair_status stair_cuda_slot_up(stair_context *context, const stair_cuda_slot *slot, void *to,
                                const void *from, size_t bytes);
stair_status stair_cuda_slot_down(stair_context *context, const stair_cuda_slot *slot, void *to,
                                  const void *from, size_t bytes);
stair_status stair_cuda_slot_wait(stair_context *context, const stair_cuda_slot *slot);

#ifdef __cplusplus
}
#endif
#endif
