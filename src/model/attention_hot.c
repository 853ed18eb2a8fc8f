/* Z_L and the density of the fibre of deep attention at a block of nodes, eight nodes at a time.
 *
 *   x = B_1^{-1} ... B_{L-1}^{-1} h R,   weight = prod_l |det B_l|^{-P_L} * Haar density of R
 *
 * with B_l = c 1 + S_l.  h: (M, P_L) up to rotation; R = centre * a product of rotations in planes.
 * M = 2, 3 are unrolled with closed inverses; larger M is solved a node at a time. */
#include <math.h>
#include <stdbool.h>

#include "core/isa.h"
#include "model/attention_lanes.h"

void STAIR_HOT(stair_attention_map)(const stair_attention *a, const double *h, const double *centre,
                                    bool brief, double *scratch, int n, const double *u, double *z,
                                    double *weight);

/* x (M, p) = (h + v) R, v common to all tokens; returns the density.  One coordinate carries v: v itself
 * where it has one dimension, else log |v|, since rotations turn it. */
LANES_INLINE lanes last_layer(const stair_attention *a, const int m, const int p, const double *h,
                              const double *centre, const double *u, lanes *x)
{
    if (p == 1 && !a->unseen) {
        for (int i = 0; i < m; i++) x[i] = lanes_set(h[i]);
        return lanes_set(1);
    }
    const double *coordinate = u + (size_t)(a->row[a->layers - 1] * m) * STAIR_BLOCK;
    lanes v = lanes_set(0), density = lanes_set(1);
    if (a->unseen) {
        v = lanes_load(coordinate);
        coordinate += STAIR_BLOCK;
        if (a->unseen > 1) {
            v = lanes_exp(v);
            density *= 2 * pow(M_PI, 0.5 * a->unseen) / tgamma(0.5 * a->unseen);
            for (int k = 0; k < a->unseen; k++) density *= v;
        }
    }
    for (int i = 0; i < m; i++)
        for (int k = 0; k < p; k++) {
            x[i * p + k] = p == 1 ? v + h[i] : lanes_set(0);
            for (int j = 0; j < p && p > 1; j++)
                x[i * p + k] += (j == p - a->unseen ? v : lanes_set(h[i * p + j])) * centre[j * p + k];
        }
    return p > 1 ? density * rotate(m, p, coordinate, x) : density;
}

/* The one matrix of models that mix at once: of a committee of `layers`, or of the flow; behind it is room
 * for another. */
LANES_INLINE void mixing_at_once(const stair_attention *a, const int m, const stair_attention_mixed by,
                                 const int layers, const double *u, lanes *b)
{
    lanes *one = b + m * m;
    for (int i = 0; i < m * m; i++) b[i] = lanes_set(by == STAIR_MIXED_BY_FLOW ? a->flow[1] : 0);
    for (int l = 0; l < layers && by == STAIR_MIXED_BY_COMMITTEE; l++) {
        mixing(a, m, l, u, NULL, one);
        for (int i = 0; i < m * m; i++) b[i] += one[i];
    }
    for (int i = 0; i < m * m && by == STAIR_MIXED_BY_COMMITTEE; i++) b[i] *= a->share;
    for (int i = 0; i < m; i++) b[i * (m + 1)] += by == STAIR_MIXED_BY_FLOW ? a->flow[0] : 1;
}

LANES_INLINE void map(const stair_attention *a, const stair_attention_mixed by, const int m, const int layers,
                      const int p, const double *h, const double *centre, lanes *mixings, int n,
                      const double *u, double *z, double *weight)
{
    double total = p > 1 ? 1 / haar_total(p) : 1;
    const int matrices = by == STAIR_MIXED_BY_LAYERS ? layers - 1 : 1;
    for (int at = 0; at < n; at += LANES) {
        lanes *x = mixings + (matrices + (by == STAIR_MIXED_BY_LAYERS ? 2 : 1)) * m * m;
        const double *here = u + at;
        if (by == STAIR_MIXED_BY_LAYERS)
            all_mixings(a, m, layers - 1, here, mixings);
        else
            mixing_at_once(a, m, by, layers - 1, here, mixings);
        lanes density = last_layer(a, m, p, h, centre, here, x) * total, inverse = lanes_set(1);
        for (int l = matrices - 1; l >= 0; l--) inverse *= solve(m, p, mixings + l * m * m, x);
        for (int i = 0; i < m * p && matrices > 0; i++)
            x[i] = lanes_min(lanes_max(x[i], lanes_set(-lanes_tuning.huge)), lanes_set(lanes_tuning.huge));
        inverse = lanes_min(lanes_abs(inverse), lanes_set(1 / lanes_tuning.tiny));
        for (int k = 0; k < p; k++) density *= inverse;
        double *rows = z + (size_t)(a->row[layers - 1] * m) * STAIR_BLOCK + at;
        for (int k = 0; k < p; k++)
            for (int i = 0; i < m; i++) lanes_store(rows + (size_t)(k * m + i) * STAIR_BLOCK, x[i * p + k]);
        lanes_store(weight + at, density);
    }
}

