/* Stair: how much data it takes to learn a sequence multi-index model, layer by layer.
 *
 * Context, model and channel.  The headers included at the end are the rest of the public interface:
 * asymptotics, message passing, training.  A model is y = g(Z), Z = W x / sqrt(D), with P indices and M
 * tokens; MODEL strings such as "attention:layers=2,skip=1" name it.  Functions return a status and never
 * print or exit; what went wrong is stair_context_message().  Arrays belong to the caller, are row-major
 * doubles, and their shapes stand beside their names.
 */
#ifndef STAIR_H
#define STAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAIR_VERSION "0.1.0"

typedef enum {
    STAIR_OK = 0,
    STAIR_FAILED = 1,        /* something outside the request broke: disk full, ... */
    STAIR_BAD_INPUT = 2,     /* the request or the data is wrong */
    STAIR_NOT_CONVERGED = 3, /* a result, with its error, that missed the target */
    STAIR_UNSUPPORTED = 4,   /* a legal request that this release cannot answer */
    STAIR_NO_MEMORY = 5,
    STAIR_COSTLY = 6 /* would take longer than was allowed; the message says how long */
} stair_status;

/* Why an iteration ended. */
typedef enum {
    STAIR_STOP_CONVERGED,
    STAIR_STOP_PERFECT,    /* full recovery */
    STAIR_STOP_ZERO,       /* nothing is learned */
    STAIR_STOP_ITERATIONS, /* the most that were allowed */
    STAIR_STOP_DIVERGED,
    STAIR_STOPS
} stair_stop;
const char *stair_stop_name(stair_stop stop);

/* ---- context: threads, progress and the last message ------------------------------------- */

typedef struct stair_context stair_context;

/* Called from the thread that called the library; returning false asks it to stop. */
typedef bool stair_progress(void *user, double done, double total);

stair_status stair_context_create(stair_context **context);
void stair_context_destroy(stair_context **context);
const char *stair_context_message(const stair_context *context);
stair_status stair_context_set_threads(stair_context *context, int threads); /* 0: all it may use */
int stair_context_threads(const stair_context *context);
/* Where heavy work runs: "cpu", "cuda" (the first card), "cuda:1", or "auto" for the best device there is.  A
 * new context has "cpu".  stair_context_device says which it has: "cpu", "cuda:0". */
stair_status stair_context_set_device(stair_context *context, const char *name);
const char *stair_context_device(const stair_context *context);
const char *stair_device_name(int number); /* that may be asked for: "auto" first, NULL past the last */
void stair_context_set_progress(stair_context *context, stair_progress *call, void *user);

/* What one array of an NPZ file may take in memory, in bytes: 2^30 unless raised.  Looked at before anything
 * is unpacked, so that a small file cannot fill the machine. */
void stair_context_set_largest_array(stair_context *context, uint64_t bytes);

/* Hot loops are compiled for several instruction sets: v2 (SSE2), v3 (AVX2), v4 (AVX-512).  Digits are the
 * same on every machine that runs the same one; the whole process uses the best that it may and can. */
const char *stair_isa_name(void);
stair_status stair_isa_set_most(stair_context *context, const char *name);

/* ---- model -------------------------------------------------------------------------------- */

typedef struct stair_model stair_model;

typedef struct {
    const char *name;
    int layers;           /* L, or 1 */
    int tokens;           /* M */
    int indices;          /* P, rows of Z */
    int label_size;       /* K, numbers that carry one label */
    bool label_is_log;    /* the label is carried as log y: rows of log-softmax */
    bool output_noisy;    /* the label is y itself, with `noise` added */
    bool label_is_output; /* labels are carried as y itself, with noise or without */
    const int *ranks;     /* (layers): indices of each layer, in row order */
    double prenoise, noise;
    int row_layers; /* layers that rows belong to: L, and one more for a readout */
    int blocks;     /* of the embedding, of equal dimension: rows act on one of them; usually 1 */
} stair_model_info;

stair_status stair_model_create(stair_context *context, const char *spec, stair_model **model);
void stair_model_destroy(stair_model **model);
stair_model_info stair_model_describe(const stair_model *model);
const char *stair_model_spec(const stair_model *model); /* canonical, every key written out */

/* Registry, for listings: name and one line of text of model i, or NULL past the end. */
const char *stair_model_name(int i);
const char *stair_model_summary(int i);
const char *stair_model_formula(int i); /* one line: y as a function of Z */
const char *stair_model_example(int i); /* a MODEL string worth trying */

/* Keys of registered model i, for listings and help: NULL past the end. */
typedef struct {
    const char *key, *value, *text; /* name, default, meaning */
} stair_model_key;
const stair_model_key *stair_model_keys(int i, int key);

/* A model of your own: y = g(Z) + noise.  Every rule of the library that takes noise on y serves it. */
typedef struct {
    const char *name;             /* letters, digits, - and _; copied.  Checkpoints know g by it */
    int tokens, indices, outputs; /* M, P and K */
    double noise;                 /* variance of the Gaussian noise on each output, above 0 */
    double prenoise;              /* variance of Gaussian noise on Z, or 0 */
    /* y (K) = g(z), z (P, M); called from several threads at once, and the same z must give the same y. */
    void (*function)(void *user, const double *z, double *y);
    /* gradient (P, M) of sum_k cotangent_k y_k; NULL: by differences, to about nine digits. */
    void (*gradient)(void *user, const double *z, const double *cotangent, double *gradient);
    void *user; /* handed to all; has to outlive the model */
    /* The same for n points at once, where that is cheaper; NULL: there is none.  Number c of point i is
     * z[c * stride + i], c = p * M + m, and its output k y[k * stride + i]; n <= stride. */
    void (*block)(void *user, size_t n, size_t stride, const double *z, double *y);
} stair_link;
stair_status stair_model_from_link(stair_context *context, const stair_link *link, stair_model **model);

