/* Queries and keys of the last layer from a label, up to what it does not tell.
 *
 * log y, less the mean of each row, is A_c = q k_c^T with k_c the keys less their mean: of rank P_L, its rows
 * in the span of orthonormal e (M, P_L), so that k_c = e G and q = a G^{-T} with a = A_c e and some
 * invertible G. For linear scores A = q k^T is known whole and nothing is centred.
 *
 * Singular vectors by one-sided Jacobi (Hestenes 1958), which finds small singular values to all digits. */
#include <math.h>
#include <string.h>

#include "model/untied.h"

static const struct {
    double feasible; /* how far labels may be from scores of that rank, relative to their size, */
    double floor;    /* which counts at least as this */
    double tie;      /* singular value that is none, relative to the largest */
    double rotated;  /* cosine of two columns that are orthogonal */
    int sweeps;      /* of rotations, at most: a handful do */
} tuning = {.feasible = 1e-7, .floor = 1e-6, .tie = 1e-15, .rotated = 1e-16, .sweeps = 60};

static stair_status infeasible(stair_context *context, int rank)
{
    return stair_fail(context, STAIR_BAD_INPUT,
                      "label is outside the range of the model: its scores have a rank above %d", rank);
}

/* Rotates columns i and j of b and of v so that those of b are orthogonal; false where they are. */
static bool rotate_columns(int m, int i, int j, double *b, double *v)
{
    double ii = 0, jj = 0, ij = 0;
    for (int r = 0; r < m; r++) {
        ii += b[r * m + i] * b[r * m + i];
        jj += b[r * m + j] * b[r * m + j];
        ij += b[r * m + i] * b[r * m + j];
    }
    if (!(fabs(ij) > tuning.rotated * sqrt(ii) * sqrt(jj)) || ij == 0) return false;
    double zeta = (jj - ii) / (2 * ij), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
    double c = 1 / hypot(1, t), s = c * t;
    for (int r = 0; r < m; r++) {
        double x = b[r * m + i], y = b[r * m + j];
        b[r * m + i] = c * x - s * y;
        b[r * m + j] = s * x + c * y;
        x = v[r * m + i], y = v[r * m + j];
        v[r * m + i] = c * x - s * y;
        v[r * m + j] = s * x + c * y;
    }
    return true;
}

/* b v^T stays what b was, with v orthogonal; columns of b become orthogonal, of length `value`. */
static void singular(int m, double *b, double *v, double *value)
{
    bool moved = true;
    for (int i = 0; i < m * m; i++) v[i] = i % (m + 1) == 0;
    for (int sweep = 0; sweep < tuning.sweeps && moved; sweep++) {
        moved = false;
        for (int i = 0; i < m; i++)
            for (int j = i + 1; j < m; j++) moved |= rotate_columns(m, i, j, b, v);
    }
    for (int j = 0; j < m; j++) {
        value[j] = 0;
        for (int i = 0; i < m; i++) value[j] = hypot(value[j], b[i * m + j]);
    }
}

/* Column of the k-th largest value. */
static int ranked(int m, const double *value, int k)
{
    for (int j = 0; j < m; j++) {
        int above = 0;
        for (int i = 0; i < m; i++) above += value[i] > value[j] || (value[i] == value[j] && i < j);
        if (above == k) return j;
    }
    return 0;
}

/* Scores (M, M) with what softmax does not see taken off. */
static void seen_scores(const stair_attention *a, const double *label, double *scores)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++) {
        double mean = 0;
        for (int j = 0; j < m && !a->linear; j++) mean += label[i * m + j] / m;
        for (int j = 0; j < m; j++) scores[i * m + j] = label[i * m + j] - mean;
    }
}

/* Column k of e (M, P_L) from `vector`, which may have rounding along (1 .. 1), and of a = scores e. */
static void one_direction(const stair_attention *a, int rank, int k, const double *scores,
                          const double *vectors, int column, double *key, double *query)
{
    int m = a->tokens;
    double mean = 0, norm = 0;
    for (int i = 0; i < m && !a->linear; i++) mean += vectors[i * m + column] / m;
    for (int i = 0; i < m; i++) {
        key[i * rank + k] = vectors[i * m + column] - mean;
        norm += key[i * rank + k] * key[i * rank + k];
    }
    for (int i = 0; i < m; i++) key[i * rank + k] /= sqrt(norm);
    for (int i = 0; i < m; i++) {
        query[i * rank + k] = 0;
        for (int j = 0; j < m; j++) query[i * rank + k] += scores[i * m + j] * key[j * rank + k];
    }
}

stair_status stair_untied_points(stair_context *context, const stair_attention *a, const double *label,
                                 double *key, double *query, double *size)
{
    int m = a->tokens, rank = a->rank[a->layers - 1];
    double scores[STAIR_ATTENTION_SQUARE], left[STAIR_ATTENTION_SQUARE], vectors[STAIR_ATTENTION_SQUARE],
        value[STAIR_MAX_TOKENS], rest = 0;
    seen_scores(a, label, scores);
    memcpy(left, scores, sizeof(double) * (size_t)(m * m));
    singular(m, left, vectors, value);
    double top = value[ranked(m, value, 0)];
    for (int k = rank; k < m; k++) rest = hypot(rest, value[ranked(m, value, k)]);
    if (!(rest <= tuning.feasible * (top + tuning.floor))) return infeasible(context, rank);
    for (int k = 0; k < rank; k++) {
        int column = ranked(m, value, rank - 1 - k);
        if (!(value[column] > tuning.tie * top))
            return stair_fail(context, STAIR_BAD_INPUT,
                              "label is a tie: scores of rank below %d, which has probability zero", rank);
        one_direction(a, rank, k, scores, vectors, column, key, query);
        size[k] = sqrt(value[column]);
    }
    return STAIR_OK;
}
