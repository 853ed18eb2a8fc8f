/* The table of rules, and what they have in common. */
#include "posterior/denoiser.h"

#include <math.h>
#include <stdlib.h>
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

/* Samples that one of the halves does not see at all: the channel looks for them, each by itself. */
typedef struct {
    const stair_denoiser *denoiser;
    uint64_t first;
    const double *labels, *omega;
    stair_denoised *result;
    size_t *unseen; /* which samples */
    double *work;   /* of each */
} unseen_job;

static stair_status ask_channel(void *user, size_t number, int thread, stair_context *local)
{
    const unseen_job *job = user;
    const stair_denoiser *d = job->denoiser;
    const stair_model_info *info = &d->structure->model->info;
    size_t pm = (size_t)(info->indices * info->tokens), i = job->unseen[number], at = i * STAIR_PARTS_OF_RULE;
    stair_channel_result out = {.logz = job->result->logz + at,
                                .g = job->result->g + at * pm,
                                .dg = job->result->dg + at * pm * pm,
                                .error = job->result->error + i};
    double before = local->work;
    (void)thread;
    STAIR_TRY(stair_channel_evaluate(local, d->structure->model, &d->channel, job->first + i, 1,
                                     job->labels + i * (size_t)info->label_size, job->omega + i * pm, 1,
                                     d->cov, &out));
    job->work[number] = local->work - before;
    for (size_t part = 1; part < STAIR_PARTS_OF_RULE; part++) {
        out.logz[part] = out.logz[0];
        memcpy(out.g + part * pm, out.g, pm * sizeof(double));
        memcpy(out.dg + part * pm * pm, out.dg, pm * pm * sizeof(double));
    }
    return STAIR_OK;
}

static stair_status look_for_unseen(stair_context *context, unseen_job *job, size_t count)
{
    size_t found = 0;
    job->unseen = malloc(count * sizeof *job->unseen);
    job->work = calloc(count, sizeof *job->work);
    stair_status status = STAIR_OK;
    if (!job->unseen || !job->work) status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; found < count && status == STAIR_OK; i++)
        if (!isfinite(job->result->error[i])) job->unseen[found++] = i;
    if (status == STAIR_OK) status = stair_parallel(context, count, ask_channel, job);
    for (size_t k = 0; k < count && status == STAIR_OK; k++) context->work += job->work[k];
    free(job->unseen);
    free(job->work);
    return status;
}

stair_status stair_denoiser_evaluate(stair_context *context, stair_denoiser *d, uint64_t first, size_t n,
                                     const double *labels, const double *omega, const double *drawn,
                                     stair_denoised *result)
{
    size_t unseen = 0;
    result->n = n;
    STAIR_TRY(d->rule->evaluate(context, d->state, first, n, labels, omega, drawn, result));
    for (size_t i = 0; i < n && d->rule->by_sample; i++) {
        const double *logz = result->logz + i * STAIR_PARTS_OF_RULE;
        result->error[i] = 0.5 * fabs(logz[1] - logz[2]);
        unseen += !isfinite(result->error[i]);
    }
    unseen_job job = {.denoiser = d, .first = first, .labels = labels, .omega = omega, .result = result};
    return unseen ? look_for_unseen(context, &job, unseen) : STAIR_OK;
}

bool stair_denoiser_is_kept(const stair_denoiser *d)
{
    return d->state && d->rule->kept && d->rule->kept(d->state);
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
