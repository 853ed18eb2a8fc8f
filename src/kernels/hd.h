/* One source for both worlds: headers of this room compile as C and as CUDA.
 *
 * STAIR_HD marks a function of the arithmetic: on a card it is inlined into the kernel, in C it is a static
 * function that tests call in loops over what would be threads.  Headers here hold no pointers to device
 * memory and no CUDA types; they use C that is also C++: casts of void *, no designated initialisers, no
 * restrict.
 *
 * stair_hd_exp is the fast exponential of the card, exp2 of a product in single precision: relative error
 * below 2e-7 (1 + |x|).  On the host it is expf, which is better; tests allow for the difference. */
#ifndef STAIR_KERNELS_HD_H
#define STAIR_KERNELS_HD_H

#include <math.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define STAIR_HD static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define STAIR_HD static inline __attribute__((unused))
#else
#define STAIR_HD static inline
#endif

/* On the card itself, not in a host copy of the same function. */
#if defined(__CUDA_ARCH__)
#define STAIR_ON_CARD 1 /* a question: #ifdef */
#endif

STAIR_HD float stair_hd_exp(float x)
{
#ifdef STAIR_ON_CARD
    return __expf(x);
#else
    return expf(x);
#endif
}

/* Single instructions of the card, errors of one or two ulp, no denormals: exp2, log2, square root, 1/x. */
#ifdef STAIR_ON_CARD
#define STAIR_HD_ONE(name, instruction, host)                                                                \
    STAIR_HD float name(float x)                                                                             \
    {                                                                                                        \
        float y;                                                                                             \
        asm(instruction " %0, %1;" : "=f"(y) : "f"(x));                                                      \
        return y;                                                                                            \
    }
#else
#define STAIR_HD_ONE(name, instruction, host)                                                                \
    STAIR_HD float name(float x)                                                                             \
    {                                                                                                        \
        return host;                                                                                         \
    }
#endif
STAIR_HD_ONE(stair_hd_exp2, "ex2.approx.ftz.f32", exp2f(x))
STAIR_HD_ONE(stair_hd_log2, "lg2.approx.ftz.f32", log2f(x))
STAIR_HD_ONE(stair_hd_root, "sqrt.approx.ftz.f32", sqrtf(x))
STAIR_HD_ONE(stair_hd_inverse, "rcp.approx.ftz.f32", 1 / x)
#undef STAIR_HD_ONE

/* 1 / x in double for x of the range of single precision: two steps of Newton from the instruction above. */
STAIR_HD double stair_hd_inverse_wide(double x)
{
#ifdef STAIR_ON_CARD
    double y = (double)stair_hd_inverse((float)x);
    y = fma(fma(-x, y, 1.0), y, y);
    return fma(fma(-x, y, 1.0), y, y);
#else
    return 1 / x;
#endif
}

#endif
