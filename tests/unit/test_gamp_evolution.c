/* GAMP in finite dimension against state evolution, and the mistakes that would break the agreement. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "average/average.h"
#include "core/matrix.h"
#include "core/rng.h"

#define MOST 64 /* iterations times P^2 */

static int open_single(void **state)
{
    return open_context(state) || stair_context_set_threads(context, 1) != STAIR_OK;
}

static stair_gamp_options from_overlap(int dim, double alpha, double q, int iterations, int seeds)
{
    stair_gamp_options o = stair_gamp_defaults();
    o.dim = dim;
    o.alpha = alpha;
    o.start_overlap = q;
    o.max_iterations = iterations;
    o.tolerance = 1e-9; /* every run goes all the way */
    o.perfect = 1e-12;
    o.seeds = seeds;
    return o;
}

static stair_gamp_result *run(const stair_model *model, const stair_gamp_options *o)
{
    stair_gamp_result *result;
    stair_status status = stair_gamp(context, model, o, &result);
    if (status != STAIR_OK) print_error("%s\n", stair_context_message(context));
    assert_int_equal(status, STAIR_OK);
    return result;
}

/* Mean over runs of entry `cell` at iteration t, and its standard error. */
static double mean_of(const stair_gamp_result *r, bool m, int t, int cell, double *error)
{
    int square = r->indices * r->indices;
    double sum = 0, spread = 0;
    for (int k = 0; k < r->runs; k++) sum += (m ? r->run[k].m : r->run[k].q)[t * square + cell] / r->runs;
    for (int k = 0; k < r->runs; k++) {
        double x = (m ? r->run[k].m : r->run[k].q)[t * square + cell] - sum;
        spread += x * x;
    }
    *error = sqrt(spread / (r->runs - 1) / r->runs);
    return sum;
}

/* Both overlaps, diagonal, at every iteration: z-scores below 4. */
static void follows(const stair_model *model, const stair_gamp_options *o)
{
    double q[MOST], qe[MOST], m[MOST], me[MOST];
    int p = stair_model_describe(model).indices, count = o->max_iterations + 1;
    stair_gamp_theory_options how = stair_gamp_theory_defaults();
    assert_true(count * p * p <= MOST);
    assert_int_equal(stair_gamp_theory(context, model, o, &how, count, q, qe, m, me), STAIR_OK);
    stair_gamp_result *r = run(model, o);
    for (int k = 0; k < r->runs; k++) assert_int_equal(r->run[k].count, count);
    for (int t = 1; t < count; t++)
        for (int i = 0; i < p; i++) {
            int cell = i * (p + 1), at = t * p * p + cell;
            double error, got = mean_of(r, true, t, cell, &error);
            if (fabs(got - m[at]) > 4 * hypot(error, me[at]))
                fail_msg("iteration %d, M%d: %g +- %g, theory %g +- %g", t, i + 1, got, error, m[at], me[at]);
            got = mean_of(r, false, t, cell, &error);
            if (fabs(got - q[at]) > 4 * hypot(error, qe[at]))
                fail_msg("iteration %d, Q%d: %g +- %g, theory %g +- %g", t, i + 1, got, error, q[at], qe[at]);
        }
    stair_gamp_result_destroy(&r);
}

static void one_layer(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(1000, 0.4, 0.3, 8, 32);
    follows(model, &o);
    stair_model_destroy(&model);
}

static void one_layer_three_tokens(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,tokens=3");
    stair_gamp_options o = from_overlap(600, 0.25, 0.3, 6, 32);
    follows(model, &o);
    stair_model_destroy(&model);
}

static void two_layers(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options o = from_overlap(400, 0.9, 0.4, 6, 24);
    follows(model, &o);
    stair_model_destroy(&model);
}

/* Damping leaves the line Q = M; theory knows. */
static void damped(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(1000, 0.4, 0.3, 8, 32);
    o.damping = 0.4;
    follows(model, &o);
    stair_model_destroy(&model);
}

static void with_side_information(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(1000, 0.3, 0, 8, 32);
    o.side = 0.2;
    follows(model, &o);
    stair_model_destroy(&model);
}

static void noisy_labels(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,prenoise=0.1");
    stair_gamp_options o = from_overlap(1000, 0.6, 0.3, 8, 32);
    follows(model, &o);
    stair_model_destroy(&model);
}

