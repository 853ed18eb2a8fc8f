/* Posterior moments of many samples that share one covariance, where the last layer has two rows and there
 * are two tokens. */
#ifndef STAIR_ASYMPTOTICS_PAIR_H
#define STAIR_ASYMPTOTICS_PAIR_H

#include "asymptotics/hidden.h"

typedef struct stair_pair stair_pair;

/* Whether the rule serves this model at covariance cov (P, P): two last rows of equal variance that a
 * rotation of both leaves alike, even hidden rows, no noise on y. */
bool stair_pair_fits(stair_context *context, const stair_model *model, const double *cov);

/* fineness: of hidden nodes in a plane, 0.5 for errors of 1e-3; nodes: of each half of a lattice, a power of
 * two. */
stair_status stair_pair_create(stair_context *context, const stair_model *model, const double *cov,
                               double fineness, size_t nodes, uint64_t seed, stair_pair **pair);
void stair_pair_destroy(stair_pair **pair);

bool stair_pair_is_random(const stair_pair *pair); /* the seed matters */

/* Whether hidden nodes are a plane, hence not random, as long as nothing is known of the hidden rows. */
bool stair_pair_has_plane(stair_context *context, const stair_model *model);

/* Density, in the measure of log Z_out, of the label that the last rows (x, 0) give with the hidden rows at
 * the anchor (last_row.h): labels are the half plane x_1 > x_2. */
double stair_pair_label_measure(const stair_pair *pair, const double *x);
double stair_pair_steepest(const stair_pair *pair); /* as in hidden.h */

/* anchors (n, 2): the x of each label. */
stair_status stair_pair_anchors(stair_context *context, const stair_pair *pair, size_t n,
                                const double *labels, double *anchors);
/* Parts as in hidden.h; omega (n, P, 2).  dg is zero between rows of different layers. */
stair_status stair_pair_evaluate(stair_context *context, const stair_pair *pair, size_t n,
                                 const double *anchors, const double *omega, stair_hidden_result *result);

#endif
