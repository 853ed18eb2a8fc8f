/* Several doubles at a time: the vocabulary of the hot loops.
 *
 * A `lanes` value is LANES doubles: one register of the instruction set the file is built for, since
 * compilers are poor at splitting a wider value into several.  A file whose data are interleaved
 * by a fixed number defines LANES before it includes this.  Only files named *_hot.c use it;
 * core/isa.h says how they are built and chosen.
 *
 * exp is our own polynomial rather than a library call: it inlines into the loop that needs it
 * and gives the same bits in every lane.  tests/unit/test_lanes.c holds it to 2 ulp.
 */
#ifndef STAIR_CORE_LANES_H
#define STAIR_CORE_LANES_H

#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef LANES
#if defined(__AVX512F__)
#define LANES 8 /* doubles in 512 bits */
#elif defined(__AVX2__)
#define LANES 4 /* in 256 */
#else
#define LANES 2 /* in 128, which every x86-64 has */
#endif
#endif
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t lanes_bits __attribute__((vector_size(8 * LANES)));
typedef uint64_t lanes_words __attribute__((vector_size(8 * LANES))); /* sums of exponents: these wrap */

#define LANES_INLINE static inline __attribute__((always_inline, unused))

LANES_INLINE lanes lanes_load(const double *p)
{
    lanes x;
    memcpy(&x, p, sizeof x);
    return x;
}

LANES_INLINE void lanes_store(double *p, lanes x)
{
    memcpy(p, &x, sizeof x);
}

LANES_INLINE lanes lanes_set(double x)
{
    return x - (lanes){0};
}

LANES_INLINE lanes lanes_pick(lanes_bits mask, lanes yes, lanes no)
{
    return (lanes)(((lanes_bits)yes & mask) | ((lanes_bits)no & ~mask));
}

#if defined(__AVX512F__) && LANES == 8
LANES_INLINE lanes lanes_max(lanes a, lanes b)
{
    return (lanes)_mm512_max_pd((__m512d)a, (__m512d)b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b)
{
    return (lanes)_mm512_min_pd((__m512d)a, (__m512d)b);
}
LANES_INLINE int lanes_any(lanes_bits mask)
{
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
}
#elif defined(__AVX2__) && LANES == 4
LANES_INLINE lanes lanes_max(lanes a, lanes b)
{
    return (lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b)
{
    return (lanes)_mm256_min_pd((__m256d)a, (__m256d)b);
}
LANES_INLINE int lanes_any(lanes_bits mask)
{
    return _mm256_movemask_pd((__m256d)mask) != 0;
}
#else
LANES_INLINE lanes lanes_max(lanes a, lanes b)
{
    return lanes_pick(a > b, a, b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b)
{
    return lanes_pick(a < b, a, b);
}
LANES_INLINE int lanes_any(lanes_bits mask)
{
    int64_t any = 0;
    for (int i = 0; i < LANES; i++) any |= mask[i];
    return any != 0;
}
#endif

LANES_INLINE lanes lanes_abs(lanes x)
{
    return (lanes)((lanes_bits)x & (((lanes_bits){0} - 1) & INT64_MAX));
}

/* The value stays in its register: gcc would load it again for every product, and loads are what limits
 * there. */
#if defined(__x86_64__)
#define LANES_HOLD(value) __asm__("" : "+x"(value))
#else
#define LANES_HOLD(value) ((void)(value))
#endif

/* The first n lanes of x, `rest` in the others.  Writing x[i] for variable i would push x to memory. */
LANES_INLINE lanes lanes_first(int n, lanes x, lanes rest)
{
    static const int64_t number[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    lanes_bits here;
    memcpy(&here, number, sizeof here);
    return lanes_pick(here < ((lanes_bits){0} + n), x, rest);
}

/* Halves onto halves: the order is the same however the lanes are held. */
LANES_INLINE double lanes_sum(lanes x)
{
    double part[LANES];
    lanes_store(part, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) part[i] += part[i + half];
    return part[0];
}

typedef float floats __attribute__((vector_size(8 * LANES))); /* one register, as lanes */

/* in double precision, halves onto halves */
LANES_INLINE double floats_sum(floats x)
{
#if defined(__AVX2__) && LANES == 4
    return lanes_sum((lanes)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)) +
                     (lanes)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1)));
#else
    float value[2 * LANES];
    lanes part;
    memcpy(value, &x, sizeof value);
    for (int i = 0; i < LANES; i++) part[i] = (double)value[i] + (double)value[i + LANES];
    return lanes_sum(part);
#endif
}

typedef int32_t floats_bits __attribute__((vector_size(8 * LANES)));
typedef uint32_t floats_words __attribute__((vector_size(8 * LANES)));

