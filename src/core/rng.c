/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011);
 * normals by Box-Muller. */
#include "core/rng.h"

#include <math.h>
#include <string.h>

#include "core/isa.h"

STAIR_HOT_TABLE(void, stair_normals_single, (uint64_t key, uint64_t sample, uint64_t draw, float *out));

static uint64_t key_of(uint64_t seed, stair_rng_purpose purpose)
{
    return seed ^ ((uint64_t)purpose * 0x9E3779B97F4A7C15u);
}

/* Ten rounds of two products of 32 by 32 bits; the key moves on by Weyl sequences. */
static void philox(const uint32_t counter[4], uint32_t key[2], uint32_t c[4])
{
    memcpy(c, counter, 4 * sizeof *c);
    for (int round = 0; round < 10; round++, key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ key[0];
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ key[1];
        c[3] = (uint32_t)a;
    }
}

void stair_rng_words(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, uint64_t draw,
                     uint32_t out[4])
{
    uint64_t key_bits = key_of(seed, purpose);
    uint32_t key[2] = {(uint32_t)key_bits, (uint32_t)(key_bits >> 32)};
    const uint32_t counter[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)draw,
                                 (uint32_t)(draw >> 32)};
    philox(counter, key, out);
}

static double unit(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 21) ^ (low >> 11); /* 53 bits */
    return ((double)bits + 0.5) * 0x1p-53;
}

void stair_rng_uniform2(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, uint64_t draw,
                        double out[2])
{
    uint32_t words[4];
    stair_rng_words(seed, purpose, sample, draw, words);
    out[0] = unit(words[0], words[1]);
    out[1] = unit(words[2], words[3]);
}

void stair_rng_uniforms(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, double *out)
{
    for (int i = 0; i < n; i += 2) {
        double pair[2];
        stair_rng_uniform2(seed, purpose, sample, (uint64_t)i / 2, pair);
        out[i] = pair[0];
        if (i + 1 < n) out[i + 1] = pair[1];
    }
}

void stair_rng_normals(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, double *out)
{
    const double two_pi = 6.283185307179586476925286766559;
    for (int i = 0; i < n; i += 2) {
        double pair[2];
        stair_rng_uniform2(seed, purpose, sample, (uint64_t)i / 2, pair);
        double radius = sqrt(-2.0 * log(pair[0])), angle = two_pi * pair[1];
        out[i] = radius * cos(angle);
        if (i + 1 < n) out[i + 1] = radius * sin(angle);
    }
}

void stair_rng_rows(uint64_t seed, stair_rng_purpose purpose, int rows, int dim, double scale, double *out)
{
    for (int r = 0; r < rows; r++) {
        double *row = out + (size_t)r * (size_t)dim;
        stair_rng_normals(seed, purpose, (uint64_t)r, dim, row);
        for (int d = 0; d < dim; d++) row[d] *= scale;
    }
}

void stair_rng_shuffle(uint64_t seed, uint64_t sample, uint32_t n, uint32_t *order)
{
    for (uint32_t i = n; i > 1; i--) {
        double u[2];
        stair_rng_uniform2(seed, STAIR_RNG_BATCH, sample, i, u);
        uint32_t j = (uint32_t)(u[0] * i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

void stair_rng_normals_single(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, float *out)
{
    uint64_t key = key_of(seed, purpose);
    int i = 0;
    for (; i + 16 <= n; i += 16)
        stair_normals_single_table[stair_isa()](key, sample, (uint64_t)i / 2, out + i);
    if (i == n) return;
    float rest[16];
    stair_normals_single_table[stair_isa()](key, sample, (uint64_t)i / 2, rest);
    memcpy(out + i, rest, (size_t)(n - i) * sizeof *out);
}
