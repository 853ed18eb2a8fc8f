/* Free entropy S(Q) - S(0), S(Q) = 1/2 [log det(1 - Q) + Tr Q] + alpha E log Z_out.
 *
 * log Z_out is a density in coordinates of the label, so S has an alpha-dependent constant that only the
 * difference removes; the same random numbers at Q and at 0 make the difference more accurate than
 * either.  dS/dQ = (Qhat(Q) - Q (1-Q)^-1)/2 vanishes at fixed points of state evolution. */
#include "asymptotics/asymptotics.h"

#include <math.h>
#include <stdlib.h>

#include "core/matrix.h"

stair_status stair_entropy_at(stair_context *context, const stair_model *model, const stair_asymptotics_options *options,
                              double alpha, const double *q, double *entropy, double *error)
{
    int p = model->info.indices;
    double zero[STAIR_SQUARE] = {0}, values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], prior = 0;
    double difference[STAIR_MOST_REPLICATES], mean = 0;
    stair_outer at, from;
    STAIR_TRY(stair_asymptotics_check(context, options));
    stair_matrix_eigen(p, q, values, vectors);
    for (int k = 0; k < p; k++) prior += 0.5 * (log(1 - values[k]) + values[k]);
    if (!(values[p - 1] < 1)) { /* perfect recovery of a noiseless model: S is infinite */
        *entropy = INFINITY;
        *error = 0;
        return STAIR_OK;
    }
    stair_branch *b = malloc(sizeof *b);
    if (!b) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_branch_prepare(b, context, model, options);
    stair_outer_rule rule = b->fine;
    free(b);
    STAIR_TRY(stair_outer_create(context, model, 0, rule.replicates, &at));
    stair_status status = stair_outer_create(context, model, 0, rule.replicates, &from);
    if (status == STAIR_OK) status = stair_outer_evaluate(context, model, &rule, q, NULL, &at);
    if (status == STAIR_OK) status = stair_outer_evaluate(context, model, &rule, zero, NULL, &from);
    for (int r = 0; r < rule.replicates && status == STAIR_OK; r++) {
        difference[r] = stair_outer_logz(&at, r) - stair_outer_logz(&from, r);
        mean += difference[r] / rule.replicates;
    }
    stair_outer_destroy(&at);
    stair_outer_destroy(&from);
    if (status != STAIR_OK) return status;
    *entropy = prior + alpha * mean;
    *error = alpha * stair_replicate_error(rule.replicates, difference);
    return STAIR_OK;
}
