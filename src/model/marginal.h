/* Posteriors of a label that is linear in some rows once others are given: those rows are integrated out.
 *
 * With u and v rows of A Z (model.h, stair_marginal_ops), y = C(u) v + sqrt(D) n and A Z ~ N(omega, V) per
 * token,
 *
 *   v | u ~ N(m(u), S),  m = omega_v + G (u - omega_u),  G = V_vu V_uu^-1,  S = V_vv - G V_uv
 *   Z_out = E_u N(y; C m, Y),                            Y(u) = C S C^T + D
 *
 * and with a(u) = C^T Y^-1 (y - C m), s = (V_uu^-1 (u - omega_u) - G^T a, a), both averages over the
 * posterior of u,
 *
 *   g = A^T <s>,   dg = A^T [ Cov(s) - V_uu^-1 - T <C^T Y^-1 C> T^T ] A,   T = (-G^T, 1).
 *
 * What is left is an average over u, by points of the prior N(omega_u, V_uu) with their likelihood for a
 * weight. Points come in pairs u, 2 omega_u - u and have exactly the second moments of the prior, so that g
 * and dg keep their digits as V_uu -> 0, where the first two terms of dg nearly cancel.
 *
 * A replicate is a table of lattice points, turned at random for each sample: their spread is the error. */
#ifndef STAIR_MODEL_MARGINAL_H
#define STAIR_MODEL_MARGINAL_H

#include "model/model.h"

enum {
    STAIR_MARGINAL_FIRST = 128, /* points of a replicate, at least: a power of two times this */
    STAIR_MARGINAL_MOST = 64    /* replicates */
};

typedef struct stair_marginal stair_marginal;

/* What the loops over points read of a sample. */
typedef struct {
    int m, labels, given, linear; /* M, K; rows of u, of v */
    double noise;
    const double *omega; /* (given + linear, M) */
    const double *lower; /* (given, given): factor of V_uu */
    const double *gain;  /* (linear, given): G */
    const double *rest;  /* (linear, linear): S */
    const double *label; /* (K) */
} stair_marginal_shape;

/* Whether the model has such rows, and noise on y. */
bool stair_marginal_exists(const stair_model *model);

/* Room for one thread. */
stair_status stair_marginal_create(stair_context *context, const stair_model *model, stair_marginal **x);
void stair_marginal_destroy(stair_marginal **x);

/* The sample: label (K), omega (P, M) and V (P, P), prenoise included.  False when V is not positive
 * definite. */
bool stair_marginal_set(stair_marginal *x, const double *label, const double *omega, const double *cov);

/* Replicate r of this sample from n points, up to STAIR_QMC_TABLE; false without memory. */
bool stair_marginal_sum(stair_marginal *x, uint64_t seed, uint64_t sample, int r, int n);

/* The posterior by replicates from .. to - 1: log Z, g (P, M), dg (PM, PM). */
void stair_marginal_finish(stair_marginal *x, int from, int to, double *logz, double *g, double *dg);

#endif
