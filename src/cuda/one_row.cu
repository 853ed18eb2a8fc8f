/* Sums over hidden nodes: a block of threads for each sample (or four of them, where nodes are a table that
 * they share) and half of the nodes.  Threads take nodes in turn; a fixed tree adds what they have. */
#include "cuda/one_row.h"

#include <cuda_runtime.h>

#define THREADS 128 /* of a block */
#define SHARED  4   /* samples for which a node of a table is read once */

/* out (N) = sums over the block of acc (N). */
template <int N> static __device__ void block_sums(const double *acc, double *out)
{
    __shared__ double part[THREADS / 32][N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        double sum = acc[k];
        for (int away = 16; away; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32][k] = sum;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < N; k += THREADS) {
        double sum = 0;
        for (int w = 0; w < THREADS / 32; w++) sum += part[w][k];
        out[k] = sum;
    }
    __syncthreads();
}

/* Blocks: (groups of samples, halves, slices); part (n, halves, slices, sums). */
template <int ROWS>
static __global__ void __launch_bounds__(THREADS)
    table_sums(stair_cuda_nodes nodes, int n, const double *samples, double *part)
{
    enum { SUMS = STAIR_ONE_ROW_CARD(ROWS), SIZE = 4 + 2 * ROWS };
    int half = blockIdx.y, first = blockIdx.x * SHARED, count = nodes.nodes[half];
    int each = (count + nodes.slices - 1) / nodes.slices, from = blockIdx.z * each,
        to = min(count, from + each);
    double acc[SHARED][SUMS], sample[SHARED][4], node[5 + 2 * ROWS];
#pragma unroll
    for (int s = 0; s < SHARED; s++) {
        int i = min(first + s, n - 1);
#pragma unroll
        for (int k = 0; k < SUMS; k++) acc[s][k] = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) sample[s][k] = samples[(size_t)i * SIZE + k];
    }
    for (int i = from + threadIdx.x; i < to; i += THREADS) {
        stair_hd_one_row_read(ROWS, nodes.data[half], i, node);
#pragma unroll
        for (int s = 0; s < SHARED; s++)
            stair_hd_one_row_table(ROWS, node, sample[s], nodes.half_inverse, acc[s]);
    }
#pragma unroll
    for (int s = 0; s < SHARED; s++) /* the same for all threads: sums end with a barrier */
        if (first + s < n)
            block_sums<SUMS>(acc[s],
                             part + (((size_t)(first + s) * 2 + half) * nodes.slices + blockIdx.z) * SUMS);
}

/* sums (rows, size) = part (rows, slices, size) over slices. */
static __global__ void add_slices(size_t rows, int slices, int size, const double *part, double *sums)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * size) return;
    double sum = 0;
    for (int s = 0; s < slices; s++) sum += part[(i / size * slices + s) * size + i % size];
    sums[i] = sum;
}

template <int ROWS>
static __global__ void __launch_bounds__(THREADS)
    moving_sums(stair_cuda_nodes nodes, const double *samples, double *sums)
{
    enum { SUMS = STAIR_ONE_ROW_CARD(ROWS), SIZE = 4 + 2 * ROWS };
    int half = blockIdx.y;
    const double *from = samples + (size_t)blockIdx.x * SIZE, *place = nodes.data[half];
    double acc[SUMS], sample[SIZE], x[2 * ROWS];
#pragma unroll
    for (int k = 0; k < SUMS; k++) acc[k] = 0;
#pragma unroll
    for (int k = 0; k < SIZE; k++) sample[k] = from[k];
    for (int i = threadIdx.x; i < nodes.nodes[half]; i += THREADS) {
#pragma unroll
        for (int k = 0; k < 2 * ROWS; k++) x[k] = place[((size_t)(i / 64) * 2 * ROWS + k) * 64 + i % 64];
        stair_hd_one_row_move(&nodes.mixing, ROWS, nodes.deviation, x, nodes.measure[half][i], sample,
                              nodes.half_inverse, acc);
    }
    block_sums<SUMS>(acc, sums + ((size_t)blockIdx.x * 2 + half) * SUMS);
}

static __global__ void __launch_bounds__(THREADS)
    fixed_sums(stair_cuda_nodes nodes, const double *samples, double *sums)
{
    enum { SUMS = STAIR_ONE_ROW_CARD(1), SIZE = 6 };
    int half = blockIdx.y, from[2], to[2];
    double acc[SUMS], sample[SIZE];
#pragma unroll
    for (int k = 0; k < SUMS; k++) acc[k] = 0;
#pragma unroll
    for (int k = 0; k < SIZE; k++) sample[k] = samples[(size_t)blockIdx.x * SIZE + k];
    for (int t = 0; t < 2; t++)
        stair_hd_one_row_range(&nodes.grid[half], sample[4 + t], nodes.reach, &from[t], &to[t]);
    int wide = 4 * (to[1] - from[1]), all = 4 * (to[0] - from[0]) * wide;
    for (int i = threadIdx.x; i < all; i += THREADS)
        stair_hd_one_row_fixed(&nodes.grid[half], nodes.data[half], 4 * from[0] + i / wide,
                               4 * from[1] + i % wide, nodes.prior, sample, nodes.half_inverse, acc);
    block_sums<SUMS>(acc, sums + ((size_t)blockIdx.x * 2 + half) * SUMS);
}

