/* A pass over stored X that reads it once: kernels/once.h says who does what.
 *
 * A block has a multiprocessor to itself, with a warp that copies, one that fetches g of other blocks, some
 * that project, some that denoise and some that collect.  Copies are those of compute capability 9.0: a warp
 * asks, and a barrier in shared memory counts the bytes that have come.  What waits for another block reads
 * letters until the right mark is there; all blocks are on the card at once, so it comes.
 *
 * From asking for a row to adding it takes some nine microseconds, in which a card reads 40 MB: that is what
 * the rings hold together, with what collecting threads keep in registers to free slots early.  So what lies
 * on that way counts, and nothing there may be in local memory: letters wait in the cache, from which rows of
 * X must not drive them; g is looked for by few lanes at a time, since hundreds that look at one place slow
 * down all that is read there; and the lane that copies has a handful of instructions for a bundle. */
#include "cuda/once.h"

#include <cuda_runtime.h>

enum {
    PROJECTING = 4, /* warps */
    DENOISING = 4,
    COLLECTING = STAIR_ONCE_WIDE / 32,
    FIRST_PROJECTING = 2, /* after the one that copies and the one that fetches */
    FIRST_COLLECTING = FIRST_PROJECTING + PROJECTING,
    FIRST_DENOISING = FIRST_COLLECTING + COLLECTING,
    WARPS = FIRST_DENOISING + DENOISING,
    PATIENCE = 1 << 25 /* looks for what does not come, many seconds: then the kernel ends in an error */
};

typedef struct {
    stair_card_rows rows;
    const float *w;
    stair_memory_form memory;
    stair_pair_form form;
    double whiten[4];
    stair_card_samples s;
    stair_once_letter *parts, *g; /* (slot of STAIR_ONCE_LETTERS, block, NUMBERS), (slot, NUMBERS) */
    double *b;
    int slots;
    unsigned sample_bytes; /* in the ring */
} once_form;

/* What the warps of a block share beside the ring. */
typedef struct {
    uint64_t full[STAIR_ONCE_LETTERS], come[STAIR_ONCE_LETTERS], empty[STAIR_ONCE_LETTERS]; /* barriers */
    float4 g[STAIR_ONCE_LETTERS];
    volatile unsigned projected[PROJECTING]; /* samples that each of these warps is past */
    double sums[2][DENOISING][STAIR_ONCE_NUMBERS];
    float room[STAIR_PAIR_ROOM];
} shared_parts;

/* Where a run through the ring is: a slot, and the parity of how often it went round. */
typedef struct {
    int slot;
    unsigned turn;
} ring_place;

static __device__ __forceinline__ void ring_on(ring_place &at, int by, int slots)
{
    at.slot += by;
    if (at.slot < slots) return;
    at.slot -= slots;
    at.turn ^= 1;
}

/* ---- barriers and copies of compute capability 9.0 ---------------------------------------------------- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAVE_BULK_COPIES 1 /* a question: #ifdef */
#endif

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_begin(uint64_t *barrier, unsigned count)
{
#ifdef HAVE_BULK_COPIES
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
#endif
}

static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier)
{
#ifdef HAVE_BULK_COPIES
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

static __device__ __forceinline__ bool barrier_passed(uint64_t *barrier, unsigned parity)
{
    unsigned done = 0;
#ifdef HAVE_BULK_COPIES
    asm volatile("{\n .reg .pred p;\n"
                 " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 " selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
#endif
    return done;
}

static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity)
{
    for (int look = 0; !barrier_passed(barrier, parity); look++)
        if (look == PATIENCE) __trap();
}

/* What the cache is told of rows of X: they are not read again, so that letters and sums stay in it. */
static __device__ __forceinline__ uint64_t read_once_policy(void)
{
    uint64_t policy = 0;
#ifdef HAVE_BULK_COPIES
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

/* bytes from the card's memory into shared memory; the barrier hears of them */
static __device__ __forceinline__ void copy_row(void *to, const void *from, unsigned bytes, uint64_t *barrier,
                                                uint64_t policy)
{
#ifdef HAVE_BULK_COPIES
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
                 : "memory");
#endif
}

static __device__ __forceinline__ void expect_bytes(uint64_t *barrier, unsigned bytes)
{
#ifdef HAVE_BULK_COPIES
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* ---- letters ------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ unsigned long long sealed(float value, unsigned sample)
{
    return (unsigned long long)(sample + 1) << 32 | __float_as_uint(value);
}

static __device__ __forceinline__ void put_letter(stair_once_letter *to, float value, unsigned sample)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(sealed(value, sample)) : "memory");
}

