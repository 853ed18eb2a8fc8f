/* Lattice sums at ever shorter steps in the frame of the prior, until what changes from one to the next says
 * that the last one is good.
 *
 * The coordinates are one lattice, or a head and a tail with steps of their own.  In units of the steps the
 * nodes are all integers or all half-integers: a square lattice in two dimensions, the body-centred one in
 * four.  Sums are kept apart by the kind of node, as bits of a number. */
#ifndef STAIR_CHANNEL_PASSES_H
#define STAIR_CHANNEL_PASSES_H

#include "channel/rules.h"

enum {
    STAIR_HEAD,
    STAIR_TAIL,         /* the lattices */
    STAIR_HEAD_ODD = 1, /* sum of the coordinates of the head node (rounded down) */
    STAIR_HALVES = 2,   /* half-integers */
    STAIR_TAIL_ODD = 4, /* as of the head */
    STAIR_PARTS = 8
};

#define STAIR_PASS_COUNT 28 /* numbers of a stair_moments, at most: three rows of two tokens */

typedef struct stair_passes {
    stair_worker *w;
    int lattices;      /* 1 or 2, of two dimensions each */
    double step[2];    /* in deviations of the prior */
    double cutoff;     /* of the exponent, below its largest, */
    double top, floor; /* which is at least `top`, as far as seen in this pass, and is expected to be at least
                          `floor` */
    int64_t budget;    /* nodes visited */
    double cell;       /* volume that belongs to a node: set by sum() */
    /* Moments of Z over all nodes, into the parts; false when they are too many. */
    bool (*sum)(struct stair_passes *passes);
    void *user;
    stair_moments part[STAIR_PARTS];
    double sums[STAIR_PARTS][STAIR_PASS_COUNT];
} stair_passes;

/* How much of the cutoff is left at this exponent. */
double stair_passes_left(const stair_passes *passes, double energy);

/* The digits of a map that are good enough. */
stair_digits stair_passes_digits(const stair_integrand *f, double precision);

/* Error of the last pass, whose posterior is in `out`; infinite when there was none. */
double stair_passes_run(stair_passes *passes, const stair_channel_options *options, stair_posterior *out);

#endif
