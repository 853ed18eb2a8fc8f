/* Z = w X^T and its transpose, gradient = C X, in single and double precision: all the arithmetic
 * of gradient descent that grows with D.  The order of every sum is fixed by the code. */
#include "core/isa.h"
#define LANES 8 /* what the data are interleaved by */
#include "core/lanes.h"
#include "train/batch.h"

typedef float floats __attribute__((vector_size(64)));
typedef float half_floats __attribute__((vector_size(32)));

/* in double precision, halves first: as many additions as a sum of eight */
LANES_INLINE double floats_sum(floats x)
{
    half_floats half[2];
    memcpy(half, &x, sizeof half);
    return lanes_sum(__builtin_convertvector(half[0], lanes) + __builtin_convertvector(half[1], lanes));
}

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
#define WIDTH   16
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
#define WIDTH   8
#define TOTAL   lanes_sum
#define NAME(x) x##_f8
#include "train/project_body.h"
