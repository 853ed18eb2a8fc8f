/* Posterior of one sample of attention with two tokens and layers of one row, L = 1 or 2, by a lattice in
 * whitened coordinates.
 *
 * The label fixes h = B(u) z up to sign, B(u) = c 1 + softmax(u u^T) by rows, u the hidden row, z the last.
 * With V = L L^T, w = L^-1, offset = w omega, residuals of token t are
 *
 *   x1 = w11 u - offset1,   x2 = w21 u +- w22 z - offset2,   weight exp(-(|x1|^2 + |x2|^2)/2) / det B
 *
 * and nodes are equidistant in x1, where the prior is a standard normal.  Sums are those of x, of order one,
 * in single precision: g = w^T E[x], and dg of token t is w^T (Cov x - 1) w.
 *
 * With e1 = exp(u1 (u1 - u2)), e2 = exp(u2 (u2 - u1)), k = c + 1 and R = k (1 + e1)(1 + e2) - (2 + e1 + e2),
 *
 *   1 / det B = (1 + e1)(1 + e2) / (k R),   z = h / k +- (h1 - h2) / k (1 + e2, 1 + e1) / R,
 *
 * so a node takes two exps for B, one reciprocal, and two exps for the weights of both signs: five of the
 * slow instructions of a card, of which it does one where it does eight others, and about fifty of those.
 * Residuals are in units of sqrt(2 log 2): weights are 2^-(sum of squares).
 *
 * Thirty-two lanes share a sample, or several times as many.  A box that holds what is within `cutoff` of the
 * largest exponent is found by looking at 32 x 32 nodes, once more inside of it while it shrinks; then nodes
 * are summed, those of even i + j by even lanes and those of odd by odd ones.  A lane goes down columns: b is
 * fixed while a runs, and i has one parity.  Even and odd nodes are two lattices whose step is sqrt(2)
 * longer; half the difference of what they say is the error.  Where it is too large the step is halved, twice
 * at most; then the sample is the processor's. */
#ifndef STAIR_KERNELS_PAIR_H
#define STAIR_KERNELS_PAIR_H

#include "kernels/hd.h"

#define STAIR_PAIR_LANES  32   /* of a sample: a warp */
#define STAIR_PAIR_BITS   5    /* 32 nodes along a side of the box: of a look, and of the first sum */
#define STAIR_PAIR_LEVELS 3    /* sums, each of twice as many nodes along a side */
#define STAIR_PAIR_LOOKS  3    /* boxes in boxes */
#define STAIR_PAIR_RANGE  8.0f /* deviations of the prior that the first box covers */
#define STAIR_PAIR_STEEP                                                                                     \
    30.0f                      /* exponents to base two of a softmax beyond are 0 or 1 in single precision   \
                                */
#define STAIR_PAIR_SUMS  11    /* 1; of each token x1, x2, x1 x1, x2 x1, x2 x2 */
#define STAIR_PAIR_SMALL 0.05f /* E[x] and Cov x - 1 below this need no relative digits */
#define STAIR_PAIR_ROUND 1e-6f /* error of a residual is this times the largest offset */
#define STAIR_PAIR_SCALE 0.849321800288f /* sqrt(1 / (2 log 2)): residuals are multiplied by it */
#define STAIR_PAIR_LOG2E 1.44269504089f

/* What all samples of a pass share. */
typedef struct {
    int rows;                /* L: 1 or 2 */
    float skip;              /* c > 0 */
    float lower;             /* L11 */
    float w11, w21, w22;     /* whitening; one row: w11 alone */
    float cutoff, precision; /* of the exponent; of the error */
} stair_pair_form;

typedef struct {
    float h[2];                   /* fixed by the label, up to sign */
    float offset1[2], offset2[2]; /* of both tokens */
} stair_pair_sample;

/* Where nodes lie: low + (i + 1/2) step, 2^bits of them along a side; scaled. */
typedef struct {
    float low[2], step[2];
    int bits;
} stair_pair_box;

