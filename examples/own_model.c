/* A model of your own: any function y = g(Z) with noise on y, here a soft sign of two teachers' agreement.
 *
 *   y = tanh(steepness z_1 z_2) + noise,   z_p = w_p . x / sqrt(D)
 *
 * The library finds the posterior of Z by quadrature and from it all the rest: thresholds, state evolution,
 * message passing, SGD.  Nothing but g has to be written. */
#include <math.h>
#include <stair.h>
#include <stdio.h>

/* z (P, M), row by row: P = 2 indices, M = 1 token; y (K): K = 1 output.  Called from several threads, so it
 * may read `user` and must not write to anything but y. */
static void agreement(void *user, const double *z, double *y)
{
    const double *steepness = user;
    y[0] = tanh(*steepness * z[0] * z[1]);
}

/* Identities that every posterior obeys: a check of the quadrature at this g, worth doing first. */
static stair_status diagnose(stair_context *context, const stair_model *model)
{
    stair_identity rows[32];
    int count = 0, failed = 0;
    stair_diagnose_options options = stair_diagnose_defaults();
    options.points = 40;
    options.precision = 1e-3;
    options.cov_low = 0.1;
    stair_status status = stair_diagnose(context, model, &options, 32, rows, &count);
    for (int i = 0; i < count; i++) failed += rows[i].verdict == STAIR_FAILS;
    if (status == STAIR_OK) printf("%d identities, %d fail\n", count, failed);
    return status;
}

static stair_status first_step(stair_context *context, const stair_model *model)
{
    stair_step steps[8];
    int count = 0;
    stair_asymptotics_options options = stair_asymptotics_defaults();
    options.precision = 5e-3;
    stair_status status = stair_threshold(context, model, &options, 1, 8, steps, &count);
    if (status == STAIR_OK && count > 0)
        printf("first learned at alpha = %.4f +- %.4f\n", steps[0].alpha, steps[0].error);
    return status;
}

int main(void)
{
    double steepness = 2;
    stair_link link = {.name = "agreement", /* stands for g in messages and checkpoints */
                       .tokens = 1,
                       .indices = 2,
                       .outputs = 1,
                       .noise = 0.3, /* a variance, above zero */
                       .function = agreement,
                       .user = &steepness};
    stair_context *context = NULL;
    stair_model *model = NULL;
    if (stair_context_create(&context) != STAIR_OK) return 1;
    stair_status status = stair_model_from_link(context, &link, &model);
    if (status == STAIR_OK) status = diagnose(context, model);
    if (status == STAIR_OK) status = first_step(context, model);
    if (status != STAIR_OK) fprintf(stderr, "%s\n", stair_context_message(context));
    stair_model_destroy(&model);
    stair_context_destroy(&context);
    return status;
}