LANES_INLINE floats floats_load(const float *p)
{
    floats x;
    memcpy(&x, p, sizeof x);
    return x;
}

LANES_INLINE void floats_store(float *p, floats x)
{
    memcpy(p, &x, sizeof x);
}

LANES_INLINE floats floats_set(float x)
{
    return x - (floats){0};
}

LANES_INLINE floats floats_pick(floats_bits mask, floats yes, floats no)
{
    return (floats)(((floats_bits)yes & mask) | ((floats_bits)no & ~mask));
}

LANES_INLINE floats floats_max(floats a, floats b)
{
    return floats_pick(a > b, a, b);
}
LANES_INLINE floats floats_min(floats a, floats b)
{
    return floats_pick(a < b, a, b);
}
#if defined(__AVX2__) && LANES == 4
LANES_INLINE int floats_any(floats_bits mask)
{
    return _mm256_movemask_ps((__m256)mask) != 0;
}
#else
LANES_INLINE int floats_any(floats_bits mask)
{
    return lanes_any((lanes_bits)mask);
}
#endif

LANES_INLINE float floats_top(floats x)
{
    float top = x[0];
    for (int i = 1; i < 2 * LANES; i++) top = x[i] > top ? x[i] : top;
    return top;
}

/* exp(x) for x below 88 to 2e-7; what should underflow comes out as about 1e-38. */
LANES_INLINE floats floats_exp(floats x)
{
    x = floats_max(x, floats_set(-87.0f));
    const float shift = 0x1.8p23f;
    floats k = x * 1.44269504f + shift;
    floats_words exponent = (floats_words)k;
    k -= shift;
    floats r = (x - k * 0x1.62e400p-1f) - k * 0x1.7f7d1cp-20f;
    floats p = floats_set(1.0f / 720.0f);
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return (floats)((floats_words)p + (exponent << 23));
}

LANES_INLINE double lanes_top(lanes x)
{
    double top = x[0];
    for (int i = 1; i < LANES; i++) top = x[i] > top ? x[i] : top;
    return top;
}

/* 1 / x for x that is neither zero, denormal nor infinite, to about 1 ulp. */
LANES_INLINE lanes lanes_reciprocal(lanes x)
{
#if defined(__AVX512F__) && LANES == 8
    /* a 14-bit guess and two Newton steps cost a third of the division */
    lanes r = (lanes)_mm512_rcp14_pd((__m512d)x);
    r = r + r * (1.0 - x * r);
    return r + r * (1.0 - x * r);
#else
    return 1.0 / x;
#endif
}

/* exp(x) = 2^k exp(r), |r| <= log(2)/2, Taylor to degree 13 with the last term economised: T_13 is left
 * out, so its lower coefficients take up LANES_EXP_LEFT times powers of (log(2)/2)^2; clamped to the normal
 * range, so what should underflow comes out as about 1e-307. */
#define LANES_EXP_LEFT (1.0 / 6227020800.0)
#define LANES_EXP_A2   0.12011325347955035 /* (log(2)/2)^2 */
LANES_INLINE lanes lanes_exp(lanes x)
{
    x = lanes_min(lanes_max(x, lanes_set(-707.0)), lanes_set(709.0));
    const double shift = 0x1.8p52;
    lanes k = x * 1.4426950408889634074 + shift;
    lanes_words exponent = (lanes_words)k;
    k -= shift;
    lanes r = (x - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    lanes p = lanes_set(1.0 / 479001600.0);
    p = p * r + (1.0 / 39916800.0 + LANES_EXP_LEFT * 3.25 * LANES_EXP_A2);
    p = p * r + 1.0 / 3628800.0;
    p = p * r + (1.0 / 362880.0 - LANES_EXP_LEFT * 4.0625 * LANES_EXP_A2 * LANES_EXP_A2);
    p = p * r + 1.0 / 40320.0;
    p = p * r + (1.0 / 5040.0 + LANES_EXP_LEFT * 2.4375 * LANES_EXP_A2 * LANES_EXP_A2 * LANES_EXP_A2);
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r) * r + r;
    return (lanes)((lanes_words)(p + 1.0) + (exponent << 52));
}

/* The same to 3e-10, for x below 700, at little more than half the cost. */
LANES_INLINE lanes lanes_exp_short(lanes x)
{
    x = lanes_max(x, lanes_set(-707.0));
    const double shift = 0x1.8p52;
    lanes k = x * 1.4426950408889634074 + shift;
    lanes_words exponent = (lanes_words)k;
    lanes r = x - (k - shift) * 0.69314718055994530942;
    lanes p = lanes_set(1.0 / 40320.0);
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return (lanes)((lanes_words)p + (exponent << 52));
}

#endif
