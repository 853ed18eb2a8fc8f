/* Attention with H heads and a readout of R rows: rows of Z, forward and labels.
 *
 * The embedding has H blocks x^h of dimension D, and every row of weights acts on one of them.  W_l^{hh'} of
 * head h acts on block h', the readout V_h on block h.  With H_0^h = 1, per sample
 *
 *   h^Q_lh = H^-1/2 sum_h' H_{l-1}^{h'} (Q_l^{hh'})^T,  h^K_lh likewise;  S_l^h = rowsoftmax(h^Q_lh h^K_lh^T)
 *   H_l^h  = (c 1[l < L] + S_l^h) H_{l-1}^h;            y_rm = sum_h sum_n (H_L^h)_mn V_h[r][n]
 *
 * Tied: Q = K, one set of rows W_l^{hh'}.  Rows of Z in the order of the paper (Troiani et al. 2025, appendix
 * A.3): layer, head h, block h', rank, keys before queries, then V_1 ... V_H.
 *
 * The print has the factor 1/H of the scores in the definition of a head and not in the recursion for B_c^l,
 * and leaves B_c^{L-1} out of the last layer of that recursion though x_L^h = x_{L-1}^h sigma(...) has it;
 * here both are as in the definition of the model.  `mixing=literal` puts S_l^T in place of S_l throughout.
 *
 * Which exchanges leave the label as it is: none of heads.  Head h is the one that mixes block h, and the
 * data say which block is which; rows of two heads that change places change the label.  Keys and queries of
 * one head may change sign together (tied: all of its rows), and turn together where their rank is above one.
 * For one layer the label knows the W^{hh'} of a head by their sum over h' alone, yet each lives on a block
 * of its own: nothing is exchanged there either, for overlaps of rows on different blocks are zero. */
#include "model/heads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"

STAIR_HOT_TABLE(void, stair_heads_batch,
                (const stair_heads *a, const double *z, const double *target, const double *weight,
                 const double *cotangent, double *scratch, double *y, double *loss, double *grad_z));

STAIR_HOT_TABLE(void, stair_heads_mix, (const stair_heads *a, const double *z, double *scratch, double *c));

enum { MOST_HEADS = 4 }; /* H (H + 1) rows, at least, have to be within STAIR_MAX_INDICES */
_Static_assert((MOST_HEADS + 1) * (MOST_HEADS + 2) > STAIR_MAX_INDICES, "more heads fit");

/* ---- forward ------------------------------------------------------------------------------------ */

/* out (M, rank): keys or queries of one head, from mixed (H, M, M) */
static void project(const stair_heads *a, int first, int layer, int head, const double *mixed,
                    const double *z, double *out)
{
    int m = a->shape.tokens, rank = a->shape.rank[layer];
    memset(out, 0, sizeof(double) * (size_t)(m * rank));
    for (int block = 0; block < a->heads; block++)
        for (int k = 0; k < rank; k++) {
            const double *row = z + stair_heads_row(a, first, layer, head, block, k) * m;
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int j = 0; j < m; j++) sum += mixed[(block * m + i) * m + j] * row[j];
                out[i * rank + k] += a->scale * sum;
            }
        }
}

static void softmax_rows(int m, double *s)
{
    for (int i = 0; i < m; i++, s += m) {
        double top = s[0], sum = 0;
        for (int j = 1; j < m; j++) top = fmax(top, s[j]);
        for (int j = 0; j < m; j++) sum += s[j] = exp(s[j] - top);
        for (int j = 0; j < m; j++) s[j] /= sum;
    }
}

/* s (M, M): S_l^h */
static void scores(const stair_heads *a, int layer, int head, const double *mixed, const double *z, double *s)
{
    int m = a->shape.tokens, rank = a->shape.rank[layer];
    double q[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], k[STAIR_MAX_TOKENS * STAIR_MAX_INDICES];
    project(a, a->query[layer], layer, head, mixed, z, q);
    project(a, a->key[layer], layer, head, mixed, z, k);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            s[i * m + j] = 0;
            for (int r = 0; r < rank; r++) s[i * m + j] += q[i * rank + r] * k[j * rank + r];
        }
    if (!a->shape.linear) softmax_rows(m, s);
}

