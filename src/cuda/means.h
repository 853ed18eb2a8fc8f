/* Launches of means.cu. */
#ifndef STAIR_CUDA_MEANS_H
#define STAIR_CUDA_MEANS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/slot.h"
#include "kernels/means.h"

enum {
    STAIR_CARD_SPAN = 16, /* means side by side: the span of average/hidden_means_sums.h */
    STAIR_CARD_GROUP = 4  /* spans of a plane that one block of threads has */
};

/* Nodes and means on the card. */
typedef struct {
    stair_device *device;
    stair_means_form form;
    int random, halves;
    int count, half, room; /* nodes of a set, of its first half; means */
    float *nodes;          /* (sets, 5 + 2 rows + 1, count): log weight, T, u, base */
    float *mean;           /* plane: (4, room): high parts of both coordinates, low parts; then */
    float *group;          /* (groups, 3): centre and radius within which nodes count */
    float inverse, negligible;
} stair_cuda_means;

/* What a call has on the card. */
typedef struct {
    int n;
    const stair_means_seen *label;
    const int *set;
    const float *scaled, *constant;
    float *rows; /* room for (n, halves, half, wide): nodes that count */
    int *counts; /* (n, halves) */
    float *top, *sums;
} stair_means_call;

stair_status stair_cuda_means_sums(stair_context *context, const stair_cuda_slot *slot,
                                   const stair_cuda_means *means, const stair_means_call *call);
/* Whether there is a kernel for this form. */
bool stair_cuda_means_served(const stair_means_form *form, bool random);

#ifdef __cplusplus
}
#endif
#endif
