/* Stability of perfect recovery. */
#ifndef STAIR_ASYMPTOTICS_PERFECT_H
#define STAIR_ASYMPTOTICS_PERFECT_H

#include "asymptotics/branch.h"

typedef struct {
    double alpha, error;              /* Q = 1 is stable above */
    int equations;                    /* independent ones that a label sets for Z: rank of dy/dZ */
    double counting;                  /* P / (equations blocks): no method recovers below it */
    double ratios[STAIR_MAX_INDICES]; /* diagonal of V as it vanishes, trace 1 */
} stair_perfect;

/* Noiseless models only. */
stair_status stair_perfect_find(stair_context *context, const stair_structure *structure, size_t points,
                                int replicates, uint64_t seed, stair_perfect *out);

#endif
