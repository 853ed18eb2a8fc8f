/* Products with X on a card: kernels/rows.h says who does what.
 *
 * Both read X once and little else: project w, which stays in the first-level cache of a block whose warps go
 * through it side by side; collect c, one float4 for a row.  X itself passes by without being kept there. */
#include "cuda/products.h"

#include <cuda_runtime.h>

#include "kernels/rows.h"

/* Read once: past the first-level cache. */
static __device__ __forceinline__ float4 stream(const float4 *p)
{
    float4 v;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(p));
    return v;
}

/* Samples whose numbers are drawn: as counters know them. */
static __device__ __forceinline__ stair_philox_half half_of(const stair_card_rows &r, unsigned sample)
{
    return stair_hd_philox_sample(r.key, (uint32_t)r.first + sample);
}

static __device__ __forceinline__ float4 drawn(const stair_card_rows &r, const stair_philox_half &sample,
                                               const stair_rows_four &at)
{
    float x[4];
    stair_rows_draw(r.key, &sample, &at, x);
    return make_float4(x[0], x[1], x[2], x[3]);
}

/* A row: its number, and which token of which sample it is. */
typedef struct {
    size_t row;
    unsigned sample;
    int token;
} place;

static __device__ __forceinline__ place place_of(const stair_card_rows &r, size_t row)
{
    place at;
    at.sample = (unsigned)row / (unsigned)r.tokens; /* rows are fewer than 2^32 */
    at.row = row;
    at.token = (int)((unsigned)row - at.sample * (unsigned)r.tokens);
    return at;
}

static __device__ __forceinline__ void next_row(const stair_card_rows &r, place &at)
{
    at.row++;
    at.token++;
    if (at.token < r.tokens) return;
    at.token = 0;
    at.sample++;
}

/* Four columns of a row, stored or drawn. */
template <bool DRAWN>
static __device__ __forceinline__ float4 four(const stair_card_rows &r, const place &at, size_t group)
{
    if (!DRAWN) return stream((const float4 *)(r.x + at.row * r.pitch) + group);
    return drawn(r, half_of(r, at.sample), stair_rows_columns(r.key, r.dim, at.token, 4 * group));
}

static __device__ __forceinline__ float dot(float4 a, float4 b, float c)
{
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
}

/* ---- project ------------------------------------------------------------------------------------- */

/* What a warp has: one token of R samples; a last one too many is the one before it. */
typedef struct {
    size_t row[STAIR_PROJECT_ROWS];
    int token;
    stair_philox_half sample[STAIR_PROJECT_ROWS]; /* of drawn X */
} span;

/* part += X w^T of one group of columns */
template <int P, bool DRAWN, bool KEPT>
static __device__ __forceinline__ void add_group(const stair_card_rows &r, const span &at, const float *w,
                                                 size_t group, float (*part)[P])
{
    enum { R = STAIR_PROJECT_ROWS };
    float4 x[R], v[P];
    stair_rows_four columns;
    if (DRAWN) columns = stair_rows_columns(r.key, r.dim, at.token, 4 * group);
#pragma unroll
    for (int i = 0; i < R; i++) {
        x[i] = DRAWN ? drawn(r, at.sample[i], columns)
                     : stream((const float4 *)(r.x + at.row[i] * r.pitch) + group);
        if (KEPT) __stcs((float4 *)(r.keep + at.row[i] * r.pitch) + group, x[i]);
    }
#pragma unroll
    for (int p = 0; p < P; p++) v[p] = __ldg((const float4 *)(w + (size_t)p * r.pitch) + group);
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int p = 0; p < P; p++) part[i][p] = dot(x[i], v[p], part[i][p]);
}

