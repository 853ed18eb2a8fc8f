/* The two passes over a block of nodes that everything else is built on, eight nodes at a time. */
#include "core/isa.h"
#include "core/lanes.h"
#include "channel/moments.h"

static const struct {
    double faint; /* nodes this far below the threshold of visibility are not worth adding */
} tuning = {.faint = 4};

double STAIR_HOT(stair_block_energies)(const stair_channel_shape *s, int n, const stair_nodes *nodes);
void STAIR_HOT(stair_block_add)(const stair_channel_shape *s, int n, const stair_nodes *nodes,
                                const double *bias, double top, const double *origin, double *accumulators);

#define ROW(array, k) ((array) + (size_t)(k)*STAIR_BLOCK + at)

LANES_INLINE lanes energies(const stair_channel_shape *s, const int rows, const int m, const int free_rows,
                            int at, const stair_nodes *nodes)
{
    lanes square = lanes_set(0), up = lanes_set(0), down = lanes_set(0);
    for (int p = 0; p < rows; p++)
        for (int t = 0; t < m; t++) {
            lanes a = lanes_set(-s->shift[p * m + t]), b = lanes_set(0);
            for (int q = 0; q <= p; q++) {
                if (q < free_rows)
                    a += s->whiten[p * rows + q] * lanes_load(ROW(nodes->u, q * m + t));
                else
                    b += s->whiten[p * rows + q] * lanes_load(ROW(nodes->z, q * m + t));
            }
            lanes_store(ROW(nodes->a, p * m + t), a);
            if (p < free_rows) {
                square += a * a;
                continue;
            }
            up += (a + b) * (a + b); /* not a^2 + b^2 + 2ab: a and b may be 1e5 times their sum */
            down += (a - b) * (a - b);
            lanes_store(ROW(nodes->b, p * m + t), b);
        }
    for (int k = 0; k < s->residuals; k++) {
        lanes r = lanes_load(ROW(nodes->z, rows * m + k));
        square += r * r;
    }
    lanes plus = -0.5 * (square + up), minus = -0.5 * (square + down);
    lanes_store(nodes->plus + at, plus);
    lanes_store(nodes->minus + at, minus);
    return s->mirrored ? lanes_max(plus, minus) : plus;
}

double STAIR_HOT(stair_block_energies)(const stair_channel_shape *s, int n, const stair_nodes *nodes)
{
    lanes most = lanes_set(-1e308);
    for (int at = 0; at < n; at += LANES) {
        lanes high;
        if (s->rows == 2 && s->tokens == 2 && s->free_rows == 1)
            high = energies(s, 2, 2, 1, at, nodes);
        else if (s->rows == 3 && s->tokens == 2 && s->free_rows == 2)
            high = energies(s, 3, 2, 2, at, nodes);
        else
            high = energies(s, s->rows, s->tokens, s->free_rows, at, nodes);
        if (n - at < LANES) high = lanes_first(n - at, high, lanes_set(-1e308));
        most = lanes_max(most, high);
    }
    return lanes_top(most);
}

/* acc: mass, x (size), x x^T (size (size+1)/2), as lanes.  Free rows are the same in x and its
 * mirror, so their moments need the summed weight only. */
