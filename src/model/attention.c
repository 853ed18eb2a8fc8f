/* Deep attention, one head: keys, forward and labels, for tied and untied weights (untied.c).
 *
 *   H_0 = 1;  h_l = H_{l-1} Z_l^T (M x P_l);  S_l = act(h_l h_l^T), rows softmaxed
 *   H_l = (c 1 + S_l) H_{l-1}  for l < L;     y = S_L
 *
 * Troiani et al. 2025, eqs. (2)-(6), in the token-row form of their Corollary; `mixing=literal`
 * puts S_l^T in place of S_l in the mixing, which is what their recursion for B_c^l says.  A
 * softmax label is carried as log y, so that saturated attention keeps its information.
 */
#include "model/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "model/heads.h"
#include "model/keys.h"
#include "model/sequence.h"
#include "model/untied.h"

STAIR_HOT_TABLE(void, stair_attention_batch,
                (const stair_attention *a, const double *z, const double *target, const double *weight,
                 const double *cotangent, double *scratch, double *y, double *loss, double *grad_z));

enum {
    KEY_LAYERS,
    KEY_TOKENS,
    KEY_RANK,
    KEY_SKIP,
    KEY_ACTIVATION,
    KEY_MIXING,
    KEY_WEIGHTS,
    KEY_HEADS,
    KEY_READOUT,
    KEY_OUTPUT
};

static const stair_model_key keys[] = {
    [KEY_LAYERS] = {"layers", "2", "depth L"},
    [KEY_TOKENS] = STAIR_KEY_TOKENS("2"),
    [KEY_RANK] = {"rank", "1", "rank P_l of every layer, or of each: 1+2+1"},
    [KEY_SKIP] = {"skip", "1", "strength c of the skip connection; -1 is singular"},
    [KEY_ACTIVATION] = {"activation", "softmax", "softmax or linear"},
    [KEY_MIXING] = {"mixing", "attention",
                    "attention: rows of S mix tokens; literal: columns do, as the paper prints"},
    [KEY_WEIGHTS] = {"weights", "tied",
                     "tied: query and key are one matrix; untied: two, rows K_1 .. K_L, Q_1 .. Q_L"},
    [KEY_HEADS] = {"heads", "1", "number H of heads and of blocks of the embedding; above 1 needs a readout"},
    [KEY_READOUT] = {"readout", "0", "rows R of a readout of every head, y = sum_h V_h H_L^h; 0: none"},
    [KEY_OUTPUT] = {"output", "scores",
                    "scores: the last attention matrix S_L; sequence: S_L H_{L-1}, what tokens are made of"},
    STAIR_KEY_NOISE,
    STAIR_KEY_PRENOISE,
    {NULL, NULL, NULL},
};

void stair_attention_scores(const stair_attention *a, int rank, const double *query, const double *key,
                            double *s, double *log_s)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++) {
        double top = -INFINITY, sum = 0;
        for (int j = 0; j < m; j++) {
            double dot = 0;
            for (int k = 0; k < rank; k++) dot += query[i * rank + k] * key[j * rank + k];
            s[i * m + j] = dot;
            top = dot > top ? dot : top;
        }
        if (a->linear) continue;
        for (int j = 0; j < m; j++) sum += exp(s[i * m + j] - top);
        double log_sum = log(sum);
        for (int j = 0; j < m; j++) {
            double logit = s[i * m + j] - top - log_sum;
            if (log_s) log_s[i * m + j] = logit;
            s[i * m + j] = exp(logit);
        }
    }
}

/* h (M, rank) = mixed times `rank` rows of Z, from `row` on */
static void layer_input(const stair_attention *a, int rank, int row, const double *mixed, const double *z,
                        double *h)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            double sum = 0;
            for (int j = 0; j < m; j++) sum += mixed[i * m + j] * z[(row + k) * m + j];
            h[i * rank + k] = sum;
        }
}

/* S_l of layer l at H_{l-1} = mixed */
static void layer_scores(const stair_attention *a, int l, const double *mixed, const double *z, double *s,
                         double *log_s)
{
    double key[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], query[STAIR_MAX_TOKENS * STAIR_MAX_INDICES];
    layer_input(a, a->rank[l], a->row[l], mixed, z, key);
    if (a->queries) layer_input(a, a->rank[l], a->row[l] + a->queries, mixed, z, query);
    stair_attention_scores(a, a->rank[l], a->queries ? query : key, key, s, log_s);
}

