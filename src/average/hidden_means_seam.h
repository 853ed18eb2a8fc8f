/* Sums of hidden_means.c over many labels, for a backend to take over: as posterior/one_row_seam.h. */
#ifndef STAIR_AVERAGE_HIDDEN_MEANS_SEAM_H
#define STAIR_AVERAGE_HIDDEN_MEANS_SEAM_H

#include "average/hidden_means_sums.h"
#include "core/context.h"

typedef struct stair_means_tables {
    const stair_means_shape *shape;
    bool random; /* nodes are lattices, and labels have means of their own */
    int sets;    /* of nodes */
    const stair_means_nodes *nodes;
    float *const *base; /* (sets): the part of log A that is the node's alone */
    int halves;
    size_t half;        /* nodes of the first */
    int dims;           /* coordinates of rows with overlap, */
    const int *axis;    /* and which */
    size_t means, room; /* and rounded up to whole spans */
    const double *mean; /* not random: (2, room) */
    double inverse;     /* not random: 1 / 2V */
    float negligible;   /* exponents that far below the largest do not count, */
    float least_prior;  /* nor A below this, where nodes are not random */
} stair_means_tables;

/* n labels; random: with their set of nodes and their means. */
typedef struct stair_means_asked {
    size_t n;
    const stair_means_label *label;
    const int *set;
    const float *scaled, *constant; /* (n, dims, room), (n, room): as stair_means_priors takes them */
    float *top;                     /* (n): out, the largest exponent */
    float *sums;                    /* (n, halves, room / span, sums, span): out */
} stair_means_asked;

typedef struct stair_means_seam {
    /* *kept: the backend's copy; NULL where it does not serve. */
    stair_status (*open)(stair_context *context, const stair_means_tables *tables, void **kept);
    void (*close)(void *kept);
    stair_status (*sums)(stair_context *context, void *kept, const stair_means_asked *asked);
} stair_means_seam;

#endif
