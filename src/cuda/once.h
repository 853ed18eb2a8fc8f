/* A pass of GAMP that reads stored X once: products, memory and posteriors in one kernel (kernels/once.h). */
#ifndef STAIR_CUDA_ONCE_H
#define STAIR_CUDA_ONCE_H

#include "cuda/denoise.h"
#include "cuda/products.h"
#include "kernels/once.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the card and the shape of X allow it: two tokens, at most two indices, slabs that are wide enough
 * for the card's blocks and narrow enough for its shared memory; then `parts` of collect has room for
 * letters. */
bool stair_card_once_serves(const stair_device *device, const stair_card_rows *rows);

/* next_o, omega, next_g, c, says and error of all samples, and b (P, dim) = X^T next_g.  Posteriors are sums
 * over the coarsest lattice; where their error is above the precision, next_g is 0 and the sample is for
 * others.  s->z is not used; letters: stair_once_bytes(). */
stair_status stair_card_once(stair_context *context, const stair_device *device, const stair_card_rows *rows,
                             const float *w, const stair_memory_form *memory, const stair_pair_form *form,
                             const double *whiten, const stair_card_samples *s, void *letters, double *b);

#ifdef __cplusplus
}
#endif
#endif