/* Nodes that follow their sample: level 0, or the one that the masses of `look` ask for. */
template <int ROWS>
static __global__ void __launch_bounds__(THREADS)
    following_sums(stair_cuda_nodes nodes, const double *samples, const stair_follow *followers,
                   const double *look, double *sums)
{
    enum { SUMS = STAIR_ONE_ROW_CARD(ROWS), SIZE = 4 + 2 * ROWS };
    __shared__ stair_follow follower;
    int half = blockIdx.y, level = 0, set = blockIdx.x % STAIR_FOLLOW_SETS;
    for (int k = threadIdx.x; k < (int)(sizeof follower / sizeof(double)); k += THREADS)
        ((double *)&follower)[k] = ((const double *)&followers[blockIdx.x])[k];
    if (look)
        level =
            stair_hd_follow_level(look[(size_t)blockIdx.x * 2 * SUMS],
                                  look[((size_t)blockIdx.x * 2 + 1) * SUMS], nodes.agreed, nodes.disagree);
    int count = nodes.level_nodes[level];
    const double *place = nodes.data[0] + nodes.level_first[level] +
                          ((size_t)(set / stair_hd_follow_alike(level)) * 2 + half) * count * 2 * ROWS;
    double acc[SUMS], sample[SIZE], x[2 * ROWS];
#pragma unroll
    for (int k = 0; k < SUMS; k++) acc[k] = 0;
#pragma unroll
    for (int k = 0; k < SIZE; k++) sample[k] = samples[(size_t)blockIdx.x * SIZE + k];
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * count; i += THREADS) {
        int node = i % count; /* of both kinds; whole warps have the same, for counts are multiples of 64 */
#pragma unroll
        for (int k = 0; k < 2 * ROWS; k++)
            x[k] = place[((size_t)(node / 64) * 2 * ROWS + k) * 64 + node % 64];
        stair_hd_follow_add(&nodes.mixing, ROWS, &follower, i >= count, nodes.deviation, x, (double)count,
                            sample, nodes.half_inverse, acc);
    }
    block_sums<SUMS>(acc, sums + ((size_t)blockIdx.x * 2 + half) * SUMS);
}

template <int ROWS>
static void launch_following(const stair_cuda_nodes *nodes, cudaStream_t stream, int n, const double *samples,
                             const stair_follow *followers, double *part, double *sums)
{
    dim3 grid((unsigned)n, 2);
    following_sums<ROWS><<<grid, THREADS, 0, stream>>>(*nodes, samples, followers, NULL, part);
    following_sums<ROWS><<<grid, THREADS, 0, stream>>>(*nodes, samples, followers, part, sums);
}

template <int ROWS>
static void launch_table(const stair_cuda_nodes *nodes, cudaStream_t stream, int n, const double *samples,
                         double *part, double *sums)
{
    dim3 grid((unsigned)(n + SHARED - 1) / SHARED, 2, (unsigned)nodes->slices);
    size_t all = (size_t)n * 2 * nodes->sums;
    table_sums<ROWS><<<grid, THREADS, 0, stream>>>(*nodes, n, samples, nodes->slices > 1 ? part : sums);
    if (nodes->slices > 1)
        add_slices<<<(unsigned)((all + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
            (size_t)n * 2, nodes->slices, nodes->sums, part, sums);
}

stair_status stair_cuda_one_row(stair_context *context, const stair_cuda_slot *slot,
                                const stair_cuda_nodes *nodes, size_t n, const double *samples,
                                const stair_follow *followers, double *part, double *sums)
{
    cudaStream_t stream = (cudaStream_t)slot->stream;
    dim3 grid((unsigned)n, 2);
    if (nodes->kind == STAIR_NODES_FIXED)
        fixed_sums<<<grid, THREADS, 0, stream>>>(*nodes, samples, sums);
    else if (nodes->kind == STAIR_NODES_FOLLOWING) {
        if (nodes->rows == 2)
            launch_following<2>(nodes, stream, (int)n, samples, followers, part, sums);
        else
            launch_following<3>(nodes, stream, (int)n, samples, followers, part, sums);
    } else if (nodes->kind == STAIR_NODES_MOVING) {
        if (nodes->rows == 1)
            moving_sums<1><<<grid, THREADS, 0, stream>>>(*nodes, samples, sums);
        else if (nodes->rows == 2)
            moving_sums<2><<<grid, THREADS, 0, stream>>>(*nodes, samples, sums);
        else
            moving_sums<3><<<grid, THREADS, 0, stream>>>(*nodes, samples, sums);
    } else if (nodes->rows == 1)
        launch_table<1>(nodes, stream, (int)n, samples, part, sums);
    else if (nodes->rows == 2)
        launch_table<2>(nodes, stream, (int)n, samples, part, sums);
    else
        launch_table<3>(nodes, stream, (int)n, samples, part, sums);
    return stair_cuda_launched(context, "sums over hidden nodes");
}
