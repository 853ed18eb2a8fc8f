/* The posterior written down: the model has a formula for log Z, g and dg (src/model/model.h, `closed`).
 *
 * The automatic choice takes it for models without a fibre of their own, as y = sign(z), and where the model
 * prefers it.  Others that have both keep the rule they had: a formula and a sum differ in their last digits,
 * and results that were kept shall not change.  --method closed forces the formula. */
#include "channel/rules.h"

static bool fits(const stair_integrand *f, bool forced)
{
    const stair_model *model = f->fibre.model;
    const stair_closed_ops *closed = stair_model_closed(model);
    if (closed && closed->holds && !closed->holds(model, f->variance)) return false;
    return closed && (forced || closed->preferred || !model->ops->fibre_open);
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    const stair_integrand *f = &w->f;
    const stair_model *model = f->fibre.model;
    stair_rule_result result = {.converged = true};
    (void)options;
    result.status = stair_model_closed(model)->evaluate(w->context, model, w->label, f->mean, f->variance,
                                                        &out->logz, out->g, out->dg);
    if (result.status == STAIR_OK)
        result.error = stair_integrand_rounding(f) * stair_posterior_sensitivity(f, out);
    return result;
}

const stair_channel_rule stair_rule_closed = {
    .name = "closed", .number = STAIR_RULE_CLOSED, .fits = fits, .evaluate = evaluate};
