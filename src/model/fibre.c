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

stair_status stair_model_has_all_rows(stair_context *context, const stair_model *model)
{
    return model->unseen ? stair_fail(context, STAIR_UNSUPPORTED,
                                      "with more than %d layers there are thresholds alone: the first row "
                                      "stands for %d hidden layers",
                                      STAIR_MAX_LAYERS, model->unseen + 1)
                         : STAIR_OK;
}

const stair_closed_ops *stair_model_closed(const stair_model *model)
{
    const stair_closed_ops *closed = model->ops->closed;
    return closed && closed->exists(model) ? closed : NULL;
}

/* Numbers of a fibre with noise on y: the label in whole lanes; room for a group of samples. */
static size_t label_room(const stair_model *model)
{
    return ((size_t)model->info.label_size + 7) / 8 * 8;
}

static const stair_tube_ops *tube_of(const stair_model *model)
{
    const stair_tube_ops *tube = model->ops->tube;
    return tube && tube->rows(model) > 0 ? tube : NULL;
}

static size_t likelihood_size(const stair_model *model)
{
    if (tube_of(model)) return label_room(model) + tube_of(model)->scratch(model);
    size_t group = STAIR_GROUP * (size_t)(model->info.indices * model->info.tokens + model->info.label_size);
    return label_room(model) + (model->ops->batch ? group + model->ops->batch->scratch(model) : 0);
}

stair_status stair_fibre_create(stair_context *context, const stair_model *model, stair_fibre *fibre)
{
    size_t size = model->info.output_noisy ? likelihood_size(model) : (size_t)model->fibre_size;
    size_t bytes = (size * sizeof(double) + 63) / 64 * 64 + 64;
    *fibre = (stair_fibre){.model = model, .charts = 1, .data = aligned_alloc(64, bytes)};
    return fibre->data ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_fibre_destroy(stair_fibre *fibre)
{
    free(fibre->data);
    fibre->data = NULL;
}

/* Rows of logarithms of probabilities: each adds up to 1, as for plain outputs. */
static stair_status check_log_rows(stair_context *context, int m, const double *label)
{
    static const double sum_error = 1e-6, /* what single precision leaves */
        least = -1e9;                     /* no score of Gaussian data comes near */
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) {
            double value = label[i * m + j];
            sum += exp(value);
            if (value < least || value > sum_error)
                return stair_fail(context, STAIR_BAD_INPUT, "label[%d][%d] = %g is no logarithm of a softmax",
                                  i, j, value);
        }
        if (fabs(sum - 1) > sum_error)
            return stair_fail(context, STAIR_BAD_INPUT, "exp of row %d of the label sums to %.9g, not to 1",
                              i, sum);
    }
    return STAIR_OK;
}

stair_status stair_label_check(stair_context *context, const stair_model *model, const double *label)
{
    for (int k = 0; k < model->info.label_size; k++)
        if (!isfinite(label[k]))
            return stair_fail(context, STAIR_BAD_INPUT, "label entry %d is %g", k, label[k]);
    return model->info.label_is_log ? check_log_rows(context, model->info.tokens, label) : STAIR_OK;
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
    fibre->free_rows = tube_of(model) ? tube_of(model)->rows(model) : model->info.indices;
    fibre->mirrored = fibre->free_rows < model->info.indices;
    fibre->residuals = model->info.label_size;
    return STAIR_OK;
}

/* Number of Z that is number k of a fibre. */
static size_t cell_of(const stair_model *model, size_t k)
{
    size_t m = (size_t)model->info.tokens;
    return (size_t)model->order[k / m] * m + k % m;
}

/* y (K, STAIR_BLOCK) of a block of Z, eight at a time. */
static void forward_groups(const stair_fibre *fibre, int n, const double *u, double *y)
{
    const stair_model *model = fibre->model;
    size_t cells = (size_t)fibre->dim, outputs = (size_t)model->info.label_size;
    double *z = fibre->data + label_room(model), *out = z + STAIR_GROUP * cells;
    for (int at = 0; at < n; at += STAIR_GROUP) {
        for (size_t k = 0; k < cells; k++)
            memcpy(z + cell_of(model, k) * STAIR_GROUP, u + k * STAIR_BLOCK + at,
                   STAIR_GROUP * sizeof(double));
        model->ops->batch->run(model, z, NULL, NULL, NULL, out + STAIR_GROUP * outputs, out, NULL, NULL);
        for (size_t k = 0; k < outputs; k++)
            memcpy(y + k * STAIR_BLOCK + at, out + k * STAIR_GROUP, STAIR_GROUP * sizeof(double));
    }
}

/* The same one by one. */
static void forward_each(const stair_fibre *fibre, int n, const double *u, double *y)
{
    double point[STAIR_MAX_CELLS], one[STAIR_MAX_LABEL];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < fibre->dim; k++) point[cell_of(fibre->model, (size_t)k)] = u[k * STAIR_BLOCK + i];
        fibre->model->ops->forward(fibre->model, point, one, NULL);
        for (int k = 0; k < fibre->model->info.label_size; k++) y[k * STAIR_BLOCK + i] = one[k];
    }
}

static void likelihood_map(const stair_fibre *fibre, int n, const double *u, double *z, double *weight)
{
    const stair_model_info *info = &fibre->model->info;
    double scale = 1 / sqrt(info->noise), *residual = z + (size_t)fibre->dim * STAIR_BLOCK;
    double density = pow(2 * M_PI * info->noise, -0.5 * info->label_size);
    for (int i = 0; i < n; i++) weight[i] = 1;
    if (tube_of(fibre->model))
        tube_of(fibre->model)
            ->map(fibre->model, fibre->data + label_room(fibre->model), n, u, z, residual, weight);
    else if (fibre->model->ops->block)
        fibre->model->ops->block(fibre->model, n, u, residual);
    else
        (fibre->model->ops->batch ? forward_groups : forward_each)(fibre, n, u, residual);
    for (int k = 0; k < info->label_size; k++)
        for (int i = 0; i < n; i++)
            residual[k * STAIR_BLOCK + i] = (fibre->data[k] - residual[k * STAIR_BLOCK + i]) * scale;
    for (int i = 0; i < n; i++) weight[i] *= density;
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