/* Two at once; whether both are of the sample. */
static __device__ __forceinline__ bool get_letters(const stair_once_letter *from, unsigned sample,
                                                   float value[2])
{
    unsigned long long a, b;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
    value[0] = __uint_as_float((unsigned)a);
    value[1] = __uint_as_float((unsigned)b);
    return (unsigned)(a >> 32) == sample + 1 && (unsigned)(b >> 32) == sample + 1;
}

/* All that cross for a sample, asked for together. */
template <int P>
static __device__ __forceinline__ bool get_numbers(const stair_once_letter *from, unsigned sample,
                                                   float value[STAIR_ONCE_NUMBERS])
{
    bool come = get_letters(from, sample, value);
    if (P > 1) come &= get_letters(from + 2, sample, value + 2);
    return come;
}

/* ---- the warps ----------------------------------------------------------------------------------------- */

typedef struct {
    unsigned samples;
    size_t first;     /* group of the slab */
    unsigned groups;  /* of it */
    unsigned char *x; /* the ring */
} slab;

/* One lane does this for all of X, so every instruction counts. */
template <int B> static __device__ void copy_bundles(const once_form &f, const slab &at, shared_parts *all)
{
    enum { ROWS = STAIR_ONCE_TOKENS * B };
    unsigned bytes = 16 * at.groups, row = f.sample_bytes / STAIR_ONCE_TOKENS, whole = at.samples / B,
             rest = STAIR_ONCE_TOKENS * (at.samples - whole * B), slots = (unsigned)f.slots, slot = 0,
             turn = 0;
    uint64_t policy = read_once_policy();
    const float *from = f.rows.x + 4 * at.first;
    unsigned char *to = at.x;
    for (unsigned i = 0; i < whole + (rest > 0); i++) {
        if (i >= slots) barrier_wait(&all->empty[slot], turn ^ 1);
        if (i < whole) {
            expect_bytes(&all->full[slot], ROWS * bytes);
#pragma unroll
            for (unsigned t = 0; t < ROWS; t++)
                copy_row(to + t * row, from + t * f.rows.pitch, bytes, &all->full[slot], policy);
        } else {
            expect_bytes(&all->full[slot], rest * bytes);
            for (unsigned t = 0; t < rest; t++)
                copy_row(to + t * row, from + t * f.rows.pitch, bytes, &all->full[slot], policy);
        }
        from += ROWS * f.rows.pitch;
        to += B * f.sample_bytes;
        if (++slot < slots) continue;
        slot = 0;
        turn ^= 1;
        to = at.x;
    }
}

static __device__ __forceinline__ unsigned least_of_warp(unsigned x) /* below 2^31 */
{
#ifdef STAIR_ON_CARD
    return (unsigned)stair_pair_least((int)x);
#else
    return x;
#endif
}

/* Each lane waits for g of every 32nd sample; a last bundle is filled up.  Those far from their turn are not
 * looked for: what many blocks read over and over is in the way of X. */
