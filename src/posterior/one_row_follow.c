#include "posterior/one_row_follow.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"

#define DIM    STAIR_HIDDEN_DIM
#define TOKENS STAIR_ONE_ROW_TOKENS

static const struct {
    int steps;         /* of Gauss and Newton towards a mode */
    double difference; /* step of the slopes */
    double bend;       /* standard deviations over which bends are taken: they are not small */
    double wider;      /* nodes than the posterior seems to be */
    int most_rows;     /* whose signs are all looked at */
} tuning = {.steps = 3, .difference = 1e-5, .bend = 1.0, .wider = 1.3, .most_rows = 4};

typedef struct {
    const stair_fibre *fibre;
    const stair_one_row_sample *sample;
    int dim, m;
    const double *variance;
} place;

static int soft_axes(int dim, int m)
{
    return dim > m ? dim - m : 0;
}

/* the centre, steps to both sides along each soft axis, one along each pair */
static int bend_places(int soft)
{
    return 1 + 2 * soft + soft * (soft - 1) / 2;
}

bool stair_one_row_follow_fits(int dim, int m)
{
    int soft = soft_axes(dim, m);
    return dim / m <= tuning.most_rows && dim + 1 <= STAIR_BLOCK && bend_places(soft) <= STAIR_BLOCK &&
           soft * (soft + 1) / 2 * (dim - soft) <= STAIR_HIDDEN_BENDS;
}

/* r = (+-w(u) - omega) / sqrt(v) (M, n) at n places u (dim, STAIR_BLOCK), with the sign that fits the first.
 */
static void misfits(const place *p, int n, const double *u, double *r)
{
    double z[STAIR_LAST_ROOM], weight[STAIR_BLOCK], along = 0, scale = sqrt(2 * p->sample->half_inverse);
    stair_fibre_map(p->fibre, 0, n, u, z, weight);
    const double *w = z + (size_t)p->dim * STAIR_BLOCK;
    for (int t = 0; t < p->m; t++) along += w[t * STAIR_BLOCK] * p->sample->omega[t];
    for (int t = 0; t < p->m; t++)
        for (int i = 0; i < n; i++)
            r[t * n + i] = scale * ((along < 0 ? -1 : 1) * w[t * STAIR_BLOCK + i] - p->sample->omega[t]);
}

/* |r|^2 / 2 - log prior at u (dim), its gradient, and the slopes of r (M, dim). */
static double energy_at(const place *p, const double *u, double *gradient, double *slope)
{
    int m = p->m, dim = p->dim, n = dim + 1;
    double block[DIM * STAIR_BLOCK], r[TOKENS * (DIM + 1)], energy = 0;
    for (int k = 0; k < dim; k++)
        for (int i = 0; i < n; i++) block[k * STAIR_BLOCK + i] = u[k] + (i == k + 1 ? tuning.difference : 0);
    misfits(p, n, block, r);
    for (int k = 0; k < dim; k++) {
        double v = p->variance[k / m], away = u[k] - p->sample->hidden[k];
        energy += 0.5 * away * away / v;
        gradient[k] = away / v;
    }
    for (int t = 0; t < m; t++) {
        energy += 0.5 * r[t * n] * r[t * n];
        for (int k = 0; k < dim; k++) {
            slope[t * dim + k] = (r[t * n + k + 1] - r[t * n]) / tuning.difference;
            gradient[k] += slope[t * dim + k] * r[t * n];
        }
    }
    return energy;
}

/* lower lower^T = V^-1 + slope^T slope, and the inverse of `lower`. */
static void whiten(const place *p, const double *slope, double *lower, double *inverse, double *half_logdet)
{
    int dim = p->dim;
    double curvature[DIM * DIM];
    for (int k = 0; k < dim; k++)
        for (int l = 0; l < dim; l++) {
            curvature[k * dim + l] = k == l ? 1 / p->variance[k / p->m] : 0;
            for (int t = 0; t < p->m; t++) curvature[k * dim + l] += slope[t * dim + k] * slope[t * dim + l];
        }
    stair_matrix_whiten(dim, curvature, lower, inverse, half_logdet);
}

/* The axes: right singular vectors of the whitened slopes, soft ones first; felt (M, dim): what r feels of
 * each. */
