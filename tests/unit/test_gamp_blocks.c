/* Parts of the samples cut into a tree of blocks, as for very many samples: any number of threads gives the
 * same bytes, and sums differ from those of whole parts by rounding alone. */
#include "assert_close.h"
#include "gamp/gamp.h"

#include <stdlib.h>
#include <string.h>

enum { DIM = 90, INDICES = 2, STEPS = 3 };

typedef struct {
    double w[INDICES * DIM], c[INDICES * INDICES], channel_error;
} outcome;

/* A few iterations with blocks of at most `most` samples. */
static outcome iterate(int threads, size_t most, bool regenerate)
{
    outcome out;
    stair_context *context;
    stair_model *model;
    stair_gamp_problem problem;
    stair_gamp_state state;
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = DIM;
    o.alpha = 7.3;
    o.start_overlap = 0.3;
    o.wide = true;
    o.regenerate = regenerate;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, threads), STAIR_OK);
    assert_int_equal(stair_model_create(context, "attention:layers=2", &model), STAIR_OK);
    assert_int_equal(stair_gamp_problem_draw(context, model, &o, 5, &problem), STAIR_OK);
    problem.tiles.most = most;
    assert_int_equal(stair_gamp_state_create(context, model, &o, &problem, &state), STAIR_OK);
    stair_gamp_state_start(&state, 5);
    for (int k = 0; k < STEPS; k++) {
        double change;
        bool finite;
        assert_int_equal(stair_gamp_iterate(context, &state, &change, &finite), STAIR_OK);
        assert_true(finite);
    }
    memcpy(out.w, state.w, sizeof out.w);
    memcpy(out.c, state.c, sizeof out.c);
    out.channel_error = state.channel_error;
    stair_gamp_state_destroy(&state);
    stair_gamp_problem_destroy(&problem);
    stair_model_destroy(&model);
    stair_context_destroy(&context);
    return out;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    static const size_t most[] = {1, 3, 20};     /* 2^5, 2^3 and 2 blocks of each part of 21 samples */
    static const int threads[] = {2, 3, 24, 64}; /* the last two share parts */
    for (int j = 0; j < 3; j++) {
        outcome one = iterate(1, most[j], false);
        for (int k = 0; k < 4; k++) {
            outcome other = iterate(threads[k], most[j], k == 1);
            assert_memory_equal(other.w, one.w, sizeof one.w);
            assert_memory_equal(other.c, one.c, sizeof one.c);
            assert_true(other.channel_error == one.channel_error);
        }
    }
}

static void blocks_change_rounding_alone(void **state)
{
    (void)state;
    outcome whole = iterate(1, 0, false), cut = iterate(1, 1, false);
    for (int i = 0; i < INDICES * DIM; i++) assert_close(cut.w[i], whole.w[i], 1e-9);
    for (int i = 0; i < INDICES * INDICES; i++) assert_close(cut.c[i], whole.c[i], 1e-9);
    assert_memory_not_equal(cut.w, whole.w, sizeof cut.w); /* or nothing was cut */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(blocks_change_rounding_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
