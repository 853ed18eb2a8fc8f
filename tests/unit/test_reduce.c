/* Ordered sums: the order is the one written in core/reduce.h, whoever computes what. */
#include "assert_close.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/rng.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 5 };

typedef struct {
    size_t blocks, fails;
    atomic_int times[4096];
} record;

/* Numbers of very different size, so that every order of adding them has bytes of its own. */
static void term(size_t block, double out[SIZE])
{
    double pair[2];
    for (int k = 0; k < SIZE; k++) {
        stair_rng_uniform2(11, STAIR_RNG_POINTS, block, (uint64_t)k, pair);
        out[k] = (pair[0] - 0.5) * ldexp(1, (int)(40 * pair[1]));
    }
}

static stair_status fill(void *user, size_t block, int thread, stair_context *local, double *out)
{
    record *r = user;
    (void)thread;
    atomic_fetch_add(&r->times[block], 1);
    term(block, out);
    return block >= r->fails ? stair_fail(local, STAIR_FAILED, "block %zu", block) : STAIR_OK;
}

/* The left half of a node is the largest power of two that leaves something for the right one. */
static void plain_tree(size_t first, size_t count, double out[SIZE])
{
    if (count == 1) {
        term(first, out);
        return;
    }
    double right[SIZE];
    size_t half = 1;
    while (2 * half < count) half *= 2;
    plain_tree(first, half, out);
    plain_tree(first + half, count - half, right);
    for (int k = 0; k < SIZE; k++) out[k] += right[k];
}

static void plain_sum(const stair_sum *sum, double out[SIZE])
{
    memset(out, 0, SIZE * sizeof *out);
    if (sum->parts) plain_tree(0, sum->parts << sum->levels, out);
}

static const stair_sum shapes[] = {{0, 0, SIZE}, {1, 0, SIZE},  {32, 0, SIZE}, {1, 7, SIZE},
                                   {3, 4, SIZE}, {32, 1, SIZE}, {32, 6, SIZE}, {23, 0, SIZE}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void order_is_that_of_the_tree(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int threads = 1; threads <= 64; threads = threads * 2 + (threads > 4)) {
            stair_context context = {.threads = threads};
            record r = {.fails = SIZE_MAX};
            double expected[SIZE], out[SIZE] = {7, 7, 7, 7, 7};
            double *room = malloc((stair_sum_room(&context, &shapes[s]) + 1) * sizeof *room);
            plain_sum(&shapes[s], expected);
            for (int given = 0; given < 2; given++) {
                memset(out, 1, sizeof out);
                assert_int_equal(stair_sum_blocks(&context, &shapes[s], fill, &r, given ? room : NULL, out),
                                 STAIR_OK);
                assert_memory_equal(out, expected, sizeof out);
            }
            for (size_t b = 0; b < shapes[s].parts << shapes[s].levels; b++) assert_int_equal(r.times[b], 2);
            free(room);
        }
}

/* The steps of core/reduce.h for ranks, one after the other. */
static void ranks_give_the_same_bytes(void **state)
{
    (void)state;
    for (int s = 1; s < SHAPES; s++)
        for (size_t ranks = 1; ranks <= 9; ranks++) {
            stair_context context = {.threads = 2};
            const stair_sum *sum = &shapes[s];
            record r = {.fails = SIZE_MAX};
            size_t units = stair_sum_units(sum, ranks * 2), stride = stair_sum_stride(sum);
            double expected[SIZE], out[SIZE];
            double *partial = malloc(units * stride * sizeof *partial);
            double *room = malloc((stair_sum_stack(&context, sum, units) + 1) * sizeof *room);
            assert_true(units >= 2 * ranks || units == sum->parts << sum->levels);
            for (size_t k = 0; k < ranks; k++) {
                size_t first = k * units / ranks, last = (k + 1) * units / ranks;
                assert_int_equal(stair_sum_range(&context, sum, units, first, last, fill, &r, room,
                                                 partial + first * stride),
                                 STAIR_OK);
            }
            stair_sum_combine(sum, units, partial, out);
            plain_sum(sum, expected);
            assert_memory_equal(out, expected, sizeof out);
            free(partial);
            free(room);
        }
}

/* More blocks need more memory only by the logarithm of their number. */
static void memory_does_not_grow_with_blocks(void **state)
{
    (void)state;
    stair_context context = {.threads = 2};
    stair_sum few = {32, 0, 1000}, many = {32, 20, 1000};
    assert_true(stair_sum_room(&context, &many) <= stair_sum_room(&context, &few) + 2 * 20 * 1000);
    stair_context wide = {.threads = 500};
    assert_int_equal(stair_sum_width(&wide, &few), 32);
    assert_int_equal(stair_sum_width(&wide, &many), 500);
}

static void a_failure_leaves_the_sum_alone(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        stair_context context = {.threads = threads};
        stair_sum sum = {32, 3, SIZE};
        record r = {.fails = 77};
        double out[SIZE] = {1, 2, 3, 4, 5}, before[SIZE] = {1, 2, 3, 4, 5};
        assert_int_equal(stair_sum_blocks(&context, &sum, fill, &r, NULL, out), STAIR_FAILED);
        assert_string_equal(context.message, "block 77");
        assert_memory_equal(out, before, sizeof out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_the_tree),
        cmocka_unit_test(ranks_give_the_same_bytes),
        cmocka_unit_test(memory_does_not_grow_with_blocks),
        cmocka_unit_test(a_failure_leaves_the_sum_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
