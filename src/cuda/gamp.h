/* GAMP on a card: what holds X and the iterates of a run (resident.c), and the pass over it (pass.c). */
#ifndef STAIR_CUDA_GAMP_H
#define STAIR_CUDA_GAMP_H

#include "cuda/denoise.h"
#include "cuda/once.h"
#include "cuda/products.h"
#include "gamp/gamp.h"

typedef enum {
    STAIR_X_STORED, /* all of X is on the card */
    STAIR_X_KEPT,   /* chunks of it: project draws one and keeps it for collect (even D) */
    STAIR_X_DRAWN,  /* none of it: both draw what they need (even D) */
    STAIR_X_STAGED  /* chunks of it, drawn or copied before they are used */
} stair_x_mode;

typedef struct stair_resident {
    stair_device *device;
    stair_tiles tiles;
    int indices;
    stair_x_mode mode;
    size_t pitch, chunk; /* floats of a row; samples at a time */
    float *x;            /* stored: all of it; kept or staged: one chunk */
    float *w;            /* (P, pitch) */
    double *z;           /* (N M, P) */
    /* of a run, made with its first pass */
    const stair_gamp_state *run;
    int at;     /* g[now] and o[now] are those that the pass of this iteration starts from, */
    bool ahead; /* and g[1 - now], o[1 - now] those of the next */
    int now;
    bool pairs; /* the kernel of pairs knows the model: h (N, 2); */
    bool once;  /* and a pass reads X once */
    float *h;
    double *g[2], *o[2], *omega, *says, *parts, *b, *sums;
    float *c, *error;
    uint32_t *index; /* and room for what the processor does: */
    double *some;
    size_t some_size;
} stair_resident;

/* Bytes on the card: X in this mode, and all else of a run. */
size_t stair_cuda_gamp_bytes(const stair_tiles *tiles, int indices, stair_x_mode mode, size_t chunk);

stair_status stair_cuda_need(stair_context *context, const stair_model *model, const stair_tiles *tiles,
                             bool store, stair_card_need *need);
/* Whether a kernel has the posteriors of the model; its skip. */
bool stair_cuda_knows(const stair_model *model, double *skip);
stair_status stair_cuda_hold(stair_context *context, const stair_tiles *tiles, int indices, bool store,
                             stair_resident **resident);
void stair_cuda_release(stair_resident *resident);
stair_status stair_cuda_project(stair_context *context, const stair_tiles *tiles, double scale,
                                const double *w, double *z);
stair_status stair_cuda_pass(stair_context *context, stair_gamp_state *state);
stair_status stair_cuda_fetch(stair_context *context, stair_gamp_state *state);

/* Samples first .. first+n-1 on the card, whatever the mode. */
stair_status stair_cuda_rows(stair_context *context, stair_resident *r, size_t first, size_t n,
                             stair_card_rows *rows);
/* w (P, dim) in double as floats (P, pitch) on the card */
stair_status stair_cuda_weights(stair_context *context, stair_resident *r, const double *w);

#endif
