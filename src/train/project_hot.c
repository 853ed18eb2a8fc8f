/* Z = w X^T and its transpose, gradient = C X, in single and double precision: all the arithmetic
 * of gradient descent that grows with D.  The order of every sum is fixed by the code. */
#include "core/isa.h"
#include "core/lanes.h"
#include "train/batch.h"

/* elements of a gradient summed at a time: no more than rows are padded to */
#define CHUNK (4 * WIDTH < 32 ? 4 * WIDTH : 32)

void STAIR_HOT(stair_project_f4)(int rows, int stride, const float *x, int indices, const float *w,
                                 double *z);
void STAIR_HOT(stair_project_f8)(int rows, int stride, const double *x, int indices, const double *w,
                                 double *z);
void STAIR_HOT(stair_collect_f4)(int rows, int stride, const float *x, int indices, const double *c,
                                 double *gradient);
void STAIR_HOT(stair_collect_f8)(int rows, int stride, const double *x, int indices, const double *c,
                                 double *gradient);

#define REAL    float
#define VECTOR  floats
#define WIDTH   (2 * LANES)
#define TOTAL   floats_sum
#define NAME(x) x##_f4
#include "train/project_body.h"
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
#include "train/project_body.h"
