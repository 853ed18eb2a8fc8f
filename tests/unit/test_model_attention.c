/* Attention itself: its forward map written out for two layers and two tokens, its gradient against central
 * differences, and labels as logits. */
#include "channel_case.h"

#include "core/rng.h"

/* y12, y21 of two layers of rank one, from the definition: h_1 = Z_1, S = rowsoftmax(h h^T),
 * h_2 = (c + S) Z_2 (attention) or (c + S^T) Z_2 (literal). */
static void two_layers(const double *z, double skip, int literal, double *h)
{
    double s[4];
    for (int i = 0; i < 2; i++) {
        double a = exp(z[i] * z[0]), b = exp(z[i] * z[1]);
        s[i * 2] = a / (a + b);
        s[i * 2 + 1] = b / (a + b);
    }
    for (int i = 0; i < 2; i++) {
        h[i] = skip * z[2 + i];
        for (int j = 0; j < 2; j++) h[i] += (literal ? s[j * 2 + i] : s[i * 2 + j]) * z[2 + j];
    }
}

static void forward_is_the_definition(void **state)
{
    static const double skips[] = {1, 0.1, 4, -0.5, -2.5};
    (void)state;
    for (int literal = 0; literal < 2; literal++)
        for (int k = 0; k < 5; k++) {
            char spec[80];
            snprintf(spec, sizeof spec, "attention:layers=2,skip=%g,mixing=%s", skips[k],
                     literal ? "literal" : "attention");
            channel_case c = channel_case_open(spec, 50);
            channel_case_draw(&c, 0.5, 4);
            for (size_t i = 0; i < c.n; i++) {
                double h[2], label[4];
                two_layers(c.z + 4 * i, skips[k], literal, h);
                channel_case_label(2, h, label);
                for (int e = 0; e < 4; e++)
                    assert_close(c.label[4 * i + (size_t)e], label[e], 1e-13 * (1 + fabs(label[e])));
            }
            channel_case_close(&c);
        }
}

static void outputs_become_labels(void **state)
{
    channel_case c = channel_case_open("attention:layers=1", 1);
    double y[] = {0.7, 0.3, 0.4, 0.6}, label[4], zero[] = {1, 0, 0.5, 0.5};
    (void)state;
    assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, y, label), STAIR_OK);
    for (int k = 0; k < 4; k++) assert_close(label[k], log(y[k]), 1e-16);
    assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, zero, label), STAIR_BAD_INPUT);
    y[0] = 0.8;
    assert_int_equal(stair_model_labels_from_outputs(c.context, c.model, 1, y, label), STAIR_BAD_INPUT);
    channel_case_close(&c);
}

/* Three tokens of rank two that lie on a line but for rounding, away from the origin: how far they are from
 * it shows in the norms alone. */
static void tokens_on_a_line_have_a_fibre(void **state)
{
    static const double off[] = {0, 1e-9, 3e-8, 1e-7, 2e-7, 1e-6, 1e-5, 1e-4};
    channel_case c = channel_case_open("attention:layers=1,tokens=3,rank=2", 1);
    (void)state;
    for (int k = 0; k < 8; k++)
        for (double common = 0.01; common < 2; common *= 1.7) {
            double s = off[k], label[9], omega[6] = {0}, cov[] = {1, 0, 0, 1}, g[6];
            const double z[] = {3.6166, 0.1, 0.12, common + s, common - s, common};
            assert_int_equal(stair_model_forward(c.context, c.model, 1, z, label), STAIR_OK);
            stair_channel_options options = stair_channel_defaults();
            stair_channel_result result = {.g = g};
            options.precision = 0.1;
            if (stair_channel_evaluate(c.context, c.model, &options, 0, 1, label, omega, 1, cov, &result))
                fail_msg("off %g, common %g: %s", s, common, stair_context_message(c.context));
        }
    channel_case_close(&c);
}

#define GRADIENT(spec)                                                                                       \
    {                                                                                                        \
        spec, gradient_is_the_derivative, NULL, NULL, spec                                                   \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_definition),
        GRADIENT("attention:layers=1,tokens=3,rank=2"),
        GRADIENT("attention:layers=2"),
        GRADIENT("attention:layers=2,mixing=literal,tokens=3"),
        GRADIENT("attention:layers=2,activation=linear"),
        GRADIENT("attention:layers=3,rank=1+2+1,tokens=3,skip=-0.5"),
        GRADIENT("attention:layers=3,activation=linear,mixing=literal,skip=0.3"),
        cmocka_unit_test(outputs_become_labels),
        cmocka_unit_test(tokens_on_a_line_have_a_fibre),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
