/* Z_out is a density: integrated over labels it is one, g averages to zero and so does dg + g g^T.
 *
 * For two tokens and rank one, log Z_out is the log density of h in R^2 (docs/channel.md), averaged over
 * its sign; so Z_out(y(h)) is smooth in h and a trapezoidal rule on a square lattice converges
 * exponentially.  A factor |det H| that is missing or misplaced changes these integrals. */
#include "channel_case.h"

/* Half of a lattice that holds all of the mass: h and -h have one label.  It is shifted off the line of
 * ties h_1 = h_2, where a label does not tell h.  h may be NULL; returns the number of points. */
static size_t lattice(double reach, double step, double *h)
{
    int side = (int)ceil(reach / step);
    size_t n = 0;
    for (int i = 0; i <= side; i++)
        for (int j = -side - 1; j <= side; j++) {
            double x = (i + 0.5) * step, y = (j + 0.25) * step;
            if (x * x + y * y > reach * reach) continue;
            if (h) h[2 * n] = x, h[2 * n + 1] = y;
            n++;
        }
    return n;
}

static void normalised(const char *spec, const double *omega, const double *cov, double reach, double step,
                       double precision, double mass_tolerance, double tolerance)
{
    size_t n = lattice(reach, step, NULL);
    double *h = channel_case_room(2 * n), mass = 0, mean[16] = {0}, second[256] = {0};
    channel_case c = channel_case_open(spec, n);
    lattice(reach, step, h);
    for (size_t i = 0; i < n; i++) {
        channel_case_label(2, h + 2 * i, c.label + 4 * i);
        memcpy(c.omega + i * c.size, omega, c.size * sizeof(double));
        memcpy(c.cov + i * c.square, cov, c.square * sizeof(double));
    }
    channel_case_evaluate(&c, precision, "auto");
    for (size_t i = 0; i < n; i++) {
        double w = 2 * exp(c.logz[i]) * step * step;
        mass += w;
        for (size_t a = 0; a < c.size; a++) {
            mean[a] += w * c.g[i * c.size + a];
            for (size_t b = 0; b < c.size; b++)
                second[a * c.size + b] +=
                    w * (c.dg[(i * c.size + a) * c.size + b] + c.g[i * c.size + a] * c.g[i * c.size + b]);
        }
    }
    assert_close(mass, 1, mass_tolerance);
    for (size_t a = 0; a < c.size; a++) assert_close(mean[a], 0, tolerance);
    for (size_t a = 0; a < c.size * c.size; a++) assert_close(second[a], 0, tolerance);
    free(h);
    channel_case_close(&c);
}

static void one_layer(void **state)
{
    (void)state;
    double omega[] = {0.7, -0.4}, far[] = {2.5, 1.0}, wide = 0.8, narrow = 0.1;
    normalised("attention:layers=1", omega, &wide, 8, 0.25, 1e-8, 1e-9, 1e-8);
    normalised("attention:layers=1", far, &narrow, 5, 0.1, 1e-8, 1e-9, 1e-8);
}

static void two_layers(void **state)
{
    (void)state;
    double omega[] = {0.6, -0.9, 0.3, 0.8}, cov[] = {0.7, 0.2, 0.2, 0.5};
    normalised("attention:layers=2", omega, cov, 14, 0.5, 1e-10, 1e-9, 1e-8);
}

static void two_layers_literal(void **state)
{
    (void)state;
    double omega[] = {0.6, -0.9, 0.3, 0.8}, cov[] = {0.7, 0.2, 0.2, 0.5};
    normalised("attention:layers=2,mixing=literal", omega, cov, 14, 0.5, 1e-10, 1e-9, 1e-8);
}

static void two_layers_negative_skip(void **state)
{
    (void)state;
    double omega[] = {0.2, -0.5, 0.9, 0.1}, cov[] = {0.5, -0.1, -0.1, 0.6};
    normalised("attention:layers=2,skip=-2.5", omega, cov, 16, 0.5, 1e-10, 1e-9, 1e-8);
}

/* An argument picks one of the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_layer),
        cmocka_unit_test(two_layers),
        cmocka_unit_test(two_layers_literal),
        cmocka_unit_test(two_layers_negative_skip),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
