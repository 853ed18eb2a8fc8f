/* attention:output=sequence: the label is the mixing itself, what token m of the last layer is made of.
 *
 *   y = S_L H_{L-1},   H_l = (c 1 + S_l) H_{l-1},   H_0 = 1;   rows of y sum to (c + 1)^(L-1)
 *
 * Troiani et al. 2025, section "Sequence to sequence", with the start H_0 = 1 (docs/errata.md, 17); one layer
 * is output=scores.  With noise on y every shape is served by its likelihood.  Without noise two layers of
 * rank one and two tokens have a fibre, sequence_fibre.c.  There
 *
 *   D = y_11 - y_21 = y_22 - y_12 = det(S_2) (c + 1 - abar - bbar) > 0,   y_12 + y_21 + D = c + 1,
 *
 * abar and bbar the off-diagonal entries of S_1, and the label carries the logarithms of y_12, y_21 and D.
 */
#include "model/sequence.h"

#include <math.h>
#include <string.h>

static const struct {
    double sums; /* how far y may be from rows that sum to c + 1, relative */
    double lost; /* D of plain y, relative to c + 1, of which rounding has left nothing */
} tuning = {.sums = 1e-6, .lost = 1e-14};

/* y (M, M) = S_L H_{L-1}, or S_L^T H_{L-1} where mixing is literal */
static void output(const stair_attention *a, const double *z, double *y)
{
    int m = a->tokens, last = a->layers - 1, rank = a->rank[last];
    double mixed[STAIR_ATTENTION_SQUARE], h[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], s[STAIR_ATTENTION_SQUARE];
    stair_attention_mixing(a, last, z, mixed);
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            h[i * rank + k] = 0;
            for (int j = 0; j < m; j++) h[i * rank + k] += mixed[i * m + j] * z[(a->row[last] + k) * m + j];
        }
    stair_attention_scores(a, rank, h, h, s, NULL);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            y[i * m + j] = 0;
            for (int k = 0; k < m; k++)
                y[i * m + j] += (a->literal ? s[k * m + i] : s[i * m + k]) * mixed[k * m + j];
        }
}

static double log_sum(double a, double b)
{
    double high = fmax(a, b);
    return high + log1p(exp(fmin(a, b) - high));
}

/* log of 1 / (1 + exp x) */
static double log_off(double x)
{
    return x > 0 ? -x - log1p(exp(-x)) : -log1p(exp(x));
}

/* The carried label of two layers, two tokens: no difference of numbers that are nearly equal. */
static void carry(const stair_attention *a, const double *z, double *label)
{
    double l1 = z[0] * (z[0] - z[1]), l2 = z[1] * (z[1] - z[0]), k = a->skip + 1;
    double log_a = log_off(l1), log_b = log_off(l2), abar = exp(log_a), bbar = exp(log_b);
    double h1 = (k - abar) * z[2] + abar * z[3], h2 = bbar * z[2] + (k - bbar) * z[3], gap = h1 - h2;
    double log_d = log(a->skip + (1 - abar) - bbar), log_12 = log_off(h1 * gap), log_21 = log_off(-h2 * gap),
           rise = gap * gap;
    /* det S = s_12 s_21 (exp(rise) - 1) */
    double log_rise = rise > 1 ? rise + log1p(-exp(-rise)) : log(expm1(rise));
    label[STAIR_SEQUENCE_12] = log_sum(log_a, log_12 + log_d);
    label[STAIR_SEQUENCE_21] = log_sum(log_b, log_21 + log_d);
    label[STAIR_SEQUENCE_GAP] = label[STAIR_SEQUENCE_GAP_TOO] = log_12 + log_21 + log_rise + log_d;
}

static void forward(const stair_model *model, const double *z, double *y, double *label)
{
    const stair_attention *a = model->state;
    if (y) output(a, z, y);
    if (label) carry(a, z, label);
}

static stair_status label_from_output(stair_context *context, const stair_model *model, const double *y,
                                      double *label)
{
    const stair_attention *a = model->state;
    double k = a->skip + 1, gap = 0.5 * ((y[0] - y[2]) + (y[3] - y[1]));
    for (int i = 0; i < 4; i++)
        if (!(y[i] >= 0 && y[i] <= k))
            return stair_fail(context, STAIR_BAD_INPUT, "y[%d][%d] = %g is not between 0 and %g", i / 2,
                              i % 2, y[i], k);
    for (int i = 0; i < 2; i++)
        if (!(fabs(y[2 * i] + y[2 * i + 1] - k) <= tuning.sums * k))
            return stair_fail(context, STAIR_BAD_INPUT, "row %d of y sums to %.9g, not to %g", i,
                              y[2 * i] + y[2 * i + 1], k);
    if (y[1] == 0 || y[2] == 0)
        return stair_fail(context, STAIR_BAD_INPUT, "y[%d][%d] = 0 has lost its information", y[1] != 0,
                          y[1] == 0);
    if (!(gap > tuning.lost * k))
        return stair_fail(context, STAIR_BAD_INPUT, "%s",
                          gap > -tuning.lost * k
                              ? "rows of y are equal to rounding, which has lost what tells them apart"
                              : "label is outside the range of the model: y_11 must be above y_21");
    label[STAIR_SEQUENCE_12] = log(y[1]);
    label[STAIR_SEQUENCE_21] = log(y[2]);
    label[STAIR_SEQUENCE_GAP] = label[STAIR_SEQUENCE_GAP_TOO] = log(gap);
    return STAIR_OK;
}

static void permute(const stair_model *model, const int *order, const double *label, double *out)
{
    int m = model->info.tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) out[i * m + j] = label[order[i] * m + order[j]];
}

static const stair_model_ops sequence_ops = {
    .name = "attention",
    .summary = "deep self-attention, y = S_L H_{L-1}: what tokens are made of",
    .formula = "y = S_L H_{L-1};  H_l = (c + S_l) H_{l-1},  S_l = softmax(h_l h_l^T),  h_l = H_{l-1} Z_l^T",
    .example = "attention:layers=2,output=sequence",
    .forward = forward,
    .label_from_output = label_from_output,
    .batch = &stair_attention_batch_ops,
    .fibre_open = stair_sequence_fibre_open,
    .fibre_map = stair_sequence_fibre_map,
    .even = true,
    .smooth = true,
    .permute = permute,
};

/* Why a shape has no fibre here, NULL where it has. */
static const char *refusal(const stair_attention *a)
{
    if (a->tokens > 2)
        return "more than two tokens give as many equations as Z has numbers: isolated solutions of a "
               "nonlinear system";
    if (a->tokens < 2) return "one token has a constant label";
    if (a->layers > 2) return "deeper ones have hidden rows in a domain whose edges are not known";
    if (a->rank[0] > 1 || a->rank[1] > 1) return "higher ranks have domains whose edges are not known";
    if (a->linear || a->literal) return "it is worked out for softmax and mixing=attention";
    return a->skip > 0 ? NULL : "it is worked out for skip above 0";
}

stair_status stair_sequence_begin(stair_context *context, stair_model *model)
{
    stair_attention *a = model->state;
    const char *why = refusal(a);
    if (!model->info.output_noisy && why)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "output=sequence without noise is served for layers=2,tokens=2,rank=1 (%s); "
                          "with noise=, any shape is",
                          why);
    a->sequence = true;
    model->ops = &sequence_ops;
    model->info.label_is_log = false;
    model->fibre_dim = 2;
    model->fibre_size = stair_sequence_fibre_size();
    return STAIR_OK;
}
