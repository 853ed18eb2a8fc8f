/* Rules of averages one by one, where it takes little: what is known of f, log Z and the operator at an
 * overlap holds for each of them.
 *
 * Q tells about the label as much as it takes from what the label tells about Z: dE log Z / dQ = f / 2.
 * Next to Q = 0 the operator is the slope of f: f(e X) = e F(X) + O(e^2). */
#include "fixture.h"

#include "asymptotics/operator.h"
#include "average/average.h"
#include "average/label_places.h"
#include "average/node_set.h"
#include "core/rng.h"
#include "model/formula.h"
#include "posterior/denoiser.h"

#include <math.h>
#include <string.h>

#define MOST 4 /* rows */

typedef struct {
    double f[MOST * MOST], logz, leading; /* the last: eigenvalue of the operator on what is not learned */
    double f_error, logz_error, leading_error, bias;
    int replicates;
    bool random;
} found;

static stair_average_effort effort_of(const char *rule, double fineness)
{
    stair_average_effort effort = {.rule = stair_average_rule_named(rule),
                                   .fineness = fineness,
                                   .nodes = 1024,
                                   .points = 128,
                                   .replicates = 8,
                                   .widening = 1.2,
                                   .seed = 1,
                                   .channel = stair_channel_defaults()};
    effort.channel.precision = 1e-6;
    return effort;
}

/* The numbers of one rule at Q = diag(overlap); where that is zero nothing is learned. */
static found evaluate(const stair_model *model, const stair_average_effort *effort, const double *overlap)
{
    const stair_structure *structure = structure_of(model);
    int p = model->info.indices, kernel = 0;
    double q[MOST * MOST] = {0}, basis[MOST * MOST] = {0}, part[64], f[MOST * MOST];
    stair_average average;
    found out = {0};
    for (int i = 0; i < p; i++) kernel += (q[i * (p + 1)] = overlap[i]) == 0;
    for (int i = 0, k = 0; i < p; i++)
        if (overlap[i] == 0) basis[i * kernel + k++] = 1;
    assert_int_equal(stair_average_create(context, structure, kernel, effort->replicates, &average),
                     STAIR_OK);
    if (stair_average_evaluate(context, structure, effort, q, basis, &average) != STAIR_OK)
        fail_msg("%s: %s", stair_model_spec(model), stair_context_message(context));
    if (effort->rule) assert_ptr_equal(average.rule, effort->rule);
    out.replicates = average.replicates;
    out.random = average.random;
    out.bias = average.bias;
    stair_average_f(&average, -1, out.f);
    for (int i = 0; i < p * p; i++) {
        for (int r = 0; r < average.replicates; r++) {
            stair_average_f(&average, r, f);
            part[r] = f[i];
        }
        out.f_error = fmax(out.f_error, stair_average_spread(&average, part));
    }
    out.logz = stair_average_logz(&average, -1);
    for (int r = 0; r < average.replicates; r++) part[r] = stair_average_logz(&average, r);
    out.logz_error = hypot(stair_average_spread(&average, part), average.logz_bias);
    if (kernel) {
        stair_leading leading;
        stair_operator_leading(&average, &structure->symmetry, basis, &leading);
        out.leading = leading.value;
        out.leading_error = leading.error;
    }
    stair_average_destroy(&average);
    return out;
}

typedef struct {
    const char *name, *spec, *rule;
    double overlap[MOST], fineness, tolerance; /* relative, of slopes */
} slope_case;

/* dE log Z / dQ_ii = f_ii / 2, by central differences; with random nodes both sides have the same ones. */
static void slope_of_log_z_is_half_of_f(void **state)
{
    const slope_case *c = *state;
    const double by = 0.01;
    stair_model *model = model_of(c->spec);
    stair_average_effort effort = effort_of(c->rule, c->fineness);
    found at = evaluate(model, &effort, c->overlap);
    int p = model->info.indices;
    for (int i = 0; i < p; i++) {
        double overlap[MOST];
        if (c->overlap[i] == 0) continue;
        memcpy(overlap, c->overlap, sizeof overlap);
        overlap[i] += by;
        found more = evaluate(model, &effort, overlap);
        overlap[i] -= 2 * by;
        found less = evaluate(model, &effort, overlap);
        double slope = (more.logz - less.logz) / (2 * by), f = at.f[i * (p + 1)];
        assert_close(2 * slope, f, c->tolerance * f);
    }
    stair_model_destroy(&model);
}