template <int P, int B>
static __device__ void fetch(const once_form &f, const slab &at, shared_parts *all, int lane)
{
    unsigned s = (unsigned)lane, end = (at.samples + B - 1) / B * B, next = 0;
    for (int look = 0; next < end; look++) {
        const stair_once_letter *from = f.g + s % STAIR_ONCE_LETTERS * STAIR_ONCE_NUMBERS;
        float g[STAIR_ONCE_NUMBERS] = {};
        bool come =
            s < end && s < next + STAIR_ONCE_WINDOW && (s >= at.samples || get_numbers<P>(from, s, g));
        if (come) {
            all->g[s % STAIR_ONCE_LETTERS] = make_float4(g[0], g[1], g[2], g[3]);
            barrier_arrive(&all->come[s / B % (STAIR_ONCE_LETTERS / B)]);
            s += 32;
        }
        if (__any_sync(~0u, come)) {
            next = least_of_warp(s);
            look = 0;
        }
        if (look == PATIENCE) __trap();
    }
}

/* Sums over the lanes of v[t P + p]; each ends in some lanes, which of them is said by *which. */
template <int P, typename T> static __device__ __forceinline__ T share_out(const T *v, int lane, int *which)
{
    bool high = lane & 16;
    if constexpr (P == 1) {
        T mine = high ? v[1] : v[0], other = high ? v[0] : v[1];
        mine += __shfl_xor_sync(~0u, other, 16);
        mine += __shfl_xor_sync(~0u, mine, 8);
        for (int step = 4; step; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
        *which = lane & 15 ? -1 : lane >> 4;
        return mine;
    } else {
        bool odd = lane & 8;
        T two[2];
        for (int p = 0; p < 2; p++) {
            T mine = high ? v[P + p] : v[p], other = high ? v[p] : v[P + p];
            two[p] = mine + __shfl_xor_sync(~0u, other, 16);
        }
        T mine = odd ? two[1] : two[0], other = odd ? two[0] : two[1];
        mine += __shfl_xor_sync(~0u, other, 8);
        for (int step = 4; step; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
        *which = lane & 7 ? -1 : lane >> 3;
        return mine;
    }
}

static __device__ __forceinline__ float dot(float4 a, float4 b, float c)
{
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
}

/* G: groups of a collecting thread, so that a lane here has 6 G.  A warp has every fourth sample. */
template <int P, int G, int B>
static __device__ void project_samples(const once_form &f, const slab &at, shared_parts *all, int warp,
                                       int lane)
{
    enum { EACH = COLLECTING * G, HELD = G == 1 ? EACH : 1 };
    float4 held[HELD][P]; /* of W, where there is room for it */
    const float4 *w = (const float4 *)f.w + at.first;
    size_t step = f.rows.pitch / 4;
#pragma unroll
    for (int j = 0; j < HELD && G == 1; j++)
#pragma unroll
        for (int p = 0; p < P; p++) {
            unsigned group = (unsigned)(lane + 32 * j);
            held[j][p] = group < at.groups ? __ldg(w + (size_t)p * step + group) : make_float4(0, 0, 0, 0);
        }
    ring_place place = {warp / B, 0};
    for (unsigned s = (unsigned)warp; s < at.samples; s += PROJECTING) {
        const float4 *x = (const float4 *)(at.x + ((size_t)place.slot * B + s % B) * f.sample_bytes),
                     *y = (const float4 *)((const unsigned char *)x + f.sample_bytes / STAIR_ONCE_TOKENS);
        float v[STAIR_ONCE_TOKENS * P] = {};
        barrier_wait(&all->full[place.slot], place.turn);
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            unsigned group = (unsigned)(lane + 32 * j), in = group < at.groups ? group : 0;
            float4 one = x[in], two = y[in];
#pragma unroll
            for (int p = 0; p < P; p++) { /* beyond the slab W is zero */
                float4 by = G == 1              ? held[j < HELD ? j : 0][p]
                            : group < at.groups ? __ldg(w + (size_t)p * step + group)
                                                : make_float4(0, 0, 0, 0);
                v[p] = dot(one, by, v[p]);
                v[P + p] = dot(two, by, v[P + p]);
            }
        }
        int which;
        float sum = share_out<P>(v, lane, &which);
        stair_once_letter *to =
            f.parts + (s % STAIR_ONCE_LETTERS * (size_t)gridDim.x + blockIdx.x) * STAIR_ONCE_NUMBERS;
        if (which >= 0) put_letter(to + which, sum, s);
        __syncwarp();
        if (lane == 0) {
            all->projected[warp] = s + 1;
            barrier_arrive(&all->empty[place.slot]);
        }
        ring_on(place, PROJECTING / B, f.slots);
    }
}

/* X w^T of a sample, z (M, P): the parts of all blocks, in the order of threads and of warps. */
template <int P>
static __device__ __forceinline__ void gather_parts(const once_form &f, unsigned s, shared_parts *all,
                                                    stair_pair_team *team, double *z)
{
    const stair_once_letter *from = f.parts + s % STAIR_ONCE_LETTERS * (size_t)gridDim.x * STAIR_ONCE_NUMBERS;
    int turn = team->turn; /* changes with every exchange of posteriors, or every time here */
    for (int look = 0; all->projected[s % PROJECTING] <= s; look++) { /* by then others are near */
        __nanosleep(20);
        if (look == PATIENCE) __trap();
    }
    for (int k = 0; k < STAIR_ONCE_TOKENS * P; k++) z[k] = 0;
    enum { THREADS = 32 * DENOISING };
    for (unsigned b = (unsigned)(32 * team->slice + team->lane); b < gridDim.x; b += 2 * THREADS) {
        float part[2][STAIR_ONCE_NUMBERS]; /* of two blocks, asked for together */
        unsigned more = b + THREADS < gridDim.x ? THREADS : 0;
        for (int look = 0;; look++) {
            bool come = get_numbers<P>(from + b * STAIR_ONCE_NUMBERS, s, part[0]);
            come &= get_numbers<P>(from + (b + more) * STAIR_ONCE_NUMBERS, s, part[1]);
            if (come) break;
            if (look == PATIENCE) __trap();
        }
        for (int k = 0; k < STAIR_ONCE_TOKENS * P; k++)
            z[k] += (double)part[0][k] + (more ? (double)part[1][k] : 0);
    }
    int which;
    double mine = share_out<P>(z, team->lane, &which);
    if (which >= 0) all->sums[turn][team->slice][which] = mine;
    asm volatile("bar.sync %0, %1;" ::"r"(team->barrier), "r"(32 * DENOISING) : "memory");
    for (int k = 0; k < STAIR_ONCE_TOKENS * P; k++) {
        z[k] = all->sums[turn][0][k];
        for (int slice = 1; slice < DENOISING; slice++) z[k] += all->sums[turn][slice][k];
    }
    team->turn ^= 1;
}

template <int P>
static __device__ void denoise_samples(const once_form &f, const slab &at, shared_parts *all, int warp,
                                       int lane)
{
    enum { CELLS = STAIR_ONCE_TOKENS * P };
    stair_pair_form form = f.form;
    stair_pair_team team = {lane, warp, DENOISING, all->room, 1, 0};
    form.rows = P;
    for (unsigned s = blockIdx.x; s < at.samples; s += gridDim.x) {
        double g[CELLS], o[CELLS], z[CELLS], next[CELLS], omega[CELLS], says[2 * P * P + 1];
        float h[2], c[4 * STAIR_ONCE_TOKENS], error;
        int nodes;
        for (int k = 0; k < CELLS; k++) {
            g[k] = f.s.g[(size_t)s * CELLS + k];
            o[k] = f.s.o[(size_t)s * CELLS + k];
        }
        for (int t = 0; t < 2; t++) h[t] = f.s.h[2 * (size_t)s + t];
        gather_parts<P>(f, s, all, &team, z);
        stair_memory_react_of(&f.memory, P, STAIR_ONCE_TOKENS, z, g, o, next, omega);
        for (int k = 0; k < CELLS && warp + lane == 0; k++) { /* now: later they would be in the way */
            f.s.next_o[(size_t)s * CELLS + k] = next[k];
            f.s.omega[(size_t)s * CELLS + k] = omega[k];
        }
        stair_pair_sample sample = stair_pair_open(&form, f.whiten, h, omega);
        stair_pair_moments m;
        stair_pair_posterior_by(&form, &sample, &team, 1, &m, &error, &nodes);
        if (warp || lane) continue;
        stair_pair_write(&form, f.whiten, &m, error, g, c, says);
        bool good = error <= form.precision;
        stair_once_letter *to = f.g + s % STAIR_ONCE_LETTERS * STAIR_ONCE_NUMBERS;
        for (int t = 0; t < STAIR_ONCE_TOKENS; t++)
            for (int p = 0; p < P; p++) put_letter(to + t * P + p, good ? c[4 * t + p] : 0.0f, s);
        for (int k = 0; k < CELLS; k++) f.s.next_g[(size_t)s * CELLS + k] = g[k];
        for (int k = 0; k < 4 * STAIR_ONCE_TOKENS; k++) f.s.c[4 * STAIR_ONCE_TOKENS * (size_t)s + k] = c[k];
        for (int k = 0; k < 2 * P * P + 1; k++) f.s.says[(size_t)s * (2 * P * P + 1) + k] = says[k];
        f.s.error[s] = error;
    }
}

/* What a collecting thread holds of a bundle while g is on its way. */
template <int G, int B> struct held_bundle {
    float4 x[B][STAIR_ONCE_TOKENS][G];
};

template <int G, int B>
static __device__ __forceinline__ void hold(held_bundle<G, B> &held, const unsigned char *x, unsigned row,
                                            const slab &at, int thread)
{
#pragma unroll
    for (int k = 0; k < B; k++)
#pragma unroll
        for (int t = 0; t < STAIR_ONCE_TOKENS; t++)
#pragma unroll
            for (int j = 0; j < G; j++) {
                unsigned group = (unsigned)(thread + STAIR_ONCE_WIDE * j);
                const float4 *from = (const float4 *)(x + (unsigned)(STAIR_ONCE_TOKENS * k + t) * row);
                held.x[k][t][j] = from[group < at.groups ? group : 0];
            }
}

/* part += X^T g of one sample */
template <int P, int G>
static __device__ __forceinline__ void add_sample(const float4 (*x)[G], float4 of, float (*part)[P][4])
{
    float g[STAIR_ONCE_NUMBERS] = {of.x, of.y, of.z, of.w};
#pragma unroll
    for (int j = 0; j < G; j++)
#pragma unroll
        for (int p = 0; p < P; p++) {
            float a = g[p], b = g[P + p];
            part[j][p][0] = fmaf(b, x[1][j].x, fmaf(a, x[0][j].x, part[j][p][0]));
            part[j][p][1] = fmaf(b, x[1][j].y, fmaf(a, x[0][j].y, part[j][p][1]));
            part[j][p][2] = fmaf(b, x[1][j].z, fmaf(a, x[0][j].z, part[j][p][2]));
            part[j][p][3] = fmaf(b, x[1][j].w, fmaf(a, x[0][j].w, part[j][p][3]));
        }
}

/* K bundles are held in registers, so that their slots are free before g has come. */
template <int P, int G, int B, int K>
static __device__ void collect_bundles(const once_form &f, const slab &at, shared_parts *all, int thread)
{
    enum { RING = STAIR_ONCE_LETTERS / B };
    double sum[G][P][4] = {};
    float part[G][P][4] = {};
    held_bundle<G, B> held[K];
    ring_place place = {0, 0};
    unsigned bundles = (at.samples + B - 1) / B;
    for (unsigned first = 0; first < bundles + K; first += K)
#pragma unroll
        for (unsigned k = 0; k < K; k++) {
            unsigned now = first + k, old = now - K;
            if (first && old < bundles) {
                barrier_wait(&all->come[old % RING], old / RING & 1);
#pragma unroll
                for (unsigned i = 0; i < B; i++)
                    if (old * B + i < at.samples)
                        add_sample<P, G>(held[k].x[i], all->g[(old * B + i) % STAIR_ONCE_LETTERS], part);
                if ((old + 1) * B % STAIR_ONCE_RUN == 0 || old + 1 == bundles)
#pragma unroll
                    for (int j = 0; j < G; j++)
#pragma unroll
                        for (int p = 0; p < P; p++)
#pragma unroll
                            for (int c = 0; c < 4; c++) {
                                sum[j][p][c] += (double)part[j][p][c];
                                part[j][p][c] = 0;
                            }
            }
            if (now >= bundles) continue;
            barrier_wait(&all->full[place.slot], place.turn);
            hold<G, B>(held[k], at.x + (size_t)place.slot * B * f.sample_bytes,
                       f.sample_bytes / STAIR_ONCE_TOKENS, at, thread);
            __syncwarp();
            if (thread % 32 == 0) barrier_arrive(&all->empty[place.slot]);
            ring_on(place, 1, f.slots);
        }
#pragma unroll
    for (int j = 0; j < G; j++)
#pragma unroll
        for (int p = 0; p < P; p++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned group = (unsigned)(thread + STAIR_ONCE_WIDE * j);
                size_t column = 4 * (at.first + group) + (size_t)k;
                if (group < at.groups && column < (size_t)f.rows.dim)
                    f.b[(size_t)p * (size_t)f.rows.dim + column] = sum[j][p][k];
            }
}

/* B: samples of a bundle; K: bundles held in registers */
template <int P, int G, int B, int K>
__global__ void __launch_bounds__(32 * WARPS, 1) once(const __grid_constant__ once_form f)
{
    extern __shared__ __align__(128) unsigned char ring[];
    __shared__ shared_parts all;
    int warp = (int)(threadIdx.x / 32), lane = (int)(threadIdx.x % 32);
    size_t groups = f.rows.pitch / 4;
    slab at;
    at.samples = (unsigned)(f.rows.rows / STAIR_ONCE_TOKENS);
    at.first = stair_once_slab(groups, gridDim.x, blockIdx.x);
    at.groups = (unsigned)(stair_once_slab(groups, gridDim.x, blockIdx.x + 1) - at.first);
    at.x = ring;
    if (threadIdx.x == 0) {
        for (int k = 0; k < PROJECTING; k++) all.projected[k] = 0;
        for (int k = 0; k < f.slots; k++) {
            barrier_begin(&all.full[k], 1);
            barrier_begin(&all.empty[k], COLLECTING + B);
        }
        for (int k = 0; k < STAIR_ONCE_LETTERS / B; k++) barrier_begin(&all.come[k], B);
#ifdef HAVE_BULK_COPIES
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    __syncthreads();
    if (warp == 0) {
        if (lane == 0) copy_bundles<B>(f, at, &all);
    } else if (warp < FIRST_PROJECTING)
        fetch<P, B>(f, at, &all, lane);
    else if (warp < FIRST_COLLECTING)
        project_samples<P, G, B>(f, at, &all, warp - FIRST_PROJECTING, lane);
    else if (warp < FIRST_DENOISING)
        collect_bundles<P, G, B, K>(f, at, &all, (warp - FIRST_COLLECTING) * 32 + lane);
    else
        denoise_samples<P>(f, at, &all, warp - FIRST_DENOISING, lane);
}

/* ---- launch -------------------------------------------------------------------------------------------- */

static int attribute(const stair_device *device, cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device->number) == cudaSuccess ? value : 0;
}

/* Samples that fit into the ring. */
static size_t room_for(const stair_device *device, const stair_card_rows *rows)
{
    size_t bytes = (size_t)attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin),
           sample = stair_once_sample(rows->pitch / 4, (size_t)device->processors),
           room = bytes > sizeof(shared_parts) ? (bytes - sizeof(shared_parts)) / sample : 0;
    return room < STAIR_ONCE_RING ? room : STAIR_ONCE_RING;
}

