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

LANES_INLINE void NAME(store)(REAL *p, VECTOR v) { memcpy(p, &v, sizeof v); }

/* Fetches the next tile while this one is read: half of it during each product, so `ahead` advances by half
 * of what is read.  There is an attempt with nearly every register, since a processor drops a fetch that finds
 * all its miss buffers taken; in the order of memory, since that is what it foresees. */
LANES_INLINE const REAL *NAME(fetch)(const REAL *ahead)
{
    __builtin_prefetch(ahead, 0, 2);
    return ahead + WIDTH / 2;
}

/* z (rows, P) += `r` rows of x times `q` rows of w, over `n` columns.  Returns how far `ahead` has come. */
LANES_INLINE const REAL *NAME(dots)(int r, int q, bool fetch, int n, size_t dim, const REAL *x, const REAL *w,
                                    const REAL *ahead, int indices, double *z)
{
    VECTOR sum[4][2] = {{{0}}};
    int d = 0;
    for (; d + WIDTH <= n; d += WIDTH) {
        VECTOR a[2];
        for (int p = 0; p < q; p++) a[p] = NAME(load)(w + (size_t)p * dim + (size_t)d);
        for (int i = 0; i < r; i++) {
            VECTOR b = NAME(load)(x + (size_t)i * dim + (size_t)d);
            LANES_HOLD(b);
            if (fetch) ahead = NAME(fetch)(ahead);
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
    return ahead;
}

/* One function for each shape: together they would not leave the sums in registers. */
#define DOTS(name, r, q)                                                                                     \
    static __attribute__((noinline)) const REAL *NAME(name)(int n, size_t dim, const REAL *x, const REAL *w, \
                                                            const REAL *ahead, int indices, double *z)       \
    {                                                                                                        \
        return ahead ? NAME(dots)(r, q, true, n, dim, x, w, ahead, indices, z)                               \
                     : NAME(dots)(r, q, false, n, dim, x, w, ahead, indices, z);                             \
    }
DOTS(four_by_two, 4, 2)
DOTS(four_by_one, 4, 1)
DOTS(one_by_two, 1, 2)
DOTS(one_by_one, 1, 1)
#undef DOTS

/* all of w against four rows, or one */
LANES_INLINE const REAL *NAME(rows)(bool four, int n, size_t dim, const REAL *x, const REAL *ahead,
                                    int indices, const REAL *w, double *z)
{
    const REAL *reached = ahead;
    for (int p = 0; p < indices; p += 2, ahead = NULL) {
        const REAL *at = w + (size_t)p * dim, *next;
        if (p + 2 <= indices)
            next = (four ? NAME(four_by_two) : NAME(one_by_two))(n, dim, x, at, ahead, indices, z + p);
        else
            next = (four ? NAME(four_by_one) : NAME(one_by_one))(n, dim, x, at, ahead, indices, z + p);
        if (p == 0) reached = next;
    }
    return reached;
}

void STAIR_HOT(NAME(stair_tile_project))(size_t rows, size_t dim, const REAL *x, int indices, const REAL *w,
                                         double *z)
{
    const REAL *ahead = x + rows * dim;
    for (size_t i = 0; i < rows * (size_t)indices; i++) z[i] = 0;
    for (size_t d = 0; d < dim; d += PANEL) {
        int n = dim - d < PANEL ? (int)(dim - d) : PANEL;
        size_t r = 0;
        for (; r + 4 <= rows; r += 4)
            ahead = NAME(rows)(true, n, dim, x + r * dim + d, ahead, indices, w + d, z + r * (size_t)indices);
        for (; r < rows; r++)
            ahead = NAME(rows)(false, n, dim, x + r * dim + d, ahead, indices, w + d, z + r * (size_t)indices);
    }
}

/* sum (q, STRIP columns) += c^T x over `rows` rows; c (rows, q).  Returns how far `ahead` has come. */
LANES_INLINE const REAL *NAME(strip)(int q, bool fetch, const REAL *ahead, size_t rows, size_t dim, const REAL *x,
                                     const REAL *c, REAL *sum)
{
    VECTOR total[2][STRIP / WIDTH];
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++)
            total[p][k] = NAME(load)(sum + (size_t)p * dim + (size_t)(k * WIDTH));
    for (size_t r = 0; r < rows; r++)
        for (int k = 0; k < STRIP / WIDTH; k++) {
            VECTOR b = NAME(load)(x + r * dim + (size_t)(k * WIDTH));
            LANES_HOLD(b);
            if (fetch) ahead = NAME(fetch)(ahead);
            for (int p = 0; p < q; p++) total[p][k] += c[r * (size_t)q + (size_t)p] * b;
        }
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++)
            NAME(store)(sum + (size_t)p * dim + (size_t)(k * WIDTH), total[p][k]);
    return ahead;
}

/* sum (q, dim) += c^T x for one or two columns of c (rows, P), at most GROUP rows */
LANES_INLINE void NAME(gather)(int q, bool fetch, const REAL *ahead, size_t rows, size_t dim, const REAL *x,
                               int indices, const double *c, REAL *sum)
{
    REAL own[2 * GROUP];
    size_t d = 0;
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < q; p++) own[r * (size_t)q + (size_t)p] = (REAL)c[r * (size_t)indices + (size_t)p];
    for (; d + STRIP <= dim; d += STRIP) ahead = NAME(strip)(q, fetch, ahead, rows, dim, x + d, own, sum + d);
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
        const REAL *from = x + r * dim, *ahead = x + (rows + (rows + r) / 2) * dim;
        for (int p = 0; p < indices; p += 2, ahead = NULL) {
            REAL *out = sum + (size_t)p * dim;
            if (p + 2 <= indices && ahead)
                NAME(gather)(2, true, ahead, n, dim, from, indices, at + p, out);
            else if (p + 2 <= indices)
                NAME(gather)(2, false, NULL, n, dim, from, indices, at + p, out);
            else
                NAME(gather)(1, p == 0, ahead, n, dim, from, indices, at + p, out);
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
