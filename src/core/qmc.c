/* Rank-1 lattice: point i of n is frac(i z_k / n + shift_k).  The generating vector is the one of
 * Cools, Kuo and Nuyens (SIAM J. Sci. Comput. 28, 2006) for n a power of two up to 2^20; beyond its
 * dimensions odd multiples of it go on, which is still a lattice, only less carefully chosen. */
#include "core/qmc.h"

#include <math.h>
#include <stdlib.h>

#include "core/rng.h"
#include "core/thread.h"

enum { COMPONENTS = 32 }; /* of the generating vector */
static const uint64_t vector[COMPONENTS] = {
    1,      182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519,
    391023, 246327, 126539, 399185, 461527, 300343, 69681,  516695, 436179, 106383, 238523,
    413283, 70841,  47719,  300129, 113029, 123925, 410745, 211325, 17489,  511893,
};

void stair_qmc_point(int dim, uint64_t n, uint64_t i, const double *shift, double *out)
{
    for (int k = 0; k < dim; k++) {
        uint64_t z = vector[k % COMPONENTS] * (uint64_t)(2 * (k / COMPONENTS) + 1);
        double x = (double)((i * z) % n) / (double)n + (shift ? shift[k] : 0.5 / (double)n);
        x -= floor(x);
        x = 1 - fabs(2 * x - 1);
        out[k] = x <= 0 ? 0.25 / (double)n : x >= 1 ? 1 - 0.25 / (double)n : x;
    }
}

/* Multiples of the vector are odd, so that points i and i + n move by 1/2 in all coordinates, and the tent
 * map turns that into 1 - u. */
void stair_qmc_even_point(int dim, uint64_t n, uint64_t i, const double *shift, double *out)
{
    stair_qmc_point(dim, 2 * n, i, shift, out);
}

/* Rational starting value, then a step of Halley's on erfc, which leaves the cube of its error. */
double stair_qmc_normal(double p)
{
    double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * log(tail));
    double x =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    double step = (0.5 * erfc(x * M_SQRT1_2) - tail) * sqrt(2 * M_PI) * exp(0.5 * x * x);
    x += step / (1 - 0.5 * x * step);
    return p < 0.5 ? -x : x;
}

void stair_qmc_gaussian(int dim, uint64_t n, uint64_t i, const double *shift, double *out)
{
    stair_qmc_point(dim, n, i, shift, out);
    for (int k = 0; k < dim; k++) out[k] = stair_qmc_normal(out[k]);
}

/* The bits of i < STAIR_QMC_TABLE in the opposite order. */
static uint64_t reversed(uint64_t i)
{
    uint64_t out = 0;
    for (uint64_t bit = 1; bit < STAIR_QMC_TABLE; bit <<= 1, i >>= 1) out = out << 1 | (i & 1);
    return out;
}

static double *build_normals(int dim)
{
    double *table = malloc(sizeof(double) * STAIR_QMC_SHIFTS * (size_t)dim * STAIR_QMC_TABLE);
    double shift[STAIR_QMC_DIM], point[STAIR_QMC_DIM];
    for (int r = 0; table && r < STAIR_QMC_SHIFTS; r++) {
        stair_rng_uniforms(0, STAIR_RNG_SHIFT, (uint64_t)r, dim, shift);
        for (uint64_t i = 0; i < STAIR_QMC_TABLE; i++) {
            stair_qmc_gaussian(dim, STAIR_QMC_TABLE, reversed(i), shift, point);
            for (int k = 0; k < dim; k++)
                table[((size_t)r * (size_t)dim + (size_t)k) * STAIR_QMC_TABLE + i] = point[k];
        }
    }
    return table;
}

const double *stair_qmc_normals(int dim)
{
    static double *tables[STAIR_QMC_DIM + 1];
    static stair_lock lock = STAIR_LOCK_FREE;
    stair_lock_take(&lock);
    if (!tables[dim]) tables[dim] = build_normals(dim);
    const double *table = tables[dim];
    stair_lock_release(&lock);
    return table;
}
