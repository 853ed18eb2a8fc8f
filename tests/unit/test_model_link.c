/* Models of the caller's through the public header: y = g(Z) + noise, held against square:noise=..., which is
 * the same link written in the library; test_asymptotics_link.c does that for
 * thresholds. */
#include "channel_case.h"

#define NOISE 0.5
#define SPEC  "square:tokens=2,noise=0.5"

static void squares(void *user, const double *z, double *y)
{
    int tokens = *(const int *)user;
    for (int m = 0; m < tokens; m++) y[m] = z[m] * z[m];
}

static void squares_gradient(void *user, const double *z, const double *cotangent, double *gradient)
{
    int tokens = *(const int *)user;
    for (int m = 0; m < tokens; m++) gradient[m] = 2 * z[m] * cotangent[m];
}

static int tokens_of[3] = {0, 1, 2}; /* what `user` points to */

static stair_link square_link(int tokens)
{
    return (stair_link){.name = "my-squares",
                        .tokens = tokens,
                        .indices = 1,
                        .outputs = tokens,
                        .noise = NOISE,
                        .function = squares,
                        .user = &tokens_of[tokens]};
}

static channel_case open_link(const stair_link *link, size_t n)
{
    stair_context *context;
    stair_model *model;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    stair_context_set_threads(context, 1);
    if (stair_model_from_link(context, link, &model) != STAIR_OK)
        fail_msg("%s", stair_context_message(context));
    return channel_case_of(context, model, n);
}

static void describes_itself(void **state)
{
    stair_link link = square_link(2);
    char name[] = "my-squares";
    link.name = name;
    link.prenoise = 0.25;
    (void)state;
    channel_case c = open_link(&link, 1);
    memset(name, 'x', sizeof name - 1); /* a copy is kept */
    assert_string_equal(c.info.name, "my-squares");
    assert_string_equal(stair_model_spec(c.model),
                        "link:my-squares,tokens=2,indices=1,outputs=2,noise=0.5,prenoise=0.25");
    assert_int_equal(c.info.tokens, 2);
    assert_int_equal(c.info.indices, 1);
    assert_int_equal(c.info.label_size, 2);
    assert_true(c.info.output_noisy && c.info.noise == NOISE && c.info.prenoise == 0.25);
    channel_case_close(&c);
}

static void channel_is_that_of_the_same_link(void **state)
{
    stair_link link = square_link(2);
    channel_case own = open_link(&link, 40), built_in = channel_case_open(SPEC, 40);
    (void)state;
    channel_case_draw(&own, 0.1, 7);
    channel_case_draw(&built_in, 0.1, 7);
    channel_case_evaluate(&own, 1e-4, "auto");
    channel_case_evaluate(&built_in, 1e-4, "auto");
    for (size_t i = 0; i < own.n; i++) {
        double allowed = 4 * (own.error[i] + built_in.error[i]) + 1e-12;
        for (size_t k = 0; k < own.labels; k++)
            assert_close(own.label[i * own.labels + k], built_in.label[i * own.labels + k], 0);
        assert_close(own.logz[i], built_in.logz[i], allowed);
        assert_true(channel_case_gap(own.size, own.g + i * own.size, built_in.g + i * own.size) < allowed);
        assert_true(channel_case_gap(own.size * own.size, own.dg + i * own.size * own.size,
                                     built_in.dg + i * own.size * own.size) < allowed);
    }
    channel_case_close(&own);
    channel_case_close(&built_in);
}

static size_t blocks_asked, points_asked; /* of square_blocks, in one thread */

static void square_blocks(void *user, size_t n, size_t stride, const double *z, double *y)
{
    int tokens = *(const int *)user;
    blocks_asked++;
    points_asked += n;
    for (int m = 0; m < tokens; m++)
        for (size_t i = 0; i < n; i++)
            y[(size_t)m * stride + i] = z[(size_t)m * stride + i] * z[(size_t)m * stride + i];
}

