/* The channel with arbitrary doubles as label, mean and covariance: a status with a message, or finite
 * numbers. */
#include "stair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const specs[] = {"square", "square:noise=0.1", "attention:layers=1,prenoise=0.1",
                                    "attention:layers=1,activation=linear"};

/* Eight bytes of the input are a double; where it has ended, something usual. */
static double take(const uint8_t **at, const uint8_t *end, double usual)
{
    double value;
    if (end - *at < 8) return usual;
    memcpy(&value, *at, sizeof value);
    *at += 8;
    return value;
}

static void evaluate(stair_context *context, const stair_model *model, const uint8_t *at, const uint8_t *end)
{
    stair_model_info info = stair_model_describe(model);
    stair_channel_options how = stair_channel_defaults();
    double label[16], omega[16], cov[16], logz = 0, g[16] = {0}, dg[256] = {0}, error = 0;
    stair_channel_result out = {.logz = &logz, .g = g, .dg = dg, .error = &error};
    int cells = info.indices * info.tokens;
    how.precision = 0.1;
    how.max_nodes = 4096;
    for (int k = 0; k < info.label_size; k++) label[k] = take(&at, end, info.label_is_log ? log(0.5) : 0.5);
    for (int k = 0; k < cells; k++) omega[k] = take(&at, end, 0.1 * k);
    for (int k = 0; k < info.indices * info.indices; k++)
        cov[k] = take(&at, end, k % (info.indices + 1) == 0);
    stair_status status = stair_channel_evaluate(context, model, &how, 0, 1, label, omega, 1, cov, &out);
    if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) {
        if (status != STAIR_NO_MEMORY && !*stair_context_message(context)) abort();
        return;
    }
    for (int k = 0; k < cells; k++)
        if (isnan(g[k])) abort();
    if (isnan(logz)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stair_context *context;
    stair_model *model;
    if (size < 1 || stair_context_create(&context) != STAIR_OK) return 0;
    (void)stair_context_set_threads(context, 1);
    if (stair_model_create(context, specs[data[0] % 4], &model) == STAIR_OK) {
        evaluate(context, model, data + 1, data + size);
        stair_model_destroy(&model);
    }
    stair_context_destroy(&context);
    return 0;
}
