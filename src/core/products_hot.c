/* The products of core/products.h on every instruction set.
 *
 * Up to four rows of X meet two of w at a time, in panels of columns in which w stays in the first cache for
 * all rows.  The order of every sum is fixed by the code. */
#include "core/products.h"
#include "core/isa.h"
#include "core/lanes.h"

/* Sizes of loops that have to be known when they are compiled; docs/gamp.md, "Cost". */
#define PANEL       1024 /* columns for which w stays in the first cache */
#define FACTOR_ROWS 64   /* rows whose factors are copied together before they are collected */
#define STRIP       32   /* columns of a row that are collected at a time */

void STAIR_HOT(stair_products_project_f4)(const stair_products *s, size_t rows, const float *x,
                                          const float *w, double *z);
void STAIR_HOT(stair_products_project_f8)(const stair_products *s, size_t rows, const double *x,
                                          const double *w, double *z);
void STAIR_HOT(stair_products_collect_f4)(const stair_products *s, size_t rows, const float *x,
                                          const double *c, float *sum);
void STAIR_HOT(stair_products_collect_f8)(const stair_products *s, size_t rows, const double *x,
                                          const double *c, double *sum);
void STAIR_HOT(stair_products_flush_f4)(size_t count, float *part, bool add, double *sum);
void STAIR_HOT(stair_products_flush_f8)(size_t count, double *part, bool add, double *sum);

#define REAL    float
#define VECTOR  floats
#define WIDTH   (2 * LANES) /* a float has half the bits of a double */
#define TOTAL   floats_sum
#define NAME(x) x##_f4
#include "core/products_body.h"
#undef REAL
#undef VECTOR
#undef WIDTH
#undef TOTAL
#undef NAME

#define REAL    double
#define VECTOR  lanes
#define WIDTH   LANES
#define TOTAL   lanes_sum
#define NAME(x) x##_f8
#include "core/products_body.h"
