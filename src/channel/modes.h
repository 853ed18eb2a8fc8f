/* The modes of an integrand: where its mass is and how wide it is there. */
#ifndef STAIR_CHANNEL_MODES_H
#define STAIR_CHANNEL_MODES_H

#include "channel/lattice_points.h"
#include "channel/moments.h"

typedef struct {
    double *u;         /* (dim) */
    double *precision; /* (dim, dim): J^T J at u */
    double *lower;     /* (dim, dim): Cholesky factor of its inverse */
    double *jacobian;  /* (dim, P*M + residuals): scratch, shared by all modes */
    double *scratch;   /* (2, dim, dim), likewise */
    double value;      /* log of the integrand at u */
    double log_mass;   /* Laplace: value + log volume of the Gaussian */
    double share;      /* of the Laplace masses of all modes */
    int sign;          /* +1, or -1 for the mirror */
} stair_mode;

typedef struct {
    int count;
    int side;                               /* of the grid in two dimensions */
    double span;                            /* and its width, in prior standard deviations */
    int pilots;                             /* points of the first look, */
    double *pilot;                          /* (dim, STAIR_PILOT_MOST): their coordinates u, */
    double *pilot_t;                        /* (dim, STAIR_PILOT_MOST): the same, whitened by the prior, */
    double pilot_value[STAIR_PILOT_MOST];   /* the exponent there, the larger of both signs, */
    double pilot_sign[2][STAIR_PILOT_MOST]; /* that of each sign, */
    double pilot_mass[STAIR_PILOT_MOST];    /* and the integrand itself */
    bool stiff; /* the integrand changes too fast for the pilot to have seen its shape */
    stair_mode mode[STAIR_MOST_MODES];
    double *scratch; /* (2, dim, dim) */
    double *starts;  /* of climbs: see modes.c */
    double *memory;
} stair_modes;

stair_status stair_modes_create(stair_context *context, const stair_integrand *f, stair_modes *modes);
void stair_modes_destroy(stair_modes *modes);

/* Modes of the current chart of f whose Laplace mass is within exp(-cutoff) of the largest, most
 * massive first; at least one unless the search failed. */
void stair_modes_find(stair_integrand *f, double cutoff, stair_modes *modes);

/* The same, but where the pilot resolves the integrand a single entry with the mean and covariance of
 * the pilot stands for all modes: enough for a frame, and free. */
void stair_modes_frame(stair_integrand *f, double cutoff, stair_modes *modes);

/* Column i of modes->pilot or modes->pilot_t. */
void stair_pilot_point(int dim, const double *pilot, int i, double *x);

/* (x - u)^T precision (x - u) */
double stair_mode_distance2(int dim, const stair_mode *mode, const double *x);

#endif
