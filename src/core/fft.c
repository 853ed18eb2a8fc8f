/* Radix two, decimation in time (Cooley and Tukey, Mathematics of Computation 19, 1965).  All columns go
 * through a stage together, so that memory is read along rows; for the other axis the array is transposed. */
#include "core/fft.h"

#include <math.h>

/* Rows a, b <- a + turn b, a - turn b.  Written out: a product of C's complex numbers looks for infinities.
 */
static void butterfly(int columns, double c, double s, double *a, double *b)
{
    for (int j = 0; j < 2 * columns; j += 2) {
        double re = c * b[j] - s * b[j + 1], im = c * b[j + 1] + s * b[j];
        b[j] = a[j] - re;
        b[j + 1] = a[j + 1] - im;
        a[j] += re;
        a[j + 1] += im;
    }
}

static void swap_rows(int columns, double complex *a, double complex *b)
{
    for (int j = 0; j < columns; j++) {
        double complex keep = a[j];
        a[j] = b[j];
        b[j] = keep;
    }
}

/* Every column of x (n, columns). */
static void transform_columns(int n, int columns, double sign, double complex *x)
{
    for (int i = 1, j = 0; i < n; i++) { /* bits of the index reversed */
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) swap_rows(columns, x + (long)i * columns, x + (long)j * columns);
    }
    for (int half = 1; half < n; half *= 2)
        for (int k = 0; k < half; k++) {
            double angle = sign * M_PI * k / half, c = cos(angle), s = sin(angle);
            for (int i = k; i < n; i += 2 * half)
                butterfly(columns, c, s, (double *)(x + (long)i * columns),
                          (double *)(x + (long)(i + half) * columns));
        }
}

static void transpose(int rows, int columns, const double complex *x, double complex *y)
{
    enum { TILE = 16 };
    for (int i0 = 0; i0 < rows; i0 += TILE)
        for (int j0 = 0; j0 < columns; j0 += TILE)
            for (int i = i0; i < i0 + TILE && i < rows; i++)
                for (int j = j0; j < j0 + TILE && j < columns; j++)
                    y[(long)j * rows + i] = x[(long)i * columns + j];
}

void stair_fft_plane(int rows, int columns, bool inverse, double complex *x, double complex *room)
{
    double sign = inverse ? 1 : -1;
    transform_columns(rows, columns, sign, x);
    transpose(rows, columns, x, room);
    transform_columns(columns, rows, sign, room);
    transpose(columns, rows, room, x);
}
