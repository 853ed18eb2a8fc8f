/* Free entropy S(Q) - S(0), S(Q) = 1/2 [log det(1 - Q) + Tr Q] + alpha E log Z_out.
 *
 * log Z_out is a density in coordinates of the label, so S has an alpha-dependent constant that only the
 * difference removes.  Labels have the same distribution at any Q: samples take the difference label by
 * label, where most of what varies cancels; a grid of labels takes the difference of two averages. dS/dQ =
 * (Qhat(Q) - Q (1-Q)^-1)/2 vanishes at fixed points of state evolution. */
#include "asymptotics/asymptotics.h"
#include "asymptotics/label_grid.h"

#include <math.h>
#include <stdlib.h>

#include "core/matrix.h"

/* By grids, at both ends; those need not have as many replicates. */
static stair_status subtract_grids(stair_context *context, const stair_model *model,
                                   const stair_outer_rule *rule, stair_outer *at, stair_outer *from,
                                   double *value, double *error)
{
    double zero[STAIR_SQUARE] = {0}, part[STAIR_MOST_REPLICATES], start[STAIR_MOST_REPLICATES];
    STAIR_TRY(stair_outer_evaluate(context, model, rule, zero, NULL, from));
    bool paired =
        at->replicates == from->replicates && at->random == from->random; /* noise cancels in part */
    for (int r = 0; r < from->replicates; r++) start[r] = stair_outer_logz(from, r);
    for (int r = 0; r < at->replicates; r++) part[r] = stair_outer_logz(at, r) - (paired ? start[r] : 0);
    *value -= stair_outer_logz(from, -1);
    *error = hypot(stair_outer_spread(at, part), paired ? 0 : stair_outer_spread(from, start));
    *error = hypot(*error, from->logz_bias);
    return STAIR_OK;
}

/* E log Z_out at q less that at zero. */
static stair_status difference(stair_context *context, const stair_model *model, const stair_outer_rule *rule,
                               const double *q, stair_outer *at, stair_outer *from, double *value,
                               double *error)
{
    double part[STAIR_MOST_REPLICATES];
    STAIR_TRY(stair_outer_evaluate(context, model, rule, q, NULL, at));
    *value = stair_outer_logz(at, -1);
    for (int r = 0; r < at->replicates; r++) part[r] = stair_outer_logz(at, r);
    *error = stair_outer_spread(at, part);
    if (!rule->relative) STAIR_TRY(subtract_grids(context, model, rule, at, from, value, error));
    *error = hypot(*error, at->logz_bias);
    return STAIR_OK;
}

/* The rule of the average at q. */
static stair_status choose_rule(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *options, const double *q,
                                stair_outer_rule *rule)
{
    stair_branch *b = malloc(sizeof *b);
    if (!b) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_branch_prepare(b, context, model, options);
    *rule = b->fine;
    rule->sampled = rule->relative = !stair_label_grid_fits(context, model, q);
    free(b);
    return STAIR_OK;
}

stair_status stair_entropy_at(stair_context *context, const stair_model *model,
                              const stair_asymptotics_options *options, double alpha, const double *q,
                              double *entropy, double *error)
{
    int p = model->info.indices;
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], prior = 0, value = 0;
    stair_outer_rule rule;
    stair_outer at = {0}, from = {0};
    STAIR_TRY(stair_asymptotics_check(context, options));
    stair_matrix_eigen(p, q, values, vectors);
    for (int k = 0; k < p; k++) prior += 0.5 * (log(1 - values[k]) + values[k]);
    if (!(values[p - 1] < 1)) { /* perfect recovery of a noiseless model: S is infinite */
        *entropy = INFINITY;
        *error = 0;
        return STAIR_OK;
    }
    STAIR_TRY(choose_rule(context, model, options, q, &rule));
    stair_status status = stair_outer_create(context, model, 0, rule.replicates, &at);
    if (status == STAIR_OK) status = stair_outer_create(context, model, 0, rule.replicates, &from);
    if (status == STAIR_OK) status = difference(context, model, &rule, q, &at, &from, &value, error);
    stair_outer_destroy(&at);
    stair_outer_destroy(&from);
    *entropy = prior + alpha * value;
    *error *= alpha;
    return status;
}
