/* Normals in single precision, one register of pairs at a time: the numbers of stair_rng_normals() rounded to
 * float.
 *
 * Philox 4x32-10 (Salmon et al., SC 2011) on counters side by side, then Box-Muller with polynomials good to
 * about 1e-15 relative, so that rounding to float hides every difference from the C library but one in 10^7.
 */
#include "core/isa.h"
#include "core/lanes.h"

#include <math.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef uint64_t words __attribute__((vector_size(8 * LANES)));

void STAIR_HOT(stair_normals_single)(uint64_t key, uint64_t sample, uint64_t draw, float *out);

/* Products of the low 32 bits. */
LANES_INLINE words multiply(words a, words b)
{
#if defined(__AVX512F__)
    return (words)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (words)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

LANES_INLINE words every(uint64_t x)
{
    return (words){0} + x;
}

LANES_INLINE void philox(uint64_t key, uint64_t sample, uint64_t draw, words c[4])
{
    const uint64_t count[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    words number;
    memcpy(&number, count, sizeof number);
    words wide = every(draw) + number, first = every(0xD2511F53u), second = every(0xCD9E8D57u);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    c[0] = every((uint32_t)sample);
    c[1] = every(sample >> 32);
    c[2] = wide & 0xFFFFFFFFu;
    c[3] = wide >> 32;
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        words a = multiply(c[0], first), b = multiply(c[2], second);
        c[0] = (b >> 32) ^ c[1] ^ every(k0);
        c[1] = b & 0xFFFFFFFFu;
        c[2] = (a >> 32) ^ c[3] ^ every(k1);
        c[3] = a & 0xFFFFFFFFu;
    }
}

/* (bits + 1/2) 2^-53 of 53 bits */
LANES_INLINE lanes unit(words high, words low)
{
    words bits = (high << 21) ^ (low >> 11);
    lanes upper = (lanes)((bits >> 32) | 0x4530000000000000u) - 0x1p84;
    lanes lower = (lanes)((bits & 0xFFFFFFFFu) | 0x4330000000000000u) - 0x1p52;
    return (upper + lower + 0.5) * 0x1p-53;
}

/* log x = e log 2 + 2 atanh(s), s = (m - 1)/(m + 1), m between sqrt(1/2) and sqrt(2) */
LANES_INLINE lanes logarithm(lanes x)
{
    words bits = (words)x;
    words above = (words)((lanes_bits)(bits & 0xFFFFFFFFFFFFFu) > ((lanes_bits){0} + 0x6A09E667F3BCDll)) & 1u;
    words exponent = (bits >> 52) + above;
    lanes m = (lanes)((bits & 0xFFFFFFFFFFFFFu) | ((every(1023) - above) << 52));
    lanes e = (lanes)(exponent | 0x4330000000000000u) - (0x1p52 + 1023);
    lanes s = (m - 1.0) / (m + 1.0), t = s * s;
    lanes p = lanes_set(1.0 / 23);
    for (int k = 21; k > 1; k -= 2) p = p * t + 1.0 / k;
    return e * 0.693147180559945309417 + (2.0 * s + 2.0 * s * (t * p));
}

/* sine and cosine of 2 pi u */
LANES_INLINE void turn(lanes u, lanes *sine, lanes *cosine)
{
    const double shift = 0x1.8p52;
    lanes k = 4.0 * u + shift;
    words quadrant = (words)k;
    lanes x = (4.0 * u - (k - shift)) * 1.5707963267948966192, t = x * x;
    lanes s = lanes_set(-1.0 / 1307674368000.0);
    s = s * t + 1.0 / 6227020800.0;
    s = s * t - 1.0 / 39916800.0;
    s = s * t + 1.0 / 362880.0;
    s = s * t - 1.0 / 5040.0;
    s = s * t + 1.0 / 120.0;
    s = s * t - 1.0 / 6.0;
    s = x + x * (t * s);
    lanes c = lanes_set(1.0 / 20922789888000.0);
    c = c * t - 1.0 / 87178291200.0;
    c = c * t + 1.0 / 479001600.0;
    c = c * t - 1.0 / 3628800.0;
    c = c * t + 1.0 / 40320.0;
    c = c * t - 1.0 / 720.0;
    c = c * t + 1.0 / 24.0;
    c = 1.0 - 0.5 * t + t * (t * c);
    lanes_bits odd = (lanes_bits)(every(0) - (quadrant & 1u));
    words flip_sine = (quadrant & 2u) << 62, flip_cosine = ((quadrant + 1u) & 2u) << 62;
    *sine = (lanes)((words)lanes_pick(odd, c, s) ^ flip_sine);
    *cosine = (lanes)((words)lanes_pick(odd, s, c) ^ flip_cosine);
}

/* One register of pairs. */
LANES_INLINE void pairs(uint64_t key, uint64_t sample, uint64_t draw, float *out)
{
    words c[4];
    lanes sine, cosine;
    double radius[LANES], s[LANES], q[LANES];
    philox(key, sample, draw, c);
    lanes_store(radius, -2.0 * logarithm(unit(c[0], c[1])));
    turn(unit(c[2], c[3]), &sine, &cosine);
    lanes_store(s, sine);
    lanes_store(q, cosine);
    for (int i = 0; i < LANES; i++) radius[i] = sqrt(radius[i]);
    for (int i = 0; i < LANES; i++) {
        out[2 * i] = (float)(radius[i] * q[i]);
        out[2 * i + 1] = (float)(radius[i] * s[i]);
    }
}

/* out (16): pairs draw .. draw+7 */
void STAIR_HOT(stair_normals_single)(uint64_t key, uint64_t sample, uint64_t draw, float *out)
{
    for (int i = 0; i < 8; i += LANES) pairs(key, sample, draw + (uint64_t)i, out + 2 * i);
}
