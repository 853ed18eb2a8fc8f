/* Free entropy S(Q) - S(0) per dimension, S(Q) = 1/(2H) [log det(1 - Q) + Tr Q] + alpha E log Z_out, with H
 * blocks of the embedding: a row has the dimension of one.
 *
 * log Z_out is a density in coordinates of the label, so S has an alpha-dependent constant that only the
 * difference removes.  Labels have the same distribution at any Q: samples take the difference label by
 * label, where most of what varies cancels; a grid of labels takes the difference of two averages. dS/dQ =
 * (Qhat(Q) - Q (1-Q)^-1)/(2H) vanishes at fixed points of state evolution. */
#include "asymptotics/branch.h"
#include "asymptotics/effort.h"

#include <math.h>
#include <stdlib.h>

#include "core/matrix.h"

/* By grids, at both ends; those need not have as many replicates. */
static stair_status subtract_grids(stair_context *context, const stair_structure *structure,
                                   const stair_average_effort *effort, stair_average *at, stair_average *from,
                                   double *value, double *error)
{
    double zero[STAIR_SQUARE] = {0}, part[STAIR_MOST_REPLICATES], start[STAIR_MOST_REPLICATES];
    STAIR_TRY(stair_average_evaluate(context, structure, effort, zero, NULL, from));
    bool paired =
        at->replicates == from->replicates && at->random == from->random; /* noise cancels in part */
    for (int r = 0; r < from->replicates; r++) start[r] = stair_average_logz(from, r);
    for (int r = 0; r < at->replicates; r++) part[r] = stair_average_logz(at, r) - (paired ? start[r] : 0);
    *value -= stair_average_logz(from, -1);
    *error = hypot(stair_average_spread(at, part), paired ? 0 : stair_average_spread(from, start));
    *error = hypot(*error, from->logz_bias);
    return STAIR_OK;
}

/* E log Z_out at q less that at zero. */
static stair_status difference(stair_context *context, const stair_structure *structure,
                               const stair_average_effort *effort, const double *q, stair_average *at,
                               stair_average *from, double *value, double *error)
{
    double part[STAIR_MOST_REPLICATES];
    STAIR_TRY(stair_average_evaluate(context, structure, effort, q, NULL, at));
    *value = stair_average_logz(at, -1);
    for (int r = 0; r < at->replicates; r++) part[r] = stair_average_logz(at, r);
    *error = stair_average_spread(at, part);
    if (!effort->relative) STAIR_TRY(subtract_grids(context, structure, effort, at, from, value, error));
    *error = hypot(*error, at->logz_bias);
    return STAIR_OK;
}

/* Samples take the difference label by label: `relative`. */
static stair_average_effort effort_at(const stair_structure *structure,
                                      const stair_asymptotics_options *options, const double *q)
{
    stair_average_effort effort = stair_effort_fine(options);
    effort.relative = true;
    const stair_average_rule *rule = stair_average_rule_for(structure, &effort, q);
    effort.relative = rule == &stair_average_samples;
    if (effort.relative) effort.rule = rule;
    return effort;
}

double stair_entropy_of_prior(const stair_model *model, const double *values)
{
    double sum = 0;
    for (int k = 0; k < model->info.indices; k++) sum += 0.5 * (log(1 - values[k]) + values[k]);
    return sum / model->blocks;
}

stair_status stair_entropy_at(stair_context *context, const stair_model *model,
                              const stair_asymptotics_options *options, double alpha, const double *q,
                              double *entropy, double *error)
{
    int p = model->info.indices;
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], value = 0;
    const stair_structure *structure;
    stair_average at = {0}, from = {0};
    STAIR_TRY(stair_asymptotics_check(context, options));
    stair_context_allow(context, stair_effort_patience(options));
    stair_matrix_eigen(p, q, values, vectors);
    if (!(values[p - 1] < 1)) { /* perfect recovery of a noiseless model: S is infinite */
        *entropy = INFINITY;
        *error = 0;
        return STAIR_OK;
    }
    STAIR_TRY(stair_structure_find(context, model, &structure));
    stair_average_effort effort = effort_at(structure, options, q);
    stair_status status = stair_average_create(context, structure, 0, effort.replicates, &at);
    if (status == STAIR_OK) status = stair_average_create(context, structure, 0, effort.replicates, &from);
    if (status == STAIR_OK) status = difference(context, structure, &effort, q, &at, &from, &value, error);
    stair_average_destroy(&at);
    stair_average_destroy(&from);
    *entropy = stair_entropy_of_prior(model, values) + alpha * value;
    *error *= alpha;
    return status;
}
