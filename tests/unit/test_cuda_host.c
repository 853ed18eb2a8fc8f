/* GAMP on a card that is none (card_on_host.c): the same runs as on the processor, to single precision;
 * stored, drawn and staged X; models that a kernel knows and others; checkpoints; too little memory. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "card_on_host.h"
#include "core/rng.h"
#include "cuda/gamp.h"
#include "gamp/gamp.h"

static stair_device card = {.name = "cuda:0"};
static const stair_backend host_card = {.name = "host-card",
                                        .hold = stair_cuda_hold,
                                        .release = stair_cuda_release,
                                        .need = stair_cuda_need,
                                        .project = stair_cuda_project,
                                        .pass = stair_cuda_pass,
                                        .fetch = stair_cuda_fetch};

static void plug(bool in)
{
    context->backend = in ? &host_card : NULL;
    context->device = in ? &card : NULL;
}

static stair_gamp_options small(int dim)
{
    stair_gamp_options how = stair_gamp_defaults();
    how.dim = dim;
    how.alpha = 2;
    how.start_overlap = 0.3;
    how.max_iterations = 4;
    how.precision = 1e-3;
    how.test = 64;
    return how;
}

static stair_gamp_result *run(const stair_model *model, const stair_gamp_options *how, bool on_card)
{
    stair_gamp_result *result;
    plug(on_card);
    stair_status status = stair_gamp(context, model, how, &result);
    plug(false);
    if (status != STAIR_OK) print_message("%s\n", stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    assert_int_equal(card_alive, 0);
    return result;
}

/* Overlaps, variances and weights of two runs agree. */
static void assert_alike(const stair_gamp_result *a, const stair_gamp_result *b, double tolerance)
{
    const stair_gamp_run *x = a->run, *y = b->run;
    size_t square = (size_t)(a->indices * a->indices);
    assert_int_equal(x->iterations, y->iterations);
    for (size_t i = 0; i < (size_t)x->count * square; i++) {
        assert_true(fabs(x->q[i] - y->q[i]) <= tolerance);
        assert_true(!(fabs(x->m[i] - y->m[i]) > tolerance)); /* not a number without a teacher */
        assert_true(fabs(x->v[i] - y->v[i]) <= tolerance);
    }
    for (size_t i = 0; i < (size_t)(a->indices * a->dim); i++)
        assert_true(fabs(x->weights[i] - y->weights[i]) <= 30 * tolerance);
    assert_true(x->iterations >= 2);
}

static void runs_are_those_of_the_processor(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int dim;
        bool regenerate;
        const char *variant;
    } cases[] = {
        {"attention:layers=2", 64, false, "gamp"},       {"attention:layers=2", 66, true, "gamp"},
        {"attention:layers=2", 63, false, "gamp"},       {"attention:layers=2", 61, true, "gamp"},
        {"attention:layers=1", 100, false, "gamp"},      {"attention:layers=2", 40, false, "no-onsager"},
        {"attention:layers=2,skip=2", 50, true, "gamp"}, {"square", 120, true, "gamp"},
        {"committee:indices=3", 60, false, "gamp"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model = model_of(cases[k].model);
        stair_gamp_options how = small(cases[k].dim);
        how.regenerate = cases[k].regenerate;
        how.variant = cases[k].variant;
        stair_gamp_result *host = run(model, &how, false), *there = run(model, &how, true),
                          *again = run(model, &how, true);
        assert_alike(host, there, 2e-3);
        assert_memory_equal(there->run->weights, again->run->weights,
                            sizeof(double) * (size_t)(there->indices * there->dim));
        stair_gamp_result_destroy(&host);
        stair_gamp_result_destroy(&there);
        stair_gamp_result_destroy(&again);
        stair_model_destroy(&model);
    }
}

/* Chunks of drawn X, kept for collect where there is room, drawn twice where there is not: the same bytes. */
static void chunks_that_are_kept_or_drawn_twice(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options how = small(66); /* no multiple of four */
    stair_gamp_result *result[4];
    stair_tiles tiles = {.samples = 132, .tokens = 2, .dim = 66};
    size_t sample = 2 * 68 * sizeof(float);
    how.regenerate = true;
    for (int k = 0; k < 4; k++) { /* processor; all at once; chunks of five, kept and not */
        card.chunk = k < 2 ? 0 : 5.5 * (double)sample;
        card_free_bytes = k == 3 ? (size_t)500e6 + stair_cuda_gamp_bytes(&tiles, 2, STAIR_X_DRAWN, 5) + 99
                                 : (size_t)1 << 40;
        result[k] = run(model, &how, k > 0);
        if (k) assert_alike(result[0], result[k], 2e-3);
    }
    card.chunk = 1e8; /* all at once, and no room for it */
    card_free_bytes = (size_t)500e6 + stair_cuda_gamp_bytes(&tiles, 2, STAIR_X_DRAWN, 132) + 99;
    stair_gamp_result *last = run(model, &how, true);
    size_t bytes = sizeof(double) * (size_t)(last->indices * last->dim);
    assert_memory_equal(result[2]->run->weights, result[3]->run->weights, bytes);
    assert_memory_equal(result[1]->run->weights, last->run->weights, bytes);
    card.chunk = 0;
    card_free_bytes = (size_t)1 << 40;
    stair_gamp_result_destroy(&last);
    for (int k = 0; k < 4; k++) stair_gamp_result_destroy(&result[k]);
    stair_model_destroy(&model);
}

