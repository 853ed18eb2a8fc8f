/* Any model: the channel looks for each posterior by itself.  Its halves are independent where its rule is
 * random, and the whole twice where it is not. */
#include <stdlib.h>

#include "posterior/denoiser.h"

typedef struct {
    const stair_model *model;
    const double *cov; /* (P, P), the caller's */
    stair_channel_options options;
    bool halves;
} by_channel;

static bool fits(const stair_structure *structure, const double *cov)
{
    (void)structure, (void)cov;
    return true;
}

static stair_status create(stair_context *context, const stair_structure *structure, const double *cov,
                           const stair_denoiser_effort *effort, void **state)
{
    const stair_model *model = structure->model;
    by_channel *c = *state = malloc(sizeof *c);
    if (!c) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *c = (by_channel){.model = model,
                      .cov = cov,
                      .options = effort->channel,
                      .halves = model->fibre_dim > 0 || model->info.output_noisy};
    return STAIR_OK;
}

static void destroy(void **state)
{
    free(*state);
    *state = NULL;
}

static stair_status evaluate(stair_context *context, void *state, uint64_t first, size_t n,
                             const double *labels, const double *omega, const double *drawn,
                             stair_denoised *result)
{
    const by_channel *c = state;
    size_t pm = (size_t)(c->model->info.indices * c->model->info.tokens);
    stair_channel_result out = {
        .logz = result->logz, .g = result->g, .dg = result->dg, .error = result->error};
    (void)drawn;
    if (c->halves) {
        out.half_logz = result->logz + n;
        out.half_g = result->g + n * pm;
        out.half_dg = result->dg + n * pm * pm;
    }
    return stair_channel_evaluate(context, c->model, &c->options, first, n, labels, omega, 1, c->cov, &out);
}

const stair_denoiser_rule stair_denoiser_channel = {
    .name = "channel", .fits = fits, .create = create, .destroy = destroy, .evaluate = evaluate};
