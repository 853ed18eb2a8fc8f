/* Small parts of the asymptotics by themselves, on made-up numbers: what a walk says of its end, how far a
 * stage says it has come, how careful averages are told to be. */
#include "fixture.h"

#include "asymptotics/effort.h"
#include "asymptotics/fold.h"
#include "asymptotics/perfect.h"
#include "asymptotics/prediction.h"
#include "asymptotics/stage.h"
#include "core/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static stair_branch_point point_of(double alpha, double error, double lean)
{
    stair_branch_point point = {
        .replicates = 4, .random = true, .alpha = alpha, .alpha_error = error * alpha};
    for (int r = 0; r < 4; r++) point.alpha_by_replicate[r] = alpha * (1 + lean * (r - 1.5));
    return point;
}

/* alpha comes to its end from below like the root of v, and each point is known well: none is above. */
static void a_walk_from_below_leaves_no_doubt(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        stair_fold fold = {0};
        int worst;
        for (double v = 1; v > 1e-4; v *= 0.5) {
            stair_branch_point point = point_of(2 * exp(-0.1 * sqrt(v)), noisy ? 0.01 : 1e-9, 0);
            stair_fold_note(&fold, v, &point);
        }
        double doubt = stair_fold_doubt(&fold, 2, &worst);
        if (noisy) /* the end helps, which alpha comes to by 0.1 (sqrt(10) - 1) sqrt(v) in a decade */
            assert_true(doubt > 0 && doubt < 0.003 && worst >= 0);
        else
            assert_true(doubt == 0 && worst == -1);
    }
}

/* log alpha = b sqrt(v) - v over its end: a top of b^2 / 4 at v = b^2 / 4, which the doubt reaches, blaming a
 * point next to it. */
static void a_top_is_in_the_doubt(void **state)
{
    (void)state;
    for (double b = 0.1; b < 0.5; b *= 1.1) {
        stair_fold fold = {0};
        int worst;
        for (double v = 1; v > 1e-5; v *= 0.5) { /* the top is anywhere between points */
            stair_branch_point point = point_of(2 * exp(b * sqrt(v) - v), 1e-9, 0);
            stair_fold_note(&fold, v, &point);
        }
        double doubt = stair_fold_doubt(&fold, 2, &worst), height = b * b / 4;
        assert_true(fold.point[worst].v > 0.4 * height && fold.point[worst].v < 2.5 * height);
        assert_true(3 * doubt > height && doubt < 1.1 * height); /* it is one of three errors */
    }
}

/* Noise that all points share drops out of ratios: the doubt is that of the last ones, not that of each. */
static void noise_in_common_is_no_doubt(void **state)
{
    double doubt[2];
    (void)state;
    for (int common = 0; common < 2; common++) {
        stair_fold fold = {0};
        int worst, k = 0;
        for (double v = 1; v > 1e-5; v *= 0.5, k++) {
            stair_branch_point point = point_of(1.9 * exp(-0.01 * sqrt(v)), 0.05,
                                                common  ? 0.02
                                                : k % 2 ? 0.02
                                                        : -0.02);
            stair_fold_note(&fold, v, &point);
        }
        doubt[common] = stair_fold_doubt(&fold, 2, &worst);
    }
    assert_true(doubt[1] < 0.005); /* what is left to change in a decade is 0.01 (sqrt(10) - 1) sqrt(v) */
    assert_true(doubt[0] > 3 * doubt[1]);
}

/* A point that was solved with the full rule tells of those next to it. */
static void a_solved_point_helps_the_others(void **state)
{
    stair_fold fold = {0};
    int worst, k = 0;
    (void)state;
    for (double v = 1; v > 1e-2; v *= 0.5, k++) { /* far from its end: the end says little */
        stair_branch_point point = point_of(2 * exp(-0.3 * sqrt(v)) * 1.04, 0.05, 0.02);
        stair_fold_note(&fold, v, &point);
    }
    double before = stair_fold_doubt(&fold, 2, &worst);
    for (k = 0; k < fold.count; k++) {
        stair_branch_point point = point_of(2 * exp(-0.3 * sqrt(fold.point[k].v)), 1e-6, 0);
        stair_fold_solved(&fold, k, &point);
    }
    double after = stair_fold_doubt(&fold, 2, &worst);
    assert_true(before > 0 && after == 0 && worst == -1);
}

/* Another rule: what came before is forgotten. */
static void ratios_are_of_one_rule(void **state)
{
    stair_fold fold = {0};
    stair_branch_point point = point_of(1, 0.1, 0);
    (void)state;
    stair_fold_note(&fold, 1, &point);
    stair_fold_note(&fold, 0.5, &point);
    assert_int_equal(fold.count, 2);
    point.replicates = 3;
    stair_fold_note(&fold, 0.25, &point);
    assert_int_equal(fold.count, 1);
    point.random = false;
    stair_fold_note(&fold, 0.125, &point);
    assert_int_equal(fold.count, 1);
    assert_close(fold.point[0].v, 0.125, 0);
    assert_close(fold.point[0].noise, 0.1, 1e-15);
    for (int k = 0; k < 2 * STAIR_FOLD_POINTS; k++) stair_fold_note(&fold, 0.1, &point);
    assert_int_equal(fold.count, STAIR_FOLD_POINTS);
}