/* What is the same for all nodes of a sample; scaled. */
typedef struct {
    float k;                /* c + 1 */
    float unit, u[2];       /* u_t = unit x1 + u[t] */
    float unit2, u2;        /* u_1 log2 e */
    float pull, offset2[2]; /* x2 = pull u - offset2 +- y */
    float tilt, y[2];       /* y = w22 z: y[0] + tilt (1 + e2) / R, y[1] - tilt (1 + e1) / R */
} stair_pair_terms;

STAIR_HD stair_pair_terms stair_pair_ready(const stair_pair_form *f, const stair_pair_sample *s)
{
    stair_pair_terms m;
    float last = STAIR_PAIR_SCALE * f->w22 / (f->skip + 1);
    m.k = f->skip + 1;
    m.unit = f->lower / STAIR_PAIR_SCALE;
    m.unit2 = m.unit * STAIR_PAIR_LOG2E;
    m.pull = f->w21 * STAIR_PAIR_SCALE;
    for (int t = 0; t < 2; t++) {
        m.u[t] = f->lower * s->offset1[t];
        m.offset2[t] = STAIR_PAIR_SCALE * s->offset2[t];
        m.y[t] = last * s->h[t];
    }
    m.u2 = m.u[0] * STAIR_PAIR_LOG2E;
    m.tilt = last * (s->h[0] - s->h[1]);
    return m;
}

/* What is the same for a column of nodes: their second coordinate, and base, which is taken from the sum of
 * squares. */
typedef struct {
    float b, base, u, u2, x2; /* u2: -u log2 e */
} stair_pair_column;

STAIR_HD stair_pair_column stair_pair_column_at(const stair_pair_terms *m, float b, float base)
{
    stair_pair_column c;
    c.b = b;
    c.base = fmaf(b, b, -base);
    c.u = fmaf(b, m->unit, m->u[1]);
    c.u2 = -c.u * STAIR_PAIR_LOG2E;
    c.x2 = fmaf(c.u, m->pull, -m->offset2[1]);
    return c;
}

/* One node: residuals x2 for both signs, sums of squares less the base, and k / det B. */
typedef struct {
    float plus[2], minus[2], weight, up, down;
} stair_pair_node;

STAIR_HD void stair_pair_at(const stair_pair_terms *m, const stair_pair_column *c, float a,
                            stair_pair_node *n)
{
    float u = fmaf(a, m->unit, m->u[0]), u2 = fmaf(a, m->unit2, m->u2), gap = u - c->u;
    float one = 1 + stair_hd_exp2(fminf(u2 * gap, STAIR_PAIR_STEEP)),
          two = 1 + stair_hd_exp2(fminf(c->u2 * gap, STAIR_PAIR_STEEP));
    float both = one * two, over = stair_hd_inverse(fmaf(m->k, both, -(one + two)));
    float y0 = fmaf(two * over, m->tilt, m->y[0]), y1 = fmaf(one * over, -m->tilt, m->y[1]);
    float x0 = fmaf(u, m->pull, -m->offset2[0]), prior = fmaf(a, a, c->base);
    n->weight = both * over;
    n->plus[0] = x0 + y0;
    n->plus[1] = c->x2 + y1;
    n->minus[0] = x0 - y0;
    n->minus[1] = c->x2 - y1;
    n->up = fmaf(n->plus[0], n->plus[0], fmaf(n->plus[1], n->plus[1], prior));
    n->down = fmaf(n->minus[0], n->minus[0], fmaf(n->minus[1], n->minus[1], prior));
}

/* A lane has nodes of its parity in columns 0 .. count-1: column k has i = k mod 2, k mod 2 + 2, ... */
STAIR_HD int stair_pair_columns(const stair_pair_box *box)
{
    return 2 * (1 << box->bits) / STAIR_PAIR_LANES;
}

STAIR_HD int stair_pair_j(int lane, int column)
{
    return 2 * ((lane >> 1) + STAIR_PAIR_LANES / 2 * (column >> 1)) + ((column + lane) & 1);
}

/* Coordinate k of node i along it. */
STAIR_HD float stair_pair_place(const stair_pair_box *box, int k, float i)
{
    return fmaf(i + 0.5f, box->step[k], box->low[k]);
}

