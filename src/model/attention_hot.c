/* Z_L and the density of the fibre of deep attention at a block of nodes, eight nodes at a time.
 *
 *   x = B_1^{-1} ... B_{L-1}^{-1} h R,   weight = prod_l |det B_l|^{-P_L} * Haar density of R
 *
 * with B_l = c 1 + S_l.  h: (M, P_L) up to rotation; R = centre * a product of rotations in planes.
 * M = 2, 3 are unrolled with closed inverses; larger M is solved a node at a time. */
#include <math.h>
#include <stdbool.h>

#include "core/isa.h"
#include "core/lanes.h"
#include "core/matrix.h"
#include "model/attention.h"

static const struct {
    double tiny;      /* |det| below this stands for a singular mixing, where the density vanishes, */
    double huge;      /* and |Z| above this for infinity, so that no product overflows */
    double saturated; /* logit beyond which a softmax of two is zero enough, its square being finite: of two
                         rows at once, */
    double saturated_pair; /* and where their exps are squared too */
} tuning = {.tiny = 1e-60, .huge = 1e60, .saturated = 300, .saturated_pair = 150};

void STAIR_HOT(stair_attention_map)(const stair_attention *a, const double *h, const double *centre,
                                    bool brief, double *scratch, int n, const double *u, double *z,
                                    double *weight);

/* s (M, M) <- rows of softmax(j) */
LANES_INLINE void softmax_rows(const int m, lanes *s)
{
    if (m == 2) {
        /* one division for both rows; 300 keeps their product finite, and exp(-300) is zero enough */
        lanes low = lanes_set(tuning.saturated), one = 1.0 + lanes_exp(lanes_min(s[0] - s[1], low));
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

/* b (M, M) = c 1 + S_l or c 1 + S_l^T; mixed = H_{l-1}, NULL for the identity */
LANES_INLINE void mixing(const stair_attention *a, const int m, const int layer, const double *u,
                         const lanes *mixed, lanes *b)
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

LANES_INLINE lanes away_from_zero(lanes x)
{
    return lanes_pick(lanes_abs(x) > tuning.tiny, x, lanes_set(tuning.tiny));
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
        double matrix[STAIR_ATTENTION_SQUARE], right[STAIR_MAX_TOKENS * STAIR_MAX_INDICES], size;
        for (int i = 0; i < m * m; i++) matrix[i] = b[i][lane];
        for (int i = 0; i < m * p; i++) right[i] = x[i][lane];
        if (!stair_matrix_solve(m, matrix, p, right, &size)) size = tuning.tiny;
        for (int i = 0; i < m * p; i++) x[i][lane] = size > tuning.tiny ? right[i] : right[i] / tuning.tiny;
        inverse[lane] = size > tuning.tiny ? 1 / size : 1 / tuning.tiny;
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
            x[i] = lanes_min(lanes_max(x[i], lanes_set(-tuning.huge)), lanes_set(tuning.huge));
        inverse = lanes_min(lanes_abs(inverse), lanes_set(1 / tuning.tiny));
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
              low = lanes_set(tuning.saturated_pair);
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
        inverse = lanes_min(lanes_abs(inverse), lanes_set(1 / tuning.tiny));
        for (int k = 0; k < p; k++) density *= inverse;
        for (int i = 0; i < m * p; i++) density *= scale;
        for (int k = 0; k < p; k++)
            for (int i = 0; i < m; i++)
                lanes_store(
                    z + (first + (size_t)(k * m + i)) * STAIR_BLOCK + at,
                    lanes_min(lanes_max(x[i * p + k], lanes_set(-tuning.huge)), lanes_set(tuning.huge)));
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
        lanes_store(weight + at, lanes_min(lanes_abs(inverse), lanes_set(1 / tuning.tiny)));
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
