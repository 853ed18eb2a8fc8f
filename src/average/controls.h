/* Control variates: numbers of mean zero that are averaged beside the targets, and a regression on them.
 *
 * Samples come in replicates.  The coefficients that serve one replicate are those of all the others: then
 * they know nothing of its samples, and its average stays free of bias. */
#ifndef STAIR_AVERAGE_CONTROLS_H
#define STAIR_AVERAGE_CONTROLS_H

#include "core/context.h"

typedef struct {
    int targets, controls, replicates;
    double noise;  /* relative, of the posteriors behind the controls: combinations that vary by less are its
                      own */
    double *total; /* (replicates): samples */
    double *sum;   /* (replicates, targets + controls) */
    double
        *size; /* (replicates, controls): sums of squares of the terms that a control is the difference of */
    double *cross; /* (replicates, controls, targets + controls) */
} stair_controls;

stair_status stair_controls_create(stair_context *context, int targets, int controls, int replicates,
                                   stair_controls *c);
void stair_controls_destroy(stair_controls *c);
/* features (n, width): targets, then controls, then the size of the terms that cancel in each control. */
stair_status stair_controls_add(stair_context *context, stair_controls *c, int replicate, size_t n,
                                size_t width, const double *features);
/* out (replicates, stride), targets first: averages (replicates, targets + controls) with the part that the
 * controls explain taken out. */
stair_status stair_controls_apply(stair_context *context, const stair_controls *c, const double *averages,
                                  size_t stride, double *out);

#endif