STAIR_HD float stair_pair_b(const stair_pair_box *box, int lane, int column)
{
    return stair_pair_place(box, 1, (float)stair_pair_j(lane, column));
}

STAIR_HD stair_pair_box stair_pair_begin(void)
{
    stair_pair_box box;
    for (int k = 0; k < 2; k++) {
        box.low[k] = -STAIR_PAIR_RANGE * STAIR_PAIR_SCALE;
        box.step[k] = 2 * STAIR_PAIR_RANGE * STAIR_PAIR_SCALE / (1 << STAIR_PAIR_BITS);
    }
    box.bits = STAIR_PAIR_BITS;
    return box;
}

/* ---- a look: exponents of the nodes of a lane are kept, so each node is looked at once -----------------
 */

#define STAIR_PAIR_SEEN (1 << STAIR_PAIR_BITS) /* nodes of a lane of a warp alone */

/* The smaller sum of squares of each node, and the least of all. */
STAIR_HD float stair_pair_see(const stair_pair_terms *m, const stair_pair_box *box, int lane, int slice,
                              int slices, float seen[STAIR_PAIR_SEEN])
{
    float least = 3e38f;
    int count = STAIR_PAIR_SEEN / slices, from = slice * count;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int k = 0; k < 2; k++) {
        stair_pair_column c = stair_pair_column_at(m, stair_pair_b(box, lane, k), 0);
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
        for (int i = k; i < count; i += 2) {
            stair_pair_node n;
            stair_pair_at(m, &c, stair_pair_place(box, 0, (float)(from + i)), &n);
            seen[i] = fminf(n.up, n.down);
            least = fminf(least, seen[i]);
        }
    }
    return least;
}

/* Which rows and columns of nodes a lane sees below `limit`: a bit for each. */
STAIR_HD void stair_pair_visible(int lane, int slice, int slices, const float seen[STAIR_PAIR_SEEN],
                                 float limit, unsigned visible[2])
{
    int count = STAIR_PAIR_SEEN / slices;
    visible[0] = visible[1] = 0;
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int i = 0; i < count; i++)
        if (seen[i] <= limit) {
            visible[0] |= 1u << i;
            visible[1] |= i % 2 ? 2u : 1u;
        }
    visible[0] <<= slice * count;
    visible[1] = (visible[1] & 1) << stair_pair_j(lane, 0) | (visible[1] >> 1) << stair_pair_j(lane, 1);
}

/* The lowest and the highest bit; -1 where there is none. */
STAIR_HD void stair_pair_edges(unsigned bits, int *first, int *last)
{
#ifdef STAIR_ON_CARD
    *first = __ffs((int)bits) - 1;
    *last = 31 - __clz((int)bits);
#else
    *first = bits ? __builtin_ctz(bits) : -1;
    *last = bits ? 31 - __builtin_clz(bits) : -1;
#endif
}

/* The box around what all lanes saw, one node wider on each side; true when it is worth looking again. */
STAIR_HD int stair_pair_shrink(stair_pair_box *box, const int first[2], const int last[2])
{
    int again = 0;
    for (int k = 0; k < 2; k++) {
        float from = stair_pair_place(box, k, (float)first[k] - 1.5f),
              to = stair_pair_place(box, k, (float)last[k] + 1.5f),
              step = (to - from) / (float)(1 << box->bits);
        again |= step < 0.6f * box->step[k];
        box->low[k] = from;
        box->step[k] = step;
    }
    return again;
}

STAIR_HD void stair_pair_finer(stair_pair_box *box)
{
    box->bits++;
    box->step[0] *= 0.5f;
    box->step[1] *= 0.5f;
}

/* ---- sums -----------------------------------------------------------------------------------------------
 */