static double said;
static bool go_on;

static bool hear(void *user, double done, double total)
{
    assert_ptr_equal(user, &said);
    assert_true(total == 1);
    said = done;
    return go_on;
}

/* Progress of a stage stays inside its share, grows from round to round, and passes on a wish to stop. */
static void stages_only_go_forward(void **state)
{
    stair_stage stage;
    double before = 0.25;
    (void)state;
    go_on = true;
    stair_context_set_progress(context, hear, &said);
    stair_stage_begin(&stage, context);
    stair_stage_set(&stage, 0.25, 0.5);
    for (int round = 0; round < 200; round++)
        for (int k = 0; k < 4; k++) {
            assert_true(context->progress(context->progress_user, k, 4));
            assert_true(said >= before && said < 0.75);
            before = said;
        }
    assert_true(said > 0.6); /* 200 rounds of 200 + 64 */
    stair_stage_set(&stage, 0.75, 0.25);
    assert_true(context->progress(context->progress_user, 0, 4));
    assert_close(said, 0.75, 0);
    assert_true(context->progress(context->progress_user, 0.5, 1));
    assert_close(said, 0.75 + 0.25 * 0.5 / 64.5, 1e-12); /* half a round of 64 more */
    stair_stage_set(&stage, 0.75, 0.25);
    assert_true(context->progress(context->progress_user, 0, 0)); /* no total: nothing is done */
    assert_close(said, 0.75, 0);
    go_on = false;
    assert_false(context->progress(context->progress_user, 1, 4));
    stair_stage_end(&stage);
    assert_true(context->progress == hear && context->progress_user == &said);
    stair_context_set_progress(context, NULL, NULL);
    stair_stage_begin(&stage, context); /* nobody listens */
    assert_true(context->progress(context->progress_user, 1, 4));
    stair_stage_end(&stage);
}

/* More precision is more of everything, samples that are asked for are those there are, and the way is looked
 * for with less. */
static void efforts_follow_the_precision(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_model *model = model_of("attention:layers=2");
    const stair_structure *structure = structure_of(model);
    stair_average_effort before = {0};
    double patience = 0;
    (void)state;
    for (o.precision = 0.1; o.precision > 5e-6; o.precision *= 0.1) {
        stair_average_effort fine = stair_effort_fine(&o), coarse = stair_effort_coarse(structure, &o);
        assert_true(fine.points >= before.points && fine.nodes >= before.nodes);
        assert_true(fine.fineness >= before.fineness && fine.fineness >= coarse.fineness);
        assert_true(coarse.points * (size_t)coarse.replicates <= fine.points * (size_t)fine.replicates ||
                    o.precision > 0.05);
        assert_true(fine.channel.precision <= 3.001 * o.precision && fine.channel.precision <= 0.01);
        assert_true(fine.channel.noise >= fine.channel.precision && fine.channel.noise <= 0.15);
        assert_int_equal(fine.replicates, o.replicates);
        assert_true(stair_effort_patience(&o) >= patience);
        patience = stair_effort_patience(&o);
        before = fine;
    }
    o = stair_asymptotics_defaults();
    o.precision = 0.01; /* where patience is in minutes of one core */
    assert_close(stair_effort_patience(&o), 60 * o.patience, 1e-9);
    o.patience = 0;
    assert_true(isinf(stair_effort_patience(&o)));
    o.patience = 2;
    o.points = 1 << 14;
    assert_true(isinf(stair_effort_patience(&o)));
    assert_int_equal(stair_effort_fine(&o).points, (1 << 14) / o.replicates);
    o.inner = 0.02;
    assert_close(stair_effort_fine(&o).channel.precision, 0.02, 0);
    assert_close(stair_effort_fine(&o).channel.noise, 0.02, 0);
    stair_model_destroy(&model);
}

/* out = base + a normals, token by token; of a triangle nothing above the diagonal is read. */
static void spread_is_a_product_of_matrices(void **state)
{
    static const double a[] = {2, 0, 3, 5}, normals[] = {1, -1, 10, 20}, base[] = {100, 200, 300, 400};
    static const double nan_above[] = {2, NAN, 3, 5}, full[] = {2, 7, 3, 5};
    double out[4];
    (void)state;
    stair_prediction_spread(2, 2, a, false, base, normals, out);
    for (int k = 0; k < 4; k++) assert_close(out[k], ((double[]){102, 198, 353, 497})[k], 1e-12);
    stair_prediction_spread(2, 2, nan_above, true, NULL, normals, out);
    for (int k = 0; k < 4; k++) assert_close(out[k], ((double[]){2, -2, 53, 97})[k], 1e-12);
    stair_prediction_spread(2, 2, full, false, NULL, normals, out);
    for (int k = 0; k < 4; k++) assert_close(out[k], ((double[]){72, 138, 53, 97})[k], 1e-12);
}

