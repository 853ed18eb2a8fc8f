/* Philox 4x32-10 and Box-Muller, as core/rng.c has them: one call gives the pair of normals `draw` of stream
 * (key, sample), rounded to float.
 *
 * The 53-bit uniforms are the processor's to the bit; what follows is in single precision.  For u below 3/4
 * the radius is from log2 u, above from log(1 - w) by a polynomial, w = 1 - u from the complement of the
 * bits; the angle is reduced in whole numbers; so nothing cancels.  Absolute error below 4e-7 times the
 * radius.
 *
 * Two of the ten rounds are shared.  A counter is (sample, draw); in rounds one and two half of the products
 * know the sample alone and half the draw alone, so kernels that go through rows or columns form them once.
 */
#ifndef STAIR_KERNELS_NORMALS_H
#define STAIR_KERNELS_NORMALS_H

#include "kernels/hd.h"

/* A 64-bit product in two words.  In one instruction on the card: written with 64-bit numbers, the compiler
 * keeps all of Philox in them. */
STAIR_HD void stair_hd_product(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
#ifdef STAIR_ON_CARD
    asm("{ .reg .u64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t; }"
        : "=r"(*low), "=r"(*high)
        : "r"(a), "r"(b));
#else
    uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
#endif
}

#define STAIR_PHILOX_A 0xD2511F53u /* multipliers of Philox 4x32 */
#define STAIR_PHILOX_B 0xCD9E8D57u /* and the other */

/* Rounds from `from` on to the tenth, with the keys they have. */
STAIR_HD void stair_hd_rounds(uint64_t key, int from, uint32_t c[4])
{
    uint32_t k0 = (uint32_t)key + (uint32_t)from * 0x9E3779B9u,
             k1 = (uint32_t)(key >> 32) + (uint32_t)from * 0xBB67AE85u;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int round = from; round < 10; round++) {
        uint32_t high[2], low[2];
        stair_hd_product(STAIR_PHILOX_A, c[0], &high[0], &low[0]);
        stair_hd_product(STAIR_PHILOX_B, c[2], &high[1], &low[1]);
        c[0] = high[1] ^ c[1] ^ k0;
        c[1] = low[1];
        c[2] = high[0] ^ c[3] ^ k1;
        c[3] = low[0];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* c holds the counter, then the words. */
STAIR_HD void stair_hd_philox(uint64_t key, uint32_t c[4])
{
    stair_hd_rounds(key, 0, c);
}

/* What rounds one and two make of the sample, and of the draw: both below 2^32. */
typedef struct {
    uint32_t a, b, c;
} stair_philox_half;

STAIR_HD stair_philox_half stair_hd_philox_sample(uint64_t key, uint32_t sample)
{
    stair_philox_half half;
    uint32_t high;
    stair_hd_product(STAIR_PHILOX_A, sample, &high, &half.c);
    stair_hd_product(STAIR_PHILOX_B, high ^ (uint32_t)(key >> 32), &half.a, &half.b);
    half.a ^= (uint32_t)key + 0x9E3779B9u;
    return half;
}

STAIR_HD stair_philox_half stair_hd_philox_draw(uint64_t key, uint32_t draw)
{
    stair_philox_half half;
    uint32_t high;
    stair_hd_product(STAIR_PHILOX_B, draw, &high, &half.a);
    stair_hd_product(STAIR_PHILOX_A, high ^ (uint32_t)key, &half.b, &half.c);
    half.b ^= (uint32_t)(key >> 32) + 0xBB67AE85u;
    return half;
}

/* Rounds three to ten. */
STAIR_HD void stair_hd_philox_join(uint64_t key, const stair_philox_half *sample,
                                   const stair_philox_half *draw, uint32_t c[4])
{
    c[0] = sample->a ^ draw->a;
    c[1] = sample->b;
    c[2] = draw->b ^ sample->c;
    c[3] = draw->c;
    stair_hd_rounds(key, 2, c);
}

STAIR_HD float stair_hd_from_bits(uint32_t bits)
{
#ifdef STAIR_ON_CARD
    return __uint_as_float(bits);
#else
    union {
        uint32_t bits;
        float value;
    } both;
    both.bits = bits;
    return both.value;
#endif
}

STAIR_HD uint32_t stair_hd_to_bits(float value)
{
#ifdef STAIR_ON_CARD
    return __float_as_uint(value);
#else
    union {
        uint32_t bits;
        float value;
    } both;
    both.value = value;
    return both.bits;
#endif
}

/* -2 log u, u = ((2^21 high + (low >> 11)) + 1/2) 2^-53 */
STAIR_HD float stair_hd_radius2(uint32_t high, uint32_t low)
{
    int upper = high >= 0xC0000000u; /* then u = 1 - v, v from the complement */
    uint32_t flip = upper ? 0xFFFFFFFFu : 0, l = (low ^ flip) >> 11;
    float v = fmaf((float)(high ^ flip), 0x1p-32f, fmaf((float)l, 0x1p-53f, 0x1p-54f));
    float p = fmaf(v, 0.67728727f, 0.28926231f); /* -2 log(1 - v) / v, v below 1/4, to 4e-8 */
    p = fmaf(p, v, 0.51528839f);
    p = fmaf(p, v, 0.66574070f);
    p = fmaf(p, v, 1.0000202f);
    p = fmaf(p, v, 1.9999999f);
    float lower = -1.38629436f * stair_hd_log2(v);
    return upper ? p * v : lower;
}

/* Sine and cosine of 2 pi (word + 1/2) 2^-32. */
STAIR_HD void stair_hd_turn(uint32_t word, float *sine, float *cosine)
{
    /* Four times the distance to the nearest quarter of a turn is what is left of 4 word in 32 bits; then the
     * top bits of word + 1/8 are the quarter. */
    const float unit = 6.28318530717958648f * 0x1p-34f;
    uint32_t quarter = word + 0x20000000u;
    float x = fmaf((float)(int32_t)(word << 2), unit, 2 * unit), t = x * x;
    float s = fmaf(t, 2.75573192e-6f, -1.98412698e-4f);
    s = fmaf(s, t, 8.33333333e-3f);
    s = fmaf(s, t, -1.66666667e-1f);
    s = fmaf(s * t, x, x);
    float c = fmaf(t, -2.75573192e-7f, 2.48015873e-5f);
    c = fmaf(c, t, -1.38888889e-3f);
    c = fmaf(c, t, 4.16666667e-2f);
    c = fmaf(c, t, -0.5f);
    c = fmaf(c, t, 1.0f);
    int odd = (quarter & 0x40000000u) != 0;
    float a = odd ? c : s, b = odd ? s : c;
    *sine = stair_hd_from_bits(stair_hd_to_bits(a) ^ (quarter & 0x80000000u));
    *cosine = stair_hd_from_bits(stair_hd_to_bits(b) ^ ((quarter + 0x40000000u) & 0x80000000u));
}

STAIR_HD void stair_hd_box_muller(const uint32_t c[4], float *first, float *second)
{
    float sine, cosine, radius = stair_hd_root(stair_hd_radius2(c[0], c[1]));
    stair_hd_turn(c[2], &sine, &cosine);
    *first = radius * cosine;
    *second = radius * sine;
}

/* key: seed ^ purpose * 0x9E3779B97F4A7C15 */
STAIR_HD void stair_hd_normals(uint64_t key, uint64_t sample, uint64_t draw, float *first, float *second)
{
    uint32_t c[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)};
    stair_hd_philox(key, c);
    stair_hd_box_muller(c, first, second);
}

#endif
