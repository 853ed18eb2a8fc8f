/* K_L, Q_L and the density of the fibre of untied attention at a block of nodes, eight nodes at a time.
 *
 *   d = H^{-1} 1,  e' = H^{-1} e less what is along d,  a' = H^{-1} a,
 *   K_L = (e' l + d v^T / |d|) R,  Q_L = a' l^{-T} R,
 *
 * v (P_L) the keys along d.  With u unseen directions, 1 for softmax and 0 for linear scores, the density in
 * (log diagonal of l, rest of l, v, Haar) is
 *
 *   |det H|^{-2 P_L} (sqrt(M) / |d|)^{u P_L} prod_i l_ii^{1 - i - u},   i = 1 .. P_L.
 *
 * Coordinates are counted from where the density is largest at omega = 0: l is diag(size) for H = 1, and
 * scaled by r = sqrt(|a'| |e| / (|a| |e'|)) at other hidden rows; for rank one in units of its width there.
 */
#include <math.h>

#include "core/isa.h"
#include "model/attention_lanes.h"
#include "model/untied.h"

void STAIR_HOT(stair_untied_map)(const stair_attention *a, const double *key, const double *query,
                                 const double *size, const double *centre, double *scratch, int n,
                                 const double *u, double *z, double *weight);

/* |log l_ii| beyond which Z is so large that nothing is there, while no product overflows */
static const double farthest = 60;

LANES_INLINE lanes root(lanes x)
{
    for (int i = 0; i < LANES; i++) x[i] = sqrt(x[i]);
    return x;
}

LANES_INLINE lanes within(lanes x)
{
    return lanes_min(lanes_max(x, lanes_set(-lanes_tuning.huge)), lanes_set(lanes_tuning.huge));
}

/* Columns of x (M, c): e, a and, for softmax, 1; all of them times H^{-1}.  Returns |det H|^{-1}. */
LANES_INLINE lanes unmixed(const stair_attention *a, const int m, const int layers, const int p, const int c,
                           const double *key, const double *query, const double *u, lanes *mixings, lanes *x)
{
    lanes inverse = lanes_set(1);
    for (int i = 0; i < m; i++)
        for (int k = 0; k < c; k++)
            x[i * c + k] = lanes_set(k < p ? key[i * p + k] : k < 2 * p ? query[i * p + k - p] : 1);
    all_mixings(a, m, layers - 1, u, mixings);
    for (int l = layers - 2; l >= 0; l--) inverse *= solve(m, c, mixings + l * m * m, x);
    for (int i = 0; i < m * c && layers > 1; i++) x[i] = within(x[i]);
    return lanes_abs(inverse);
}

/* Makes e' of H^{-1} e and a unit vector of d; returns |d|^2. */
LANES_INLINE lanes beside_unseen(const int m, const int p, const int c, lanes *x)
{
    lanes square = lanes_set(0);
    for (int i = 0; i < m; i++) square += x[i * c + 2 * p] * x[i * c + 2 * p];
    square = away_from_zero(square);
    lanes over = 1.0 / root(square);
    for (int i = 0; i < m; i++) x[i * c + 2 * p] *= over;
    for (int k = 0; k < p; k++) {
        lanes dot = lanes_set(0);
        for (int i = 0; i < m; i++) dot += x[i * c + k] * x[i * c + 2 * p];
        for (int i = 0; i < m; i++) x[i * c + k] -= dot * x[i * c + 2 * p];
    }
    return square;
}

/* |e'|^2 and |a'|^2 */
LANES_INLINE void squares(const int m, const int p, const int c, const lanes *x, lanes *keys, lanes *queries)
{
    *keys = *queries = lanes_set(0);
    for (int i = 0; i < m; i++)
        for (int k = 0; k < p; k++) {
            *keys += x[i * c + k] * x[i * c + k];
            *queries += x[i * c + p + k] * x[i * c + p + k];
        }
    *keys = away_from_zero(*keys);
    *queries = away_from_zero(*queries);
}

/* Rank one, at omega = 0: with B = |a'| |e'| the density of s = log t - log r is exp(-u s - B cosh(2 s)). Its
 * largest value is at s = -asinh(u / 2B) / 2, which is taken into r, and its width there is returned. */
LANES_INLINE lanes width_of_line(const int unseen, lanes keys, lanes queries, lanes *r)
{
    lanes twice = 2.0 * root(keys * queries), slant = root(twice * twice + 1.0);
    if (unseen) *r *= root(twice / (1.0 + slant));
    return root(0.5 / slant);
}