bool stair_card_once_serves(const stair_device *device, const stair_card_rows *rows)
{
    size_t groups = rows->pitch / 4, blocks = (size_t)device->processors;
    return rows->tokens == STAIR_ONCE_TOKENS && rows->indices <= 2 && groups / blocks >= STAIR_ONCE_LEAST &&
           stair_once_widest(groups, blocks) <= STAIR_ONCE_MOST * STAIR_ONCE_WIDE &&
           room_for(device, rows) >= STAIR_ONCE_FEW &&
           stair_card_parts(rows) * sizeof(double) >= stair_once_bytes(blocks) &&
           attribute(device, cudaDevAttrCooperativeLaunch) &&
           attribute(device, cudaDevAttrComputeCapabilityMajor) >= 9;
}

template <int P, int G, int B, int K> static cudaError_t launch(const stair_device *device, once_form *f)
{
    f->slots = (int)room_for(device, &f->rows) / B;
    int bytes = f->slots * B * (int)f->sample_bytes;
    cudaError_t code =
        cudaFuncSetAttribute(once<P, G, B, K>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess) return code;
    void *arguments[] = {f};
    return cudaLaunchCooperativeKernel((const void *)once<P, G, B, K>, dim3((unsigned)device->processors),
                                       dim3(32 * WARPS), arguments, (size_t)bytes,
                                       (cudaStream_t)device->stream);
}

