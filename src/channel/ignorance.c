#include "channel/ignorance.h"

#include <math.h>
#include <string.h>

/* Whether omega vanishes on the rows of this mark, and V does not couple them to others.  Rows are those of
 * the fibre here, marks those of Z. */
static bool nothing_known(const stair_integrand *f, const int *mark, int which)
{
    const int *order = f->fibre.model->order;
    int p = f->shape.rows, m = f->shape.tokens;
    for (int i = 0; i < p; i++) {
        if (mark[order[i]] != which) continue;
        for (int t = 0; t < m; t++)
            if (f->mean[i * m + t] != 0) return false;
        for (int j = 0; j < p; j++)
            if (mark[order[j]] != which && f->variance[i * p + j] != 0) return false;
    }
    return true;
}

/* V is a number times the identity on the rows of this mark. */
static bool is_round(const stair_integrand *f, const int *mark, int which)
{
    const int *order = f->fibre.model->order;
    int p = f->shape.rows, first = -1;
    for (int i = 0; i < p; i++) {
        if (mark[order[i]] != which) continue;
        if (first < 0) first = i;
        if (f->variance[i * (p + 1)] != f->variance[first * (p + 1)]) return false;
        for (int j = 0; j < p; j++)
            if (j != i && mark[order[j]] == which && f->variance[i * p + j] != 0) return false;
    }
    return true;
}

/* Signs: a row alone, rows that the model names, all of Z. */
static void find_signs(stair_integrand *f)
{
    const stair_symmetry *s = &f->structure->symmetry;
    int p = f->shape.rows, alone[STAIR_MAX_INDICES], all[STAIR_MAX_INDICES] = {0};
    for (int i = 0; i < p; i++) {
        alone[i] = i;
        f->odd[i] = 0;
    }
    for (int i = 0; i < p; i++)
        if (s->even[i] && nothing_known(f, alone, i))
            f->odd[i] = 1 + i;
        else if (s->sign[i] && nothing_known(f, s->sign, s->sign[i]))
            f->odd[i] = p + s->sign[i];
    if (!f->structure->even || !nothing_known(f, all, 0)) return;
    for (int i = 0; i < p; i++)
        if (!f->odd[i]) f->odd[i] = -1;
}

/* The angles of the last rows, where these may turn: what integrating over them gives. */
static void drop_angles(stair_integrand *f)
{
    const stair_model_ops *ops = f->fibre.model->ops;
    int last = f->fibre.model->order[f->shape.rows - 1];
    if (!f->fibre.angles || !f->round[last]) return;
    for (int k = 0; k < f->fibre.angles; k++) {
        int power = ops->angle_power ? ops->angle_power(&f->fibre, k) : 1;
        f->log_angles += log(sqrt(M_PI) * tgamma(0.5 * power) / tgamma(0.5 * power + 0.5));
        memset(f->nodes.at + (size_t)(f->fibre.dim - 1 - k) * STAIR_BLOCK, 0, sizeof(double) * STAIR_BLOCK);
    }
    f->fibre.dim -= f->fibre.angles;
    f->fibre.angles = 0;
    f->fibre.charts = 1;
}

void stair_ignorance_find(stair_integrand *f)
{
    const stair_symmetry *s = &f->structure->symmetry;
    find_signs(f);
    f->log_angles = 0;
    for (int i = 0; i < f->shape.rows; i++) {
        int first = s->turn[i], rows = 0;
        for (int j = 0; j < f->shape.rows; j++) rows += s->turn[j] == first;
        f->round[i] =
            rows > 1 && f->odd[i] > 0 && nothing_known(f, s->turn, first) && is_round(f, s->turn, first)
                ? 1 + first
                : 0;
    }
    drop_angles(f);
}

/* dg between rows i and j of one kind of turning rows: the mean over its diagonal, or nothing. */
static void average_turns(const stair_integrand *f, int first, double *dg)
{
    int p = f->shape.rows, m = f->shape.tokens, size = f->size, rows = 0;
    double mean[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS] = {0};
    for (int i = 0; i < p; i++) {
        if (f->round[i] != first) continue;
        rows++;
        for (int k = 0; k < m * m; k++) mean[k] += dg[(i * m + k / m) * size + i * m + k % m];
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            for (int k = 0; k < m * m && f->round[i] == first && f->round[j] == first; k++)
                dg[(i * m + k / m) * size + j * m + k % m] = i == j ? mean[k] / rows : 0;
}

void stair_ignorance_apply(const stair_integrand *f, stair_posterior *out)
{
    int m = f->shape.tokens, size = f->size;
    out->logz += f->log_angles;
    for (int k = 0; k < size; k++)
        for (int l = 0; l < size; l++)
            if (f->odd[k / m] != f->odd[l / m])
                out->dg[k * size + l] = 0;
            else if (f->odd[k / m]) /* it was a covariance about the mean of the nodes */
                out->dg[k * size + l] += out->g[k] * out->g[l];
    for (int k = 0; k < size; k++)
        if (f->odd[k / m]) out->g[k] = 0;
    for (int i = 0; i < f->shape.rows; i++)
        if (f->round[i] == 1 + i) average_turns(f, 1 + i, out->dg);
}