/* Two layers of rank one, two tokens, softmax, c > 0: S has rows (1 - o_1, o_1) and (o_2, 1 - o_2), so that
 * det B = (c + 1) (c + 1 - o_1 - o_2), and one division does for the softmax and the inverse. */
LANES_INLINE void map_pair(const stair_attention *a, const double *h, const bool brief, int n,
                           const double *u, double *z, double *weight)
{
    const double k = a->skip + 1, over = 1 / k;
    for (int at = 0; at < n; at += LANES) {
        lanes u0 = lanes_load(u + at), u1 = lanes_load(u + STAIR_BLOCK + at), gap = u0 - u1,
              low = lanes_set(lanes_tuning.saturated_pair);
        lanes first = lanes_min(u0 * gap, low),
              second = lanes_min(-u1 * gap, low); /* their exps squared stay finite */
        lanes one = 1.0 + (brief ? lanes_exp_short(first) : lanes_exp(first)),
              two = 1.0 + (brief ? lanes_exp_short(second) : lanes_exp(second));
        lanes both = one * two, rest = k * both - (one + two), inverse = lanes_reciprocal(both * rest),
              share = inverse * rest;
        lanes o1 = two * share, o2 = one * share, over_det = both * both * inverse * over;
        lanes_store(z + 2 * STAIR_BLOCK + at, ((k - o2) * h[0] - (a->literal ? o2 : o1) * h[1]) * over_det);
        lanes_store(z + 3 * STAIR_BLOCK + at, ((k - o1) * h[1] - (a->literal ? o1 : o2) * h[0]) * over_det);
        lanes_store(weight + at, over_det);
    }
}

static void map_at_once(const stair_attention *a, const int m, const int layers, const int p, const double *h,
                        const double *centre, lanes *scratch, int n, const double *u, double *z,
                        double *weight)
{
    if (a->mixed == STAIR_MIXED_BY_FLOW)
        map(a, STAIR_MIXED_BY_FLOW, m, layers, p, h, centre, scratch, n, u, z, weight);
    else if (m == 2 && p == 1 && !a->unseen) {
        lanes local[3 * 4]; /* kept in registers once unrolled */
        map(a, STAIR_MIXED_BY_COMMITTEE, 2, layers, 1, h, centre, local, n, u, z, weight);
    } else
        map(a, STAIR_MIXED_BY_COMMITTEE, m, layers, p, h, centre, scratch, n, u, z, weight);
}

void STAIR_HOT(stair_attention_map)(const stair_attention *a, const double *h, const double *centre,
                                    bool brief, double *scratch, int n, const double *u, double *z,
                                    double *weight)
{
    int m = a->tokens, layers = a->layers, p = a->rank[layers - 1];
    if (a->mixed != STAIR_MIXED_BY_LAYERS) {
        map_at_once(a, m, layers, p, h, centre, (lanes *)(void *)scratch, n, u, z, weight);
        return;
    }
    if (m == 2 && layers == 2 && p == 1 && a->rank[0] == 1 && !a->linear && !a->unseen && a->skip > 0) {
        if (brief)
            map_pair(a, h, true, n, u, z, weight);
        else
            map_pair(a, h, false, n, u, z, weight);
        return;
    }
    if (m <= 3 && m > 1 && layers <= 4 && p == 1 && !a->unseen) {
        lanes local[4 * 9 + 2 * 9 + 3]; /* kept in registers once unrolled */
        if (m == 2 && layers == 2)
            map(a, STAIR_MIXED_BY_LAYERS, 2, 2, 1, h, centre, local, n, u, z, weight);
        else if (m == 2 && layers == 3)
            map(a, STAIR_MIXED_BY_LAYERS, 2, 3, 1, h, centre, local, n, u, z, weight);
        else if (m == 2)
            map(a, STAIR_MIXED_BY_LAYERS, 2, layers, 1, h, centre, local, n, u, z, weight);
        else
            map(a, STAIR_MIXED_BY_LAYERS, 3, layers, 1, h, centre, local, n, u, z, weight);
        return;
    }
    if (m == 2 && layers == 2 && p == 2) {
        lanes local[3 * 4 + 4];
        map(a, STAIR_MIXED_BY_LAYERS, 2, 2, 2, h, centre, local, n, u, z, weight);
        return;
    }
    lanes *mixings = (lanes *)(void *)scratch;
    map(a, STAIR_MIXED_BY_LAYERS, m, layers, p, h, centre, mixings, n, u, z, weight);
}

