/* GAMP: the message-passing algorithm on instances, drawn from a teacher or given.
 *
 * Part of the interface of stair.h, which includes this file.  Everything drawn is a function of the seed;
 * results do not depend on the number of threads. */
#ifndef STAIR_H
#include "stair.h"
#endif
#ifndef STAIR_GAMP_H
#define STAIR_GAMP_H

#ifdef __cplusplus
extern "C" {
#endif

/* variant: "gamp"; for verification "full" (a variance for every entry) and "bp" (relaxed belief
 * propagation, small problems only); negative controls "no-onsager", "printed-onsager" (g^t where g^(t-1)
 * belongs), "printed-g" (E[Z|y] for g_out) and "printed-side" (the paper's update with side information). */
typedef struct {
    int dim;      /* D */
    double alpha; /* N = round(alpha D) */
    const char *variant;
    double start;         /* standard deviation of random first weights; 0: 1/sqrt(D) */
    double start_overlap; /* above 0: the first estimate has this overlap, and variance 1 - it */
    double side; /* lambda of side information S = sqrt(lambda) W* + sqrt(1-lambda) noise, kept throughout */
    double damping; /* share of the old estimate in the new one */
    bool adaptive;  /* more damping where self-overlap and variance disagree by more than D^-1/2 explains */
    int max_iterations;
    double tolerance;        /* of the change of W, relative to W */
    double perfect;          /* eigenvalues of C below this count as perfect recovery */
    double precision;        /* asked of the channel */
    bool regenerate;         /* X is never stored: every tile is drawn again when it is needed */
    bool wide;               /* X in double rather than single precision */
    int test;                /* points behind the prediction errors */
    bool all_errors;         /* these at every iteration, not only the last */
    int seeds;               /* runs */
    uint64_t seed;           /* of the first run; the others follow */
    const char *checkpoint;  /* FILE, or NULL: run k keeps its state in FILE.k */
    double checkpoint_every; /* seconds */
    bool resume;             /* go on from the checkpoint, when there is one */
} stair_gamp_options;

/* One iteration, the first being the start.  Errors are those on fresh data, given W and W*: Bayes
 * E|y - E g(omega + sqrt(V) u)|^2, plug-in E|y - g(omega)|^2.  Without a teacher they are NaN. */
typedef struct {
    double change; /* |W - previous W| / |W| */
    double damping;
    double mismatch; /* |tr(W W^T / D) - tr(1 - C)| / P, small when the variances are right */
    double bayes, plugin, bayes_error, plugin_error;
    double channel_error; /* mean of the channel's own estimates */
} stair_gamp_record;

typedef struct {
    uint64_t seed;
    double alpha;
    int iterations;
    stair_stop stop;
    int count;                  /* iterations + 1 */
    stair_gamp_record *history; /* (count) */
    double *q, *m, *v;          /* (count, P, P): W W^T / D, W W*^T / D aligned with the teacher, C */
    double *cosine;             /* (count, P) */
    double *weights, *cov;      /* (P, D) and (P, P): posterior mean and covariance of every column of W */
    double pass_seconds, draw_seconds, channel_seconds, rest_seconds; /* processor time, all threads */
} stair_gamp_run;

typedef struct {
    int runs, indices, dim;
    size_t samples;
    stair_gamp_run *run; /* (runs) */
} stair_gamp_result;

stair_gamp_options stair_gamp_defaults(void);
stair_status stair_gamp_check(stair_context *context, const stair_gamp_options *options);

/* Synthetic teachers: W* and X i.i.d. N(0,1), labels of the model. */
stair_status stair_gamp(stair_context *context, const stair_model *model, const stair_gamp_options *options,
                        stair_gamp_result **result);
void stair_gamp_result_destroy(stair_gamp_result **result);

/* Samples up to number `end`, exclusive, from where the part before it ended: x (samples, M, D). */
typedef struct {
    const void *x;
    size_t end;
} stair_gamp_part;

/* Data of the caller's: x (N, M, D) in float or double, anywhere in memory or mapped; labels (N, K) as the
 * model carries them.  X in several arrays: `parts` (part_count) of the same element type, and x is not
 * looked at; results are the same bytes. */
typedef struct {
    const void *x;
    bool single;
    int dim;
    size_t samples;
    const double *labels;
    const stair_gamp_part *parts; /* or NULL */
    size_t part_count;
} stair_gamp_data;

/* One run on given data: options say how, its seed draws the start. */
stair_status stair_gamp_fit(stair_context *context, const stair_model *model,
                            const stair_gamp_options *options, const stair_gamp_data *data,
                            stair_gamp_result **result);

/* What runs take, told before anything large is allocated: a small run on one thread is behind the times. */
typedef struct {
    size_t samples;                   /* N */
    double x_bytes;                   /* of X where it is stored: on the card where X is there */
    double bytes, room;               /* of memory, X among them: needed at most, of one rank; free now */
    double device_bytes, device_room; /* the same on the card; 0 where it has no part in this */
    double draw, iteration;           /* seconds: what comes before each run, and an iteration */
    double seconds;                   /* of all runs, where each takes max_iterations */
} stair_gamp_need;
/* data, or NULL: a teacher is drawn; of data only dim, samples and single are looked at, and whether x is
 * NULL: then X has to be copied first. */
stair_status stair_gamp_needs(stair_context *context, const stair_model *model,
                              const stair_gamp_options *options, const stair_gamp_data *data,
                              stair_gamp_need *need);
/* STAIR_NO_MEMORY and a sentence where there is too little memory for that. */
stair_status stair_gamp_fits(stair_context *context, const stair_gamp_need *need);

/* A result of one run made of a posterior that is known already: weights (P, dim) and cov (P, P), symmetric,
 * as they stand in stair_gamp_run, and the seed of the run they come from; for stair_gamp_predict, which then
 * gives the same bytes as after the fit.  It has no history. */
stair_status stair_gamp_result_from(stair_context *context, const stair_model *model, int dim,
                                    const double *weights, const double *cov, uint64_t seed,
                                    stair_gamp_result **result);

/* Posterior-mean prediction of y at new x, and the posterior standard deviation of each entry; mean and
 * deviation (N, K) in plain outputs.  plugin (N, K), the output at the posterior mean, may be NULL. */
stair_status stair_gamp_predict(stair_context *context, const stair_model *model, const stair_gamp_run *run,
                                const stair_gamp_data *fresh, double *mean, double *deviation,
                                double *plugin);

/* State evolution of the algorithm as it is run, D infinite: the start, side information and damping of
 * `options`, variant "gamp".  q, m (count, P, P): W W^T / D and W W*^T / D at iterations 0 .. count-1, with
 * standard errors.  A random start is given the overlap that chance gives it in dimension D. */
typedef struct {
    int points;     /* samples of each replicate */
    int replicates; /* independent populations; their spread is the error */
    uint64_t seed;
} stair_gamp_theory_options;
stair_gamp_theory_options stair_gamp_theory_defaults(void);
stair_status stair_gamp_theory_check(stair_context *context, const stair_gamp_theory_options *options);
stair_status stair_gamp_theory(stair_context *context, const stair_model *model,
                               const stair_gamp_options *options, const stair_gamp_theory_options *how,
                               int count, double *q, double *q_error, double *m, double *m_error);

/* ---- runs beside theory ----------------------------------------------------------------------- */

typedef enum {
    STAIR_THEORY_NONE,
    STAIR_THEORY_FIXED,     /* the fixed point of state evolution from no knowledge */
    STAIR_THEORY_TRAJECTORY /* state evolution iteration by iteration */
} stair_theory_kind;

/* What is left of `kind` for these runs: from a given overlap the way matters, and the fixed point from no
 * knowledge is not where it leads; there STAIR_THEORY_FIXED becomes the trajectory. */
stair_theory_kind stair_gamp_theory_kind(const stair_gamp_options *options, stair_theory_kind kind);

/* What theory says of the overlap M with the teacher (at the fixed point Q is the same), D infinite. */
typedef struct {
    int count, indices;  /* count 0: no theory; 1: the fixed point; more: iterations 0 .. count-1 */
    double *q, *q_error; /* (count, P, P); without theory one row of NaN */
    stair_errors errors; /* of prediction, at the last; NaN without theory */
} stair_gamp_expectation;

/* For runs with `options`.  points, or NULL for the defaults: samples behind a trajectory, whose seed is that
 * of the runs. */
stair_status stair_gamp_expect(stair_context *context, const stair_model *model,
                               const stair_gamp_options *options, stair_theory_kind kind,
                               const stair_gamp_theory_options *points, stair_gamp_expectation **expectation);
void stair_gamp_expectation_destroy(stair_gamp_expectation **expectation);
/* Theory of iteration i, or of the last that there is: q and q_error (P, P). */
const double *stair_gamp_expected_q(const stair_gamp_expectation *expectation, int i);
const double *stair_gamp_expected_q_error(const stair_gamp_expectation *expectation, int i);

/* Means over runs of where each ended, with standard errors over runs (widened where runs are few, NaN for
 * one), standard deviations, and z-scores (mean - theory) / hypot(error, error of theory).  A z-score is NaN
 * without theory and for one run; and where theory says exactly 0, for overlaps of runs are positive and
 * their mean is not 0. */
typedef struct {
    int runs, indices, diverged;
    double *q, *q_error, *q_spread; /* (P, P): W W^T / D */
    double *m, *m_error, *m_spread; /* (P, P): W W*^T / D, aligned with the teacher */
    double *cosine, *cosine_error;  /* (P) */
    double *z_q, *z_m;              /* (P): of the diagonals */
    double bayes, bayes_error, z_bayes, plugin, plugin_error, z_plugin; /* errors of prediction */
} stair_gamp_summary;
/* expectation may be NULL: no theory. */
stair_status stair_gamp_summary_create(stair_context *context, const stair_gamp_result *result,
                                       const stair_gamp_expectation *expectation,
                                       stair_gamp_summary **summary);
void stair_gamp_summary_destroy(stair_gamp_summary **summary);

#ifdef __cplusplus
}
#endif
#endif
