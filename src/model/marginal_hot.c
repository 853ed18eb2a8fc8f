/* Sums over groups of eight points of u; marginal.h has the equations.  Points are the lanes of every array.
 *
 * Y = L diag(D) L^T, L unit lower; with f = L^-1 C and z = L^-1 (y - C m),
 *
 *   N(y; C m, Y) ~ exp(-sum_k z_k^2 / (2 D_k)) / sqrt(prod_k D_k),   a = sum_k f_k z_k / D_k,
 *   C^T Y^-1 C = sum_k f_k f_k^T / D_k. */
#include <math.h>

#include "core/isa.h"
#include "core/lanes.h"
#include "model/marginal.h"

void STAIR_HOT(stair_marginal_place)(const stair_marginal_shape *s, const double *xi, double *u,
                                     double *mean);
void STAIR_HOT(stair_marginal_add)(const stair_marginal_shape *s, const double *xi, const double *mean,
                                   const double *c, double *work, double *top, double *sums);

/* u (given, M, 8) = omega_u + lower xi and mean (linear, M, 8) = m(u) */
void STAIR_HOT(stair_marginal_place)(const stair_marginal_shape *s, const double *xi, double *u, double *mean)
{
    int n = s->given, m = s->m;
    for (int at = 0; at < STAIR_GROUP; at += LANES)
        for (int t = 0; t < m; t++) {
            lanes moved[STAIR_MAX_INDICES];
            for (int i = 0; i < n; i++) {
                moved[i] = lanes_set(0);
                for (int k = 0; k <= i; k++)
                    moved[i] += s->lower[i * n + k] * lanes_load(xi + (k * m + t) * STAIR_GROUP + at);
                lanes_store(u + (i * m + t) * STAIR_GROUP + at, s->omega[i * m + t] + moved[i]);
            }
            for (int i = 0; i < s->linear; i++) {
                lanes sum = lanes_set(s->omega[(n + i) * m + t]);
                for (int k = 0; k < n; k++) sum += s->gain[i * n + k] * moved[k];
                lanes_store(mean + (i * m + t) * STAIR_GROUP + at, sum);
            }
        }
}

/* Room for one vector of points. */
typedef struct {
    lanes *c, *cs;     /* (K, b): C, C S; then f in place of C S */
    lanes *y, *l;      /* (K, K): Y, then L D below its diagonal; L */
    lanes *inverse;    /* (K): 1 / D */
    lanes *z, *scaled; /* (K): z, z / D */
    lanes *t;          /* (q): xi, a */
} room;

LANES_INLINE room room_in(const stair_marginal_shape *s, lanes *at)
{
    int k = s->labels, b = s->linear * s->m;
    room r = {.c = at};
    r.cs = r.c + k * b;
    r.y = r.cs + k * b;
    r.l = r.y + k * k;
    r.inverse = r.l + k * k;
    r.z = r.inverse + k;
    r.scaled = r.z + k;
    r.t = r.scaled + k;
    return r;
}

/* Y = C S C^T + noise */
LANES_INLINE void spread_of_label(const stair_marginal_shape *s, const room *r)
{
    int m = s->m, n = s->linear, b = n * m;
    for (int k = 0; k < s->labels; k++) {
        for (int i = 0; i < n; i++)
            for (int t = 0; t < m; t++) {
                lanes sum = {0};
                for (int j = 0; j < n; j++) sum += r->c[k * b + j * m + t] * s->rest[j * n + i];
                r->cs[k * b + i * m + t] = sum;
            }
        for (int j = 0; j <= k; j++) {
            lanes sum = lanes_set(k == j ? s->noise : 0);
            for (int i = 0; i < b; i++) sum += r->cs[k * b + i] * r->c[j * b + i];
            r->y[k * s->labels + j] = sum;
        }
    }
}

