/* Fibres of any model.  With output noise D the label is y = g(Z) + sqrt(D) noise, nothing fixes
 * any row of Z, and the "fibre" is all of R^(PM) with residuals (y - g(Z))/sqrt(D).
 *
 * What a model leaves out of its table has its default here, so that no rule of the channel asks twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

bool stair_fibre_exists(const stair_model *model)
{
    return model->info.output_noisy || model->ops->fibre_open;
}

const stair_closed_ops *stair_model_closed(const stair_model *model)
{
    const stair_closed_ops *closed = model->ops->closed;
    return closed && closed->exists(model) ? closed : NULL;
}

stair_status stair_fibre_create(stair_context *context, const stair_model *model, stair_fibre *fibre)
{
    size_t size = model->info.output_noisy ? (size_t)model->info.label_size : (size_t)model->fibre_size;
    size_t bytes = (size * sizeof(double) + 63) / 64 * 64 + 64;
    *fibre = (stair_fibre){.model = model, .charts = 1, .data = aligned_alloc(64, bytes)};
    return fibre->data ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_fibre_destroy(stair_fibre *fibre)
{
    free(fibre->data);
    fibre->data = NULL;
}

stair_status stair_label_check(stair_context *context, const stair_model *model, const double *label)
{
    for (int k = 0; k < model->info.label_size; k++)
        if (!isfinite(label[k]))
            return stair_fail(context, STAIR_BAD_INPUT, "label entry %d is %g", k, label[k]);
    return STAIR_OK;
}

stair_status stair_fibre_open(stair_context *context, const double *label, const double *omega,
                              stair_fibre *fibre)
{
    const stair_model *model = fibre->model;
    STAIR_TRY(stair_label_check(context, model, label));
    *fibre = (stair_fibre){.model = model, .charts = 1, .data = fibre->data};
    if (!stair_fibre_exists(model))
        return stair_fail(context, STAIR_UNSUPPORTED, "model '%s' has no fibre, only a posterior",
                          model->info.name);
    if (!model->info.output_noisy) return model->ops->fibre_open(context, model, label, omega, fibre);
    memcpy(fibre->data, label, sizeof(double) * (size_t)model->info.label_size);
    fibre->dim = model->info.indices * model->info.tokens;
    fibre->free_rows = model->info.indices;
    fibre->residuals = model->info.label_size;
    return STAIR_OK;
}

static void likelihood_map(const stair_fibre *fibre, int n, const double *u, double *z, double *weight)
{
    const stair_model_info *info = &fibre->model->info;
    double point[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL];
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

void stair_fibre_map_to(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                        double *z, double *weight)
{
    if (fibre->residuals)
        likelihood_map(fibre, n, u, z, weight);
    else
        fibre->model->ops->fibre_map(fibre, chart, digits, n, u, z, weight);
}

void stair_fibre_map(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight)
{
    stair_fibre_map_to(fibre, chart, STAIR_ALL_DIGITS, n, u, z, weight);
}

void stair_fibre_ridges(const stair_fibre *fibre, double direction[2])
{
    direction[0] = 1;
    direction[1] = 0;
    if (!fibre->residuals && fibre->model->ops->ridges) fibre->model->ops->ridges(fibre, direction);
}

int stair_fibre_circles(const stair_fibre *fibre)
{
    const stair_model_ops *ops = fibre->model->ops;
    int circles = 0;
    while (circles < fibre->angles && (!ops->angle_power || ops->angle_power(fibre, circles) == 1)) circles++;
    return circles;
}

const stair_split_ops *stair_fibre_split(const stair_fibre *fibre)
{
    const stair_split_ops *split = fibre->model->ops->split;
    return split && !fibre->residuals && split->rows(fibre->model) > 0 ? split : NULL;
}
