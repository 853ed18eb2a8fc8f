/* A finite fibre, no coordinates: a point in every chart, and its mirror, are summed. */
#include <math.h>

#include "channel/rules.h"

static bool fits(const stair_integrand *f, bool forced)
{
    (void)forced;
    return f->dim == 0 && stair_fibre_exists(f->fibre.model);
}

/* The likeliest point of all charts becomes the origin; returns its energy. */
static double exact_origin(stair_integrand *f)
{
    double top = -INFINITY;
    for (f->chart = 0; f->chart < f->fibre.charts; f->chart++) {
        double here = stair_integrand_energies(f, 1);
        if (!(here > top) && f->chart) continue;
        top = here;
        for (int i = 0; i < f->size; i++) {
            double b = i < f->shape.free_rows * f->shape.tokens ? 0 : f->nodes.b[(size_t)i * STAIR_BLOCK];
            f->origin[i] = f->nodes.a[(size_t)i * STAIR_BLOCK] +
                           (f->shape.mirrored && f->nodes.minus[0] > f->nodes.plus[0] ? -b : b);
        }
    }
    return top;
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    (void)options;
    stair_integrand *f = &w->f;
    double top = exact_origin(f);
    stair_moments_clear(f, &w->total);
    for (f->chart = 0; f->chart < f->fibre.charts; f->chart++) {
        stair_integrand_energies(f, 1);
        stair_integrand_add(f, 1, NULL, top, &w->total);
    }
    f->chart = 0;
    stair_moments_finish(f, &w->total, out);
    double rounding = stair_integrand_rounding(f) * stair_posterior_sensitivity(f, out);
    return (stair_rule_result){.error = rounding, .converged = true};
}

const stair_channel_rule stair_rule_exact = {
    .name = "exact", .number = STAIR_RULE_EXACT, .fits = fits, .evaluate = evaluate};
