/* One layer of rank one when nothing is known, Q = 0 and V = 1: exact averages over labels (docs/untied.md).
 *
 * With A = |q| |k_c|, e and b unit vectors along k_c and q, and n = 1/sqrt(M) (1 .. 1), a label has
 *
 *   Z_out = pi (2 pi)^-M exp(-A) / A,
 *   G_QQ = (1 + A) b b^T - 1,   G_KK = A e e^T + n n^T - 1,   G_QK = A b e^T,
 *
 * b is independent of A and e, and A has density A^(M-2) exp(-A) / (M-2)!. */
#include <math.h>
#include <string.h>

#include "model/untied.h"

/* E log A = psi(M - 1), by its recurrence from psi(1) = -gamma. */
static double mean_log(int m)
{
    double psi = -0.57721566490153286061;
    for (int k = 1; k < m - 1; k++) psi += 1.0 / k;
    return psi;
}

bool stair_untied_ignorant(const stair_model *model, double *logz, double *tensor)
{
    const stair_attention *a = model->state;
    double m = a->tokens;
    if (a->layers != 1 || a->rank[0] != 1 || stair_untied_wide(a) || a->linear) return false;
    if (model->info.noise > 0 || model->info.prenoise > 0) return false;
    *logz = log(M_PI) - m * log(2 * M_PI) - (m - 1) - mean_log(a->tokens);
    memset(tensor, 0, 16 * sizeof(double));
#define AT(i, j, k, l) tensor[((i * 2 + j) * 2 + k) * 2 + l] /* E sum_ab G_ik,ab G_jl,ab; K is 0, Q is 1 */
    AT(0, 0, 0, 0) = (m - 1) * (m - 1);
    AT(1, 1, 1, 1) = m * m - 1;
    AT(0, 0, 1, 1) = AT(1, 1, 0, 0) = m * (m - 1);
    AT(0, 1, 0, 1) = AT(1, 0, 1, 0) = (m - 1) / m;
    AT(0, 1, 1, 0) = AT(1, 0, 0, 1) = m - 1;
#undef AT
    return true;
}