static void set_axes(const place *p, const double *lower, const double *inverse, const double *slope,
                     stair_one_row_follower *f, double *felt)
{
    int m = p->m, dim = p->dim;
    double white[TOKENS * DIM] = {0}, gram[DIM * DIM] = {0}, values[DIM], axes[DIM * DIM];
    for (int t = 0; t < m; t++)
        for (int k = 0; k < dim; k++)
            for (int l = 0; l <= k; l++) white[t * dim + k] += inverse[k * dim + l] * slope[t * dim + l];
    for (int k = 0; k < dim; k++)
        for (int l = 0; l < dim; l++)
            for (int t = 0; t < m; t++) gram[k * dim + l] += white[t * dim + k] * white[t * dim + l];
    stair_matrix_eigen(dim, gram, values, axes);
    for (int a = 0; a < dim; a++) {
        for (int k = 0; k < dim; k++) {
            f->root[k * dim + a] = f->whiten[a * dim + k] = 0;
            for (int l = 0; l < dim; l++) {
                f->root[k * dim + a] += inverse[l * dim + k] * axes[l * dim + a];
                f->whiten[a * dim + k] += axes[l * dim + a] * lower[k * dim + l];
            }
        }
        for (int t = 0; t < m; t++) {
            felt[t * dim + a] = 0;
            for (int k = 0; k < dim; k++) felt[t * dim + a] += white[t * dim + k] * axes[k * dim + a];
        }
    }
}

/* With r = felt x + h(soft x), h its second differences, the energy is least where stiff x = -felt^T h. */
static void set_bends(const place *p, const double *felt, stair_one_row_follower *f)
{
    int m = p->m, dim = p->dim, soft = f->soft, n = bend_places(soft);
    double block[DIM * STAIR_BLOCK], r[TOKENS * STAIR_BLOCK], *bend = f->bend;
    for (int k = 0; k < dim; k++) {
        const double *axis = f->root + k * dim;
        double *at = block + k * STAIR_BLOCK;
        int i = 0;
        at[i++] = f->centre[k];
        for (int a = 0; a < soft; a++) {
            at[i++] = f->centre[k] - tuning.bend * axis[a];
            at[i++] = f->centre[k] + tuning.bend * axis[a];
        }
        for (int a = 0; a < soft; a++)
            for (int b = 0; b < a; b++) at[i++] = f->centre[k] + tuning.bend * (axis[a] + axis[b]);
    }
    misfits(p, n, block, r);
    for (int a = 0, pair = 1 + 2 * soft; a < soft; a++)
        for (int b = 0; b <= a; pair += b++ < a)
            for (int s = soft; s < dim; s++) {
                *bend = 0;
                for (int t = 0; t < m; t++) {
                    const double *at = r + t * n;
                    double second = a == b ? 0.5 * (at[1 + 2 * a] + at[2 + 2 * a]) - at[0]
                                           : at[pair] - at[2 + 2 * a] - at[2 + 2 * b] + at[0];
                    *bend += felt[t * dim + s] * second / (tuning.bend * tuning.bend);
                }
                bend++;
            }
}

void stair_one_row_follow(const stair_fibre *fibre, const stair_one_row_sample *sample, int dim, int m,
                          const double *variance, const double *drawn, stair_one_row_follower *f)
{
    place p = {fibre, sample, dim, m, variance};
    double slope[TOKENS * DIM], lower[DIM * DIM], inverse[DIM * DIM], felt[TOKENS * DIM];
    double next[DIM], least = INFINITY, half_logdet;
    f->tokens = m;
    f->dim = dim;
    f->soft = soft_axes(dim, m);
    f->wider = tuning.wider;
    memcpy(next, drawn, sizeof(double) * (size_t)dim);
    for (int step = 0; step < tuning.steps; step++) {
        double gradient[DIM], slope_there[TOKENS * DIM], energy = energy_at(&p, next, gradient, slope_there);
        if (!(energy < least)) break;
        least = energy;
        memcpy(f->centre, next, sizeof(double) * (size_t)dim);
        memcpy(slope, slope_there, sizeof slope);
        whiten(&p, slope, lower, inverse, &half_logdet);
        for (int k = 0; k < dim; k++)
            for (int i = 0; i < dim; i++)
                for (int l = 0; l < dim; l++)
                    next[k] -= inverse[i * dim + k] * inverse[i * dim + l] * gradient[l];
    }
    set_axes(&p, lower, inverse, slope, f, felt);
    set_bends(&p, felt, f);
    f->log_ratio = half_logdet - dim * log(tuning.wider);
    for (int k = 0; k < dim; k++) {
        f->mean[k] = sample->hidden[k];
        f->deviation[k] = sqrt(variance[k / m]);
        f->inverse[k] = 1 / f->deviation[k];
        f->log_ratio += log(f->deviation[k]);
    }
}
