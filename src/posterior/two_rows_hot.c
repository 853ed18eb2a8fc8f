/* Sums over hidden nodes and directions of the frame for two last rows, see two_rows.c. */
#include "core/isa.h"
#include "core/lanes.h"
#include "posterior/two_rows_sums.h"

void STAIR_HOT(stair_two_rows_place)(size_t blocks, const double *table, const double *x, double half_inverse,
                                     double *nodes);
void STAIR_HOT(stair_two_rows_scan)(size_t blocks, const double *nodes, size_t stride, int angles,
                                    const stair_two_rows_angle *angle, double *top);
void STAIR_HOT(stair_two_rows_add)(size_t blocks, const double *nodes, int angles,
                                   const stair_two_rows_angle *angle, double cut, double top, double *room,
                                   double *sums, double *mass);
void STAIR_HOT(stair_two_rows_hidden)(size_t blocks, int rows, const double *place, const double *mass,
                                      double *sums);

/* Nodes of a sample from the table (blocks, 5, STAIR_BLOCK) of log weights and T: w = T x. */
void STAIR_HOT(stair_two_rows_place)(size_t blocks, const double *table, const double *x, double half_inverse,
                                     double *nodes)
{
    for (size_t b = 0; b < blocks; b++, table += 5 * STAIR_BLOCK, nodes += STAIR_TWO_ROWS_NODE * STAIR_BLOCK)
        for (int i = 0; i < STAIR_BLOCK; i += LANES) {
            lanes w0 =
                lanes_load(table + STAIR_BLOCK + i) * x[0] + lanes_load(table + 2 * STAIR_BLOCK + i) * x[1];
            lanes w1 = lanes_load(table + 3 * STAIR_BLOCK + i) * x[0] +
                       lanes_load(table + 4 * STAIR_BLOCK + i) * x[1];
            lanes_store(nodes + i, lanes_load(table + i) - half_inverse * (w0 * w0 + w1 * w1));
            lanes_store(nodes + STAIR_BLOCK + i, w0);
            lanes_store(nodes + 2 * STAIR_BLOCK + i, w1);
        }
}

/* Largest exponent of each direction over every stride-th group of nodes. */
void STAIR_HOT(stair_two_rows_scan)(size_t blocks, const double *nodes, size_t stride, int angles,
                                    const stair_two_rows_angle *angle, double *top)
{
    size_t groups = blocks * (STAIR_BLOCK / STAIR_TWO_ROWS_SCAN);
    for (int k = 0; k < angles; k++) {
        lanes most = lanes_set(-1e300);
        for (size_t n = 0; n < groups; n += stride) {
            size_t at = n * STAIR_TWO_ROWS_SCAN;
            const double *node =
                nodes + at / STAIR_BLOCK * STAIR_TWO_ROWS_NODE * STAIR_BLOCK + at % STAIR_BLOCK;
            for (int i = 0; i < STAIR_TWO_ROWS_SCAN; i += LANES) {
                lanes along = lanes_load(node + STAIR_BLOCK + i) * angle[k].slope[0] +
                              lanes_load(node + 2 * STAIR_BLOCK + i) * angle[k].slope[1];
                most = lanes_max(most, lanes_load(node + i) + lanes_abs(along));
            }
        }
        top[k] = lanes_top(most) + angle[k].level;
    }
}

/* One group of nodes and one direction; returns what it adds to the mass of the nodes. */
LANES_INLINE lanes add_direction(lanes energy, lanes w0, lanes w1, const stair_two_rows_angle *angle,
                                 double cut, double top, double *acc)
{
    lanes along = w0 * angle->slope[0] + w1 * angle->slope[1], base = energy + angle->level;
    if (!lanes_any(base + lanes_abs(along) > cut)) return lanes_set(0);
    lanes plus = lanes_set(0), minus = lanes_set(0);
    base -= top;
    cut -= top;
    if (lanes_any(base + along > cut)) plus = lanes_exp(base + along);
    if (lanes_any(base - along > cut)) minus = lanes_exp(base - along);
    lanes both = plus + minus, less = plus - minus, b0 = both * w0;
    lanes_store(acc, lanes_load(acc) + both);
    lanes_store(acc + LANES, lanes_load(acc + LANES) + less * w0);
    lanes_store(acc + 2 * LANES, lanes_load(acc + 2 * LANES) + less * w1);
    lanes_store(acc + 3 * LANES, lanes_load(acc + 3 * LANES) + b0 * w0);
    lanes_store(acc + 4 * LANES, lanes_load(acc + 4 * LANES) + b0 * w1);
    lanes_store(acc + 5 * LANES, lanes_load(acc + 5 * LANES) + both * w1 * w1);
    return both;
}

/* sums (angles, STAIR_TWO_ROWS_SUMS) and mass (blocks, STAIR_BLOCK), in units of exp(top); room (angles,
 * STAIR_TWO_ROWS_SUMS, 8).  Exponents below `cut` do not count. */
void STAIR_HOT(stair_two_rows_add)(size_t blocks, const double *nodes, int angles,
                                   const stair_two_rows_angle *angle, double cut, double top, double *room,
                                   double *sums, double *mass)
{
    for (int k = 0; k < angles * STAIR_TWO_ROWS_SUMS; k++)
        lanes_store(room + (size_t)k * LANES, lanes_set(0));
    for (size_t b = 0; b < blocks; b++, nodes += STAIR_TWO_ROWS_NODE * STAIR_BLOCK, mass += STAIR_BLOCK)
        for (int i = 0; i < STAIR_BLOCK; i += LANES) {
            lanes energy = lanes_load(nodes + i), w0 = lanes_load(nodes + STAIR_BLOCK + i),
                  w1 = lanes_load(nodes + 2 * STAIR_BLOCK + i), all = lanes_set(0);
            for (int k = 0; k < angles; k++)
                all += add_direction(energy, w0, w1, &angle[k], cut, top,
                                     room + (size_t)k * STAIR_TWO_ROWS_SUMS * LANES);
            lanes_store(mass + i, all);
        }
    for (int k = 0; k < angles * STAIR_TWO_ROWS_SUMS; k++)
        sums[k] = lanes_sum(lanes_load(room + (size_t)k * LANES));
}

/* sums (rows, 5): mass times u_0, u_1, u_0^2, u_0 u_1, u_1^2 of each hidden row u, place (blocks, rows * 2,
 * STAIR_BLOCK). */
void STAIR_HOT(stair_two_rows_hidden)(size_t blocks, int rows, const double *place, const double *mass,
                                      double *sums)
{
    lanes acc[5 * STAIR_PAIR_ROWS];
    for (int k = 0; k < 5 * rows; k++) acc[k] = lanes_set(0);
    for (size_t b = 0; b < blocks; b++, mass += STAIR_BLOCK)
        for (int r = 0; r < rows; r++, place += 2 * STAIR_BLOCK)
            for (int i = 0; i < STAIR_BLOCK; i += LANES) {
                lanes here = lanes_load(mass + i), u0 = lanes_load(place + i),
                      u1 = lanes_load(place + STAIR_BLOCK + i);
                acc[5 * r] += here * u0;
                acc[5 * r + 1] += here * u1;
                acc[5 * r + 2] += here * u0 * u0;
                acc[5 * r + 3] += here * u0 * u1;
                acc[5 * r + 4] += here * u1 * u1;
            }
    for (int k = 0; k < 5 * rows; k++) sums[k] = lanes_sum(acc[k]);
}
