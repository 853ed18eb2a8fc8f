/* What ranks share is the same bytes for any number of them; a rank that fails alone ends all. */
#include "assert_close.h"
#include "thread_ranks.h"
#include "core/ranks.h"
#include "core/reduce.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int sizes[] = {1, 2, 3, 4, 5, 7, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* A context of this rank, with threads that differ from rank to rank where `uneven`. */
static stair_context *context_of(const stair_ranks *ranks, bool uneven)
{
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_ranks(context, ranks), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, uneven ? 1 + ranks->rank % 3 : 1), STAIR_OK);
    return context;
}

/* ---- sums --------------------------------------------------------------------------------------- */

typedef struct {
    stair_sum sum;
    atomic_int blocks; /* that were computed */
    double *out[MOST_RANKS];
} sum_case;

/* Numbers of very different size: every order of adding them has bytes of its own. */
static stair_status fill(void *user, size_t block, int thread, stair_context *local, double *out)
{
    sum_case *c = user;
    (void)thread, (void)local;
    atomic_fetch_add(&c->blocks, 1);
    for (size_t k = 0; k < c->sum.size; k++) {
        double pair[2];
        stair_rng_uniform2(11, STAIR_RNG_POINTS, block, (uint64_t)k, pair);
        out[k] = (pair[0] - 0.5) * ldexp(1, (int)(40 * pair[1]));
    }
    return STAIR_OK;
}

static void sum_on_rank(const stair_ranks *ranks, void *user)
{
    sum_case *c = user;
    stair_context *context = context_of(ranks, true);
    assert_int_equal(stair_sum_blocks(context, &c->sum, fill, c, NULL, c->out[ranks->rank]), STAIR_OK);
    stair_context_destroy(&context);
}

/* Few numbers, and so many that ranks add up stretches of them. */
static void sums_have_the_same_bytes(void **state)
{
    static const stair_sum shapes[] = {{1, 0, 5},     {3, 2, 5},    {32, 0, 7},    {32, 3, 9},
                                       {32, 1, 2003}, {5, 2, 8000}, {23, 0, 1000}, {2, 0, 5000}};
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double *expected = malloc(shapes[s].size * sizeof *expected);
        stair_context one = {.threads = 1};
        sum_case c = {.sum = shapes[s]};
        assert_int_equal(stair_sum_blocks(&one, &shapes[s], fill, &c, NULL, expected), STAIR_OK);
        for (int i = 0; i < SIZES; i++) {
            for (int r = 0; r < sizes[i]; r++) c.out[r] = calloc(shapes[s].size, sizeof **c.out);
            atomic_store(&c.blocks, 0);
            run_ranks(sizes[i], sum_on_rank, &c);
            assert_int_equal(atomic_load(&c.blocks), (int)(shapes[s].parts << shapes[s].levels));
            for (int r = 0; r < sizes[i]; r++) {
                assert_memory_equal(c.out[r], expected, shapes[s].size * sizeof *expected);
                free(c.out[r]);
            }
        }
        free(expected);
    }
}

/* What a rank tells of a large sum: the subtrees that it has whole are one sum each, however many its units.
 */
static void room_on_rank(const stair_ranks *ranks, void *user)
{
    (void)user;
    stair_sum sum = {32, 0, 8192};
    size_t units = 32 / (size_t)ranks->size;
    stair_context *context = context_of(ranks, false);
    size_t room =
        stair_sum_room(context, &sum) / sum.size; /* units, roots to tell, stretches to hear, total */
    if (32 % ranks->size == 0)
        assert_int_equal(room, units + 1 + 1 + 1);
    else
        assert_true(room <= units + 1 + 5 + 5 + 1);
    stair_context_destroy(&context);
}

static void a_rank_tells_whole_subtrees(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 16; ranks = ranks == 2 ? 3 : ranks == 3 ? 4 : 2 * ranks)
        run_ranks(ranks, room_on_rank, NULL);
}

/* ---- blocks ------------------------------------------------------------------------------------- */

enum { BLOCKS = 23, EACH = 3, ITEMS = BLOCKS * EACH - 2 };

typedef struct {
    double values[MOST_RANKS][ITEMS];
    char marks[MOST_RANKS][BLOCKS];
    atomic_int done;
    int fails; /* rank that fails at its first block, or -1 */
    int asked; /* rank that is asked to stop, or -1 */
} block_case;

typedef struct {
    block_case *all;
    int rank;
} block_job;

