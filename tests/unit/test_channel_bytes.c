/* The same bytes for any number of threads and for a stream cut anywhere; different instruction sets
 * agree within the errors reported. */
#include "channel_case.h"

#include "core/isa.h"

typedef struct {
    double *logz, *g, *dg, *error;
} answers;

static answers copy_answers(const channel_case *c)
{
    answers a = {channel_case_room(c->n), channel_case_room(c->n * c->size),
                 channel_case_room(c->n * c->size * c->size), channel_case_room(c->n)};
    memcpy(a.logz, c->logz, c->n * sizeof(double));
    memcpy(a.g, c->g, c->n * c->size * sizeof(double));
    memcpy(a.dg, c->dg, c->n * c->size * c->size * sizeof(double));
    memcpy(a.error, c->error, c->n * sizeof(double));
    return a;
}

static void free_answers(answers *a)
{
    free(a->logz);
    free(a->g);
    free(a->dg);
    free(a->error);
}

static void wipe(channel_case *c)
{
    memset(c->logz, 0xff, c->n * sizeof(double));
    memset(c->g, 0xff, c->n * c->size * sizeof(double));
    memset(c->dg, 0xff, c->n * c->size * c->size * sizeof(double));
    memset(c->error, 0xff, c->n * sizeof(double));
}

static void assert_same_bytes(const channel_case *c, const answers *a)
{
    assert_memory_equal(c->logz, a->logz, c->n * sizeof(double));
    assert_memory_equal(c->g, a->g, c->n * c->size * sizeof(double));
    assert_memory_equal(c->dg, a->dg, c->n * c->size * c->size * sizeof(double));
    assert_memory_equal(c->error, a->error, c->n * sizeof(double));
}

static const struct {
    const char *model;
    size_t n;
    double precision, low;
} cases[] = {
    {"attention:layers=1,tokens=3", 500, 1e-6, 1e-4},  {"attention:layers=2", 300, 1e-6, 1e-6},
    {"attention:layers=2,skip=-0.5", 100, 1e-6, 1e-2}, {"attention:layers=3", 70, 1e-3, 1e-2},
    {"attention:layers=2,rank=2+1", 70, 1e-2, 0.1},
};
enum { CASES = sizeof cases / sizeof *cases };

static void threads_do_not_matter(void **state)
{
    static const int threads[] = {2, 3, 7};
    (void)state;
    for (int k = 0; k < CASES; k++) {
        channel_case c = channel_case_open(cases[k].model, cases[k].n);
        channel_case_draw(&c, cases[k].low, 21);
        channel_case_evaluate(&c, cases[k].precision, "auto");
        answers one = copy_answers(&c);
        for (int t = 0; t < 3; t++) {
            wipe(&c);
            stair_context_set_threads(c.context, threads[t]);
            channel_case_evaluate(&c, cases[k].precision, "auto");
            assert_same_bytes(&c, &one);
        }
        free_answers(&one);
        channel_case_close(&c);
    }
}

static void a_stream_may_be_cut(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        channel_case c = channel_case_open(cases[k].model, cases[k].n);
        channel_case_draw(&c, cases[k].low, 22);
        channel_case_evaluate(&c, cases[k].precision, "auto");
        answers whole = copy_answers(&c);
        wipe(&c);
        for (size_t first = 0, many = 1; first < c.n; first += many, many = 3 * many + 4) {
            size_t n = c.n - first < many ? c.n - first : many;
            assert_int_equal(channel_case_try(&c, cases[k].precision, "auto", first, n), STAIR_OK);
        }
        assert_same_bytes(&c, &whole);
        free_answers(&whole);
        channel_case_close(&c);
    }
}

static void points_may_be_cut(void **state)
{
    (void)state;
    channel_case c = channel_case_open("attention:layers=2", 20),
                 d = channel_case_open("attention:layers=2", 20);
    stair_points_options o = stair_points_defaults();
    channel_case_draw(&c, 0.05, 1);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(stair_points_draw(d.context, d.model, &o, i, 1, d.z + i * d.size,
                                           d.label + i * d.labels, d.omega + i * d.size,
                                           d.cov + i * d.square),
                         STAIR_OK);
    assert_memory_equal(c.label, d.label, 20 * c.labels * sizeof(double));
    assert_memory_equal(c.omega, d.omega, 20 * c.size * sizeof(double));
    assert_memory_equal(c.cov, d.cov, 20 * c.square * sizeof(double));
    channel_case_close(&c);
    channel_case_close(&d);
}

static void instruction_sets_agree(void **state)
{
    (void)state;
    int best = stair_isa();
    for (int k = 0; k < CASES; k++) {
        channel_case c = channel_case_open(cases[k].model, cases[k].n);
        channel_case_draw(&c, 1e-2, 23);
        stair_isa_limit(0);
        channel_case_evaluate(&c, cases[k].precision, "auto");
        answers portable = copy_answers(&c);
        for (int isa = 1; isa <= best; isa++) {
            stair_isa_limit(isa);
            assert_int_equal(stair_isa(), isa);
            channel_case_evaluate(&c, cases[k].precision, "auto");
            for (size_t i = 0; i < c.n; i++) {
                double allowed = 3 * (c.error[i] + portable.error[i]) + 1e-13;
                assert_close(c.logz[i], portable.logz[i], allowed);
                assert_close(channel_case_gap(c.size, c.g + i * c.size, portable.g + i * c.size), 0, allowed);
                assert_close(channel_case_gap(c.size * c.size, c.dg + i * c.size * c.size,
                                              portable.dg + i * c.size * c.size),
                             0, allowed);
            }
        }
        stair_isa_limit(2);
        free_answers(&portable);
        channel_case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_stream_may_be_cut),
        cmocka_unit_test(points_may_be_cut),
        cmocka_unit_test(instruction_sets_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
