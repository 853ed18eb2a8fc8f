/* Philox 4x32-10 through stair_rng_words(), against the known answers of Random123's kat_vectors and, where
 * it is installed, against Random123 itself; the key is seed ^ purpose * odd constant, so a seed can be
 * chosen for any key. */
#include "assert_close.h"
#include "core/rng.h"

#ifdef RANDOM123
#include <Random123/philox.h>
#endif

#define FOLD 0x9E3779B97F4A7C15u

static void assert_words(uint64_t key, uint64_t sample, uint64_t draw, const uint32_t expected[4])
{
    uint32_t words[4];
    stair_rng_words(key ^ (uint64_t)STAIR_RNG_DATA * FOLD, STAIR_RNG_DATA, sample, draw, words);
    for (int i = 0; i < 4; i++) assert_int_equal(words[i], expected[i]);
}

static void philox_known_answers(void **state)
{
    (void)state;
    assert_words(0, 0, 0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    assert_words(UINT64_MAX, UINT64_MAX, UINT64_MAX,
                 (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    /* counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0: digits of pi */
    assert_words(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu,
                 (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

/* Counters and keys all over, and those next to where a carry could be lost. */
static void philox_is_that_of_random123(void **state)
{
    (void)state;
#ifdef RANDOM123
    static const uint64_t edges[] = {0, 1, 0xFFFFFFFFu, 0x100000000u, 0xFFFFFFFF00000000u, UINT64_MAX};
    uint64_t mix = 1, x[3];
    for (int n = 0; n < 200000; n++) {
        for (int k = 0; k < 3; k++) {
            mix = mix * 6364136223846793005u + 1442695040888963407u;
            x[k] = mix >> 61 == 0 ? edges[(mix >> 32) % 6] : mix ^ mix >> 29;
        }
        philox4x32_key_t key = {{(uint32_t)x[0], (uint32_t)(x[0] >> 32)}};
        philox4x32_ctr_t counter = {
            {(uint32_t)x[1], (uint32_t)(x[1] >> 32), (uint32_t)x[2], (uint32_t)(x[2] >> 32)}};
        assert_words(x[0], x[1], x[2], philox4x32(counter, key).v);
    }
#else
    skip();
#endif
}

static void uniforms_are_inside_the_interval(void **state)
{
    double mean = 0, square = 0;
    enum { N = 100000 };
    (void)state;
    for (uint64_t i = 0; i < N / 2; i++) {
        double pair[2];
        stair_rng_uniform2(3, STAIR_RNG_POINTS, i, 0, pair);
        for (int k = 0; k < 2; k++) {
            assert_true(pair[k] > 0 && pair[k] < 1);
            mean += pair[k] / N;
            square += pair[k] * pair[k] / N;
        }
    }
    assert_close(mean, 0.5, 5 * sqrt(1.0 / 12 / N));
    assert_close(square, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
}

static void normals_have_the_moments_of_a_gaussian(void **state)
{
    enum { SAMPLES = 2000, DRAWS = 51 };
    double moment[5] = {0}, x[DRAWS], n = (double)SAMPLES * DRAWS;
    (void)state;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        stair_rng_normals(5, STAIR_RNG_TEACHER, i, DRAWS, x);
        for (int k = 0; k < DRAWS; k++)
            for (int p = 1; p <= 4; p++) moment[p] += pow(x[k], p) / n;
    }
    assert_close(moment[1], 0, 5 * sqrt(1 / n));
    assert_close(moment[2], 1, 5 * sqrt(2 / n));
    assert_close(moment[3], 0, 5 * sqrt(15 / n));
    assert_close(moment[4], 3, 5 * sqrt(96 / n));
}

/* A shorter request is the beginning of a longer one; seeds, purposes and samples differ. */
static void streams_are_functions_of_their_name(void **state)
{
    double a[9], b[4], c[4];
    (void)state;
    stair_rng_normals(1, STAIR_RNG_INIT, 7, 9, a);
    stair_rng_normals(1, STAIR_RNG_INIT, 7, 4, b);
    assert_memory_equal(a, b, sizeof b);
    stair_rng_normals(2, STAIR_RNG_INIT, 7, 4, c);
    assert_memory_not_equal(b, c, sizeof b);
    stair_rng_normals(1, STAIR_RNG_SIDE, 7, 4, c);
    assert_memory_not_equal(b, c, sizeof b);
    stair_rng_normals(1, STAIR_RNG_INIT, 8, 4, c);
    assert_memory_not_equal(b, c, sizeof b);
}

/* Every order of three occurs as often as it should, and each place gets each number once. */
static void shuffles_are_fair(void **state)
{
    enum { TIMES = 6000 };
    int seen[27] = {0};
    (void)state;
    for (uint64_t t = 0; t < TIMES; t++) {
        uint32_t order[3] = {0, 1, 2};
        stair_rng_shuffle(9, t, 3, order);
        assert_true((1 << order[0] | 1 << order[1] | 1 << order[2]) == 7);
        seen[9 * order[0] + 3 * order[1] + order[2]]++;
    }
    for (int k = 0; k < 27; k++)
        if (seen[k]) assert_close(seen[k], TIMES / 6., 5 * sqrt(TIMES * 5 / 36.));
}

static void rows_are_streams_of_their_own(void **state)
{
    double rows[3 * 5], one[5];
    (void)state;
    stair_rng_rows(4, STAIR_RNG_TEACHER, 3, 5, 2, rows);
    for (int r = 0; r < 3; r++) {
        stair_rng_normals(4, STAIR_RNG_TEACHER, (uint64_t)r, 5, one);
        for (int d = 0; d < 5; d++) assert_true(rows[5 * r + d] == 2 * one[d]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(philox_is_that_of_random123),
        cmocka_unit_test(uniforms_are_inside_the_interval),
        cmocka_unit_test(normals_have_the_moments_of_a_gaussian),
        cmocka_unit_test(streams_are_functions_of_their_name),
        cmocka_unit_test(shuffles_are_fair),
        cmocka_unit_test(rows_are_streams_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