/* The trajectory's own recursion and the fixed point of stair_evolve() end in the same place. */
static void trajectory_ends_at_the_fixed_point(void **state)
{
    double q[61], qe[61], m[61], me[61], fixed, fixed_error;
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(1000, 0.4, 0.3, 60, 1);
    stair_gamp_theory_options how = stair_gamp_theory_defaults();
    how.points = 8192;
    assert_int_equal(stair_gamp_theory(context, model, &o, &how, 61, q, qe, m, me), STAIR_OK);
    stair_evolution evolution = {.q = &fixed, .q_error = &fixed_error};
    stair_asymptotics_options a = stair_asymptotics_defaults();
    assert_int_equal(stair_evolve(context, model, &a, 0.4, false, NULL, &evolution), STAIR_OK);
    assert_close(m[60], fixed, 4 * hypot(me[60], fixed_error) + 1e-4);
    assert_close(q[60], m[60], 4 * hypot(qe[60], me[60]));
    stair_model_destroy(&model);
}

/* M = Q within 5/sqrt(D), run by run, and the spread over runs falls as D^-1/2. */
static void overlaps_agree_and_concentrate(void **state)
{
    double spread[2];
    (void)state;
    stair_model *model = model_of("attention:layers=1");
    for (int k = 0; k < 2; k++) {
        int dim = k ? 4000 : 250;
        stair_gamp_options o = from_overlap(dim, 0.4, 0.3, 6, 32);
        stair_gamp_result *r = run(model, &o);
        for (int i = 0; i < r->runs; i++) assert_close(r->run[i].m[6], r->run[i].q[6], 5 / sqrt(dim));
        mean_of(r, true, 6, 0, &spread[k]);
        stair_gamp_result_destroy(&r);
    }
    double ratio = spread[0] / spread[1]; /* 4, and two estimates of a variance from 32 runs each */
    assert_true(ratio > 4 / 2.1 && ratio < 4 * 2.1);
    stair_model_destroy(&model);
}

/* Mean cosine after the run, over 8 seeds. */
static double final_cosine(const char *variant, double alpha, double side, double *mismatch)
{
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(1000, alpha, side > 0 ? 0 : 0.3, 12, 8);
    double overlap = 0;
    o.side = side;
    o.adaptive = false;
    o.variant = variant;
    stair_gamp_result *r = run(model, &o);
    *mismatch = 0;
    for (int k = 0; k < r->runs; k++) {
        int last = r->run[k].count - 1;
        overlap += r->run[k].cosine[last] / r->runs;
        *mismatch += r->run[k].history[last].mismatch / r->runs;
    }
    stair_gamp_result_destroy(&r);
    stair_model_destroy(&model);
    return overlap;
}

/* Cosine with the teacher, and how far self-overlap and variance disagree, of each mistake. */
static void mistakes_are_visible(void **state)
{
    static const char *const wrong[] = {"no-onsager", "printed-onsager", "printed-g"};
    double right_mismatch, wrong_mismatch, right = final_cosine("gamp", 0.4, 0, &right_mismatch);
    (void)state;
    assert_true(right > 0.65 && right_mismatch < 0.1);
    for (int k = 0; k < 3; k++) {
        double cosine = final_cosine(wrong[k], 0.4, 0, &wrong_mismatch);
        if (!(cosine < right - 0.05 && wrong_mismatch > 0.3))
            fail_msg("%s: cosine %g, mismatch %g", wrong[k], cosine, wrong_mismatch);
    }
    right = final_cosine("gamp", 0.3, 0.3, &right_mismatch);
    double cosine = final_cosine("printed-side", 0.3, 0.3, &wrong_mismatch);
    assert_true(right > 0.7 && right_mismatch < 0.1);
    if (!(cosine < right - 0.1)) fail_msg("printed-side: cosine %g, exact %g", cosine, right);
}

/* Root mean square difference of W between a variant and GAMP on the same instances. */
static double difference(const char *variant, int dim, int seeds)
{
    stair_model *model = model_of("attention:layers=1");
    stair_gamp_options o = from_overlap(dim, 0.8, 0.6, 3, seeds);
    stair_gamp_result *plain = run(model, &o);
    o.variant = variant;
    stair_gamp_result *other = run(model, &o);
    double sum = 0;
    for (int k = 0; k < seeds; k++)
        for (int d = 0; d < dim; d++) {
            double x = plain->run[k].weights[d] - other->run[k].weights[d];
            sum += x * x / dim / seeds;
        }
    stair_gamp_result_destroy(&plain);
    stair_gamp_result_destroy(&other);
    stair_model_destroy(&model);
    return sqrt(sum);
}

