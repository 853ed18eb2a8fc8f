/* Phase retrieval, y = z^2: its channel is known in closed form, for any number of tokens a product of
 *
 *   Z_out = (N(r; w, v) + N(-r; w, v)) / (2 r),   E[Z|y] = r tanh(r w / v),   r = sqrt y. */
#include "channel_case.h"

static double gauss(double x, double v)
{
    return exp(-x * x / (2 * v)) / sqrt(2 * M_PI * v);
}

static void channel_is_the_closed_form(void **state)
{
    channel_case c = channel_case_open(*state, 40);
    size_t m = c.size;
    channel_case_draw(&c, 0.05, 3);
    channel_case_evaluate(&c, 1e-8, "auto");
    for (size_t i = 0; i < c.n; i++) {
        double logz = 0, v = c.cov[i];
        for (size_t t = 0; t < m; t++) {
            double r = sqrt(c.label[i * m + t]), w = c.omega[i * m + t], mean = r * tanh(r * w / v);
            logz += log((gauss(r - w, v) + gauss(-r - w, v)) / (2 * r));
            assert_close(c.g[i * m + t], (mean - w) / v, 1e-11 / v);
            for (size_t s = 0; s < m; s++) {
                double curvature = s == t ? (r * r - mean * mean) / (v * v) - 1 / v : 0;
                assert_close(c.dg[(i * m + t) * m + s], curvature, 1e-11 / (v * v));
            }
        }
        assert_close(c.logz[i], logz, 1e-11);
    }
    channel_case_close(&c);
}

/* The integral over y is one over r of 2 r Z_out(r^2), which is even and smooth: half of a trapezoidal rule.
 */
static void density_of_y_integrates_to_one(void **state)
{
    const double step = 0.05;
    channel_case c = channel_case_open("square", 200);
    double mass = 0;
    (void)state;
    for (size_t i = 0; i < c.n; i++) {
        double r = ((double)i + 0.5) * step;
        c.label[i] = r * r;
        c.omega[i] = 0.7;
        c.cov[i] = 0.3;
    }
    channel_case_evaluate(&c, 1e-8, "auto");
    for (size_t i = 0; i < c.n; i++) mass += step * 2 * sqrt(c.label[i]) * exp(c.logz[i]);
    assert_close(mass, 1, 1e-12);
    channel_case_close(&c);
}

static void labels_that_are_no_squares_are_refused(void **state)
{
    static const struct {
        double y;
        const char *why;
    } bad[] = {{-1, "negative"}, {0, "infinite"}, {INFINITY, "not finite"}, {NAN, "not finite"}};
    channel_case c = channel_case_open("square:tokens=2", 1);
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double y[] = {1, bad[k].y}, label[2];
        assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, y, label), STAIR_BAD_INPUT);
        assert_non_null(strstr(stair_context_message(c.context), bad[k].why));
    }
    c.label[0] = 1;
    c.label[1] = -1;
    c.cov[0] = 0.5;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 1), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(c.context), "negative"));
    channel_case_close(&c);
}

/* exp of minus this is the posterior of z, up to a factor. */
static double energy(double z, double y, double noise, double w, double v)
{
    return (z - w) * (z - w) / (2 * v) + (y - z * z) * (y - z * z) / (2 * noise);
}

/* With noise on y the posterior has a long shoulder on the side of the wrong sign; g against a plain sum. */
static void noise_leaves_a_shoulder(void **state)
{
    const double noise = 1, step = 1e-3;
    channel_case c = channel_case_open("square:noise=1", 60);
    (void)state;
    channel_case_draw(&c, 0.1, 1);
    channel_case_evaluate(&c, 1e-4, "lattice");
    int told = 0;
    for (size_t i = 0; i < c.n; i++) {
        double mass = 0, mean = 0, w = c.omega[i], v = c.cov[i];
        for (double z = -8; z < 8; z += step) {
            double p = exp(-energy(z, c.label[i], noise, w, v));
            mass += p;
            mean += p * z;
        }
        double g = (mean / mass - w) / v;
        if (isinf(c.error[i])) continue; /* the lattice alone may give up */
        told++;
        assert_close(c.g[i], g, 3 * c.error[i] * fabs(g) + 1e-9 / v);
    }
    assert_true(told > 40);
    channel_case_close(&c);
}

/* At omega = 0, V = 1 each token has dg = y - 1, of variance 2: weak recovery at 1/(2 M).  For one token, as
 * Mondelli and Montanari (2019). */
static void weak_recovery_is_at_one_over_twice_the_tokens(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    stair_step list[4];
    int count;
    (void)state;
    for (int m = 1; m <= 3; m++) {
        char spec[40];
        snprintf(spec, sizeof spec, "square:tokens=%d", m);
        channel_case c = channel_case_open(spec, 1);
        assert_int_equal(stair_threshold(c.context, c.model, &o, 1, 4, list, &count), STAIR_OK);
        assert_close(list[0].alpha, 1.0 / (2 * m), 1e-9 + 4 * list[0].error);
        assert_true(list[0].error < 1e-3);
        channel_case_close(&c);
    }
}

/* Just below the alpha of about 1.128 at which message passing succeeds (Barbier et al., PNAS 116, 5451,
 * 2019) its overlap is still that of the lower branch, Q = 0.691; from full knowledge recovery is perfect. */
static void overlap_below_the_jump(void **state)
{
    stair_asymptotics_options o = stair_asymptotics_defaults();
    channel_case c = channel_case_open("square", 1);
    double q, error;
    stair_evolution e = {.q = &q, .q_error = &error};
    (void)state;
    assert_int_equal(stair_evolve(c.context, c.model, &o, 1.1, false, NULL, &e), STAIR_OK);
    assert_close(q, 0.691, 0.001);
    assert_int_equal(stair_evolve(c.context, c.model, &o, 1.1, true, NULL, &e), STAIR_OK);
    assert_int_equal(e.stop, STAIR_STOP_PERFECT);
    channel_case_close(&c);
}

#define CLOSED(spec)                                                                                         \
    {                                                                                                        \
        spec, channel_is_the_closed_form, NULL, NULL, spec                                                   \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLOSED("square"),
        CLOSED("square:tokens=2"),
        CLOSED("square:tokens=5"),
        cmocka_unit_test(density_of_y_integrates_to_one),
        cmocka_unit_test(labels_that_are_no_squares_are_refused),
        cmocka_unit_test(noise_leaves_a_shoulder),
        cmocka_unit_test(weak_recovery_is_at_one_over_twice_the_tokens),
        cmocka_unit_test(overlap_below_the_jump),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
