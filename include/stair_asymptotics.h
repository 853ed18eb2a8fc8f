/* Asymptotics: overlaps, errors, free entropy and thresholds as D and N = alpha D grow.
 *
 * Part of the interface of stair.h, which includes this file.  An overlap Q is (P, P), symmetric, between 0
 * (nothing is known of W) and 1 (everything); alpha is samples per dimension.  Every number comes with its
 * error.  Results do not depend on the number of threads. */
#ifndef STAIR_H
#include "stair.h"
#endif
#ifndef STAIR_ASYMPTOTICS_H
#define STAIR_ASYMPTOTICS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options ---------------------------------------------------------------------------------- */

typedef struct {
    double precision;   /* target error: relative of thresholds, absolute of overlaps */
    int64_t points;     /* samples of the outer expectation, 0: as many as the precision needs */
    int replicates;     /* independent parts of them, whose spread is the error */
    double widening;    /* samples are drawn that much wider than the Gaussian, and weighted back */
    double inner;       /* precision asked of the channel, 0: what the outer error allows */
    const char *method; /* how labels are averaged: auto, or a rule by name */
    double side;        /* side information lambda */
    double tolerance;   /* residual of log Qhat at a fixed point, 0: from the precision */
    double perfect;     /* eigenvalues of 1 - Q below this count as perfect recovery */
    int max_iterations;
    double patience; /* minutes of one core that a threshold, or a point of a curve, may take at a precision
                        of 0.01; more at a smaller one; 0: any */
    uint64_t seed;
} stair_asymptotics_options;
stair_asymptotics_options stair_asymptotics_defaults(void);
stair_status stair_asymptotics_check(stair_context *context, const stair_asymptotics_options *options);

/* ---- one overlap, one alpha ------------------------------------------------------------------------ */

/* Prediction errors at an overlap: Bayes E|g(Z) - E[g(Z)|omega]|^2, plug-in E|g(Z) - g(omega)|^2,
 * Gibbs twice Bayes, weights 1 - |Q|^2/P; and the errors of these numbers.  q_error (P, P), or NULL: what q
 * is uncertain by, which is part of them. */
typedef struct {
    double bayes, plugin, gibbs, weights, bayes_error, plugin_error, gibbs_error, weights_error;
} stair_errors;
stair_status stair_errors_at(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, const double *q, const double *q_error,
                             stair_errors *errors);

typedef struct {
    double *q, *q_error; /* (P, P), the caller's */
    int iterations;
    double residual; /* of log Qhat */
    stair_stop stop;
    stair_errors errors;
} stair_evolution;

/* The fixed point of state evolution from no knowledge, or from full knowledge when `informed`.  from (P, P)
 * may hold the fixed point from the same start at a smaller alpha (informed: at a larger one), or be NULL. */
stair_status stair_evolve(stair_context *context, const stair_model *model,
                          const stair_asymptotics_options *options, double alpha, bool informed,
                          const double *from, stair_evolution *result);

/* What a sample tells at an overlap q < 1: f (P, P) with its errors.  State evolution leads from q to
 * Qhat (1 + Qhat)^-1 with Qhat = alpha f. */
stair_status stair_information_at(stair_context *context, const stair_model *model,
                                  const stair_asymptotics_options *options, const double *q, double *f,
                                  double *error);

/* S(Q) - S(0), per dimension, with its error. */
stair_status stair_entropy_at(stair_context *context, const stair_model *model,
                              const stair_asymptotics_options *options, double alpha, const double *q,
                              double *entropy, double *error);

/* ---- the staircase ---------------------------------------------------------------------------------- */

/* Spinodal: the overlap jumps because its branch of fixed points ends, and nothing loses its stability. */
typedef enum { STAIR_STEP_WEAK, STAIR_STEP_PERFECT, STAIR_STEP_SPINODAL } stair_step_kind;
const char *stair_step_kind_name(stair_step_kind kind);

