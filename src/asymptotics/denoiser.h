/* Posterior moments for averages over samples that share one covariance. */
#ifndef STAIR_ASYMPTOTICS_DENOISER_H
#define STAIR_ASYMPTOTICS_DENOISER_H

#include "asymptotics/pair.h"

typedef struct {
    const stair_model *model;
    stair_channel_options channel;
    const double *cov;    /* (P, P), the caller's */
    stair_hidden *hidden; /* one last row, */
    stair_pair *pair;     /* or two; both NULL: the channel answers */
    int parts; /* estimates of each sample: 1, or 3 (whole, half, half) that take the bias out, see hidden.c
                */
} stair_denoiser;

/* (n, parts) and so on, in the order of stair_denoised_at(); the caller's. */
typedef struct {
    size_t n; /* samples of the last evaluation */
    double *logz, *g, *dg;
    double
        *error; /* (n): of the channel; of the hidden rule, half the distance between the halves in log Z */
    double *anchors; /* (n, M): room */
} stair_denoised;

/* fineness and nodes as in hidden.h; the channel serves models that neither rule fits, and fineness 0. */
stair_status stair_denoiser_create(stair_context *context, const stair_model *model,
                                   const stair_channel_options *channel, const double *cov, double fineness,
                                   size_t nodes, uint64_t seed, stair_denoiser *denoiser);
void stair_denoiser_destroy(stair_denoiser *denoiser);
stair_status stair_denoiser_evaluate(stair_context *context, stair_denoiser *denoiser, uint64_t first,
                                     size_t n, const double *labels, const double *omega, const double *drawn,
                                     stair_denoised *result);

/* Where part k of sample i stands in the arrays. */
size_t stair_denoised_at(const stair_denoiser *denoiser, const stair_denoised *result, size_t i, int part);

bool stair_denoiser_is_random(
    const stair_denoiser *denoiser); /* hidden nodes are, and a new seed makes new ones */

/* Share of part k in an average: 1 for the whole; 2, -1/2, -1/2 where nodes are random, see hidden.c. */
double stair_denoiser_share(const stair_denoiser *denoiser, int part);

#endif
