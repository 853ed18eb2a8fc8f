/* What a pilot grid tells: how fast |x| changes on it, and the moments of the integrand. */
#include "channel/modes.h"
#include "core/isa.h"
#include "core/lanes.h"

void STAIR_HOT(stair_pilot_change)(int side, const double *length, double far, double *change, double *least);
void STAIR_HOT(stair_pilot_sums)(int dim, int n, const double *mass, const double *u, double *sums);

/* length (side, side): |x|.  change: the most by which it differs between neighbours of which one is below
 * `far`; least: its smallest value.  Both only grow, or shrink. */
void STAIR_HOT(stair_pilot_change)(int side, const double *length, double far, double *change, double *least)
{
    lanes worst = lanes_set(*change), low = lanes_set(-*least);
    for (int i = 0; i + 1 < side; i++)
        for (int j = 0; j + 1 < side; j += LANES) {
            const double *at =
                length + i * side + j; /* reads past the end of a row are of the next one, or of padding */
            lanes here = lanes_load(at), right = lanes_load(at + 1), below = lanes_load(at + side);
            lanes nearest = lanes_min(here, lanes_min(right, below)),
                  farthest = lanes_max(here, lanes_max(right, below));
            lanes gap = lanes_pick(nearest < lanes_set(far), farthest - nearest, lanes_set(0));
            int left = side - 1 - j;
            if (left < LANES) {
                gap = lanes_first(left, gap, lanes_set(0));
                nearest = lanes_first(left, nearest, lanes_set(1e300));
            }
            worst = lanes_max(worst, gap);
            low = lanes_max(low, -nearest);
        }
    *change = lanes_top(worst);
    *least = -lanes_top(low);
}

/* sums: of mass {1, u, u u^T (x >= y)} over n points u (dim, STAIR_PILOT_MOST) */
void STAIR_HOT(stair_pilot_sums)(int dim, int n, const double *mass, const double *u, double *sums)
{
    for (int x = -1, k = 1; x < dim; x++) {
        const double *ux = u + (size_t)(x < 0 ? 0 : x) * STAIR_PILOT_MOST;
        lanes first = lanes_set(0), second[STAIR_LATTICE_DIM];
        for (int y = 0; y <= x; y++) second[y] = lanes_set(0);
        for (int i = 0; i < n; i += LANES) {
            lanes weight = lanes_load(mass + i);
            if (n - i < LANES) weight = lanes_first(n - i, weight, lanes_set(0));
            if (x >= 0) weight *= lanes_load(ux + i);
            first += weight;
            for (int y = 0; y <= x; y++)
                second[y] += weight * lanes_load(u + (size_t)y * STAIR_PILOT_MOST + i);
        }
        if (x < 0)
            sums[0] = lanes_sum(first);
        else {
            sums[1 + x] = lanes_sum(first);
            for (int y = 0; y <= x; y++, k++) sums[dim + k] = lanes_sum(second[y]);
        }
    }
}
