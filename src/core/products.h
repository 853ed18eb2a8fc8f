/* The two products with rows x of dimension D, whatever GAMP or gradient descent call them:
 *
 *   Z = X w^T  (rows, P)      and      X^T c  (P, D)
 *
 * in the element type of X, with sums carried on in double.  Both read the rows once; rows that were
 * projected are in the cache when they are collected, as long as they are not more than a few hundred kB, and
 * those that follow them in memory are fetched meanwhile. */
#ifndef STAIR_CORE_PRODUCTS_H
#define STAIR_CORE_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool single;                 /* x and w are float, else double */
    size_t dim;                  /* D, of a row of x (rows, D) and of w (P, D) */
    int indices;                 /* P */
    size_t row_step, index_step; /* z and c hold (row, index) at row row_step + index index_step */
} stair_products;

void stair_products_project(const stair_products *shape, size_t rows, const void *x, const void *w,
                            double *z);

/* Sums of X^T c: of the last rows in the element type of X, of all before in double. */
#define STAIR_PRODUCTS_ROWS 512 /* most rows added in the element type */
typedef struct {
    void *part;  /* (P, D), zero at first and after every flush */
    size_t rows; /* in `part` */
    double *sum; /* (P, D), the caller's */
    bool begun;  /* something is in `sum` */
} stair_products_sum;

/* For a sum that begins with {.part, .sum}. */
void stair_products_collect(const stair_products *shape, size_t rows, const void *x, const double *c,
                            stair_products_sum *sum);
/* Leaves all of it in sum->sum, and the rest as before the first rows. */
void stair_products_finish(const stair_products *shape, stair_products_sum *sum);

/* Memory for what is streamed through, in large pages where the system has them: a walk down the rows then
 * stays within few of them.  For free(); NULL without memory. */
void *stair_products_memory(size_t bytes);

#endif
