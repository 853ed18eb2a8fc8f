/* Sums over hidden nodes: the posterior weights of one sample and the moments they give.
 *
 *   e+- = weight exp(-|+-w - omega|^2 / 2v),   sums of e, e r, e r r^T for the last row's r = +-w - omega,
 * and of (e+ + e-) s, s s^T for each hidden row's s = z - omega.
 *
 * Nodes come in blocks of STAIR_BLOCK, structure of arrays. */
#include "core/isa.h"
#include "core/lanes.h"
#include "posterior/one_row_sums.h"

#define MOST_RATIO  600.0 /* logarithm of a ratio of densities, */
#define LEAST_RATIO -25.0 /* beside 1 */
#define NEGLIGIBLE  14.0  /* cells whose exponents stay that far below the largest do not count */

void STAIR_HOT(stair_one_row_moving)(const stair_one_row_shape *shape, const stair_one_row_sample *sample,
                                     const double *w, const double *z, const double *sides,
                                     const double *log_weight, const double *factor, double *sums);
void STAIR_HOT(stair_one_row_placed)(const stair_one_row_follower *f, bool around, const double *normal,
                                     double *u, double *sides, double *weight);
void STAIR_HOT(stair_one_row_cached)(const stair_one_row_shape *shape, const stair_one_row_sample *sample,
                                     size_t blocks, const double *table, double *sums);
void STAIR_HOT(stair_one_row_window)(const stair_one_row_plane *plane, const stair_one_row_sample *sample,
                                     double reach, double prior, double *restrict upper, double *sums);

/* acc: [0] mass, then m + m(m+1)/2 for each row, the last row first */
LANES_INLINE void accumulate(const int m, const int rows, const stair_one_row_sample *sample, const lanes *w,
                             const lanes *z, const lanes *side, lanes log_weight, lanes factor, lanes *acc)
{
    lanes r[2 * STAIR_ONE_ROW_TOKENS], plus = lanes_set(0), minus = lanes_set(0);
    for (int t = 0; t < m; t++) {
        r[t] = w[t] - sample->omega[t];
        r[m + t] = -w[t] - sample->omega[t];
        plus += r[t] * r[t];
        minus += r[m + t] * r[m + t];
    }
    plus = log_weight - plus * sample->half_inverse;
    minus = log_weight - minus * sample->half_inverse;
    int with_plus = lanes_any(plus > sample->least), with_minus = lanes_any(minus > sample->least);
    if (!with_plus && !with_minus) return;
    plus = with_plus ? factor * lanes_exp(plus) : lanes_set(0); /* most samples know the sign */
    minus = with_minus ? factor * lanes_exp(minus) : lanes_set(0);
    lanes both = plus + minus;
    int at = 0;
    acc[at++] += both;
    for (int t = 0; t < m; t++) acc[at++] += plus * r[t] + minus * r[m + t];
    for (int t = 0; t < m; t++)
        for (int s = 0; s <= t; s++) acc[at++] += plus * r[t] * r[s] + minus * r[m + t] * r[m + s];
    for (int k = 0; k < rows; k++) {
        const lanes *u = z + k * m;
        const double *mean = sample->hidden + k * m;
        lanes x[STAIR_ONE_ROW_TOKENS], rest = side ? both * (1 - side[k] * side[k]) : lanes_set(0);
        for (int t = 0; t < m; t++) x[t] = (side ? side[k] * u[t] : u[t]) - mean[t];
        for (int t = 0; t < m; t++) acc[at++] += both * x[t];
        for (int t = 0; t < m; t++)
            for (int s = 0; s <= t; s++) acc[at++] += both * x[t] * x[s] + (side ? rest * u[t] * u[s] : rest);
    }
}

LANES_INLINE void store(const stair_one_row_shape *shape, const lanes *acc, double *sums)
{
    for (int k = 0; k < shape->sums; k++) sums[k] += lanes_sum(acc[k]);
}

