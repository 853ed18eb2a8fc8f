/* Transforms of planes against the sums they stand for, forth and back. */
#include "assert_close.h"
#include "core/fft.h"

#include <math.h>
#include <stdlib.h>

static double number(int i)
{
    return sin(1.7 * i * i + 0.3 * i); /* no symmetry that could hide a mistake */
}

static double complex plain(int rows, int columns, double sign, const double complex *x, int k, int l)
{
    double complex sum = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double angle = sign * 2 * M_PI * ((double)i * k / rows + (double)j * l / columns);
            sum += x[i * columns + j] * stair_complex(cos(angle), sin(angle));
        }
    return sum;
}

static void planes(void **state)
{
    (void)state;
    static const int sides[][2] = {{1, 1}, {1, 8}, {8, 1}, {2, 2}, {4, 16}, {32, 8}, {16, 32}};
    enum { MOST = 16 * 32 };
    double complex x[MOST], y[MOST], room[MOST];
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int inverse = 0; inverse < 2; inverse++) {
            int rows = sides[s][0], columns = sides[s][1];
            for (int i = 0; i < rows * columns; i++) x[i] = y[i] = stair_complex(number(i), number(i + 999));
            stair_fft_plane(rows, columns, inverse, y, room);
            for (int k = 0; k < rows; k++)
                for (int l = 0; l < columns; l++) {
                    double complex sum = plain(rows, columns, inverse ? 1 : -1, x, k, l);
                    assert_close(creal(y[k * columns + l]), creal(sum), 1e-11);
                    assert_close(cimag(y[k * columns + l]), cimag(sum), 1e-11);
                }
            stair_fft_plane(rows, columns, !inverse, y, room);
            for (int i = 0; i < rows * columns; i++)
                assert_close(cabs(y[i] / (rows * columns) - x[i]), 0, 1e-13);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