/* One node of a column: sums of those that know b by the column, mass[0] of weights and mass[1] of x2. */
STAIR_HD void stair_pair_add_node(const stair_pair_terms *m, const stair_pair_column *c, float a,
                                  float mass[2], float sums[STAIR_PAIR_SUMS])
{
    stair_pair_node n;
    stair_pair_at(m, c, a, &n);
    float up = n.weight * stair_hd_exp2(-n.up), down = n.weight * stair_hd_exp2(-n.down);
    float both = up + down;
    float by_a = both * a, rise = up * n.plus[0], fall = down * n.minus[0], last = rise + fall;
    sums[1] += by_a;
    sums[2] += last;
    sums[3] = fmaf(by_a, a, sums[3]);
    sums[4] = fmaf(last, a, sums[4]);
    sums[5] = fmaf(rise, n.plus[0], fmaf(fall, n.minus[0], sums[5]));
    rise = up * n.plus[1];
    fall = down * n.minus[1];
    mass[0] += both;
    mass[1] += rise + fall;
    sums[10] = fmaf(rise, n.plus[1], fmaf(fall, n.minus[1], sums[10]));
}

/* Sums of a lane, of weights 2^base larger. */
STAIR_HD void stair_pair_add(const stair_pair_terms *m, const stair_pair_box *box, int lane, int slice,
                             int slices, float base, float sums[STAIR_PAIR_SUMS])
{
    for (int k = 0; k < STAIR_PAIR_SUMS; k++) sums[k] = 0;
    int count = (1 << box->bits) / slices;
    float from = (float)(slice * count), end = from + (float)count;
    for (int k = 0; k < stair_pair_columns(box); k++) {
        stair_pair_column c = stair_pair_column_at(m, stair_pair_b(box, lane, k), base);
        float mass[2] = {0, 0};
#ifdef STAIR_ON_CARD
#pragma unroll 8
#endif
        for (float i = from + (float)(k & 1); i < end; i += 2)
            stair_pair_add_node(m, &c, stair_pair_place(box, 0, i), mass, sums);
        sums[0] += mass[0];
        sums[6] = fmaf(c.b, mass[0], sums[6]);
        sums[7] += mass[1];
        sums[8] = fmaf(c.b * c.b, mass[0], sums[8]);
        sums[9] = fmaf(c.b, mass[1], sums[9]);
    }
}

/* Posterior of whitened residuals: of each token E[x1], E[x2], and Cov x - 1: 11, 21, 22. */
typedef struct {
    double mean[2][2], cov[2][3];
} stair_pair_moments;

STAIR_HD void stair_pair_finish(const float sums[STAIR_PAIR_SUMS], stair_pair_moments *m)
{
    const double scale = 1 / (double)STAIR_PAIR_SCALE;
    double over = scale * stair_hd_inverse_wide((double)sums[0]);
    for (int t = 0; t < 2; t++) {
        const float *at = sums + 1 + 5 * t;
        double a = (double)at[0] * over, b = (double)at[1] * over, over2 = over * scale;
        m->mean[t][0] = a;
        m->mean[t][1] = b;
        m->cov[t][0] = (double)at[2] * over2 - a * a - 1;
        m->cov[t][1] = (double)at[3] * over2 - a * b;
        m->cov[t][2] = (double)at[4] * over2 - b * b - 1;
    }
}

/* The same in single precision, for an error: mean and covariance of each token, one after the other. */
#define STAIR_PAIR_MOMENTS 5
STAIR_HD void stair_pair_roughly(const float sums[STAIR_PAIR_SUMS], float at[2][STAIR_PAIR_MOMENTS])
{
    float over = stair_hd_inverse(STAIR_PAIR_SCALE * sums[0]), over2 = over * (1 / STAIR_PAIR_SCALE);
    for (int t = 0; t < 2; t++) {
        const float *of = sums + 1 + STAIR_PAIR_MOMENTS * t;
        float a = of[0] * over, b = of[1] * over;
        at[t][0] = a;
        at[t][1] = b;
        at[t][2] = fmaf(-a, a, of[2] * over2);
        at[t][3] = fmaf(-a, b, of[3] * over2);
        at[t][4] = fmaf(-b, b, of[4] * over2);
    }
}

