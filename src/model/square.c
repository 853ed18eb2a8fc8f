/* Phase retrieval: one index, each token gives its square.
 *
 *   y_m = Z_m^2
 *
 * The sign of every token is lost separately, so the fibre is 2^M points: a chart for each choice of signs
 * relative to the first token, and the mirror.  y_m = Z_m^2 has density |dZ_m/dy_m| = 1/(2 sqrt y_m) at each
 * of its two roots; the contract averages over the 2^M points where a density adds them up, so the weight is
 * 2^M prod_m 1/(2 sqrt y_m) = prod_m 1/sqrt y_m.
 *
 * At y_m = 0 the roots meet and the density is infinite.  No sample has such a label, so it is refused: it is
 * a sign that labels were rounded.
 */
#include <math.h>
#include <string.h>

#include "model/keys.h"
#include "model/model.h"

enum { KEY_TOKENS, KEY_NOISE, KEY_PRENOISE };

static const stair_model_key keys[] = {
    {"tokens", "1", "sequence length M"},
    {"noise", "0", "variance of Gaussian noise on y"},
    {"prenoise", "0", "variance of Gaussian noise on Z"},
    {NULL, NULL, NULL},
};

static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    stair_model_info *info = &model->info;
    STAIR_TRY(stair_key_integer(context, "tokens", values[KEY_TOKENS], 1, STAIR_MAX_TOKENS, &info->tokens));
    STAIR_TRY(stair_key_real(context, "noise", values[KEY_NOISE], 0, 1e6, &info->noise));
    STAIR_TRY(stair_key_real(context, "prenoise", values[KEY_PRENOISE], 0, 1e6, &info->prenoise));
    info->layers = info->indices = model->ranks[0] = 1;
    info->label_size = info->tokens;
    info->output_noisy = info->noise > 0;
    model->fibre_size = info->tokens + 1; /* roots, weight */
    return STAIR_OK;
}

static void forward(const stair_model *model, const double *z, double *y, double *label)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (y) y[m] = z[m] * z[m];
        if (label) label[m] = z[m] * z[m];
    }
}

static stair_status check_label(stair_context *context, const stair_model *model, const double *y)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (!isfinite(y[m])) return stair_fail(context, STAIR_BAD_INPUT, "y[%d] = %g is not finite", m, y[m]);
        if (y[m] < 0)
            return stair_fail(context, STAIR_BAD_INPUT, "y[%d] = %g is negative and no square", m, y[m]);
        if (y[m] == 0)
            return stair_fail(context, STAIR_BAD_INPUT,
                              "y[%d] = 0, where the density of y is infinite; were labels rounded?", m);
    }
    return STAIR_OK;
}

static stair_status label_from_output(stair_context *context, const stair_model *model, const double *y,
                                      double *label)
{
    STAIR_TRY(check_label(context, model, y));
    memcpy(label, y, sizeof(double) * (size_t)model->info.tokens);
    return STAIR_OK;
}

static void gradient(const stair_model *model, const double *z, const double *cotangent, double *grad_z)
{
    for (int m = 0; m < model->info.tokens; m++) grad_z[m] = 2 * z[m] * cotangent[m];
}

static stair_status fibre_open(stair_context *context, const stair_model *model, const double *label,
                               const double *omega, stair_fibre *fibre)
{
    int tokens = model->info.tokens;
    double *root = fibre->data, *weight = fibre->data + tokens;
    (void)omega;
    STAIR_TRY(check_label(context, model, label));
    *weight = 1;
    for (int m = 0; m < tokens; m++) {
        root[m] = sqrt(label[m]);
        *weight /= root[m];
    }
    fibre->dim = fibre->free_rows = fibre->angles = fibre->circles = 0;
    fibre->residuals = fibre->head_rows = 0;
    fibre->charts = 1 << (tokens - 1);
    fibre->mirrored = true;
    fibre->rough = false;
    return STAIR_OK;
}

/* Bit m - 1 of the chart is the sign of token m; that of token 0 is left to the mirror. */
static void fibre_map(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight)
{
    int tokens = fibre->model->info.tokens;
    (void)u;
    for (int m = 0; m < tokens; m++) {
        bool minus = m > 0 && (chart >> (m - 1)) & 1;
        for (int i = 0; i < n; i++) z[m * STAIR_BLOCK + i] = minus ? -fibre->data[m] : fibre->data[m];
    }
    for (int i = 0; i < n; i++) weight[i] = fibre->data[tokens];
}

static void permute(const stair_model *model, const int *order, const double *label, double *out)
{
    for (int m = 0; m < model->info.tokens; m++) out[m] = label[order[m]];
}

const stair_model_ops stair_square_ops = {
    .name = "square",
    .summary = "phase retrieval, y = z^2 for every token",
    .keys = keys,
    .create = create,
    .forward = forward,
    .label_from_output = label_from_output,
    .gradient = gradient,
    .fibre_open = fibre_open,
    .fibre_map = fibre_map,
    .even = true,
    .permute = permute,
};
