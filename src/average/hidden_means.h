/* Posteriors of a label and a prior mean of the last row, for all prior means of the hidden rows at once and
 * averaged over them. */
#ifndef STAIR_AVERAGE_HIDDEN_MEANS_H
#define STAIR_AVERAGE_HIDDEN_MEANS_H

#include "average/average.h"

typedef struct stair_hidden_means stair_hidden_means;

/* Whether there is one for this model (last_row.h, two tokens) at overlap q (P, P): the last row known, not
 * too well for hidden nodes to be one table, and either something known of the hidden rows, or several of
 * them. */
bool stair_hidden_means_fit(const stair_structure *structure, const double *q);

/* fineness: 1 for errors of about 1e-4 where the hidden rows are one; nodes: of half a rule where they are
 * more. Replicates differ in the offset of grids, or in all random numbers. */
stair_status stair_hidden_means_create(stair_context *context, const stair_structure *structure,
                                       const double *q, double fineness, size_t nodes, uint64_t seed,
                                       int replicate, stair_hidden_means **means);
void stair_hidden_means_destroy(stair_hidden_means **means);
double
stair_hidden_means_steepest(const stair_hidden_means *means); /* largest entry of T(u) over typical u */

/* Of each label and last mean, averaged over the means of the hidden rows. */
typedef struct {
    double *mass;     /* (n): density of the label */
    double *counts;   /* (n): times 1 + sum |g|^2 V, what it may add to an average */
    double *bias;     /* (n): of `counts`, what the correction for random nodes changes */
    double *features; /* (n, count): numbers of `outer`, times the density */
} stair_mean_values;

/* anchors (n, 2): last row at the anchor, which names the label; omega (n, 2): mean of the last row; keys (n)
 * choose the random shift of the hidden means, where they are random. */
stair_status stair_hidden_means_evaluate(stair_context *context, const stair_hidden_means *means,
                                         const stair_average *outer, const stair_subspace *rest, size_t n,
                                         const double *anchors, const double *omega, const uint64_t *keys,
                                         stair_mean_values *values);

#endif