/* Half the distance of what even and odd nodes say, relative to what they say together. */
STAIR_HD float stair_pair_error(const float even[STAIR_PAIR_SUMS], const float odd[STAIR_PAIR_SUMS],
                                const stair_pair_moments *all)
{
    float a[2][STAIR_PAIR_MOMENTS], b[2][STAIR_PAIR_MOMENTS], mean = 0, cov = 0, of_mean = 0, of_cov = 0;
    stair_pair_roughly(even, a);
    stair_pair_roughly(odd, b);
    for (int t = 0; t < 2; t++) {
        for (int k = 0; k < 2; k++) {
            float d = a[t][k] - b[t][k], of = (float)all->mean[t][k];
            mean += d * d;
            of_mean += of * of;
        }
        for (int k = 0; k < 3; k++) {
            float d = a[t][2 + k] - b[t][2 + k], of = (float)all->cov[t][k];
            cov += (k == 1 ? 2.0f : 1.0f) * d * d;
            of_cov += (k == 1 ? 2.0f : 1.0f) * of * of;
        }
    }
    return 0.5f * fmaxf(stair_hd_root(mean) * stair_hd_inverse(stair_hd_root(of_mean) + STAIR_PAIR_SMALL),
                        stair_hd_root(cov) * stair_hd_inverse(stair_hd_root(of_cov) + STAIR_PAIR_SMALL));
}

/* One row: the two points +-h, and no error. */
STAIR_HD void stair_pair_two_points(const stair_pair_form *f, const stair_pair_sample *s,
                                    stair_pair_moments *m)
{
    double up[2], down[2], rise = 0, fall = 0;
    for (int t = 0; t < 2; t++) {
        up[t] = (double)f->w11 * (double)s->h[t] - (double)s->offset1[t];
        down[t] = -(double)f->w11 * (double)s->h[t] - (double)s->offset1[t];
        rise -= 0.5 * up[t] * up[t];
        fall -= 0.5 * down[t] * down[t];
    }
    double top = fmax(rise, fall), p = exp(rise - top), q = exp(fall - top);
    p /= p + q;
    q = 1 - p;
    for (int t = 0; t < 2; t++) {
        double mean = p * up[t] + q * down[t], gap = up[t] - down[t];
        m->mean[t][0] = mean;
        m->mean[t][1] = 0;
        m->cov[t][0] = p * q * gap * gap - 1;
        m->cov[t][1] = m->cov[t][2] = 0;
    }
}

/* ---- all lanes of a sample: by shuffles on the card, in loops and the same order on the host --------------
 */

/* A sample is one warp's, or that of several, each with a slice of the rows of nodes.  Warps of one sample
 * exchange through `room`, which all of them see: two halves by turns, so that one barrier is enough. */
#define STAIR_PAIR_SLICES 8                                          /* at most: warps of a sample */
#define STAIR_PAIR_ROOM   (2 * STAIR_PAIR_SLICES * STAIR_PAIR_LANES) /* floats */

typedef struct {
    int lane, slice, slices;
    float *room;
    int barrier; /* number of it, among those of a block */
    int turn;
} stair_pair_team;

STAIR_HD stair_pair_team stair_pair_warp(int lane)
{
    stair_pair_team one = {lane, 0, 1, 0, 0, 0};
    return one;
}

/* The even lane that has sum k in the end of stair_pair_share_out; the odd one is next to it. */
STAIR_HD int stair_pair_lane_of(int k)
{
    int high = k >= 6, rest = k - 6 * high, middle = rest >= 3;
    return 16 * high + 8 * middle + 2 * (rest - 3 * middle);
}

#ifdef STAIR_ON_CARD
/* The least of a warp: one instruction from compute capability 8.0 on. */
static __device__ __forceinline__ int stair_pair_least(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(~0u, x);
#else
    for (int step = 16; step; step /= 2) x = min(x, __shfl_xor_sync(~0u, x, step));
    return x;
#endif
}

/* Sums over the even lanes and over the odd ones, a binary tree each: at every step a lane keeps half of the
 * sums and gives the others away, so that in the end it has the one of its name, if any. */