LANES_INLINE void add_block(const int m, const stair_one_row_shape *shape, const stair_one_row_sample *sample,
                            const double *w, const double *z, const double *sides, const double *log_weight,
                            const double *factor, lanes *acc)
{
    for (int i = 0; i < STAIR_BLOCK; i += LANES) {
        lanes here[STAIR_ONE_ROW_TOKENS], hidden[STAIR_ONE_ROW_ROWS * STAIR_ONE_ROW_TOKENS];
        for (int t = 0; t < m; t++) here[t] = lanes_load(w + (size_t)t * STAIR_BLOCK + i);
        lanes side[STAIR_ONE_ROW_ROWS];
        for (int k = 0; k < shape->rows * m; k++) hidden[k] = lanes_load(z + (size_t)k * STAIR_BLOCK + i);
        for (int k = 0; k < shape->rows && sides; k++)
            side[k] = lanes_load(sides + (size_t)k * STAIR_BLOCK + i);
        accumulate(m, shape->rows, sample, here, hidden, sides ? side : NULL,
                   log_weight ? lanes_load(log_weight + i) : lanes_set(0), lanes_load(factor + i), acc);
    }
}

void STAIR_HOT(stair_one_row_moving)(const stair_one_row_shape *shape, const stair_one_row_sample *sample,
                                     const double *w, const double *z, const double *sides,
                                     const double *log_weight, const double *factor, double *sums)
{
    lanes acc[STAIR_ONE_ROW_SUMS];
    for (int k = 0; k < shape->sums; k++) acc[k] = lanes_set(0);
    if (shape->tokens == 2)
        add_block(2, shape, sample, w, z, sides, log_weight, factor, acc);
    else
        add_block(shape->tokens, shape, sample, w, z, sides, log_weight, factor, acc);
    store(shape, acc, sums);
}

/* x from what they were before the stiff ones gave way (sign -1), or back (1). */
LANES_INLINE void give_way(const int dim, const int soft, const double *bend, double sign, lanes *x)
{
    for (int a = 0; a < soft; a++)
        for (int b = 0; b <= a; b++) {
            lanes product = sign * x[a] * x[b];
            for (int i = soft; i < dim; i++) x[i] += *bend++ * product;
        }
}

LANES_INLINE void put_around(const int dim, const int soft, const stair_one_row_follower *f, lanes *x,
                             lanes *at)
{
    for (int k = 0; k < dim; k++) x[k] *= f->wider;
    give_way(dim, soft, f->bend, -1, x);
    for (int k = 0; k < dim; k++) {
        at[k] = lanes_set(f->centre[k]);
        for (int l = 0; l < dim; l++) at[k] += f->root[k * dim + l] * x[l];
    }
}

/* |x|^2 of the nodes `at` with the signs of their rows from the bits of `mirror`. */
LANES_INLINE lanes from_centre(const int m, const int dim, const int soft, const stair_one_row_follower *f,
                               int mirror, const lanes *at)
{
    lanes x[STAIR_HIDDEN_DIM], away[STAIR_HIDDEN_DIM], square = lanes_set(0);
    for (int k = 0; k < dim; k++) away[k] = (mirror >> k / m & 1 ? -at[k] : at[k]) - f->centre[k];
    for (int k = 0; k < dim; k++) {
        x[k] = lanes_set(0);
        for (int l = 0; l < dim; l++) x[k] += f->whiten[k * dim + l] * away[l];
    }
    give_way(dim, soft, f->bend, 1, x);
    for (int k = 0; k < dim; k++) square += x[k] * x[k];
    return square;
}

/* With c = u.omega/v of each row: the prior of +-u is exp(-(|u|^2 + |omega|^2)/2v) 2 cosh c, and tanh c the
 * mean sign. */
