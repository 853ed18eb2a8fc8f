/* The expectation over labels at zero overlap, without random numbers. */
#ifndef STAIR_ASYMPTOTICS_LABEL_GRID_H
#define STAIR_ASYMPTOTICS_LABEL_GRID_H

#include "asymptotics/expectation.h"

/* Whether the labels of this model are a plane that label_grid covers, or its fibres are points. */
bool stair_label_grid_fits(stair_context *context, const stair_model *model);

/* Fills `outer` (kernel = P, basis = identity, two replicates) at Q = 0 to about `precision`. */
stair_status stair_label_grid_evaluate(stair_context *context, const stair_model *model,
                                       const stair_channel_options *channel, double precision, stair_outer *outer);

#endif
