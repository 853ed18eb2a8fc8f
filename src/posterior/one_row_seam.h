/* Sums of one_row.c over many samples, for a backend to take over.
 *
 * A rule whose nodes are made shows them to the backend of the context, which may keep a copy where it
 * computes: from then on it is asked for the sums of samples, all of a call at once.  What it does not serve
 * it leaves to the processor. */
#ifndef STAIR_POSTERIOR_ONE_ROW_SEAM_H
#define STAIR_POSTERIOR_ONE_ROW_SEAM_H

#include "kernels/follow.h"
#include "posterior/hidden_nodes.h"
#include "posterior/one_row_sums.h"

enum { STAIR_ONE_ROW_HALVES = 2 };

typedef struct stair_one_row_tables {
    stair_one_row_shape shape;
    bool flat;                            /* nodes are a table, and no sums of z are wanted, only of z z^T */
    double half_inverse;                  /* 1 / 2v of the last row */
    double deviation[STAIR_ONE_ROW_ROWS]; /* of each hidden row */
    size_t blocks[STAIR_ONE_ROW_HALVES];
    const double *table[STAIR_ONE_ROW_HALVES];   /* flat */
    const double *place[STAIR_ONE_ROW_HALVES];   /* nodes that move with the means, in deviations, */
    const double *measure[STAIR_ONE_ROW_HALVES]; /* and the logarithm of what each stands for */
    const stair_one_row_plane *plane;            /* (halves): nodes that stay; NULL: none */
    double reach;                                /* of these around the mean */
    bool mixed;                                  /* w = T(u) x is known as a formula: */
    stair_mixing mixing;
    const stair_hidden_nodes *following; /* (sets, levels, halves) of nodes that follow samples, or NULL */
    double agreed; /* difference of log Z between the halves of a first look for which */
    int disagree;  /* the fewest are enough; from level to level times as much */
} stair_one_row_tables;

typedef struct stair_one_row_seam {
    /* *kept: the backend's copy; NULL where it does not serve. */
    stair_status (*open)(stair_context *context, const stair_one_row_tables *tables, void **kept);
    void (*close)(void *kept);
    /* samples (n, 2M + rows M): the last row at the anchor, its mean, means of the hidden rows.
     * followers (n): where nodes follow samples, sample i having set i modulo the sets; or NULL.
     * sums (n, halves, shape.sums). */
    stair_status (*sums)(stair_context *context, void *kept, size_t n, const double *samples,
                         const stair_follow *followers, double *sums);
} stair_one_row_seam;

#endif
