/* One layer of rank one without noise on y: the label fixes the row of Z up to its sign, two points. */
#include "model/attention.h"
#include "model/two_points.h"

static bool exists(const stair_model *model)
{
    const stair_attention *a = model->state;
    return a->layers == 1 && a->rank[0] == 1 && !a->unseen && !model->info.output_noisy;
}

static stair_status evaluate(stair_context *context, const stair_model *model, const double *label,
                             const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    const stair_attention *a = model->state;
    double h[STAIR_MAX_TOKENS];
    STAIR_TRY(stair_attention_points(context, a, label, h));
    stair_two_points(a->tokens, h, omega, cov[0], a->tokens, logz, g, dg);
    return STAIR_OK;
}

const stair_closed_ops stair_attention_closed = {.exists = exists, .evaluate = evaluate};
