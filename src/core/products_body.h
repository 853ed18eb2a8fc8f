/* Body of the products for one element type: REAL, WIDTH of them in a VECTOR (one register).
 *
 * They are summed in REAL over at most PANEL columns, and over at most STAIR_PRODUCTS_ROWS rows between
 * flushes, from there on in double.  Included by products_hot.c alone. */

LANES_INLINE VECTOR NAME(load)(const REAL *p)
{
    VECTOR v;
    memcpy(&v, p, sizeof v);
    return v;
}

LANES_INLINE void NAME(store)(REAL *p, VECTOR v)
{
    memcpy(p, &v, sizeof v);
}

/* Fetches the rows that follow while these are read: half of them during each product, so `ahead` advances by
 * half of what is read.  There is an attempt with every register, since a processor drops a fetch that finds
 * all its miss buffers taken; in the order of memory, since that is what it foresees. */
LANES_INLINE const REAL *NAME(fetch)(const REAL *ahead)
{
    __builtin_prefetch(ahead, 0, 2);
    return ahead + WIDTH / 2;
}

/* z += `r` rows of x times `q` rows of w, over `n` columns, `r` being 1, 2 or 4: fewer rows take more columns
 * at a time, so that there are always enough sums that do not wait for each other.  Returns how far `ahead`
 * has come. */
LANES_INLINE const REAL *NAME(dots)(int r, int q, bool fetch, const stair_products *s, int n, const REAL *x,
                                    const REAL *w, const REAL *ahead, double *z)
{
    VECTOR sum[4][2];
    const int across = 4 / r;
    for (int k = 0; k < 4; k++)
        for (int p = 0; p < q; p++) sum[k][p] = (VECTOR){0};
    size_t dim = s->dim;
    int d = 0;
    for (; d + across * WIDTH <= n; d += across * WIDTH)
        for (int k = 0; k < across; k++) {
            size_t at = (size_t)(d + k * WIDTH);
            VECTOR a[2];
            for (int p = 0; p < q; p++) a[p] = NAME(load)(w + (size_t)p * dim + at);
            for (int i = 0; i < r; i++) {
                VECTOR b = NAME(load)(x + (size_t)i * dim + at);
                LANES_HOLD(b);
                if (fetch) ahead = NAME(fetch)(ahead);
                for (int p = 0; p < q; p++) sum[i * across + k][p] += a[p] * b;
            }
        }
    double total[4][2] = {{0}}; /* in a loop of its own: with the columns that are left it would not unroll */
    for (int i = 0; i < r; i++)
        for (int p = 0; p < q; p++)
            for (int k = 0; k < across; k++) total[i][p] += TOTAL(sum[i * across + k][p]);
    for (int i = 0; i < r; i++)
        for (int p = 0; p < q; p++) {
            for (int e = d; e < n; e++)
                total[i][p] +=
                    (double)w[(size_t)p * dim + (size_t)e] * (double)x[(size_t)i * dim + (size_t)e];
            z[(size_t)i * s->row_step + (size_t)p * s->index_step] += total[i][p];
        }
    return ahead;
}

/* One function for each shape: together they would not leave the sums in registers. */
#define DOTS(name, r, q)                                                                                     \
    static __attribute__((noinline)) const REAL *NAME(name)(const stair_products *s, int n, const REAL *x,   \
                                                            const REAL *w, const REAL *ahead, double *z)     \
    {                                                                                                        \
        return ahead ? NAME(dots)(r, q, true, s, n, x, w, ahead, z)                                          \
                     : NAME(dots)(r, q, false, s, n, x, w, ahead, z);                                        \
    }
DOTS(four_by_two, 4, 2)
DOTS(four_by_one, 4, 1)
DOTS(two_by_two, 2, 2)
DOTS(two_by_one, 2, 1)
DOTS(one_by_two, 1, 2)
DOTS(one_by_one, 1, 1)
#undef DOTS

typedef const REAL *NAME(shape)(const stair_products *s, int n, const REAL *x, const REAL *w,
                                const REAL *ahead, double *z);

/* all of w against 4, 2 or 1 rows */
LANES_INLINE const REAL *NAME(rows)(size_t r, const stair_products *s, int n, const REAL *x, const REAL *w,
                                    const REAL *ahead, double *z)
{
    NAME(shape) *pair = r == 4   ? NAME(four_by_two)
                        : r == 2 ? NAME(two_by_two)
                                 : NAME(one_by_two),
                *last = r == 4   ? NAME(four_by_one)
                        : r == 2 ? NAME(two_by_one)
                                 : NAME(one_by_one);
    const REAL *reached = ahead;
    for (int p = 0; p < s->indices; p += 2, ahead = NULL) {
        const REAL *next = (p + 2 <= s->indices ? pair : last)(s, n, x, w + (size_t)p * s->dim, ahead,
                                                               z + (size_t)p * s->index_step);
        if (p == 0) reached = next;
    }
    return reached;
}