static stair_status one_block(void *user, size_t block, int thread, stair_context *local)
{
    block_job *job = user;
    (void)thread;
    atomic_fetch_add(&job->all->done, 1);
    if (job->all->fails == job->rank)
        return stair_fail(local, STAIR_UNSUPPORTED, "rank %d has no idea", job->rank);
    for (size_t i = block * EACH; i < (block + 1) * EACH && i < ITEMS; i++)
        job->all->values[job->rank][i] = sqrt((double)i);
    job->all->marks[job->rank][block] = (char)(block + 1);
    return STAIR_OK;
}

static stair_status share_blocks(stair_context *context, block_case *c, int rank)
{
    block_job job = {c, rank};
    stair_filled arrays[] = {{c->values[rank], EACH * sizeof(double), ITEMS * sizeof(double)},
                             {c->marks[rank], 1, BLOCKS}};
    return stair_parallel_shared(context, BLOCKS, one_block, &job, arrays, 2);
}

static void blocks_on_rank(const stair_ranks *ranks, void *user)
{
    stair_context *context = context_of(ranks, true);
    assert_int_equal(share_blocks(context, user, ranks->rank), STAIR_OK);
    stair_context_destroy(&context);
}

static void blocks_are_done_once_and_known_to_all(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        block_case *c = calloc(1, sizeof *c);
        c->fails = c->asked = -1;
        run_ranks(sizes[i], blocks_on_rank, c);
        assert_int_equal(atomic_load(&c->done), BLOCKS);
        for (int r = 0; r < sizes[i]; r++) {
            for (int k = 0; k < ITEMS; k++) assert_true(c->values[r][k] == sqrt(k));
            for (int k = 0; k < BLOCKS; k++) assert_int_equal(c->marks[r][k], k + 1);
        }
        free(c);
    }
}

/* ---- failures ----------------------------------------------------------------------------------- */

static bool go_on(void *user, double done, double total)
{
    (void)done, (void)total;
    return !*(bool *)user;
}

static void failing_on_rank(const stair_ranks *ranks, void *user)
{
    block_case *c = user;
    stair_context *context = context_of(ranks, false);
    bool stop = c->asked == ranks->rank;
    int signal = stop ? 15 : 0;
    stair_context_set_progress(context, go_on, &stop);
    stair_status status = share_blocks(context, c, ranks->rank);
    assert_int_equal(status, c->asked >= 0 ? STAIR_FAILED : STAIR_UNSUPPORTED);
    if (c->asked >= 0)
        assert_string_equal(stair_context_message(context), "stopped on request");
    else
        assert_non_null(strstr(stair_context_message(context), "has no idea"));
    status = stair_context_agree(context, status, &signal);
    assert_int_equal(status, c->asked >= 0 ? STAIR_FAILED : STAIR_UNSUPPORTED);
    assert_int_equal(signal, c->asked >= 0 ? 15 : 0);
    stair_context_destroy(&context);
}

static void all_fail_with_the_rank_that_fails(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++)
        for (int asked = 0; asked < 2; asked++) {
            block_case *c = calloc(1, sizeof *c);
            c->fails = asked ? -1 : who;
            c->asked = asked ? who : -1;
            run_ranks(3, failing_on_rank, c);
            free(c);
        }
}

/* One rank leaves before the others share anything: they hear of it at their next step, and then of nothing
 * else. */
static void leaving_on_rank(const stair_ranks *ranks, void *user)
{
    block_case *c = user;
    stair_context *context = context_of(ranks, false);
    stair_status status = STAIR_OK;
    int signal = 0;
    if (ranks->rank == c->fails)
        status = stair_fail(context, STAIR_BAD_INPUT, "my file is not there");
    else
        for (int k = 0; k < 3; k++) assert_int_equal(share_blocks(context, c, 15), STAIR_BAD_INPUT);
    status = stair_context_agree(context, status, &signal);
    assert_int_equal(status, STAIR_BAD_INPUT);
    assert_string_equal(stair_context_message(context), "my file is not there");
    stair_context_destroy(&context);
}

static void nobody_waits_for_a_rank_that_left(void **state)
{
    (void)state;
    for (int who = 0; who < 3; who++) {
        block_case *c = calloc(1, sizeof *c);
        c->fails = who;
        c->asked = -1;
        run_ranks(3, leaving_on_rank, c);
        free(c);
    }
}

/* ---- points ------------------------------------------------------------------------------------- */

enum { POINTS = 17 };

typedef struct {
    atomic_int times[POINTS];
    double value[MOST_RANKS][POINTS];
    bool wide;
    int bad; /* point that fails, or -1 */
} point_case;

typedef struct {
    point_case *all;
    int rank;
} point_job;

static stair_status one_point(void *user, size_t point, int thread, stair_context *local)
{
    point_job *job = user;
    (void)thread;
    assert_int_equal(stair_context_ranks(local), 1);
    atomic_fetch_add(&job->all->times[point], 1);
    if ((int)point == job->all->bad) return stair_fail(local, STAIR_BAD_INPUT, "point %zu is bad", point);
    job->all->value[job->rank][point] = exp((double)point);
    return STAIR_OK;
}