static __device__ __forceinline__ float stair_pair_share_out(const float part[STAIR_PAIR_SUMS], int lane)
{
    float v[6];
#pragma unroll
    for (int k = 0; k < 6; k++) {
        float low = part[k], high = k + 6 < STAIR_PAIR_SUMS ? part[k < 5 ? k + 6 : 0] : 0;
        v[k] = (lane & 16 ? high : low) + __shfl_xor_sync(~0u, lane & 16 ? low : high, 16);
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
        v[k] = (lane & 8 ? v[k + 3] : v[k]) + __shfl_xor_sync(~0u, lane & 8 ? v[k] : v[k + 3], 8);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        float low = v[k], high = k ? 0 : v[2];
        v[k] = (lane & 4 ? high : low) + __shfl_xor_sync(~0u, lane & 4 ? low : high, 4);
    }
    return (lane & 2 ? v[1] : v[0]) + __shfl_xor_sync(~0u, lane & 2 ? v[0] : v[1], 2);
}

/* The bits of all lanes of a warp. */
static __device__ __forceinline__ unsigned stair_pair_union(unsigned x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(~0u, x);
#else
    for (int step = 16; step; step /= 2) x |= __shfl_xor_sync(~0u, x, step);
    return x;
#endif
}

/* The half of the room whose turn it is, and the barrier after it was written. */
static __device__ __forceinline__ float *stair_pair_room(stair_pair_team *team)
{
    team->turn ^= 1;
    return team->room + (team->turn ^ 1) * (STAIR_PAIR_ROOM / 2);
}

static __device__ __forceinline__ void stair_pair_meet(const stair_pair_team *team)
{
    asm volatile("bar.sync %0, %1;" ::"r"(team->barrier), "r"(32 * team->slices) : "memory");
}

/* Where all warps of a sample find what each of them put there: n numbers of a warp. */
static __device__ __forceinline__ const float *stair_pair_exchange(stair_pair_team *team, int n,
                                                                   const float *mine)
{
    float *room = stair_pair_room(team);
#pragma unroll
    for (int k = 0; k < n; k++)
        if (team->lane == k) room[team->slice * n + k] = mine[k];
    stair_pair_meet(team);
    return room;
}
#endif

/* First and last of the nodes that lanes see in the box, and the least sum of squares. */
STAIR_HD void stair_pair_team_see(const stair_pair_form *f, const stair_pair_terms *m,
                                  const stair_pair_box *box, stair_pair_team *team, float *least,
                                  int first[2], int last[2])
{
    float cutoff = f->cutoff * STAIR_PAIR_LOG2E;
    unsigned visible[2] = {0, 0};
#ifdef STAIR_ON_CARD
    float seen[STAIR_PAIR_SEEN];
    *least = stair_pair_see(m, box, team->lane, team->slice, team->slices, seen);
    *least = __int_as_float(stair_pair_least(__float_as_int(*least))); /* none is negative */
    if (team->slices > 1) {
        const float *all = stair_pair_exchange(team, 1, least);
#pragma unroll
        for (int k = 0; k < team->slices; k++) *least = fminf(*least, all[k]);
    }
    stair_pair_visible(team->lane, team->slice, team->slices, seen, *least + cutoff, visible);
    for (int k = 0; k < 2; k++) visible[k] = stair_pair_union(visible[k]);
    if (team->slices > 1) {
        float mine[2] = {__uint_as_float(visible[0]), __uint_as_float(visible[1])};
        const float *all = stair_pair_exchange(team, 2, mine);
#pragma unroll
        for (int s = 0; s < team->slices; s++)
            for (int k = 0; k < 2; k++) visible[k] |= __float_as_uint(all[2 * s + k]);
    }
#else
    float seen[STAIR_PAIR_SLICES][STAIR_PAIR_LANES][STAIR_PAIR_SEEN];
    *least = 3e38f;
    for (int slice = 0; slice < team->slices; slice++)
        for (int lane = 0; lane < STAIR_PAIR_LANES; lane++)
            *least = fminf(*least, stair_pair_see(m, box, lane, slice, team->slices, seen[slice][lane]));
    for (int slice = 0; slice < team->slices; slice++)
        for (int lane = 0; lane < STAIR_PAIR_LANES; lane++) {
            unsigned bits[2];
            stair_pair_visible(lane, slice, team->slices, seen[slice][lane], *least + cutoff, bits);
            for (int k = 0; k < 2; k++) visible[k] |= bits[k];
        }
#endif
    for (int k = 0; k < 2; k++) stair_pair_edges(visible[k], &first[k], &last[k]);
}