/* Many points at once are asked for where posteriors are made, and give the same bytes. */
static void blocks_give_the_same_bytes(void **state)
{
    stair_link one = square_link(2), many = one;
    many.block = square_blocks;
    channel_case each = open_link(&one, 20), block = open_link(&many, 20);
    (void)state;
    blocks_asked = points_asked = 0;
    channel_case_draw(&each, 0.1, 7);
    channel_case_draw(&block, 0.1, 7);
    channel_case_evaluate(&each, 1e-4, "auto");
    channel_case_evaluate(&block, 1e-4, "auto");
    assert_memory_equal(each.logz, block.logz, each.n * sizeof(double));
    assert_memory_equal(each.g, block.g, each.n * each.size * sizeof(double));
    assert_memory_equal(each.dg, block.dg, each.n * each.size * each.size * sizeof(double));
    assert_true(blocks_asked > 0 && points_asked > 16 * blocks_asked);
    channel_case_close(&each);
    channel_case_close(&block);
}

static void outputs_are_plain(void **state)
{
    static const struct {
        const char *spec;
        bool same; /* labels are outputs */
    } cases[] = {{"square:tokens=2", true},
                 {"attention:layers=1,tokens=2,noise=0.1", true},
                 {"attention:layers=1,tokens=2", false},
                 {"attention:layers=2,tokens=2,output=sequence", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        channel_case c = channel_case_open(cases[i].spec, 1);
        double z[] = {1, 2, 0.5, -1}, y[4], label[4], again[4];
        assert_int_equal(stair_model_outputs(c.context, c.model, 1, z, y), STAIR_OK);
        assert_int_equal(stair_model_forward(c.context, c.model, 1, z, label), STAIR_OK);
        assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, y, again), STAIR_OK);
        assert_int_equal(stair_model_describe(c.model).label_is_output, cases[i].same);
        for (size_t k = 0; k < c.labels; k++) assert_close(again[k], label[k], 1e-12);
        if (cases[i].same)
            assert_memory_equal(y, label, c.labels * sizeof *y);
        else
            assert_true(fabs(y[0] - label[0]) > 0.1);
        channel_case_close(&c);
    }
}

static void identities_hold(void **state)
{
    stair_link link = square_link(1);
    channel_case c = open_link(&link, 1);
    stair_diagnose_options o = stair_diagnose_defaults();
    stair_identity rows[32];
    int count, held = 0;
    (void)state;
    o.points = 60;
    o.precision = 1e-4;
    o.cov_low = 0.1;
    assert_int_equal(stair_diagnose(c.context, c.model, &o, 32, rows, &count), STAIR_OK);
    for (int i = 0; i < count; i++) {
        if (rows[i].verdict == STAIR_FAILS)
            fail_msg("%s: %.3g, allowed %.3g", rows[i].name, rows[i].violation, rows[i].tolerance);
        held += rows[i].verdict == STAIR_HOLDS;
    }
    assert_true(held >= 7);
    channel_case_close(&c);
}

static void gradient_by_differences_and_by_callback(void **state)
{
    stair_link link = square_link(2);
    double z[] = {1.5, -0.02}, cotangent[] = {0.7, -3}, gradient[2];
    (void)state;
    for (int given = 0; given < 2; given++) {
        link.gradient = given ? squares_gradient : NULL;
        channel_case c = open_link(&link, 1);
        assert_int_equal(stair_model_gradient(c.context, c.model, z, cotangent, gradient), STAIR_OK);
        for (int m = 0; m < 2; m++)
            assert_close(gradient[m], 2 * z[m] * cotangent[m], given ? 0 : 1e-8 * fabs(cotangent[m]));
        channel_case_close(&c);
    }
}

