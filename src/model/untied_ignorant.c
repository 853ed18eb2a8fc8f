/* One layer of rank one when nothing is known, Q = 0 and V = 1: exact averages over labels (docs/untied.md).
 *
 * With A = |q| |k_c|, e and b unit vectors along k_c and q, and n = 1/sqrt(M) (1 .. 1), a label has
 *
 *   Z_out = pi (2 pi)^-M exp(-A) / A,
 *   G_QQ = (1 + A) b b^T - 1,   G_KK = A e e^T + n n^T - 1,   G_QK = A b e^T,
 *
 * A a product of independent chi variables of M and M - 1 degrees, b independent of e. */
#include <math.h>
#include <string.h>

#include "model/untied.h"

static double mean_chi(int n)
{
    return M_SQRT2 * exp(lgamma(0.5 * (n + 1)) - lgamma(0.5 * n));
}

/* E log chi_n = (psi(n/2) + log 2) / 2, psi by its recurrence from 1/2 or 1. */
static double mean_log_chi(int n)
{
    const double euler = 0.57721566490153286061;
    double psi = n % 2 ? -euler - 2 * M_LN2 : -euler;
    for (double x = n % 2 ? 0.5 : 1; x < 0.5 * n; x += 1) psi += 1 / x;
    return 0.5 * (psi + M_LN2);
}

bool stair_untied_ignorant(const stair_model *model, double *logz, double *tensor)
{
    const stair_attention *a = model->state;
    double m = a->tokens;
    if (a->layers != 1 || a->rank[0] != 1 || stair_untied_wide(a) || a->linear) return false;
    if (model->info.noise > 0 || model->info.prenoise > 0) return false;
    double mean = mean_chi(a->tokens) * mean_chi(a->tokens - 1), square = m * (m - 1);
    double qq = square + m - 1, kk = square - 2 * mean + m - 1;
    double apart = (mean + square) / m + (1 / m - 1) * (1 + mean) - mean - 1 + m; /* E tr G_QQ G_KK */
    *logz = log(M_PI) - m * log(2 * M_PI) - mean - mean_log_chi(a->tokens) - mean_log_chi(a->tokens - 1);
    memset(tensor, 0, 16 * sizeof(double));
#define AT(i, j, k, l) tensor[((i * 2 + j) * 2 + k) * 2 + l] /* E sum_ab G_ik,ab G_jl,ab; K is 0, Q is 1 */
    AT(0, 0, 0, 0) = kk;
    AT(1, 1, 1, 1) = qq;
    AT(0, 0, 1, 1) = AT(1, 1, 0, 0) = square;
    AT(0, 1, 0, 1) = AT(1, 0, 1, 0) = apart;
    AT(0, 1, 1, 0) = AT(1, 0, 0, 1) = square / m;
#undef AT
    return true;
}
