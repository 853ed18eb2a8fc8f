/* Equivalent samples brought to one representative, so that symmetries of a model hold to the byte. */
#ifndef STAIR_CHANNEL_CANONICAL_H
#define STAIR_CHANNEL_CANONICAL_H

#include "model/model.h"

typedef struct {
    int order[STAIR_MAX_TOKENS]; /* token m of the representative is token order[m] of the sample */
    double sign;                 /* its Z is sign times that of the sample */
} stair_canonical;

/* omega (P, M) and label of the representative. */
stair_canonical stair_canonical_find(const stair_model *model, const double *omega, const double *label,
                                     double *omega_out, double *label_out);

/* g (P, M) and dg (P*M, P*M) of the representative back to those of the sample. */
void stair_canonical_undo(const stair_model *model, const stair_canonical *c, const double *g,
                          const double *dg, double *g_out, double *dg_out);

#endif
