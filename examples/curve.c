/* Overlaps and Bayes error as alpha grows: a learning curve, in the limit of large D.
 *
 *   ./curve [MODEL] >curve.txt
 *
 * Q (P, P) is the overlap of the Bayes estimator with the teacher: 0 where nothing is known of a row of
 * weights, 1 where it is known exactly.  The Bayes error is E|y - E[y | data, x]|^2 on fresh data. */
#include <stair.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ALPHAS = 12
}; /* from 12 on, the branches between steps are solved once and all alphas read off them */

static stair_status print_curve(stair_context *context, const stair_model *model)
{
    int p = stair_model_describe(model).indices;
    size_t square = (size_t)(p * p);
    double alpha[ALPHAS];
    stair_sweep *sweep = NULL;
    stair_asymptotics_options options = stair_asymptotics_defaults();
    options.precision = 1e-2; /* of the overlaps; the time it takes grows as it falls */
    for (int k = 0; k < ALPHAS; k++) alpha[k] = 0.1 * (k + 1);

    /* q and q_error of one point belong to us. */
    double *q = calloc(2 * square, sizeof *q);
    if (!q) return STAIR_NO_MEMORY;

    stair_status status =
        stair_sweep_create(context, model, &options, STAIR_START_UNINFORMED, ALPHAS, alpha, &sweep);
    printf("# alpha  Bayes error +-  diagonal of Q  largest error of Q  why it ended\n");
    for (size_t k = 0; status == STAIR_OK && k < stair_sweep_points(sweep); k++) {
        stair_sweep_point point = {.q = q, .q_error = q + square};
        status = stair_sweep_next(sweep, &point);
        if (status == STAIR_NOT_CONVERGED) status = STAIR_OK; /* point.worst says by how much */
        if (status != STAIR_OK) break;
        printf("%.2f  %.6f %.1g ", point.alpha, point.errors.bayes, point.errors.bayes_error);
        for (int i = 0; i < p; i++) printf(" %.5f", q[i * p + i]);
        printf("  %.1g  %s\n", point.worst, stair_stop_name(point.stop));
        fflush(stdout);
    }
    stair_sweep_destroy(&sweep);
    free(q);
    return status;
}

int main(int argc, char **argv)
{
    stair_context *context = NULL;
    stair_model *model = NULL;
    if (stair_context_create(&context) != STAIR_OK) return 1;
    stair_status status =
        stair_model_create(context, argc > 1 ? argv[1] : "attention:layers=2,tokens=2,skip=1", &model);
    if (status == STAIR_OK) status = print_curve(context, model);
    if (status != STAIR_OK) fprintf(stderr, "%s\n", stair_context_message(context));
    stair_model_destroy(&model);
    stair_context_destroy(&context);
    return status;
}
