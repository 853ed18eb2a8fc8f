/* What two_rows.c and its hot loops share. */
#ifndef STAIR_POSTERIOR_TWO_ROWS_SUMS_H
#define STAIR_POSTERIOR_TWO_ROWS_SUMS_H

#include "model/last_pair.h"

#define STAIR_TWO_ROWS_SCAN 8 /* nodes that a scan takes together */

/* Nodes of one sample, (blocks, 3, STAIR_BLOCK): log of the weight less |w|^2 / 2v, and w. */
#define STAIR_TWO_ROWS_NODE 3 /* numbers of a node: exponent and w */

/* A direction of the frame: the exponent of a node is energy + level +- slope . w. */
typedef struct {
    double cosine, sine;
    double slope[2], level;
} stair_two_rows_angle;

/* Sums of one direction: of e+ + e-, (e+ - e-) w, (e+ + e-) w w^T. */
#define STAIR_TWO_ROWS_SUMS 6 /* of a direction: mass, two means, three products */
#endif
