/* Kernels of a pass over X: launches.  Rows are (N M), z and c rows of P doubles or four floats. */
#ifndef STAIR_CUDA_PRODUCTS_H
#define STAIR_CUDA_PRODUCTS_H

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where rows come from: x, or drawn as needed where it is NULL (dim even).  Then project leaves what it draws
 * in `keep`, unless that is NULL too. */
typedef struct {
    const float *x; /* (rows, pitch) on the card */
    float *keep;    /* the same */
    int dim, tokens, indices;
    size_t pitch, rows;
    uint64_t key, first; /* of the stream of X; number of the first sample of these rows */
} stair_card_rows;

/* x (rows, pitch): the numbers of the processor, zero in the padding; any dim. */
stair_status stair_card_draw(stair_context *context, const stair_device *device, const stair_card_rows *rows,
                             float *x);
/* z (rows, P) = X w^T, w (P, pitch) */
stair_status stair_card_project(stair_context *context, const stair_device *device,
                                const stair_card_rows *rows, const float *w, double *z);
/* b (P, dim) = or += X^T c, c (rows, 4); parts (slices, P, pitch) is room. */
size_t stair_card_parts(const stair_card_rows *rows); /* doubles of `parts` */
stair_status stair_card_collect(stair_context *context, const stair_device *device,
                                const stair_card_rows *rows, const float *c, bool add, double *parts,
                                double *b);
/* b += X^T c over samples index (count) of stored X, in their order. */
stair_status stair_card_collect_some(stair_context *context, const stair_device *device,
                                     const stair_card_rows *rows, size_t count, const uint32_t *index,
                                     const float *c, double *b);

/* ---- bench: what the card can do ----------------------------------------------------------------- */
stair_status stair_card_read(stair_context *context, const stair_device *device, const float *x, size_t count,
                             double *out);
stair_status stair_card_exps(stair_context *context, const stair_device *device, int blocks, int each,
                             float *out);
stair_status stair_card_normals(stair_context *context, const stair_device *device, int blocks, int each,
                                float *out);

#ifdef __cplusplus
}
#endif
#endif