LANES_INLINE void place_nodes(const int m, const int dim, const int soft, const stair_one_row_follower *f,
                              bool around, const double *normal, double *u, double *sides, double *weight)
{
    const int rows = dim / m;
    double narrow = 1 / (f->wider * f->wider);
    for (int i = 0; i < STAIR_BLOCK; i += LANES) {
        lanes at[STAIR_HIDDEN_DIM], x[STAIR_HIDDEN_DIM], far = lanes_set(f->log_ratio), fold = lanes_set(1),
                                                         near = lanes_set(0);
        for (int k = 0; k < dim; k++) x[k] = lanes_load(normal + (size_t)k * STAIR_BLOCK + i);
        if (around)
            put_around(dim, soft, f, x, at);
        else
            for (int k = 0; k < dim; k++) at[k] = f->mean[k] + f->deviation[k] * x[k];
        for (int r = 0; r < rows; r++) {
            lanes along = lanes_set(0);
            for (int k = r * m; k < (r + 1) * m; k++) {
                lanes size = at[k] * at[k] + f->mean[k] * f->mean[k];
                far += 0.5 * f->inverse[k] * f->inverse[k] * size;
                along += f->inverse[k] * f->inverse[k] * at[k] * f->mean[k];
                lanes_store(u + (size_t)k * STAIR_BLOCK + i, at[k]);
            }
            lanes size = lanes_abs(along), small = lanes_exp_short(-2 * size);
            far -= size;
            fold *= 1 + small;
            lanes side = (1 - small) / (1 + small);
            lanes_store(sides + (size_t)r * STAIR_BLOCK + i, lanes_pick(along < 0, -side, side));
        }
        for (int mirror = 0; mirror < 1 << rows; mirror++) {
            lanes ratio = far - 0.5 * narrow * from_centre(m, dim, soft, f, mirror, at);
            if (lanes_any(ratio > LEAST_RATIO))
                near += lanes_exp_short(lanes_min(ratio, lanes_set(MOST_RATIO)));
        }
        lanes_store(weight + i, fold / (fold + near));
    }
}

/* Nodes u (dim, STAIR_BLOCK) from normal x; each stands for all signs of its rows: `sides` (rows,
 * STAIR_BLOCK) are the means of these signs under the prior, and `weight` the prior of all of them in units
 * of the density that nodes have there. */
void STAIR_HOT(stair_one_row_placed)(const stair_one_row_follower *f, bool around, const double *normal,
                                     double *u, double *sides, double *weight)
{
    if (f->tokens == 2 && f->dim == 4)
        place_nodes(2, 4, 2, f, around, normal, u, sides, weight);
    else
        place_nodes(f->tokens, f->dim, f->soft, f, around, normal, u, sides, weight);
}

/* A block of the table: log weight, T (m, m), z (rows * m); w = T x. */
LANES_INLINE void add_tables(const int m, const int rows, const stair_one_row_sample *sample, size_t blocks,
                             const double *table, lanes *acc)
{
    size_t width = (size_t)(1 + m * m + rows * m) * STAIR_BLOCK;
    for (size_t b = 0; b < blocks; b++, table += width)
        for (int i = 0; i < STAIR_BLOCK; i += LANES) {
            lanes w[STAIR_ONE_ROW_TOKENS], hidden[STAIR_ONE_ROW_ROWS * STAIR_ONE_ROW_TOKENS];
            for (int k = 0; k < rows * m; k++)
                hidden[k] = lanes_load(table + (size_t)(1 + m * m + k) * STAIR_BLOCK + i);
            for (int t = 0; t < m; t++) {
                w[t] = lanes_set(0);
                for (int s = 0; s < m; s++)
                    w[t] += lanes_load(table + (size_t)(1 + t * m + s) * STAIR_BLOCK + i) * sample->x[s];
            }
            accumulate(m, rows, sample, w, hidden, NULL, lanes_load(table + i), lanes_set(1), acc);
        }
}

void STAIR_HOT(stair_one_row_cached)(const stair_one_row_shape *shape, const stair_one_row_sample *sample,
                                     size_t blocks, const double *table, double *sums)
{
    lanes acc[STAIR_ONE_ROW_SUMS];
    for (int k = 0; k < shape->sums; k++) acc[k] = lanes_set(0);
    if (shape->tokens == 2 && shape->rows == 1)
        add_tables(2, 1, sample, blocks, table, acc);
    else if (shape->tokens == 2)
        add_tables(2, shape->rows, sample, blocks, table, acc);
    else
        add_tables(shape->tokens, shape->rows, sample, blocks, table, acc);
    store(shape, acc, sums);
}

