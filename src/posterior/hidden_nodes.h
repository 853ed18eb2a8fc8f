/* Rules over the prior of the hidden rows, in two halves that know nothing of each other. */
#ifndef STAIR_POSTERIOR_HIDDEN_NODES_H
#define STAIR_POSTERIOR_HIDDEN_NODES_H

#include "model/model.h"

#define STAIR_HIDDEN_HALVES 2 /* of a rule, interlaced or of their own random shift */

typedef struct {
    size_t blocks;       /* of STAIR_BLOCK nodes, the last one filled up with nodes that do not count */
    double *log_measure; /* (blocks, STAIR_BLOCK): together 1 */
    double *place;       /* (blocks, dim, STAIR_BLOCK), in units of the prior's standard deviations */
} stair_hidden_nodes;

/* Equidistant places in a disc around zero, shifted by offset times the step, turned so that tokens do not
 * tie in rows of them, and in the order of small squares; paired: one of u and -u stands for both.  x and y
 * (room) and the area that belongs to each; returns how many there are. */
size_t stair_hidden_disc(double radius, double step, double offset, bool paired, size_t room, double *x,
                         double *y, double *area);

/* Equidistant in the plane, up to `reach`: one hidden row of two tokens. */
stair_status stair_hidden_nodes_plane(stair_context *context, double reach, double step, bool paired,
                                      int half, stair_hidden_nodes *nodes);

/* Two hidden rows of which only the shape (a_1, a_2) matters: places (a_1, a_2, 0, 0). */
stair_status stair_hidden_nodes_shape(stair_context *context, double step, int half,
                                      stair_hidden_nodes *nodes);

/* A randomly shifted lattice of `count` nodes; without coordinates a single one. */
stair_status stair_hidden_nodes_lattice(stair_context *context, int dim, size_t count, uint64_t seed,
                                        int half, stair_hidden_nodes *nodes);

void stair_hidden_nodes_destroy(stair_hidden_nodes *nodes);

#endif