static slope_case slopes[] = {
    {"signs", "sign", "label-sum", {0.5}, 1, 2e-4},
    {"doors", "door:width=1", "label-sum", {0.6}, 1, 4e-4},
    {"two signs", "parity:indices=2", "label-sum", {0.5, 0.4}, 1, 2e-4},
    {"three signs", "committee:indices=3", "label-sum", {0.3, 0.5, 0.4}, 1, 0.06},
    {"two layers", "attention:layers=2", "label-grid", {0, 0.8}, 0.9, 2e-3},
    {"two layers, both", "attention:layers=2,skip=2", "label-grid", {0.6, 0.9}, 0.7, 0.01},
    {"two layers, large skip", "attention:layers=2,skip=-3", "label-grid", {0.5, 0.8}, 0.75, 0.03},
    {"one layer", "attention:layers=1", "samples", {0.5}, 1, 0.02},
    {"one layer, noise", "attention:layers=1,prenoise=0.1", "samples", {0.5}, 1, 0.02},
    {"two layers, samples", "attention:layers=2", "samples", {0.5, 0.8}, 1, 0.05},
    {"committee limit", "attention-limit:layers=3,beta=1", "samples", {0, 0, 0.8}, 1, 0.05},
};

/* Eigenvalues of the operator at Q = 0 by one rule and by another that shares no nodes with it. */
typedef struct {
    const char *name, *spec, *one, *other;
    double fineness, nearness;
} operator_case;

static void operators_agree(void **state)
{
    const operator_case *c = *state;
    stair_model *model = model_of(c->spec);
    double nothing[MOST] = {0};
    stair_average_effort effort = effort_of(c->one, c->fineness);
    found one = evaluate(model, &effort, nothing);
    effort = effort_of(c->other, c->fineness);
    effort.points = 32;
    effort.channel.precision = 1e-2;
    found other = evaluate(model, &effort, nothing);
    double error = hypot(one.leading_error, other.leading_error);
    assert_true(one.leading > 0 && error < c->nearness * one.leading);
    assert_close(one.leading, other.leading, 4 * error + 1e-9);
    assert_close(one.logz, other.logz, 4 * hypot(one.logz_error, other.logz_error) + 1e-9);
    stair_model_destroy(&model);
}

static operator_case operators[] = {
    {"operator: one layer", "attention:layers=1", "hermite", "samples", 1, 0.1},
    {"operator: three tokens", "attention:layers=1,tokens=3", "hermite", "samples", 1, 0.1},
    {"operator: untied", "attention:layers=1,weights=untied,tokens=3", "formula", "samples", 1, 0.2},
    {"operator: two rows", "attention:layers=1,rank=2", "label-plane", "samples", 1, 0.2},
    {"operator: two layers", "attention:layers=2", "label-grid", "samples", 1, 0.2},
    {"operator: square", "expr:z1^2,noise=0.3", "label-line", "samples", 1, 0.2},
    {"operator: cosine", "expr:cos(2*z1)", "label-line", "samples", 1, 0.2},
    {"operator: two tokens", "expr:z1^2,tokens=2", "label-line", "samples", 1, 0.2},
    {"operator: parity", "parity:indices=2", "label-sum", "samples", 1, 0.2},
};

/* Critical values, kinks and ends of links that are known. */
typedef struct {
    const char *spec;
    double low, high;
    int count;
    double value[6];
} place_case;

