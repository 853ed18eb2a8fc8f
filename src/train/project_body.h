/* Body of the projection kernels, for one element type: REAL, WIDTH of them in a VECTOR,
 * TOTAL the sum of one.
 *
 * Four rows of X and up to two of w are multiplied at a time: each load of X then serves two
 * products, each load of w four.  Included by project_hot.c alone. */

LANES_INLINE VECTOR NAME(load)(const REAL *p)
{
    VECTOR v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* z (pair, rows): `pair` rows of w against four of x */
LANES_INLINE void NAME(dots)(int pair, int stride, const REAL *x, const REAL *w, double *z, int rows)
{
    VECTOR sum[4][2] = {{{0}}};
    for (int d = 0; d < stride; d += WIDTH) {
        VECTOR a[2];
        for (int p = 0; p < pair; p++) a[p] = NAME(load)(w + (size_t)p * (size_t)stride + d);
        for (int r = 0; r < 4; r++) {
            VECTOR b = NAME(load)(x + (size_t)r * (size_t)stride + d);
            __builtin_prefetch(x + (size_t)(r + 4) * (size_t)stride + d); /* the next four rows */
            for (int p = 0; p < pair; p++) sum[r][p] += a[p] * b;
        }
    }
    for (int p = 0; p < pair; p++)
        for (int r = 0; r < 4; r++) z[p * rows + r] = TOTAL(sum[r][p]);
}

void STAIR_HOT(NAME(stair_project))(int rows, int stride, const REAL *x, int indices, const REAL *w,
                                    double *z)
{
    for (int r = 0; r < rows; r += 4) {
        const REAL *four = x + (size_t)r * (size_t)stride;
        int p = 0;
        for (; p + 2 <= indices; p += 2)
            NAME(dots)(2, stride, four, w + (size_t)p * (size_t)stride, z + p * rows + r, rows);
        if (p < indices) NAME(dots)(1, stride, four, w + (size_t)p * (size_t)stride, z + p * rows + r, rows);
    }
}

/* gradient (pair, CHUNK elements) += c (pair, rows) x, the chunk in so many vectors that sums do not wait for each other */
LANES_INLINE void NAME(gather)(int pair, int rows, int stride, const REAL *x, const double *c,
                               double *gradient)
{
    VECTOR sum[2][CHUNK / WIDTH] = {{{0}}};
    for (int r = 0; r < rows; r++) {
        VECTOR b[CHUNK / WIDTH];
        for (int k = 0; k < CHUNK / WIDTH; k++) {
            b[k] = NAME(load)(x + (size_t)r * (size_t)stride + k * WIDTH);
            __builtin_prefetch(x + (size_t)(r + rows) * (size_t)stride + k * WIDTH, 0,
                               2); /* the next block */
        }
        for (int p = 0; p < pair; p++) {
            REAL factor = (REAL)c[p * rows + r];
            for (int k = 0; k < CHUNK / WIDTH; k++) sum[p][k] += factor * b[k];
        }
    }
    for (int p = 0; p < pair; p++)
        for (int k = 0; k < CHUNK / WIDTH; k++)
            for (int i = 0; i < WIDTH; i++)
                gradient[(size_t)p * (size_t)stride + (size_t)(k * WIDTH + i)] += (double)sum[p][k][i];
}

void STAIR_HOT(NAME(stair_collect))(int rows, int stride, const REAL *x, int indices, const double *c,
                                    double *gradient)
{
    for (int d = 0; d < stride; d += CHUNK) {
        int p = 0;
        for (; p + 2 <= indices; p += 2)
            NAME(gather)(2, rows, stride, x + d, c + p * rows, gradient + (size_t)p * (size_t)stride + d);
        if (p < indices)
            NAME(gather)(1, rows, stride, x + d, c + p * rows, gradient + (size_t)p * (size_t)stride + d);
    }
}
