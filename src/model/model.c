/* MODEL strings and the public face of models.
 *
 *   name:key=value,key=value     every key at most once, unknown ones refused with a suggestion
 *
 * The registry and each model's key table drive everything; nothing here knows a model. */
#include "model/model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "model/keys.h"

#define MOST_KEYS  24
#define MOST_VALUE 128
#define MOST_SPEC  1024

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

const stair_model_key *stair_model_keys(int i, int key)
{
    if (!stair_model_name(i)) return NULL;
    const stair_model_key *keys = stair_model_registry[i]->keys;
    for (int k = 0; k < key; k++)
        if (!keys[k].key) return NULL;
    return keys[key].key ? &keys[key] : NULL;
}

stair_status stair_key_integer(stair_context *context, const char *key, const char *text, int least, int most,
                               int *value)
{
    char *end;
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (end == text || *end || errno || parsed < least || parsed > most)
        return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected an integer from %d to %d", key,
                          text, least, most);
    *value = (int)parsed;
    return STAIR_OK;
}

stair_status stair_key_real(stair_context *context, const char *key, const char *text, double least,
                            double most, double *value)
{
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end || !(parsed >= least && parsed <= most))
        return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected a number from %g to %g", key,
                          text, least, most);
    *value = parsed;
    return STAIR_OK;
}

stair_status stair_key_choice(stair_context *context, const char *key, const char *text,
                              const char *const *choices, int *value)
{
    char listed[128] = "";
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(text, choices[i])) {
            *value = i;
            return STAIR_OK;
        }
        size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, "%s%s", i ? ", " : "", choices[i]);
    }
    return stair_fail(context, STAIR_BAD_INPUT, "model key %s=%s: expected one of %s", key, text, listed);
}

static const stair_model_ops *find_model(stair_context *context, const char *name)
{
    const char *names[64];
    int count = 0;
    for (; stair_model_registry[count]; count++) {
        names[count] = stair_model_registry[count]->name;
        if (!strcmp(name, names[count])) return stair_model_registry[count];
    }
    names[count] = NULL;
    const char *close = stair_closest(name, names);
    stair_fail(context, STAIR_BAD_INPUT, "unknown model '%.40s'%s%s%s; 'stair models' lists them", name,
               close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "");
    return NULL;
}

static stair_status set_key(stair_context *context, const stair_model_ops *ops, char *pair,
                            char (*values)[MOST_VALUE], bool *given)
{
    const char *names[MOST_KEYS + 1];
    int count = 0;
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair || !equals[1])
        return stair_fail(context, STAIR_BAD_INPUT, "model '%s': '%.40s' is not key=value", ops->name, pair);
    *equals = 0;
    for (; ops->keys[count].key; count++) {
        names[count] = ops->keys[count].key;
        if (strcmp(pair, names[count])) continue;
        if (given[count])
            return stair_fail(context, STAIR_BAD_INPUT, "model '%s': key '%s' given twice", ops->name, pair);
        if (strlen(equals + 1) >= MOST_VALUE)
            return stair_fail(context, STAIR_BAD_INPUT, "model '%s': value of '%s' is too long", ops->name,
                              pair);
        given[count] = true;
        strcpy(values[count], equals + 1);
        return STAIR_OK;
    }
    names[count] = NULL;
    const char *close = stair_closest(pair, names);
    return stair_fail(context, STAIR_BAD_INPUT,
                      "model '%s' has no key '%.40s'%s%s%s; 'stair models %s' lists them", ops->name, pair,
                      close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "", ops->name);
}

static char *canonical_spec(const stair_model_ops *ops, char (*values)[MOST_VALUE])
{
    size_t size = strlen(ops->name) + 2, used;
    for (int i = 0; ops->keys[i].key; i++) size += strlen(ops->keys[i].key) + strlen(values[i]) + 2;
    char *spec = malloc(size);
    if (!spec) return NULL;
    used = (size_t)snprintf(spec, size, "%s", ops->name);
    for (int i = 0; ops->keys[i].key; i++)
        used +=
            (size_t)snprintf(spec + used, size - used, "%c%s=%s", i ? ',' : ':', ops->keys[i].key, values[i]);
    return spec;
}

stair_status stair_model_create(stair_context *context, const char *spec, stair_model **model)
{
    char text[MOST_SPEC], values[MOST_KEYS][MOST_VALUE] = {{0}};
    const char *pointers[MOST_KEYS];
    bool given[MOST_KEYS] = {false};
    *model = NULL;
    if (strlen(spec) >= sizeof text)
        return stair_fail(context, STAIR_BAD_INPUT, "model string longer than %d characters", MOST_SPEC - 1);
    strcpy(text, spec);
    char *rest = strchr(text, ':');
    if (rest) *rest++ = 0;
    const stair_model_ops *ops = find_model(context, text);
    if (!ops) return STAIR_BAD_INPUT;
    while (rest) {
        char *comma = strchr(rest, ',');
        if (comma) *comma++ = 0;
        STAIR_TRY(set_key(context, ops, rest, values, given));
        rest = comma;
    }
    for (int i = 0; ops->keys[i].key; i++) {
        if (!given[i]) strcpy(values[i], ops->keys[i].value);
        pointers[i] = values[i];
    }

    stair_model *made = calloc(1, sizeof *made);
    if (!made) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    made->ops = ops;
    made->info.name = ops->name;
    made->info.ranks = made->ranks;
    made->spec = canonical_spec(ops, values);
    made->known = calloc(1, sizeof *made->known);
    stair_status status = made->spec && made->known ? ops->create(context, made, pointers)
                                                    : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status != STAIR_OK) {
        stair_model_destroy(&made);
        return status;
    }
    *model = made;
    return STAIR_OK;
}

void stair_model_destroy(stair_model **model)
{
    if (!*model) return;
    if ((*model)->ops->destroy) (*model)->ops->destroy(*model);
    if ((*model)->known) free(atomic_load(&(*model)->known->structure));
    free((*model)->known);
    free((*model)->state);
    free((*model)->spec);
    free(*model);
    *model = NULL;
}

stair_model_info stair_model_describe(const stair_model *model)
{
    return model->info;
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

stair_status stair_model_gradient(stair_context *context, const stair_model *model, const double *z,
                                  const double *cotangent, double *gradient)
{
    if (!model->ops->gradient)
        return stair_fail(context, STAIR_UNSUPPORTED, "model '%s' has no gradient", model->info.name);
    model->ops->gradient(model, z, cotangent, gradient);
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
        if (status != STAIR_OK) {
            char reason[256];
            snprintf(reason, sizeof reason, "%.250s", stair_context_message(context));
            return stair_fail(context, status, "sample %zu: %s", i, reason);
        }
    }
    return STAIR_OK;
}
