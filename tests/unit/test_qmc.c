/* Lattice points and their map to Gaussians. */
#include "assert_close.h"
#include "core/qmc.h"
#include "core/rng.h"

enum { DIM = 40, N = 64 };

static void points_integrate_what_they_should(void **state)
{
    double shift[DIM], u[DIM], mean[DIM] = {0};
    (void)state;
    stair_rng_uniforms(3, STAIR_RNG_SHIFT, 0, DIM, shift);
    for (uint64_t i = 0; i < N; i++) {
        stair_qmc_point(DIM, N, i, shift, u);
        for (int k = 0; k < DIM; k++) {
            assert_true(u[k] > 0 && u[k] < 1);
            mean[k] += u[k] / N;
        }
    }
    for (int k = 0; k < DIM; k++)
        assert_close(mean[k], 0.5, 1.0 / (N * N)); /* the tent map is linear but for two kinks */
}

/* Together with their mirror images the points for even functions are the lattice of twice as many. */
static void even_points_are_half_of_a_lattice(void **state)
{
    double shift[DIM], u[DIM], whole[DIM];
    (void)state;
    stair_rng_uniforms(4, STAIR_RNG_SHIFT, 0, DIM, shift);
    for (uint64_t i = 0; i < N; i++) {
        stair_qmc_even_point(DIM, N, i, shift, u);
        stair_qmc_point(DIM, 2 * N, i, shift, whole);
        for (int k = 0; k < DIM; k++) assert_close(u[k], whole[k], 1e-15);
        stair_qmc_point(DIM, 2 * N, i + N, shift, whole);
        for (int k = 0; k < DIM; k++) assert_close(u[k], 1 - whole[k], 1e-12);
    }
}

static void normal_inverts_the_distribution_function(void **state)
{
    (void)state;
    for (double x = -8; x <= 0; x += 0.0137)
        assert_close(stair_qmc_normal(0.5 * erfc(-x * M_SQRT1_2)), x, 1e-14 * fmax(1, fabs(x)));
    for (double p = 0.5; p < 0.999; p += 0.0137)
        assert_close(stair_qmc_normal(p), -stair_qmc_normal(1 - p), 1e-13);
}

/* Relative digits next to zero, and as many as 1 - u has in the tails. */
static void inverse_erf_inverts(void **state)
{
    (void)state;
    for (double x = 1e-12; x < 0.5; x *= 1.37) assert_close(stair_inverse_erf(erf(x)), x, 1e-15 * x);
    for (double x = 0.5; x < 5; x += 0.0137) {
        double rounding = 1e-16 * exp(x * x);
        assert_close(stair_inverse_erf(erf(x)), x, 2e-15 + rounding);
        assert_close(stair_inverse_erf(-erf(x)), -x, 2e-15 + rounding);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_integrate_what_they_should),
        cmocka_unit_test(even_points_are_half_of_a_lattice),
        cmocka_unit_test(normal_inverts_the_distribution_function),
        cmocka_unit_test(inverse_erf_inverts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
