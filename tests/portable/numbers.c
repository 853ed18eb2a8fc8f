/* Numbers with their errors, one a line: what machines must agree on within these. */
#include "stair.h"

#include <stdio.h>
#include <stdlib.h>

static int channel(stair_context *context, const char *spec, double precision)
{
    enum { N = 12, SIZE = 8 };
    static double z[N * SIZE], label[N * 64], omega[N * SIZE], cov[N * SIZE * SIZE], logz[N], error[N];
    stair_model *model;
    stair_points_options points = stair_points_defaults();
    stair_channel_options options = stair_channel_defaults();
    stair_channel_result result = {.logz = logz, .error = error};
    options.precision = precision;
    if (stair_model_create(context, spec, &model)) return 1;
    int bad = stair_points_draw(context, model, &points, 0, N, z, label, omega, cov) ||
              stair_channel_evaluate(context, model, &options, 0, N, label, omega, N, cov, &result);
    for (int i = 0; i < N && !bad; i++)
        printf("logZ %s %d: %.17g %.3g\n", spec, i, logz[i], error[i] + 1e-12);
    stair_model_destroy(&model);
    return bad;
}

static int threshold(stair_context *context, const char *spec)
{
    stair_model *model;
    stair_asymptotics_options options = stair_asymptotics_defaults();
    stair_step step[4];
    int count;
    options.precision = 0.01;
    if (stair_model_create(context, spec, &model)) return 1;
    int bad = stair_threshold(context, model, &options, 1, 4, step, &count) || count < 1;
    if (!bad) printf("threshold %s: %.17g %.3g\n", spec, step[0].alpha, step[0].error + 1e-12);
    stair_model_destroy(&model);
    return bad;
}

int main(void)
{
    stair_context *context;
    if (stair_context_create(&context)) return 1;
    int bad = channel(context, "attention:layers=1", 1e-8) || channel(context, "attention:layers=2", 1e-6) ||
              channel(context, "square:tokens=2", 1e-6) || channel(context, "attention:layers=3", 1e-2) ||
              threshold(context, "attention:layers=1") || threshold(context, "square");
    if (bad) fprintf(stderr, "%s\n", stair_context_message(context));
    stair_context_destroy(&context);
    return bad;
}