/* b (M, M) = c 1 + S or c 1 + S^T */
static void mixing_matrix(const stair_attention *a, const double *s, double *b)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            b[i * m + j] = (a->literal ? s[j * m + i] : s[i * m + j]) + (i == j ? a->skip : 0);
}

static void multiply(int m, const double *x, const double *y, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++) sum += x[i * m + k] * y[k * m + j];
            out[i * m + j] = sum;
        }
}

static void identity(int m, double *x)
{
    for (int i = 0; i < m * m; i++) x[i] = i % (m + 1) == 0;
}

/* 1 + share sum_l S_l, or the flow */
static void mix_at_once(const stair_attention *a, int layers, const double *z, double *mixed)
{
    int m = a->tokens;
    double h[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], s[STAIR_ATTENTION_SQUARE];
    identity(m, mixed);
    for (int i = 0; i < m * m && a->mixed == STAIR_MIXED_BY_FLOW; i++)
        mixed[i] = a->flow[0] * mixed[i] + a->flow[1];
    for (int l = 0; l < layers && a->mixed == STAIR_MIXED_BY_COMMITTEE; l++) {
        for (int i = 0; i < m; i++)
            for (int k = 0; k < a->rank[l]; k++) h[i * a->rank[l] + k] = z[(a->row[l] + k) * m + i];
        stair_attention_scores(a, a->rank[l], h, h, s, NULL);
        for (int i = 0; i < m * m; i++) mixed[i] += a->share * s[i];
    }
}

void stair_attention_mixing(const stair_attention *a, int layers, const double *z, double *mixed)
{
    if (a->mixed != STAIR_MIXED_BY_LAYERS) {
        mix_at_once(a, layers, z, mixed);
        return;
    }
    int m = a->tokens;
    double s[STAIR_ATTENTION_SQUARE], b[STAIR_ATTENTION_SQUARE], next[STAIR_ATTENTION_SQUARE];
    identity(m, mixed);
    for (int l = 0; l < layers; l++) {
        layer_scores(a, l, mixed, z, s, NULL);
        mixing_matrix(a, s, b);
        multiply(m, b, mixed, next);
        memcpy(mixed, next, sizeof(double) * (size_t)(m * m));
    }
}

void stair_attention_forward(const stair_model *model, const double *z, double *y, double *label)
{
    const stair_attention *a = model->state;
    int m = a->tokens, last = a->layers - 1;
    double mixed[STAIR_ATTENTION_SQUARE], s[STAIR_ATTENTION_SQUARE], log_s[STAIR_ATTENTION_SQUARE];
    stair_attention_mixing(a, last, z, mixed);
    layer_scores(a, last, mixed, z, s, log_s);
    if (y) memcpy(y, s, sizeof(double) * (size_t)(m * m));
    if (label) memcpy(label, a->linear ? s : log_s, sizeof(double) * (size_t)(m * m));
}

stair_status stair_attention_label(stair_context *context, const stair_model *model, const double *y,
                                   double *label)
{
    const stair_attention *a = model->state;
    int m = a->tokens;
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) {
            double value = y[i * m + j];
            sum += value;
            if (!a->linear && !(value >= 0 && value <= 1))
                return stair_fail(context, STAIR_BAD_INPUT, "y[%d][%d] = %g is not a softmax output", i, j,
                                  value);
            if (!a->linear && value == 0)
                return stair_fail(context, STAIR_BAD_INPUT,
                                  "y[%d][%d] = 0 has lost its information; give the labels as logits", i, j);
            label[i * m + j] = a->linear ? value : log(value);
        }
        if (!a->linear && fabs(sum - 1) > 1e-6)
            return stair_fail(context, STAIR_BAD_INPUT, "row %d of y sums to %.9g, not to 1", i, sum);
    }
    return STAIR_OK;
}

