/* The expectation over labels at Q = 0 without random numbers, for two last rows (pair.h). */
#ifndef STAIR_ASYMPTOTICS_PAIR_LABELS_H
#define STAIR_ASYMPTOTICS_PAIR_LABELS_H

#include "asymptotics/expectation.h"

/* Whether q (P, P) is zero, pair.h serves the model and its hidden nodes are not random. */
bool stair_pair_labels_fit(stair_context *context, const stair_model *model, const double *q);

/* As stair_outer_evaluate at Q = 0; the two replicates are interlaced grids. */
stair_status stair_pair_labels_evaluate(stair_context *context, const stair_model *model, const double *basis,
                                        stair_outer *outer);

#endif
