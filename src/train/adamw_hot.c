/* The loops of AdamW over weights: a step, idle steps one by one, and idle steps by expansion. */
#include <math.h>
#include <stddef.h>

#include "core/isa.h"
#include "train/adamw.h"

STAIR_HOT_DECLARE(void, stair_adamw_move,
                  (size_t n, const double *k, double *w, double *m, double *v, const double *g));
STAIR_HOT_DECLARE(void, stair_adamw_drift,
                  (size_t n, int terms, const double *c, const double *r, const double *k, double *w,
                   double *m, double *v));
STAIR_HOT_DECLARE(void, stair_adamw_expand,
                  (size_t n, const double *mu, const double *k, double *w, double *m, double *v));

/* k: decay, beta1, beta2, step size, root of the second correction, epsilon */
void STAIR_HOT(stair_adamw_move)(size_t n, const double *k, double *restrict w, double *restrict m,
                                 double *restrict v, const double *restrict g)
{
    double keep = k[0], b1 = k[1], b2 = k[2], size = k[3], root = k[4], epsilon = k[5];
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        w[i] = keep * w[i] - size * m[i] / (sqrt(v[i]) * root + epsilon);
    }
}

/* k: decay, beta1 and beta2 to the number of steps, epsilon */
void STAIR_HOT(stair_adamw_drift)(size_t n, int terms, const double *c, const double *r, const double *k,
                                  double *restrict w, double *restrict m, double *restrict v)
{
    for (size_t i = 0; i < n; i++) w[i] *= k[0];
    for (int j = 0; j < terms; j++)
        for (size_t i = 0; i < n; i++) w[i] -= c[j] * m[i] / (r[j] * sqrt(v[i]) + k[3]);
    for (size_t i = 0; i < n; i++) {
        m[i] *= k[1];
        v[i] *= k[2];
    }
}

void STAIR_HOT(stair_adamw_expand)(size_t n, const double *mu, const double *k, double *restrict w,
                                   double *restrict m, double *restrict v)
{
    double mean = mu[STAIR_ADAMW_ORDER + 1];
    for (size_t i = 0; i < n; i++) {
        double s = sqrt(v[i]), inverse = 1 / (mean * s + k[3]), q = s * inverse;
        double sum = mu[0] + q * q * (mu[2] - q * (mu[3] - q * (mu[4] - q * mu[5]))); /* mu[1] is 0 */
        w[i] = k[0] * w[i] - m[i] * inverse * sum;
        m[i] *= k[1];
        v[i] *= k[2];
    }
}
