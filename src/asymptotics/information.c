/* What a sample tells about W at an overlap: f(Q) = H E sum_m g_m g_m^T, with H blocks of the embedding.  One
 * step of state evolution leads from Q to Qhat (1 + Qhat)^-1 with Qhat = alpha f(Q). */
#include "asymptotics/branch.h"
#include "asymptotics/effort.h"

#include <math.h>

static void take(const stair_model *model, const stair_average *average, double *f, double *error)
{
    int p = model->info.indices;
    double one[STAIR_SQUARE], part[STAIR_MOST_REPLICATES];
    stair_average_f(average, -1, f);
    for (int i = 0; i < p * p; i++) {
        for (int r = 0; r < average->replicates; r++) {
            stair_average_f(average, r, one);
            part[r] = model->blocks * one[i];
        }
        f[i] *= model->blocks;
        error[i] = hypot(stair_average_spread(average, part), average->bias * f[i]);
    }
}

stair_status stair_information_at(stair_context *context, const stair_model *model,
                                  const stair_asymptotics_options *options, const double *q, double *f,
                                  double *error)
{
    const stair_structure *structure;
    stair_average average = {0};
    STAIR_TRY(stair_asymptotics_check(context, options));
    stair_context_allow(context, stair_effort_patience(options));
    STAIR_TRY(stair_structure_find(context, model, &structure));
    stair_average_effort effort = stair_effort_fine(options);
    stair_status status = stair_average_create(context, structure, 0, effort.replicates, &average);
    if (status == STAIR_OK) status = stair_average_evaluate(context, structure, &effort, q, NULL, &average);
    if (status == STAIR_OK) take(model, &average, f, error);
    stair_average_destroy(&average);
    return status;
}
