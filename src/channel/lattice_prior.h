/* What lattice_prior.c and its kernel share. */
#ifndef STAIR_CHANNEL_LATTICE_PRIOR_H
#define STAIR_CHANNEL_LATTICE_PRIOR_H

#include "channel/moments.h"

#define STAIR_PAIR_SUMS  15 /* numbers of a stair_moments of two rows of two tokens */
#define STAIR_LINE_SLACK 8  /* of arrays that lines of nodes are written to, in whole lanes */

#endif
