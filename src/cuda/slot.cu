/* Streams with memory of their own: see slot.h. */
#include "cuda/slot.h"

#include <cuda_runtime.h>

#include <stdlib.h>

/* Slots that nobody has; kept with the device. */
typedef struct {
    stair_cuda_slot *free;
} slot_list;

static const char owner = 0; /* its address tells this kind of state apart */

static void destroy_slot(stair_cuda_slot *slot)
{
    for (int k = 0; k < STAIR_SLOT_ROOMS; k++) {
        if (slot->room[k]) cudaFree(slot->room[k]);
        if (slot->host[k]) cudaFreeHost(slot->host[k]);
    }
    if (slot->stream) cudaStreamDestroy((cudaStream_t)slot->stream);
    free(slot);
}

static void destroy_list(stair_device *device, void *state)
{
    slot_list *list = (slot_list *)state;
    stair_cuda_use(device);
    while (list->free) {
        stair_cuda_slot *slot = list->free;
        list->free = slot->next;
        destroy_slot(slot);
    }
    free(list);
}

/* With the lock taken. */
static stair_status find_list(stair_context *context, stair_device *device, slot_list **list)
{
    *list = (slot_list *)stair_cuda_kept_find(device, &owner);
    if (*list) return STAIR_OK;
    *list = (slot_list *)calloc(1, sizeof **list);
    if (!*list) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_cuda_keep(context, device, &owner, *list, destroy_list);
    if (status != STAIR_OK) free(*list);
    return status;
}

static stair_status make_slot(stair_context *context, stair_device *device, stair_cuda_slot **out)
{
    cudaStream_t stream;
    stair_cuda_slot *slot = (stair_cuda_slot *)calloc(1, sizeof *slot);
    if (!slot) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    slot->device = device;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        slot->stream = stream;
        *out = slot;
    } else
        free(slot);
    return stair_cuda_check(context, (int)error, "a stream");
}

stair_status stair_cuda_slot_take(stair_context *context, stair_cuda_slot **out)
{
    stair_device *device = context->device;
    slot_list *list;
    *out = NULL;
    stair_cuda_use(device);
    stair_lock_take(&device->lock);
    stair_status status = find_list(context, device, &list);
    if (status == STAIR_OK && list->free) {
        *out = list->free;
        list->free = (*out)->next;
    }
    stair_lock_release(&device->lock);
    return status == STAIR_OK && !*out ? make_slot(context, device, out) : status;
}

void stair_cuda_slot_give(stair_cuda_slot *slot)
{
    if (!slot) return;
    stair_device *device = slot->device;
    cudaStreamSynchronize((cudaStream_t)slot->stream); /* nothing of a call that failed is left behind */
    stair_lock_take(&device->lock);
    slot_list *list = (slot_list *)stair_cuda_kept_find(device, &owner);
    slot->next = list->free;
    list->free = slot;
    stair_lock_release(&device->lock);
}

static size_t rounded(size_t bytes)
{
    size_t more = bytes + bytes / 4;
    return more < ((size_t)1 << 16) ? (size_t)1 << 16 : more;
}

stair_status stair_cuda_slot_room(stair_context *context, stair_cuda_slot *slot, int k, size_t bytes,
                                  const char *what, void **room)
{
    if (bytes > slot->bytes[k]) {
        stair_cuda_free(slot->device, slot->room[k]);
        slot->bytes[k] = 0;
        slot->room[k] = NULL;
        STAIR_TRY(stair_cuda_alloc(context, slot->device, rounded(bytes), what, &slot->room[k]));
        slot->bytes[k] = rounded(bytes);
    }
    *room = slot->room[k];
    return STAIR_OK;
}

stair_status stair_cuda_slot_host(stair_context *context, stair_cuda_slot *slot, int k, size_t bytes,
                                  void **host)
{
    if (bytes > slot->host_bytes[k]) {
        if (slot->host[k]) cudaFreeHost(slot->host[k]);
        slot->host_bytes[k] = 0;
        slot->host[k] = NULL;
        STAIR_TRY(
            stair_cuda_check(context, (int)cudaMallocHost(&slot->host[k], rounded(bytes)), "pinned memory"));
        slot->host_bytes[k] = rounded(bytes);
    }
    *host = slot->host[k];
    return STAIR_OK;
}

stair_status stair_cuda_slot_up(stair_context *context, const stair_cuda_slot *slot, void *to,
                                const void *from, size_t bytes)
{
    return stair_cuda_check(
        context, (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, (cudaStream_t)slot->stream),
        "a copy");
}

stair_status stair_cuda_slot_down(stair_context *context, const stair_cuda_slot *slot, void *to,
                                  const void *from, size_t bytes)
{
    return stair_cuda_check(
        context, (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)slot->stream),
        "a copy");
}

stair_status stair_cuda_slot_wait(stair_context *context, const stair_cuda_slot *slot)
{
    return stair_cuda_check(context, (int)cudaStreamSynchronize((cudaStream_t)slot->stream), "a kernel");
}
