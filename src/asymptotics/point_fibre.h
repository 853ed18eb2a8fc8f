/* The weak-recovery operator where fibres are points {Z, -Z}. */
#ifndef STAIR_ASYMPTOTICS_POINT_FIBRE_H
#define STAIR_ASYMPTOTICS_POINT_FIBRE_H

#include "asymptotics/expectation.h"

bool stair_point_fibre_fits(stair_context *context, const stair_model *model);

/* Fills `outer` (kernel = P, basis = identity) at Q = 0. */
stair_status stair_point_fibre_evaluate(stair_context *context, const stair_model *model,
                                        const stair_channel_options *channel, const double *basis,
                                        stair_outer *outer);

#endif