void STAIR_HOT(NAME(stair_products_project))(const stair_products *s, size_t rows, const REAL *x,
                                             const REAL *w, double *z)
{
    const REAL *ahead = x + rows * s->dim;
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < s->indices; p++) z[r * s->row_step + (size_t)p * s->index_step] = 0;
    for (size_t d = 0; d < s->dim; d += PANEL) {
        int n = s->dim - d < PANEL ? (int)(s->dim - d) : PANEL;
        for (size_t r = 0, few; r < rows; r += few) {
            few = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
            ahead = NAME(rows)(few, s, n, x + r * s->dim + d, w + d, ahead, z + r * s->row_step);
        }
    }
}

/* sum (q, STRIP columns) += c^T x over `rows` rows, added to each other before they are to `sum`; c (rows,
 * q). Returns how far `ahead` has come. */
LANES_INLINE const REAL *NAME(strip)(int q, bool fetch, const REAL *ahead, size_t rows, size_t dim,
                                     const REAL *x, const REAL *c, REAL *sum)
{
    VECTOR total[2][STRIP / WIDTH];
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++) total[p][k] = (VECTOR){0};
    for (size_t r = 0; r < rows; r++)
        for (int k = 0; k < STRIP / WIDTH; k++) {
            VECTOR b = NAME(load)(x + r * dim + (size_t)(k * WIDTH));
            LANES_HOLD(b);
            if (fetch) ahead = NAME(fetch)(ahead);
            for (int p = 0; p < q; p++) total[p][k] += c[r * (size_t)q + (size_t)p] * b;
        }
    for (int p = 0; p < q; p++)
        for (int k = 0; k < STRIP / WIDTH; k++) {
            REAL *at = sum + (size_t)p * dim + (size_t)(k * WIDTH);
            NAME(store)(at, NAME(load)(at) + total[p][k]);
        }
    return ahead;
}

/* sum (q, dim) += c^T x for one or two indices of c, at most FACTOR_ROWS rows */
LANES_INLINE void NAME(gather)(int q, bool fetch, const stair_products *s, const REAL *ahead, size_t rows,
                               const REAL *x, const double *c, REAL *sum)
{
    REAL own[2 * FACTOR_ROWS];
    size_t dim = s->dim, d = 0;
    for (size_t r = 0; r < rows; r++)
        for (int p = 0; p < q; p++)
            own[r * (size_t)q + (size_t)p] = (REAL)c[r * s->row_step + (size_t)p * s->index_step];
    for (; d + STRIP <= dim; d += STRIP) ahead = NAME(strip)(q, fetch, ahead, rows, dim, x + d, own, sum + d);
    for (; d < dim; d++)
        for (int p = 0; p < q; p++)
            for (size_t r = 0; r < rows; r++)
                sum[(size_t)p * dim + d] += own[r * (size_t)q + (size_t)p] * x[r * dim + d];
}

void STAIR_HOT(NAME(stair_products_collect))(const stair_products *s, size_t rows, const REAL *x,
                                             const double *c, REAL *sum)
{
    for (size_t r = 0; r < rows; r += FACTOR_ROWS) {
        size_t n = rows - r < FACTOR_ROWS ? rows - r : FACTOR_ROWS;
        const REAL *from = x + r * s->dim, *ahead = x + (rows + (rows + r) / 2) * s->dim;
        for (int p = 0; p < s->indices; p += 2) {
            const double *at = c + r * s->row_step + (size_t)p * s->index_step;
            REAL *out = sum + (size_t)p * s->dim;
            if (p + 2 <= s->indices && p == 0)
                NAME(gather)(2, true, s, ahead, n, from, at, out);
            else if (p + 2 <= s->indices)
                NAME(gather)(2, false, s, NULL, n, from, at, out);
            else
                NAME(gather)(1, p == 0, s, ahead, n, from, at, out);
        }
    }
}

void STAIR_HOT(NAME(stair_products_flush))(size_t count, REAL *part, bool add, double *sum)
{
    for (size_t i = 0; i < count && add; i++) sum[i] += (double)part[i];
    for (size_t i = 0; i < count && !add; i++) sum[i] = (double)part[i];
    memset(part, 0, count * sizeof *part);
}
