/* Posterior moments of many samples that share one covariance, by one rule over the hidden indices. */
#ifndef STAIR_ASYMPTOTICS_HIDDEN_H
#define STAIR_ASYMPTOTICS_HIDDEN_H

#include "model/model.h"

typedef struct stair_hidden stair_hidden;

/* Estimates of sample i: whole rule, first half, second half. */
#define STAIR_HIDDEN_PARTS 3
typedef struct {
    double *logz; /* (n, 3) */
    double *g;    /* (n, 3, P*M) */
    double *dg;   /* (n, 3, P*M, P*M), zero between different rows */
} stair_hidden_result;

/* Share of a part in an average: the whole alone, or 2, -1/2, -1/2 to take out the bias of random nodes. */
double stair_hidden_share(bool random, int part);

/* Whether the rule serves this model (last_row.h) at covariance cov (P, P). */
bool stair_hidden_fits(stair_context *context, const stair_model *model, const double *cov);

/* fineness: of two hidden coordinates, 1 for errors of 1e-4 or less; nodes: of each half, a power of two, for
 * more. */
stair_status stair_hidden_create(stair_context *context, const stair_model *model, const double *cov,
                                 double fineness, size_t nodes, uint64_t seed, stair_hidden **hidden);
void stair_hidden_destroy(stair_hidden **hidden);

/* Largest entry of T(u) over typical u: labels vary over that much less than the last row does. */
double stair_hidden_steepest(const stair_hidden *hidden);

bool stair_hidden_is_random(const stair_hidden *hidden); /* the seed matters */

/* anchors (n, M): the last row that gives the label when the hidden rows stand at the anchor; omega (n, P,
 * M); drawn (n, P, M): Z of the samples, near which nodes are looked for, or NULL (then near omega). */
stair_status stair_hidden_anchors(stair_context *context, stair_hidden *hidden, size_t n,
                                  const double *labels, double *anchors);
stair_status stair_hidden_evaluate(stair_context *context, const stair_hidden *hidden, size_t n,
                                   const double *anchors, const double *omega, const double *drawn,
                                   stair_hidden_result *result);

#endif
