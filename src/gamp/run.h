/* What runs on drawn and on given data share. */
#ifndef STAIR_GAMP_RUN_H
#define STAIR_GAMP_RUN_H

#include "gamp/gamp.h"

stair_status stair_gamp_result_create(stair_context *context, const stair_model *model, int runs, int dim,
                                      size_t samples, stair_gamp_result **result);

/* Everything that decides the numbers, in words. */
uint64_t stair_gamp_fingerprint(const stair_model *model, const stair_gamp_options *options, size_t samples);

/* Run `number` of `runs`, from its start or its checkpoint to its end; out->seed and out->alpha are set. */
stair_status stair_gamp_run_one(stair_context *context, const stair_model *model,
                                const stair_gamp_options *options, const stair_gamp_problem *problem,
                                size_t number, int runs, uint64_t fingerprint, stair_gamp_run *out);

#endif