stair_status stair_attention_read_ranks(stair_context *context, const char *text, stair_attention *a)
{
    const char *at = text;
    int count = 0;
    while (*at) {
        char *end;
        long rank = strtol(at, &end, 10);
        if (!(*at >= '0' && *at <= '9') || rank < 1 || rank > STAIR_MAX_INDICES ||
            count == STAIR_MAX_LAYERS || (*end && *end != '+'))
            return stair_fail(context, STAIR_BAD_INPUT,
                              "model key rank=%s: expected ranks from 1 to %d, as 1 or 1+2+1", text,
                              STAIR_MAX_INDICES);
        a->rank[count++] = (int)rank;
        if (*end == '+' && !end[1])
            return stair_fail(context, STAIR_BAD_INPUT, "model key rank=%s: a rank is missing after '+'",
                              text);
        at = *end ? end + 1 : end;
    }
    if (count == 1)
        for (; count < a->layers; count++) a->rank[count] = a->rank[0];
    if (count != a->layers)
        return stair_fail(context, STAIR_BAD_INPUT, "model key rank=%s: %d ranks for %d layers", text, count,
                          a->layers);
    return STAIR_OK;
}

/* Heads or a readout make it another model, heads.c. */
static stair_status with_heads(stair_context *context, stair_model *model, const char *const *values,
                               bool *done)
{
    static const char *const weights[] = {"tied", "untied", NULL};
    int heads, readout, untied;
    STAIR_TRY(stair_key_integer(context, "heads", values[KEY_HEADS], 1, STAIR_MAX_INDICES, &heads));
    STAIR_TRY(stair_key_integer(context, "readout", values[KEY_READOUT], 0, STAIR_MAX_INDICES, &readout));
    *done = heads > 1 || readout;
    if (!*done) return STAIR_OK;
    STAIR_TRY(stair_key_choice(context, "weights", values[KEY_WEIGHTS], weights, &untied));
    if (strcmp(values[KEY_OUTPUT], "scores"))
        return stair_fail(context, STAIR_BAD_INPUT,
                          "output=%s does not go with a readout, which is the output", values[KEY_OUTPUT]);
    return stair_heads_create(context, model, model->state, untied, heads, readout);
}

/* Whether c 1 + S_l is singular for every Z, so that nothing can be inverted. */
static stair_status check_mixing(stair_context *context, const stair_attention *a)
{
    int hidden_rank = STAIR_MAX_INDICES;
    for (int l = 0; l + 1 < a->layers; l++) hidden_rank = a->rank[l] < hidden_rank ? a->rank[l] : hidden_rank;
    if (a->layers == 1) return STAIR_OK;
    if (!a->linear && a->skip == -1)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "skip=-1 makes every mixing matrix singular; choose another skip");
    if (a->linear && a->skip == 0 && hidden_rank < a->tokens)
        return stair_fail(
            context, STAIR_BAD_INPUT,
            "skip=0 with linear activation and rank below %d tokens is singular; choose another skip",
            a->tokens);
    return STAIR_OK;
}

stair_status stair_attention_size(stair_context *context, stair_model *model)
{
    stair_attention *a = model->state;
    stair_model_info *info = &model->info;
    int rows = 0;
    for (int l = 0; l < a->layers; l++) {
        a->row[l] = rows;
        rows += a->rank[l];
        model->ranks[l] = a->rank[l];
    }
    info->layers = a->layers;
    info->label_size = a->tokens * a->tokens;
    info->label_is_log = !a->linear && !info->output_noisy;
    if (a->untied) return stair_untied_create(context, model, rows);
    int last_rank = a->rank[a->layers - 1];
    a->unseen = !a->linear && last_rank > a->tokens - 1 ? last_rank - (a->tokens - 1) : 0;
    a->angles = last_rank * (last_rank - 1) / 2;
    model->fibre_dim = (rows - last_rank) * a->tokens + (a->unseen > 0) + a->angles;
    if (rows > STAIR_MAX_INDICES || model->fibre_dim > STAIR_MAX_DIM)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "model too large: at most %d indices in all and %d hidden dimensions",
                          STAIR_MAX_INDICES, STAIR_MAX_DIM);
    info->indices = rows;
    stair_attention_fibre_layout(a, &model->fibre_size);
    return STAIR_OK;
}

