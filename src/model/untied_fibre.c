/* The fibre of attention with untied query and key: all Z that give one label.  Proofs in docs/untied.md.
 *
 * P_L rows that the label can tell apart (P_L < M for softmax): with e and a of untied_points.c,
 *
 *   k_c = e G,  q = a G^{-T},  measure |det G|^{-P_L - 1} dG dkappa,  kappa the mean of the keys,
 *
 * and G = l R with l lower triangular and R a rotation turns queries and keys alike.  Then K_L = (H^{-1}
 * k)^T, Q_L = (H^{-1} q)^T with density |det H_{L-1}|^{-2 P_L}, whatever the hidden rows are:
 *
 *   coordinates u = (hidden rows, log diagonal of l, rest of l, kappa, rotation): untied_hot.c.
 *
 * More rows than that: K_L is free as well.  With k' = H K_L^T in a basis of what the label sees (seen, P_L)
 * and scores s' (M, seen), each query has k' q_m = s'_m: fixed along the rows of k', free beside them,
 *
 *   coordinates u = (hidden rows, K_L, queries beside), measure det(k' k'^T)^{-M/2} |det H|^{-P_L} dK dq. */
#include <math.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"
#include "model/untied.h"

static const struct {
    double huge; /* |Z| that stands for infinity, */
    double tiny; /* and densities that stand for none */
} tuning = {.huge = 1e60, .tiny = 1e-200};

STAIR_HOT_TABLE(void, stair_untied_map,
                (const stair_attention *a, const double *key, const double *query, const double *size,
                 const double *centre, double *scratch, int n, const double *u, double *z, double *weight));

stair_untied_layout stair_untied_fibre_layout(const stair_attention *a, int *size)
{
    int rank = a->rank[a->layers - 1], m = a->tokens;
    stair_untied_layout at = {.key = 0, .query = m * (rank > m ? rank : m)};
    at.size = at.query + m * rank;
    at.centre = at.size + rank;
    at.scratch = (at.centre + 2 * rank * rank + 7) / 8 * 8;
    *size = at.scratch + 8 * ((a->layers + 1) * m * m + m * (2 * rank + 1) + 2 * m * rank + rank * rank);
    return at;
}

/* k (P_L, P_L) += h^T H omega, for h (M, P_L) of queries or keys and rows of omega from `row` on. */
static void towards(const stair_attention *a, const double *h, const double *mixed, const double *omega,
                    int row, double *k)
{
    int m = a->tokens, p = a->rank[a->layers - 1];
    for (int x = 0; x < p; x++)
        for (int y = 0; y < p; y++)
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++)
                    k[x * p + y] += h[i * p + x] * mixed[i * m + j] * omega[(row + y) * m + j];
}

/* Charts centred where the rotation brings the likeliest l closest to what omega predicts. */
static void centre_charts(const stair_attention *a, const double *key, const double *query,
                          const double *size, const double *omega, double *centre)
{
    int m = a->tokens, last = a->layers - 1, p = a->rank[last];
    double mixed[STAIR_ATTENTION_SQUARE], k[STAIR_SQUARE] = {0},
                                          at[STAIR_MAX_TOKENS * STAIR_MAX_INDICES] = {0};
    stair_attention_mixing(a, last, omega, mixed);
    for (int i = 0; i < m * p; i++) at[i] = key[i] * size[i % p];
    towards(a, at, mixed, omega, a->row[last], k);
    for (int i = 0; i < m * p; i++) at[i] = query[i] / size[i % p];
    towards(a, at, mixed, omega, a->row[last] + a->queries, k);
    stair_matrix_procrustes(p, k, 1, centre);
    stair_matrix_procrustes(p, k, -1, centre + p * p);
}

/* Row s of an orthonormal basis of what the label sees: all of it, or what sums to zero (Helmert). */
static double seen_basis(const stair_attention *a, int s, int token)
{
    if (a->linear) return s == token;
    double norm = 1 / sqrt((s + 1) * (s + 2));
    return token <= s ? norm : token == s + 1 ? -(s + 1) * norm : 0;
}

static void open_wide(const stair_attention *a, const double *label, const double *omega, stair_fibre *fibre)
{
    int m = a->tokens, last = a->layers - 1, p = a->rank[last], seen = stair_untied_seen(a), size;
    stair_untied_layout at = stair_untied_fibre_layout(a, &size);
    for (int i = 0; i < m; i++)
        for (int s = 0; s < seen; s++) {
            double sum = 0;
            for (int j = 0; j < m; j++) sum += label[i * m + j] * seen_basis(a, s, j);
            fibre->data[at.key + i * seen + s] = sum;
        }
    memcpy(fibre->data + at.query, omega + (a->row[last] + a->queries) * m, sizeof(double) * (size_t)(p * m));
    fibre->free_rows = 2 * a->row[last] + p;
}

stair_status stair_untied_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                     const double *omega, stair_fibre *fibre)
{
    const stair_attention *a = model->state;
    int last = a->layers - 1, rank = a->rank[last], size;
    stair_untied_layout at = stair_untied_fibre_layout(a, &size);
    double *data = fibre->data;
    fibre->dim = model->fibre_dim;
    fibre->rough = stair_attention_is_rough(a);
    if (stair_untied_wide(a)) {
        open_wide(a, label, omega, fibre);
        return STAIR_OK;
    }
    STAIR_TRY(stair_untied_points(context, a, label, data + at.key, data + at.query, data + at.size));
    if (rank > 1) centre_charts(a, data + at.key, data + at.query, data + at.size, omega, data + at.centre);
    fibre->free_rows = 2 * a->row[last];
    fibre->angles = a->angles;
    /* as for tied weights: O(rank) is SO and its image under -1, or two charts */
    fibre->mirrored = rank % 2;
    fibre->charts = fibre->mirrored ? 1 : 2;
    return STAIR_OK;
}