/* Sums of even lanes and of odd ones: of a warp a binary tree each, warps in their order. */
STAIR_HD void stair_pair_team_add(const stair_pair_terms *m, const stair_pair_box *box, stair_pair_team *team,
                                  float base, float even[STAIR_PAIR_SUMS], float odd[STAIR_PAIR_SUMS])
{
#ifdef STAIR_ON_CARD
    float part[STAIR_PAIR_SUMS];
    stair_pair_add(m, box, team->lane, team->slice, team->slices, base, part);
    float sum = stair_pair_share_out(part, team->lane);
    if (team->slices > 1) {
        float *room = stair_pair_room(team);
        room[STAIR_PAIR_LANES * team->slice + team->lane] = sum;
        stair_pair_meet(team);
        sum = room[team->lane];
#pragma unroll
        for (int s = 1; s < team->slices; s++) sum += room[STAIR_PAIR_LANES * s + team->lane];
    }
#pragma unroll
    for (int k = 0; k < STAIR_PAIR_SUMS; k++) {
        even[k] = __shfl_sync(~0u, sum, stair_pair_lane_of(k));
        odd[k] = __shfl_sync(~0u, sum, stair_pair_lane_of(k) + 1);
    }
#else
    float part[STAIR_PAIR_LANES][STAIR_PAIR_SUMS];
    for (int slice = 0; slice < team->slices; slice++) {
        for (int lane = 0; lane < STAIR_PAIR_LANES; lane++)
            stair_pair_add(m, box, lane, slice, team->slices, base, part[lane]);
        for (int step = 16; step > 1; step /= 2)
            for (int lane = 0; lane < step; lane++)
                for (int k = 0; k < STAIR_PAIR_SUMS; k++) part[lane][k] += part[lane + step][k];
        for (int k = 0; k < STAIR_PAIR_SUMS; k++) {
            even[k] = slice ? even[k] + part[0][k] : part[0][k];
            odd[k] = slice ? odd[k] + part[1][k] : part[1][k];
        }
    }
#endif
}

/* The box that holds all that counts; returns how many looks it took, 0 where it reaches beyond the first. */
STAIR_HD int stair_pair_look(const stair_pair_form *f, const stair_pair_terms *m, stair_pair_team *team,
                             stair_pair_box *box, float *least)
{
    *box = stair_pair_begin();
#ifdef STAIR_ON_CARD
#pragma unroll 1
#endif
    for (int looks = 1;; looks++) {
        int first[2], last[2];
        stair_pair_team_see(f, m, box, team, least, first, last);
        if (looks == 1)
            for (int k = 0; k < 2; k++)
                if (first[k] < 1 || last[k] > STAIR_PAIR_SEEN - 2) return 0;
        if (!stair_pair_shrink(box, first, last) || looks == STAIR_PAIR_LOOKS) return looks;
    }
}

/* Moments and their error; nodes: of the last sum, of at most `levels`.  The error is infinite where this
 * rule does not serve. */
