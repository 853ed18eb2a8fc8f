/* Where a coarse lattice saw the integrand: what it found negligible, finer ones need not visit. */
#ifndef STAIR_CHANNEL_LATTICE_MAP_H
#define STAIR_CHANNEL_LATTICE_MAP_H

#include "channel/moments.h"
#include "channel/lattice_points.h"

typedef struct {
    int dim, side, radius;
    double top;       /* highest energy on it */
    bool complete;    /* it holds every point that was noted */
    float *energy[2]; /* at integer and at half-integer points (side^dim) */
} stair_lattice_map;

void stair_lattice_map_destroy(stair_lattice_map *map);

/* An empty map of a lattice that reaches `radius` steps; false when that is too far, or memory is short.  A
 * map begins as zeros and keeps its room until it is destroyed. */
bool stair_lattice_map_begin(stair_lattice_map *map, int dim, double radius);

/* Notes the energies of the n nodes evaluated last, points from, from + 1 ... of a coset. */
void stair_lattice_map_note(stair_lattice_map *map, const stair_lattice_points *points, int coset, int from,
                            int n, const stair_integrand *f);

/* The largest |matrix x + centre| over points x that were above `threshold`. */
double stair_lattice_map_reach(const stair_lattice_map *map, const double *matrix, const double *centre,
                               double threshold);

/* Picks, of the points from, from + 1 ... of another lattice (a block, ending before `end`), those where the
 * coarse one was above `threshold`.  matrix, centre: a point of the other lattice in coordinates of the
 * coarse one.  picked: (dim, 2 STAIR_BLOCK), so that a second block may follow.  Returns their number. */
int stair_lattice_map_pick(const stair_lattice_map *map, const stair_lattice_points *points,
                           const double *matrix, const double *centre, double threshold, int from, int end,
                           double *picked);

#endif
