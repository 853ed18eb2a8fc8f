/* In place of bench/exp_hot.c where SLEEF is missing: the measuring stick is exp of the C library. */
#include <math.h>

#include "core/isa.h"

#ifdef STAIR_ISA_LEVELS
void stair_bench_exp_v3(int n, const double *x, double *y);
void stair_bench_exp_v4(int n, const double *x, double *y);
#endif
void stair_bench_exp_v2(int n, const double *x, double *y);

void stair_bench_exp_v2(int n, const double *x, double *y)
{
    for (int i = 0; i < n; i++) y[i] = exp(x[i]);
}

#ifdef STAIR_ISA_LEVELS
void stair_bench_exp_v3(int n, const double *x, double *y)
{
    stair_bench_exp_v2(n, x, y);
}

void stair_bench_exp_v4(int n, const double *x, double *y)
{
    stair_bench_exp_v2(n, x, y);
}
#endif