static void critical_values_are_found(void **state)
{
    static const place_case cases[] = {
        {"expr:z1^4-3*z1^2", -10, 10, 2, {-2.25, 0}},
        {"expr:(z1-1)^2+(z2+0.5)^2+z1*z2", -10, 4, 1, {-13.0 / 12}},
        {"expr:cos(2*z1)+z2^2-2*z2", -10, 3, 2, {-2, 0}},
        {"expr:(z1^2-1)^2+(z2^2-4)^2+(z3-1)^2", -1, 17.5, 4, {0, 1, 16, 17}},
        {"expr:abs(z1-1)+z2^2", -10, 4, 1, {0}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model = model_of(cases[k].spec);
        const stair_program *program = &model->ops->program(model)->program;
        double place[STAIR_LABEL_PLACES];
        int count = 0, seen = 0;
        stair_label_places(program, 8, 1e-9, cases[k].low, cases[k].high, &count, place);
        for (int i = 0; i < count; i++) {
            assert_true(place[i] > cases[k].low && place[i] < cases[k].high);
            assert_true(i == 0 || place[i] > place[i - 1]);
            for (int j = 0; j < cases[k].count; j++) seen += fabs(place[i] - cases[k].value[j]) < 1e-7;
        }
        assert_int_equal(seen, cases[k].count);
        stair_model_destroy(&model);
    }
}

/* A label that is the same for all Z tells nothing, and there is no error. */
static void constant_labels_tell_nothing(void **state)
{
    stair_model *model = model_of("attention:layers=1,tokens=1");
    stair_average_effort effort = effort_of("constant", 1);
    double overlaps[] = {0, 0.5};
    (void)state;
    for (int k = 0; k < 2; k++) {
        found at = evaluate(model, &effort, &overlaps[k]);
        assert_true(at.f[0] == 0 && at.logz == 0 && at.leading == 0 && !at.random);
        assert_true(at.f_error == 0 && at.logz_error == 0 && at.leading_error == 0 && at.bias == 0);
    }
    assert_false(stair_average_constant.random(structure_of(model)));
    stair_model_destroy(&model);
    model = model_of("attention:layers=1"); /* others are not constant */
    assert_false(stair_average_constant.fits(structure_of(model), &effort, overlaps));
    stair_model_destroy(&model);
}

/* Nodes are kept once, in the order they came in, however many; also after the table has grown. */
static void nodes_are_kept_once(void **state)
{
    stair_node_set set = {0};
    enum { SIDE = 60 };
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int again = 0; again < 2; again++)
            for (int k = 0; k < 2 * SIDE * SIDE; k++) {
                stair_node node = {k % 2, k / 2 % SIDE - 30, k / 2 / SIDE - 30};
                assert_int_equal(stair_node_set_add(context, &set, &node), STAIR_OK);
            }
        assert_int_equal(set.count, 2 * SIDE * SIDE);
        for (int k = 0; k < 2 * SIDE * SIDE; k++)
            assert_true(set.list[k].group == k % 2 && set.list[k].i == k / 2 % SIDE - 30 &&
                        set.list[k].j == k / 2 / SIDE - 30);
        assert_true(2 * set.count <= set.slot_count);
        stair_node_set_clear(&set);
        assert_int_equal(set.count, 0);
    }
    stair_node_set_free(&set);
}

/* Parts of a posterior: whole, first half, second half.  The whole lies between its halves, to second order
 * in how far they are apart; `error` of rules with halves is half their distance in log Z.  The
 * channel, which shares no nodes with them, says the same. */
