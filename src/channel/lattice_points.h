/* The points of lattices, sorted by distance from the origin, in tables shared by all samples and threads. */
#ifndef STAIR_CHANNEL_LATTICE_POINTS_H
#define STAIR_CHANNEL_LATTICE_POINTS_H

#include "core/limits.h"

/* Points of one coset within a radius. */
typedef struct {
    int count, stride; /* stride: count rounded up to blocks */
    int bins;          /* the radius, in steps of 1 / STAIR_LATTICE_FINE */
    double *point;     /* (dim, stride), by radius */
    double *radius;    /* (stride) */
    int *within;       /* (bins + 1): points within k / STAIR_LATTICE_FINE steps of the centre */
} stair_lattice_points;

/* Coset `coset` of the lattice of `dim` dimensions, one or two wide.  Beyond two the lattice is that of
 * integers with even sum, of density 1/2: cosets 0 and 1 are all integer points, 2 and 3 all half-integer
 * ones.  The smaller table is the beginning of the larger.  NULL when memory is short. */
const stair_lattice_points *stair_lattice_points_of(int dim, int coset, int size);

#endif
