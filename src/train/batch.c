/* Loss of a model and its gradient in w, block by block:  Z = w x / sqrt(D),  loss = |g(Z) - y|^2.
 *
 * Tied attention goes through attention_batch_hot.c; any other model through its own forward and
 * gradient, one sample at a time, in the same order.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "train/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/isa.h"

STAIR_HOT_TABLE(void, stair_project_f4,
                (int rows, int stride, const float *x, int indices, const float *w, double *z));
STAIR_HOT_TABLE(void, stair_project_f8,
                (int rows, int stride, const double *x, int indices, const double *w, double *z));
STAIR_HOT_TABLE(void, stair_collect_f4,
                (int rows, int stride, const float *x, int indices, const double *c, double *gradient));
STAIR_HOT_TABLE(void, stair_collect_f8,
                (int rows, int stride, const double *x, int indices, const double *c, double *gradient));
STAIR_HOT_TABLE(void, stair_attention_batch,
                (const stair_attention *a, const double *z, const double *target, const double *weight,
                 double *scratch, double *y, double *loss, double *grad_z));

stair_net stair_net_of(const stair_model *model, int dim, bool single)
{
    const stair_model_info *info = &model->info;
    bool fast = strcmp(info->name, "attention") == 0;
    return (stair_net){.model = model,
                       .attention = fast ? model->state : NULL,
                       .dim = dim,
                       .stride = (dim + 31) / 32 * 32,
                       .tokens = info->tokens,
                       .indices = info->indices,
                       .outputs = info->label_size,
                       .single = single};
}

static size_t scratch_size(const stair_net *net)
{
    size_t m = (size_t)net->tokens, p = (size_t)net->indices, k = (size_t)net->outputs;
    if (!net->attention) return 2 * m * p + 2 * k;
    size_t layers = (size_t)net->attention->layers;
    return STAIR_GROUP * (2 * m * m * layers + m * p + 3 * m * m + m * p);
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
                             .gradient = doubles(weights)};
    if (work->weights && work->z && work->grad_z && work->y && work->scratch && work->gradient)
        return STAIR_OK;
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
    free(work->gradient);
    *work = (stair_net_work){0};
}

void stair_net_set_weights(const stair_net *net, const double *weights, stair_net_work *work)
{
    double scale = 1 / sqrt((double)net->dim);
    float *single = work->weights;
    double *wide = work->weights;
    for (int p = 0; p < net->indices; p++)
        for (int d = 0; d < net->stride; d++) {
            double value = d < net->dim ? scale * weights[(size_t)p * (size_t)net->dim + (size_t)d] : 0;
            size_t at = (size_t)p * (size_t)net->stride + (size_t)d;
            if (net->single)
                single[at] = (float)value;
            else
                wide[at] = value;
        }
}

/* Memory that is streamed through again and again: in large pages, where the system has them, a batch
 * spreads evenly over the sets of the second-level cache. */
static void *large(size_t size)
{
    const size_t page = (size_t)1 << 21;
    size_t rounded = size < page ? (size + 63) / 64 * 64 : (size + page - 1) / page * page;
    void *memory = aligned_alloc(size < page ? 64 : page, rounded);
#ifdef MADV_HUGEPAGE
    if (memory && size >= page) madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: refusal is no failure */
#endif
    return memory;
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
    samples->x = large(blocks * block + 64);
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

void stair_net_project(const stair_net *net, const stair_samples *samples, size_t block, stair_net_work *work)
{
    int isa = stair_isa(), rows = net->tokens * STAIR_GROUP;
    size_t at = row_at(net, block, 0, 0);
    if (net->single)
        stair_project_f4_table[isa](rows, net->stride, (const float *)samples->x + at, net->indices,
                                    work->weights, work->z);
    else
        stair_project_f8_table[isa](rows, net->stride, (const double *)samples->x + at, net->indices,
                                    work->weights, work->z);
}

static void collect(const stair_net *net, const stair_samples *samples, size_t block, stair_net_work *work)
{
    int isa = stair_isa(), rows = net->tokens * STAIR_GROUP;
    size_t at = row_at(net, block, 0, 0);
    if (net->single)
        stair_collect_f4_table[isa](rows, net->stride, (const float *)samples->x + at, net->indices,
                                    work->grad_z, work->gradient);
    else
        stair_collect_f8_table[isa](rows, net->stride, (const double *)samples->x + at, net->indices,
                                    work->grad_z, work->gradient);
}

/* The same as the fast path for a model that only knows one sample at a time. */
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
    int isa = stair_isa();
    for (size_t block = first; block < last; block++) {
        const double *target = samples->y + block * (size_t)net->outputs * STAIR_GROUP;
        const double *weight = samples->weight + block * STAIR_GROUP;
        double loss[STAIR_GROUP];
        stair_net_project(net, samples, block, work);
        if (net->attention)
            stair_attention_batch_table[isa](net->attention, work->z, target, weight, work->scratch, work->y,
                                             loss, gradient ? work->grad_z : NULL);
        else
            any_model(net, target, weight, work, loss, gradient);
        for (int s = 0; s < STAIR_GROUP; s++) total += loss[s];
        if (gradient) collect(net, samples, block, work);
    }
    return total;
}

void stair_net_gradient(const stair_net *net, const stair_net_work *work, double *gradient)
{
    double scale = 1 / sqrt((double)net->dim);
    for (int p = 0; p < net->indices; p++)
        for (int d = 0; d < net->dim; d++)
            gradient[(size_t)p * (size_t)net->dim + (size_t)d] =
                scale * work->gradient[(size_t)p * (size_t)net->stride + (size_t)d];
}
