/* What a label tells about Z when Z is known up to a small covariance V: the label is then linear in Z. */
#ifndef STAIR_ASYMPTOTICS_LINEAR_H
#define STAIR_ASYMPTOTICS_LINEAR_H

#include "model/model.h"

typedef struct {
    const stair_model *model;
    int rank; /* of J = dy/dZ: independent equations of a label */
} stair_linear;

stair_status stair_linear_create(stair_context *context, const stair_model *model, stair_linear *linear);

/* V^1/2 and V^-1/2, all (P, P). */
void stair_linear_roots(int p, const double *v, double *root, double *inverse);

/* Adds sum_m [J^T (J V J^T)^+ J]_mm at Z = z (P, M) to f (P, P). */
void stair_linear_add(const stair_linear *linear, const double *root, const double *inverse, const double *z,
                      double *f);

#endif
