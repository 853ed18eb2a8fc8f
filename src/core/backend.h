/* Backends: where the heavy work runs.  The context has one, chosen by name (--device).
 *
 * A backend overrides what it can; what it leaves NULL the processor does, whose code defines what is right.
 * There are two seams: a block of samples whose posteriors are asked for, and one pass of GAMP over X
 * (project, denoise, collect), between which its iterates may stay on a device.  Ranks know nothing of
 * backends: they share the ordered sums of core/reduce.h. */
#ifndef STAIR_CORE_BACKEND_H
#define STAIR_CORE_BACKEND_H

#include "stair.h"

struct stair_gamp_state;
struct stair_tiles;
struct stair_device;       /* one card and what a context has on it: of the backend alone */
struct stair_resident;     /* X on a card: likewise */
struct stair_one_row_seam; /* posterior/one_row_seam.h */
struct stair_means_seam;   /* average/hidden_means_seam.h */

/* What GAMP takes on a card. */
typedef struct {
    bool served;        /* it holds X; else the processor does all of it */
    double bytes, room; /* needed, X among them, and free */
    double x_bytes;
    double draw, pass; /* seconds before a run, and of a pass without posteriors */
    double sample;     /* of a posterior; 0: the processor's */
} stair_card_need;

typedef struct stair_backend {
    const char *name;      /* cpu, cuda */
    bool (*present)(void); /* NULL: always there */
    /* Card `number`, and its end.  NULL: nothing to open. */
    stair_status (*open)(stair_context *context, int number, struct stair_device **device);
    void (*close)(struct stair_device *device);
    const char *(*label)(const struct stair_device *device); /* cuda:0 */
    /* As stair_channel_evaluate, of checked arguments. */
    stair_status (*channel)(stair_context *context, const stair_model *model,
                            const stair_channel_options *options, uint64_t first, size_t n,
                            const double *labels, const double *omega, size_t covs, const double *cov,
                            stair_channel_result *result);
    /* X of these samples, given or drawn, where the device has it at hand for P = indices; store: not drawn
     * again whenever it is needed.  *resident stays NULL where the device leaves it to the processor. */
    stair_status (*hold)(stair_context *context, const struct stair_tiles *tiles, int indices, bool store,
                         struct stair_resident **resident);
    void (*release)(struct stair_resident *resident);
    /* What that and a run take, before anything is allocated. */
    stair_status (*need)(stair_context *context, const stair_model *model, const struct stair_tiles *tiles,
                         bool store, stair_card_need *need);
    /* z (N, P, M) = scale X w^T of what is held, w (P, dim). */
    stair_status (*project)(stair_context *context, const struct stair_tiles *tiles, double scale,
                            const double *w, double *z);
    /* One iteration's pass over X: gamp/pass.c.  Of what is held, g and o may stay on the device: */
    stair_status (*pass)(stair_context *context, struct stair_gamp_state *state);
    /* this brings them into the arrays of the state.  NULL: they are there. */
    stair_status (*fetch)(stair_context *context, struct stair_gamp_state *state);
    /* Sums over hidden nodes, of many samples at once; and of labels, for all hidden means. */
    const struct stair_one_row_seam *one_row;
    const struct stair_means_seam *means;
} stair_backend;

extern const stair_backend stair_backend_cpu;
extern const stair_backend
    *const stair_backends[]; /* the table, ended by NULL: the best one that is there first */

#endif
