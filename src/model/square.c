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

#include "model/formula.h"
#include "model/keys.h"
#include "model/two_points.h"

static const stair_model_key keys[] = {
    STAIR_KEY_TOKENS("1"),
    STAIR_KEY_NOISE,
    STAIR_KEY_PRENOISE,
    {NULL, NULL, NULL},
};

static const stair_model_ops noisy_ops;

static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    stair_model_info *info = &model->info;
    (void)values;
    if (info->output_noisy) {
        model->ops = &noisy_ops;
        return stair_formula_create(context, model, "z1^2", 1);
    }
    info->layers = info->indices = model->ranks[0] = 1;
    info->label_size = info->tokens;
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
    fibre->charts = 1 << (tokens - 1);
    fibre->mirrored = true;
    return STAIR_OK;
}

/* Bit m - 1 of the chart is the sign of token m; that of token 0 is left to the mirror. */
static void fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                      double *z, double *weight)
{
    (void)digits;
    int tokens = fibre->model->info.tokens;
    (void)u;
    for (int m = 0; m < tokens; m++) {
        bool minus = m > 0 && (chart >> (m - 1)) & 1;
        for (int i = 0; i < n; i++) z[m * STAIR_BLOCK + i] = minus ? -fibre->data[m] : fibre->data[m];
    }
    for (int i = 0; i < n; i++) weight[i] = fibre->data[tokens];
}

/* Every token has its own sign, so the sum over 2^M points is a product of sums over two. */
static bool closed_exists(const stair_model *model)
{
    return !model->info.output_noisy;
}

static stair_status closed_evaluate(stair_context *context, const stair_model *model, const double *label,
                                    const double *omega, const double *cov, double *logz, double *g,
                                    double *dg)
{
    int tokens = model->info.tokens;
    STAIR_TRY(check_label(context, model, label));
    *logz = 0;
    memset(dg, 0, sizeof(double) * (size_t)(tokens * tokens));
    for (int m = 0; m < tokens; m++) {
        double root = sqrt(label[m]), part;
        stair_two_points(1, &root, &omega[m], cov[0], tokens, &part, &g[m], &dg[m * (tokens + 1)]);
        *logz += part - log(root);
    }
    return STAIR_OK;
}

static const stair_closed_ops closed = {.exists = closed_exists, .evaluate = closed_evaluate};

static void permute(const stair_model *model, const int *order, const double *label, double *out)
{
    for (int m = 0; m < model->info.tokens; m++) out[m] = label[order[m]];
}

#define SQUARE                                                                                               \
    .name = "square", .summary = "phase retrieval, y = z^2 for every token", .formula = "y_m = Z_m^2",       \
    .example = "square:tokens=2", .keys = keys, .create = create, .even = true, .permute = permute

const stair_model_ops stair_square_ops = {
    SQUARE,
    .forward = forward,
    .label_from_output = label_from_output,
    .label_is_output = true,
    .gradient = gradient,
    .fibre_open = fibre_open,
    .fibre_map = fibre_map,
    .closed = &closed,
};

/* With noise on y there is no fibre: the likelihood of each token, by its formula. */
static const stair_model_ops noisy_ops = {SQUARE, STAIR_FORMULA_OPS};
