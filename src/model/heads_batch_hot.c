/* Attention with heads (heads.c) and its gradient on a group of eight samples, as many at a time as there are
 * lanes.  Backwards, a bar marking the gradient of what is asked for:
 *
 *   Vbar_h = ybar H_L^h,  Hbar_L^h = ybar^T V_h;   below, with B = c 1[l < L] + S_l^h:
 *   Sbar   = Hbar_l^h (H_{l-1}^h)^T  (transposed when literal),   Hbar_{l-1}^h += B^T Hbar_l^h
 *   Abar   = S (Sbar - rowsum(S Sbar)),   qbar = Abar k,   kbar = Abar^T q
 *   Qbar^{hh'} = H^-1/2 qbar^T H_{l-1}^{h'},   Hbar_{l-1}^{h'} += H^-1/2 qbar Q^{hh'},   and so for keys.
 *
 * Tied rows are keys and queries at once and get both. */
#include <string.h>

#include "core/isa.h"
#include "core/lanes.h"
#include "model/softmax_lanes.h"
#include "model/heads.h"

void STAIR_HOT(stair_heads_batch)(const stair_heads *a, const double *z, const double *target,
                                  const double *weight, const double *cotangent, double *scratch, double *y,
                                  double *loss, double *grad_z);

void STAIR_HOT(stair_heads_mix)(const stair_heads *a, const double *z, double *scratch, double *c);

/* Room for one vector of samples; all arrays (rows, columns) of lanes. */
typedef struct {
    lanes *mixed;           /* (layers + 1, H, M, M): H_l^h */
    lanes *s;               /* (layers, H, M, M): S_l^h */
    lanes *q, *k;           /* queries and keys, (H, M, P_l) of every layer after each other */
    lanes *bar, *next;      /* (H, M, M): gradient on H_l, and on H_{l-1} */
    lanes *grad_s;          /* (M, M) */
    lanes *grad_q, *grad_k; /* (M, P_l) */
    lanes *grad_y;          /* (R, M) */
} room;

/* Ranks of the layers before `layer`, added up. */
LANES_INLINE int ranks_before(const stair_heads *a, int layer)
{
    int sum = 0;
    for (int l = 0; l < layer; l++) sum += a->shape.rank[l];
    return sum;
}

LANES_INLINE room room_in(const stair_heads *a, lanes *at)
{
    int m = a->shape.tokens, layers = a->shape.layers, matrices = a->heads * m * m;
    int ranks = ranks_before(a, layers);
    room r = {.mixed = at};
    r.s = r.mixed + (layers + 1) * matrices;
    r.q = r.s + layers * matrices;
    r.k = r.q + a->heads * m * ranks;
    r.bar = r.k + a->heads * m * ranks;
    r.next = r.bar + matrices;
    r.grad_s = r.next + matrices;
    r.grad_q = r.grad_s + m * m;
    r.grad_k = r.grad_q + m * ranks;
    r.grad_y = r.grad_k + m * ranks;
    return r;
}

LANES_INLINE lanes zed(const double *z, int m, int row, int token)
{
    return lanes_load(z + (row * m + token) * STAIR_GROUP);
}

/* What one head of one layer reads and keeps. */
typedef struct {
    int layer, head;
    const lanes *mixed; /* (H, M, M): H_{l-1} */
    lanes *s, *q, *k;
} place;

LANES_INLINE place place_of(const stair_heads *a, const room *r, int layer, int head)
{
    int m = a->shape.tokens, before = a->heads * m * ranks_before(a, layer) + head * m * a->shape.rank[layer];
    return (place){layer,
                   head,
                   r->mixed + layer * a->heads * m * m,
                   r->s + (layer * a->heads + head) * m * m,
                   r->q + before,
                   r->k + before};
}

/* out (M, P_l): queries or keys of a head */
LANES_INLINE void project(const stair_heads *a, const place *p, int first, const double *z, lanes *out)
{
    int m = a->shape.tokens, rank = a->shape.rank[p->layer];
    for (int i = 0; i < m * rank; i++) out[i] = lanes_set(0);
    for (int block = 0; block < a->heads; block++)
        for (int k = 0; k < rank; k++) {
            int row = stair_heads_row(a, first, p->layer, p->head, block, k);
            for (int i = 0; i < m; i++) {
                lanes sum = {0};
                for (int j = 0; j < m; j++) sum += p->mixed[(block * m + i) * m + j] * zed(z, m, row, j);
                out[i * rank + k] += a->scale * sum;
            }
        }
}

