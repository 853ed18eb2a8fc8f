/* Blocks and threads: each block once, neighbours on one thread, nobody idle, the first failure reported. */
#include "assert_close.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "core/runs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100 };

typedef struct {
    atomic_int times[MOST], done, breaks; /* breaks: blocks that do not follow their thread's last one */
    size_t blocks, fails[2];              /* fails where they are below blocks */
    size_t next[8];                       /* per thread: the neighbour of its last block */
    bool wait, slow; /* the first block ends after all others; every one takes its time */
} record;

static stair_status note(void *user, size_t block, int thread, stair_context *local)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    record *r = user;
    time_t begun = time(NULL);
    atomic_fetch_add(&r->times[block], 1);
    if (r->next[thread] && block != r->next[thread]) atomic_fetch_add(&r->breaks, 1);
    r->next[thread] = block + 1;
    if (r->slow) nanosleep(&pause, NULL);
    while (r->wait && block == 0 && atomic_load(&r->done) + 1 < (int)r->blocks)
        if (time(NULL) - begun > 20) return stair_fail(local, STAIR_FAILED, "the others are idle");
    atomic_fetch_add(&r->done, 1);
    if (block == r->fails[0] || block == r->fails[1])
        return stair_fail(local, STAIR_FAILED, "block %zu", block);
    return STAIR_OK;
}

static void every_block_runs_once(void **state)
{
    static const size_t counts[] = {0, 1, 2, 3, 31, 32, MOST};
    (void)state;
    for (int threads = 1; threads <= 8; threads++)
        for (int k = 0; k < 7; k++) {
            stair_context context = {.threads = threads};
            record r = {.blocks = counts[k], .fails = {MOST, MOST}};
            assert_int_equal(stair_parallel(&context, counts[k], note, &r), STAIR_OK);
            for (size_t b = 0; b < MOST; b++) assert_int_equal(r.times[b], b < counts[k]);
            if (threads == 1) assert_int_equal(r.breaks, 0);
        }
}

static void a_thread_that_is_done_helps(void **state)
{
    (void)state;
    stair_context context = {.threads = 2};
    record r = {.blocks = MOST, .fails = {MOST, MOST}, .wait = true};
    assert_int_equal(stair_parallel(&context, MOST, note, &r), STAIR_OK);
    for (size_t b = 0; b < MOST; b++) assert_int_equal(r.times[b], 1);
}

/* Two threads that both have half of the work to do. */
static void neighbours_run_on_one_thread(void **state)
{
    (void)state;
    stair_context context = {.threads = 2};
    record r = {.blocks = MOST, .fails = {MOST, MOST}, .slow = true};
    assert_int_equal(stair_parallel(&context, MOST, note, &r), STAIR_OK);
    assert_true(r.breaks < MOST / 4); /* help at the end, or for a thread that was held up */
}

static void the_first_failure_is_reported(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++)
        for (int repeat = 0; repeat < 20; repeat++) {
            stair_context context = {.threads = threads};
            record r = {.blocks = MOST, .fails = {17, 80}};
            assert_int_equal(stair_parallel(&context, MOST, note, &r), STAIR_FAILED);
            assert_string_equal(context.message, "block 17");
            for (size_t b = 0; b <= 17; b++) assert_int_equal(r.times[b], 1);
        }
}

/* Threads of a context are kept from one call to the next, as many as the widest had. */
static void threads_are_used_again(void **state)
{
    (void)state;
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (int repeat = 0; repeat < 60; repeat++) {
        record r = {.blocks = MOST, .fails = {MOST, MOST}, .wait = repeat % 10 == 0};
        int threads = 2 + repeat * 7 % 5;
        assert_int_equal(stair_context_set_threads(context, threads), STAIR_OK);
        assert_int_equal(stair_parallel(context, MOST, note, &r), STAIR_OK);
        for (size_t b = 0; b < MOST; b++) assert_int_equal(r.times[b], 1);
    }
    stair_context_destroy(&context);
}

/* A fork has none of them, and must not wait for any. */
static void a_fork_starts_its_own(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its runtime has no threads after a fork */
#endif
    if (getenv("STAIR_EMULATED")) skip(); /* qemu-user 7.2 aborts in a fork of a program with threads */
    stair_context *context;
    record r = {.blocks = MOST, .fails = {MOST, MOST}};
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, 3), STAIR_OK);
    assert_int_equal(stair_parallel(context, MOST, note, &r), STAIR_OK);
    pid_t child = fork();
    if (child == 0) {
        record own = {.blocks = MOST, .fails = {MOST, MOST}, .wait = true};
        alarm(60);
        bool good = stair_parallel(context, MOST, note, &own) == STAIR_OK && own.done == MOST;
        stair_context_destroy(&context);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    stair_context_destroy(&context);
}

#ifdef __GLIBC__
int pthread_setattr_default_np(const pthread_attr_t *how); /* an extension of it */

