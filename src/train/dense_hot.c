/* Small dense products and row softmax in double precision, eight columns at a time.
 *
 * The classifier's matrices are a few dozen rows by at most a few hundred columns: too small to gain
 * from the packing of a large matrix library, and here the order of every sum is fixed.
 */
#include "core/isa.h"
#include "core/lanes.h"
#include "train/dense.h"

STAIR_HOT_DECLARE(void, stair_multiply, (stair_product p));
STAIR_HOT_DECLARE(void, stair_softmax_rows,
                  (int n, int columns, int stride, double scale, const double *multiplicity, double *a));

#define TILE_COLUMNS 8                      /* of a tile: what matrices are padded to, */
#define TILE_VECTORS (TILE_COLUMNS / LANES) /* in so many vectors */
#define TILE_ROWS    6 /* with AVX2 twelve accumulators, leaving four registers for the operands */

/* n rows by one tile's columns */
LANES_INLINE void tile(int n, const stair_product *p, int row, int column)
{
    lanes sum[TILE_ROWS][TILE_VECTORS];
    double *c = p->c + (size_t)row * (size_t)p->c_stride + column;
    const double *a = p->a + (size_t)row * (size_t)p->a_row;
    for (int r = 0; r < n; r++)
        for (int v = 0; v < TILE_VECTORS; v++)
            sum[r][v] = p->add ? lanes_load(c + (size_t)r * (size_t)p->c_stride + v * LANES) : lanes_set(0);
    for (int k = 0; k < p->inner; k++) {
        lanes b[TILE_VECTORS];
        for (int v = 0; v < TILE_VECTORS; v++)
            b[v] = lanes_load(p->b + (size_t)k * (size_t)p->b_stride + column + v * LANES);
        for (int r = 0; r < n; r++) {
            double factor = a[(size_t)r * (size_t)p->a_row + (size_t)k * (size_t)p->a_inner];
            for (int v = 0; v < TILE_VECTORS; v++) sum[r][v] += factor * b[v];
        }
    }
    for (int r = 0; r < n; r++)
        for (int v = 0; v < TILE_VECTORS; v++)
            lanes_store(c + (size_t)r * (size_t)p->c_stride + v * LANES, sum[r][v]);
}

void STAIR_HOT(stair_multiply)(stair_product p)
{
    for (int column = 0; column < p.columns; column += TILE_COLUMNS) {
        int row = 0;
        for (; row + TILE_ROWS <= p.rows; row += TILE_ROWS) tile(TILE_ROWS, &p, row, column);
        switch (p.rows - row) {
        case 5:
            tile(5, &p, row, column);
            break;
        case 4:
            tile(4, &p, row, column);
            break;
        case 3:
            tile(3, &p, row, column);
            break;
        case 2:
            tile(2, &p, row, column);
            break;
        case 1:
            tile(1, &p, row, column);
            break;
        default:
            break;
        }
    }
}

/* Rows of a (n, columns of stride): a_ij <- mu_j exp(a_ij scale) / sum_k mu_k exp(a_ik scale).  mu is 0
 * in the columns that pad; a holds zeros there, which at worst make the shift too large, by as much as
 * a row's true maximum is below 0: of h h^T the diagonal is not. */
void STAIR_HOT(stair_softmax_rows)(int n, int columns, int stride, double scale, const double *multiplicity,
                                   double *a)
{
    for (int i = 0; i < n; i++) {
        double *row = a + (size_t)i * (size_t)stride;
        lanes top = lanes_load(row) * scale, sum = {0};
        for (int j = LANES; j < columns; j += LANES) top = lanes_max(top, lanes_load(row + j) * scale);
        double shift = lanes_top(top);
        for (int j = 0; j < columns; j += LANES) {
            lanes e = lanes_load(multiplicity + j) * lanes_exp(lanes_load(row + j) * scale - shift);
            lanes_store(row + j, e);
            sum += e;
        }
        double factor = 1 / lanes_sum(sum);
        for (int j = 0; j < columns; j += LANES) lanes_store(row + j, lanes_load(row + j) * factor);
    }
}