#define CELL_LANES (STAIR_CELL / LANES)

/* Square of how far `at` is from the interval. */
LANES_INLINE lanes outside(lanes low, lanes high, double at)
{
    lanes away = lanes_max(lanes_max(low - at, at - high), lanes_set(0));
    return away * away;
}

/* From above, the exponents of LANES cells of one row; `least` rises to what one node of each has. */
LANES_INLINE lanes bound_cells(const stair_one_row_plane *plane, const stair_one_row_sample *sample,
                               double prior, const double *bounds, int i, int j, lanes *least)
{
    double number[LANES], width = STAIR_CELL_SIDE * plane->step, last = (STAIR_CELL_SIDE - 1) * plane->step;
    for (int k = 0; k < LANES; k++) number[k] = plane->low + (j + k) * width;
    lanes z[2] = {lanes_set(plane->low + i * width), lanes_load(number)};
    lanes plus = lanes_set(0), minus = lanes_set(0), far = lanes_set(0);
    lanes plus_middle = lanes_set(0), minus_middle = lanes_set(0), far_middle = lanes_set(0);
    for (int t = 0; t < 2; t++) {
        lanes low = lanes_set(0), high = lanes_set(0), middle = lanes_set(0);
        for (int s = 0; s < 2; s++) {
            lanes a = lanes_load(bounds + (CELL_LEAST + 2 * t + s) * STAIR_MOST_CELLS + j) * sample->x[s];
            lanes b = lanes_load(bounds + (CELL_MOST + 2 * t + s) * STAIR_MOST_CELLS + j) * sample->x[s];
            low += lanes_min(a, b);
            high += lanes_max(a, b);
            middle +=
                lanes_load(bounds + (CELL_MIDDLE + 1 + 2 * t + s) * STAIR_MOST_CELLS + j) * sample->x[s];
        }
        plus += outside(low, high, sample->omega[t]);
        minus += outside(low, high, -sample->omega[t]);
        far += outside(z[t], z[t] + last, sample->hidden[t]);
        plus_middle += outside(middle, middle, sample->omega[t]);
        minus_middle += outside(middle, middle, -sample->omega[t]);
        lanes node = z[t] + STAIR_CELL_SIDE / 2 * plane->step;
        far_middle += outside(node, node, sample->hidden[t]);
    }
    *least = lanes_max(*least, lanes_load(bounds + CELL_MIDDLE * STAIR_MOST_CELLS + j) - prior * far_middle -
                                   sample->half_inverse * lanes_min(plus_middle, minus_middle));
    return lanes_load(bounds + CELL_TOP * STAIR_MOST_CELLS + j) - prior * far -
           sample->half_inverse * lanes_min(plus, minus);
}

/* Weights of one sign of the last row at the nodes of a cell, all at once for the sake of the exponentials,
 * and the sums of that row. */
LANES_INLINE void add_sign(const stair_one_row_sample *sample, double sign, const lanes *prior,
                           lanes w[2][CELL_LANES], lanes *both, lanes *acc)
{
    lanes weight[CELL_LANES], r[2][CELL_LANES], top = lanes_set(-1e300);
    for (int k = 0; k < CELL_LANES; k++) {
        for (int t = 0; t < 2; t++) r[t][k] = sign * w[t][k] - sample->omega[t];
        weight[k] = prior[k] - sample->half_inverse * (r[0][k] * r[0][k] + r[1][k] * r[1][k]);
        top = lanes_max(top, weight[k]);
    }
    if (!lanes_any(top > sample->least)) return;
    for (int k = 0; k < CELL_LANES; k++) weight[k] = lanes_exp(weight[k]);
    for (int k = 0; k < CELL_LANES; k++) {
        both[k] += weight[k];
        acc[1] += weight[k] * r[0][k];
        acc[2] += weight[k] * r[1][k];
        acc[3] += weight[k] * r[0][k] * r[0][k];
        acc[4] += weight[k] * r[0][k] * r[1][k];
        acc[5] += weight[k] * r[1][k] * r[1][k];
    }
}