/* KEPT: what is drawn is written too, in the shadow of drawing. */
template <int P, bool DRAWN, bool KEPT>
__global__ void __launch_bounds__(32 * STAIR_PROJECT_WARPS, P > 2 && DRAWN ? 1 : 2)
    project(stair_card_rows r, const float *__restrict__ w, double *__restrict__ z)
{
    enum { R = STAIR_PROJECT_ROWS, RUN = STAIR_PROJECT_RUN, AT_ONCE = DRAWN ? 1 : 2 };
    size_t warp = (size_t)blockIdx.x * STAIR_PROJECT_WARPS + threadIdx.x / 32;
    size_t groups = r.pitch / 4;
    unsigned tokens = (unsigned)r.tokens, first = (unsigned)warp / tokens * R,
             samples = (unsigned)r.rows / tokens;
    int lane = (int)(threadIdx.x % 32);
    if (first >= samples) return;
    span at;
    double sum[R][P];
    at.token = (int)((unsigned)warp % tokens);
#pragma unroll
    for (int i = 0; i < R; i++) {
        unsigned sample = first + i < samples ? first + i : samples - 1;
        at.row[i] = (size_t)sample * tokens + (unsigned)at.token;
        if (DRAWN) at.sample[i] = half_of(r, sample);
#pragma unroll
        for (int p = 0; p < P; p++) sum[i][p] = 0;
    }
    for (size_t from = (size_t)lane; from < groups; from += 32 * RUN) {
        float part[R][P] = {};
        if (from + 32 * (RUN - 1) < groups) {
#pragma unroll AT_ONCE
            for (int k = 0; k < RUN; k++) add_group<P, DRAWN, KEPT>(r, at, w, from + 32 * (size_t)k, part);
        } else {
#pragma unroll 1
            for (size_t group = from; group < groups; group += 32)
                add_group<P, DRAWN, KEPT>(r, at, w, group, part);
        }
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int p = 0; p < P; p++) sum[i][p] += part[i][p];
    }
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int p = 0; p < P; p++) {
            double total = sum[i][p];
            for (int step = 16; step; step /= 2) total += __shfl_xor_sync(~0u, total, step);
            if (lane == 0 && first + i < samples) z[at.row[i] * P + p] = total;
        }
}

template <bool DRAWN, bool KEPT>
static void launch_project(const stair_card_rows *r, const float *w, double *z, cudaStream_t stream)
{
    size_t tokens = (size_t)r->tokens, samples = r->rows / tokens;
    size_t warps = (samples + STAIR_PROJECT_ROWS - 1) / STAIR_PROJECT_ROWS * tokens;
    unsigned blocks = (unsigned)((warps + STAIR_PROJECT_WARPS - 1) / STAIR_PROJECT_WARPS);
    dim3 threads(32 * STAIR_PROJECT_WARPS);
    if (r->indices == 1) project<1, DRAWN, KEPT><<<blocks, threads, 0, stream>>>(*r, w, z);
    if (r->indices == 2) project<2, DRAWN, KEPT><<<blocks, threads, 0, stream>>>(*r, w, z);
    if (r->indices == 3) project<3, DRAWN, KEPT><<<blocks, threads, 0, stream>>>(*r, w, z);
    if (r->indices == 4) project<4, DRAWN, KEPT><<<blocks, threads, 0, stream>>>(*r, w, z);
}

stair_status stair_card_project(stair_context *context, const stair_device *device,
                                const stair_card_rows *rows, const float *w, double *z)
{
    stair_cuda_use(device);
    if (!rows->rows) return STAIR_OK;
    if (rows->x)
        launch_project<false, false>(rows, w, z, (cudaStream_t)device->stream);
    else if (rows->keep)
        launch_project<true, true>(rows, w, z, (cudaStream_t)device->stream);
    else
        launch_project<true, false>(rows, w, z, (cudaStream_t)device->stream);
    return stair_cuda_launched(context, "projecting X");
}

/* ---- collect ------------------------------------------------------------------------------------- */

/* part += X^T c of one row; then the next is up */
template <int P, bool DRAWN>
static __device__ __forceinline__ void add_row(const stair_card_rows &r, place &at, size_t group,
                                               const float4 *c, float (*part)[4])
{
    float4 x = four<DRAWN>(r, at, group), g = __ldg(c + at.row);
    float by[4] = {g.x, g.y, g.z, g.w};
#pragma unroll
    for (int p = 0; p < P; p++) {
        part[p][0] = fmaf(by[p], x.x, part[p][0]);
        part[p][1] = fmaf(by[p], x.y, part[p][1]);
        part[p][2] = fmaf(by[p], x.z, part[p][2]);
        part[p][3] = fmaf(by[p], x.w, part[p][3]);
    }
    next_row(r, at);
}