/* Narrow slabs come in large bundles, since each takes as many instructions; wide ones in small ones, since
 * few fit.  Chosen by trial on a card: D = 5 x 10^4 to 3 x 10^5. */
template <int P> static cudaError_t launch_wide(const stair_device *device, once_form *f)
{
    size_t wide = stair_once_widest(f->rows.pitch / 4, (size_t)device->processors);
    return wide <= STAIR_ONCE_NARROW     ? launch<P, 1, 4, 2>(device, f)
           : wide <= STAIR_ONCE_WIDE     ? launch<P, 1, 2, 4>(device, f)
           : wide <= 2 * STAIR_ONCE_WIDE ? launch<P, 2, 1, 2>(device, f)
                                         : launch<P, 3, 1, 1>(device, f);
}

stair_status stair_card_once(stair_context *context, const stair_device *device, const stair_card_rows *rows,
                             const float *w, const stair_memory_form *memory, const stair_pair_form *form,
                             const double *whiten, const stair_card_samples *s, void *letters, double *b)
{
    size_t blocks = (size_t)device->processors;
    once_form f;
    f.rows = *rows;
    f.w = w;
    f.memory = *memory;
    f.form = *form;
    for (int k = 0; k < 4; k++) f.whiten[k] = k < form->rows * form->rows ? whiten[k] : 0;
    f.s = *s;
    f.parts = (stair_once_letter *)letters;
    f.g = f.parts + blocks * STAIR_ONCE_LETTERS * STAIR_ONCE_NUMBERS;
    f.b = b;
    f.sample_bytes = (unsigned)stair_once_sample(rows->pitch / 4, blocks);
    stair_cuda_use(device);
    STAIR_TRY(stair_cuda_zero(context, device, letters, stair_once_bytes(blocks)));
    return stair_cuda_check(
        context, (int)(rows->indices == 1 ? launch_wide<1>(device, &f) : launch_wide<2>(device, &f)),
        "a pass that reads X once");
}
