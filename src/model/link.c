/* A model of the caller's: any function y = g(Z) with Gaussian noise on every output.
 *
 *   y_k = g_k(Z) + sqrt(noise) xi_k
 *
 * Noise is what makes this possible without a fibre: it turns a label into a likelihood on all of Z, which
 * fibre.c has for every model.  Without noise a label confines Z to a set that only the author of g knows.
 * Symmetries of g are found by trying them (symmetry.c).
 *
 * In MODEL strings it is link:NAME,...: such a string says which model it was and cannot create one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "model/keys.h"
#include "model/link.h"

static const struct {
    int trials;  /* random Z at which g must be finite */
    double step; /* of central differences: eps^(1/3), where their error and rounding are alike */
} tuning = {.trials = 8, .step = 6e-6};

/* Sizes are written out, so that the canonical string of a model names them. */
static const stair_model_key keys[] = {
    {"name", NULL, "NAME"},
    STAIR_KEY_TOKENS("1"),
    {"indices", "1", "rows of Z"},
    {"outputs", "1", "numbers of a label"},
    STAIR_KEY_NOISE,
    STAIR_KEY_PRENOISE,
    {NULL, NULL, NULL},
};

void stair_link_forward(const stair_model *model, const double *z, double *y, double *label)
{
    const stair_link *link = model->state;
    link->function(link->user, z, y ? y : label);
    if (y && label) memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
}

/* One call where the link takes many points, else one for each. */
void stair_link_block(const stair_model *model, int n, const double *z, double *y)
{
    const stair_link *link = model->state;
    double point[STAIR_MAX_CELLS], one[STAIR_MAX_LABEL];
    if (link->block) {
        link->block(link->user, (size_t)n, STAIR_BLOCK, z, y);
        return;
    }
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < model->info.indices * model->info.tokens; c++) point[c] = z[c * STAIR_BLOCK + i];
        link->function(link->user, point, one);
        for (int k = 0; k < model->info.label_size; k++) y[k * STAIR_BLOCK + i] = one[k];
    }
}

stair_status stair_link_label(stair_context *context, const stair_model *model, const double *y,
                              double *label)
{
    memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
    return stair_label_check(context, model, label);
}

static double pulled(const stair_model *model, const double *z, const double *cotangent)
{
    double y[STAIR_MAX_LABEL], sum = 0;
    stair_link_forward(model, z, y, NULL);
    for (int k = 0; k < model->info.label_size; k++) sum += cotangent[k] * y[k];
    return sum;
}

void stair_link_gradient(const stair_model *model, const double *z, const double *cotangent, double *grad_z)
{
    const stair_link *link = model->state;
    int cells = model->info.indices * model->info.tokens;
    double moved[STAIR_MAX_CELLS];
    if (link->gradient) {
        link->gradient(link->user, z, cotangent, grad_z);
        return;
    }
    memcpy(moved, z, sizeof(double) * (size_t)cells);
    for (int i = 0; i < cells; i++) {
        double step = tuning.step * fmax(1, fabs(z[i])), above = z[i] + step, below = z[i] - step;
        moved[i] = above;
        grad_z[i] = pulled(model, moved, cotangent);
        moved[i] = below;
        grad_z[i] = (grad_z[i] - pulled(model, moved, cotangent)) / (above - below);
        moved[i] = z[i];
    }
}

static stair_status check(stair_context *context, const stair_link *link)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t length = link->name ? strlen(link->name) : 0;
    if (length == 0 || length >= STAIR_MOST_VALUE || strspn(link->name, allowed) != length)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "a link needs a name of letters, digits, '-' and '_', fewer than %d",
                          STAIR_MOST_VALUE);
    if (!link->function) return stair_fail(context, STAIR_BAD_INPUT, "link '%s' has no function", link->name);
    if (!(link->noise > 0))
        return stair_fail(context, STAIR_BAD_INPUT,
                          "link '%s': noise must be above 0, not %g: without noise on y the posterior is on "
                          "the set of Z with that label, which a function alone does not give",
                          link->name, link->noise);
    return STAIR_OK;
}

/* g has to be finite where data are. */
static stair_status try_function(stair_context *context, const stair_model *model)
{
    double z[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL];
    for (int trial = 0; trial < tuning.trials; trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)trial, model->info.indices * model->info.tokens, z);
        stair_link_forward(model, z, y, NULL);
        for (int k = 0; k < model->info.label_size; k++)
            if (!isfinite(y[k]))
                return stair_fail(
                    context, STAIR_BAD_INPUT,
                    "link '%s': output %d is %g at a standard normal Z, whose first entry is %g",
                    model->info.name, k, y[k], z[0]);
    }
    return STAIR_OK;
}

static bool fits(int size, int most)
{
    return size >= 1 && size <= most;
}

static stair_status check_sizes(stair_context *context, const stair_link *link)
{
    if (fits(link->tokens, STAIR_MAX_TOKENS) && fits(link->indices, STAIR_MAX_INDICES) &&
        fits(link->outputs, STAIR_MAX_LABEL))
        return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT,
                      "link '%s': tokens=%d, indices=%d, outputs=%d: expected 1 to %d, 1 to %d and 1 to %d",
                      link->name, link->tokens, link->indices, link->outputs, STAIR_MAX_TOKENS,
                      STAIR_MAX_INDICES, STAIR_MAX_LABEL);
}

stair_status stair_link_adopt(stair_context *context, stair_model *model, const stair_link *link)
{
    stair_model_info *info = &model->info;
    size_t length = strlen(link->name) + 1;
    STAIR_TRY(check_sizes(context, link));
    stair_link *kept = model->state = malloc(sizeof *kept + length);
    if (!kept) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *kept = *link;
    kept->name = info->name = memcpy(kept + 1, link->name, length);
    info->layers = 1;
    info->tokens = link->tokens;
    info->indices = model->ranks[0] = link->indices;
    info->label_size = link->outputs;
    return try_function(context, model);
}

/* Sizes by their keys; the function follows when there is a model to keep it. */
static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    stair_model_info *info = &model->info;
    STAIR_TRY(stair_key_integer(context, "indices", values[2], 1, STAIR_MAX_INDICES, &info->indices));
    STAIR_TRY(stair_key_integer(context, "outputs", values[3], 1, STAIR_MAX_LABEL, &info->label_size));
    info->layers = 1;
    model->ranks[0] = info->indices;
    return STAIR_OK;
}

static const stair_model_ops link_ops = {
    .name = "link",
    .summary = "a function of the caller's, with noise",
    .formula = "y = g(Z) + sqrt(noise) xi",
    .keys = keys,
    .positional = true,
    .create = create,
    STAIR_LINK_OPS,
};

stair_status stair_model_from_link(stair_context *context, const stair_link *link, stair_model **model)
{
    char items[STAIR_MOST_SPEC];
    *model = NULL;
    STAIR_TRY(check(context, link));
    snprintf(items, sizeof items, "name=%s,tokens=%d,indices=%d,outputs=%d,noise=%.17g,prenoise=%.17g",
             link->name, link->tokens, link->indices, link->outputs, link->noise, link->prenoise);
    STAIR_TRY(stair_model_make(context, &link_ops, items, model));
    stair_status status = stair_link_adopt(context, *model, link);
    if (status != STAIR_OK) stair_model_destroy(model);
    return status;
}
