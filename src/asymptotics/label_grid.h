/* The expectation over labels and prior means without random numbers. */
#ifndef STAIR_ASYMPTOTICS_LABEL_GRID_H
#define STAIR_ASYMPTOTICS_LABEL_GRID_H

#include "asymptotics/expectation.h"

/* Whether the labels of this model are a plane, and q (P, P) is zero but for its last entry or hidden_means.h
 * serves it. */
bool stair_label_grid_fits(stair_context *context, const stair_model *model, const double *q);

/* As stair_outer_evaluate; the replicates are interlaced grids. */
stair_status stair_label_grid_evaluate(stair_context *context, const stair_model *model,
                                       const stair_outer_rule *rule, const double *q, const double *basis,
                                       stair_outer *outer);

#endif
