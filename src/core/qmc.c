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

/* c[0] + c[1] x + ... + c[7] x^7 */
static double polynomial(const double *c, double x)
{
    double sum = c[7];
    for (int k = 6; k >= 0; k--) sum = sum * x + c[k];
    return sum;
}

/* The inverse of the normal distribution function by rational approximations, to the last digits of a double:
 * Wichura, algorithm AS 241, Applied Statistics 37 (1988) 477.  q: the probability less 1/2; rest: that of
 * the nearer tail. */
static double quantile(double q, double rest)
{
    static const double middle[2][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
    static const double tail[2][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9}};
    static const double far[2][8] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15}};
    if (fabs(q) <= 0.425) {
        double r = 0.425 * 0.425 - q * q;
        return q * polynomial(middle[0], r) / polynomial(middle[1], r);
    }
    double r = sqrt(-log(rest));
    bool near = r <= 5;
    const double(*c)[8] = near ? tail : far;
    r -= near ? 1.6 : 5;
    double x = polynomial(c[0], r) / polynomial(c[1], r);
    return q < 0 ? -x : x;
}

double stair_qmc_normal(double p)
{
    return quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

double stair_inverse_erf(double u)
{
    return M_SQRT1_2 * quantile(0.5 * u, 0.5 * (1 - fabs(u)));
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
