/* The outer expectation of state evolution: over the prior means omega and the labels y.
 *
 *   omega = sqrt(Q) xi,  Z = omega + sqrt(1 - Q) U,  y = g(Z)  ->  E[ phi(y, omega, 1 - Q) ]
 *
 * with phi made of what the channel returns: sum_m g_m g_m^T, log Z_out, and on a subspace that
 * nothing is known of, the products of dg that make the weak-recovery operator. */
#ifndef STAIR_ASYMPTOTICS_EXPECTATION_H
#define STAIR_ASYMPTOTICS_EXPECTATION_H

#include "asymptotics/symmetry.h"
#include "core/stats.h"

#define STAIR_MOST_KERNEL 6 /* dimension of the subspace on which the operator is formed */

typedef struct {
    bool sampled;    /* never a grid of labels, though it would fit */
    bool relative;   /* samples: log Z is less that of the same label when nothing is known */
    double fineness; /* of grids and of hidden nodes: 1 for errors of about 1e-4; 0: samples and the channel
                        alone */
    size_t nodes;    /* hidden nodes of half a rule, where they are a lattice */
    size_t points;   /* lattice points of one replicate, a power of two */
    int replicates;  /* independent random shifts: their spread is the error */
    double widening; /* points are drawn that much wider than the Gaussian, and weighted back */
    uint64_t seed;   /* the same seed gives the same points: a smooth function of Q */
    stair_channel_options channel;
} stair_outer_rule;

/* Estimates; every number also by replicate, so that what is computed from them gets its error. */
typedef struct {
    int indices, kernel;
    int replicates; /* of the last evaluation: a grid has fewer than were asked for */
    bool grid;      /* of labels, and not samples */
    bool random;    /* replicates are independent; if not they are interlaced grids, and their distance is the
                       error */
    int count;      /* numbers: P(P+1)/2 of f, log Z, pairs^2 of the operator */
    int pairs;      /* kernel (kernel + 1) / 2 */
    double *mean;   /* (count) */
    double *sample; /* (replicates, count) */
    double inner;   /* mean of the error estimates of single posteriors */
    double bias;    /* relative error that all replicates may have in common, */
    double logz_bias; /* and of log Z, absolute */
    size_t calls;     /* samples the channel was asked for */
    double *memory;
} stair_outer;

stair_status stair_outer_create(stair_context *context, const stair_model *model, int kernel, int replicates,
                                stair_outer *outer);
void stair_outer_destroy(stair_outer *outer);

/* Fills `outer` at overlap q (P, P).  basis (P, kernel): orthonormal columns that q annihilates. */
stair_status stair_outer_evaluate(stair_context *context, const stair_model *model,
                                  const stair_outer_rule *rule, const double *q, const double *basis,
                                  stair_outer *outer);

/* What a grid of labels and the samples share: the unlearned subspace, and which rows dg does not mix. */
typedef struct {
    const double *basis; /* (P, kernel) */
    bool apart[STAIR_MAX_INDICES];
} stair_subspace;
void stair_subspace_set(const stair_model *model, const double *q, const double *basis, stair_subspace *rest);

/* The numbers of one posterior, (count), in the order of `mean`. */
void stair_outer_features(const stair_outer *outer, const stair_subspace *rest, int m, double logz,
                          const double *g, const double *dg, double *out);

/* Views of row r of `sample`, or of `mean` for r < 0. */
void stair_outer_f(const stair_outer *outer, int r, double *f); /* (P, P): E sum_m g_m g_m^T */
double stair_outer_logz(const stair_outer *outer, int r);
/* out (kernel, kernel) = F(x): sum_ab E[G_ik,ab x_kl G_jl,ab] in the basis. */
void stair_outer_apply(const stair_outer *outer, int r, const double *x, double *out);

/* What a correction for the bias of random hidden nodes leaves, both relative. */
double stair_bias_left(double correction);

/* Error of the mean of a number that replicates have by themselves; `bias` is not in it. */
double stair_outer_spread(const stair_outer *outer, const double *by_replicate);

#endif
