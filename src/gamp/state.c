/* Memory of a run, and where it starts:
 *
 *   random             W = s n,                       C = 1
 *   overlap q          W = q W* + sqrt(q (1-q)) n,    C = 1 - q
 *   side information   W = sqrt(l) S,                 C = 1 - l
 *
 * with n Gaussian, on the block of each row.  With s = 1/sqrt(D) a random W has overlap and self-overlap of
 * order 1/D, as side information l = 1/D would give it.  An overlap is the posterior mean given a noisy look
 * at W*, which is then forgotten; side information is kept in every update. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "gamp/gamp.h"

stair_status stair_gamp_state_create(stair_context *context, const stair_model *model,
                                     const stair_gamp_options *options, const stair_gamp_problem *problem,
                                     stair_gamp_state *state)
{
    const stair_model_info *info = &model->info;
    size_t n = problem->tiles.samples, cells = (size_t)(info->indices * info->tokens);
    size_t size = (size_t)info->indices * (size_t)problem->tiles.dim;
    *state = (stair_gamp_state){.model = model,
                                .options = options,
                                .channel = stair_channel_defaults(),
                                .variant = (stair_gamp_variant)stair_gamp_variant_of(options->variant),
                                .problem = problem,
                                .p = info->indices,
                                .m = info->tokens,
                                .dim = problem->tiles.dim,
                                .one = stair_blocks_dim(model, problem->tiles.dim),
                                .samples = n};
    state->scale = 1 / sqrt((double)state->one);
    if (model->blocks > 1 && (state->variant == STAIR_GAMP_FULL || state->variant == STAIR_GAMP_BP))
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "variant '%s' is for embeddings of one block, and this model has %d",
                          options->variant, model->blocks);
    state->channel.precision = options->precision;
    state->channel.seed = options->seed;
    state->w = calloc(size, sizeof(double));
    state->b = calloc(stair_gamp_sum_size(state), sizeof(double));
    state->g = calloc(n * cells + 1, sizeof(double));
    state->o = calloc(n * cells + 1, sizeof(double));
    state->next_g = calloc(n * cells + 1, sizeof(double));
    state->next_o = calloc(n * cells + 1, sizeof(double));
    size_t more = state->variant == STAIR_GAMP_FULL ? stair_gamp_full_size(state)
                  : state->variant == STAIR_GAMP_BP ? stair_gamp_bp_size(state)
                                                    : 1;
    state->full = calloc(more, sizeof(double));
    if (state->w && state->b && state->g && state->o && state->next_g && state->next_o && state->full)
        return STAIR_OK;
    stair_gamp_state_destroy(state);
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_gamp_state_destroy(stair_gamp_state *s)
{
    free(s->w);
    free(s->b);
    free(s->room);
    free(s->g);
    free(s->o);
    free(s->next_g);
    free(s->next_o);
    free(s->full);
    *s = (stair_gamp_state){0};
}

void stair_gamp_state_start(stair_gamp_state *s, uint64_t seed)
{
    const stair_gamp_options *o = s->options;
    const double *teacher = s->problem->teacher, *side = s->problem->side;
    double q = o->start_overlap, spread = o->start > 0 ? o->start : s->scale;
    size_t size = (size_t)s->p * (size_t)s->dim;
    if (side) {
        q = o->side;
        for (size_t i = 0; i < size; i++) s->w[i] = sqrt(q) * side[i];
    } else {
        stair_rng_rows(seed, STAIR_RNG_INIT, s->p, s->dim, q > 0 ? sqrt(q * (1 - q)) : spread, s->w);
        stair_blocks_keep(s->model, s->dim, s->w);
        for (size_t i = 0; i < size && q > 0; i++) s->w[i] += q * teacher[i];
    }
    for (int i = 0; i < s->p * s->p; i++) s->c[i] = i % (s->p + 1) == 0 ? 1 - q : 0;
    if (s->variant == STAIR_GAMP_FULL) stair_gamp_full_start(s);
    if (s->variant == STAIR_GAMP_BP) stair_gamp_bp_start(s);
}