/* parts (slices, P, pitch) */
template <int P, bool DRAWN>
__global__ void __launch_bounds__(STAIR_COLLECT_WIDTH)
    collect(stair_card_rows r, size_t slices, const float4 *__restrict__ c, double *__restrict__ parts)
{
    size_t group = (size_t)blockIdx.x * STAIR_COLLECT_WIDTH + threadIdx.x, slice = blockIdx.y;
    size_t end = stair_collect_begin(r.rows, slices, slice + 1);
    place at = place_of(r, stair_collect_begin(r.rows, slices, slice));
    if (group >= r.pitch / 4) return;
    enum { AT_ONCE = DRAWN ? 2 : 8 };
    double sum[P][4] = {};
    while (at.row < end) {
        float part[P][4] = {};
        if (at.row + STAIR_COLLECT_RUN <= end) {
#pragma unroll AT_ONCE
            for (int k = 0; k < STAIR_COLLECT_RUN; k++) add_row<P, DRAWN>(r, at, group, c, part);
        } else {
#pragma unroll 1
            while (at.row < end) add_row<P, DRAWN>(r, at, group, c, part);
        }
#pragma unroll
        for (int p = 0; p < P; p++)
#pragma unroll
            for (int k = 0; k < 4; k++) sum[p][k] += part[p][k];
    }
#pragma unroll
    for (int p = 0; p < P; p++) {
        double2 *out = (double2 *)(parts + (slice * P + p) * r.pitch + 4 * group);
        out[0] = make_double2(sum[p][0], sum[p][1]);
        out[1] = make_double2(sum[p][2], sum[p][3]);
    }
}

/* b (P, dim): slices in order */
__global__ void add_slices(int indices, int dim, size_t pitch, size_t slices, bool add,
                           const double *__restrict__ parts, double *__restrict__ b)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
    if (at >= (size_t)dim) return;
    double sum = add ? b[p * (size_t)dim + at] : 0;
    for (size_t s = 0; s < slices; s++) sum += parts[(s * (size_t)indices + p) * pitch + at];
    b[p * (size_t)dim + at] = sum;
}

size_t stair_card_parts(const stair_card_rows *r)
{
    return stair_collect_slices(r->rows, r->pitch) * (size_t)r->indices * r->pitch;
}

template <bool DRAWN>
static void launch_collect(const stair_card_rows *r, size_t slices, const float *c, double *parts,
                           cudaStream_t stream)
{
    dim3 blocks((unsigned)stair_collect_columns(r->pitch), (unsigned)slices);
    const float4 *by = (const float4 *)c;
    if (r->indices == 1) collect<1, DRAWN><<<blocks, STAIR_COLLECT_WIDTH, 0, stream>>>(*r, slices, by, parts);
    if (r->indices == 2) collect<2, DRAWN><<<blocks, STAIR_COLLECT_WIDTH, 0, stream>>>(*r, slices, by, parts);
    if (r->indices == 3) collect<3, DRAWN><<<blocks, STAIR_COLLECT_WIDTH, 0, stream>>>(*r, slices, by, parts);
    if (r->indices == 4) collect<4, DRAWN><<<blocks, STAIR_COLLECT_WIDTH, 0, stream>>>(*r, slices, by, parts);
}

stair_status stair_card_collect(stair_context *context, const stair_device *device,
                                const stair_card_rows *rows, const float *c, bool add, double *parts,
                                double *b)
{
    size_t slices = stair_collect_slices(rows->rows, rows->pitch);
    cudaStream_t stream = (cudaStream_t)device->stream;
    stair_cuda_use(device);
    if (rows->x)
        launch_collect<false>(rows, slices, c, parts, stream);
    else
        launch_collect<true>(rows, slices, c, parts, stream);
    dim3 blocks((unsigned)((rows->dim + 255) / 256), (unsigned)rows->indices);
    add_slices<<<blocks, 256, 0, stream>>>(rows->indices, rows->dim, rows->pitch, slices, add, parts, b);
    return stair_cuda_launched(context, "collecting X^T g");
}

