/* Backends: where the heavy work runs.  The context has one, chosen by name (--device).
 *
 * A backend overrides what it can; what it leaves NULL the processor does, whose code defines what is right.
 * There are two seams: a block of samples whose posteriors are asked for, and one pass of GAMP over X
 * (project, denoise, collect), between which its iterates may stay on a device.  Ranks know nothing of
 * backends: they share the ordered sums of core/reduce.h. */
#ifndef STAIR_CORE_BACKEND_H
#define STAIR_CORE_BACKEND_H

#include "stair.h"

struct stair_gamp_state;

typedef struct stair_backend {
    const char *name;      /* cpu, cuda */
    bool (*present)(void); /* NULL: always there */
    /* As stair_channel_evaluate, of checked arguments. */
    stair_status (*channel)(stair_context *context, const stair_model *model,
                            const stair_channel_options *options, uint64_t first, size_t n,
                            const double *labels, const double *omega, size_t covs, const double *cov,
                            stair_channel_result *result);
    /* One iteration's pass over X: gamp/pass.c. */
    stair_status (*pass)(stair_context *context, struct stair_gamp_state *state);
} stair_backend;

extern const stair_backend stair_backend_cpu;
extern const stair_backend
    *const stair_backends[]; /* the table, ended by NULL: the best one that is there first */

#endif
