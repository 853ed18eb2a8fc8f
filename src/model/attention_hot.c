/* Z_L and the density of the fibre of deep attention at a block of nodes, eight nodes at a time.
 *
 *   x = B_1^{-1} ... B_{L-1}^{-1} h R,   weight = prod_l |det B_l|^{-P_L} * Haar density of R
 *
 * with B_l = c 1 + S_l.  h: (M, P_L) up to rotation; R = centre * Cayley(A), A antisymmetric with
 * entries sinh(s) of the angle coordinates s; the Haar density is det(1+A)^{-(P-1)} prod cosh(s) up to
 * its total, which falls off exponentially in s.
 * M = 2, 3 are unrolled with closed inverses; larger M is solved a node at a time. */
#include <math.h>

#include "core/isa.h"
#include "core/lanes.h"
#include "core/matrix.h"
#include "model/attention.h"

#define TINY 1e-60 /* |det| below this stands for a singular mixing, where the density vanishes */
#define HUGE_Z 1e60 /* and |Z| above this for infinity, so that no product overflows */

void STAIR_HOT(stair_attention_map)(const stair_attention *a, const double *h, const double *centre, double *scratch,
                                    int n, const double *u, double *z, double *weight);

/* s (M, M) <- rows of softmax(j) */
LANES_INLINE void softmax_rows(const int m, lanes *s)
{
    if (m == 2) {
        /* one division for both rows; 300 keeps their product finite, and exp(-300) is zero enough */
        lanes low = lanes_set(300.0), one = 1.0 + lanes_exp(lanes_min(s[0] - s[1], low));
        lanes two = 1.0 + lanes_exp(lanes_min(s[3] - s[2], low)), both = lanes_reciprocal(one * two), off0 = two * both, off1 = one * both;
        s[0] = 1.0 - off0;
        s[1] = off0;
        s[2] = off1;
        s[3] = 1.0 - off1;
        return;
    }
    for (int i = 0; i < m; i++) {
        lanes top = s[i * m], sum = lanes_set(0);
        for (int j = 1; j < m; j++) top = lanes_max(top, s[i * m + j]);
        for (int j = 0; j < m; j++) {
            s[i * m + j] = lanes_exp(s[i * m + j] - top);
            sum += s[i * m + j];
        }
        sum = lanes_reciprocal(sum);
        for (int j = 0; j < m; j++) s[i * m + j] *= sum;
    }
}

/* b (M, M) = c 1 + S_l or c 1 + S_l^T; mixed = H_{l-1}, NULL for the identity */
LANES_INLINE void mixing(const stair_attention *a, const int m, const int layer, const double *u, const lanes *mixed,
                         lanes *b)
{
    for (int i = 0; i < m * m; i++) b[i] = lanes_set(0);
    for (int k = 0; k < a->rank[layer]; k++) {
        lanes h[STAIR_MAX_TOKENS];
        const double *row = u + (size_t)((a->row[layer] + k) * m) * STAIR_BLOCK;
        for (int i = 0; i < m; i++) {
            if (!mixed) {
                h[i] = lanes_load(row + (size_t)i * STAIR_BLOCK);
                continue;
            }
            h[i] = lanes_set(0);
            for (int j = 0; j < m; j++) h[i] += mixed[i * m + j] * lanes_load(row + (size_t)j * STAIR_BLOCK);
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) b[i * m + j] += h[i] * h[j];
    }
    if (!a->linear) softmax_rows(m, b);
    if (a->literal)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < i; j++) {
                lanes swap = b[i * m + j];
                b[i * m + j] = b[j * m + i];
                b[j * m + i] = swap;
            }
    for (int i = 0; i < m; i++) b[i * (m + 1)] += a->skip;
}

LANES_INLINE lanes away_from_zero(lanes x) { return lanes_pick(lanes_abs(x) > TINY, x, lanes_set(TINY)); }

