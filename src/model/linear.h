/* What a label tells about Z when Z is known up to a small covariance V: the label is then linear in Z. */
#ifndef STAIR_MODEL_LINEAR_H
#define STAIR_MODEL_LINEAR_H

#include "model/model.h"

/* Rank of J = dy/dZ at typical Z, the independent equations of a label; -1 where Z has too many numbers. */
stair_status stair_linear_rank(stair_context *context, const stair_model *model, int *rank);

typedef struct {
    const stair_model *model;
    int rank;
    double *rows; /* (K, PM), room for one thread */
} stair_linear;

/* From structure->rank, which must not be -1. */
stair_status stair_linear_create(stair_context *context, const stair_model *model, int rank,
                                 stair_linear *linear);
void stair_linear_destroy(stair_linear *linear);

/* V^1/2 and V^-1/2, all (P, P). */
void stair_linear_roots(int p, const double *v, double *root, double *inverse);

/* Adds sum_m [J^T (J V J^T)^+ J]_mm at Z = z (P, M) to f (P, P). */
void stair_linear_add(const stair_linear *linear, const double *root, const double *inverse, const double *z,
                      double *f);

#endif