STAIR_HD void stair_pair_posterior_by(const stair_pair_form *f, const stair_pair_sample *s,
                                      stair_pair_team *team, int levels, stair_pair_moments *out,
                                      float *error, int *nodes)
{
    stair_pair_box box;
    float least, largest = 1;
    for (int t = 0; t < 2; t++) largest = fmaxf(largest, fmaxf(fabsf(s->offset1[t]), fabsf(s->offset2[t])));
    *nodes = 1;
    *error = 0;
    if (f->rows == 1) {
        stair_pair_two_points(f, s, out);
    } else {
        stair_pair_terms m = stair_pair_ready(f, s);
        *error = INFINITY;
        for (int t = 0; t < 2; t++) /* the prior, where nothing is found */
            out->mean[t][0] = out->mean[t][1] = out->cov[t][0] = out->cov[t][1] = out->cov[t][2] = 0;
        if (!stair_pair_look(f, &m, team, &box, &least)) return;
#ifdef STAIR_ON_CARD
#pragma unroll 1
#endif
        for (int level = 0; level < levels; level++) {
            float even[STAIR_PAIR_SUMS], odd[STAIR_PAIR_SUMS], all[STAIR_PAIR_SUMS], mass;
            stair_pair_team_add(&m, &box, team, least, even, odd);
            mass = fabsf(even[0] - odd[0]) *
                   stair_hd_inverse(even[0] + odd[0]); /* of logarithms, half or more */
            int good = even[0] > 0 && odd[0] > 0 && even[0] + odd[0] < 3e38f;
            for (int k = 0; k < STAIR_PAIR_SUMS; k++) all[k] = even[k] + odd[k];
            stair_pair_finish(all, out);
            *error = good ? fmaxf(mass, stair_pair_error(even, odd, out)) : INFINITY;
            *nodes = 1 << 2 * box.bits;
            if (*error <= f->precision) break;
            stair_pair_finer(&box);
        }
    }
    *error += STAIR_PAIR_ROUND * largest;
    if (!(*error <= 3e38f)) *error = INFINITY;
}

/* The same by a warp alone, with all levels. */
STAIR_HD void stair_pair_posterior(const stair_pair_form *f, const stair_pair_sample *s, int lane,
                                   stair_pair_moments *out, float *error, int *nodes)
{
    stair_pair_team team = stair_pair_warp(lane);
    stair_pair_posterior_by(f, s, &team, STAIR_PAIR_LEVELS, out, error, nodes);
}

/* ---- a sample of GAMP ------------------------------------------------------------------------------------
 */

/* w (P, P) in double: whitening; omega (P, 2) */
STAIR_HD stair_pair_sample stair_pair_open(const stair_pair_form *f, const double *w, const float *h,
                                           const double *omega)
{
    stair_pair_sample s;
    for (int t = 0; t < 2; t++) {
        s.h[t] = h[t];
        s.offset1[t] = (float)(w[0] * omega[t]);
        s.offset2[t] = f->rows > 1 ? (float)(w[2] * omega[t] + w[3] * omega[2 + t]) : 0;
    }
    return s;
}

/* g (P, 2); c (2, 4): the same by rows; says (2 P^2 + 1): -sum_t dg_t, sum_t g_t g_t^T, the error. */
STAIR_HD void stair_pair_write(const stair_pair_form *f, const double *w, const stair_pair_moments *m,
                               float error, double *g, float *c, double *says)
{
    int p = f->rows;
    double w11 = w[0], w21 = p > 1 ? w[2] : 0, w22 = p > 1 ? w[3] : 0;
    double a[3] = {0, 0, 0}, gg[3] = {0, 0, 0}; /* 11, 21, 22 */
    for (int t = 0; t < 2; t++) {
        double g0 = w11 * m->mean[t][0] + w21 * m->mean[t][1], g1 = w22 * m->mean[t][1];
        double c11 = m->cov[t][0], c21 = m->cov[t][1], c22 = m->cov[t][2];
        a[0] -= w11 * w11 * c11 + 2 * w11 * w21 * c21 + w21 * w21 * c22;
        a[1] -= w22 * (w11 * c21 + w21 * c22);
        a[2] -= w22 * w22 * c22;
        gg[0] += g0 * g0;
        gg[1] += g0 * g1;
        gg[2] += g1 * g1;
        g[t] = g0;
        if (p > 1) g[2 + t] = g1;
        c[4 * t] = (float)g0;
        c[4 * t + 1] = p > 1 ? (float)g1 : 0;
        c[4 * t + 2] = c[4 * t + 3] = 0;
    }
    for (int k = 0; k < 4; k++) {
        if (k >= p * p) break;
        int which = k == 0 ? 0 : k == 3 ? 2 : 1;
        says[k] = a[which];
        says[p * p + k] = gg[which];
    }
    says[2 * p * p] = fmin(1.0, (double)error);
}

#endif
