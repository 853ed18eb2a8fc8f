/* Launches of one_row.cu. */
#ifndef STAIR_CUDA_ONE_ROW_H
#define STAIR_CUDA_ONE_ROW_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/slot.h"
#include "kernels/follow.h"

typedef enum {
    STAIR_NODES_TABLE,
    STAIR_NODES_MOVING,
    STAIR_NODES_FIXED,
    STAIR_NODES_FOLLOWING
} stair_nodes_kind;

/* Nodes on the card, of both halves. */
typedef struct {
    stair_device *device;
    stair_nodes_kind kind;
    int rows, sums; /* hidden rows; numbers of a sample and half */
    int nodes[2];   /* table, moving */
    double half_inverse, prior, reach, deviation[STAIR_MIXING_ROWS];
    stair_mixing mixing;
    stair_one_row_grid grid[2];
    double *data[2], *measure[2];            /* table, places or cells; measures of places */
    int slices;                              /* of a table: runs of nodes that blocks of threads take */
    int level_nodes[STAIR_FOLLOW_LEVELS];    /* following: of a half, and where in data[0] they begin: */
    size_t level_first[STAIR_FOLLOW_LEVELS]; /* (sets, halves, blocks, dim, 64) */
    double agreed;
    int disagree;
} stair_cuda_nodes;

/* samples (n, 4 + 2 rows), followers (n) and sums (n, 2, sums) on the card; part: room for (n, 2, slices,
 * sums), where there are slices, or for (n, 2, sums), where nodes follow. */
stair_status stair_cuda_one_row(stair_context *context, const stair_cuda_slot *slot,
                                const stair_cuda_nodes *nodes, size_t n, const double *samples,
                                const stair_follow *followers, double *part, double *sums);

#ifdef __cplusplus
}
#endif
#endif
