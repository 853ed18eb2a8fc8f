/* Deep attention and its gradient on a group of eight samples, as many at a time as there are lanes.
 *
 *   h_l = H_{l-1} Z_l^T,  S_l = rowsoftmax(h_l h_l^T),  H_l = B_l H_{l-1},  B_l = c 1 + S_l
 *
 * and backwards, a bar marking the gradient of the loss |S_L - y|^2:
 *
 *   Sbar_L = 2 (S_L - y);  below:  Bbar_l = Hbar_l H_{l-1}^T  (Sbar_l = Bbar_l, transposed when literal)
 *   Abar   = S (Sbar - rowsum(S Sbar)),    hbar_l = (Abar + Abar^T) h_l
 *   Zbar_l = hbar_l^T H_{l-1},             Hbar_{l-1} = hbar_l Z_l + B_l^T Hbar_l
 *
 * A sequence y = S_L H_{L-1} is one more H_l, of a layer without skip: ybar is Hbar_L.
 * With queries of their own S_l is of q_l k_l^T: qbar = Abar k, kbar = Abar^T q.  Given a cotangent, the
 * gradient is that of sum_k cotangent_k y_k in place of the loss.  The only backward pass of attention: the
 * gradient of one sample is the first lane of a group.
 */
#include "core/isa.h"
#include "core/lanes.h"
#include "model/softmax_lanes.h"
#include "model/attention.h"

void STAIR_HOT(stair_attention_batch)(const stair_attention *a, const double *z, const double *target,
                                      const double *weight, const double *cotangent, double *scratch,
                                      double *y, double *loss, double *grad_z);

/* The tape of one layer; all arrays (rows, columns) of lanes. */
typedef struct {
    lanes *mixed; /* (M, M): H_{l-1} */
    lanes *s;     /* (M, M): S_l */
    lanes *h;     /* (M, P_l); where untied, of the keys, */
    lanes *query; /* and (M, P_l) of the queries; tied: h */
} tape;

LANES_INLINE tape tape_of(const stair_attention *a, int layer, lanes *scratch)
{
    int m = a->tokens;
    lanes *at = scratch + (2 * m * m) * layer + (a->queries ? 2 : 1) * m * a->row[layer];
    lanes *h = at + 2 * m * m;
    return (tape){at, at + m * m, h, a->queries ? h + m * a->rank[layer] : h};
}

LANES_INLINE lanes zed(const double *z, const stair_attention *a, int row, int token)
{
    return lanes_load(z + (row * a->tokens + token) * STAIR_GROUP);
}

/* h (M, rank) = H_{l-1} times `rank` rows of Z, from `row` on */
LANES_INLINE void layer_input(const stair_attention *a, int rank, int row, const double *z,
                              const lanes *mixed, lanes *h)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            lanes sum = {0};
            for (int j = 0; j < m; j++) sum += mixed[i * m + j] * zed(z, a, row + k, j);
            h[i * rank + k] = sum;
        }
}

LANES_INLINE void forward_layer(const stair_attention *a, int l, const double *z, tape t)
{
    int m = a->tokens, rank = a->rank[l];
    layer_input(a, rank, a->row[l], z, t.mixed, t.h);
    if (a->queries) layer_input(a, rank, a->row[l] + a->queries, z, t.mixed, t.query);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            lanes sum = {0};
            for (int k = 0; k < rank; k++) sum += t.query[i * rank + k] * t.h[j * rank + k];
            t.s[i * m + j] = sum;
        }
        if (!a->linear) softmax_row(m, t.s + i * m);
    }
}

/* element (i, j) of B_l = c 1 + S_l, or c 1 + S_l^T; c = 0 for the last layer, where the label is a sequence
 */
LANES_INLINE lanes mixing(const stair_attention *a, double skip, tape t, int i, int j)
{
    int m = a->tokens;
    lanes s = a->literal ? t.s[j * m + i] : t.s[i * m + j];
    return i == j ? s + skip : s;
}

LANES_INLINE void mix(const stair_attention *a, double skip, tape t, lanes *next)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            lanes sum = {0};
            for (int k = 0; k < m; k++) sum += mixing(a, skip, t, i, k) * t.mixed[k * m + j];
            next[i * m + j] = sum;
        }
}

