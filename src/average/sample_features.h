/* What one sample of samples.c adds to an average: targets, controls of mean zero, sizes of controls. */
#ifndef STAIR_AVERAGE_SAMPLE_FEATURES_H
#define STAIR_AVERAGE_SAMPLE_FEATURES_H

#include "average/average.h"
#include "average/controls.h"
#include "posterior/denoiser.h"

#define STAIR_SAMPLE_RICH 5    /* further controls of a row */
#define STAIR_SAMPLE_MOST 1024 /* targets, controls and their sizes of one sample */

typedef struct {
    const stair_model *model;
    const stair_structure *structure;
    const stair_average_effort *effort;
    stair_average *out;
    int p, m;
    bool rich; /* controls beyond the sums over tokens of g g^T + dg */
    bool linear_too;
    bool even;                                                            /* Z and -Z give the same numbers */
    double root_q[STAIR_SQUARE], root_v[STAIR_SQUARE], cov[STAIR_SQUARE]; /* sqrt(Q), sqrt(V + prenoise), V */
    bool flat[STAIR_MAX_INDICES];                                         /* rows of sqrt(Q) that are zero */
    stair_subspace rest;
    stair_denoiser denoiser, ignorant;   /* the second: nothing known, for effort->relative */
    double *nothing, unit[STAIR_SQUARE]; /* its omega (batch, P, M) and covariance: zeros and the identity */
    double root[STAIR_SQUARE], inverse[STAIR_SQUARE]; /* (V + prenoise)^1/2 and ^-1/2 */
    double expected[STAIR_MAX_INDICES];               /* of `told`, this replicate's estimate */
    double shift[2 * STAIR_MAX_CELLS + STAIR_MAX_LABEL];
    int replicate;
    double widening;
    size_t first;
    size_t batch, most;                      /* samples of the batch; of any */
    double *labels, *omega, *drawn, *weight; /* one batch; drawn (P, M): Z of each sample */
    double *told;                            /* (batch, P): by a linear label at omega */
    stair_denoised moments, before;          /* by either denoiser */
    double *features; /* (batch, width): targets, controls, sizes of controls, `plain` of the whole */
    double *sums;     /* (replicates, targets + controls) */
    int width,
        plain; /* plain: f_ii, trace of the operator and log Z without the correction for random nodes, */
    double *whole, *corrected; /* (plain): their sums, and those with it */
    stair_controls controls;
} stair_sample_job;

int stair_sample_pairs(const stair_sample_job *job);    /* controls g g^T + dg */
int stair_sample_controls(const stair_sample_job *job); /* all */
/* f_ii, the trace of the operator and log Z among targets f, which the noise of random nodes makes larger. */
void stair_sample_plain(const stair_sample_job *job, const double *f, double *out);
/* feature (width) of sample n of the batch. */
void stair_sample_features(const stair_sample_job *job, size_t n, double *feature);

#endif
