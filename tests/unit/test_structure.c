/* The structure of models: what is known of them by construction is found, it is found once, by any thread,
 * and a failure to find it is not kept as an answer. */
#include "failing_memory.h"

#include "fixture.h"

#include "core/parallel.h"
#include "model/structure.h"

static void forms_of_attention_and_squares(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int dim, rank;
        bool point, last_row, last_pair, by_shape, many;
    } known[] = {
        {"attention:layers=1", 0, 2, true, false, false, false, false},
        {"attention:layers=1,tokens=3", 0, 3, true, false, false, false, false},
        {"attention:layers=2", 2, 2, false, true, false, false, false},
        {"attention:layers=2,tokens=3", 3, 3, false, true, false, false, true},
        {"attention:layers=3", 4, 2, false, true, false, false, true},
        {"attention:layers=1,rank=2", 2, 2, false, false, true, false, false},
        {"attention:layers=2,rank=1+2", 4, 2, false, false, true, false, true},
        {"attention:layers=2,rank=2", 6, 2, false, false, true, true, true},
        {"attention:layers=2,skip=-0.5", 2, 2, false, false, false, false,
         false}, /* T is singular somewhere */
        {"attention:layers=2,noise=0.1", -1, 2, false, false, false, false, false},
        {"square", 0, 1, true, false, false, false, false},
        {"square:tokens=2", 0, 2, false, false, false, false, false},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        stair_model *model;
        const stair_structure *s, *again;
        assert_int_equal(stair_model_create(context, known[k].spec, &model), STAIR_OK);
        assert_int_equal(stair_structure_find(context, model, &s), STAIR_OK);
        assert_int_equal(stair_structure_find(context, model, &again), STAIR_OK);
        assert_ptr_equal(s, again);
        if (s->dim != known[k].dim || s->rank != known[k].rank)
            print_error("%s: dim %d, rank %d\n", known[k].spec, s->dim, s->rank);
        assert_int_equal(s->dim, known[k].dim);
        assert_int_equal(s->rank, known[k].rank);
        assert_true(s->even);
        assert_int_equal(s->point, known[k].point);
        assert_int_equal(s->last_row, known[k].last_row);
        assert_int_equal(s->last_pair, known[k].last_pair);
        assert_int_equal(s->by_shape, known[k].by_shape);
        assert_int_equal(s->many_hidden, known[k].many);
        stair_model_destroy(&model);
    }
}

static void rows_that_turn_and_rows_that_do_not(void **state)
{
    (void)state;
    stair_model *model;
    const stair_structure *s;
    assert_int_equal(stair_model_create(context, "attention:layers=2,rank=3+1,tokens=3", &model), STAIR_OK);
    assert_int_equal(stair_structure_find(context, model, &s), STAIR_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s->symmetry.kind[i], i < 3 ? 0 : 3);
        assert_int_equal(s->symmetry.turn[i], i < 3 ? 0 : 3);
        assert_true(s->symmetry.even[i]);
    }
    assert_int_equal(s->symmetry.size[s->symmetry.pair[0]], 3);
    assert_true(stair_structure_rows_even(s, 4));
    stair_model_destroy(&model);
}

typedef struct {
    stair_model *model;
    const stair_structure *found[64];
} ask_job;

static stair_status ask(void *user, size_t block, int thread, stair_context *local)
{
    ask_job *job = user;
    (void)thread;
    return stair_structure_find(local, job->model, &job->found[block]);
}

static void threads_that_ask_at_once_get_the_same(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        ask_job job;
        assert_int_equal(stair_model_create(context, "attention:layers=2", &job.model), STAIR_OK);
        assert_int_equal(stair_context_set_threads(context, 8), STAIR_OK);
        assert_int_equal(stair_parallel(context, 64, ask, &job), STAIR_OK);
        for (int k = 1; k < 64; k++) assert_ptr_equal(job.found[k], job.found[0]);
        stair_model_destroy(&job.model);
    }
}

/* Memory that runs out on the way is an error, and the next attempt finds the truth. */
static void failures_are_no_answers(void **state)
{
    (void)state;
    int failures = 0;
    if (!REPLACED) skip();
    for (long n = 0;; n++) {
        stair_model *model;
        const stair_structure *s;
        assert_int_equal(stair_model_create(context, "attention:layers=2", &model), STAIR_OK);
        countdown = n;
        stair_status status = stair_structure_find(context, model, &s);
        bool reached = countdown < 0;
        countdown = -1;
        assert_true(status == STAIR_OK || status == STAIR_NO_MEMORY);
        failures += status != STAIR_OK;
        assert_int_equal(stair_structure_find(context, model, &s), STAIR_OK);
        assert_true(s->last_row && s->dim == 2 && s->rank == 2);
        stair_model_destroy(&model);
        if (!reached) break;
    }
    assert_true(failures > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_attention_and_squares),
        cmocka_unit_test(rows_that_turn_and_rows_that_do_not),
        cmocka_unit_test(threads_that_ask_at_once_get_the_same),
        cmocka_unit_test(failures_are_no_answers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
