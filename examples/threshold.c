/* The staircase of a model: how many samples each layer takes to be learned.
 *
 *   ./threshold attention:layers=2,tokens=2,skip=1
 *
 * In dimension D, with N = alpha D labelled sequences, nothing is known of a layer below its step and
 * something above it; the last step, perfect recovery, gives all weights exactly.  Every alpha comes with its
 * error. */
#include <stair.h>
#include <stdio.h>

enum { MOST = 16 }; /* steps that we have room for */

static int print_staircase(stair_context *context, const stair_model *model)
{
    stair_asymptotics_options options = stair_asymptotics_defaults();
    stair_step steps[MOST];
    int count = 0;

    /* 0: as many steps as there are.  The model is only read; several threads may use it. */
    stair_status status = stair_threshold(context, model, &options, 0, MOST, steps, &count);
    if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) return status;

    printf("%-8s %10s %9s  learns\n", "step", "alpha", "error");
    for (int k = 0; k < count; k++) {
        printf("%-8s %10.8f %9.2g ", stair_step_kind_name(steps[k].kind), steps[k].alpha, steps[k].error);
        for (int i = 0; i < steps[k].learn_count; i++) printf(" %d", steps[k].learns[i]);
        printf("\n");
    }
    /* NOT_CONVERGED is a result as well: its errors are what they say, and larger than was asked for. */
    if (status == STAIR_NOT_CONVERGED) fprintf(stderr, "note: %s\n", stair_context_message(context));
    return STAIR_OK;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "attention:layers=2,tokens=2,skip=1";
    stair_context *context = NULL;
    stair_model *model = NULL;

    /* The context holds threads and the last message.  It is the only object without which nothing works. */
    if (stair_context_create(&context) != STAIR_OK) return 1;
    stair_status status = stair_model_create(context, spec, &model);
    if (status == STAIR_OK) status = print_staircase(context, model);

    /* Functions never print: what went wrong is a sentence on the context. */
    if (status != STAIR_OK) fprintf(stderr, "%s\n", stair_context_message(context));
    stair_model_destroy(&model);
    stair_context_destroy(&context);
    return status;
}
