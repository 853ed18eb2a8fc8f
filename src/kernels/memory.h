/* Between projecting and denoising: the memory o of GAMP (gamp/gamp.h), one sample.
 *
 *   o' = (1 - d) F g + d o,   omega = scale (X W) - o' */
#ifndef STAIR_KERNELS_MEMORY_H
#define STAIR_KERNELS_MEMORY_H

#include "kernels/hd.h"

#define STAIR_CARD_ROWS 4 /* indices P that kernels are made for, */
#define STAIR_CARD_MOST 8 /* and tokens */

typedef struct {
    int rows, tokens;                            /* P, M */
    double scale;                                /* 1/sqrt(D) */
    double damping;                              /* d of the last step */
    int onsager;                                 /* 0: o is zero */
    double f[STAIR_CARD_ROWS * STAIR_CARD_ROWS]; /* F of the last step (P, P) */
} stair_memory_form;

/* z (M, P) of the sample's rows; g, o, next, omega (P, M).  A kernel whose P and M are fixed says them, so
 * that these are registers. */
STAIR_HD void stair_memory_react_of(const stair_memory_form *f, int rows, int tokens, const double *z,
                                    const double *g, const double *o, double *next, double *omega)
{
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
    for (int i = 0; i < rows; i++)
#ifdef STAIR_ON_CARD
#pragma unroll
#endif
        for (int t = 0; t < tokens; t++) {
            double now = 0;
            for (int k = 0; k < rows; k++) now += f->f[i * rows + k] * g[k * tokens + t];
            int at = i * tokens + t;
            double kept = f->onsager ? (1 - f->damping) * now + f->damping * o[at] : 0;
            next[at] = kept;
            omega[at] = f->scale * z[t * rows + i] - kept;
        }
}

STAIR_HD void stair_memory_react(const stair_memory_form *f, const double *z, const double *g,
                                 const double *o, double *next, double *omega)
{
    stair_memory_react_of(f, f->rows, f->tokens, z, g, o, next, omega);
}

#endif
