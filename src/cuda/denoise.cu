/* The memory of GAMP, posteriors of samples, and sums over samples: kernels/memory.h, kernels/pair.h. */
#include "cuda/denoise.h"

#include <cuda_runtime.h>

/* ---- memory -------------------------------------------------------------------------------------- */

__global__ void react(stair_memory_form form, size_t n, stair_card_samples s)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, cells = (size_t)(form.rows * form.tokens);
    if (i >= n) return;
    stair_memory_react(&form, s.z + i * cells, s.g + i * cells, s.o + i * cells, s.next_o + i * cells,
                       s.omega + i * cells);
}

stair_status stair_card_react(stair_context *context, const stair_device *device,
                              const stair_memory_form *form, size_t n, const stair_card_samples *s)
{
    stair_cuda_use(device);
    if (!n) return STAIR_OK;
    react<<<(unsigned)((n + 127) / 128), 128, 0, (cudaStream_t)device->stream>>>(*form, n, *s);
    return stair_cuda_launched(context, "the memory of GAMP");
}

/* ---- posteriors ---------------------------------------------------------------------------------- */

typedef struct {
    double w[4]; /* whitening (P, P) */
} whitening;

#define PAIR_WARPS 4 /* samples of a block */

__global__ void __launch_bounds__(32 * PAIR_WARPS, 4)
    pair(stair_pair_form form, whitening v, size_t n, const uint32_t *__restrict__ index,
         stair_card_samples s)
{
    size_t i = (size_t)blockIdx.x * PAIR_WARPS + threadIdx.x / 32;
    int lane = (int)(threadIdx.x % 32), nodes;
    if (i >= n) return;
    if (index) i = index[i];
    size_t cells = (size_t)(2 * form.rows);
    stair_pair_sample sample = stair_pair_open(&form, v.w, s.h + 2 * i, s.omega + i * cells);
    stair_pair_moments m;
    float error;
    stair_pair_posterior(&form, &sample, lane, &m, &error, &nodes);
    if (lane) return;
    stair_pair_write(&form, v.w, &m, error, s.next_g + i * cells, s.c + 8 * i,
                     s.says + i * stair_card_says(form.rows));
    s.error[i] = error;
}

stair_status stair_card_pair(stair_context *context, const stair_device *device, const stair_pair_form *form,
                             const double *w, size_t n, const uint32_t *index, const stair_card_samples *s)
{
    whitening v = {{0, 0, 0, 0}};
    for (int k = 0; k < form->rows * form->rows; k++) v.w[k] = w[k];
    stair_cuda_use(device);
    if (!n) return STAIR_OK;
    pair<<<(unsigned)((n + PAIR_WARPS - 1) / PAIR_WARPS), 32 * PAIR_WARPS, 0, (cudaStream_t)device->stream>>>(
        *form, v, n, index, *s);
    return stair_cuda_launched(context, "posteriors");
}

/* ---- what the processor did ---------------------------------------------------------------------- */

__global__ void scatter(int rows, int tokens, size_t count, const uint32_t *__restrict__ index,
                        const double *__restrict__ g, const double *__restrict__ says, stair_card_samples s)
{
    size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x, cells = (size_t)(rows * tokens),
           width = stair_card_says(rows);
    if (k >= count) return;
    size_t i = index[k];
    for (size_t j = 0; j < cells; j++) s.next_g[i * cells + j] = g[k * cells + j];
    for (size_t j = 0; j < width; j++) s.says[i * width + j] = says[k * width + j];
    for (int t = 0; t < tokens; t++)
        for (int p = 0; p < STAIR_CARD_ROWS; p++)
            s.c[4 * (i * (size_t)tokens + (size_t)t) + (size_t)p] =
                p < rows ? (float)g[k * cells + (size_t)(p * tokens + t)] : 0;
}

stair_status stair_card_scatter(stair_context *context, const stair_device *device, int rows, int tokens,
                                size_t count, const uint32_t *index, const double *g, const double *says,
                                const stair_card_samples *s)
{
    stair_cuda_use(device);
    if (!count) return STAIR_OK;
    scatter<<<(unsigned)((count + 127) / 128), 128, 0, (cudaStream_t)device->stream>>>(rows, tokens, count,
                                                                                       index, g, says, *s);
    return stair_cuda_launched(context, "posteriors of the processor");
}

/* ---- sums over samples --------------------------------------------------------------------------- */

/* Block b has a run of the rows; a thread every 256th of it; threads are a binary tree. */
__global__ void __launch_bounds__(256)
    sum_rows(size_t n, size_t width, const double *__restrict__ says, double *parts)
{
    __shared__ double part[256];
    size_t begin = n * blockIdx.x / STAIR_CARD_PARTS, end = n * (blockIdx.x + 1) / STAIR_CARD_PARTS;
    for (size_t k = 0; k < width; k++) {
        double sum = 0;
        for (size_t i = begin + threadIdx.x; i < end; i += 256) sum += says[i * width + k];
        part[threadIdx.x] = sum;
        __syncthreads();
        for (unsigned half = 128; half; half /= 2) {
            if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) parts[blockIdx.x * width + k] = part[0];
        __syncthreads();
    }
}

stair_status stair_card_sum(stair_context *context, const stair_device *device, size_t n, size_t width,
                            const double *says, double *parts)
{
    stair_cuda_use(device);
    sum_rows<<<STAIR_CARD_PARTS, 256, 0, (cudaStream_t)device->stream>>>(n, width, says, parts);
    return stair_cuda_launched(context, "sums over samples");
}
