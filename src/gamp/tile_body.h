/* Body of the tile kernels for one element type: REAL, WIDTH of them in a VECTOR (one register).
 *
 * Products are summed in REAL over at most PANEL columns, or GROUP rows, and from there on in double.
 * Included by tile_hot.c alone. */

LANES_INLINE VECTOR NAME(load)(const REAL *p)
{
    VECTOR v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* z (rows, P) += `r` rows of x times `q` rows of w, over `n` columns */
LANES_INLINE void NAME(dots)(int r, int q, int n, size_t dim, const REAL *x, const REAL *w, int indices, double *z)
{
    VECTOR sum[4][2] = {{{0}}};
    int d = 0;
    for (; d + WIDTH <= n; d += WIDTH) {
        VECTOR a[2];
        for (int p = 0; p < q; p++) a[p] = NAME(load)(w + (size_t)p * dim + (size_t)d);
        for (int i = 0; i < r; i++) {
            VECTOR b = NAME(load)(x + (size_t)i * dim + (size_t)d);
            for (int p = 0; p < q; p++) sum[i][p] += a[p] * b;
        }
    }
    for (int i = 0; i < r; i++)
        for (int p = 0; p < q; p++) {
            double total = 0;
            for (int k = 0; k < WIDTH; k++) total += (double)sum[i][p][k];
            for (int e = d; e < n; e++) total += (double)w[(size_t)p * dim + (size_t)e] * (double)x[(size_t)i * dim + (size_t)e];
            z[i * indices + p] += total;
        }
}

LANES_INLINE void NAME(rows)(int r, int n, size_t dim, const REAL *x, int indices, const REAL *w, double *z)
{
    int p = 0;
    for (; p + 2 <= indices; p += 2) NAME(dots)(r, 2, n, dim, x, w + (size_t)p * dim, indices, z + p);
    if (p < indices) NAME(dots)(r, 1, n, dim, x, w + (size_t)p * dim, indices, z + p);
}

void STAIR_HOT(NAME(stair_tile_project))(size_t rows, size_t dim, const REAL *x, int indices, const REAL *w, double *z)
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

/* sum (q, STRIP columns) += c^T x over `rows` rows; c (rows, q) */
LANES_INLINE void NAME(strip)(int q, size_t rows, size_t dim, const REAL *x, const REAL *c, double *sum)
{
    VECTOR total[2][STRIP / WIDTH] = {{{0}}};
    for (size_t r = 0; r < rows; r++)
        for (int k = 0; k < STRIP / WIDTH; k++) {
            VECTOR b = NAME(load)(x + r * dim + (size_t)(k * WIDTH));
            for (int p = 0; p < q; p++) total[p][k] += c[r * (size_t)q + (size_t)p] * b;
        }
    for (int p = 0; p < q; p++) {
        REAL part[STRIP];
        memcpy(part, total[p], sizeof part);
        for (int i = 0; i < STRIP; i++) sum[(size_t)p * dim + (size_t)i] += (double)part[i];
    }
}

/* sum (q, dim) += c^T x for one or two columns of c (rows, P), at most GROUP rows */
LANES_INLINE void NAME(gather)(int q, size_t rows, size_t dim, const REAL *x, int indices, const double *c, double *sum)
{
    REAL own[2 * GROUP];
    size_t d = 0;
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < q; p++) own[r * (size_t)q + (size_t)p] = (REAL)c[r * (size_t)indices + (size_t)p];
    for (; d + STRIP <= dim; d += STRIP) NAME(strip)(q, rows, dim, x + d, own, sum + d);
    for (; d < dim; d++)
        for (int p = 0; p < q; p++)
            for (size_t r = 0; r < rows; r++) sum[(size_t)p * dim + d] += (double)own[r * (size_t)q + (size_t)p] * (double)x[r * dim + d];
}

void STAIR_HOT(NAME(stair_tile_collect))(size_t rows, size_t dim, const REAL *x, int indices, const double *c, double *sum)
{
    for (size_t r = 0; r < rows; r += GROUP) {
        size_t n = rows - r < GROUP ? rows - r : GROUP;
        const double *at = c + r * (size_t)indices;
        int p = 0;
        for (; p + 2 <= indices; p += 2) NAME(gather)(2, n, dim, x + r * dim, indices, at + p, sum + (size_t)p * dim);
        if (p < indices) NAME(gather)(1, n, dim, x + r * dim, indices, at + p, sum + (size_t)p * dim);
    }
}
