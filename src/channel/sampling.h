/* The proposal of the sampling rule: a mixture of Gaussians. */
#ifndef STAIR_CHANNEL_SAMPLING_H
#define STAIR_CHANNEL_SAMPLING_H

#include "channel/modes.h"

typedef struct {
    double *centre; /* (dim) */
    double *lower;  /* (dim, dim): u = centre + lower * normal */
    double *whiten; /* (dim, dim): its inverse */
    double share;   /* part of the nodes */
    double peak;    /* density at the centre */
    double height;  /* the same times the number of nodes drawn */
    int angles;     /* trailing coordinates drawn from other densities than a Gaussian: */
    int circles;    /* the first of them from sech(u) / pi, the others from sech(u)^2 / 2 */
} stair_component;

typedef struct {
    int dim, count;
    stair_component component[STAIR_MOST_MODES + 1];
} stair_mixture;

#endif
