/* Random points of the channel as they occur in learning: omega ~ N(0, 1 - V), Z ~ N(omega, V) for every
 * token, label = g(Z).  Point i is a function of (seed, i) alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "model/model.h"

/* out (p, m) += axes^T diag(sqrt(spectrum)) xi */
static void add_gaussian(int p, int m, const double *axes, const double *spectrum, const double *xi,
                         double *out)
{
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++)
            for (int k = 0; k < p; k++) out[i * m + t] += axes[k * p + i] * sqrt(spectrum[k]) * xi[k * m + t];
}

static void draw_point(const stair_model *model, const stair_points_options *o, uint64_t sample, double *z,
                       double *label, double *omega, double *cov)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m, k_label = model->info.label_size;
    double normals[2 * STAIR_MAX_CELLS];
    double axes[STAIR_SQUARE], value[STAIR_MAX_INDICES], rest[STAIR_MAX_INDICES];
    uint64_t cov_sample = o->one_cov ? 0 : sample;
    stair_rng_uniforms(o->seed, STAIR_RNG_POINTS, cov_sample, p, value);
    stair_rng_normals(o->seed + 1, STAIR_RNG_POINTS, cov_sample, p * p, axes);
    stair_matrix_orthonormalise(p, axes);
    if (!o->full)
        for (int i = 0; i < p * p; i++) axes[i] = i % (p + 1) == 0;
    for (int k = 0; k < p; k++) {
        value[k] = o->cov_high * pow(o->cov_low / o->cov_high, value[k]);
        rest[k] = fmax(0, 1 - value[k]);
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < p; k++) sum += axes[k * p + i] * value[k] * axes[k * p + j];
            cov[i * p + j] = cov[j * p + i] = sum;
        }
    stair_rng_normals(o->seed + 2, STAIR_RNG_POINTS, sample, 2 * size, normals);
    memset(omega, 0, sizeof(double) * (size_t)size);
    add_gaussian(p, m, axes, rest, normals, omega);
    memcpy(z, omega, sizeof(double) * (size_t)size);
    add_gaussian(p, m, axes, value, normals + size, z);
    double prenoised[STAIR_MAX_CELLS], extra[STAIR_MAX_CELLS];
    stair_rng_normals(o->seed, STAIR_RNG_NOISE, 2 * sample, size, extra);
    for (int i = 0; i < size; i++) prenoised[i] = z[i] + sqrt(model->info.prenoise) * extra[i];
    if (!model->info.output_noisy) {
        model->ops->forward(model, prenoised, NULL, label);
        return;
    }
    double noise[STAIR_MAX_LABEL];
    model->ops->forward(model, prenoised, label, NULL);
    stair_rng_normals(o->seed, STAIR_RNG_NOISE, 2 * sample + 1, k_label, noise);
    for (int k = 0; k < k_label; k++) label[k] += sqrt(model->info.noise) * noise[k];
}

stair_status stair_points_draw(stair_context *context, const stair_model *model,
                               const stair_points_options *options, uint64_t first, size_t n, double *z,
                               double *labels, double *omega, double *cov)
{
    size_t size = (size_t)(model->info.indices * model->info.tokens),
           square = (size_t)(model->info.indices * model->info.indices);
    double point[STAIR_MAX_CELLS];
    STAIR_TRY(stair_points_check(context, options));
    for (size_t i = 0; i < n; i++)
        draw_point(model, options, first + i, z ? z + i * size : point,
                   labels + i * (size_t)model->info.label_size, omega + i * size,
                   cov + (options->one_cov ? 0 : i * square));
    return STAIR_OK;
}