/* The difference is of order D^-1/2: four times the dimension, half the difference, and small. */
static void verification_variants_agree_as_dimension_grows(void **state)
{
    (void)state;
    double full[2] = {difference("full", 100, 8), difference("full", 1600, 2)};
    double bp[2] = {difference("bp", 50, 8), difference("bp", 400, 1)};
    if (!(full[1] < 0.4 * full[0] && full[1] < 0.1)) fail_msg("full: %g then %g", full[0], full[1]);
    if (!(bp[1] < 0.6 * bp[0] && bp[1] < 0.2)) fail_msg("bp: %g then %g", bp[0], bp[1]);
}

/* Errors by the Gaussian law of (Z, omega) against samples of dimension D drawn afresh. */
static void errors_are_those_on_fresh_samples(void **state)
{
    enum { FRESH = 4000, DIM = 200 };
    (void)state;
    stair_model *model = model_of("attention:layers=2");
    stair_gamp_options o = from_overlap(DIM, 0.9, 0.4, 3, 1);
    o.test = 1 << 16;
    stair_gamp_result *r = run(model, &o);
    const stair_gamp_run *it = r->run;
    double *x = malloc(sizeof(double) * FRESH * 2 * DIM), *mean = malloc(sizeof(double) * FRESH * 4 * 3),
           teacher[2 * DIM];
    double *deviation = mean + FRESH * 4, *plugin = deviation + FRESH * 4;
    for (int p = 0; p < 2; p++)
        stair_rng_normals(o.seed, STAIR_RNG_TEACHER, (uint64_t)p, DIM, teacher + p * DIM);
    for (int i = 0; i < FRESH; i++)
        stair_rng_normals(o.seed, STAIR_RNG_DATA, ((uint64_t)1 << 40) + (uint64_t)i, 2 * DIM,
                          x + (size_t)i * 2 * DIM);
    stair_gamp_data fresh = {.x = x, .dim = DIM, .samples = FRESH};
    assert_int_equal(stair_gamp_predict(context, model, it, &fresh, mean, deviation, plugin), STAIR_OK);
    double sum[3] = {0}, square[3] = {0};
    for (int i = 0; i < FRESH; i++) {
        double z[4] = {0}, y[4], error[3] = {0};
        for (int p = 0; p < 2; p++)
            for (int m = 0; m < 2; m++)
                for (int d = 0; d < DIM; d++)
                    z[2 * p + m] +=
                        teacher[p * DIM + d] * x[((size_t)i * 2 + (size_t)m) * DIM + (size_t)d] / sqrt(DIM);
        assert_int_equal(stair_model_forward(context, model, 1, z, y), STAIR_OK);
        for (int k = 0; k < 4; k++) {
            error[0] += pow(exp(y[k]) - mean[4 * i + k], 2);
            error[1] += pow(exp(y[k]) - plugin[4 * i + k], 2);
            error[2] += pow(exp(y[k]) - mean[4 * i + k], 2) - pow(deviation[4 * i + k], 2);
        }
        for (int k = 0; k < 3; k++) {
            sum[k] += error[k] / FRESH;
            square[k] += error[k] * error[k] / FRESH;
        }
    }
    const stair_gamp_record *last = &it->history[it->count - 1];
    double spread[3];
    for (int k = 0; k < 3; k++) spread[k] = sqrt((square[k] - sum[k] * sum[k]) / FRESH);
    assert_close(last->bayes, sum[0], 4 * hypot(spread[0], last->bayes_error));
    assert_close(last->plugin, sum[1], 4 * hypot(spread[1], last->plugin_error));
    assert_true(last->bayes < last->plugin);
    assert_close(sum[2], 0,
                 0.2 * sum[0]); /* the variance that is claimed is the error that is made, up to D^-1/2 */
    free(x);
    free(mean);
    stair_gamp_result_destroy(&r);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_layer),
        cmocka_unit_test(one_layer_three_tokens),
        cmocka_unit_test(two_layers),
        cmocka_unit_test(damped),
        cmocka_unit_test(with_side_information),
        cmocka_unit_test(noisy_labels),
        cmocka_unit_test(trajectory_ends_at_the_fixed_point),
        cmocka_unit_test(overlaps_agree_and_concentrate),
        cmocka_unit_test(mistakes_are_visible),
        cmocka_unit_test(verification_variants_agree_as_dimension_grows),
        cmocka_unit_test(errors_are_those_on_fresh_samples),
    };
    return cmocka_run_group_tests(tests, open_single, close_context);
}