static void distances_and_means_of_predictions(void **state)
{
    double sum = 1, mean, error;
    (void)state;
    stair_prediction_add(3, 0.5, (double[]){1, 2, 3}, (double[]){0, 4, 6}, &sum);
    assert_close(sum, 1 + 0.5 * (1 + 4 + 9), 1e-12);
    stair_prediction_average(8, (double[]){1, 1, 1, 1, 1, 1, 1, 1}, &mean, &error);
    assert_true(mean == 1 && error == 0);
    stair_prediction_average(8, (double[]){0, 2, 0, 2, 0, 2, 0, 2}, &mean, &error);
    assert_close(mean, 1, 1e-15);
    assert_true(error >= sqrt(1.0 / 7) && error < 2 * sqrt(1.0 / 7)); /* Student's factor is in it */
}

/* V -> 0 of relu: the label is flat half of the time.  Where counting is exact there is no error, and the
 * ratios of V are those of a matrix of trace one. */
static void perfect_recovery_by_its_local_limit(void **state)
{
    stair_perfect found;
    stair_model *model = model_of("relu");
    (void)state;
    assert_int_equal(stair_perfect_find(context, structure_of(model), 256, 8, 1, &found), STAIR_OK);
    assert_close(found.counting, 1, 0);
    assert_true(found.error < 0.1); /* a lattice may have half of its points on either side */
    assert_close(found.alpha, 2, 4 * found.error + 1e-9);
    stair_model_destroy(&model);
    model = model_of("attention:layers=2");
    assert_int_equal(stair_perfect_find(context, structure_of(model), 256, 4, 1, &found), STAIR_OK);
    assert_true(found.error == 0 && found.alpha == found.counting && found.counting == 1);
    assert_close(found.ratios[0] + found.ratios[1], 1, 1e-12);
    model->blocks = 2; /* each row sees twice the samples */
    assert_int_equal(stair_perfect_find(context, structure_of(model), 256, 4, 1, &found), STAIR_OK);
    assert_close(found.alpha, 0.5, 1e-12);
    stair_model_destroy(&model);
}

/* What a sign tells of its row: one integral, and H times that on H blocks. */
static void information_of_signs(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_model *model = model_of("sign");
    double f, error, expected = 0;
    const double q = 0.5, v = 1 - q;
    (void)state;
    for (double x = -8; x < 8; x += 1e-3) { /* g = +-phi(t) / (sqrt(v) Phi(+-t)), t = omega / sqrt(v) */
        double t = sqrt(q / v) * x, phi = exp(-0.5 * t * t) / sqrt(2 * M_PI), up = 0.5 * erfc(-t * M_SQRT1_2),
               down = 0.5 * erfc(t * M_SQRT1_2);
        expected += 1e-3 * exp(-0.5 * x * x) / sqrt(2 * M_PI) * phi * phi / v * (1 / up + 1 / down);
    }
    assert_int_equal(stair_information_at(context, model, &o, &q, &f, &error), STAIR_OK);
    assert_close(f, expected, 1e-6);
    assert_true(error < 1e-6);
    model->blocks = 3;
    double again;
    assert_int_equal(stair_information_at(context, model, &o, &q, &again, &error), STAIR_OK);
    assert_close(again, 3 * f, 1e-12);
    stair_model_destroy(&model);
    model = model_of("attention:layers=1"); /* by samples: f is a mean, and its error that of one */
    o.precision = 0.02;
    double errors[2];
    assert_int_equal(stair_information_at(context, model, &o, &q, &f, &errors[0]), STAIR_OK);
    model->blocks = 2;
    assert_int_equal(stair_information_at(context, model, &o, &q, &again, &errors[1]), STAIR_OK);
    assert_close(again, 2 * f, 1e-12 * f);
    assert_close(errors[1], 2 * errors[0], 1e-12);
    assert_true(errors[0] > 0 && errors[0] < 0.05 * f);
    stair_average average;
    stair_average_effort effort = stair_effort_fine(&o);
    double part[STAIR_MOST_REPLICATES];
    assert_int_equal(stair_average_create(context, structure_of(model), 0, o.replicates, &average), STAIR_OK);
    assert_int_equal(stair_average_evaluate(context, structure_of(model), &effort, &q, NULL, &average),
                     STAIR_OK);
    for (int r = 0; r < average.replicates; r++) stair_average_f(&average, r, &part[r]);
    assert_close(errors[0], hypot(stair_average_spread(&average, part), average.bias * f), 1e-12);
    stair_average_destroy(&average);
    stair_model_destroy(&model);
}

