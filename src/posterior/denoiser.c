/* The table of rules, and what they have in common. */
#include "posterior/denoiser.h"

#include <math.h>
#include <string.h>

const stair_denoiser_rule *const stair_denoiser_rules[] = {&stair_denoiser_exchange, &stair_denoiser_one_row,
                                                           &stair_denoiser_two_rows, &stair_denoiser_channel,
                                                           NULL};

static const stair_denoiser_rule *choose(const stair_structure *structure, const double *cov, double fineness)
{
    const stair_denoiser_rule *const *rule = stair_denoiser_rules;
    if (!(fineness > 0)) return &stair_denoiser_channel;
    while (!(*rule)->fits(structure, cov)) rule++;
    return *rule;
}

stair_status stair_denoiser_create(stair_context *context, const stair_structure *structure,
                                   const double *cov, const stair_denoiser_effort *effort, stair_denoiser *d)
{
    const stair_model *model = structure->model;
    *d = (stair_denoiser){.structure = structure, .cov = cov, .channel = effort->channel};
    d->rule = choose(structure, cov, effort->fineness);
    bool exact = d->rule == &stair_denoiser_channel && model->fibre_dim == 0 && !model->info.output_noisy;
    d->parts = exact || d->rule->whole ? 1 : STAIR_PARTS_OF_RULE;
    return d->rule->create(context, structure, cov, effort, &d->state);
}

void stair_denoiser_destroy(stair_denoiser *d)
{
    if (d->state) d->rule->destroy(&d->state);
}

/* A sample that one of the halves does not see at all: the channel looks for it. */
static stair_status ask_channel(stair_context *context, const stair_denoiser *d, uint64_t sample, size_t i,
                                const double *label, const double *omega, stair_denoised *result)
{
    const stair_model *model = d->structure->model;
    size_t pm = (size_t)(model->info.indices * model->info.tokens), at = i * STAIR_PARTS_OF_RULE;
    stair_channel_result out = {.logz = result->logz + at,
                                .g = result->g + at * pm,
                                .dg = result->dg + at * pm * pm,
                                .error = result->error + i};
    STAIR_TRY(stair_channel_evaluate(context, model, &d->channel, sample, 1, label, omega, 1, d->cov, &out));
    for (size_t part = 1; part < STAIR_PARTS_OF_RULE; part++) {
        result->logz[at + part] = out.logz[0];
        memcpy(out.g + part * pm, out.g, pm * sizeof(double));
        memcpy(out.dg + part * pm * pm, out.dg, pm * pm * sizeof(double));
    }
    return STAIR_OK;
}

stair_status stair_denoiser_evaluate(stair_context *context, stair_denoiser *d, uint64_t first, size_t n,
                                     const double *labels, const double *omega, const double *drawn,
                                     stair_denoised *result)
{
    const stair_model_info *info = &d->structure->model->info;
    size_t pm = (size_t)(info->indices * info->tokens), k = (size_t)info->label_size;
    result->n = n;
    STAIR_TRY(d->rule->evaluate(context, d->state, first, n, labels, omega, drawn, result));
    for (size_t i = 0; i < n && d->rule->by_sample; i++) {
        const double *logz = result->logz + i * STAIR_PARTS_OF_RULE;
        result->error[i] = 0.5 * fabs(logz[1] - logz[2]);
        if (!isfinite(result->error[i]))
            STAIR_TRY(ask_channel(context, d, first + i, i, labels + i * k, omega + i * pm, result));
    }
    return STAIR_OK;
}

bool stair_denoiser_is_random(const stair_denoiser *d)
{
    return d->state && d->rule->random && d->rule->random(d->state);
}

double stair_denoiser_steepest(const stair_denoiser *d)
{
    return d->rule->steepest ? d->rule->steepest(d->state) : 0;
}

double stair_denoiser_label_width(const stair_denoiser *d, const double *mean)
{
    return d->rule->label_width ? d->rule->label_width(d->state, mean) : 0;
}

stair_status stair_denoised_share(stair_context *context, const stair_model *model, size_t samples, int parts,
                                  stair_parallel_body *body, void *job, size_t n, stair_denoised *result)
{
    size_t pm = (size_t)(model->info.indices * model->info.tokens), each = (size_t)parts * sizeof(double);
    stair_filled arrays[] = {{result->logz, samples * each, n * each},
                             {result->g, samples * each * pm, n * each * pm},
                             {result->dg, samples * each * pm * pm, n * each * pm * pm}};
    return stair_parallel_shared(context, (n + samples - 1) / samples, body, job, arrays, 3);
}

size_t stair_denoised_at(const stair_denoiser *d, const stair_denoised *result, size_t i, int part)
{
    if (d->rule->by_sample) return i * STAIR_PARTS_OF_RULE + (size_t)part;
    return part ? result->n + 2 * i + (size_t)part - 1 : i;
}

double stair_part_share(bool random, int part)
{
    return !random ? part == 0 : part == 0 ? 2 : -0.5;
}

double stair_denoiser_share(const stair_denoiser *d, int part)
{
    return stair_part_share(d->rule->by_sample ? stair_denoiser_is_random(d) : d->parts > 1, part);
}
