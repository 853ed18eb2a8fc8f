/* Z = X w^T and its transpose X^T c on one tile: elements of X are float or double, everything that is
 * summed is double.  Four rows of X meet two of w at a time, in panels of columns that stay in the first
 * cache for all pairs of w.  The order of every sum is fixed by the code. */
#include "core/isa.h"
#include "core/lanes.h"

#include <stddef.h>

#define PANEL 1024         /* columns */
#define STRIP (16 / LANES) /* vectors: one cache line of floats */

typedef float some_floats __attribute__((vector_size(4 * LANES)));

void STAIR_HOT(stair_tile_project_f4)(size_t rows, size_t dim, const float *x, int indices, const double *w, double *z);
void STAIR_HOT(stair_tile_project_f8)(size_t rows, size_t dim, const double *x, int indices, const double *w, double *z);
void STAIR_HOT(stair_tile_collect_f4)(size_t rows, size_t dim, const float *x, int indices, const double *c, double *sum);
void STAIR_HOT(stair_tile_collect_f8)(size_t rows, size_t dim, const double *x, int indices, const double *c, double *sum);

#define REAL    float
#define SOME   some_floats
#define NAME(x) x##_f4
#include "gamp/tile_body.h"
#undef REAL
#undef SOME
#undef NAME

#define REAL    double
#define SOME   lanes
#define NAME(x) x##_f8
#include "gamp/tile_body.h"