/* The rows of some samples: each number is added in double, for they are few. */
template <int P>
__global__ void __launch_bounds__(STAIR_COLLECT_WIDTH)
    collect_some(stair_card_rows r, size_t count, const uint32_t *__restrict__ index,
                 const float4 *__restrict__ c, double *__restrict__ b)
{
    size_t group = (size_t)blockIdx.x * STAIR_COLLECT_WIDTH + threadIdx.x, tokens = (size_t)r.tokens;
    if (group >= r.pitch / 4) return;
    double sum[P][4] = {};
#pragma unroll 8
    for (size_t k = 0; k < count * tokens; k++) {
        size_t row = (size_t)index[k / tokens] * tokens + k % tokens;
        float4 x = stream((const float4 *)(r.x + row * r.pitch) + group), g = __ldg(c + row);
        float by[4] = {g.x, g.y, g.z, g.w};
#pragma unroll
        for (int p = 0; p < P; p++) {
            sum[p][0] += (double)(by[p] * x.x);
            sum[p][1] += (double)(by[p] * x.y);
            sum[p][2] += (double)(by[p] * x.z);
            sum[p][3] += (double)(by[p] * x.w);
        }
    }
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            size_t column = 4 * group + (size_t)k;
            if (column < (size_t)r.dim) b[(size_t)p * (size_t)r.dim + column] += sum[p][k];
        }
}

stair_status stair_card_collect_some(stair_context *context, const stair_device *device,
                                     const stair_card_rows *r, size_t count, const uint32_t *index,
                                     const float *c, double *b)
{
    unsigned blocks = (unsigned)stair_collect_columns(r->pitch), threads = STAIR_COLLECT_WIDTH;
    cudaStream_t stream = (cudaStream_t)device->stream;
    const float4 *by = (const float4 *)c;
    stair_cuda_use(device);
    if (!count) return STAIR_OK;
    if (r->indices == 1) collect_some<1><<<blocks, threads, 0, stream>>>(*r, count, index, by, b);
    if (r->indices == 2) collect_some<2><<<blocks, threads, 0, stream>>>(*r, count, index, by, b);
    if (r->indices == 3) collect_some<3><<<blocks, threads, 0, stream>>>(*r, count, index, by, b);
    if (r->indices == 4) collect_some<4><<<blocks, threads, 0, stream>>>(*r, count, index, by, b);
    return stair_cuda_launched(context, "collecting X^T g of some samples");
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* A thread has four columns of one token, of every so many samples. */
__global__ void __launch_bounds__(256) draw_fours(stair_card_rows r, float *__restrict__ x)
{
    size_t group = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned tokens = (unsigned)r.tokens, samples = (unsigned)r.rows / tokens;
    if (group >= r.pitch / 4) return;
    stair_rows_four columns = stair_rows_columns(r.key, r.dim, (int)blockIdx.z, 4 * group);
#pragma unroll 2
    for (unsigned sample = blockIdx.y; sample < samples; sample += gridDim.y) {
        size_t row = (size_t)sample * tokens + blockIdx.z;
        __stcs((float4 *)(x + row * r.pitch) + group, drawn(r, half_of(r, sample), columns));
    }
}

/* Odd dim, where tokens share pairs: a thread has one pair of a sample's stream. */
__global__ void draw_pairs(stair_card_rows r, float *__restrict__ x)
{
    size_t length = (size_t)r.tokens * (size_t)r.dim, pair = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t samples = r.rows / (size_t)r.tokens;
    for (size_t sample = blockIdx.y; sample < samples && 2 * pair < length; sample += gridDim.y) {
        float two[2];
        stair_hd_normals(r.key, r.first + sample, pair, &two[0], &two[1]);
        for (size_t k = 0; k < 2 && 2 * pair + k < length; k++) {
            size_t t = (2 * pair + k) / (size_t)r.dim, column = 2 * pair + k - t * (size_t)r.dim;
            x[(sample * (size_t)r.tokens + t) * r.pitch + column] = two[k];
        }
    }
}

#define DRAW_SAMPLES 16 /* of a block */

stair_status stair_card_draw(stair_context *context, const stair_device *device, const stair_card_rows *rows,
                             float *x)
{
    size_t pairs = ((size_t)rows->tokens * (size_t)rows->dim + 1) / 2,
           samples = rows->rows / (size_t)rows->tokens;
    if (!samples) return STAIR_OK;
    if (rows->dim % 2 == 0 && stair_rows_drawable(rows->first + samples, rows->tokens, rows->dim)) {
        stair_cuda_use(device);
        dim3 grid((unsigned)((rows->pitch / 4 + 255) / 256),
                  (unsigned)((samples + DRAW_SAMPLES - 1) / DRAW_SAMPLES), (unsigned)rows->tokens);
        while (grid.y > 65535) grid.y = (grid.y + 1) / 2;
        draw_fours<<<grid, 256, 0, (cudaStream_t)device->stream>>>(*rows, x);
        return stair_cuda_launched(context, "drawing X");
    }
    if (rows->pitch > (size_t)rows->dim)
        STAIR_TRY(stair_cuda_zero(context, device, x, rows->rows * rows->pitch * sizeof *x));
    stair_cuda_use(device);
    dim3 blocks((unsigned)((pairs + 255) / 256), (unsigned)(samples < 65535 ? samples : 65535));
    draw_pairs<<<blocks, 256, 0, (cudaStream_t)device->stream>>>(*rows, x);
    return stair_cuda_launched(context, "drawing X");
}

/* ---- bench --------------------------------------------------------------------------------------- */

__global__ void read_all(const float4 *__restrict__ x, size_t count, double *out)
{
    enum { AT_ONCE = 8 };
    float sum = 0;
    size_t step = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (AT_ONCE - 1) * step < count; i += AT_ONCE * step) {
        float4 v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) v[k] = stream(x + i + (size_t)k * step);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (; i < count; i += step) sum += stream(x + i).x;
    if (sum == 1.2345f) *out = sum; /* never: but the compiler cannot know */
}