static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    static const char *const activations[] = {"softmax", "linear", NULL};
    static const char *const mixings[] = {"attention", "literal", NULL};
    static const char *const weights[] = {"tied", "untied", NULL};
    static const char *const outputs[] = {"scores", "sequence", NULL};
    stair_attention *a = calloc(1, sizeof *a);
    if (!a) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    model->state = a;
    int linear, literal, untied, sequence;
    STAIR_TRY(stair_key_integer(context, "layers", values[KEY_LAYERS], 1, STAIR_MAX_LAYERS, &a->layers));
    a->tokens = model->info.tokens;
    STAIR_TRY(stair_attention_read_ranks(context, values[KEY_RANK], a));
    STAIR_TRY(stair_key_real(context, "skip", values[KEY_SKIP], -1e6, 1e6, &a->skip));
    STAIR_TRY(stair_key_choice(context, "activation", values[KEY_ACTIVATION], activations, &linear));
    STAIR_TRY(stair_key_choice(context, "mixing", values[KEY_MIXING], mixings, &literal));
    STAIR_TRY(stair_key_choice(context, "weights", values[KEY_WEIGHTS], weights, &untied));
    STAIR_TRY(stair_key_choice(context, "output", values[KEY_OUTPUT], outputs, &sequence));
    a->linear = linear;
    a->literal = literal;
    a->untied = untied;
    sequence = sequence && a->layers > 1;
    if (untied && sequence)
        return stair_fail(
            context, STAIR_UNSUPPORTED,
            "output=sequence is there for weights=tied alone; use output=scores, or tied weights");
    bool heads;
    STAIR_TRY(with_heads(context, model, values, &heads));
    if (heads) return STAIR_OK;
    STAIR_TRY(check_mixing(context, a));
    STAIR_TRY(stair_attention_size(context, model));
    return sequence ? stair_sequence_begin(context, model) : STAIR_OK;
}

void stair_attention_permute(const stair_model *model, const int *order, const double *label, double *out)
{
    int m = model->info.tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) out[i * m + j] = label[order[i] * m + order[j]];
}

/* Tapes of all layers, then gradients: see attention_batch_hot.c. */
static size_t batch_scratch(const stair_model *model)
{
    const stair_attention *a = model->state;
    size_t m = (size_t)a->tokens, p = (size_t)model->info.indices, layers = (size_t)a->layers;
    return STAIR_GROUP * (2 * m * m * layers + m * p + 3 * m * m + m * p);
}

static void batch_run(const stair_model *model, const double *z, const double *target, const double *weight,
                      const double *cotangent, double *scratch, double *y, double *loss, double *grad_z)
{
    stair_attention_batch_table[stair_isa()](model->state, z, target, weight, cotangent, scratch, y, loss,
                                             grad_z);
}

const stair_batch_ops stair_attention_batch_ops = {.scratch = batch_scratch, .run = batch_run};

static bool mixing(const stair_model *model, double *skip, bool *linear, bool *literal)
{
    const stair_attention *a = model->state;
    bool one = a->tokens == 2 && a->mixed == STAIR_MIXED_BY_LAYERS && !a->untied && !a->sequence;
    for (int l = 0; l < a->layers; l++) one &= a->rank[l] == 1;
    *skip = a->skip;
    *linear = a->linear;
    *literal = a->literal;
    return one;
}

const stair_model_ops stair_attention_ops = {
    .name = "attention",
    .summary = "deep self-attention, y = S_L: layers, tokens, ranks, skip connection",
    .formula = "y = S_L;  S_l = softmax(h_l h_l^T) by rows,  h_l = (c + S_{l-1}) ... (c + S_1) Z_l^T",
    .example = "attention:layers=2,tokens=2,rank=1,skip=1",
    .keys = keys,
    .create = create,
    .forward = stair_attention_forward,
    .label_from_output = stair_attention_label,
    .batch = &stair_attention_batch_ops,
    .fibre_open = stair_attention_fibre_open,
    .fibre_map = stair_attention_fibre_map,
    .ridges = stair_attention_ridges,
    .angle_power = stair_attention_angle_power,
    .split = &stair_attention_split,
    .tube = &stair_attention_tubes,
    .closed = &stair_attention_closed,
    .mixing = mixing,
    .even = true,
    .smooth = true,
    .permute = stair_attention_permute,
};
