/* The first threshold of one and of two layers of attention, through the public header alone.  One layer: 1/6
 * exactly; two: docs/staircase.md. */
#include <math.h>
#include <stdio.h>
#include <stair.h>

static double first_threshold(stair_context *context, const char *spec)
{
    stair_model *model = NULL;
    stair_step steps[16];
    stair_asymptotics_options options = stair_asymptotics_defaults();
    int count = 0;
    stair_status status = stair_model_create(context, spec, &model);
    if (status == STAIR_OK) status = stair_threshold(context, model, &options, 1, 16, steps, &count);
    if (status != STAIR_OK) fprintf(stderr, "%s: %s\n", spec, stair_context_message(context));
    stair_model_destroy(&model);
    return status == STAIR_OK && count > 0 ? steps[0].alpha : NAN;
}

int main(void)
{
    stair_context *context;
    if (stair_context_create(&context) != STAIR_OK) return 1;
    double one = first_threshold(context, "attention:layers=1,tokens=2");
    double two = first_threshold(context, "attention:layers=2,tokens=2,skip=1");
    printf("%.10f %.10f on %d threads\n", one, two, stair_context_threads(context));
    stair_context_destroy(&context);
    return !(fabs(one - 1.0 / 6) < 1e-9 && fabs(two - 0.18547784) < 3e-7);
}
