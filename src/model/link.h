/* A model that is a function of the caller's, for tables beside that of link.c. */
#ifndef STAIR_MODEL_LINK_H
#define STAIR_MODEL_LINK_H

#include "model/model.h"

/* Fills info, ranks and state of a model from a link, whose name is copied and kept; noise is that of `info`.
 * BAD_INPUT where sizes are none, or g is not a number at a standard normal Z. */
stair_status stair_link_adopt(stair_context *context, stair_model *model, const stair_link *link);

void stair_link_forward(const stair_model *model, const double *z, double *y, double *label);
stair_status stair_link_label(stair_context *context, const stair_model *model, const double *y,
                              double *label);
void stair_link_block(const stair_model *model, int n, const double *z, double *y);
void stair_link_gradient(const stair_model *model, const double *z, const double *cotangent, double *grad_z);

#define STAIR_LINK_OPS                                                                                       \
    .forward = stair_link_forward, .label_from_output = stair_link_label, .label_is_output = true,           \
    .block = stair_link_block, .gradient = stair_link_gradient

#endif