/* next (M, M) = (c 1[l < L] + S) mixed */
static void mix(const stair_heads *a, bool last, const double *s, const double *mixed, double *next)
{
    int m = a->shape.tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = last ? 0 : a->shape.skip * mixed[i * m + j];
            for (int k = 0; k < m; k++)
                sum += (a->shape.literal ? s[k * m + i] : s[i * m + k]) * mixed[k * m + j];
            next[i * m + j] = sum;
        }
}

/* mixed (H, M, M): H_L^h, from the rows before the readout */
static void mix_all(const stair_heads *a, const double *z, double *mixed)
{
    int m = a->shape.tokens, square = m * m, layers = a->shape.layers;
    double next[MOST_HEADS * STAIR_ATTENTION_SQUARE], s[STAIR_ATTENTION_SQUARE];
    for (int i = 0; i < a->heads * square; i++) mixed[i] = i % square % (m + 1) == 0;
    for (int l = 0; l < layers; l++) {
        for (int h = 0; h < a->heads; h++) {
            scores(a, l, h, mixed, z, s);
            mix(a, l + 1 == layers, s, mixed + h * square, next + h * square);
        }
        memcpy(mixed, next, sizeof(double) * (size_t)(a->heads * square));
    }
}

static void forward(const stair_model *model, const double *z, double *y, double *label)
{
    const stair_heads *a = model->state;
    int m = a->shape.tokens, outputs = a->outputs;
    double mixed[MOST_HEADS * STAIR_ATTENTION_SQUARE], *out = y ? y : label;
    mix_all(a, z, mixed);
    for (int r = 0; r < outputs; r++)
        for (int i = 0; i < m; i++) {
            out[r * m + i] = 0;
            for (int h = 0; h < a->heads; h++)
                for (int j = 0; j < m; j++)
                    out[r * m + i] += mixed[(h * m + i) * m + j] * z[(a->value + h * outputs + r) * m + j];
        }
    if (y && label) memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
}

static stair_status label_from_output(stair_context *context, const stair_model *model, const double *y,
                                      double *label)
{
    memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
    return stair_label_check(context, model, label);
}

/* All of Z with this label, tokens in another order. */
static void permute(const stair_model *model, const int *order, const double *label, double *out)
{
    int m = model->info.tokens;
    for (int k = 0; k < model->info.label_size; k++) out[k] = label[k / m * m + order[k % m]];
}

/* Tapes of all layers and what gradients need: see heads_batch_hot.c. */
static size_t batch_scratch(const stair_model *model)
{
    const stair_heads *a = model->state;
    size_t m = (size_t)a->shape.tokens, layers = (size_t)a->shape.layers, heads = (size_t)a->heads, ranks = 0;
    for (size_t l = 0; l < layers; l++) ranks += (size_t)a->shape.rank[l];
    size_t tapes = heads * m * (2 * layers * m + 2 * ranks), top = heads * m * m,
           gradients = (2 * heads + 1) * m * m + 2 * m * ranks;
    return STAIR_GROUP * (tapes + top + gradients + (size_t)model->info.label_size);
}

static void batch_run(const stair_model *model, const double *z, const double *target, const double *weight,
                      const double *cotangent, double *scratch, double *y, double *loss, double *grad_z)
{
    stair_heads_batch_table[stair_isa()](model->state, z, target, weight, cotangent, scratch, y, loss,
                                         grad_z);
}

static const stair_batch_ops batch = {.scratch = batch_scratch, .run = batch_run};

/* ---- the readout is linear ------------------------------------------------------------------------ */

/* u: of the first layer, before which no tokens are mixed, the label knows the rows of a head by their sum
 * over blocks, here divided by sqrt(H); of later layers every row.  v: the readout. */
static void marginal_rows(const stair_model *model, int *given, int *linear, double *map)
{
    const stair_heads *a = model->state;
    int p = model->info.indices;
    *given = a->given;
    *linear = p - a->value;
    if (!map) return;
    memset(map, 0, sizeof(double) * (size_t)((*given + *linear) * p));
    for (int i = 0; i < p; i++)
        map[(i < a->value ? a->place[i] : *given + i - a->value) * p + i] = model->layer[i] ? 1 : a->scale;
}

static size_t marginal_scratch(const stair_model *model)
{
    const stair_heads *a = model->state;
    return STAIR_GROUP * (size_t)(a->value * a->shape.tokens) + batch_scratch(model);
}