void STAIR_HOT(stair_attention_tube)(const stair_attention *a, double scale, double *scratch, int n,
                                     const double *u, double *z, double *y, double *weight);

/* Hidden rows and h = scale times the last coordinates: y = S(h), Z_L = H^-1 h. */
void STAIR_HOT(stair_attention_tube)(const stair_attention *a, double scale, double *scratch, int n,
                                     const double *u, double *z, double *y, double *weight)
{
    int m = a->tokens, layers = a->layers, p = a->rank[layers - 1];
    size_t first = (size_t)(a->row[layers - 1] * m);
    lanes *mixings = (lanes *)(void *)scratch, *x = mixings + (layers + 1) * m * m, *s = x + m * p;
    for (int at = 0; at < n; at += LANES) {
        all_mixings(a, m, layers - 1, u + at, mixings);
        for (int i = 0; i < m * m; i++) s[i] = lanes_set(0);
        for (int k = 0; k < p; k++)
            for (int i = 0; i < m; i++)
                x[i * p + k] = scale * lanes_load(u + (first + (size_t)(k * m + i)) * STAIR_BLOCK + at);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                for (int k = 0; k < p; k++) s[i * m + j] += x[i * p + k] * x[j * p + k];
        if (!a->linear) softmax_rows(m, s);
        for (int i = 0; i < m * m; i++) lanes_store(y + (size_t)i * STAIR_BLOCK + at, s[i]);
        lanes inverse = lanes_set(1), density = lanes_set(1);
        for (int l = layers - 2; l >= 0; l--) inverse *= solve(m, p, mixings + l * m * m, x);
        inverse = lanes_min(lanes_abs(inverse), lanes_set(1 / lanes_tuning.tiny));
        for (int k = 0; k < p; k++) density *= inverse;
        for (int i = 0; i < m * p; i++) density *= scale;
        for (int k = 0; k < p; k++)
            for (int i = 0; i < m; i++)
                lanes_store(z + (first + (size_t)(k * m + i)) * STAIR_BLOCK + at,
                            lanes_min(lanes_max(x[i * p + k], lanes_set(-lanes_tuning.huge)),
                                      lanes_set(lanes_tuning.huge)));
        lanes_store(weight + at, density);
    }
}

void STAIR_HOT(stair_attention_unmix)(const stair_attention *a, int layers, double *scratch, int n,
                                      const double *u, double *mix, double *weight);

/* mix (M*M) = (B_layers ... B_1)^{-1}, weight = |det| of it */
LANES_INLINE void unmix(const stair_attention *a, const int m, const int layers, lanes *room, int n,
                        const double *u, double *mix, double *weight)
{
    for (int at = 0; at < n; at += LANES) {
        lanes *x = room + (layers + 2) * m * m, inverse = lanes_set(1);
        all_mixings(a, m, layers, u + at, room);
        for (int i = 0; i < m * m; i++) x[i] = lanes_set(i % (m + 1) == 0);
        for (int l = layers - 1; l >= 0; l--) inverse *= solve(m, m, room + l * m * m, x);
        for (int i = 0; i < m * m; i++) lanes_store(mix + (size_t)i * STAIR_BLOCK + at, x[i]);
        lanes_store(weight + at, lanes_min(lanes_abs(inverse), lanes_set(1 / lanes_tuning.tiny)));
    }
}

void STAIR_HOT(stair_attention_unmix)(const stair_attention *a, int layers, double *scratch, int n,
                                      const double *u, double *mix, double *weight)
{
    if (a->tokens == 2 && layers == 1) {
        lanes local[4 * 4]; /* kept in registers once unrolled */
        unmix(a, 2, 1, local, n, u, mix, weight);
    } else
        unmix(a, a->tokens, layers, (lanes *)(void *)scratch, n, u, mix, weight);
}
