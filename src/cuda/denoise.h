/* Kernels between the two products of a pass: launches.  Of n samples; all arrays on the card. */
#ifndef STAIR_CUDA_DENOISE_H
#define STAIR_CUDA_DENOISE_H

#include "cuda/device.h"
#include "kernels/memory.h"
#include "kernels/pair.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pass has of each sample, from the first of these n on. */
typedef struct {
    const double *z;         /* (n M, P): X W */
    const double *g, *o;     /* (n, P, M): before */
    double *next_g, *next_o; /* after */
    double *omega;           /* (n, P, M) */
    float *c;                /* (n M, 4): next_g by rows, for collect */
    double *says;            /* (n, 2 P^2 + 1): -sum_m dg, sum_m g g^T, error */
    float *error;            /* (n) */
    const float *h;          /* (n, 2): of the labels, for the kernel of pairs */
} stair_card_samples;

/* Doubles of `says` of one sample. */
STAIR_HD size_t stair_card_says(int indices)
{
    return 2 * (size_t)(indices * indices) + 1;
}

stair_status stair_card_react(stair_context *context, const stair_device *device,
                              const stair_memory_form *form, size_t n, const stair_card_samples *s);
/* w (P, P): whitening, lower triangular, in double; of samples index (n), or 0 .. n-1 where it is NULL */
stair_status stair_card_pair(stair_context *context, const stair_device *device, const stair_pair_form *form,
                             const double *w, size_t n, const uint32_t *index, const stair_card_samples *s);
/* g (count, P, M) and says of samples index (count) go where they belong. */
stair_status stair_card_scatter(stair_context *context, const stair_device *device, int rows, int tokens,
                                size_t count, const uint32_t *index, const double *g, const double *says,
                                const stair_card_samples *s);
/* parts (STAIR_CARD_PARTS, width): sums of the rows of says (n, width), in a fixed order */
#define STAIR_CARD_PARTS 128 /* blocks of that sum */
stair_status stair_card_sum(stair_context *context, const stair_device *device, size_t n, size_t width,
                            const double *says, double *parts);

#ifdef __cplusplus
}
#endif
#endif
