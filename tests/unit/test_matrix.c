/* Small matrices of either size: those whose scratch is on the stack, and larger ones. */
#include "failing_memory.h"

#include "assert_close.h"
#include "core/matrix.h"
#include "core/spectral.h"
#include "core/rng.h"

#include <string.h>

enum { MOST = 48 };
static const int sizes[] = {1, 2, 7, 32, 33, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* 1 + b b^T / n */
static void positive(int n, double *a)
{
    static double b[MOST * MOST];
    stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)n, n * n, b);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = i == j;
            for (int k = 0; k < n; k++) a[i * n + j] += b[i * n + k] * b[j * n + k] / n;
        }
}

static void factors_give_the_matrix_back(void **state)
{
    static double a[MOST * MOST], lower[MOST * MOST], again[MOST * MOST], inverse[MOST * MOST];
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        int n = sizes[s];
        double half_logdet, sum = 0;
        positive(n, a);
        assert_true(stair_matrix_whiten(n, a, lower, inverse, &half_logdet));
        assert_true(stair_matrix_cholesky(n, a, again));
        assert_memory_equal(lower, again, sizeof(double) * (size_t)(n * n));
        for (int i = 0; i < n; i++) {
            sum += log(lower[i * n + i]);
            for (int j = 0; j < n; j++) {
                double product = 0, one = 0;
                for (int k = 0; k < n; k++) {
                    product += lower[i * n + k] * lower[j * n + k];
                    one += lower[i * n + k] * inverse[k * n + j];
                }
                assert_close(product, a[i * n + j], 1e-14 * n);
                assert_close(one, i == j, 1e-14 * n);
            }
        }
        assert_close(half_logdet, sum, 1e-13 * n);
        a[n * n - 1] = -1;
        assert_false(stair_matrix_cholesky(n, a, again));
        assert_false(stair_matrix_whiten(n, a, lower, inverse, &half_logdet));
    }
}

static void eigenvectors_give_the_matrix_back(void **state)
{
    static double a[MOST * MOST], values[MOST], vectors[MOST * MOST];
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        int n = sizes[s];
        positive(n, a);
        assert_true(stair_matrix_eigen(n, a, values, vectors));
        for (int i = 0; i < n; i++) {
            assert_true(i == 0 || values[i] >= values[i - 1]);
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++) sum += vectors[i * n + k] * values[k] * vectors[j * n + k];
                assert_close(sum, a[i * n + j], 1e-13 * n);
            }
        }
    }
}

/* The root squares to the matrix, and its inverse undoes it but for what is not above `known`. */
static void roots_and_their_inverses(void **state)
{
    enum { N = 3 };
    double a[N * N], c[N * N], root[N * N], inverse[N * N], values[N], vectors[N * N];
    (void)state;
    positive(N, a);
    stair_matrix_eigen(N, a, values, vectors);
    for (int cut = 0; cut < 2; cut++) { /* without and with the smallest eigenvalue left out */
        stair_spectral_roots(N, a, 0, cut ? 0.5 * (values[0] + values[1]) : 0, root, inverse);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double square = 0, one = 0, lost = cut ? vectors[i * N] * vectors[j * N] : 0;
                for (int k = 0; k < N; k++) {
                    square += root[i * N + k] * root[k * N + j];
                    one += root[i * N + k] * inverse[k * N + j];
                }
                assert_close(square, a[i * N + j], 1e-13);
                assert_close(one, (i == j) - lost, 1e-13);
            }
    }
    for (int i = 0; i < N * N; i++) c[i] = i % (N + 1) == 0 ? -1e-20 : 0; /* below zero by rounding */
    stair_spectral_roots(N, c, 1e-4, -1, root, inverse);
    for (int i = 0; i < N; i++) {
        assert_close(root[i * (N + 1)], 1e-2, 1e-17);
        assert_close(inverse[i * (N + 1)], 1e2, 1e-13);
    }
}

static void without_memory_large_ones_say_so(void **state)
{
    static double a[MOST * MOST], values[MOST], vectors[MOST * MOST], other[MOST * MOST];
    double half_logdet;
    (void)state;
    if (!REPLACED) skip();
    for (int s = 0; s < SIZES; s++) {
        int n = sizes[s];
        bool small = n <= 32, done[3];
        positive(n, a);
        countdown = 0;
        done[0] = stair_matrix_eigen(n, a, values, vectors);
        countdown = 0;
        done[1] = stair_matrix_cholesky(n, a, vectors);
        countdown = 0;
        done[2] = stair_matrix_whiten(n, a, vectors, other, &half_logdet);
        countdown = -1;
        for (int k = 0; k < 3; k++) assert_int_equal(done[k], small);
        assert_int_equal(isnan(values[0]), !small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_give_the_matrix_back),
        cmocka_unit_test(eigenvectors_give_the_matrix_back),
        cmocka_unit_test(roots_and_their_inverses),
        cmocka_unit_test(without_memory_large_ones_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