/* x (M, p) <- b^{-1} x; returns 1 / det b */
LANES_INLINE lanes solve(const int m, const int p, const lanes *b, lanes *x)
{
    if (m == 2) {
        lanes det = away_from_zero(b[0] * b[3] - b[1] * b[2]), inverse = lanes_reciprocal(det);
        for (int k = 0; k < p; k++) {
            lanes top = (b[3] * x[k] - b[1] * x[p + k]) * inverse;
            x[p + k] = (b[0] * x[p + k] - b[2] * x[k]) * inverse;
            x[k] = top;
        }
        return inverse;
    }
    if (m == 3) {
        lanes cofactor[9];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                cofactor[i * 3 + j] = b[i1 * 3 + j1] * b[i2 * 3 + j2] - b[i1 * 3 + j2] * b[i2 * 3 + j1];
            }
        lanes det = away_from_zero(b[0] * cofactor[0] + b[1] * cofactor[1] + b[2] * cofactor[2]), inverse = lanes_reciprocal(det);
        for (int k = 0; k < p; k++) {
            lanes old[3] = {x[k], x[p + k], x[2 * p + k]};
            for (int i = 0; i < 3; i++)
                x[i * p + k] = (cofactor[i] * old[0] + cofactor[3 + i] * old[1] + cofactor[6 + i] * old[2]) * inverse;
        }
        return inverse;
    }
    lanes inverse = lanes_set(1);
    for (int lane = 0; lane < LANES; lane++) {
        double matrix[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS], right[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], size;
        for (int i = 0; i < m * m; i++) matrix[i] = b[i][lane];
        for (int i = 0; i < m * p; i++) right[i] = x[i][lane];
        if (!stair_matrix_solve(m, matrix, p, right, &size)) size = TINY;
        for (int i = 0; i < m * p; i++) x[i][lane] = size > TINY ? right[i] : right[i] / TINY;
        inverse[lane] = size > TINY ? 1 / size : 1 / TINY;
    }
    return inverse;
}

/* x (M, p) <- x Cayley(A) , Cayley(A) = (1 - A)(1 + A)^{-1}; returns the Haar density.
 * 1 + A has a positive symmetric part, so elimination needs no pivots. */
LANES_INLINE lanes rotate(const int m, const int p, const double *angles, lanes *x, lanes *work)
{
    lanes *plus = work, *right = work + p * p, det = lanes_set(1); /* (1 + A) Q = 1 - A */
    lanes stretch = lanes_set(1);
    for (int i = 0, k = 0; i < p; i++)
        for (int j = i; j < p; j++) {
            lanes angle = lanes_set(0);
            if (i != j) {
                lanes s = lanes_load(angles + (size_t)k++ * STAIR_BLOCK), up = lanes_exp(s), down = lanes_exp(-s);
                angle = 0.5 * (up - down);
                stretch *= 0.5 * (up + down);
            }
            plus[i * p + j] = angle + (i == j ? 1.0 : 0.0);
            plus[j * p + i] = (i == j ? 1.0 : 0.0) - angle;
            right[i * p + j] = (i == j ? 1.0 : 0.0) - angle;
            right[j * p + i] = angle + (i == j ? 1.0 : 0.0);
        }
    for (int i = 0; i < p; i++) {
        det *= plus[i * p + i];
        lanes inverse = 1.0 / plus[i * p + i];
        for (int j = 0; j < p; j++) {
            if (j == i) continue;
            lanes factor = plus[j * p + i] * inverse;
            for (int k = i; k < p; k++) plus[j * p + k] -= factor * plus[i * p + k];
            for (int k = 0; k < p; k++) right[j * p + k] -= factor * right[i * p + k];
        }
    }
    for (int i = 0; i < p; i++)
        for (int k = 0; k < p; k++) right[i * p + k] /= plus[i * p + i];
    for (int i = 0; i < m; i++) {
        lanes old[STAIR_MAX_INDICES];
        for (int k = 0; k < p; k++) old[k] = x[i * p + k];
        for (int k = 0; k < p; k++) {
            x[i * p + k] = lanes_set(0);
            for (int j = 0; j < p; j++) x[i * p + k] += old[j] * right[j * p + k];
        }
    }
    lanes density = stretch;
    for (int k = 0; k < p - 1; k++) density /= det;
    return density;
}

/* Integral of det(1+A)^{-(p-1)} over A: the volume of SO(p) in Cayley coordinates. */
static double haar_total(int p)
{
    double total = 1;
    for (int k = 2; k <= p; k++) total *= 2 * pow(M_PI, 0.5 * k) / tgamma(0.5 * k) / pow(2, k - 1);
    return total;
}

