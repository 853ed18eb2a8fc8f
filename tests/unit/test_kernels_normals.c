/* Random numbers of the card (kernels/normals.h), run on the host: the words of core/rng.c to the bit, its
 * normals to single precision. */
#include "fixture.h"

#include <math.h>

#include "core/rng.h"
#include "kernels/normals.h"

static uint64_t key_of(uint64_t seed, stair_rng_purpose purpose)
{
    return seed ^ ((uint64_t)purpose * 0x9E3779B97F4A7C15u);
}

static void words_are_the_same(void **state)
{
    (void)state;
    for (uint64_t sample = 0; sample < 50; sample++)
        for (uint64_t draw = 0; draw < 50; draw++) {
            uint64_t s = sample << (sample % 40), d = draw << (draw % 45);
            uint32_t want[4], c[4] = {(uint32_t)s, (uint32_t)(s >> 32), (uint32_t)d, (uint32_t)(d >> 32)};
            stair_rng_words(7 + (sample << 33), STAIR_RNG_DATA, s, d, want);
            stair_hd_philox(key_of(7 + (sample << 33), STAIR_RNG_DATA), c);
            assert_memory_equal(c, want, sizeof want);
        }
}

/* Sample and draw through two rounds by themselves, then together. */
static void halves_make_the_same_words(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        uint64_t seed = 7 + ((uint64_t)i << 31);
        uint32_t s = i * 2654435761u, d = i * 40503u, want[4], c[4];
        uint64_t key = key_of(seed, STAIR_RNG_DATA);
        stair_philox_half sample = stair_hd_philox_sample(key, s), draw = stair_hd_philox_draw(key, d);
        stair_rng_words(seed, STAIR_RNG_DATA, s, d, want);
        stair_hd_philox_join(key, &sample, &draw, c);
        assert_memory_equal(c, want, sizeof want);
    }
}

static void normals_are_those_of_the_processor(void **state)
{
    (void)state;
    enum { SAMPLES = 2000, LENGTH = 200 };
    double want[LENGTH], worst = 0, sum2 = 0;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        stair_rng_normals(3, STAIR_RNG_DATA, sample, LENGTH, want);
        for (int i = 0; i < LENGTH; i += 2) {
            float x, y;
            stair_hd_normals(key_of(3, STAIR_RNG_DATA), sample, (uint64_t)i / 2, &x, &y);
            double radius = hypot(want[i], want[i + 1]);
            worst = fmax(worst, hypot(x - want[i], y - want[i + 1]) / radius);
            sum2 += (double)x * x + (double)y * y;
        }
    }
    assert_true(worst < 4e-7);
    assert_true(fabs(sum2 / (SAMPLES * LENGTH) - 1) < 0.01);
}

/* -2 log u by all its branches: u near 0, near 1, near 3/4, where the branches meet. */
static void radii_are_right_everywhere(void **state)
{
    (void)state;
    static const uint32_t high[] = {0,           1,           77,          0xFFFFu,
                                    0x00800000u, 0x3FFFFFFFu, 0x5A827999u, 0x7FFFFFFFu,
                                    0x80000000u, 0xBFFFFFFFu, 0xC0000000u, 0xC0000001u,
                                    0xB504F334u, 0xFFFF0000u, 0xFFFFFFFEu, 0xFFFFFFFFu},
                          low[] = {0, 0x7FFu, 0x800u, 0x12345678u, 0xFFFFF7FFu, 0xFFFFFFFFu};
    for (size_t i = 0; i < sizeof high / sizeof *high; i++)
        for (size_t j = 0; j < sizeof low / sizeof *low; j++) {
            uint64_t bits = ((uint64_t)high[i] << 21) ^ (low[j] >> 11), rest = ((uint64_t)1 << 53) - 1 - bits;
            double want = bits < rest ? -2 * log(((double)bits + 0.5) * 0x1p-53)
                                      : -2 * log1p(-((double)rest + 0.5) * 0x1p-53);
            assert_true(fabs(stair_hd_radius2(high[i], low[j]) / want - 1) < 4e-7);
        }
}

static void angles_are_right_everywhere(void **state)
{
    (void)state;
    const double two_pi = 6.283185307179586476925286766559;
    for (uint64_t word = 0; word < (uint64_t)1 << 32; word += 0x1357F3) {
        float sine, cosine;
        double angle = two_pi * ((double)word + 0.5) * 0x1p-32;
        stair_hd_turn((uint32_t)word, &sine, &cosine);
        assert_true(fabs(sine - sin(angle)) < 1.5e-7 && fabs(cosine - cos(angle)) < 1.5e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_the_same),
        cmocka_unit_test(halves_make_the_same_words),
        cmocka_unit_test(normals_are_those_of_the_processor),
        cmocka_unit_test(radii_are_right_everywhere),
        cmocka_unit_test(angles_are_right_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