/* At a fixed point Q/(1 - Q) = alpha f(Q) + lambda/(1 - lambda), row by row; without side information nothing
 * is learned of two signs below pi^2/4 and the same of both above. */
static void fixed_points(int rows)
{
    static const struct {
        const char *spec;
        double alpha, side;
        bool informed, nothing;
    } cases[] = {{"sign", 2, 0, false, false},
                 {"sign", 2, 0, true, false},
                 {"sign", 1.3, 0.4, false, false},
                 {"sign", 0, 0.4, false, false},
                 {"parity:indices=2", 2, 0, false, true},
                 {"parity:indices=2", 2, 0.3, false, false},
                 {"parity:indices=2", 3, 0, false, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_asymptotics_options o = stair_asymptotics_defaults();
        stair_model *model = model_of(cases[k].spec);
        double q[4], error[4], f[4], f_error[4];
        stair_evolution result = {.q = q, .q_error = error};
        int p = model->info.indices;
        if (p != rows) {
            stair_model_destroy(&model);
            continue;
        }
        o.side = cases[k].side;
        assert_int_equal(stair_evolve(context, model, &o, cases[k].alpha, cases[k].informed, NULL, &result),
                         STAIR_OK);
        assert_true(result.stop == STAIR_STOP_CONVERGED ||
                    (cases[k].nothing && result.stop == STAIR_STOP_ZERO));
        assert_int_equal(stair_information_at(context, model, &o, q, f, f_error), STAIR_OK);
        for (int i = 0; i < p * p; i++) {
            bool diagonal = i % (p + 1) == 0;
            double rest = (1 - q[i]) * (1 - q[i]);
            assert_true(error[i] >= 0 && error[i] < 2e-3);
            if (cases[k].nothing) assert_true(q[i] == 0);
            if (!diagonal) assert_close(q[i], 0, 1e-9);
            if (diagonal && !cases[k].nothing) {
                assert_true(q[i] > 0.1 && q[i] < 0.95);
                assert_close(q[i] / (1 - q[i]), cases[k].alpha * f[i] + o.side / (1 - o.side),
                             (2e-3 * q[i] * (1 - q[i]) + 3 * error[i]) / rest);
            }
        }
        if (p > 1) assert_close(q[0], q[3], 3 * error[0] + 1e-9);
        stair_model_destroy(&model);
    }
}

static void fixed_points_of_signs(void **state)
{
    (void)state;
    fixed_points(1);
}

static void fixed_points_of_two_signs(void **state)
{
    (void)state;
    fixed_points(2);
}

/* Where a grid and samples meet, each would lead a coarse solve to where the other one serves: one of them
 * has to stay, or it goes on forever. */
static void a_solve_does_not_hop_between_rules(void **state)
{
    stair_model *model = model_of("attention:layers=3,prenoise=1e-3");
    stair_branch *b = malloc(sizeof *b);
    stair_branch_point *point = malloc(sizeof *point);
    stair_asymptotics_options how = stair_asymptotics_defaults();
    const double v = 0.185, q[9] = {1 - 1.5 * v, 0, 0, 0, 1 - 1.4 * v, 0, 0, 0, 1 - 0.03 * v};
    (void)state;
    how.precision = 0.02;
    assert_true(b && point);
    assert_int_equal(stair_branch_prepare(b, context, model, &how), STAIR_OK);
    b->most_steps = 20;
    stair_branch_place(b, q);
    assert_int_equal(stair_branch_at_mean(b, v, false, point), STAIR_OK);
    assert_int_equal(point->stop, STAIR_STOP_CONVERGED);
    assert_ptr_equal(point->rule, &stair_average_samples);
    assert_true(b->coarsely.changes > b->coarsely.most);
    stair_model_destroy(&model);
    free(point);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_from_below_leaves_no_doubt),
        cmocka_unit_test(a_top_is_in_the_doubt),
        cmocka_unit_test(noise_in_common_is_no_doubt),
        cmocka_unit_test(a_solved_point_helps_the_others),
        cmocka_unit_test(ratios_are_of_one_rule),
        cmocka_unit_test(stages_only_go_forward),
        cmocka_unit_test(efforts_follow_the_precision),
        cmocka_unit_test(spread_is_a_product_of_matrices),
        cmocka_unit_test(distances_and_means_of_predictions),
        cmocka_unit_test(perfect_recovery_by_its_local_limit),
        cmocka_unit_test(information_of_signs),
        cmocka_unit_test(fixed_points_of_signs),
        cmocka_unit_test(a_solve_does_not_hop_between_rules),
        cmocka_unit_test(fixed_points_of_two_signs),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