/* A pass that reads X once: the runs of two reads, with some samples left to finer lattices or all of them.
 */
static void x_is_read_once(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double precision;
        bool hard; /* all samples are */
    } cases[] = {{"attention:layers=2", 1e-2, false},
                 {"attention:layers=2", 1e-6, true},
                 {"attention:layers=2,skip=3", 1e-3, false},
                 {"attention:layers=1", 1e-3, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model = model_of(cases[k].model);
        stair_gamp_options how = small(90);
        how.precision = cases[k].precision;
        stair_gamp_result *twice = run(model, &how, true);
        card_hard = 0;
        card_once = true;
        stair_gamp_result *once = run(model, &how, true), *again = run(model, &how, true);
        card_once = false;
        size_t pass = 2 * (size_t)(how.alpha * how.dim); /* of both runs */
        assert_alike(twice, once, 0.1 * how.precision + 1e-5);
        if (model->info.layers == 1)
            assert_int_equal(card_hard, 0);
        else if (cases[k].hard) /* all of them, and X is read twice from then on */
            assert_int_equal(card_hard, pass);
        else
            assert_in_range(card_hard, 1, pass * (size_t)how.max_iterations / 2);
        assert_memory_equal(once->run->weights, again->run->weights,
                            sizeof(double) * (size_t)(once->indices * once->dim));
        stair_gamp_result_destroy(&twice);
        stair_gamp_result_destroy(&once);
        stair_gamp_result_destroy(&again);
        stair_model_destroy(&model);
    }
}

/* One pass, precisely: g, memory and sums within what the errors of the channel allow. */
static void a_pass_is_that_of_the_processor(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options how = small(70);
    stair_gamp_problem problem[2];
    stair_gamp_state s[2];
    how.precision = 1e-4;
    for (int k = 0; k < 2; k++) {
        plug(k);
        assert_int_equal(stair_gamp_problem_draw(context, model, &how, 3, &problem[k]), STAIR_OK);
        assert_true(!problem[k].tiles.resident == !k);
        assert_int_equal(stair_gamp_state_create(context, model, &how, &problem[k], &s[k]), STAIR_OK);
        stair_gamp_state_start(&s[k], 3);
        for (int step = 0; step < 3; step++) {
            double change;
            bool finite;
            assert_int_equal(stair_gamp_iterate(context, &s[k], &change, &finite), STAIR_OK);
        }
        if (k) assert_int_equal(stair_cuda_fetch(context, &s[k]), STAIR_OK);
    }
    size_t cells = s[0].samples * 4;
    double labels = 0;
    for (size_t i = 0; i < s[0].samples * (size_t)model->info.label_size; i++)
        labels = fmax(labels, fabs(problem[0].labels[i] - problem[1].labels[i]));
    assert_true(labels < 1e-5);
    for (size_t i = 0; i < cells; i++) {
        assert_true(fabs(s[0].g[i] - s[1].g[i]) <= 2e-3 * (1 + fabs(s[0].g[i])));
        assert_true(fabs(s[0].o[i] - s[1].o[i]) <= 2e-3 * (1 + fabs(s[0].o[i])));
    }
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(s[0].a[i] - s[1].a[i]) < 1e-3);
        assert_true(fabs(s[0].gg[i] - s[1].gg[i]) < 1e-3);
    }
    assert_true(s[1].channel_error > 0 && s[1].channel_error < 1e-3);
    for (int k = 0; k < 2; k++) {
        plug(k);
        stair_gamp_state_destroy(&s[k]);
        stair_gamp_problem_destroy(&problem[k]);
    }
    plug(false);
    assert_int_equal(card_alive, 0);
    stair_model_destroy(&model);
}

