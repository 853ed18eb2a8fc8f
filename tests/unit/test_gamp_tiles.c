/* Tiles of X against plain loops, on every instruction set; single-precision normals against the double ones.
 */
#include "assert_close.h"
#include "core/isa.h"
#include "core/rng.h"
#include "gamp/tiles.h"

#include <stdlib.h>

static void check_shape(int dim, int tokens, size_t samples, int indices, bool single)
{
    size_t rows = samples * (size_t)tokens, size = rows * (size_t)dim;
    double *x = malloc(size * sizeof(double)), *w = malloc(sizeof(double) * (size_t)(indices * dim)),
           *sum = malloc(sizeof(double) * (size_t)(indices * dim));
    double *z = malloc(sizeof(double) * rows * (size_t)indices);
    float *f = malloc(size * sizeof(float));
    stair_tiles tiles = {.dim = dim, .tokens = tokens, .samples = samples, .single = single};
    stair_rng_normals(1, STAIR_RNG_DATA, 0, (int)size, x);
    stair_rng_normals(1, STAIR_RNG_TEACHER, 0, indices * dim, w);
    for (size_t i = 0; i < size; i++) f[i] = (float)x[i];
    for (size_t i = 0; i < size && single; i++) x[i] = f[i];
    const void *data = single ? (const void *)f : x;
    void *own = stair_tile_weights(&tiles, indices, w);
    double tiny = single ? 1e-6 : 1e-14; /* sums of PANEL and of GROUP terms are in the element type */
    stair_products shape = stair_tile_products(&tiles, indices);
    stair_products_project(&shape, rows, data, own, z);
    stair_products_sum total = {.part = calloc((size_t)(indices * dim), sizeof(double)), .sum = sum};
    for (int again = 0; again < 2; again++) { /* what was there before does not matter */
        for (int i = 0; i < indices * dim; i++) sum[i] = NAN;
        for (size_t i = 0; i < samples; i += 7) /* in pieces, some of which flush */
            stair_products_collect(&shape, (samples - i < 7 ? samples - i : 7) * (size_t)tokens,
                                   single ? (const void *)(f + i * (size_t)(tokens * dim))
                                          : (const void *)(x + i * (size_t)(tokens * dim)),
                                   z + i * (size_t)(tokens * indices), &total);
        stair_products_finish(&shape, &total);
    }
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < indices; p++) {
            double dot = 0;
            for (int d = 0; d < dim; d++) dot += x[r * (size_t)dim + (size_t)d] * w[p * dim + d];
            assert_close(z[r * (size_t)indices + (size_t)p], dot, tiny * sqrt(dim));
        }
    for (int p = 0; p < indices; p++)
        for (int d = 0; d < dim; d++) {
            double expected = 0;
            for (size_t r = 0; r < rows; r++)
                expected += z[r * (size_t)indices + (size_t)p] * x[r * (size_t)dim + (size_t)d];
            assert_close(sum[p * dim + d], expected, tiny * 10 * sqrt((double)rows) * sqrt(dim));
        }
    free(own);
    free(total.part);
    free(x);
    free(w);
    free(sum);
    free(z);
    free(f);
}

static void kernels_agree_with_plain_loops(void **state)
{
    (void)state;
    static const int dims[] = {1, 7, 16, 33, 1024, 1031};
    for (int isa = 0; isa < 3; isa++) {
        stair_isa_limit(isa);
        for (int k = 0; k < 6; k++)
            for (int indices = 1; indices <= 5; indices += 2)
                for (int single = 0; single < 2; single++) {
                    check_shape(dims[k], 1, 1, indices, single);
                    check_shape(dims[k], 3, 3, indices, single);
                }
        check_shape(50, 2, 400, 2, true);
    }
    stair_isa_limit(2);
}

static void blocks_cover_all_samples_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 31, 32, 33, 1000, 32 * 4096, 32 * 4096 + 1, 12345678901};
    static const size_t most[] = {0, 1, 3, 100000000};
    for (int k = 0; k < 9; k++)
        for (int j = 0; j < 4; j++) {
            stair_tiles tiles = {.dim = 1, .tokens = 1, .samples = counts[k], .most = most[j]};
            if (counts[k] > 1000000 && j > 0 && j < 3) continue; /* billions of blocks */
            size_t lo, hi, next = 0, blocks = stair_tiles_blocks(&tiles), limit = most[j] ? most[j] : 4096;
            assert_int_equal(blocks > STAIR_GAMP_PARTS, counts[k] > STAIR_GAMP_PARTS * limit);
            for (size_t b = 0; b < blocks; b++) {
                stair_block_range(&tiles, b, &lo, &hi);
                assert_true(lo == next && hi >= lo && hi - lo <= limit);
                next = hi;
            }
            assert_true(next == counts[k]);
        }
}

/* Blocks of a part lie within it, so parts are the same however finely they are cut. */
static void parts_do_not_move(void **state)
{
    (void)state;
    stair_tiles whole = {.dim = 1, .tokens = 1, .samples = 12345}, cut = whole;
    cut.most = 7;
    size_t each = stair_tiles_blocks(&cut) / STAIR_GAMP_PARTS, lo, hi, first, last;
    assert_true(stair_tiles_blocks(&whole) == STAIR_GAMP_PARTS && each == 64);
    for (size_t b = 0; b < STAIR_GAMP_PARTS; b++) {
        stair_block_range(&whole, b, &lo, &hi);
        stair_block_range(&cut, b * each, &first, &last);
        assert_int_equal(first, lo);
        stair_block_range(&cut, (b + 1) * each - 1, &first, &last);
        assert_int_equal(last, hi);
    }
}

/* Rounded to float they differ from the C library's in less than one of a million, and then in the last bit.
 */
static void single_normals_are_the_double_ones(void **state)
{
    enum { N = 200003 };
    double *wide = malloc(N * sizeof(double));
    float *single = malloc(N * sizeof(float));
    (void)state;
    for (int isa = 0; isa < 3; isa++) {
        int differ = 0;
        stair_isa_limit(isa);
        for (uint64_t sample = 0; sample < 3; sample++) {
            uint64_t name = sample == 2 ? UINT64_MAX : sample << 40;
            stair_rng_normals(9, STAIR_RNG_DATA, name, N, wide);
            stair_rng_normals_single(9, STAIR_RNG_DATA, name, N, single);
            for (int i = 0; i < N; i++) {
                differ += single[i] != (float)wide[i];
                assert_close(single[i], wide[i], 1.2e-7 * fabs(wide[i]) + 1e-30);
            }
        }
        assert_true(differ <= 2);
    }
    stair_isa_limit(2);
    free(wide);
    free(single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_plain_loops),
        cmocka_unit_test(blocks_cover_all_samples_once),
        cmocka_unit_test(parts_do_not_move),
        cmocka_unit_test(single_normals_are_the_double_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
