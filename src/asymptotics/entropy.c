/* Free entropy S(Q) - S(0), S(Q) = 1/2 [log det(1 - Q) + Tr Q] + alpha E log Z_out.
 *
 * log Z_out is a density in coordinates of the label, so S has an alpha-dependent constant that only the
 * difference removes; the same random numbers at Q and at 0 make the difference more accurate than
 * either.  dS/dQ = (Qhat(Q) - Q (1-Q)^-1)/2 vanishes at fixed points of state evolution. */
#include "asymptotics/asymptotics.h"
#include "asymptotics/label_grid.h"

#include <math.h>
#include <stdlib.h>

#include "core/matrix.h"

stair_status stair_entropy_at(stair_context *context, const stair_model *model, const stair_asymptotics_options *options,
                              double alpha, const double *q, double *entropy, double *error)
{
    int p = model->info.indices;
    double zero[STAIR_SQUARE] = {0}, values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], prior = 0;
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
    rule.sampled = !stair_label_grid_fits(context, model, q); /* one rule for both ends of the difference */
    free(b);
    STAIR_TRY(stair_outer_create(context, model, 0, rule.replicates, &at));
    stair_status status = stair_outer_create(context, model, 0, rule.replicates, &from);
    if (status == STAIR_OK) status = stair_outer_evaluate(context, model, &rule, q, NULL, &at);
    if (status == STAIR_OK) status = stair_outer_evaluate(context, model, &rule, zero, NULL, &from);
    bool paired = at.replicates == from.replicates; /* the same random numbers: their noise cancels in part */
    double spread[2] = {0, 0}, part[2][STAIR_MOST_REPLICATES];
    for (int r = 0; r < at.replicates; r++) part[0][r] = stair_outer_logz(&at, r) - (paired ? stair_outer_logz(&from, r) : 0);
    for (int r = 0; r < from.replicates && !paired; r++) part[1][r] = stair_outer_logz(&from, r);
    spread[0] = stair_replicate_error(at.replicates, part[0]);
    if (!paired) spread[1] = stair_replicate_error(from.replicates, part[1]);
    double mean = stair_outer_logz(&at, -1) - stair_outer_logz(&from, -1);
    stair_outer_destroy(&at);
    stair_outer_destroy(&from);
    if (status != STAIR_OK) return status;
    *entropy = prior + alpha * mean;
    *error = alpha * hypot(spread[0], spread[1]);
    return STAIR_OK;
}