LANES_INLINE void add(const stair_channel_shape *s, const int rows, const int m, const int free_rows, int at,
                      int n, const stair_nodes *nodes, const double *bias, double top, const double *origin,
                      lanes *acc, lanes *up, lanes *down, lanes *up_w, lanes *down_w)
{
    const int size = rows * m, free_size = free_rows * m;
    lanes shift = (bias ? lanes_load(bias + at) : lanes_set(0)) - top,
          weight = lanes_load(nodes->weight + at);
    if (n - at < LANES) weight = lanes_first(n - at, weight, lanes_set(0));
    lanes w_up = weight * lanes_exp(lanes_load(nodes->plus + at) + shift), w_down = lanes_set(0);
    if (s->mirrored) w_down = weight * lanes_exp(lanes_load(nodes->minus + at) + shift);
    lanes both = w_up + w_down;
    acc[0] += both;
    for (int i = 0; i < size; i++) {
        lanes a = lanes_load(ROW(nodes->a, i)) - origin[i];
        if (i < free_size) {
            up[i] = down[i] = a;
            up_w[i] = both * a;
        } else {
            lanes b = lanes_load(ROW(nodes->b, i));
            up[i] = a + b;
            down[i] = a - b;
            down_w[i] = w_down * down[i];
            up_w[i] = w_up * up[i];
        }
    }
    for (int i = 0, k = 1 + size; i < size; i++) {
        lanes total = i < free_size ? up_w[i] : up_w[i] + down_w[i];
        acc[1 + i] += total;
        for (int j = 0; j <= i; j++, k++)
            acc[k] += j < free_size ? total * up[j] : up_w[i] * up[j] + down_w[i] * down[j];
    }
}

void STAIR_HOT(stair_block_add)(const stair_channel_shape *s, int n, const stair_nodes *nodes,
                                const double *bias, double top, const double *origin, double *accumulators)
{
    lanes *acc = (lanes *)(void *)accumulators;
    if (s->rows == 2 && s->tokens == 2 && s->free_rows == 1) {
        lanes local[15], up[4], down[4], up_w[4], down_w[4];
        for (int k = 0; k < 15; k++) local[k] = acc[k];
        for (int at = 0; at < n; at += LANES)
            add(s, 2, 2, 1, at, n, nodes, bias, top, origin, local, up, down, up_w, down_w);
        for (int k = 0; k < 15; k++) acc[k] = local[k];
        return;
    }
    int size = s->rows * s->tokens, count = 1 + size + size * (size + 1) / 2;
    lanes *up = acc + count, *down = up + size, *up_w = down + size, *down_w = up_w + size;
    for (int at = 0; at < n; at += LANES) {
        if (s->rows == 3 && s->tokens == 2 && s->free_rows == 2)
            add(s, 3, 2, 2, at, n, nodes, bias, top, origin, acc, up, down, up_w, down_w);
        else
            add(s, s->rows, s->tokens, s->free_rows, at, n, nodes, bias, top, origin, acc, up, down, up_w,
                down_w);
    }
}

void STAIR_HOT(stair_block_mass)(int n, const double *plus, const double *minus, double top,
                                 const double *weight, double *mass);

void STAIR_HOT(stair_block_mass)(int n, const double *plus, const double *minus, double top,
                                 const double *weight, double *mass)
{
    for (int at = 0; at < n; at += LANES) {
        lanes sum = lanes_exp(lanes_load(plus + at) - top);
        if (minus) sum += lanes_exp(lanes_load(minus + at) - top);
        lanes_store(mass + at, sum * lanes_load(weight + at));
    }
}

int STAIR_HOT(stair_block_accumulate)(const stair_channel_shape *s, int n, const stair_nodes *nodes,
                                      double top, double threshold, const double *origin,
                                      double *accumulators);