/* grad_s (M, M): on S in, on A = h h^T out */
LANES_INLINE void through_softmax(int m, const lanes *s, lanes *grad_s)
{
    for (int i = 0; i < m; i++) {
        lanes dot = {0};
        for (int j = 0; j < m; j++) dot += grad_s[i * m + j] * s[i * m + j];
        for (int j = 0; j < m; j++) grad_s[i * m + j] = s[i * m + j] * (grad_s[i * m + j] - dot);
    }
}

/* grad_h (M, rank) */
LANES_INLINE void through_scores(int m, int rank, const lanes *h, const lanes *grad_a, lanes *grad_h)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            lanes sum = {0};
            for (int j = 0; j < m; j++) sum += (grad_a[i * m + j] + grad_a[j * m + i]) * h[j * rank + k];
            grad_h[i * rank + k] = sum;
        }
}

/* The same of A = q k^T: grad_q = grad_a k; and, with grad_a transposed, grad_k of q. */
LANES_INLINE void through_side(int m, int rank, const lanes *other, bool transposed, const lanes *grad_a,
                               lanes *grad_h)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            lanes sum = {0};
            for (int j = 0; j < m; j++)
                sum += grad_a[transposed ? j * m + i : i * m + j] * other[j * rank + k];
            grad_h[i * rank + k] = sum;
        }
}

/* grad_s = grad_mixed H_{l-1}^T and next = B_l^T grad_mixed, for the gradient grad_mixed on H_l */
LANES_INLINE void through_mixing(const stair_attention *a, double skip, tape t, const lanes *grad_mixed,
                                 lanes *grad_s, lanes *next)
{
    int m = a->tokens;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            lanes on_b = {0}, on_mixed = {0};
            for (int k = 0; k < m; k++) {
                on_b += grad_mixed[i * m + k] * t.mixed[j * m + k];
                on_mixed += mixing(a, skip, t, k, i) * grad_mixed[k * m + j];
            }
            grad_s[a->literal ? j * m + i : i * m + j] = on_b;
            next[i * m + j] = on_mixed;
        }
}

/* grad_z of `rank` rows from `row` on, and next (M, M) += hbar times these rows */
LANES_INLINE void through_input(const stair_attention *a, int rank, int row, const double *z, tape t,
                                const lanes *grad_h, lanes *next, double *grad_z)
{
    int m = a->tokens;
    for (int k = 0; k < rank; k++)
        for (int j = 0; j < m; j++) {
            lanes sum = {0}, value = zed(z, a, row + k, j);
            for (int i = 0; i < m; i++) {
                sum += t.mixed[i * m + j] * grad_h[i * rank + k];
                next[i * m + j] += grad_h[i * rank + k] * value;
            }
            lanes_store(grad_z + ((row + k) * m + j) * STAIR_GROUP, sum);
        }
}

/* mixed (M, M) of layer l, where layers are mixed at once: the last by the committee, 1 + share sum S, or by
 * the flow, the others not at all */
LANES_INLINE void mix_at_once(const stair_attention *a, int l, lanes *scratch, lanes *mixed)
{
    int m = a->tokens, last = a->layers - 1;
    bool flow = a->mixed == STAIR_MIXED_BY_FLOW;
    for (int i = 0; i < m * m; i++)
        mixed[i] = lanes_set((i % (m + 1) == 0 ? (flow ? a->flow[0] : 1) : 0) + (flow ? a->flow[1] : 0));
    for (int k = 0; k < last && l == last; k++)
        for (int i = 0; i < m * m; i++) mixed[i] += a->share * tape_of(a, k, scratch).s[i];
}

/* The same backwards, for hidden layers under a committee. */
LANES_INLINE void backward_at_once(const stair_attention *a, const double *z, lanes *scratch, lanes *work,
                                   double *grad_z)
{
    int m = a->tokens, last = a->layers - 1;
    lanes *grad_s = work, *on_last = work + m * m, *unused = work + 2 * m * m, *grad_h = work + 3 * m * m;
    for (int l = last; l >= 0; l--) {
        tape t = tape_of(a, l, scratch);
        for (int i = 0; i < m * m && l < last; i++) grad_s[i] = a->share * on_last[i];
        memset(l < last ? unused : on_last, 0, sizeof(lanes) * (size_t)(m * m));
        if (!a->linear) through_softmax(m, t.s, grad_s);
        through_scores(m, a->rank[l], t.h, grad_s, grad_h);
        through_input(a, a->rank[l], a->row[l], z, t, grad_h, l < last ? unused : on_last, grad_z);
    }
}

