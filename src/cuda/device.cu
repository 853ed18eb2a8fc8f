/* One card by the CUDA runtime: see device.h. */
#include "cuda/device.h"

#include "core/thread.h"

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

/* What registers the kernels of each .cu file, which cmake/cuda.cmake keeps from being run before main. */
extern "C" {
extern void (*const __start_stair_cuda_begin[])(void);
extern void (*const __stop_stair_cuda_begin[])(void);
}

static void register_kernels(void)
{
    static stair_lock lock = STAIR_LOCK_FREE;
    static bool done;
    stair_lock_take(&lock);
    for (void (*const *f)(void) = __start_stair_cuda_begin; !done && f < __stop_stair_cuda_begin; f++) (*f)();
    done = true;
    stair_lock_release(&lock);
}

bool stair_cuda_present(void)
{
    int count = 0;
    register_kernels();
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

void stair_cuda_use(const stair_device *device)
{
    cudaSetDevice(device->number);
}

stair_status stair_cuda_check(stair_context *context, int error, const char *what)
{
    cudaError_t code = (cudaError_t)error;
    if (code == cudaSuccess) return STAIR_OK;
    cudaGetLastError(); /* forgets it, where it can be forgotten */
    return stair_fail(context, code == cudaErrorMemoryAllocation ? STAIR_NO_MEMORY : STAIR_FAILED,
                      "%s on the card: %s", what, cudaGetErrorString(code));
}

stair_status stair_cuda_launched(stair_context *context, const char *what)
{
    return stair_cuda_check(context, (int)cudaGetLastError(), what);
}

static stair_status begin(stair_context *context, stair_device *device)
{
    cudaDeviceProp says;
    STAIR_TRY(stair_cuda_check(context, (int)cudaSetDevice(device->number), "choosing a device"));
    STAIR_TRY(
        stair_cuda_check(context, (int)cudaGetDeviceProperties(&says, device->number), "its properties"));
    snprintf(device->name, sizeof device->name, "cuda:%d", device->number);
    snprintf(device->card, sizeof device->card, "%.100s", says.name);
    device->processors = says.multiProcessorCount;
    device->memory = says.totalGlobalMem;
    device->cache = (size_t)says.l2CacheSize;
    cudaStream_t stream, copies;
    STAIR_TRY(stair_cuda_check(context, (int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                               "a stream"));
    device->stream = stream;
    STAIR_TRY(stair_cuda_check(context, (int)cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking),
                               "a stream"));
    device->copies = copies;
    return STAIR_OK;
}

stair_status stair_cuda_open(stair_context *context, int number, stair_device **out)
{
    int count = 0;
    *out = NULL;
    cudaGetDeviceCount(&count);
    if (number >= count)
        return stair_fail(context, STAIR_BAD_INPUT, "device 'cuda:%d' is not there: this machine has %d",
                          number, count);
    stair_device *device = (stair_device *)calloc(1, sizeof *device);
    if (!device) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    device->number = number;
    stair_lock_create(&device->lock);
    stair_status status = begin(context, device);
    if (status == STAIR_OK)
        *out = device;
    else
        stair_cuda_close(device);
    return status;
}

void stair_cuda_close(stair_device *device)
{
    if (!device) return;
    stair_cuda_use(device);
    if (device->stream) cudaStreamSynchronize((cudaStream_t)device->stream);
    while (device->kept) {
        stair_cuda_kept *first = device->kept;
        device->kept = first->next;
        first->destroy(device, first->state);
        free(first);
    }
    if (device->stream) cudaStreamDestroy((cudaStream_t)device->stream);
    if (device->copies) cudaStreamDestroy((cudaStream_t)device->copies);
    stair_lock_destroy(&device->lock);
    free(device);
}

const char *stair_cuda_label(const stair_device *device)
{
    return device->name;
}

size_t stair_cuda_free_bytes(const stair_device *device)
{
    size_t left = 0, all = 0;
    stair_cuda_use(device);
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? left : 0;
}

stair_status stair_cuda_alloc(stair_context *context, const stair_device *device, size_t bytes,
                              const char *what, void **out)
{
    *out = NULL;
    stair_cuda_use(device);
    if (cudaMalloc(out, bytes ? bytes : 1) == cudaSuccess) return STAIR_OK;
    cudaGetLastError();
    *out = NULL;
    return stair_fail(context, STAIR_NO_MEMORY, "%s takes %.3g GB on %s, where %.3g GB of %.3g GB are free",
                      what, 1e-9 * (double)bytes, device->name, 1e-9 * (double)stair_cuda_free_bytes(device),
                      1e-9 * (double)device->memory);
}

void stair_cuda_free(const stair_device *device, void *memory)
{
    if (!memory) return;
    stair_cuda_use(device);
    cudaFree(memory);
}

/* Memory of the program is pageable: the copy is staged, and `from` is free when the call returns. */
stair_status stair_cuda_up(stair_context *context, const stair_device *device, void *to, const void *from,
                           size_t bytes)
{
    cudaStream_t stream = (cudaStream_t)device->stream;
    stair_cuda_use(device);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    return stair_cuda_check(context, (int)error, "a copy");
}

stair_status stair_cuda_up_rows(stair_context *context, const stair_device *device, void *to, size_t to_step,
                                const void *from, size_t bytes, size_t rows)
{
    cudaStream_t stream = (cudaStream_t)device->stream;
    stair_cuda_use(device);
    cudaError_t error =
        cudaMemcpy2DAsync(to, to_step, from, bytes, bytes, rows, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    return stair_cuda_check(context, (int)error, "a copy");
}

stair_status stair_cuda_down(stair_context *context, const stair_device *device, void *to, const void *from,
                             size_t bytes)
{
    cudaStream_t stream = (cudaStream_t)device->stream;
    stair_cuda_use(device);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    return stair_cuda_check(context, (int)error, "a copy");
}

stair_status stair_cuda_zero(stair_context *context, const stair_device *device, void *to, size_t bytes)
{
    stair_cuda_use(device);
    return stair_cuda_check(context, (int)cudaMemsetAsync(to, 0, bytes, (cudaStream_t)device->stream),
                            "a copy");
}

stair_status stair_cuda_wait(stair_context *context, const stair_device *device)
{
    stair_cuda_use(device);
    return stair_cuda_check(context, (int)cudaStreamSynchronize((cudaStream_t)device->stream), "a kernel");
}

typedef struct {
    cudaEvent_t from, to;
} events;

stair_status stair_cuda_clock_start(stair_context *context, stair_device *device, void **clock)
{
    events *pair = (events *)calloc(1, sizeof *pair);
    *clock = pair;
    if (!pair) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_cuda_use(device);
    cudaEventCreate(&pair->from);
    cudaEventCreate(&pair->to);
    return stair_cuda_check(context, (int)cudaEventRecord(pair->from, (cudaStream_t)device->stream),
                            "a clock");
}

stair_status stair_cuda_clock_stop(stair_context *context, stair_device *device, void *clock, double *seconds)
{
    events *pair = (events *)clock;
    float ms = 0;
    stair_cuda_use(device);
    cudaError_t error = cudaEventRecord(pair->to, (cudaStream_t)device->stream);
    if (error == cudaSuccess) error = cudaEventSynchronize(pair->to);
    if (error == cudaSuccess) error = cudaEventElapsedTime(&ms, pair->from, pair->to);
    cudaEventDestroy(pair->from);
    cudaEventDestroy(pair->to);
    free(pair);
    *seconds = 1e-3 * ms;
    return stair_cuda_check(context, (int)error, "a clock");
}

void *stair_cuda_kept_find(stair_device *device, const void *owner)
{
    for (stair_cuda_kept *k = device->kept; k; k = k->next)
        if (k->owner == owner) return k->state;
    return NULL;
}

stair_status stair_cuda_keep(stair_context *context, stair_device *device, const void *owner, void *state,
                             void (*destroy)(stair_device *device, void *state))
{
    stair_cuda_kept *one = (stair_cuda_kept *)calloc(1, sizeof *one);
    if (!one) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    one->owner = owner;
    one->state = state;
    one->destroy = destroy;
    one->next = device->kept;
    device->kept = one;
    return STAIR_OK;
}
