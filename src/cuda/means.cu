/* Sums of labels for all hidden means: one kernel finds the nodes that count for a label and what they carry,
 * another multiplies them with the priors of the means, which it makes on the way.
 *
 * A block of threads has one label (and one half of its nodes, and in a plane 64 means).  Sixteen means stand
 * side by side; the others of its threads share the nodes, and their sums are added in order. */
#include "cuda/means.h"

#include <cuda_runtime.h>

#define THREADS 128 /* of a block */
#define WARPS   (THREADS / 32)
#define TILE    128 /* nodes that a block reads at a time */

static __device__ stair_means_seen label_of(const stair_means_call *call, int i)
{
    return call->label[i];
}

/* Log weight, T and u of node i of a set. */
template <int ROWS>
static __device__ void read_node(const stair_cuda_means *m, const float *set, int i, float *log_weight,
                                 float *t, float *u, float *base)
{
    *log_weight = set[i];
#pragma unroll
    for (int c = 0; c < 4; c++) t[c] = set[(size_t)(1 + c) * m->count + i];
#pragma unroll
    for (int c = 0; c < 2 * ROWS; c++) u[c] = set[(size_t)(5 + c) * m->count + i];
    *base = set[(size_t)(5 + 2 * ROWS) * m->count + i];
}

static __device__ float exponent_of(const stair_cuda_means *m, const float *set, int i,
                                    const stair_means_seen *label)
{
    float t[4] = {set[(size_t)m->count + i], set[(size_t)2 * m->count + i], set[(size_t)3 * m->count + i],
                  set[(size_t)4 * m->count + i]};
    return stair_hd_means_exponent(label, set[i], t);
}

static __device__ float largest(float mine)
{
    __shared__ float part[WARPS];
    for (int away = 16; away; away /= 2) mine = fmaxf(mine, __shfl_xor_sync(0xffffffffu, mine, away));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
    __syncthreads();
    float most = part[0];
    for (int w = 1; w < WARPS; w++) most = fmaxf(most, part[w]);
    __syncthreads();
    return most;
}

/* Place of this thread among those of the block that have `flag`, in order; *total of them. */
static __device__ int place_of(int flag, int *total)
{
    __shared__ int part[WARPS];
    unsigned all = __ballot_sync(0xffffffffu, flag);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0;
    if (lane == 0) part[warp] = __popc(all);
    __syncthreads();
    *total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += part[w];
        *total += part[w];
    }
    __syncthreads();
    return before + __popc(all & ((1u << lane) - 1));
}

/* Blocks: labels. */
template <int ROWS>
static __global__ void __launch_bounds__(THREADS) find_nodes(stair_cuda_means m, stair_means_call call)
{
    int label_number = blockIdx.x, wide = m.form.wide;
    stair_means_seen label = label_of(&call, label_number);
    const float *set = m.nodes + (size_t)(m.random ? call.set[label_number] : 0) * (6 + 2 * ROWS) * m.count;
    float top = -1e30f;
    for (int i = threadIdx.x; i < m.count; i += THREADS) top = fmaxf(top, exponent_of(&m, set, i, &label));
    top = largest(top);
    if (threadIdx.x == 0) call.top[label_number] = top;
    for (int half = 0; half < m.halves; half++) {
        int from = half ? m.half : 0, to = half ? m.count : m.half, found = 0, total;
        float *rows = call.rows + ((size_t)label_number * m.halves + half) * m.half * wide;
        for (int first = from; first < to; first += THREADS) {
            int i = first + threadIdx.x,
                counts = i < to && exponent_of(&m, set, i, &label) > top - m.negligible;
            int place = found + place_of(counts, &total);
            found += total;
            if (!counts) continue;
            float log_weight, t[4], u[2 * ROWS], base, out[STAIR_MEANS_WIDE];
            read_node<ROWS>(&m, set, i, &log_weight, t, u, &base);
            stair_hd_means_carry(&m.form, &label, log_weight, t, u, base, top, out);
            for (int c = 0; c < wide; c++)
                rows[(size_t)place * wide + c] = c < m.form.dims + 1 + m.form.sums ? out[c] : 0;
        }
        if (threadIdx.x == 0) call.counts[label_number * m.halves + half] = found;
    }
}

