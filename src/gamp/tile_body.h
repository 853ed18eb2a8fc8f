/* Body of the tile kernels for one element type: REAL, WIDTH of them in a VECTOR (one register).
 *
 * Products are summed in REAL over at most PANEL columns, and over at most STAIR_TILE_ROWS rows between
 * flushes, from there on in double. Included by tile_hot.c alone. */

LANES_INLINE VECTOR NAME(load)(const REAL *p)
{
    VECTOR v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* z (rows, P) += `r` rows of x times `q` rows of w, over `n` columns.  `ahead`, where the next tile lies, is
 * fetched meanwhile: two rows of the four; collecting fetches the others. */
LANES_INLINE void NAME(dots)(int r, int q, int n, size_t dim, const REAL *x, const REAL *w, const REAL *ahead,
                             int indices, double *z)
{
    VECTOR sum[4][2] = {{{0}}};
    int d = 0;
    for (; d + WIDTH <= n; d += WIDTH) {
        VECTOR a[2];
        if (ahead && d % (64 / (int)sizeof(REAL)) == 0)
            for (int i = 0; i < r; i += 2) __builtin_prefetch(ahead + (size_t)i * dim + (size_t)d, 0, 2);
        for (int p = 0; p < q; p++) a[p] = NAME(load)(w + (size_t)p * dim + (size_t)d);
        for (int i = 0; i < r; i++) {
            VECTOR b = NAME(load)(x + (size_t)i * dim + (size_t)d);
            for (int p = 0; p < q; p++) sum[i][p] += a[p] * b;
        }
    }
    for (int i = 0; i < r; i++)
        for (int p = 0; p < q; p++) {
            double total = TOTAL(sum[i][p]);
            for (int e = d; e < n; e++)
                total += (double)w[(size_t)p * dim + (size_t)e] * (double)x[(size_t)i * dim + (size_t)e];
            z[i * indices + p] += total;
        }
}

LANES_INLINE void NAME(rows)(int r, int n, size_t dim, const REAL *x, const REAL *ahead, int indices,
                             const REAL *w, double *z)
{
    int p = 2;
    if (indices == 1)
        NAME(dots)(r, 1, n, dim, x, w, ahead, indices, z);
    else
        NAME(dots)(r, 2, n, dim, x, w, ahead, indices, z);
    for (; p + 2 <= indices; p += 2) NAME(dots)(r, 2, n, dim, x, w + (size_t)p * dim, NULL, indices, z + p);
    if (p < indices) NAME(dots)(r, 1, n, dim, x, w + (size_t)p * dim, NULL, indices, z + p);
}

void STAIR_HOT(NAME(stair_tile_project))(size_t rows, size_t dim, const REAL *x, int indices, const REAL *w,
                                         double *z)
{
    for (size_t i = 0; i < rows * (size_t)indices; i++) z[i] = 0;
    for (size_t r = 0; r < rows; r += 4)
        for (size_t d = 0; d < dim; d += PANEL) {
            int n = dim - d < PANEL ? (int)(dim - d) : PANEL;
            const REAL *at = x + r * dim + d;
            double *out = z + r * (size_t)indices;
            if (r + 4 <= rows)
                NAME(rows)(4, n, dim, at, at + rows * dim, indices, w + d, out);
            else
                NAME(rows)((int)(rows - r), n, dim, at, at + rows * dim, indices, w + d, out);
        }
}

/* sum (q, STRIP columns) += c^T x over `rows` rows; c (rows, q).  The rows that follow these in memory are
 * the next tile: every other one is fetched meanwhile. */
LANES_INLINE void NAME(strip)(int q, bool ahead, size_t rows, size_t dim, const REAL *x, const REAL *c,
                              REAL *sum)
{
    VECTOR total[2][STRIP / WIDTH];
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++)
            total[p][k] = NAME(load)(sum + (size_t)p * dim + (size_t)(k * WIDTH));
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < STRIP * sizeof(REAL) && ahead && r % 2; k += 64)
            __builtin_prefetch((const char *)(x + (r + rows) * dim) + k, 0, 2);
        for (int k = 0; k < STRIP / WIDTH; k++) {
            VECTOR b = NAME(load)(x + r * dim + (size_t)(k * WIDTH));
            for (int p = 0; p < q; p++) total[p][k] += c[r * (size_t)q + (size_t)p] * b;
        }
    }
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++)
            memcpy(sum + (size_t)p * dim + (size_t)(k * WIDTH), &total[p][k], sizeof(VECTOR));
}

/* sum (q, dim) += c^T x for one or two columns of c (rows, P), at most GROUP rows */
LANES_INLINE void NAME(gather)(int q, bool ahead, size_t rows, size_t dim, const REAL *x, int indices,
                               const double *c, REAL *sum)
{
    REAL own[2 * GROUP];
    size_t d = 0;
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < q; p++) own[r * (size_t)q + (size_t)p] = (REAL)c[r * (size_t)indices + (size_t)p];
    for (; d + STRIP <= dim; d += STRIP) NAME(strip)(q, ahead, rows, dim, x + d, own, sum + d);
    for (; d < dim; d++)
        for (int p = 0; p < q; p++)
            for (size_t r = 0; r < rows; r++)
                sum[(size_t)p * dim + d] += own[r * (size_t)q + (size_t)p] * x[r * dim + d];
}

void STAIR_HOT(NAME(stair_tile_collect))(size_t rows, size_t dim, const REAL *x, int indices, const double *c,
                                         REAL *sum)
{
    for (size_t r = 0; r < rows; r += GROUP) {
        size_t n = rows - r < GROUP ? rows - r : GROUP;
        const double *at = c + r * (size_t)indices;
        for (int p = 0; p < indices; p += 2) {
            REAL *out = sum + (size_t)p * dim;
            if (p + 2 <= indices && p == 0)
                NAME(gather)(2, true, n, dim, x + r * dim, indices, at, out);
            else if (p + 2 <= indices)
                NAME(gather)(2, false, n, dim, x + r * dim, indices, at + p, out);
            else
                NAME(gather)(1, p == 0, n, dim, x + r * dim, indices, at + p, out);
        }
    }
}

void STAIR_HOT(NAME(stair_tile_flush))(size_t count, REAL *part, double *sum)
{
    for (size_t i = 0; i < count; i++) {
        sum[i] += (double)part[i];
        part[i] = 0;
    }
}
