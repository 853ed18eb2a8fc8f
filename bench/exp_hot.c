/* The measuring stick of the benchmark: SLEEF's vector exp at this instruction set. */
#include <sleef.h>

#include "core/isa.h"

void STAIR_HOT(stair_bench_exp)(int n, const double *x, double *y);

void STAIR_HOT(stair_bench_exp)(int n, const double *x, double *y)
{
#if defined(__AVX512F__)
    for (int i = 0; i < n; i += 8) _mm512_storeu_pd(y + i, Sleef_expd8_u10avx512f(_mm512_loadu_pd(x + i)));
#elif defined(__AVX2__)
    for (int i = 0; i < n; i += 4) _mm256_storeu_pd(y + i, Sleef_expd4_u10avx2(_mm256_loadu_pd(x + i)));
#elif defined(__SSE2__)
    for (int i = 0; i < n; i += 2) _mm_storeu_pd(y + i, Sleef_expd2_u10sse2(_mm_loadu_pd(x + i)));
#else
    for (int i = 0; i < n; i++) y[i] = Sleef_exp_u10(x[i]);
#endif
}