static void halves_make_the_whole(void **state)
{
    static const struct {
        const char *spec;
        double v, fineness;
        const stair_denoiser_rule *rule;
    } cases[] = {{"attention:layers=1,tokens=3,rank=2", 0.7, 1, &stair_denoiser_channel},
                 {"attention:layers=2", 0.5, 1, &stair_denoiser_one_row},
                 {"attention:layers=1,rank=2", 0.5, 1, &stair_denoiser_two_rows}};
    enum { N = 5, CELLS = 6 };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stair_model *model = model_of(cases[c].spec);
        int p = model->info.indices, pm = p * model->info.tokens;
        double z[N * CELLS], omega[N * CELLS], normals[2 * CELLS], label[N * 9],
            cov[4] = {0}, error[N], anchors[N * 3], logz[3 * N], g[3 * N * CELLS], dg[3 * N * CELLS * CELLS];
        stair_denoiser_effort effort = {
            .fineness = cases[c].fineness, .nodes = 1024, .seed = 1, .channel = stair_channel_defaults()};
        stair_denoised out = {.logz = logz, .g = g, .dg = dg, .error = error, .anchors = anchors};
        stair_denoiser denoiser;
        effort.channel.precision = 0.02;
        for (int i = 0; i < p; i++) cov[i * (p + 1)] = cases[c].v;
        for (int n = 0; n < N; n++) {
            stair_rng_normals(21, STAIR_RNG_POINTS, (uint64_t)n, 2 * pm, normals);
            for (int k = 0; k < pm; k++) {
                omega[n * pm + k] = sqrt(1 - cases[c].v) * normals[k];
                z[n * pm + k] = omega[n * pm + k] + sqrt(cases[c].v) * normals[pm + k];
            }
        }
        assert_int_equal(stair_model_forward(context, model, N, z, label), STAIR_OK);
        assert_int_equal(stair_denoiser_create(context, structure_of(model), cov, &effort, &denoiser),
                         STAIR_OK);
        assert_ptr_equal(denoiser.rule, cases[c].rule);
        assert_int_equal(denoiser.parts, 3);
        assert_int_equal(stair_denoiser_evaluate(context, &denoiser, 0, N, label, omega, NULL, &out),
                         STAIR_OK);
        double other[N], other_g[N * CELLS], other_dg[N * CELLS * CELLS], other_error[N];
        stair_channel_result channel = {.logz = other, .g = other_g, .dg = other_dg, .error = other_error};
        effort.channel.precision = 5e-3;
        effort.channel.seed = 7;
        assert_int_equal(
            stair_channel_evaluate(context, model, &effort.channel, 0, N, label, omega, 1, cov, &channel),
            STAIR_OK);
        for (size_t i = 0; i < N; i++) {
            size_t at[3];
            for (int k = 0; k < 3; k++) at[k] = stair_denoised_at(&denoiser, &out, i, k);
            double apart = fabs(logz[at[1]] - logz[at[2]]), far = 0, size = 0, off = 0;
            if (denoiser.rule->by_sample) assert_close(error[i], 0.5 * apart, 1e-15);
            assert_true(error[i] >= 0 && error[i] < 0.2);
            assert_close(logz[at[0]], 0.5 * (logz[at[1]] + logz[at[2]]), apart * apart + 1e-9);
            for (int k = 0; k < pm; k++) {
                double one = g[at[1] * pm + k], two = g[at[2] * pm + k], all = g[at[0] * pm + k];
                far += (one - two) * (one - two);
                off += pow(all - 0.5 * (one + two), 2);
                size += all * all;
            }
            assert_true(sqrt(far) < 0.5 * (0.2 + sqrt(size)) && off <= 0.3 * far + 1e-12);
            assert_close(logz[at[0]], other[i], 4 * hypot(error[i], other_error[i]) + 1e-6);
            double gap = 0;
            for (int k = 0; k < pm; k++) gap += pow(g[at[0] * pm + k] - other_g[i * pm + k], 2);
            assert_true(sqrt(gap) <= 4 * (error[i] + other_error[i]) * (0.2 + sqrt(size)) + 1e-6);
            for (int k = 0; k < pm * pm; k++) {
                double one = dg[at[1] * pm * pm + k], two = dg[at[2] * pm * pm + k];
                assert_close(dg[at[0] * pm * pm + k], 0.5 * (one + two), 0.5 * fabs(one - two) + 0.05);
            }
        }
        stair_denoiser_destroy(&denoiser);
        stair_model_destroy(&model);
    }
}

/* An error above what was wanted, by however little, calls for more samples; no more than are needed. */
static void a_near_miss_is_a_miss(void **state)
{
    static const struct {
        double error;
        size_t points;
    } want[] = {{0.99e-3, 1024}, {1.01e-3, 2048}, {1.06e-3, 2048}, {1.3e-3, 2048}, {2e-3, 4096}};
    (void)state;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        stair_average_effort effort = {.points = 1024, .nodes = 1024, .replicates = 16};
        bool sharper = want[k].error > 1e-3 && stair_average_samples.sharpen(&effort, 0, want[k].error, 1e-3);
        assert_int_equal(effort.points, want[k].points);
        assert_int_equal(sharper, want[k].points > 1024);
    }
}

int main(int argc, char **argv)
{
    enum { SLOPES = sizeof slopes / sizeof *slopes, OPERATORS = sizeof operators / sizeof *operators };
    struct CMUnitTest tests[SLOPES + OPERATORS + 5] = {{0}};
    for (int k = 0; k < SLOPES; k++)
        tests[k] = (struct CMUnitTest){
            .name = slopes[k].name, .test_func = slope_of_log_z_is_half_of_f, .initial_state = &slopes[k]};
    for (int k = 0; k < OPERATORS; k++)
        tests[SLOPES + k] = (struct CMUnitTest){
            .name = operators[k].name, .test_func = operators_agree, .initial_state = &operators[k]};
    tests[SLOPES + OPERATORS] = (struct CMUnitTest)cmocka_unit_test(critical_values_are_found);
    tests[SLOPES + OPERATORS + 1] = (struct CMUnitTest)cmocka_unit_test(constant_labels_tell_nothing);
    tests[SLOPES + OPERATORS + 2] = (struct CMUnitTest)cmocka_unit_test(nodes_are_kept_once);
    tests[SLOPES + OPERATORS + 3] = (struct CMUnitTest)cmocka_unit_test(halves_make_the_whole);
    tests[SLOPES + OPERATORS + 4] = (struct CMUnitTest)cmocka_unit_test(a_near_miss_is_a_miss);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_context, close_context);
}