/* Sums of the slices of a block in order: part (slices, SUMS, columns) to out (SUMS, span). */
template <int SUMS, int COLUMNS> static __device__ void add_slices(const float *part, float *out)
{
    for (int k = threadIdx.x; k < SUMS * COLUMNS; k += THREADS) {
        float sum = 0;
        for (int s = 0; s < THREADS / COLUMNS; s++) sum += part[s * SUMS * COLUMNS + k];
        out[k / COLUMNS * STAIR_CARD_SPAN + k % COLUMNS] = sum;
    }
}

/* Blocks: (labels, halves).  COLUMNS: means, 16, or 1 where there are none. */
template <int SUMS, int DIMS, int COLUMNS>
static __global__ void __launch_bounds__(THREADS) random_sums(stair_cuda_means m, stair_means_call call)
{
    enum { WIDE = (DIMS + 1 + SUMS + 3) / 4 * 4, SLICES = THREADS / COLUMNS };
    __shared__ float4 tile[TILE * WIDE / 4];
    __shared__ float part[SLICES * SUMS * COLUMNS];
    int label = blockIdx.x, half = blockIdx.y, column = threadIdx.x % COLUMNS, slice = threadIdx.x / COLUMNS;
    size_t row = (size_t)label * m.halves + half;
    const float4 *rows = (const float4 *)(call.rows + row * m.half * WIDE);
    int count = call.counts[row];
    float omega[DIMS + 1], total[SUMS], constant = call.constant[(size_t)label * m.room + column];
#pragma unroll
    for (int d = 0; d < DIMS; d++) omega[d] = call.scaled[((size_t)label * DIMS + d) * m.room + column];
#pragma unroll
    for (int s = 0; s < SUMS; s++) total[s] = 0;
    for (int first = 0; first < count; first += TILE) {
        int here = min(TILE, count - first);
        for (int i = threadIdx.x; i < here * WIDE / 4; i += THREADS)
            tile[i] = rows[(size_t)first * WIDE / 4 + i];
        __syncthreads();
        for (int i = slice; i < here; i += SLICES) {
            float node[WIDE];
#pragma unroll
            for (int c = 0; c < WIDE / 4; c++) {
                float4 four = tile[i * WIDE / 4 + c];
                node[4 * c] = four.x;
                node[4 * c + 1] = four.y;
                node[4 * c + 2] = four.z;
                node[4 * c + 3] = four.w;
            }
            float a = stair_hd_means_random(DIMS, node, omega, constant);
#pragma unroll
            for (int s = 0; s < SUMS; s++) total[s] += node[DIMS + 1 + s] * a;
        }
        __syncthreads();
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++) part[(slice * SUMS + s) * COLUMNS + column] = total[s];
    __syncthreads();
    add_slices<SUMS, COLUMNS>(part, call.sums + row * m.room * SUMS);
}

