/* The outer expectation of state evolution: over the prior means omega and the labels y.
 *
 *   omega = sqrt(Q) xi,  Z = omega + sqrt(1 - Q) U,  y = g(Z)  ->  E[ phi(y, omega, 1 - Q) ]
 *
 * with phi made of what a posterior gives: sum_m g_m g_m^T, log Z_out, and on a subspace that nothing is
 * known of, the products of dg that make the weak-recovery operator.
 *
 * A rule is a const struct at the end of its file and a line in the table of average.c.  Which one serves is
 * asked in one place, stair_average_rule_for(): the first of the table that fits, or the one that was named.
 */
#ifndef STAIR_AVERAGE_AVERAGE_H
#define STAIR_AVERAGE_AVERAGE_H

#include "core/spectral.h"
#include "core/stats.h"
#include "model/structure.h"

struct stair_average_rule;

/* How careful an average is. */
typedef struct {
    const struct stair_average_rule *rule; /* the only one that may serve; NULL: the first that fits */
    bool relative;   /* samples: log Z is less that of the same label when nothing is known */
    double fineness; /* of grids and of hidden nodes: 1 for errors of about 1e-4; 0: samples and the channel
                        alone */
    double noisy;    /* the same where hidden nodes are random, at most; 0: as the rule likes it */
    size_t nodes;    /* hidden nodes of half a rule, where they are a lattice */
    size_t points;   /* lattice points of one replicate, a power of two */
    int replicates;  /* independent random shifts: their spread is the error */
    double widening; /* points are drawn that much wider than the Gaussian, and weighted back */
    uint64_t seed;   /* the same seed gives the same points: a smooth function of Q */
    stair_channel_options channel;
} stair_average_effort;

/* Estimates; every number also by replicate, so that what is computed from them gets its error. */
typedef struct {
    const stair_structure *structure;
    int indices, kernel;
    const struct stair_average_rule *rule; /* of the last evaluation */
    int replicates;                        /* of it: a grid has fewer than were asked for */
    bool random; /* replicates are independent; if not they are interlaced grids, and their distance is the
                    error */
    bool by_symmetry; /* coordinates of the operator: pairs of directions, or overlaps that symmetries leave,
                       */
    int coordinates;  /* and their number; see unlearned.c */
    int count;        /* numbers: P(P+1)/2 of f, log Z, coordinates^2 of the operator */
    double *mean;     /* (count) */
    double *sample;   /* (replicates, count) */
    double inner;     /* mean of the error estimates of single posteriors */
    double bias;      /* relative error that all replicates may have in common, */
    double logz_bias; /* and of log Z, absolute */
    size_t calls;     /* samples the channel was asked for */
    double *memory;
} stair_average;

typedef struct stair_average_rule {
    const char *name, *text; /* for --method, and what it is in a few words */
    bool refines;            /* a grid whose error falls with `fineness` */
    /* Whether the rule serves overlap q (P, P); what `effort` asks for may matter. */
    bool (*fits)(const stair_structure *structure, const stair_average_effort *effort, const double *q);
    bool (*random)(const stair_structure *structure); /* replicates are independent */
    /* basis (P, kernel): orthonormal columns that q annihilates. */
    stair_status (*evaluate)(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average);
    /* Makes `effort` as careful as it takes to bring a relative error, part of which is `bias`, from `error`
     * to `wanted`; false where it cannot be bettered.  NULL: never. */
    bool (*sharpen)(stair_average_effort *effort, double bias, double error, double wanted);
} stair_average_rule;

extern const stair_average_rule stair_average_constant, stair_average_formula, stair_average_hermite,
    stair_average_label_sum, stair_average_label_line, stair_average_label_grid, stair_average_label_plane,
    stair_average_samples;
extern const stair_average_rule *const stair_average_rules[]; /* the table, ended by NULL */

/* The rule that serves, by the table or by effort->rule; NULL where that one does not fit. */
const stair_average_rule *stair_average_rule_for(const stair_structure *structure,
                                                 const stair_average_effort *effort, const double *q);
/* Name of rule `number` of the table, NULL past the last. */
const char *stair_average_rule_name(int number);
/* The rule of that name, NULL for "auto". */
const stair_average_rule *stair_average_rule_named(const char *name);

/* kernel: unlearned directions.  Coordinates of the operator are pairs of them where they are few. */
stair_status stair_average_create(stair_context *context, const stair_structure *structure, int kernel,
                                  int replicates, stair_average *average);
stair_status stair_average_create_with(stair_context *context, const stair_structure *structure, int kernel,
                                       int replicates, bool by_symmetry, stair_average *average);
void stair_average_destroy(stair_average *average);

/* Fills `average` at overlap q (P, P).  basis (P, kernel): orthonormal columns that q annihilates. */
stair_status stair_average_evaluate(stair_context *context, const stair_structure *structure,
                                    const stair_average_effort *effort, const double *q, const double *basis,
                                    stair_average *average);

/* Sets what a rule reports before it begins. */
void stair_average_begin(stair_average *average, int replicates, bool random);

/* What the rules share: the unlearned subspace, and which rows dg does not mix. */
typedef struct {
    const double *basis;            /* (P, kernel) */
    bool whole;                     /* it consists of rows, and not of combinations of them: */
    bool inside[STAIR_MAX_INDICES]; /* these */
    bool apart[STAIR_MAX_INDICES];
} stair_subspace;
void stair_subspace_set(const stair_structure *structure, const double *q, const double *basis, int kernel,
                        stair_subspace *rest);

/* The numbers of one posterior, (count), in the order of `mean`. */
void stair_average_features(const stair_average *average, const stair_subspace *rest, int m, double logz,
                            const double *g, const double *dg, double *out);

/* Views of row r of `sample`, or of `mean` for r < 0. */
void stair_average_f(const stair_average *average, int r, double *f); /* (P, P): E sum_m g_m g_m^T */
double stair_average_logz(const stair_average *average, int r);
const double *stair_average_row(const stair_average *average, int r);
/* out (kernel, kernel) = F(x): sum_ab E[G_ik,ab x_kl G_jl,ab] in the basis (P, kernel). */
void stair_average_apply(const stair_average *average, int r, const double *basis, const double *x,
                         double *out);
/* What one dg adds to the operator, (coordinates, coordinates), and its trace. */
void stair_average_operator(const stair_average *average, const stair_subspace *rest, int m, const double *dg,
                            double *out);
double stair_average_operator_trace(const stair_average *average, const double *op);

/* What a correction for the bias of random hidden nodes leaves, both relative. */
double stair_bias_left(double correction);

/* Error of the mean of a number that replicates have by themselves; `bias` is not in it. */
double stair_average_spread(const stair_average *average, const double *by_replicate);

/* Doubles the hidden nodes until a bias is a fair share of what is wanted; whether it did.  For sharpen. */
bool stair_average_more_nodes(stair_average_effort *effort, double bias, double wanted);
/* How many times the noise, error less bias, exceeds its share of what is wanted. */
double stair_average_excess(double bias, double error, double wanted);
/* Few replicates say little of their own spread: brings them to a number that is safe, and `excess` to what
 * is left of it. */
bool stair_average_safe_replicates(stair_average_effort *effort, double *excess);

#endif