#define STAIR_MOST_LEARNS 24
typedef struct {
    stair_step_kind kind;
    double alpha, error;
    double eigenvalue, eigenvalue_error; /* of the operator that loses stability; alpha times it is 1 */
    bool jump;                           /* the overlap jumps there */
    int learns[STAIR_MOST_LEARNS], learn_count; /* layers, or indices of a model without layers; from 1 */
    double overlap[STAIR_MOST_LEARNS],
        overlap_error[STAIR_MOST_LEARNS]; /* diagonal of Q where the step begins, (P) */
    double direction[STAIR_MOST_LEARNS];  /* diagonal of the leading eigenvector, (P), trace 1 */
} stair_step;

/* The staircase: at most `steps` weak-recovery steps, jumps between them, then perfect recovery. */
stair_status stair_threshold(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, int steps, int capacity,
                             stair_step *list, int *count);

/* ---- exponents -------------------------------------------------------------------------------------- */

/* The first Hermite coefficient that a row of Z has a part in. */
typedef struct {
    int exponent;              /* its degree; 0: none up to the degree that was looked at */
    double coefficient, error; /* information: E[y h(Z)]; generative: E of E[h(Z)|y]^2, a lower bound */
    char term[64];             /* h: z1^2 z2 stands for He_2(z1) He_1(z2), normalised */
    int leap,
        stage; /* degree in what is not yet known, and when it becomes known; 0: not up to this degree */
} stair_exponent_of;

typedef struct {
    stair_exponent_of information, generative;
} stair_exponent;

/* list (P).  Degrees up to 8 of at most 8 numbers of Z; noise is left out. */
stair_status stair_exponents(stair_context *context, const stair_model *model, int degree, uint64_t seed,
                             stair_exponent *list);

/* Overlaps for many alphas: the branches between the steps are solved at a few places each and fitted.
 * STAIR_UNSUPPORTED where a step is a jump, a branch folds back, or with side information: solve each alpha
 * then. */
typedef struct stair_curve stair_curve;
stair_status stair_curve_create(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *options, double most_alpha,
                                stair_curve **curve);
void stair_curve_destroy(stair_curve **curve);
/* q, q_error (P, P) of the fixed point from no knowledge; why it is one is returned. */
stair_stop stair_curve_at(const stair_curve *curve, double alpha, double *q, double *q_error);
/* Whether it leads through all steps to perfect recovery.  Alpha grows along it, so that no other fixed point
 * of it has the same alpha, and full knowledge as a start leads to the same one. */
bool stair_curve_is_whole(const stair_curve *curve);
const stair_step *stair_curve_steps(const stair_curve *curve, int *count); /* weak recovery */

/* ---- sweep: fixed points over a list of alphas --------------------------------------------------- */

/* From where state evolution starts: no knowledge, full knowledge, or one after the other. */
typedef enum { STAIR_START_UNINFORMED = 1, STAIR_START_INFORMED = 2, STAIR_START_BOTH = 3 } stair_starts;

typedef struct {
    double alpha;
    bool informed;       /* the start */
    double *q, *q_error; /* (P, P), the caller's */
    int iterations;      /* 0: read off a curve */
    double residual;     /* of log Qhat */
    stair_stop stop;
    stair_errors errors;
    double worst;        /* largest entry of q_error */
    stair_status status; /* STAIR_NOT_CONVERGED where the iterations ended, or worst is above the precision */
} stair_sweep_point;

/* Points come one by one: alphas in the order of the list, at each the start from no knowledge first.  From
 * 12 alphas on, points are read off the curve of the model where it has one (those from full knowledge where
 * the curve is whole); else each is solved, from the one before where that saves steps.
 *
 * stair_sweep_next computes the next point.  stair_sweep_known tells the next point instead, as it was
 * computed before (alpha to errors; worst and status are filled in): a sweep that is interrupted and gone on
 * with gives the same bytes.  The curve is made by the first stair_sweep_next. */
typedef struct stair_sweep stair_sweep;
stair_status stair_sweep_create(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *options, stair_starts starts, size_t alphas,
                                const double *alpha, stair_sweep **sweep);
void stair_sweep_destroy(stair_sweep **sweep);
size_t stair_sweep_points(const stair_sweep *sweep); /* in all: alphas times starts */
stair_status stair_sweep_next(stair_sweep *sweep, stair_sweep_point *point);
stair_status stair_sweep_known(stair_sweep *sweep, stair_sweep_point *point);
/* Why a sweep that is long enough for a curve does without one, or NULL. */
const char *stair_sweep_no_curve(const stair_sweep *sweep);