/* Both draw the same data, so that runs are the same up to the errors of the channel, and of rounding. */
static void message_passing_and_descent_serve_it(void **state)
{
    stair_link link = square_link(2);
    link.gradient = squares_gradient;
    channel_case own = open_link(&link, 1), built_in = channel_case_open(SPEC, 1);
    const channel_case *cases[] = {&own, &built_in};
    stair_gamp_result *gamp[2];
    stair_sgd_result *sgd[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        stair_gamp_options g = stair_gamp_defaults();
        stair_sgd_options s = stair_sgd_defaults();
        g.dim = s.dim = 64;
        g.alpha = s.alpha = 4;
        g.max_iterations = 3;
        g.precision = 1e-3;
        g.start_overlap = 0.5;
        g.test = s.test = 64;
        s.rate = 0.05; /* a square runs away from steps of the default */
        s.epochs = 2;
        assert_int_equal(stair_gamp(cases[k]->context, cases[k]->model, &g, &gamp[k]), STAIR_OK);
        assert_int_equal(stair_sgd(cases[k]->context, cases[k]->model, &s, &sgd[k]), STAIR_OK);
    }
    assert_true(channel_case_gap(64, gamp[0]->run[0].weights, gamp[1]->run[0].weights) < 1e-2);
    assert_true(gamp[0]->run[0].cosine[gamp[0]->run[0].count - 1] > 0.5);
    assert_false(sgd[0]->run[0].diverged);
    assert_true(channel_case_gap(64, sgd[0]->run[0].weights, sgd[1]->run[0].weights) < 1e-6);
    for (int k = 0; k < 2; k++) {
        stair_gamp_result_destroy(&gamp[k]);
        stair_sgd_result_destroy(&sgd[k]);
    }
    channel_case_close(&own);
    channel_case_close(&built_in);
}

static void inverse(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = sqrt(z[0]); /* NaN for half of all z */
}

static void kinks(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = fabs(z[0]) + fabs(z[1]);
}

static void jumps(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = (z[0] * z[1] > 0) - (z[0] * z[1] < 0) + 0.3 * z[0];
}

static void steps(void *user, const double *z, double *y)
{
    double s = z[0] + z[1];
    (void)user;
    y[0] = (s > -1) + (s > 0) + (s > 1);
}

static void sign(void *user, const double *z, double *y)
{
    (void)user;
    y[0] = (z[0] > 0) - (z[0] < 0);
}

/* Where a link has kinks or jumps, Kronrod and Gauss sums agree by chance: of these posteriors 1, 34, 6 and
 * 13 were more than three errors off. */
static void errors_are_honest_where_links_break(void **state)
{
    enum { SEEN = 60 };
    static const struct {
        void (*function)(void *, const double *, double *);
        int indices;
        double noise;
        const char *formula;
    } known[] = {{kinks, 2, 0.3, "expr:abs(z1)+abs(z2),noise=0.3"},
                 {jumps, 2, 0.1, "expr:sign(z1*z2)+0.3*z1,noise=0.1"},
                 {steps, 2, 0.01, "expr:(z1+z2>-1)+(z1+z2>0)+(z1+z2>1),noise=0.01"},
                 {sign, 1, 0.3, "expr:sign(z1),noise=0.3"}};
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        stair_link link = {.name = "broken",
                           .tokens = 1,
                           .indices = known[k].indices,
                           .outputs = 1,
                           .noise = known[k].noise,
                           .function = known[k].function};
        channel_case own = open_link(&link, SEEN), truth = channel_case_open(known[k].formula, SEEN);
        size_t size = own.size, square = size * size, met = 0;
        channel_case_draw(&own, 0.1, 1);
        channel_case_draw(&truth, 0.1, 1);
        channel_case_evaluate(&own, 1e-4, "auto");
        channel_case_evaluate(&truth, 1e-7, "lines");
        for (size_t i = 0; i < SEEN; i++) {
            double allowed = 3 * (own.error[i] + truth.error[i]);
            if (!isfinite(allowed)) continue;
            met += own.error[i] <= 1e-4;
            assert_close(own.logz[i], truth.logz[i], allowed);
            assert_close(channel_case_gap(size, own.g + i * size, truth.g + i * size), 0, allowed);
            assert_close(channel_case_gap(square, own.dg + i * square, truth.dg + i * square), 0, allowed);
        }
        assert_true(met >= 55);
        channel_case_close(&own);
        channel_case_close(&truth);
    }
}

static void disc(void *user, const double *z, double *y)
{
    const double *square = user; /* of the radius */
    y[0] = z[0] * z[0] + z[1] * z[1] > *square;
}