static void marginal_mix(const stair_model *model, const double *u, double *scratch, double *c)
{
    const stair_heads *a = model->state;
    int m = a->shape.tokens, wide = m * STAIR_GROUP;
    for (int i = 0; i < a->value; i++) { /* sums stand in the first block, nothing in the others */
        double scale = model->layer[i] ? 1 : model->block[i] ? 0 : 1 / a->scale;
        for (int t = 0; t < wide; t++) scratch[i * wide + t] = scale * u[a->place[i] * wide + t];
    }
    stair_heads_mix_table[stair_isa()](a, scratch, scratch + a->value * wide, c);
}

static const stair_marginal_ops marginal = {
    .rows = marginal_rows, .scratch = marginal_scratch, .mix = marginal_mix};

/* ---- the rows ------------------------------------------------------------------------------------ */

/* Keys, queries, readout; returns their number. */
static int lay_out(stair_heads *a, bool untied)
{
    int rows = 0;
    for (int l = 0; l < a->shape.layers; l++) {
        a->key[l] = rows;
        rows += a->heads * a->heads * a->shape.rank[l];
    }
    int keys = rows;
    for (int l = 0; l < a->shape.layers; l++) a->query[l] = a->key[l] + (untied ? keys : 0);
    a->value = untied ? 2 * keys : keys;
    return a->value + a->heads * a->outputs;
}

/* What is known of each row beyond the formula: its layer, its block, what changes sign with it. */
static void describe_rows(stair_model *model, stair_heads *a, int first)
{
    int at = first, sign = 0;
    for (int l = 0; l < a->shape.layers; l++)
        for (int head = 0; head < a->heads; head++) {
            sign++;
            for (int block = 0; block < a->heads; block++)
                for (int k = 0; k < a->shape.rank[l]; k++, at++) {
                    model->layer[at] = l;
                    model->block[at] = block;
                    model->sign[at] = sign;
                    a->place[at] = l == 0 && block ? a->place[at - a->shape.rank[0]] : a->given++;
                }
        }
}

static stair_status check(stair_context *context, const stair_model *model, int heads, int readout)
{
    if (!readout)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "heads=%d needs a readout, which adds up what the heads give: readout=1 or more",
                          heads);
    if (!model->info.output_noisy)
        return stair_fail(
            context, STAIR_BAD_INPUT,
            "a readout needs noise above 0, as noise=0.1: without it the label is no density on "
            "all of Z but confines Z to a set, and only noise makes posteriors here");
    return STAIR_OK;
}

/* A variant of the attention of attention.c, which has its keys and creates it. */
static const stair_model_ops ops = {
    .name = "attention",
    .forward = forward,
    .label_from_output = label_from_output,
    .label_is_output = true,
    .batch = &batch,
    .smooth = true,
    .permute = permute,
    .marginal = &marginal,
};

stair_status stair_heads_create(stair_context *context, stair_model *model, const stair_attention *shape,
                                bool untied, int heads, int readout)
{
    STAIR_TRY(check(context, model, heads, readout));
    stair_heads *a = calloc(1, sizeof *a);
    if (!a) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *a = (stair_heads){.shape = *shape, .heads = heads, .outputs = readout, .scale = 1 / sqrt(heads)};
    free(model->state); /* where `shape` may be */
    model->state = a;
    shape = &a->shape;
    int rows = lay_out(a, untied);
    if (rows > STAIR_MAX_INDICES || shape->layers == STAIR_MAX_LAYERS)
        return stair_fail(
            context, STAIR_UNSUPPORTED,
            "model too large: %d rows of heads and %d of readout, at most %d in all; %d layers, "
            "at most %d beside a readout",
            a->value, heads * readout, STAIR_MAX_INDICES, shape->layers, STAIR_MAX_LAYERS - 1);
    model->ops = &ops;
    model->blocks = heads;
    describe_rows(model, a, 0);
    if (untied) describe_rows(model, a, a->query[0]);
    for (int i = a->value; i < rows; i++) {
        model->layer[i] = shape->layers;
        model->block[i] = (i - a->value) / readout;
    }
    for (int l = 0; l < shape->layers; l++) model->ranks[l] = shape->rank[l];
    model->info.layers = shape->layers;
    model->info.indices = rows;
    model->info.label_size = readout * shape->tokens;
    return STAIR_OK;
}
