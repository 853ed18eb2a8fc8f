/* Chooses between the rules over hidden indices (hidden.c, pair.c) and the channel. */
#include "asymptotics/denoiser.h"

#include <math.h>
#include <string.h>

stair_status stair_denoiser_create(stair_context *context, const stair_model *model,
                                   const stair_channel_options *channel, const double *cov, double fineness,
                                   size_t nodes, uint64_t seed, stair_denoiser *d)
{
    *d = (stair_denoiser){.model = model, .channel = *channel, .cov = cov, .parts = 1};
    bool one = fineness > 0 && stair_hidden_fits(context, model, cov);
    bool two = fineness > 0 && !one && stair_pair_fits(context, model, cov);
    if (one || two || model->fibre_dim > 0 || model->info.output_noisy) d->parts = STAIR_HIDDEN_PARTS;
    if (!one && !two) return STAIR_OK;
    return one ? stair_hidden_create(context, model, cov, fineness, nodes, seed, &d->hidden)
               : stair_pair_create(context, model, cov, fineness, nodes, seed, &d->pair);
}

void stair_denoiser_destroy(stair_denoiser *d)
{
    stair_hidden_destroy(&d->hidden);
    stair_pair_destroy(&d->pair);
}

/* A sample that one of the halves does not see at all: the channel looks for it. */
static stair_status ask_channel(stair_context *context, const stair_denoiser *d, uint64_t sample, size_t i,
                                const double *label, const double *omega, stair_denoised *result)
{
    size_t pm = (size_t)(d->model->info.indices * d->model->info.tokens), at = i * STAIR_HIDDEN_PARTS;
    stair_channel_result out = {.logz = result->logz + at,
                                .g = result->g + at * pm,
                                .dg = result->dg + at * pm * pm,
                                .error = result->error + i};
    STAIR_TRY(
        stair_channel_evaluate(context, d->model, &d->channel, sample, 1, label, omega, 1, d->cov, &out));
    for (size_t part = 1; part < STAIR_HIDDEN_PARTS; part++) {
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
    size_t pm = (size_t)(d->model->info.indices * d->model->info.tokens),
           k = (size_t)d->model->info.label_size;
    result->n = n;
    if (!d->hidden && !d->pair) {
        stair_channel_result out = {
            .logz = result->logz, .g = result->g, .dg = result->dg, .error = result->error};
        if (d->parts > 1) {
            out.half_logz = result->logz + n;
            out.half_g = result->g + n * pm;
            out.half_dg = result->dg + n * pm * pm;
        }
        return stair_channel_evaluate(context, d->model, &d->channel, first, n, labels, omega, 1, d->cov,
                                      &out);
    }
    stair_hidden_result out = {.logz = result->logz, .g = result->g, .dg = result->dg};
    if (d->hidden) {
        STAIR_TRY(stair_hidden_anchors(context, d->hidden, n, labels, result->anchors));
        STAIR_TRY(stair_hidden_evaluate(context, d->hidden, n, result->anchors, omega, drawn, &out));
    } else {
        STAIR_TRY(stair_pair_anchors(context, d->pair, n, labels, result->anchors));
        STAIR_TRY(stair_pair_evaluate(context, d->pair, n, result->anchors, omega, &out));
    }
    for (size_t i = 0; i < n; i++) {
        result->error[i] =
            0.5 * fabs(result->logz[i * STAIR_HIDDEN_PARTS + 1] - result->logz[i * STAIR_HIDDEN_PARTS + 2]);
        if (!isfinite(result->error[i]))
            STAIR_TRY(ask_channel(context, d, first + i, i, labels + i * k, omega + i * pm, result));
    }
    return STAIR_OK;
}

bool stair_denoiser_is_random(const stair_denoiser *d)
{
    return (d->hidden && stair_hidden_is_random(d->hidden)) || (d->pair && stair_pair_is_random(d->pair));
}

/* The channel writes the whole of all samples before the halves. */
size_t stair_denoised_at(const stair_denoiser *d, const stair_denoised *result, size_t i, int part)
{
    if (d->hidden || d->pair) return i * STAIR_HIDDEN_PARTS + (size_t)part;
    return part ? result->n + 2 * i + (size_t)part - 1 : i;
}

double stair_denoiser_share(const stair_denoiser *d, int part)
{
    bool channel = !d->hidden && !d->pair;
    return stair_hidden_share(channel ? d->parts > 1 : stair_denoiser_is_random(d), part);
}