int stair_untied_angle_power(const stair_fibre *fibre, int k)
{
    return stair_attention_angle_power(fibre, k);
}

/* Householder: k (P, seen), the columns k', becomes upper triangular; v (seen, P) are the reflections. */
static void reflect_all(int p, int seen, double *k, double *v)
{
    for (int j = 0; j < seen; j++) {
        double *w = v + j * p, norm = 0, length = 0;
        for (int i = 0; i < p; i++) {
            w[i] = i < j ? 0 : k[i * seen + j];
            norm += w[i] * w[i];
        }
        w[j] += copysign(sqrt(norm), w[j]);
        for (int i = j; i < p; i++) length += w[i] * w[i];
        for (int i = j; i < p && length > 0; i++) w[i] *= M_SQRT2 / sqrt(length);
        for (int c = j; c < seen; c++) {
            double dot = 0;
            for (int i = j; i < p; i++) dot += w[i] * k[i * seen + c];
            for (int i = j; i < p; i++) k[i * seen + c] -= dot * w[i];
        }
    }
}

static void reflect(int p, const double *v, double *x)
{
    double dot = 0;
    for (int i = 0; i < p; i++) dot += v[i] * x[i];
    for (int i = 0; i < p; i++) x[i] -= dot * v[i];
}

/* One query (P): `scores` (seen) along the keys, beside them its prior mean `expected` (P) and `beside`. */
static void one_query(int p, int seen, const double *k, const double *v, const double *scores,
                      const double *expected, const double *beside, double *q)
{
    memcpy(q, expected, sizeof(double) * (size_t)p);
    for (int j = 0; j < seen; j++) reflect(p, v + j * p, q);
    for (int i = 0; i < p; i++) {
        if (i >= seen) {
            q[i] += beside[i - seen];
            continue;
        }
        q[i] = scores[i];
        for (int c = 0; c < i; c++) q[i] -= k[c * seen + i] * q[c];
        q[i] /= k[i * seen + i];
    }
    for (int j = seen - 1; j >= 0; j--) reflect(p, v + j * p, q);
}

/* Q_L (M, P) and the density at one Z (P, M), whose queries of the last layer are to be found. */
static double wide_queries(const stair_fibre *fibre, const double *z, const double *beside, double *q)
{
    const stair_attention *a = fibre->model->state;
    int m = a->tokens, last = a->layers - 1, p = a->rank[last], seen = stair_untied_seen(a), size;
    stair_untied_layout at = stair_untied_fibre_layout(a, &size);
    double mixed[STAIR_ATTENTION_SQUARE], mean[STAIR_MAX_INDICES],
        det = 1, density = 1, k[STAIR_MAX_INDICES * STAIR_MAX_TOKENS] = {0},
        v[STAIR_MAX_INDICES * STAIR_MAX_TOKENS];
    stair_attention_mixing(a, last, z, mixed);
    for (int s = 0; s < seen; s++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                for (int x = 0; x < p; x++)
                    k[x * seen + s] += seen_basis(a, s, i) * mixed[i * m + j] * z[(a->row[last] + x) * m + j];
    reflect_all(p, seen, k, v);
    for (int s = 0; s < seen; s++)
        for (int i = 0; i < m; i++) density /= fabs(k[s * (seen + 1)]);
    for (int i = 0; i < m; i++) {
        for (int x = 0; x < p; x++) {
            mean[x] = 0;
            for (int j = 0; j < m; j++) mean[x] += mixed[i * m + j] * fibre->data[at.query + x * m + j];
        }
        one_query(p, seen, k, v, fibre->data + at.key + i * seen, mean, beside + i * (p - seen), q + i * p);
    }
    if (last && !stair_matrix_solve(m, mixed, p, q, &det)) return 0;
    for (int x = 0; x < p; x++) density /= det;
    return density;
}

static void map_wide(const stair_fibre *fibre, int n, const double *u, double *z, double *weight)
{
    const stair_attention *a = fibre->model->state;
    const int *order = fibre->model->order;
    int m = a->tokens, last = a->layers - 1, p = a->rank[last], free = fibre->free_rows;
    double at[STAIR_MAX_CELLS] = {0}, beside[STAIR_MAX_CELLS], q[STAIR_MAX_CELLS];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < free * m; k++) at[order[k / m] * m + k % m] = u[k * STAIR_BLOCK + i];
        for (int k = free * m; k < fibre->dim; k++) beside[k - free * m] = u[k * STAIR_BLOCK + i];
        double density = wide_queries(fibre, at, beside, q);
        bool none = !(density > tuning.tiny) || !isfinite(density);
        for (int k = 0; k < p * m; k++) {
            double value = q[(k % m) * p + k / m];
            none |= !(fabs(value) < tuning.huge);
            z[(size_t)(free * m + k) * STAIR_BLOCK + i] = none ? tuning.huge : value;
        }
        weight[i] = none ? tuning.tiny : density;
    }
}

void stair_untied_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                            double *z, double *weight)
{
    const stair_attention *a = fibre->model->state;
    int rank = a->rank[a->layers - 1], size;
    stair_untied_layout at = stair_untied_fibre_layout(a, &size);
    double *data = fibre->data;
    (void)digits;
    if (stair_untied_wide(a))
        map_wide(fibre, n, u, z, weight);
    else
        stair_untied_map_table[stair_isa()](a, data + at.key, data + at.query, data + at.size,
                                            data + at.centre + chart * rank * rank, data + at.scratch, n, u,
                                            z, weight);
}
