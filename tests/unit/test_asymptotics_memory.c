/* State evolution, thresholds, curves and free entropy when memory runs out: failing_memory.h. */
#include "failing_memory.h"

static stair_asymptotics_options coarse(void)
{
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = 0.1;
    how.points = 64;
    how.replicates = 4;
    return how;
}

static stair_status with_model(stair_context *context,
                               stair_status (*work)(stair_context *, const stair_model *))
{
    stair_model *model;
    stair_status status = stair_model_create(context, "attention:layers=1,tokens=3", &model);
    if (status != STAIR_OK) return status;
    status = work(context, model);
    stair_model_destroy(&model);
    return status == STAIR_NOT_CONVERGED ? STAIR_OK : status; /* so few samples miss the precision */
}

static stair_status entropy_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    double q = 0.5, entropy, error;
    return stair_entropy_at(context, model, &how, 0.2, &q, &entropy, &error);
}

static stair_status overlap_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    double q, error;
    stair_evolution result = {.q = &q, .q_error = &error};
    return stair_evolve(context, model, &how, 0.2, false, NULL, &result);
}

static stair_status steps_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    stair_step list[4];
    int count;
    return stair_threshold(context, model, &how, 0, 4, list, &count);
}

static stair_status sweep_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    double q[2], error[2], alpha[2] = {0.1, 0.2};
    stair_sweep_point points[2];
    return stair_sweep_all(context, model, &how, STAIR_START_UNINFORMED, 2, alpha, points, q, error);
}

static stair_status phase_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    double q[4];
    stair_phase phase = {.bayes_q = q, .bayes_q_error = q + 1, .amp_q = q + 2, .amp_q_error = q + 3};
    return stair_phase_at(context, model, &how, 0.1, &phase);
}

static stair_status curve_of(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options how = coarse();
    stair_staircase_curve *curve;
    stair_status status = stair_staircase_curve_create(context, model, &how, 1, &curve);
    stair_staircase_curve_destroy(&curve);
    return status;
}

static stair_status sweep(stair_context *context)
{
    return with_model(context, sweep_of);
}
static stair_status phase(stair_context *context)
{
    return with_model(context, phase_of);
}
static stair_status curve(stair_context *context)
{
    return with_model(context, curve_of);
}
static stair_status entropy(stair_context *context)
{
    return with_model(context, entropy_of);
}
static stair_status overlap(stair_context *context)
{
    return with_model(context, overlap_of);
}
static stair_status steps(stair_context *context)
{
    return with_model(context, steps_of);
}

static void free_entropy(void **state)
{
    (void)state;
    fail_in_turn(entropy, 1);
}

static void state_evolution(void **state)
{
    (void)state;
    fail_in_turn(overlap, 3);
}

static void staircase(void **state)
{
    (void)state;
    fail_in_turn(steps, 7);
}

static void sweeps(void **state)
{
    (void)state;
    fail_in_turn(sweep, 61);
}

static void phases(void **state)
{
    (void)state;
    fail_in_turn(phase, 401);
}

static void staircase_curve(void **state)
{
    (void)state;
    fail_in_turn(curve, 53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_entropy), cmocka_unit_test(state_evolution), cmocka_unit_test(staircase),
        cmocka_unit_test(sweeps),       cmocka_unit_test(phases),          cmocka_unit_test(staircase_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
