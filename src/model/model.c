/* The public face of models: the registry for listings, forward, gradient and labels of any of them. */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *stair_model_name(int i)
{
    for (int k = 0; k < i; k++)
        if (!stair_model_registry[k]) return NULL;
    return stair_model_registry[i] ? stair_model_registry[i]->name : NULL;
}

const char *stair_model_summary(int i)
{
    return stair_model_name(i) ? stair_model_registry[i]->summary : NULL;
}

const char *stair_model_formula(int i)
{
    return stair_model_name(i) ? stair_model_registry[i]->formula : NULL;
}

const char *stair_model_example(int i)
{
    return stair_model_name(i) ? stair_model_registry[i]->example : NULL;
}

const stair_model_key *stair_model_keys(int i, int key)
{
    if (!stair_model_name(i)) return NULL;
    const stair_model_key *keys = stair_model_registry[i]->keys;
    for (int k = 0; k < key; k++)
        if (!keys[k].key) return NULL;
    return keys[key].key ? &keys[key] : NULL;
}

void stair_model_destroy(stair_model **model)
{
    if (!*model) return;
    if ((*model)->ops && (*model)->ops->destroy) (*model)->ops->destroy(*model);
    if ((*model)->known) free(atomic_load(&(*model)->known->structure));
    free((*model)->known);
    free((*model)->state);
    free((*model)->spec);
    free(*model);
    *model = NULL;
}

stair_model_info stair_model_describe(const stair_model *model)
{
    stair_model_info info = model->info;
    info.label_is_output = info.output_noisy || model->ops->label_is_output;
    return info;
}
const char *stair_model_spec(const stair_model *model)
{
    return model->spec;
}

stair_status stair_model_forward(stair_context *context, const stair_model *model, size_t n, const double *z,
                                 double *labels)
{
    (void)context;
    size_t in = (size_t)(model->info.indices * model->info.tokens), out = (size_t)model->info.label_size;
    bool plain = model->info.output_noisy;
    for (size_t i = 0; i < n; i++)
        model->ops->forward(model, z + i * in, plain ? labels + i * out : NULL,
                            plain ? NULL : labels + i * out);
    return STAIR_OK;
}

stair_status stair_model_outputs(stair_context *context, const stair_model *model, size_t n, const double *z,
                                 double *y)
{
    (void)context;
    size_t in = (size_t)(model->info.indices * model->info.tokens), out = (size_t)model->info.label_size;
    for (size_t i = 0; i < n; i++) model->ops->forward(model, z + i * in, y + i * out, NULL);
    return STAIR_OK;
}

/* By the first lane of a group, where the model knows only groups. */
static stair_status gradient_by_batch(stair_context *context, const stair_model *model, const double *z,
                                      const double *cotangent, double *gradient)
{
    const stair_batch_ops *batch = model->ops->batch;
    size_t cells = (size_t)(model->info.indices * model->info.tokens),
           outputs = (size_t)model->info.label_size;
    size_t size = 2 * STAIR_GROUP * (cells + outputs), all = size + batch->scratch(model);
    double *memory = aligned_alloc(64, (all * sizeof(double) + 63) / 64 * 64);
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    memset(memory, 0, size * sizeof(double));
    double *wide_z = memory, *wide_gradient = wide_z + STAIR_GROUP * cells,
           *pull = wide_gradient + STAIR_GROUP * cells, *y = pull + STAIR_GROUP * outputs;
    for (size_t i = 0; i < cells; i++) wide_z[i * STAIR_GROUP] = z[i];
    for (size_t k = 0; k < outputs; k++) pull[k * STAIR_GROUP] = cotangent[k];
    batch->run(model, wide_z, NULL, NULL, pull, y + STAIR_GROUP * outputs, y, NULL, wide_gradient);
    for (size_t i = 0; i < cells; i++) gradient[i] = wide_gradient[i * STAIR_GROUP];
    free(memory);
    return STAIR_OK;
}

stair_status stair_model_gradient(stair_context *context, const stair_model *model, const double *z,
                                  const double *cotangent, double *gradient)
{
    if (model->ops->gradient)
        model->ops->gradient(model, z, cotangent, gradient);
    else if (model->ops->batch)
        return gradient_by_batch(context, model, z, cotangent, gradient);
    else
        return stair_fail(context, STAIR_UNSUPPORTED, "model '%s' has no gradient", model->info.name);
    return STAIR_OK;
}

static stair_status blame_sample(stair_context *context, stair_status status, size_t sample)
{
    char reason[256];
    snprintf(reason, sizeof reason, "%.250s", stair_context_message(context));
    return stair_fail(context, status, "sample %zu: %s", sample, reason);
}

stair_status stair_model_labels_check(stair_context *context, const stair_model *model, size_t n,
                                      const double *labels)
{
    for (size_t i = 0; i < n; i++) {
        stair_status status = stair_label_check(context, model, labels + i * (size_t)model->info.label_size);
        if (status != STAIR_OK) return blame_sample(context, status, i);
    }
    return STAIR_OK;
}

stair_status stair_model_labels_from_outputs(stair_context *context, const stair_model *model, size_t n,
                                             const double *y, double *labels)
{
    size_t size = (size_t)model->info.label_size;
    for (size_t i = 0; i < n; i++) {
        stair_status status;
        if (model->info.output_noisy) {
            memcpy(labels + i * size, y + i * size, size * sizeof *y);
            continue;
        }
        status = model->ops->label_from_output(context, model, y + i * size, labels + i * size);
        if (status != STAIR_OK) return blame_sample(context, status, i);
    }
    return STAIR_OK;
}
