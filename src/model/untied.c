/* Attention with untied query and key: the rows of Z, and the table.
 *
 * Troiani et al. 2025, eqs. (19)-(24).  Forward, gradient and labels are those of tied weights with other
 * rows for the queries (attention.c); the fibre is not (untied_fibre.c). */
#include "model/untied.h"

static const stair_model_ops stair_untied_ops;

/* K_l and Q_l are of layer l.  Where the rank is one they change sign together, and not alone. */
static void name_rows(stair_model *model, const stair_attention *a)
{
    int last = a->layers - 1, hidden = a->row[last], rows = a->queries;
    for (int l = 0; l < a->layers; l++)
        for (int k = a->row[l]; k < a->row[l] + a->rank[l]; k++) {
            model->layer[k] = model->layer[rows + k] = l;
            model->sign[k] = model->sign[rows + k] = a->rank[l] == 1 ? l + 1 : 0;
        }
    for (int k = 0; k < hidden; k++) {
        model->order[k] = k;
        model->order[hidden + k] = rows + k;
    }
    for (int k = 0; k < a->rank[last]; k++) {
        model->order[2 * hidden + k] = hidden + k;
        model->order[hidden + rows + k] = rows + hidden + k;
    }
}

stair_status stair_untied_create(stair_context *context, stair_model *model, int rows)
{
    stair_attention *a = model->state;
    int m = a->tokens, rank = a->rank[a->layers - 1], seen = stair_untied_seen(a);
    if (2 * rows > STAIR_MAX_INDICES)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "model too large: weights=untied has a key and a query for each rank, %d indices; "
                          "at most %d",
                          2 * rows, STAIR_MAX_INDICES);
    a->queries = rows;
    a->angles = stair_untied_wide(a) ? 0 : rank * (rank - 1) / 2;
    int last = stair_untied_wide(a) ? rank * m + m * (rank - seen) : rank * rank + (a->linear ? 0 : rank);
    model->fibre_dim = 2 * a->row[a->layers - 1] * m + last;
    if (model->fibre_dim > STAIR_MAX_DIM && !model->info.output_noisy)
        return stair_fail(context, STAIR_UNSUPPORTED, "model too large: %d hidden dimensions; at most %d",
                          model->fibre_dim, STAIR_MAX_DIM);
    model->info.indices = 2 * rows;
    model->ops = &stair_untied_ops;
    name_rows(model, a);
    stair_untied_fibre_layout(a, &model->fibre_size);
    return STAIR_OK;
}

/* Only ever reached through attention:weights=untied, whose keys it has read. */
static const stair_model_ops stair_untied_ops = {
    .name = "attention",
    .summary = "deep self-attention with untied query and key",
    .formula =
        "y = S_L;  S_l = softmax(q_l k_l^T) by rows,  (q_l, k_l) = (c + S_{l-1}) ... (c + S_1) (Q_l, K_l)^T",
    .example = "attention:layers=1,tokens=2,weights=untied",
    .forward = stair_attention_forward,
    .label_from_output = stair_attention_label,
    .batch = &stair_attention_batch_ops,
    .fibre_open = stair_untied_fibre_open,
    .fibre_map = stair_untied_fibre_map,
    .angle_power = stair_untied_angle_power,
    .closed = &stair_untied_closed,
    .ignorant = stair_untied_ignorant,
    .even = true,
    .smooth = true,
    .permute = stair_attention_permute,
};
