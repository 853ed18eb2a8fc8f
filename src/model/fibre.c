/* Fibres of any model.  With output noise D the label is y = g(Z) + sqrt(D) noise, nothing fixes
 * any row of Z, and the "fibre" is all of R^(PM) with residuals (y - g(Z))/sqrt(D). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

stair_status stair_fibre_create(stair_context *context, const stair_model *model, stair_fibre *fibre)
{
    size_t size = model->info.output_noisy ? (size_t)model->info.label_size : (size_t)model->fibre_size;
    size_t bytes = (size * sizeof(double) + 63) / 64 * 64 + 64;
    *fibre = (stair_fibre){.model = model, .data = aligned_alloc(64, bytes)};
    return fibre->data ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_fibre_destroy(stair_fibre *fibre)
{
    free(fibre->data);
    fibre->data = NULL;
}

stair_status stair_fibre_open(stair_context *context, const double *label, const double *omega,
                              stair_fibre *fibre)
{
    const stair_model *model = fibre->model;
    int size = model->info.label_size;
    for (int k = 0; k < size; k++)
        if (!isfinite(label[k]))
            return stair_fail(context, STAIR_BAD_INPUT, "label entry %d is %g", k, label[k]);
    if (!model->info.output_noisy) return model->ops->fibre_open(context, model, label, omega, fibre);
    memcpy(fibre->data, label, sizeof(double) * (size_t)size);
    fibre->dim = model->info.indices * model->info.tokens;
    fibre->free_rows = model->info.indices;
    fibre->charts = 1;
    fibre->angles = fibre->circles = 0;
    fibre->rough = false;
    fibre->residuals = size;
    fibre->outer[0] = 1;
    fibre->outer[1] = 0;
    fibre->head_rows = 0;
    fibre->mirrored = false;
    return STAIR_OK;
}

static void likelihood_map(const stair_fibre *fibre, int n, const double *u, double *z, double *weight)
{
    const stair_model_info *info = &fibre->model->info;
    double point[STAIR_MAX_INDICES * STAIR_MAX_TOKENS], y[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS];
    double scale = 1 / sqrt(info->noise), *residual = z + (size_t)fibre->dim * STAIR_BLOCK;
    double density = pow(2 * M_PI * info->noise, -0.5 * info->label_size);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < fibre->dim; k++) point[k] = u[k * STAIR_BLOCK + i];
        fibre->model->ops->forward(fibre->model, point, y, NULL);
        for (int k = 0; k < info->label_size; k++)
            residual[k * STAIR_BLOCK + i] = (fibre->data[k] - y[k]) * scale;
        weight[i] = density;
    }
}

void stair_fibre_map(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight)
{
    if (fibre->residuals)
        likelihood_map(fibre, n, u, z, weight);
    else
        fibre->model->ops->fibre_map(fibre, chart, n, u, z, weight);
}