/* P(|Z| < R) = 1 - exp(-R^2/2) and E[|Z|^2; |Z| < R] = 2 - (2 + R^2) exp(-R^2/2) for a standard normal Z in
 * the plane: lines next to where the circle turns have two jumps close to each other.  One of these was
 * off. */
static void errors_are_honest_where_curves_of_jumps_turn(void **state)
{
    static double squares_of_radii[] = {0.04, 0.3, 0.7, 1, 2.5};
    const double noise = 0.1;
    (void)state;
    for (size_t k = 0; k < sizeof squares_of_radii / sizeof *squares_of_radii; k++)
        for (double precision = 1e-2; precision > 5e-5; precision *= 0.1) {
            double square = squares_of_radii[k], out = exp(-0.5 * square);
            stair_link link = {.name = "disc",
                               .tokens = 1,
                               .indices = 2,
                               .outputs = 1,
                               .noise = noise,
                               .function = disc,
                               .user = &squares_of_radii[k]};
            channel_case c = open_link(&link, 1);
            c.label[0] = 0.4;
            c.cov[0] = c.cov[3] = 1;
            channel_case_evaluate(&c, precision, "auto");
            double inside = exp(-0.5 * 0.16 / noise), outside = exp(-0.5 * 0.36 / noise),
                   mass = (1 - out) * inside + out * outside,
                   spread = (2 - (2 + square) * out) * inside + (2 + square) * out * outside;
            assert_true(c.error[0] < 2 * precision);
            assert_close(c.logz[0], log(mass / sqrt(2 * M_PI * noise)), 3 * c.error[0]);
            assert_close(c.dg[0] / (0.5 * spread / mass - 1), 1, 3 * c.error[0]);
            channel_case_close(&c);
        }
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *name;
        int tokens, indices, outputs;
        double noise, prenoise;
        void (*function)(void *, const double *, double *);
        const char *why;
    } bad[] = {
        {NULL, 1, 1, 1, 1, 0, squares, "needs a name"},
        {"a,b", 1, 1, 1, 1, 0, squares, "needs a name"},
        {"a", 1, 1, 1, 1, 0, NULL, "no function"},
        {"a", 1, 1, 1, 0, 0, squares, "noise must be above 0"},
        {"a", 1, 1, 1, NAN, 0, squares, "noise must be above 0"},
        {"a", 0, 1, 1, 1, 0, squares, "tokens=0"},
        {"a", 1, 25, 1, 1, 0, squares, "indices=25"},
        {"a", 1, 1, 257, 1, 0, squares, "outputs=257"},
        {"a", 1, 1, 1, 1, -1, squares, "prenoise=-1"},
        {"a", 1, 1, 1, INFINITY, 0, squares, "noise=inf"},
        {"a", 1, 1, 1, 1, 0, inverse, "at a standard normal Z"},
    };
    stair_context *context;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        stair_link link = {.name = bad[k].name,
                           .tokens = bad[k].tokens,
                           .indices = bad[k].indices,
                           .outputs = bad[k].outputs,
                           .noise = bad[k].noise,
                           .prenoise = bad[k].prenoise,
                           .function = bad[k].function,
                           .user = &tokens_of[1]};
        stair_model *model = (stair_model *)&link;
        assert_int_equal(stair_model_from_link(context, &link, &model), STAIR_BAD_INPUT);
        assert_null(model);
        if (!strstr(stair_context_message(context), bad[k].why))
            fail_msg("expected '%s' in '%s'", bad[k].why, stair_context_message(context));
    }
    stair_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_itself),
        cmocka_unit_test(channel_is_that_of_the_same_link),
        cmocka_unit_test(blocks_give_the_same_bytes),
        cmocka_unit_test(outputs_are_plain),
        cmocka_unit_test(identities_hold),
        cmocka_unit_test(gradient_by_differences_and_by_callback),
        cmocka_unit_test(message_passing_and_descent_serve_it),
        cmocka_unit_test(errors_are_honest_where_links_break),
        cmocka_unit_test(errors_are_honest_where_curves_of_jumps_turn),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