/* x (M, p) = h R with the common part v put in its columns first */
LANES_INLINE lanes last_layer(const stair_attention *a, const int m, const int p, const double *h, const double *centre,
                              const double *u, lanes *x, lanes *work)
{
    if (p == 1 && !a->common) {
        for (int i = 0; i < m; i++) x[i] = lanes_set(h[i]);
        return lanes_set(1);
    }
    const double *common = u + (size_t)(a->row[a->layers - 1] * m) * STAIR_BLOCK;
    const double *angles = common + (size_t)a->common * STAIR_BLOCK;
    lanes base[STAIR_MAX_INDICES];
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < p; k++) {
            int v = k - (p - a->common);
            base[k] = v < 0 ? lanes_set(h[i * p + k]) : lanes_load(common + (size_t)v * STAIR_BLOCK);
        }
        for (int k = 0; k < p; k++) {
            x[i * p + k] = p == 1 ? base[0] : lanes_set(0);
            for (int j = 0; j < p && p > 1; j++) x[i * p + k] += base[j] * centre[j * p + k];
        }
    }
    return p > 1 ? rotate(m, p, angles, x, work) : lanes_set(1);
}

LANES_INLINE void map(const stair_attention *a, const int m, const int layers, const int p, const double *h,
                      const double *centre, lanes *mixings, lanes *work, int n, const double *u, double *z,
                      double *weight)
{
    double total = p > 1 ? 1 / haar_total(p) : 1;
    for (int at = 0; at < n; at += LANES) {
        lanes *mixed = mixings + (layers - 1) * m * m, *next = mixed + m * m, *x = next + m * m;
        const double *here = u + at;
        for (int l = 0; l < layers - 1; l++) {
            lanes *b = mixings + l * m * m;
            mixing(a, m, l, here, l ? mixed : NULL, b);
            if (l + 2 >= layers) break;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++) {
                    next[i * m + j] = l ? lanes_set(0) : b[i * m + j];
                    for (int k = 0; k < m && l; k++) next[i * m + j] += b[i * m + k] * mixed[k * m + j];
                }
            for (int i = 0; i < m * m; i++) mixed[i] = next[i];
        }
        lanes density = last_layer(a, m, p, h, centre, here, x, work) * total, inverse = lanes_set(1);
        for (int l = layers - 2; l >= 0; l--) inverse *= solve(m, p, mixings + l * m * m, x);
        for (int i = 0; i < m * p && layers > 1; i++) x[i] = lanes_min(lanes_max(x[i], lanes_set(-HUGE_Z)), lanes_set(HUGE_Z));
        inverse = lanes_min(lanes_abs(inverse), lanes_set(1 / TINY));
        for (int k = 0; k < p; k++) density *= inverse;
        double *rows = z + (size_t)(a->row[layers - 1] * m) * STAIR_BLOCK + at;
        for (int k = 0; k < p; k++)
            for (int i = 0; i < m; i++) lanes_store(rows + (size_t)(k * m + i) * STAIR_BLOCK, x[i * p + k]);
        lanes_store(weight + at, density);
    }
}

void STAIR_HOT(stair_attention_map)(const stair_attention *a, const double *h, const double *centre, double *scratch,
                                    int n, const double *u, double *z, double *weight)
{
    int m = a->tokens, layers = a->layers, p = a->rank[layers - 1];
    if (m <= 3 && m > 1 && layers <= 4 && p == 1 && !a->common) {
        lanes local[4 * 9 + 2 * 9 + 3]; /* kept in registers once unrolled */
        if (m == 2 && layers == 2)
            map(a, 2, 2, 1, h, centre, local, local, n, u, z, weight);
        else if (m == 2 && layers == 3)
            map(a, 2, 3, 1, h, centre, local, local, n, u, z, weight);
        else if (m == 2)
            map(a, 2, layers, 1, h, centre, local, local, n, u, z, weight);
        else
            map(a, 3, layers, 1, h, centre, local, local, n, u, z, weight);
        return;
    }
    lanes *mixings = (lanes *)(void *)scratch, *work = mixings + (layers + 1) * m * m + m * p;
    map(a, m, layers, p, h, centre, mixings, work, n, u, z, weight);
}