/* labels (n, K) = g(Z), Z (n, P, M), without noise.  Log labels where the model carries logs. */
stair_status stair_model_forward(stair_context *context, const stair_model *model, size_t n, const double *z,
                                 double *labels);

/* Plain outputs y (n, K) = g(Z), without noise: what labels are where label_is_output. */
stair_status stair_model_outputs(stair_context *context, const stair_model *model, size_t n, const double *z,
                                 double *y);

/* gradient (P, M) of sum_k cotangent_k y_k at Z (P, M); y is the plain output, not its log. */
stair_status stair_model_gradient(stair_context *context, const stair_model *model, const double *z,
                                  const double *cotangent, double *gradient);

/* Whether labels (n, K) are such as the model carries: finite, and rows of log softmax add up to 1. */
stair_status stair_model_labels_check(stair_context *context, const stair_model *model, size_t n,
                                      const double *labels);
/* Plain outputs y (n, K) to carried labels (n, K). */
stair_status stair_model_labels_from_outputs(stair_context *context, const stair_model *model, size_t n,
                                             const double *y, double *labels);

/* ---- channel: posterior moments of Z given its label ---------------------------------------- */

typedef struct {
    double precision; /* target relative error of g and dg (absolute for log Z) */
    double noise; /* at which error random rules may stop where the caller uses the halves; 0: precision */
    int64_t max_nodes;  /* most integrand evaluations spent on one sample */
    double cutoff;      /* nodes below exp(-cutoff) of the largest one are not visited */
    uint64_t seed;      /* random shifts of the sampling rule */
    const char *method; /* auto, closed, exact, boxes, lines, layered, lattice, nested, plane or sampling */
} stair_channel_options;

/* Any pointer may be NULL.  error: the largest of the estimated errors of log Z (absolute) and of
 * g and dg (relative, Frobenius).  nodes: integrand evaluations; method: index into
 * stair_channel_method_name(). */
typedef struct {
    double *logz;   /* (n) */
    double *g;      /* (n, P, M) */
    double *dg;     /* (n, P*M, P*M), index p*M + m */
    double *error;  /* (n) */
    int64_t *nodes; /* (n) */
    int *method;    /* (n) */
    /* The same by two independent halves of the nodes where the rule is random, the whole twice where it is
     * not: the product of the halves' estimates of a number is an estimate of its square that noise does not
     * enlarge. */
    double *half_logz; /* (n, 2) */
    double *half_g;    /* (n, 2, P, M) */
    double *half_dg;   /* (n, 2, P*M, P*M) */
} stair_channel_result;

stair_channel_options stair_channel_defaults(void);
stair_status stair_channel_check(stair_context *context, const stair_channel_options *options);
const char *stair_channel_method_name(int method);

/* labels (n, K), omega (n, P, M), cov (covs, P, P) with covs = 1 or n.  first: the number of the
 * first sample, so that a stream cut into pieces gives the same bytes as one call. */
stair_status stair_channel_evaluate(stair_context *context, const stair_model *model,
                                    const stair_channel_options *options, uint64_t first, size_t n,
                                    const double *labels, const double *omega, size_t covs, const double *cov,
                                    stair_channel_result *result);

/* Random test points: omega ~ N(0, 1 - V), Z ~ N(omega, V), labels = g(Z) (+ noise).  V (P, P) has
 * eigenvalues log-uniform in [low, high] and random axes when full, else is diagonal. */
typedef struct {
    double cov_low, cov_high; /* eigenvalues of V */
    bool full;                /* random axes */
    bool one_cov;             /* the same V for every point */
    uint64_t seed;
} stair_points_options;
stair_points_options stair_points_defaults(void);
stair_status stair_points_check(stair_context *context, const stair_points_options *options);
stair_status stair_points_draw(stair_context *context, const stair_model *model,
                               const stair_points_options *options, uint64_t first, size_t n, double *z,
                               double *labels, double *omega, double *cov);

/* ---- diagnose: the identities every channel must satisfy ------------------------------------ */

typedef enum {
    STAIR_HOLDS,
    STAIR_FAILS,
    STAIR_NOT_RESOLVED, /* errors reported at most points are so large that nothing was checked */
    STAIR_VERDICTS
} stair_verdict;
const char *stair_verdict_name(stair_verdict verdict);

typedef struct {
    const char *name; /* what is checked */
    double violation; /* worst over the points; when it holds, over those that resolve it */
    double tolerance; /* what the identity allows at the errors reported there */
    size_t points;
    size_t resolved; /* those where errors are small enough for the identity to be checked */
    stair_verdict verdict;
} stair_identity;

typedef struct {
    size_t points;
    double precision; /* requested of the channel */
    double cov_low;   /* smallest eigenvalue of V */
    uint64_t seed;
} stair_diagnose_options;
stair_diagnose_options stair_diagnose_defaults(void);
stair_status stair_diagnose_check(stair_context *context, const stair_diagnose_options *options);

/* Writes at most `capacity` rows and their number. */
stair_status stair_diagnose(stair_context *context, const stair_model *model,
                            const stair_diagnose_options *options, int capacity, stair_identity *rows,
                            int *count);

#ifdef __cplusplus
}
#endif

#include "stair_asymptotics.h" /* state evolution, staircases, phases; the ones below use it */
#include "stair_gamp.h"        /* message passing on instances */
#include "stair_options.h"     /* what the options of all these are */
#include "stair_plugin.h"      /* models in shared libraries */
#include "stair_ranks.h"       /* several processes for one request */
#include "stair_train.h"       /* gradient training */

#endif
