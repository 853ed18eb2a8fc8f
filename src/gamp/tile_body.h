/* Body of the tile kernels for one element type: REAL, and SOME, a vector of LANES of them.
 * Included by tile_hot.c alone. */

LANES_INLINE lanes NAME(load)(const REAL *p)
{
    SOME v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, lanes);
}

/* z (rows, P) += `r` rows of x times `q` rows of w, over `n` columns */
LANES_INLINE void NAME(dots)(int r, int q, int n, size_t dim, const REAL *x, const double *w, int indices, double *z)
{
    lanes sum[4][2] = {{{0}}};
    int d = 0;
    for (; d + LANES <= n; d += LANES) {
        lanes a[2];
        for (int p = 0; p < q; p++) a[p] = lanes_load(w + (size_t)p * dim + (size_t)d);
        for (int i = 0; i < r; i++) {
            lanes b = NAME(load)(x + (size_t)i * dim + (size_t)d);
            for (int p = 0; p < q; p++) sum[i][p] += a[p] * b;
        }
    }
    for (int i = 0; i < r; i++)
        for (int p = 0; p < q; p++) {
            double total = lanes_sum(sum[i][p]);
            for (int e = d; e < n; e++) total += w[(size_t)p * dim + (size_t)e] * (double)x[(size_t)i * dim + (size_t)e];
            z[i * indices + p] += total;
        }
}

LANES_INLINE void NAME(rows)(int r, int n, size_t dim, const REAL *x, int indices, const double *w, double *z)
{
    int p = 0;
    for (; p + 2 <= indices; p += 2) NAME(dots)(r, 2, n, dim, x, w + (size_t)p * dim, indices, z + p);
    if (p < indices) NAME(dots)(r, 1, n, dim, x, w + (size_t)p * dim, indices, z + p);
}

void STAIR_HOT(NAME(stair_tile_project))(size_t rows, size_t dim, const REAL *x, int indices, const double *w, double *z)
{
    for (size_t i = 0; i < rows * (size_t)indices; i++) z[i] = 0;
    for (size_t r = 0; r < rows; r += 4)
        for (size_t d = 0; d < dim; d += PANEL) {
            int n = dim - d < PANEL ? (int)(dim - d) : PANEL;
            const REAL *at = x + r * dim + d;
            double *out = z + r * (size_t)indices;
            if (r + 4 <= rows)
                NAME(rows)(4, n, dim, at, indices, w + d, out);
            else
                NAME(rows)((int)(rows - r), n, dim, at, indices, w + d, out);
        }
}

/* sum (q, LANES*STRIP columns) += c^T x over all rows */
LANES_INLINE void NAME(strip)(int q, size_t rows, size_t dim, const REAL *x, int indices, const double *c, double *sum)
{
    lanes total[2][STRIP];
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP; k++) total[p][k] = lanes_load(sum + (size_t)p * dim + (size_t)(k * LANES));
    for (size_t r = 0; r < rows; r++)
        for (int k = 0; k < STRIP; k++) {
            lanes b = NAME(load)(x + r * dim + (size_t)(k * LANES));
            for (int p = 0; p < q; p++) total[p][k] += c[r * (size_t)indices + (size_t)p] * b;
        }
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP; k++) lanes_store(sum + (size_t)p * dim + (size_t)(k * LANES), total[p][k]);
}

void STAIR_HOT(NAME(stair_tile_collect))(size_t rows, size_t dim, const REAL *x, int indices, const double *c, double *sum)
{
    size_t d = 0;
    for (; d + LANES * STRIP <= dim; d += LANES * STRIP) {
        int p = 0;
        for (; p + 2 <= indices; p += 2) NAME(strip)(2, rows, dim, x + d, indices, c + p, sum + (size_t)p * dim + d);
        if (p < indices) NAME(strip)(1, rows, dim, x + d, indices, c + p, sum + (size_t)p * dim + d);
    }
    for (; d < dim; d++)
        for (int p = 0; p < indices; p++) {
            double total = sum[(size_t)p * dim + d];
            for (size_t r = 0; r < rows; r++) total += c[r * (size_t)indices + (size_t)p] * (double)x[r * dim + d];
            sum[(size_t)p * dim + d] = total;
        }
}
