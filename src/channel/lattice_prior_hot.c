/* Two rows of two tokens, the first free, the second mirrored: moments of Z itself, even and odd in the
 * mirror, from one pass over a block. */
#include "channel/lattice_prior.h"
#include "core/isa.h"
#include "core/lanes.h"

void STAIR_HOT(stair_pair_sum)(const stair_channel_shape *s, int n, const stair_nodes *nodes, double top,
                               double cutoff, double *most, bool brief, double *accumulators);

#define ROW(array, k) ((array) + (size_t)(k)*STAIR_BLOCK + at)

/* accumulators: 15 groups of lanes, in the order of a stair_moments */
void STAIR_HOT(stair_pair_sum)(const stair_channel_shape *s, int n, const stair_nodes *nodes, double top,
                               double cutoff, double *most, bool brief, double *accumulators)
{
    const double *w = s->whiten, *offset = s->offset, threshold = top - cutoff;
    lanes *acc = (lanes *)(void *)accumulators, highest = lanes_set(*most);
    for (int at = 0; at < n; at += LANES) {
        lanes u0 = lanes_load(ROW(nodes->u, 0)), u1 = lanes_load(ROW(nodes->u, 1)),
              z0 = lanes_load(ROW(nodes->z, 2)), z1 = lanes_load(ROW(nodes->z, 3));
        lanes free0 = w[0] * u0 - offset[0], free1 = w[0] * u1 - offset[1], a0 = w[2] * u0 - offset[2],
              a1 = w[2] * u1 - offset[3];
        lanes b0 = w[3] * z0, b1 = w[3] * z1, square = free0 * free0 + free1 * free1;
        lanes plus = -0.5 * (square + (a0 + b0) * (a0 + b0) + (a1 + b1) * (a1 + b1));
        lanes minus = -0.5 * (square + (a0 - b0) * (a0 - b0) + (a1 - b1) * (a1 - b1)),
              high = lanes_max(plus, minus);
        lanes weight = lanes_load(nodes->weight + at);
        if (n - at < LANES) {
            weight = lanes_first(n - at, weight, lanes_set(0));
            high = lanes_first(n - at, high, lanes_set(-1e300));
        }
        highest = lanes_max(highest, high);
        if (!lanes_any(high > threshold)) continue;
        lanes up, down;
        if (brief) {
            up = weight * lanes_exp_short(plus - top);
            down = weight * lanes_exp_short(minus - top);
        } else {
            up = weight * lanes_exp(plus - top);
            down = weight * lanes_exp(minus - top);
        }
        lanes even = up + down, odd = up - down, e_u0 = even * u0, e_u1 = even * u1, o_z0 = odd * z0,
              o_z1 = odd * z1;
        acc[0] += even;
        acc[1] += e_u0;
        acc[2] += e_u1;
        acc[3] += o_z0;
        acc[4] += o_z1;
        acc[5] += e_u0 * u0;
        acc[6] += e_u0 * u1;
        acc[7] += e_u1 * u1;
        acc[8] += o_z0 * u0;
        acc[9] += o_z0 * u1;
        acc[10] += even * z0 * z0;
        acc[11] += o_z1 * u0;
        acc[12] += o_z1 * u1;
        acc[13] += even * z0 * z1;
        acc[14] += even * z1 * z1;
    }
    *most = lanes_top(highest);
}

/* (x, y)_i = from + i step, i < n, and up to STAIR_LINE_SLACK more */
void STAIR_HOT(stair_block_line)(int n, const double *from, const double *step, double *x, double *y);

void STAIR_HOT(stair_block_line)(int n, const double *from, const double *step, double *x, double *y)
{
    static const double number[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < n; i += LANES) {
        lanes at = lanes_load(number) + (double)i;
        lanes_store(x + i, from[0] + step[0] * at);
        lanes_store(y + i, from[1] + step[1] * at);
    }
}