/* Blocks: (labels, groups of means).  One hidden row of two tokens with overlap: five sums. */
static __global__ void __launch_bounds__(THREADS) plane_sums(stair_cuda_means m, stair_means_call call)
{
    enum { SUMS = 5, WIDE = 8, SLICES = THREADS / STAIR_CARD_SPAN, SPANS = STAIR_CARD_GROUP };
    __shared__ float4 tile[TILE * WIDE / 4];
    __shared__ float part[SLICES * SUMS * STAIR_CARD_SPAN];
    int label = blockIdx.x, group = blockIdx.y, column = threadIdx.x % STAIR_CARD_SPAN,
        slice = threadIdx.x / STAIR_CARD_SPAN, count = call.counts[label];
    const float4 *rows = (const float4 *)(call.rows + (size_t)label * m.half * WIDE);
    float centre[2] = {m.group[3 * group], m.group[3 * group + 1]}, radius = m.group[3 * group + 2];
    float high[SPANS][2], low[SPANS][2], total[SPANS][SUMS];
#pragma unroll
    for (int k = 0; k < SPANS; k++) {
        int j = min((group * SPANS + k) * STAIR_CARD_SPAN + column, m.room - 1);
        for (int t = 0; t < 2; t++) {
            high[k][t] = m.mean[t * m.room + j];
            low[k][t] = m.mean[(2 + t) * m.room + j];
        }
#pragma unroll
        for (int s = 0; s < SUMS; s++) total[k][s] = 0;
    }
    for (int first = 0; first < count; first += TILE) {
        float node[WIDE];
        int close = 0, here;
        if (first + (int)threadIdx.x < count) { /* nodes of the tile that some mean of the group is near to */
            float4 a = rows[(size_t)(first + threadIdx.x) * 2],
                   b = rows[(size_t)(first + threadIdx.x) * 2 + 1];
            node[0] = a.x, node[1] = a.y, node[2] = a.z, node[3] = a.w;
            node[4] = b.x, node[5] = b.y, node[6] = b.z, node[7] = b.w;
            close = stair_hd_means_close(node, centre, radius);
        }
        int place = place_of(close, &here);
        if (close) {
            tile[2 * place] = make_float4(node[0], node[1], node[3], node[4]);
            tile[2 * place + 1] = make_float4(node[5], node[6], node[7], 0);
        }
        __syncthreads();
        for (int i = slice; i < here; i += SLICES) {
            float4 a = tile[2 * i], b = tile[2 * i + 1];
            float at[2] = {a.x, a.y}, carried[SUMS] = {a.z, a.w, b.x, b.y, b.z};
#pragma unroll
            for (int k = 0; k < SPANS; k++) {
                float prior = stair_hd_means_plane(at, high[k], low[k], m.inverse);
#pragma unroll
                for (int s = 0; s < SUMS; s++) total[k][s] += carried[s] * prior;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < SPANS; k++) {
        int span = (group * SPANS + k) * STAIR_CARD_SPAN;
#pragma unroll
        for (int s = 0; s < SUMS; s++) part[(slice * SUMS + s) * STAIR_CARD_SPAN + column] = total[k][s];
        __syncthreads();
        if (span < m.room)
            add_slices<SUMS, STAIR_CARD_SPAN>(part, call.sums + ((size_t)label * m.room + span) * SUMS);
        __syncthreads();
    }
}

template <int SUMS, int DIMS>
static void launch_random(const stair_cuda_means *m, const stair_means_call *call, cudaStream_t stream)
{
    dim3 grid((unsigned)call->n, (unsigned)m->halves);
    random_sums<SUMS, DIMS, DIMS ? STAIR_CARD_SPAN : 1><<<grid, THREADS, 0, stream>>>(*m, *call);
}

static bool launch_sums(const stair_means_form *f, const stair_cuda_means *m, const stair_means_call *call,
                        cudaStream_t stream)
{
    switch (f->sums * 16 + f->dims) { /* without a call: whether there is one */
#define SERVED(sums, dims)                                                                                   \
    case sums * 16 + dims:                                                                                   \
        if (call) launch_random<sums, dims>(m, call, stream);                                                \
        return true
        SERVED(9, 0);
        SERVED(8, 2);
        SERVED(7, 4);
        SERVED(12, 0);
        SERVED(11, 2);
        SERVED(10, 4);
        SERVED(9, 6);
    default:
        return false;
    }
}

bool stair_cuda_means_served(const stair_means_form *form, bool random)
{
    return random ? form->rows >= 2 && form->rows <= STAIR_MEANS_ROWS && launch_sums(form, NULL, NULL, 0)
                  : form->rows == 1 && form->dims == 2 && form->sums == 5;
}

stair_status stair_cuda_means_sums(stair_context *context, const stair_cuda_slot *slot,
                                   const stair_cuda_means *m, const stair_means_call *call)
{
    cudaStream_t stream = (cudaStream_t)slot->stream;
    unsigned n = (unsigned)call->n;
    if (m->form.rows == 1)
        find_nodes<1><<<n, THREADS, 0, stream>>>(*m, *call);
    else if (m->form.rows == 2)
        find_nodes<2><<<n, THREADS, 0, stream>>>(*m, *call);
    else
        find_nodes<3><<<n, THREADS, 0, stream>>>(*m, *call);
    STAIR_TRY(stair_cuda_launched(context, "nodes of labels"));
    if (m->random)
        launch_sums(&m->form, m, call, stream);
    else {
        int each = STAIR_CARD_SPAN * STAIR_CARD_GROUP;
        dim3 grid(n, (unsigned)((m->room + each - 1) / each));
        plane_sums<<<grid, THREADS, 0, stream>>>(*m, *call);
    }
    return stair_cuda_launched(context, "sums of labels");
}
