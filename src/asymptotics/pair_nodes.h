/* Rules over the prior of the hidden rows of two tokens, in two halves that know nothing of each other. */
#ifndef STAIR_ASYMPTOTICS_PAIR_NODES_H
#define STAIR_ASYMPTOTICS_PAIR_NODES_H

#include "core/context.h"

#define STAIR_PAIR_HALVES 2

typedef struct {
    size_t blocks;       /* of STAIR_BLOCK nodes, the last one filled up with nodes that do not count */
    double *log_measure; /* (blocks, STAIR_BLOCK): together 1 */
    double *place;       /* (blocks, dim, STAIR_BLOCK), in units of the prior's standard deviations */
} stair_pair_nodes;

/* Equidistant in the plane: one hidden row.  centred: one of u and -u stands for both. */
stair_status stair_pair_nodes_plane(stair_context *context, double step, bool centred, int half,
                                    stair_pair_nodes *nodes);

/* Two hidden rows of which only the shape (a_1, a_2) matters: places (a_1, a_2, 0, 0). */
stair_status stair_pair_nodes_shape(stair_context *context, double step, int half, stair_pair_nodes *nodes);

/* A randomly shifted lattice of `count` nodes; without coordinates a single one. */
stair_status stair_pair_nodes_lattice(stair_context *context, int dim, size_t count, uint64_t seed, int half,
                                      stair_pair_nodes *nodes);

void stair_pair_nodes_destroy(stair_pair_nodes *nodes);

#endif
