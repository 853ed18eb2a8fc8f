/* attention-limit: attention whose skip connection grows with depth, c = beta L, as the paper prints it, and
 * its true limit.
 *
 *   printed:  B = 1 + (1/(beta L)) sum_{l<L} S(Z_l),   S(Z_l) = rowsoftmax(Z_l^T Z_l),
 *   flow:     B = B(1) of the flow of limit_flow.c, no longer random;   both:  h = B Z_L^T,
 *
 *   y = rowsoftmax(h h^T).
 *
 * Troiani et al. 2025, eq. 43; docs/errata.md, 16.  Printed is the first order in 1/beta: nothing mixes what
 * hidden layers see, so they may be exchanged.  Of the flow only the rows of the last layer are left: the
 * label is that of one layer, but for a matrix that is known.  Labels and fibres are those of attention,
 * Z_L = B^-1 h with density |det B|^-P_L.  For two tokens
 *
 *   det B = (1 + (L-1)/(beta L)) (1 + sum_l (1 - abar_l - bbar_l)/(beta L)) > 0.
 */
#include "model/limit.h"

#include <stdlib.h>

#include "model/keys.h"

#define MOST_LAYERS 4096 /* of a committee; its law is close to Gaussian long before */

enum { KEY_LAYERS, KEY_BETA, KEY_VARIANT, KEY_TOKENS, KEY_RANK };

static const stair_model_key keys[] = {
    [KEY_LAYERS] = {"layers", "4", "depth L; variant=flow is the limit of all of them"},
    [KEY_BETA] = {"beta", "1", "skip connection over depth, c / L"},
    [KEY_VARIANT] = {"variant", "printed", "printed: a committee of hidden layers; flow: the limit itself"},
    [KEY_TOKENS] = STAIR_KEY_TOKENS("2"),
    [KEY_RANK] = {"rank", "1", "rank P_l of every layer, or of each: 1+2+1"},
    STAIR_KEY_NOISE,
    STAIR_KEY_PRENOISE,
    {NULL, NULL, NULL},
};

/* Hidden layers go, and what they do is known. */
static stair_status take_limit(stair_context *context, double beta, stair_attention *a)
{
    double error;
    for (int l = 1; l < a->layers; l++)
        if (a->rank[l] != a->rank[0])
            return stair_fail(context, STAIR_BAD_INPUT,
                              "variant=flow has one rank for all layers: layer %d has %d, layer 1 has %d",
                              l + 1, a->rank[l], a->rank[0]);
    a->layers = 1;
    a->mixed = STAIR_MIXED_BY_FLOW;
    return stair_limit_flow(a->tokens, a->rank[0], beta, a->flow, &error)
               ? STAIR_OK
               : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

/* Above so many layers the first row stands for all hidden ones, which holds as long as they are not learned:
 * unlearned layers do not see each other, and all have the same share in the operator of the next step. */
static stair_status represent_hidden(stair_context *context, stair_model *model, int layers)
{
    stair_attention *a = model->state;
    bool alike = a->tokens == 2 && a->rank[0] == 1 && a->rank[1] == 1;
    if (!alike || model->info.noise > 0 || model->info.prenoise > 0)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "more than %d layers need tokens=2, rank=1 and no noise: there hidden layers are "
                          "exchangeable and known by two sums",
                          STAIR_MAX_LAYERS);
    model->unseen = layers - 2;
    a->share *= layers - 1;
    return STAIR_OK;
}

static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    static const char *const variants[] = {"printed", "flow", NULL};
    stair_attention *a = calloc(1, sizeof *a);
    double beta;
    int flow, layers;
    if (!a) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    model->state = a;
    a->tokens = model->info.tokens;
    STAIR_TRY(stair_key_integer(context, "layers", values[KEY_LAYERS], 1, MOST_LAYERS, &layers));
    STAIR_TRY(stair_key_real(context, "beta", values[KEY_BETA], 0.05, 1e9, &beta));
    STAIR_TRY(stair_key_choice(context, "variant", values[KEY_VARIANT], variants, &flow));
    a->layers = layers > STAIR_MAX_LAYERS ? 2 : layers;
    STAIR_TRY(stair_attention_read_ranks(context, values[KEY_RANK], a));
    a->mixed = STAIR_MIXED_BY_COMMITTEE;
    a->share = 1 / (beta * layers);
    if (layers > STAIR_MAX_LAYERS && !flow) STAIR_TRY(represent_hidden(context, model, layers));
    if (flow) STAIR_TRY(take_limit(context, beta, a));
    return stair_attention_size(context, model);
}

static bool committee(const stair_model *model, int *layers, double *share)
{
    const stair_attention *a = model->state;
    bool alike = a->mixed == STAIR_MIXED_BY_COMMITTEE && a->tokens == 2 && !model->info.output_noisy &&
                 model->info.prenoise == 0;
    for (int l = 0; l < a->layers; l++) alike &= a->rank[l] == 1;
    *layers = a->layers - 1 + model->unseen;
    *share = model->unseen ? a->share / *layers : a->share;
    return alike;
}

const stair_model_ops stair_limit_ops = {
    .name = "attention-limit",
    .summary =
        "attention at large depth with skip = beta L: printed committee, or the flow that is its limit",
    .formula = "y = softmax(h h^T) by rows,  h = B Z_L^T,  B = 1 + 1/(beta L) sum_{l<L} softmax(Z_l^T Z_l)",
    .example = "attention-limit:layers=4,beta=1",
    .keys = keys,
    .create = create,
    .forward = stair_attention_forward,
    .label_from_output = stair_attention_label,
    .batch = &stair_attention_batch_ops,
    .fibre_open = stair_attention_fibre_open,
    .fibre_map = stair_attention_fibre_map,
    .ridges = stair_attention_ridges,
    .angle_power = stair_attention_angle_power,
    .committee = committee,
    .even = true,
    .smooth = true,
    .permute = stair_attention_permute,
};
