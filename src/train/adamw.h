/* AdamW (Loshchilov & Hutter 2019) with PyTorch's conventions, dense, but paying only for rows that move.
 *
 *   w <- (1 - eta lambda) w;  m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2
 *   w <- w - eta/(1-b1^t) m / (sqrt(v)/sqrt(1-b2^t) + eps)
 *
 * A row whose gradient is zero for k steps after step t0 still moves: with d = 1 - eta lambda and
 * j = 1..k,
 *
 *   w_{t0+k} = d^k w - m sum_j c_j / (r_j sqrt(v) + eps),
 *   c_j = d^{k-j} eta b1^j / (1 - b1^{t0+j}),    r_j = b2^{j/2} / sqrt(1 - b2^{t0+j}),
 *
 * and m, v shrink by b1^k, b2^k.  c_j and r_j are the same for every weight, c_j falls like b1^j and
 * r_j hardly changes, so about the mean r = sum c_j r_j / sum c_j, with s = sqrt(v),
 *
 *   sum_j c_j/(r_j s + eps) = 1/(r s + eps) sum_n (-q)^n mu_n,
 *   q = s/(r s + eps),   mu_n = sum_j c_j (r_j - r)^n,
 *
 * an expansion that holds for every s >= 0 since q <= 1/r.  It is used up to n = 5 when the next term is
 * below 1e-8 of the first; early in training, where bias corrections change fast, or for few steps, the sum
 * is taken term by term.  A row that never had a gradient has m = 0: w_t = d^t w exactly.
 */
#ifndef STAIR_TRAIN_ADAMW_H
#define STAIR_TRAIN_ADAMW_H

#include "core/context.h"

#define STAIR_ADAMW_ORDER 6 /* moments mu_0 .. mu_5 are summed; adamw_hot.c writes them out */

typedef struct {
    double rate, beta1, beta2, epsilon, weight_decay;
    int64_t steps;       /* of the whole training */
    int tail;            /* steps after which a first moment is spent: b1^tail below 1e-16 */
    double *step_size;   /* (steps + 1): eta / (1 - b1^t) */
    double *root;        /* (steps + 1): 1 / sqrt(1 - b2^t) */
    double *fade, *slow; /* (tail + 1): b1^j d^-j and b2^(j/2) */
    double *room;        /* (2 tail + 16) */
} stair_adamw;

stair_status stair_adamw_create(stair_context *context, double rate, double beta1, double beta2,
                                double epsilon, double weight_decay, int64_t steps, stair_adamw *adam);
void stair_adamw_destroy(stair_adamw *adam);

/* Step t (from 1) on n weights with gradient g. */
void stair_adamw_step(const stair_adamw *adam, int64_t t, size_t n, double *w, double *m, double *v,
                      const double *g);

/* Steps t0+1 .. t without gradient on n weights; t0 = 0: there has been none yet. */
void stair_adamw_idle(const stair_adamw *adam, int64_t t0, int64_t t, size_t n, double *w, double *m,
                      double *v);

#endif
