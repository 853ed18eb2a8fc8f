/* Discrete Fourier transforms of arrays whose sides are powers of two. */
#ifndef STAIR_CORE_FFT_H
#define STAIR_CORE_FFT_H

#include <complex.h>
#include <stdbool.h>

/* re + i im; not every compiler has CMPLX. */
static inline double complex stair_complex(double re, double im)
{
    union {
        double part[2];
        double complex whole;
    } number = {.part = {re, im}};
    return number.whole;
}

/* x (rows, columns), in place: X_kl = sum_ij x_ij exp(-+ 2 pi i (ik/rows + jl/columns)), minus unless
 * `inverse`; nothing is divided by.  room (rows, columns). */
void stair_fft_plane(int rows, int columns, bool inverse, double complex *x, double complex *room);

#endif
