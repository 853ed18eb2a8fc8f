/* Loss of a model and its gradient in w, block by block:  Z = w x / sqrt(D),  loss = |g(Z) - y|^2.
 *
 * Where the embedding has blocks D is the dimension of one, and a row of w counts as zero outside of its own.
 *
 * A model that has `batch` does a block at once; any other goes through its own forward and gradient, one
 * sample at a time, in the same order.
 */
#include "train/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

stair_net stair_net_of(const stair_model *model, int dim, bool single)
{
    const stair_model_info *info = &model->info;
    return (stair_net){.model = model,
                       .batch = model->ops->batch,
                       .dim = dim,
                       .one = stair_blocks_dim(model, dim),
                       .stride = (dim + 31) / 32 * 32,
                       .tokens = info->tokens,
                       .indices = info->indices,
                       .outputs = info->label_size,
                       .single = single};
}

static size_t scratch_size(const stair_net *net)
{
    size_t m = (size_t)net->tokens, p = (size_t)net->indices, k = (size_t)net->outputs;
    return net->batch ? net->batch->scratch(net->model) : 2 * m * p + 2 * k;
}

static double *doubles(size_t n)
{
    return aligned_alloc(64, (n * sizeof(double) + 64) / 64 * 64);
}

stair_status stair_net_work_create(stair_context *context, const stair_net *net, stair_net_work *work)
{
    size_t cells = (size_t)(net->indices * net->tokens) * STAIR_GROUP;
    size_t weights = (size_t)net->indices * (size_t)net->stride;
    *work = (stair_net_work){.weights = doubles(weights),
                             .z = doubles(cells),
                             .grad_z = doubles(cells),
                             .y = doubles((size_t)net->outputs * STAIR_GROUP),
                             .scratch = doubles(scratch_size(net)),
                             .gradient = {.part = doubles(weights), .sum = doubles(weights)}};
    if (work->weights && work->z && work->grad_z && work->y && work->scratch && work->gradient.part &&
        work->gradient.sum) {
        memset(work->gradient.part, 0, weights * sizeof(double));
        return STAIR_OK;
    }
    stair_net_work_destroy(work);
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_net_work_destroy(stair_net_work *work)
{
    free(work->weights);
    free(work->z);
    free(work->grad_z);
    free(work->y);
    free(work->scratch);
    free(work->gradient.part);
    free(work->gradient.sum);
    *work = (stair_net_work){0};
}

void stair_net_set_weights(const stair_net *net, const double *weights, stair_net_work *work)
{
    double scale = 1 / sqrt((double)net->one);
    float *single = work->weights;
    double *wide = work->weights;
    for (int p = 0; p < net->indices; p++) {
        int first = net->model->block[p] * net->one, last = first + net->one;
        for (int d = 0; d < net->stride; d++) {
            bool in = d >= first && d < last;
            double value = in ? scale * weights[(size_t)p * (size_t)net->dim + (size_t)d] : 0;
            size_t at = (size_t)p * (size_t)net->stride + (size_t)d;
            if (net->single)
                single[at] = (float)value;
            else
                wide[at] = value;
        }
    }
}

stair_status stair_samples_create(stair_context *context, const stair_net *net, size_t count, size_t batch,
                                  stair_samples *samples)
{
    size_t per_batch = (batch + STAIR_GROUP - 1) / STAIR_GROUP;
    size_t rest = count % batch, blocks = count / batch * per_batch + (rest + STAIR_GROUP - 1) / STAIR_GROUP;
    size_t row = (size_t)net->stride * (net->single ? sizeof(float) : sizeof(double));
    size_t block = (size_t)net->tokens * STAIR_GROUP * row;
    *samples = (stair_samples){.count = count, .blocks = blocks, .batch = batch};
    if (blocks >= SIZE_MAX / 2 / block)
        return stair_fail(context, STAIR_NO_MEMORY, "%zu samples do not fit", count);
    samples->x = stair_products_memory(blocks * block + 64);
    samples->y = doubles(blocks * (size_t)net->outputs * STAIR_GROUP);
    samples->weight = doubles(blocks * STAIR_GROUP);
    if (!samples->x || !samples->y || !samples->weight) {
        stair_samples_destroy(samples);
        return stair_fail(context, STAIR_NO_MEMORY, "no memory for %zu samples of %d tokens in dimension %d",
                          count, net->tokens, net->dim);
    }
    memset(samples->x, 0, blocks * block);
    memset(samples->y, 0, blocks * (size_t)net->outputs * STAIR_GROUP * sizeof(double));
    memset(samples->weight, 0, blocks * STAIR_GROUP * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        int lane;
        size_t at = stair_samples_block(samples, i, &lane);
        samples->weight[at * STAIR_GROUP + (size_t)lane] = 1;
    }
    return STAIR_OK;
}

void stair_samples_destroy(stair_samples *samples)
{
    free(samples->x);
    free(samples->y);
    free(samples->weight);
    *samples = (stair_samples){0};
}

/* element index of row (token, lane) of a block */
static size_t row_at(const stair_net *net, size_t block, int token, int lane)
{
    size_t row = (block * (size_t)net->tokens + (size_t)token) * STAIR_GROUP + (size_t)lane;
    return row * (size_t)net->stride;
}

void stair_samples_set_x(const stair_net *net, stair_samples *samples, size_t sample, const double *x)
{
    int lane;
    size_t block = stair_samples_block(samples, sample, &lane);
    for (int m = 0; m < net->tokens; m++) {
        const double *from = x + (size_t)m * (size_t)net->dim;
        size_t to = row_at(net, block, m, lane);
        for (int d = 0; d < net->dim; d++)
            if (net->single)
                ((float *)samples->x)[to + (size_t)d] = (float)from[d];
            else
                ((double *)samples->x)[to + (size_t)d] = from[d];
    }
}

void stair_samples_copy(const stair_net *net, const stair_samples *from, size_t sample, stair_samples *to,
                        size_t place)
{
    int lane, seat;
    size_t size = net->single ? sizeof(float) : sizeof(double);
    size_t source = stair_samples_block(from, sample, &lane), target = stair_samples_block(to, place, &seat);
    for (int m = 0; m < net->tokens; m++)
        memcpy((char *)to->x + row_at(net, target, m, seat) * size,
               (const char *)from->x + row_at(net, source, m, lane) * size, (size_t)net->stride * size);
    for (size_t k = 0; k < (size_t)net->outputs; k++)
        to->y[(target * (size_t)net->outputs + k) * STAIR_GROUP + (size_t)seat] =
            from->y[(source * (size_t)net->outputs + k) * STAIR_GROUP + (size_t)lane];
}

/* Z and its gradient are (P, rows) for the rows (M, 8) of a block */
static stair_products products_of(const stair_net *net)
{
    return (stair_products){.single = net->single,
                            .dim = (size_t)net->stride,
                            .indices = net->indices,
                            .row_step = 1,
                            .index_step = (size_t)net->tokens * STAIR_GROUP};
}

static const void *rows_of(const stair_net *net, const stair_samples *samples, size_t block)
{
    return (const char *)samples->x +
           row_at(net, block, 0, 0) * (net->single ? sizeof(float) : sizeof(double));
}

void stair_net_project(const stair_net *net, const stair_samples *samples, size_t block, stair_net_work *work)
{
    stair_products shape = products_of(net);
    stair_products_project(&shape, shape.index_step, rows_of(net, samples, block), work->weights, work->z);
}

/* The same for a model that only knows one sample at a time. */
static void any_model(const stair_net *net, const double *target, const double *weight, stair_net_work *work,
                      double *loss, bool gradient)
{
    size_t cells = (size_t)(net->indices * net->tokens), outputs = (size_t)net->outputs;
    double *z = work->scratch, *grad = z + cells, *y = grad + cells, *cotangent = y + outputs;
    for (size_t s = 0; s < STAIR_GROUP; s++) {
        loss[s] = 0;
        for (size_t i = 0; i < cells; i++) z[i] = work->z[i * STAIR_GROUP + s];
        net->model->ops->forward(net->model, z, y, NULL);
        for (size_t k = 0; k < outputs; k++) {
            double residual = y[k] - target[k * STAIR_GROUP + s];
            work->y[k * STAIR_GROUP + s] = y[k];
            loss[s] += weight[s] * residual * residual;
            cotangent[k] = 2 * weight[s] * residual;
        }
        if (!gradient) continue;
        net->model->ops->gradient(net->model, z, cotangent, grad);
        for (size_t i = 0; i < cells; i++) work->grad_z[i * STAIR_GROUP + s] = grad[i];
    }
}

double stair_net_loss(const stair_net *net, const stair_samples *samples, size_t first, size_t last,
                      bool gradient, stair_net_work *work)
{
    double total = 0;
    stair_products shape = products_of(net);
    for (size_t block = first; block < last; block++) {
        const double *target = samples->y + block * (size_t)net->outputs * STAIR_GROUP;
        const double *weight = samples->weight + block * STAIR_GROUP;
        double loss[STAIR_GROUP];
        stair_net_project(net, samples, block, work);
        if (net->batch)
            net->batch->run(net->model, work->z, target, weight, NULL, work->scratch, work->y, loss,
                            gradient ? work->grad_z : NULL);
        else
            any_model(net, target, weight, work, loss, gradient);
        for (int s = 0; s < STAIR_GROUP; s++) total += loss[s];
        if (gradient)
            stair_products_collect(&shape, shape.index_step, rows_of(net, samples, block), work->grad_z,
                                   &work->gradient);
    }
    if (gradient) stair_products_finish(&shape, &work->gradient);
    return total;
}

void stair_net_gradient(const stair_net *net, const stair_net_work *work, double *gradient)
{
    double scale = 1 / sqrt((double)net->one);
    for (int p = 0; p < net->indices; p++)
        for (int d = 0; d < net->dim; d++)
            gradient[(size_t)p * (size_t)net->dim + (size_t)d] =
                scale * work->gradient.sum[(size_t)p * (size_t)net->stride + (size_t)d];
    stair_blocks_keep(net->model, net->dim, gradient);
}