/* Energies and sums in one pass, nothing stored in between: for sizes that fit the registers. */
LANES_INLINE int accumulate(const stair_channel_shape *s, const int rows, const int m, const int free_rows,
                            int n, const stair_nodes *nodes, double top, double threshold,
                            const double *origin, lanes *acc)
{
    const int size = rows * m, free_size = free_rows * m;
    int last = -1;
    for (int at = 0; at < n; at += LANES) {
        lanes x[6], y[6], square = lanes_set(0), up = lanes_set(0), down = lanes_set(0);
        for (int p = 0; p < rows; p++)
            for (int t = 0; t < m; t++) {
                lanes a = lanes_set(-s->shift[p * m + t]), b = lanes_set(0);
                for (int q = 0; q <= p; q++) {
                    if (q < free_rows)
                        a += s->whiten[p * rows + q] * lanes_load(ROW(nodes->u, q * m + t));
                    else
                        b += s->whiten[p * rows + q] * lanes_load(ROW(nodes->z, q * m + t));
                }
                x[p * m + t] = a + b;
                y[p * m + t] = a - b;
                if (p < free_rows)
                    square += a * a;
                else {
                    up += x[p * m + t] * x[p * m + t];
                    down += y[p * m + t] * y[p * m + t];
                }
            }
        lanes plus = -0.5 * (square + up), minus = -0.5 * (square + down),
              weight = lanes_load(nodes->weight + at);
        if (n - at < LANES) {
            weight = lanes_first(n - at, weight, lanes_set(0));
            plus = lanes_first(n - at, plus, lanes_set(-1e300));
            minus = lanes_first(n - at, minus, lanes_set(-1e300));
        }
        lanes high = s->mirrored ? lanes_max(plus, minus) : plus;
        if (lanes_any(high > threshold)) last = at + LANES - 1 < n ? at + LANES - 1 : n - 1;
        int up_counts = lanes_any(plus > threshold - tuning.faint),
            down_counts = s->mirrored && lanes_any(minus > threshold - tuning.faint);
        if (!up_counts && !down_counts) continue;
        if (!up_counts || !down_counts) {
            lanes w = weight * lanes_exp((up_counts ? plus : minus) - top), weighted[6];
            acc[0] += w;
            for (int i = 0; i < size; i++) {
                x[i] = (up_counts ? x[i] : y[i]) - origin[i];
                weighted[i] = w * x[i];
            }
            for (int i = 0, k = 1 + size; i < size; i++) {
                acc[1 + i] += weighted[i];
                for (int j = 0; j <= i; j++, k++) acc[k] += weighted[i] * x[j];
            }
            continue;
        }
        /* even and odd in the mirror: sums of t and v stand for those of both signs */
        lanes w_up = weight * lanes_exp(plus - top), w_down = weight * lanes_exp(minus - top),
              both = w_up + w_down, gap = w_up - w_down;
        lanes t[6], v[6], half[6];
        acc[0] += both;
        for (int i = 0; i < size; i++) {
            if (i < free_size) {
                x[i] -= origin[i];
                t[i] = both * x[i];
                continue;
            }
            half[i] = 0.5 * (x[i] - y[i]);
            x[i] = 0.5 * (x[i] + y[i]) - origin[i];
            t[i] = both * x[i] + gap * half[i];
            v[i] = both * half[i] + gap * x[i];
        }
        for (int i = 0, k = 1 + size; i < size; i++) {
            acc[1 + i] += t[i];
            for (int j = 0; j <= i; j++, k++)
                acc[k] += j < free_size ? t[i] * x[j] : t[i] * x[j] + v[i] * half[j];
        }
    }
    return last;
}

/* Index of the last node above the threshold (in groups of lanes), -1 if none; -2 when the size has no
 * fused pass and nothing was done. */
int STAIR_HOT(stair_block_accumulate)(const stair_channel_shape *s, int n, const stair_nodes *nodes,
                                      double top, double threshold, const double *origin,
                                      double *accumulators)
{
    lanes *acc = (lanes *)(void *)accumulators;
    if (s->residuals || s->tokens != 2 || s->rows - s->free_rows != 1 || s->rows > 3 || s->rows < 2)
        return -2;
    lanes local[28];
    int count = s->rows == 2 ? 15 : 28, last;
    for (int k = 0; k < count; k++) local[k] = acc[k];
    if (s->rows == 2)
        last = accumulate(s, 2, 2, 1, n, nodes, top, threshold, origin, local);
    else
        last = accumulate(s, 3, 2, 2, n, nodes, top, threshold, origin, local);
    for (int k = 0; k < count; k++) acc[k] = local[k];
    return last;
}

void STAIR_HOT(stair_block_shift)(int n, const double *u, double by, double *at);

void STAIR_HOT(stair_block_shift)(int n, const double *u, double by, double *at)
{
    for (int i = 0; i < n; i += LANES) lanes_store(at + i, lanes_load(u + i) + by);
}