LANES_INLINE void add_cell(const stair_one_row_plane *plane, const stair_one_row_sample *sample, double prior,
                           int i, int j, lanes *acc)
{
    static const double row[STAIR_CELL] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
                        column[STAIR_CELL] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    const double *node = plane->nodes + (size_t)(i * plane->side + j) * 5 * STAIR_CELL;
    double width = STAIR_CELL_SIDE * plane->step;
    lanes w[2][CELL_LANES], away[2][CELL_LANES], near[CELL_LANES], both[CELL_LANES];
    for (int k = 0; k < CELL_LANES; k++) {
        away[0][k] = lanes_load(row + k * LANES) * plane->step + (plane->low + i * width - sample->hidden[0]);
        away[1][k] =
            lanes_load(column + k * LANES) * plane->step + (plane->low + j * width - sample->hidden[1]);
        near[k] = lanes_load(node + k * LANES) - prior * (away[0][k] * away[0][k] + away[1][k] * away[1][k]);
        both[k] = lanes_set(0);
        for (int t = 0; t < 2; t++)
            w[t][k] = lanes_load(node + (1 + 2 * t) * STAIR_CELL + k * LANES) * sample->x[0] +
                      lanes_load(node + (2 + 2 * t) * STAIR_CELL + k * LANES) * sample->x[1];
    }
    add_sign(sample, 1, near, w, both, acc);
    add_sign(sample, -1, near, w, both, acc);
    for (int k = 0; k < CELL_LANES; k++) {
        lanes first = both[k] * away[0][k], second = both[k] * away[1][k];
        acc[0] += both[k];
        acc[6] += first;
        acc[7] += second;
        acc[8] += first * away[0][k];
        acc[9] += first * away[1][k];
        acc[10] += second * away[1][k];
    }
}

/* Cells that meet [from, to] along one side of the plane. */
LANES_INLINE int first_cell(const stair_one_row_plane *plane, double from)
{
    double cell = (from - plane->low) / (STAIR_CELL_SIDE * plane->step);
    return cell < 0 ? 0 : cell < plane->side ? (int)cell : plane->side;
}

/* The nodes of a fixed plane within `reach` of the hidden mean, with the prior exp(-prior |z - mean|^2).
 * upper: room for bounds of the cells. */
void STAIR_HOT(stair_one_row_window)(const stair_one_row_plane *plane, const stair_one_row_sample *sample,
                                     double reach, double prior, double *restrict upper, double *sums)
{
    lanes acc[11], least = lanes_set(-1e300);
    stair_one_row_shape shape = {.sums = 11};
    int from[2], to[2];
    for (int k = 0; k < shape.sums; k++) acc[k] = lanes_set(0);
    for (int t = 0; t < 2; t++) {
        from[t] = first_cell(plane, sample->hidden[t] - reach);
        to[t] = first_cell(plane, sample->hidden[t] + reach) + 1;
        if (to[t] > plane->side) to[t] = plane->side;
    }
    for (int i = from[0]; i < to[0]; i++)
        for (int j = from[1] / LANES * LANES; j < to[1]; j += LANES)
            lanes_store(upper + i * STAIR_MOST_CELLS + j,
                        bound_cells(plane, sample, prior,
                                    plane->bounds + (size_t)i * CELL_BOUNDS * STAIR_MOST_CELLS, i, j,
                                    &least));
    stair_one_row_sample counted = *sample;
    double cut = counted.least = lanes_top(least) - NEGLIGIBLE;
    for (int i = from[0]; i < to[0]; i++)
        for (int j = from[1]; j < to[1]; j++)
            if (upper[i * STAIR_MOST_CELLS + j] > cut) add_cell(plane, &counted, prior, i, j, acc);
    store(&shape, acc, sums);
}
