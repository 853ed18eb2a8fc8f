/* Control variates: numbers of mean zero that are averaged beside the targets, and a regression on them. */
#ifndef STAIR_ASYMPTOTICS_CONTROLS_H
#define STAIR_ASYMPTOTICS_CONTROLS_H

#include "core/context.h"

typedef struct {
    int targets, controls;
    double total;        /* sum of weights */
    double *sum;         /* (targets + controls) */
    double *cross;       /* (controls, targets + controls) */
    double *coefficient; /* (controls, targets), and room behind */
} stair_controls;

stair_status stair_controls_create(stair_context *context, int targets, int controls, stair_controls *c);
void stair_controls_destroy(stair_controls *c);
void stair_controls_clear(stair_controls *c);
void stair_controls_add(stair_controls *c, double weight, const double *features); /* targets, then controls */
void stair_controls_solve(stair_controls *c);
/* out (targets): averages (targets + controls) with the part that the controls explain taken out. */
void stair_controls_apply(const stair_controls *c, const double *averages, double *out);

#endif
