/* What the fibres of attention have in common, eight nodes at a time: the mixings B_l = c 1 + S_l of the
 * hidden rows, their inverses, and rotations with their Haar density.  Included by files *_hot.c. */
#ifndef STAIR_MODEL_ATTENTION_LANES_H
#define STAIR_MODEL_ATTENTION_LANES_H

#include <math.h>
#include <stdbool.h>

#include "core/lanes.h"
#include "core/matrix.h"
#include "model/attention.h"

static const struct {
    double tiny;      /* |det| below this stands for a singular mixing, where the density vanishes, */
    double huge;      /* and |Z| above this for infinity, so that no product overflows */
    double saturated; /* logit beyond which a softmax of two is zero enough, its square being finite: of two
                         rows at once, */
    double saturated_pair; /* and where their exps are squared too */
} lanes_tuning = {.tiny = 1e-60, .huge = 1e60, .saturated = 300, .saturated_pair = 150};

/* s (M, M) <- rows of softmax(j) */
LANES_INLINE void softmax_rows(const int m, lanes *s)
{
    if (m == 2) {
        /* one division for both rows; 300 keeps their product finite, and exp(-300) is zero enough */
        lanes low = lanes_set(lanes_tuning.saturated), one = 1.0 + lanes_exp(lanes_min(s[0] - s[1], low));
        lanes two = 1.0 + lanes_exp(lanes_min(s[3] - s[2], low)), both = lanes_reciprocal(one * two),
              off0 = two * both, off1 = one * both;
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

/* h (M) of a row of Z, a coordinate of the nodes; mixed = H_{l-1}, NULL for the identity */
LANES_INLINE void mixed_row(const int m, const double *row, const lanes *mixed, lanes *h)
{
    for (int i = 0; i < m; i++) {
        if (!mixed) {
            h[i] = lanes_load(row + (size_t)i * STAIR_BLOCK);
            continue;
        }
        h[i] = lanes_set(0);
        for (int j = 0; j < m; j++) h[i] += mixed[i * m + j] * lanes_load(row + (size_t)j * STAIR_BLOCK);
    }
}

/* b (M, M) = c 1 + S_l or c 1 + S_l^T.  Where queries have rows of their own, those of the hidden layers
 * follow the keys of the hidden layers. */
LANES_INLINE void mixing(const stair_attention *a, const int m, const int layer, const double *u,
                         const lanes *mixed, lanes *b)
{
    for (int i = 0; i < m * m; i++) b[i] = lanes_set(0);
    for (int k = 0; k < a->rank[layer]; k++) {
        lanes h[STAIR_MAX_TOKENS], own[STAIR_MAX_TOKENS], *query = h;
        const double *row = u + (size_t)((a->row[layer] + k) * m) * STAIR_BLOCK;
        mixed_row(m, row, mixed, h);
        if (a->queries) {
            query = own;
            mixed_row(m, row + (size_t)(a->row[a->layers - 1] * m) * STAIR_BLOCK, mixed, own);
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) b[i * m + j] += query[i] * h[j];
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

LANES_INLINE lanes away_from_zero(lanes x)
{
    return lanes_pick(lanes_abs(x) > lanes_tuning.tiny, x, lanes_set(lanes_tuning.tiny));
}

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
        lanes det = away_from_zero(b[0] * cofactor[0] + b[1] * cofactor[1] + b[2] * cofactor[2]),
              inverse = lanes_reciprocal(det);
        for (int k = 0; k < p; k++) {
            lanes old[3] = {x[k], x[p + k], x[2 * p + k]};
            for (int i = 0; i < 3; i++)
                x[i * p + k] =
                    (cofactor[i] * old[0] + cofactor[3 + i] * old[1] + cofactor[6 + i] * old[2]) * inverse;
        }
        return inverse;
    }
    lanes inverse = lanes_set(1);
    for (int lane = 0; lane < LANES; lane++) {
        double matrix[STAIR_ATTENTION_SQUARE], right[STAIR_MAX_TOKENS * (STAIR_MAX_INDICES + 1)], size;
        for (int i = 0; i < m * m; i++) matrix[i] = b[i][lane];
        for (int i = 0; i < m * p; i++) right[i] = x[i][lane];
        if (!stair_matrix_solve(m, matrix, p, right, &size)) size = lanes_tuning.tiny;
        for (int i = 0; i < m * p; i++)
            x[i][lane] = size > lanes_tuning.tiny ? right[i] : right[i] / lanes_tuning.tiny;
        inverse[lane] = size > lanes_tuning.tiny ? 1 / size : 1 / lanes_tuning.tiny;
    }
    return inverse;
}

/* x (M, p) <- x R, R a product of rotations in the planes (i, n), i < n < p; returns the Haar density.
 * Built up so, the last row of R runs over a sphere with latitudes t_i: the density is prod cos(t_i)^i, t_0
 * on the whole circle and the others between the poles.  t_0 = 2 gd(s) and t_i = gd(s) make it prod
 * sech(s)^(i+1). */
LANES_INLINE lanes rotate(const int m, const int p, const double *angles, lanes *x)
{
    lanes density = lanes_set(1);
    const double *circle = angles, *latitude = angles + (size_t)(p - 1) * STAIR_BLOCK;
    for (int n = p - 1; n > 0; n--)
        for (int i = 0; i < n; i++) {
            lanes s = lanes_load(i ? latitude : circle), down = lanes_exp(-lanes_abs(s)),
                  secant = 2.0 * down / (1.0 + down * down);
            lanes tangent = (1.0 - down * down) / (1.0 + down * down), cosine, sine;
            tangent = lanes_pick(s < 0.0, -tangent, tangent); /* tanh(s) */
            if (i) {
                cosine = secant;
                sine = tangent;
                latitude += STAIR_BLOCK;
            } else {
                cosine = 2.0 * secant * secant - 1.0;
                sine = 2.0 * secant * tangent;
                circle += STAIR_BLOCK;
            }
            for (int k = 0; k <= i; k++) density *= secant;
            for (int t = 0; t < m; t++) {
                lanes at_i = x[t * p + i], at_n = x[t * p + n];
                x[t * p + i] = cosine * at_i + sine * at_n;
                x[t * p + n] = cosine * at_n - sine * at_i;
            }
        }
    return density;
}

/* Integral of that density: of sech^(i+1) over the line, for each angle. */
static double haar_total(int p)
{
    double total = 1;
    for (int n = 1; n < p; n++)
        for (int i = 0; i < n; i++) total *= sqrt(M_PI) * tgamma(0.5 * (i + 1)) / tgamma(0.5 * i + 1);
    return total;
}

/* B_1 ... B_layers at one group of nodes; behind them is room for two more matrices. */
LANES_INLINE void all_mixings(const stair_attention *a, const int m, const int layers, const double *u,
                              lanes *mixings)
{
    lanes *mixed = mixings + layers * m * m, *next = mixed + m * m;
    for (int l = 0; l < layers; l++) {
        lanes *b = mixings + l * m * m;
        mixing(a, m, l, u, l ? mixed : NULL, b);
        if (l + 1 >= layers) break;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                next[i * m + j] = l ? lanes_set(0) : b[i * m + j];
                for (int k = 0; k < m && l; k++) next[i * m + j] += b[i * m + k] * mixed[k * m + j];
            }
        for (int i = 0; i < m * m; i++) mixed[i] = next[i];
    }
}

#endif