stair_status stair_card_read(stair_context *context, const stair_device *device, const float *x, size_t count,
                             double *out)
{
    stair_cuda_use(device);
    read_all<<<(unsigned)(8 * device->processors), 512, 0, (cudaStream_t)device->stream>>>((const float4 *)x,
                                                                                           count / 4, out);
    return stair_cuda_launched(context, "reading");
}

/* Each thread `each` exps, four at a time. */
__global__ void many_exps(int each, float *out)
{
    float x[4], start = -1e-6f * (float)(blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 4; k++) x[k] = start - 0.1f * (float)k;
#pragma unroll 8
    for (int i = 0; i < each; i += 4)
        for (int k = 0; k < 4; k++) x[k] = __expf(-x[k]);
    if (x[0] + x[1] + x[2] + x[3] == 1.2345f) *out = x[0];
}

stair_status stair_card_exps(stair_context *context, const stair_device *device, int blocks, int each,
                             float *out)
{
    stair_cuda_use(device);
    many_exps<<<(unsigned)blocks, 256, 0, (cudaStream_t)device->stream>>>(each, out);
    return stair_cuda_launched(context, "exps");
}

__global__ void many_normals(int each, float *out)
{
    float sum = 0;
    stair_philox_half sample = stair_hd_philox_sample(1, blockIdx.x * blockDim.x + threadIdx.x);
#pragma unroll 4
    for (int i = 0; i < each; i += 2) {
        float a, b;
        uint32_t c[4];
        stair_philox_half draw = stair_hd_philox_draw(1, (uint32_t)i / 2);
        stair_hd_philox_join(1, &sample, &draw, c);
        stair_hd_box_muller(c, &a, &b);
        sum = fmaf(a, b, sum);
    }
    if (sum == 1.2345f) *out = sum;
}

stair_status stair_card_normals(stair_context *context, const stair_device *device, int blocks, int each,
                                float *out)
{
    stair_cuda_use(device);
    many_normals<<<(unsigned)blocks, 256, 0, (cudaStream_t)device->stream>>>(each, out);
    return stair_cuda_launched(context, "normals");
}