/* The whole sweep: points (alphas * starts), q and q_error (alphas * starts, P, P), to which the points
 * refer. STAIR_NOT_CONVERGED where a point has that status. */
stair_status stair_sweep_all(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, stair_starts starts, size_t alphas,
                             const double *alpha, stair_sweep_point *points, double *q, double *q_error);

/* ---- phases: the fixed points at one alpha, and which of them is Bayes-optimal ------------------- */

/* No knowledge, full knowledge, and overlaps 0.3 and 0.7 between. */
#define STAIR_PHASE_STARTS 4

typedef struct {
    double alpha;
    double entropy[STAIR_PHASE_STARTS]; /* S - S(0) at the fixed point from each start, per dimension; */
    double entropy_error[STAIR_PHASE_STARTS]; /* infinite at perfect recovery without noise */
    double slope[STAIR_PHASE_STARTS];         /* d(S - S(0))/d alpha there: S is stationary in Q */
    int best;  /* the start whose fixed point has the largest entropy, by more than three errors: Bayes */
    bool hard; /* and message passing, which starts from no knowledge, stays at another */
    double *bayes_q, *bayes_q_error; /* (P, P), the caller's: overlap of the Bayes-optimal estimator, */
    double *amp_q, *amp_q_error;     /* (P, P), the caller's: and of message passing */
} stair_phase;

/* STAIR_NOT_CONVERGED where a fixed point is not reached: no phase then.  One that is known less well than
 * the precision is a result all the same: see stair_phase_worst. */
stair_status stair_phase_at(stair_context *context, const stair_model *model,
                            const stair_asymptotics_options *options, double alpha, stair_phase *phase);
/* The largest error of the overlaps (P, P) and of the largest entropy. */
double stair_phase_worst(int indices, const stair_phase *phase);
/* From the phases of one model at a list of alphas in any order: the two neighbours between which, as alpha
 * grows, something is first known (information), and first found by message passing (algorithmic); NaN where
 * the list does not show it. */
void stair_phase_thresholds(int indices, size_t count, const stair_phase *phases, double information[2],
                            double algorithmic[2]);

/* A hard phase: between alphas where more can be known, and where message passing finds it. */
typedef struct {
    double information, information_error; /* the information-theoretic threshold: another fixed point has the
                                              larger entropy above */
    double algorithmic, algorithmic_error; /* where the overlap of message passing jumps; infinite: never */
    stair_step_kind kind;                  /* of that step */
} stair_hard_phase;
/* All hard phases of a model, found from its staircase; at most `capacity`.  STAIR_NOT_CONVERGED, with those
 * that were found, where the staircase could not be followed to its end or an error exceeds the precision. */
stair_status stair_hard_phases(stair_context *context, const stair_model *model,
                               const stair_asymptotics_options *options, int capacity, stair_hard_phase *list,
                               int *count);

/* ---- the staircase as a curve: what a figure of it shows ------------------------------------------- */

typedef struct {
    int indices, steps, points;
    stair_step *step;     /* (steps): weak recovery, then perfect recovery where it is reached */
    double *alpha;        /* (points), ascending: 0, the steps, and points between them */
    double *q, *q_error;  /* (points, P): diagonals of the overlap from no knowledge */
    stair_errors *errors; /* (points) */
    double worst;         /* largest entry of q_error */
} stair_staircase_curve;

/* `between` points from one step to the next, crowded where the curve leaves the lower one.  The staircase is
 * climbed once, for steps and curve.  STAIR_NOT_CONVERGED with a curve where an overlap is known less well
 * than the precision; without one (NULL) where the weak-recovery steps could not be followed to their end. */
stair_status stair_staircase_curve_create(stair_context *context, const stair_model *model,
                                          const stair_asymptotics_options *options, int between,
                                          stair_staircase_curve **curve);
void stair_staircase_curve_destroy(stair_staircase_curve **curve);

#ifdef __cplusplus
}
#endif
#endif
