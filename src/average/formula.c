/* E[phi(y)] at Q = 0, where the model has it written down (`ignorant` of model/model.h): no label is drawn.
 *
 * Nothing drifts: of such a model g vanishes at omega = 0. */
#include "average/average.h"

#include <string.h>

static bool known(const stair_model *model, double *logz, double *tensor)
{
    return model->ops->ignorant && model->info.indices <= STAIR_MOST_KERNEL &&
           model->ops->ignorant(model, logz, tensor);
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    const stair_model_info *info = &structure->model->info;
    double logz, tensor[STAIR_MOST_KERNEL * STAIR_MOST_KERNEL * STAIR_MOST_KERNEL * STAIR_MOST_KERNEL];
    (void)effort;
    for (int i = 0; i < info->indices * info->indices; i++)
        if (q[i] != 0) return false;
    return known(structure->model, &logz, tensor);
}

/* to[i][...] = sum_r basis[r][i] from[r][...], the first index going last: four times turns all of them */
static void turn_first(int p, int kernel, int rest, const double *basis, const double *from, double *to)
{
    for (int i = 0; i < kernel; i++)
        for (int x = 0; x < rest; x++) {
            double sum = 0;
            for (int r = 0; r < p; r++) sum += basis[r * kernel + i] * from[r * rest + x];
            to[x * kernel + i] = sum;
        }
}

/* The operator on pairs (ij) by (kl) of unlearned directions, as in unlearned.c. */
static void write_pairs(const stair_average *average, const double *tensor, double *out)
{
    int k = average->kernel, pairs = average->coordinates;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < k; c++)
                for (int d = 0; d < k; d++)
                    out[stair_packed(i, j) * pairs + stair_packed(c, d)] +=
                        0.5 *
                        (tensor[((i * k + j) * k + c) * k + d] + tensor[((i * k + j) * k + d) * k + c]) /
                        (c == d ? 1 : 2);
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    enum { MOST = STAIR_MOST_KERNEL * STAIR_MOST_KERNEL * STAIR_MOST_KERNEL * STAIR_MOST_KERNEL };
    double tensor[MOST], turned[MOST], logz;
    int p = structure->model->info.indices, k = average->kernel, half = p * (p + 1) / 2;
    (void)q;
    if (!known(structure->model, &logz, tensor) || average->by_symmetry)
        return stair_fail(context, STAIR_UNSUPPORTED, "no formula for this model");
    stair_average_begin(average, 2, false); /* two rows that agree: there is no error */
    memset(average->mean, 0, sizeof(double) * (size_t)average->count);
    average->mean[half] = effort->relative ? 0 : logz;
    if (k) {
        turn_first(p, k, p * p * p, basis, tensor, turned);
        turn_first(p, k, p * p * k, basis, turned, tensor);
        turn_first(p, k, p * k * k, basis, tensor, turned);
        turn_first(p, k, k * k * k, basis, turned, tensor);
        write_pairs(average, tensor, average->mean + half + 1);
    }
    for (int r = 0; r < 2; r++)
        memcpy(average->sample + r * average->count, average->mean, sizeof(double) * (size_t)average->count);
    return STAIR_OK;
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return false;
}

const stair_average_rule stair_average_formula = {.name = "formula",
                                                  .text = "at Q = 0, where the model has a formula: exact",
                                                  .fits = fits,
                                                  .random = is_random,
                                                  .evaluate = evaluate};