/* l (P, P) at the coordinates, and its share of the density */
LANES_INLINE lanes triangle(const int p, const int unseen, const double *size, lanes r, lanes width,
                            const double *u, lanes *l)
{
    lanes density = p == 1 ? width : lanes_set(1);
    const double *rest = u + (size_t)p * STAIR_BLOCK;
    for (int i = 0; i < p; i++) {
        for (int j = 0; j < i; j++, rest += STAIR_BLOCK) {
            l[i * p + j] = r * lanes_load(rest);
            density *= r;
        }
        lanes logarithm = lanes_load(u + (size_t)i * STAIR_BLOCK) * (p == 1 ? width : lanes_set(1));
        logarithm = lanes_min(lanes_max(logarithm, lanes_set(-farthest)), lanes_set(farthest));
        l[i * (p + 1)] = r * size[i] * lanes_exp(logarithm);
        lanes over = 1.0 / l[i * (p + 1)];
        for (int k = 0; k < i + unseen; k++) density *= over;
    }
    return density;
}

/* kq (2 M, P): keys, then queries, before they are turned */
LANES_INLINE void queries_and_keys(const int m, const int p, const int c, const lanes *x, const lanes *l,
                                   const double *v, lanes *kq)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < p; k++) {
            lanes key = lanes_set(0), query = x[i * c + p + k];
            for (int j = k; j < p; j++) key += x[i * c + j] * l[j * p + k];
            if (c > 2 * p) key += x[i * c + 2 * p] * lanes_load(v + (size_t)k * STAIR_BLOCK);
            for (int j = 0; j < k; j++) query -= kq[(m + i) * p + j] * l[k * p + j];
            kq[i * p + k] = key;
            kq[(m + i) * p + k] = query / l[k * (p + 1)];
        }
}

/* kq <- kq R; returns the Haar density, not yet of integral one */
LANES_INLINE lanes turn(const int m, const int p, const double *centre, const double *angles, lanes *kq)
{
    for (int i = 0; i < 2 * m; i++) {
        lanes row[STAIR_MAX_INDICES];
        for (int k = 0; k < p; k++) {
            row[k] = lanes_set(0);
            for (int j = 0; j < p; j++) row[k] += kq[i * p + j] * centre[j * p + k];
        }
        for (int k = 0; k < p; k++) kq[i * p + k] = row[k];
    }
    return rotate(2 * m, p, angles, kq);
}

LANES_INLINE void map(const stair_attention *a, const int m, const int layers, const int p, const double *key,
                      const double *query, const double *size, const double *centre, lanes *mixings, int n,
                      const double *u, double *z, double *weight)
{
    const int unseen = !a->linear, c = 2 * p + unseen, hidden = 2 * a->row[layers - 1] * m;
    const double total = p > 1 ? 1 / haar_total(p) : 1, most = pow(1e150, 0.5 / p);
    double norm = 0;
    for (int k = 0; k < p; k++) norm += size[k] * size[k] * size[k] * size[k];
    norm = sqrt(p / norm); /* |e| / |a| */
    lanes *x = mixings + (layers + 1) * m * m, *kq = x + m * c, *l = kq + 2 * m * p;
    for (int at = 0; at < n; at += LANES) {
        const double *own = u + (size_t)hidden * STAIR_BLOCK + at,
                     *v = own + (size_t)(p * (p + 1) / 2) * STAIR_BLOCK;
        lanes inverse = unmixed(a, m, layers, p, c, key, query, u + at, mixings, x),
              density = lanes_set(total);
        inverse = lanes_min(inverse, lanes_set(most));
        for (int k = 0; k < 2 * p; k++) density *= inverse;
        if (unseen) {
            lanes square = beside_unseen(m, p, c, x), factor = root(m / square);
            for (int k = 0; k < p && layers > 1; k++) density *= factor;
        }
        lanes keys, queries, width = lanes_set(1);
        squares(m, p, c, x, &keys, &queries);
        lanes r = root(root(queries / keys) * norm);
        if (p == 1) width = width_of_line(unseen, keys, queries, &r);
        density *= triangle(p, unseen, size, r, width, own, l);
        queries_and_keys(m, p, c, x, l, v, kq);
        if (p > 1) density *= turn(m, p, centre, v + (size_t)(unseen * p) * STAIR_BLOCK, kq);
        double *rows = z + (size_t)hidden * STAIR_BLOCK + at;
        for (int k = 0; k < 2 * p; k++)
            for (int i = 0; i < m; i++)
                lanes_store(rows + (size_t)(k * m + i) * STAIR_BLOCK,
                            within(kq[((k >= p ? m : 0) + i) * p + k % p]));
        lanes_store(weight + at, density);
    }
}

void STAIR_HOT(stair_untied_map)(const stair_attention *a, const double *key, const double *query,
                                 const double *size, const double *centre, double *scratch, int n,
                                 const double *u, double *z, double *weight)
{
    int m = a->tokens, layers = a->layers, p = a->rank[layers - 1];
    lanes *room = (lanes *)(void *)scratch;
    if (m == 2 && layers == 1 && p == 1)
        map(a, 2, 1, 1, key, query, size, centre, room, n, u, z, weight);
    else if (m == 2 && layers == 2 && p == 1) {
        lanes local[3 * 4 + 2 * 3 + 4 + 1]; /* kept in registers once unrolled */
        map(a, 2, 2, 1, key, query, size, centre, local, n, u, z, weight);
    } else
        map(a, m, layers, p, key, query, size, centre, room, n, u, z, weight);
}
