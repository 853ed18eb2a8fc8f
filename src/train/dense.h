/* Products of small matrices: c = a b, or c += a b. */
#ifndef STAIR_TRAIN_DENSE_H
#define STAIR_TRAIN_DENSE_H

#include <stdbool.h>

typedef struct {
    int rows, columns, inner; /* c (rows, columns), columns a multiple of 8 */
    const double *a;          /* element (r, k) at a[r*a_row + k*a_inner]: a transposed costs nothing */
    int a_row, a_inner;
    const double *b; /* (inner, columns) */
    int b_stride;
    double *c;
    int c_stride;
    bool add;
} stair_product;

#endif