/* Given X, whole on the card or a chunk at a time; in several arrays to the same bytes. */
static void given_data(void **state)
{
    (void)state;
    enum { D = 37, N = 60 };
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options how = small(D);
    how.start_overlap = 0;
    how.start = 0.3;
    float *x = malloc(sizeof *x * N * 2 * D);
    double labels[N * 4], w[D];
    stair_rng_normals(4, STAIR_RNG_TEACHER, 0, D, w);
    for (size_t i = 0; i < N; i++) {
        double z[2] = {0, 0};
        stair_rng_normals_single(4, STAIR_RNG_DATA, i, 2 * D, x + i * 2 * D);
        for (int t = 0; t < 2; t++)
            for (int d = 0; d < D; d++) z[t] += (double)x[i * 2 * D + (size_t)(t * D + d)] * w[d] / sqrt(D);
        model->ops->forward(model, z, NULL, labels + i * (size_t)model->info.label_size);
    }
    stair_gamp_data data = {.x = x, .single = true, .dim = D, .samples = N, .labels = labels};
    stair_gamp_part parts[] = {{x, 5}, {NULL, 5}, {x + 5 * 2 * D, 6}, {x + 6 * 2 * D, N}};
    stair_gamp_result *result[5];
    for (int k = 0; k < 5; k++) { /* processor, stored, staged; stored and staged of parts */
        plug(k > 0);
        data.parts = k > 2 ? parts : NULL;
        data.part_count = 4;
        card_free_bytes =
            k == 2 || k == 4 ? (size_t)500026000 /* room for a few samples at a time */ : (size_t)1 << 40;
        assert_int_equal(stair_gamp_fit(context, model, &how, &data, &result[k]), STAIR_OK);
        if (k) assert_alike(result[0], result[k], 2e-3);
        if (k > 2)
            assert_memory_equal(result[k]->run->weights, result[k - 2]->run->weights, D * sizeof(double));
    }
    card_free_bytes = (size_t)1 << 40;
    plug(false);
    for (int k = 0; k < 5; k++) stair_gamp_result_destroy(&result[k]);
    free(x);
    stair_model_destroy(&model);
}

static void too_little_memory_is_said(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options how = small(64);
    stair_gamp_result *result;
    card_free_bytes = (size_t)500e6; /* less is left over than is spared */
    plug(true);
    assert_int_equal(stair_gamp(context, model, &how, &result), STAIR_NO_MEMORY);
    assert_non_null(strstr(stair_context_message(context), "regenerate"));
    card_free_bytes = (size_t)1 << 40;
    plug(false);
    assert_int_equal(card_alive, 0);
    stair_model_destroy(&model);
}

/* What is told before is what a run takes: stored, in chunks that are kept, without room for one; models of a
 * kernel and others. */
static void need_is_told_before(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        bool regenerate;
        double chunk;
        size_t room;
    } cases[] = {{"attention:layers=2", false, 0, 1u << 31},
                 {"attention:layers=2", true, 20e3, 1u << 31},
                 {"attention:layers=2", true, 20e3, 500000000 + 80000},
                 {"square", false, 0, 1u << 31}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model = model_of(cases[k].model);
        stair_gamp_options how = small(64);
        stair_gamp_need need;
        how.regenerate = cases[k].regenerate;
        card.chunk = cases[k].chunk;
        card_free_bytes = cases[k].room;
        plug(true);
        assert_int_equal(stair_gamp_needs(context, model, &how, NULL, &need), STAIR_OK);
        assert_int_equal(card_alive, 0);
        plug(false);
        card_most = 0;
        stair_gamp_result *result = run(model, &how, true);
        stair_gamp_result_destroy(&result);
        assert_true((double)card_most <= need.device_bytes && need.device_bytes <= 1.3 * (double)card_most);
        assert_true(need.device_room == (double)(card_free_bytes - 500000000));
        assert_true(need.seconds > 0 && need.iteration < need.seconds);
        double x = 128.0 * model->info.tokens * 64 * 4;
        assert_true(how.regenerate ? need.x_bytes < x : need.x_bytes == x);
        stair_model_destroy(&model);
    }
    card.chunk = 0;
    card_free_bytes = (size_t)500e6;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options how = small(64);
    stair_gamp_need need;
    plug(true);
    assert_int_equal(stair_gamp_needs(context, model, &how, NULL, &need), STAIR_OK);
    assert_int_equal(stair_gamp_fits(context, &need), STAIR_NO_MEMORY);
    assert_non_null(strstr(stair_context_message(context), "on the card"));
    card_free_bytes = (size_t)1 << 40;
    double seconds[2]; /* of wide rows, where reading counts: twice, and once */
    how.dim = 100000;
    how.alpha = 1e-3;
    for (int once = 0; once < 2; once++) {
        card_once = once;
        assert_int_equal(stair_gamp_needs(context, model, &how, NULL, &need), STAIR_OK);
        seconds[once] = need.iteration;
    }
    assert_true(seconds[1] > 0.5 * seconds[0] && seconds[1] < 0.8 * seconds[0]);
    card_once = false;
    plug(false);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_those_of_the_processor),
        cmocka_unit_test(chunks_that_are_kept_or_drawn_twice),
        cmocka_unit_test(x_is_read_once),
        cmocka_unit_test(a_pass_is_that_of_the_processor),
        cmocka_unit_test(given_data),
        cmocka_unit_test(too_little_memory_is_said),
        cmocka_unit_test(need_is_told_before),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