LANES_INLINE void scores(const stair_heads *a, const place *p, const double *z)
{
    int m = a->shape.tokens, rank = a->shape.rank[p->layer];
    project(a, p, a->query[p->layer], z, p->q);
    project(a, p, a->key[p->layer], z, p->k);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            lanes sum = {0};
            for (int k = 0; k < rank; k++) sum += p->q[i * rank + k] * p->k[j * rank + k];
            p->s[i * m + j] = sum;
        }
        if (!a->shape.linear) softmax_row(m, p->s + i * m);
    }
}

/* element (i, j) of B = c 1[l < L] + S, or with S^T */
LANES_INLINE lanes mixing(const stair_heads *a, const place *p, int i, int j)
{
    int m = a->shape.tokens;
    lanes s = a->shape.literal ? p->s[j * m + i] : p->s[i * m + j];
    return i == j && p->layer + 1 < a->shape.layers ? s + a->shape.skip : s;
}

LANES_INLINE void mix(const stair_heads *a, const place *p, lanes *next)
{
    int m = a->shape.tokens;
    const lanes *mixed = p->mixed + p->head * m * m;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            lanes sum = {0};
            for (int k = 0; k < m; k++) sum += mixing(a, p, i, k) * mixed[k * m + j];
            next[i * m + j] = sum;
        }
}

LANES_INLINE void mix_all(const stair_heads *a, const double *z, const room *r)
{
    int m = a->shape.tokens, heads = a->heads, square = m * m, layers = a->shape.layers;
    for (int i = 0; i < heads * square; i++) r->mixed[i] = lanes_set(i % square % (m + 1) == 0);
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            place p = place_of(a, r, l, h);
            scores(a, &p, z);
            mix(a, &p, r->mixed + ((l + 1) * heads + h) * square);
        }
}

LANES_INLINE void forward(const stair_heads *a, const double *z, const room *r, double *y)
{
    int m = a->shape.tokens, heads = a->heads;
    const lanes *top = r->mixed + a->shape.layers * heads * m * m;
    mix_all(a, z, r);
    for (int o = 0; o < a->outputs; o++)
        for (int i = 0; i < m; i++) {
            lanes sum = {0};
            for (int h = 0; h < heads; h++)
                for (int j = 0; j < m; j++)
                    sum += top[(h * m + i) * m + j] * zed(z, m, a->value + h * a->outputs + o, j);
            lanes_store(y + (o * m + i) * STAIR_GROUP, sum);
        }
}

/* grad_z of the readout, and bar on H_L, from grad_y */
LANES_INLINE void through_readout(const stair_heads *a, const double *z, const room *r, double *grad_z)
{
    int m = a->shape.tokens, square = m * m;
    const lanes *top = r->mixed + a->shape.layers * a->heads * square;
    memset(r->bar, 0, sizeof(lanes) * (size_t)(a->heads * square));
    for (int h = 0; h < a->heads; h++)
        for (int o = 0; o < a->outputs; o++)
            for (int j = 0; j < m; j++) {
                int row = a->value + h * a->outputs + o;
                lanes sum = {0}, value = zed(z, m, row, j);
                for (int i = 0; i < m; i++) {
                    sum += r->grad_y[o * m + i] * top[(h * m + i) * m + j];
                    r->bar[(h * m + i) * m + j] += r->grad_y[o * m + i] * value;
                }
                lanes_store(grad_z + (row * m + j) * STAIR_GROUP, sum);
            }
}

/* grad_s, and next += B^T bar, of one head */
LANES_INLINE void through_mixing(const stair_heads *a, const place *p, const room *r)
{
    int m = a->shape.tokens;
    const lanes *bar = r->bar + p->head * m * m, *mixed = p->mixed + p->head * m * m;
    lanes *next = r->next + p->head * m * m;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            lanes on_s = {0}, on_mixed = {0};
            for (int k = 0; k < m; k++) {
                on_s += bar[i * m + k] * mixed[j * m + k];
                on_mixed += mixing(a, p, k, i) * bar[k * m + j];
            }
            r->grad_s[a->shape.literal ? j * m + i : i * m + j] = on_s;
            next[i * m + j] += on_mixed;
        }
}

/* grad_s: on S in, on the scores before the softmax out */
LANES_INLINE void through_softmax(int m, const lanes *s, lanes *grad_s)
{
    for (int i = 0; i < m; i++) {
        lanes dot = {0};
        for (int j = 0; j < m; j++) dot += grad_s[i * m + j] * s[i * m + j];
        for (int j = 0; j < m; j++) grad_s[i * m + j] = s[i * m + j] * (grad_s[i * m + j] - dot);
    }
}

