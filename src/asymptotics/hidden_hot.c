/* Sums over hidden nodes: the posterior weights of one sample and the moments they give.
 *
 *   e+- = weight exp(-|+-w - omega|^2 / 2v),   sums of e, e r, e r r^T for the last row's r = +-w - omega,
 * and of (e+ + e-) s, s s^T for each hidden row's s = z - omega.
 *
 * Nodes come in blocks of STAIR_BLOCK, structure of arrays. */
#include "core/isa.h"
#include "core/lanes.h"
#include "asymptotics/hidden_sums.h"

void STAIR_HOT(stair_hidden_moving)(const stair_hidden_shape *shape, const stair_hidden_sample *sample,
                                    const double *w, const double *z, const double *log_weight,
                                    const double *factor, double *sums);
void STAIR_HOT(stair_hidden_cached)(const stair_hidden_shape *shape, const stair_hidden_sample *sample,
                                    size_t blocks, const double *table, double *sums);
void STAIR_HOT(stair_hidden_window)(const stair_hidden_plane *plane, const stair_hidden_sample *sample,
                                    double reach, double prior, double *sums);

/* acc: [0] mass, then m + m(m+1)/2 for each row, the last row first */
LANES_INLINE void accumulate(const int m, const int rows, const stair_hidden_sample *sample, const lanes *w,
                             const lanes *z, lanes log_weight, lanes factor, lanes *acc)
{
    lanes r[2 * STAIR_HIDDEN_TOKENS], plus = lanes_set(0), minus = lanes_set(0);
    for (int t = 0; t < m; t++) {
        r[t] = w[t] - sample->omega[t];
        r[m + t] = -w[t] - sample->omega[t];
        plus += r[t] * r[t];
        minus += r[m + t] * r[m + t];
    }
    plus = log_weight - plus * sample->half_inverse;
    minus = log_weight - minus * sample->half_inverse;
    if (!lanes_any(lanes_max(plus, minus) > STAIR_HIDDEN_LEAST)) return;
    plus = factor * lanes_exp(plus);
    minus = factor * lanes_exp(minus);
    lanes both = plus + minus;
    int at = 0;
    acc[at++] += both;
    for (int t = 0; t < m; t++) acc[at++] += plus * r[t] + minus * r[m + t];
    for (int t = 0; t < m; t++)
        for (int s = 0; s <= t; s++) acc[at++] += plus * r[t] * r[s] + minus * r[m + t] * r[m + s];
    for (int k = 0; k < rows; k++) {
        lanes x[STAIR_HIDDEN_TOKENS];
        for (int t = 0; t < m; t++) x[t] = z[k * m + t] - sample->hidden[k * m + t];
        for (int t = 0; t < m; t++) acc[at++] += both * x[t];
        for (int t = 0; t < m; t++)
            for (int s = 0; s <= t; s++) acc[at++] += both * x[t] * x[s];
    }
}

LANES_INLINE void store(const stair_hidden_shape *shape, const lanes *acc, double *sums)
{
    for (int k = 0; k < shape->sums; k++) sums[k] += lanes_sum(acc[k]);
}

LANES_INLINE void add_block(const int m, const stair_hidden_shape *shape, const stair_hidden_sample *sample,
                            const double *w, const double *z, const double *log_weight, const double *factor,
                            lanes *acc)
{
    for (int i = 0; i < STAIR_BLOCK; i += LANES) {
        lanes here[STAIR_HIDDEN_TOKENS], hidden[STAIR_HIDDEN_ROWS * STAIR_HIDDEN_TOKENS];
        for (int t = 0; t < m; t++) here[t] = lanes_load(w + (size_t)t * STAIR_BLOCK + i);
        for (int k = 0; k < shape->rows * m; k++) hidden[k] = lanes_load(z + (size_t)k * STAIR_BLOCK + i);
        accumulate(m, shape->rows, sample, here, hidden, lanes_load(log_weight + i), lanes_load(factor + i),
                   acc);
    }
}

void STAIR_HOT(stair_hidden_moving)(const stair_hidden_shape *shape, const stair_hidden_sample *sample,
                                    const double *w, const double *z, const double *log_weight,
                                    const double *factor, double *sums)
{
    lanes acc[STAIR_HIDDEN_SUMS];
    for (int k = 0; k < shape->sums; k++) acc[k] = lanes_set(0);
    if (shape->tokens == 2)
        add_block(2, shape, sample, w, z, log_weight, factor, acc);
    else
        add_block(shape->tokens, shape, sample, w, z, log_weight, factor, acc);
    store(shape, acc, sums);
}

