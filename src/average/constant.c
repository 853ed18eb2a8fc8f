/* A label that is the same for all Z tells nothing: g = dg = 0, and log Z is the same at every overlap. */
#include "average/average.h"

#include <string.h>

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    (void)effort, (void)q;
    return structure->constant;
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return false;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    (void)context, (void)structure, (void)q, (void)basis;
    stair_average_begin(average, effort->replicates, false);
    memset(average->mean, 0, sizeof(double) * (size_t)average->count);
    memset(average->sample, 0, sizeof(double) * (size_t)average->count * (size_t)average->replicates);
    return STAIR_OK;
}

const stair_average_rule stair_average_constant = {.name = "constant",
                                                   .text = "the label is the same for all Z",
                                                   .fits = fits,
                                                   .random = is_random,
                                                   .evaluate = evaluate};