/* grad_q and grad_k from the gradient on their products */
LANES_INLINE void through_products(const stair_heads *a, const place *p, const room *r)
{
    int m = a->shape.tokens, rank = a->shape.rank[p->layer];
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            lanes on_q = {0}, on_k = {0};
            for (int j = 0; j < m; j++) {
                on_q += r->grad_s[i * m + j] * p->k[j * rank + k];
                on_k += r->grad_s[j * m + i] * p->q[j * rank + k];
            }
            r->grad_q[i * rank + k] = on_q;
            r->grad_k[i * rank + k] = on_k;
        }
}

/* Adds to grad_z of the rows from `first` on, and to next, from grad (M, P_l) on queries or keys. */
LANES_INLINE void through_input(const stair_heads *a, const place *p, int first, const double *z,
                                const lanes *grad, lanes *next, double *grad_z)
{
    int m = a->shape.tokens, rank = a->shape.rank[p->layer];
    for (int block = 0; block < a->heads; block++)
        for (int k = 0; k < rank; k++)
            for (int j = 0; j < m; j++) {
                int row = stair_heads_row(a, first, p->layer, p->head, block, k);
                double *to = grad_z + (row * m + j) * STAIR_GROUP;
                lanes sum = {0}, value = zed(z, m, row, j);
                for (int i = 0; i < m; i++) {
                    sum += p->mixed[(block * m + i) * m + j] * grad[i * rank + k];
                    next[(block * m + i) * m + j] += a->scale * grad[i * rank + k] * value;
                }
                lanes_store(to, lanes_load(to) + a->scale * sum);
            }
}

LANES_INLINE void backward(const stair_heads *a, const double *z, room *r, double *grad_z)
{
    int m = a->shape.tokens;
    for (int i = 0; i < a->value * m; i++) lanes_store(grad_z + i * STAIR_GROUP, lanes_set(0));
    through_readout(a, z, r, grad_z);
    for (int l = a->shape.layers - 1; l >= 0; l--) {
        memset(r->next, 0, sizeof(lanes) * (size_t)(a->heads * m * m));
        for (int h = 0; h < a->heads; h++) {
            place p = place_of(a, r, l, h);
            through_mixing(a, &p, r);
            if (!a->shape.linear) through_softmax(m, p.s, r->grad_s);
            through_products(a, &p, r);
            through_input(a, &p, a->query[l], z, r->grad_q, r->next, grad_z);
            through_input(a, &p, a->key[l], z, r->grad_k, r->next, grad_z);
        }
        lanes *swap = r->bar;
        r->bar = r->next;
        r->next = swap;
    }
}

/* one vector of samples; arrays are those of the group, from its first sample on */
LANES_INLINE void batch(const stair_heads *a, const double *z, const double *target, const double *weight,
                        const double *cotangent, double *scratch, double *y, double *loss, double *grad_z)
{
    int outputs = a->outputs * a->shape.tokens;
    room r = room_in(a, (lanes *)scratch);
    forward(a, z, &r, y);
    if (!target && !cotangent) return;
    lanes sum = {0}, w = cotangent ? sum : lanes_load(weight);
    for (int k = 0; k < outputs; k++) {
        if (cotangent) {
            r.grad_y[k] = lanes_load(cotangent + k * STAIR_GROUP);
            continue;
        }
        lanes residual = lanes_load(y + k * STAIR_GROUP) - lanes_load(target + k * STAIR_GROUP);
        sum += residual * residual;
        r.grad_y[k] = 2.0 * w * residual;
    }
    if (!cotangent) lanes_store(loss, w * sum);
    if (grad_z) backward(a, z, &r, grad_z);
}

void STAIR_HOT(stair_heads_batch)(const stair_heads *a, const double *z, const double *target,
                                  const double *weight, const double *cotangent, double *scratch, double *y,
                                  double *loss, double *grad_z)
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

/* c (R M, H R M, 8): H_L^h of every head, at the places of its readout; z (rows before the readout, M, 8) */
void STAIR_HOT(stair_heads_mix)(const stair_heads *a, const double *z, double *scratch, double *c)
{
    int m = a->shape.tokens, columns = a->heads * a->outputs * m;
    room r = room_in(a, (lanes *)scratch);
    const lanes *top = r.mixed + a->shape.layers * a->heads * m * m;
    memset(c, 0, sizeof(double) * STAIR_GROUP * (size_t)(a->outputs * m * columns));
    for (int at = 0; at < STAIR_GROUP; at += LANES) {
        mix_all(a, z + at, &r);
        for (int o = 0; o < a->outputs; o++)
            for (int i = 0; i < m; i++)
                for (int h = 0; h < a->heads; h++)
                    for (int j = 0; j < m; j++)
                        lanes_store(c + ((o * m + i) * columns + (h * a->outputs + o) * m + j) * STAIR_GROUP +
                                        at,
                                    top[(h * m + i) * m + j]);
    }
}