/* A block of the table: log weight, T (m, m), z (rows * m); w = T x. */
LANES_INLINE void add_tables(const int m, const int rows, const stair_hidden_sample *sample, size_t blocks,
                             const double *table, lanes *acc)
{
    size_t width = (size_t)(1 + m * m + rows * m) * STAIR_BLOCK;
    for (size_t b = 0; b < blocks; b++, table += width)
        for (int i = 0; i < STAIR_BLOCK; i += LANES) {
            lanes w[STAIR_HIDDEN_TOKENS], hidden[STAIR_HIDDEN_ROWS * STAIR_HIDDEN_TOKENS];
            for (int k = 0; k < rows * m; k++)
                hidden[k] = lanes_load(table + (size_t)(1 + m * m + k) * STAIR_BLOCK + i);
            for (int t = 0; t < m; t++) {
                w[t] = lanes_set(0);
                for (int s = 0; s < m; s++)
                    w[t] += lanes_load(table + (size_t)(1 + t * m + s) * STAIR_BLOCK + i) * sample->x[s];
            }
            accumulate(m, rows, sample, w, hidden, lanes_load(table + i), lanes_set(1), acc);
        }
}

void STAIR_HOT(stair_hidden_cached)(const stair_hidden_shape *shape, const stair_hidden_sample *sample,
                                    size_t blocks, const double *table, double *sums)
{
    lanes acc[STAIR_HIDDEN_SUMS];
    for (int k = 0; k < shape->sums; k++) acc[k] = lanes_set(0);
    if (shape->tokens == 2 && shape->rows == 1)
        add_tables(2, 1, sample, blocks, table, acc);
    else if (shape->tokens == 2)
        add_tables(2, shape->rows, sample, blocks, table, acc);
    else
        add_tables(shape->tokens, shape->rows, sample, blocks, table, acc);
    store(shape, acc, sums);
}

/* Nodes of a row of the plane, from `from` (a multiple of eight) to `to`; z0 is the coordinate they share. */
LANES_INLINE void add_row(const stair_hidden_plane *plane, const stair_hidden_sample *sample, double prior,
                          const double *row, double z0, int from, int to, lanes *acc)
{
    double number[LANES];
    for (int i = 0; i < LANES; i++) number[i] = plane->low + (from + i) * plane->step;
    lanes z[2] = {lanes_set(z0), lanes_load(number)};
    double near = (z0 - sample->hidden[0]) * (z0 - sample->hidden[0]);
    for (int j = from; j < to; j += LANES, z[1] += LANES * plane->step) {
        lanes away = z[1] - sample->hidden[1], w[2];
        for (int t = 0; t < 2; t++)
            w[t] = lanes_load(row + (size_t)(1 + 2 * t) * plane->stride + j) * sample->x[0] +
                   lanes_load(row + (size_t)(2 + 2 * t) * plane->stride + j) * sample->x[1];
        accumulate(2, 1, sample, w, z, lanes_load(row + j) - prior * (near + away * away), lanes_set(1), acc);
    }
}

/* The nodes of a fixed plane within `reach` of the hidden mean, with the prior exp(-prior |z - mean|^2). */
void STAIR_HOT(stair_hidden_window)(const stair_hidden_plane *plane, const stair_hidden_sample *sample,
                                    double reach, double prior, double *sums)
{
    lanes acc[STAIR_HIDDEN_SUMS];
    stair_hidden_shape shape = {.sums = 11};
    for (int k = 0; k < shape.sums; k++) acc[k] = lanes_set(0);
    for (int i = 0; i < plane->side; i++) {
        double z0 = plane->low + i * plane->step,
               chord = reach * reach - (z0 - sample->hidden[0]) * (z0 - sample->hidden[0]);
        if (chord <= 0) continue;
        chord = __builtin_sqrt(chord);
        double first = (sample->hidden[1] - chord - plane->low) / plane->step,
               last = first + 2 * chord / plane->step + 1;
        int from = first > 0 ? (int)first / 8 * 8 : 0, to = last < plane->side ? (int)last : plane->side;
        if (last > 0 && from < to)
            add_row(plane, sample, prior, plane->columns + (size_t)i * 5 * plane->stride, z0, from, to, acc);
    }
    store(&shape, acc, sums);
}