/* Whether so many frames of 2 kB can be written to: smaller than the page that guards the end of a stack. */
static int dig(int depth, const volatile char *above)
{
    volatile char frame[2048];
    frame[0] = above[0];
    if (depth > 0) frame[0] = (char)dig(depth - 1, frame);
    return frame[0];
}

static stair_status deep(void *user, size_t block, int thread, stair_context *local)
{
    (void)block, (void)thread, (void)local;
    const char one = 1;
    const struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL); /* the others have their share */
    atomic_fetch_add((atomic_int *)user, dig(500, &one));
    return STAIR_OK;
}

/* Where the system gives as little as musl does, a thread can still go a megabyte deep. */
static void threads_have_room(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their frames are larger */
#endif
    pthread_attr_t how;
    atomic_int dug = 0;
    stair_context *context;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, 131072);
    assert_int_equal(pthread_setattr_default_np(&how), 0);
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, 4), STAIR_OK);
    assert_int_equal(stair_parallel(context, MOST, deep, &dug), STAIR_OK);
    assert_int_equal(dug, MOST);
    stair_context_destroy(&context);
    pthread_attr_setstacksize(&how, 8 << 20);
    pthread_setattr_default_np(&how);
    pthread_attr_destroy(&how);
}
#endif

typedef struct {
    double done, total;
    bool go;
} shown;

static bool show(void *user, double done, double total)
{
    shown *s = user;
    s->done = done, s->total = total;
    return s->go;
}

/* What is done is counted in runs; who was asked to stop stops the others. */
static void runs_share_progress(void **state)
{
    (void)state;
    shown seen = {.go = true};
    stair_context first = {.threads = 1, .progress = show, .progress_user = &seen}, other = {.threads = 1};
    stair_runs runs;
    stair_runs_open(&runs, 4, 10);
    assert_true(stair_runs_go_on(&runs, &other, 5));
    assert_true(stair_runs_go_on(&runs, &first, 10));
    assert_true(seen.done == 1.5 && seen.total == 4);
    seen.go = false;
    assert_false(stair_runs_go_on(&runs, &first, 1));
    assert_false(stair_runs_go_on(&runs, &other, 1));
    stair_runs_close(&runs);
    seen.go = true;
    stair_runs_open(&runs, 3, 0); /* runs without a step are done at once */
    assert_true(stair_runs_go_on(&runs, &first, 0));
    assert_true(seen.done == 3 && seen.total == 3);
    stair_runs_close(&runs);
    stair_runs_open(&runs, 3, 1);
    assert_true(stair_runs_go_on(&runs, &first, 1));
    assert_true(seen.done == 1);
    stair_runs_close(&runs);
}

/* What is too dear is said in units of which there are two or more. */
static void work_is_said_in_units(void **state)
{
    static const struct {
        double seconds;
        const char *said;
    } known[] = {{119, "119 seconds"}, {120, "2 minutes"}, {7199, "120 minutes"}, {7200, "2 hours"},
                 {172799, "48 hours"}, {172800, "2 days"}, {1e7, "116 days"}};
    (void)state;
    stair_context poor = {.most_work = 0};
    assert_int_equal(stair_context_afford(&poor, 1, "that"), STAIR_COSTLY);
    assert_non_null(strstr(poor.message, "about 1 seconds of one core, and 0 seconds are left"));
    for (int k = 0; k < 7; k++) {
        stair_context context = {.most_work = 100};
        char said[80];
        assert_int_equal(stair_context_afford(&context, 100, "that"), STAIR_OK);
        assert_int_equal(stair_context_afford(&context, known[k].seconds, "that"), STAIR_COSTLY);
        snprintf(said, sizeof said, "that would take about %s of one core, and 100 seconds are left",
                 known[k].said);
        assert_memory_equal(context.message, said, strlen(said));
    }
}

static void instruction_sets_have_names(void **state)
{
    (void)state;
    stair_context context = {.threads = 1};
    assert_int_equal(stair_isa_set_most(&context, "v5"), STAIR_BAD_INPUT);
    assert_int_equal(stair_isa_set_most(&context, "v2"), STAIR_OK);
    assert_string_equal(stair_isa_name(), "v2");
    assert_int_equal(stair_isa_lanes(), 2);
    assert_int_equal(stair_isa_set_most(&context, "v4"), STAIR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_once),
        cmocka_unit_test(a_thread_that_is_done_helps),
        cmocka_unit_test(neighbours_run_on_one_thread),
        cmocka_unit_test(the_first_failure_is_reported),
        cmocka_unit_test(threads_are_used_again),
        cmocka_unit_test(a_fork_starts_its_own),
        cmocka_unit_test(runs_share_progress),
        cmocka_unit_test(work_is_said_in_units),
        cmocka_unit_test(instruction_sets_have_names),
#ifdef __GLIBC__
        cmocka_unit_test(threads_have_room),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
