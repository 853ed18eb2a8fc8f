/* Control variates: numbers of mean zero that are averaged beside the targets, and a regression on them. */
#ifndef STAIR_ASYMPTOTICS_CONTROLS_H
#define STAIR_ASYMPTOTICS_CONTROLS_H

#include "core/context.h"

typedef struct {
    int targets, controls;
    double total;        /* samples */
    double *sum;         /* (targets + controls) */
    double *size;        /* (controls): sums of squares of the terms that a control is the difference of */
    double *cross;       /* (controls, targets + controls) */
    double *coefficient; /* (controls, targets), and room behind */
} stair_controls;

stair_status stair_controls_create(stair_context *context, int targets, int controls, stair_controls *c);
void stair_controls_destroy(stair_controls *c);
/* features: targets, then controls, then the size of the terms that cancel in each control. */
void stair_controls_add(stair_controls *c, const double *features);
void stair_controls_solve(stair_controls *c);
/* out (targets): averages (targets + controls) with the part that the controls explain taken out. */
void stair_controls_apply(const stair_controls *c, const double *averages, double *out);

#endif
