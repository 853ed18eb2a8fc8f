/* The label is linear in some rows of Z once others are given, with noise: the former are integrated out and
 * the latter sampled (model/marginal.h has the equations).  The error is twice the standard error over
 * replicates. */
#include "channel/rules.h"

#include <math.h>

#include "core/qmc.h"
#include "model/marginal.h"

enum { REPLICATES = STAIR_QMC_SHIFTS }; /* of the first round */

/* As stair_posterior_distance(), but g may be as small as it happens to be for one label: what it adds to an
 * average counts beside the mean square of g, which is -dg. */
static double noise_of(const stair_integrand *f, const stair_posterior *whole, const stair_posterior *part)
{
    int size = f->size;
    double dg = stair_posterior_norm(size * size, whole->dg, NULL),
           g = fmax(stair_posterior_norm(size, whole->g, NULL), sqrt(dg));
    return fmax(fabs(whole->logz - part->logz),
                fmax(stair_posterior_norm(size, whole->g, part->g) / g,
                     stair_posterior_norm(size * size, whole->dg, part->dg) / dg));
}

/* Whole, and twice the standard error of its mean over replicates; noise: as one of many labels. */
static double combine(stair_worker *w, int replicates, stair_posterior *out, double *noise)
{
    double square = 0, noises = 0;
    stair_marginal_finish(w->marginal, 0, replicates, &out->logz, out->g, out->dg);
    for (int r = 0; r < replicates; r++) {
        stair_marginal_finish(w->marginal, r, r + 1, &w->first.logz, w->first.g, w->first.dg);
        double distance = stair_posterior_distance(&w->f, out, &w->first);
        double here = noise_of(&w->f, out, &w->first);
        square += distance * distance;
        noises += here * here;
    }
    *noise = 2 * sqrt(noises / (replicates * (replicates - 1.0)));
    return 2 * sqrt(square / (replicates * (replicates - 1.0)));
}

/* The posterior by either half of the replicates. */
static void split(stair_worker *w, int replicates)
{
    for (int half = 0; half < 2; half++) {
        int from = half * (replicates / 2);
        stair_posterior *out = &w->half[half];
        stair_marginal_finish(w->marginal, from, from + replicates / 2, &out->logz, out->g, out->dg);
    }
    w->halved = true;
}

static bool fits(const stair_integrand *f, bool forced)
{
    (void)forced;
    return stair_marginal_exists(f->fibre.model);
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    stair_integrand *f = &w->f;
    if (!w->marginal && stair_marginal_create(w->context, f->fibre.model, &w->marginal) != STAIR_OK)
        return result;
    if (!stair_marginal_set(w->marginal, w->label, f->mean, f->variance)) return result;
    for (int n = STAIR_MARGINAL_FIRST, replicates = REPLICATES;;) {
        for (int r = 0; r < replicates; r++, f->visited += 2 * n)
            if (!stair_marginal_sum(w->marginal, options->seed, w->sample, r, n)) return result;
        double noise;
        result.error = combine(w, replicates, out, &noise);
        result.converged = result.error <= options->precision || noise <= options->noise;
        bool last = n >= STAIR_QMC_TABLE && replicates * 2 > STAIR_MARGINAL_MOST;
        if (result.converged || f->visited > options->max_nodes / 3 || last) {
            split(w, replicates);
            return result;
        }
        if (n < STAIR_QMC_TABLE)
            n *= 2;
        else
            replicates *= 2;
    }
}

const stair_channel_rule stair_rule_marginal = {.name = "marginal",
                                                .number = STAIR_RULE_MARGINAL,
                                                .random = true,
                                                .cost = 0.3,
                                                .fits = fits,
                                                .evaluate = evaluate};