LANES_INLINE void backward(const stair_attention *a, const double *z, lanes *scratch, lanes *work,
                           double *grad_z)
{
    int m = a->tokens, last = a->layers - 1;
    if (a->mixed != STAIR_MIXED_BY_LAYERS) {
        backward_at_once(a, z, scratch, work, grad_z);
        return;
    }
    lanes *grad_s = work, *grad_mixed = work + m * m, *next = work + 2 * m * m, *grad_h = work + 3 * m * m;
    for (int l = last; l >= 0; l--) {
        tape t = tape_of(a, l, scratch);
        if (l < last || a->sequence)
            through_mixing(a, l < last ? a->skip : 0, t, grad_mixed, grad_s, next);
        else
            memset(next, 0, sizeof(lanes) * (size_t)(m * m));
        if (!a->linear) through_softmax(m, t.s, grad_s);
        if (a->queries) {
            through_side(m, a->rank[l], t.h, false, grad_s, grad_h);
            through_input(a, a->rank[l], a->row[l] + a->queries, z, t, grad_h, next, grad_z);
            through_side(m, a->rank[l], t.query, true, grad_s, grad_h);
        } else
            through_scores(m, a->rank[l], t.h, grad_s, grad_h);
        through_input(a, a->rank[l], a->row[l], z, t, grad_h, next, grad_z);
        lanes *swap = grad_mixed;
        grad_mixed = next;
        next = swap;
    }
}

/* one vector of samples; arrays are those of the group, from its first sample on */
LANES_INLINE void batch(const stair_attention *a, const double *z, const double *target, const double *weight,
                        const double *cotangent, double *scratch, double *y, double *loss, double *grad_z)
{
    int m = a->tokens, last = a->layers - 1;
    lanes *memory = (lanes *)scratch, *work = memory + (2 * m * m) * a->layers +
                                              (a->queries ? 2 : 1) * m * (a->row[last] + a->rank[last]);
    lanes *first = tape_of(a, 0, memory).mixed;
    for (int i = 0; i < m * m; i++) first[i] = lanes_set(i % (m + 1) == 0);
    for (int l = 0; l <= last; l++) {
        tape t = tape_of(a, l, memory);
        if (a->mixed != STAIR_MIXED_BY_LAYERS) mix_at_once(a, l, memory, t.mixed);
        forward_layer(a, l, z, t);
        if (l < last && a->mixed == STAIR_MIXED_BY_LAYERS)
            mix(a, a->skip, t, tape_of(a, l + 1, memory).mixed);
    }
    tape top = tape_of(a, last, memory);
    lanes *out = top.s, *grad_out = work; /* on S_L; of a sequence on S_L H_{L-1}, as on any H_l */
    if (a->sequence) {
        grad_out = work + m * m;
        out = work + 2 * m * m;
        mix(a, 0, top, out);
    }
    for (int k = 0; k < m * m; k++) lanes_store(y + k * STAIR_GROUP, out[k]);
    if (cotangent) {
        for (int k = 0; k < m * m; k++) grad_out[k] = lanes_load(cotangent + k * STAIR_GROUP);
        backward(a, z, memory, work, grad_z);
        return;
    }
    if (!target) return;
    lanes sum = {0}, w = lanes_load(weight);
    for (int k = 0; k < m * m; k++) {
        lanes residual = out[k] - lanes_load(target + k * STAIR_GROUP);
        sum += residual * residual;
        grad_out[k] = 2.0 * w * residual;
    }
    lanes_store(loss, w * sum);
    if (grad_z) backward(a, z, memory, work, grad_z);
}

void STAIR_HOT(stair_attention_batch)(const stair_attention *a, const double *z, const double *target,
                                      const double *weight, const double *cotangent, double *scratch,
                                      double *y, double *loss, double *grad_z)
{
    for (int at = 0; at < STAIR_GROUP; at += LANES) {
        if (cotangent)
            batch(a, z + at, NULL, NULL, cotangent + at, scratch, y + at, NULL, grad_z + at);
        else if (!target)
            batch(a, z + at, NULL, NULL, NULL, scratch, y + at, NULL, NULL);
        else
            batch(a, z + at, target + at, weight + at, NULL, scratch, y + at, loss + at,
                  grad_z ? grad_z + at : NULL);
    }
}