/* f, z and 1/D, row by row; returns the exponent, and the determinant of Y. */
LANES_INLINE lanes solve(const stair_marginal_shape *s, const room *r, const double *mean, lanes *det)
{
    int n = s->labels, b = s->linear * s->m;
    lanes exponent = {0};
    *det = lanes_set(1);
    for (int k = 0; k < n; k++) {
        lanes pivot = r->y[k * n + k], rest = lanes_set(s->label[k]), *f = r->cs + k * b;
        for (int j = 0; j < k; j++) {
            lanes sum = r->y[k * n + j];
            for (int i = 0; i < j; i++) sum -= r->y[k * n + i] * r->l[j * n + i];
            r->y[k * n + j] = sum;
            r->l[k * n + j] = sum * r->inverse[j];
            pivot -= sum * r->l[k * n + j];
            rest -= r->l[k * n + j] * r->z[j];
        }
        for (int i = 0; i < b; i++) {
            lanes value = r->c[k * b + i];
            rest -= value * lanes_load(mean + i * STAIR_GROUP);
            for (int j = 0; j < k; j++) value -= r->l[k * n + j] * r->cs[j * b + i];
            f[i] = value;
        }
        r->inverse[k] = 1.0 / pivot;
        r->z[k] = rest;
        r->scaled[k] = rest * r->inverse[k];
        exponent -= 0.5 * rest * r->scaled[k];
        *det *= pivot;
    }
    return exponent;
}

/* Adds mass, mass t, mass t t^T (i >= j) and mass C^T Y^-1 C (i >= j) to sums (count, 8). */
LANES_INLINE void add_moments(const stair_marginal_shape *s, const room *r, lanes mass, double *sums)
{
    int b = s->linear * s->m, q = (s->given + s->linear) * s->m;
    lanes_store(sums, lanes_load(sums) + mass);
    sums += STAIR_GROUP;
    for (int i = 0; i < q; i++, sums += STAIR_GROUP) lanes_store(sums, lanes_load(sums) + mass * r->t[i]);
    for (int i = 0; i < q; i++) {
        lanes part = mass * r->t[i];
        for (int j = 0; j <= i; j++, sums += STAIR_GROUP)
            lanes_store(sums, lanes_load(sums) + part * r->t[j]);
    }
    for (int i = 0; i < b; i++)
        for (int j = 0; j <= i; j++, sums += STAIR_GROUP) {
            lanes sum = {0};
            for (int k = 0; k < s->labels; k++) sum += r->cs[k * b + i] * r->cs[k * b + j] * r->inverse[k];
            lanes_store(sums, lanes_load(sums) + mass * sum);
        }
}

void STAIR_HOT(stair_marginal_add)(const stair_marginal_shape *s, const double *xi, const double *mean,
                                   const double *c, double *work, double *top, double *sums)
{
    int d = s->given * s->m, b = s->linear * s->m, q = d + b;
    room r = room_in(s, (lanes *)work);
    for (int at = 0; at < STAIR_GROUP; at += LANES) {
        lanes det;
        for (int i = 0; i < s->labels * b; i++) r.c[i] = lanes_load(c + i * STAIR_GROUP + at);
        spread_of_label(s, &r);
        lanes exponent = solve(s, &r, mean + at, &det);
        double highest = lanes_top(exponent);
        if (highest > *top) { /* all sums are times exp(top) */
            double factor = exp(*top - highest);
            int count = 1 + q + q * (q + 1) / 2 + b * (b + 1) / 2;
            for (int i = 0; i < count * STAIR_GROUP; i++) sums[i] *= factor;
            *top = highest;
        }
        lanes mass = lanes_exp(exponent - *top);
        for (int i = 0; i < LANES; i++) mass[i] /= sqrt(det[i]);
        for (int i = 0; i < d; i++) r.t[i] = lanes_load(xi + i * STAIR_GROUP + at);
        for (int i = 0; i < b; i++) {
            lanes sum = {0};
            for (int k = 0; k < s->labels; k++) sum += r.cs[k * b + i] * r.scaled[k];
            r.t[d + i] = sum;
        }
        add_moments(s, &r, mass, sums + at);
    }
}