static stair_status pack(void *user, size_t point, stair_context *local, void **bytes, size_t *size)
{
    point_job *job = user;
    (void)local;
    *size = sizeof(double);
    *bytes = malloc(*size);
    memcpy(*bytes, &job->all->value[job->rank][point], *size);
    return STAIR_OK;
}

static stair_status unpack(void *user, size_t point, stair_context *local, const void *bytes, size_t size)
{
    point_job *job = user;
    (void)local;
    assert_int_equal(size, sizeof(double));
    memcpy(&job->all->value[job->rank][point], bytes, size);
    return STAIR_OK;
}

static void points_on_rank(const stair_ranks *ranks, void *user)
{
    point_case *c = user;
    point_job job = {c, ranks->rank};
    stair_points_shared how = {POINTS, c->wide, one_point, pack, unpack};
    stair_context *context = context_of(ranks, true);
    stair_status status = stair_share_points(context, &how, &job);
    assert_int_equal(status, c->bad < 0 ? STAIR_OK : STAIR_BAD_INPUT);
    if (c->bad >= 0) assert_string_equal(stair_context_message(context), "point 6 is bad");
    stair_context_destroy(&context);
}

static void points_are_done_once_and_known_to_all(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++)
        for (int wide = 0; wide < 2; wide++)
            for (int bad = 0; bad < 2; bad++) {
                point_case *c = calloc(1, sizeof *c);
                c->wide = wide;
                c->bad = bad ? 6 : -1;
                run_ranks(sizes[i], points_on_rank, c);
                for (int k = 0; k < POINTS; k++) {
                    assert_true(atomic_load(&c->times[k]) <= 1);
                    if (!bad) assert_int_equal(atomic_load(&c->times[k]), 1);
                    for (int r = 0; r < sizes[i] && !bad; r++) assert_true(c->value[r][k] == exp(k));
                }
                free(c);
            }
}

/* ---- GAMP: each rank has its own samples ------------------------------------------------------- */

typedef struct {
    double q[MOST_RANKS][16];
    double weights[MOST_RANKS][2 * 64];
    int iterations[MOST_RANKS];
    bool regenerate;
} gamp_case;

static void gamp_on(stair_context *context, gamp_case *c, int rank)
{
    stair_model *model;
    stair_gamp_result *result;
    stair_gamp_options how = stair_gamp_defaults();
    how.dim = 64;
    how.alpha = 3;
    how.max_iterations = 3;
    how.test = 64;
    how.regenerate = c->regenerate;
    assert_int_equal(stair_model_create(context, "attention:layers=2", &model), STAIR_OK);
    assert_int_equal(stair_gamp(context, model, &how, &result), STAIR_OK);
    memcpy(c->q[rank], result->run->q, sizeof c->q[rank]);
    memcpy(c->weights[rank], result->run->weights, sizeof c->weights[rank]);
    c->iterations[rank] = result->run->iterations;
    stair_gamp_result_destroy(&result);
    stair_model_destroy(&model);
}

static void gamp_on_rank(const stair_ranks *ranks, void *user)
{
    stair_context *context = context_of(ranks, true);
    gamp_on(context, user, ranks->rank);
    stair_context_destroy(&context);
}

static void gamp_has_the_same_bytes(void **state)
{
    (void)state;
    for (int regenerate = 0; regenerate < 2; regenerate++) {
        gamp_case *one = calloc(2, sizeof *one), *c = one + 1;
        stair_context *context;
        assert_int_equal(stair_context_create(&context), STAIR_OK);
        one->regenerate = c->regenerate = regenerate;
        gamp_on(context, one, 0);
        stair_context_destroy(&context);
        for (int i = 1; i < 4; i++) {
            run_ranks(sizes[i], gamp_on_rank, c);
            for (int r = 0; r < sizes[i]; r++) {
                assert_memory_equal(c->q[r], one->q[0], sizeof c->q[r]);
                assert_memory_equal(c->weights[r], one->weights[0], sizeof c->weights[r]);
                assert_int_equal(c->iterations[r], one->iterations[0]);
            }
        }
        free(one);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_same_bytes),
        cmocka_unit_test(a_rank_tells_whole_subtrees),
        cmocka_unit_test(blocks_are_done_once_and_known_to_all),
        cmocka_unit_test(all_fail_with_the_rank_that_fails),
        cmocka_unit_test(nobody_waits_for_a_rank_that_left),
        cmocka_unit_test(points_are_done_once_and_known_to_all),
        cmocka_unit_test(gamp_has_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
