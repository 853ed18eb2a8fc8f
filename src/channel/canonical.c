/* The representative of a sample: overall sign of omega such that its leading entry is positive, tokens in
 * falling order of their leading row of omega.  Only for models that have these symmetries. */
#include "channel/canonical.h"

#include <math.h>
#include <string.h>

/* First row of omega that is not zero throughout, or -1. */
static int leading_row(int p, int m, const double *omega)
{
    for (int row = 0; row < p; row++)
        for (int t = 0; t < m; t++)
            if (omega[row * m + t] != 0) return row;
    return -1;
}

static double leading_sign(int m, const double *row)
{
    int largest = 0;
    for (int t = 1; t < m; t++)
        if (fabs(row[t]) > fabs(row[largest])) largest = t;
    return row[largest] < 0 ? -1 : 1;
}

/* Insertion sort by keys, falling; equal keys keep their order. */
static void sort_tokens(int m, const double *keys, int *order)
{
    for (int t = 1; t < m; t++)
        for (int k = t; k > 0 && keys[order[k]] > keys[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
}

stair_canonical stair_canonical_find(const stair_model *model, const double *omega, const double *label,
                                     double *omega_out, double *label_out)
{
    int p = model->info.indices, m = model->info.tokens, row = leading_row(p, m, omega);
    stair_canonical c = {.sign = 1};
    double keys[STAIR_MAX_TOKENS];
    for (int t = 0; t < m; t++) c.order[t] = t;
    if (row >= 0 && model->ops->even) c.sign = leading_sign(m, omega + row * m);
    memcpy(label_out, label, sizeof(double) * (size_t)model->info.label_size);
    if (row >= 0 && model->ops->permute) {
        for (int t = 0; t < m; t++) keys[t] = c.sign * omega[row * m + t];
        sort_tokens(m, keys, c.order);
        model->ops->permute(model, c.order, label, label_out);
    }
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++) omega_out[i * m + t] = c.sign * omega[i * m + c.order[t]];
    return c;
}

void stair_canonical_undo(const stair_model *model, const stair_canonical *c, const double *g,
                          const double *dg, double *g_out, double *dg_out)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++) {
            int to = i * m + c->order[t], from = i * m + t;
            g_out[to] = c->sign * g[from];
            for (int j = 0; j < p; j++)
                for (int s = 0; s < m; s++)
                    dg_out[to * size + j * m + c->order[s]] = dg[from * size + j * m + s];
        }
}
