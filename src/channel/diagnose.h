/* Shared by the files of stair_diagnose(): random points taken in portions, the channel's answers
 * at them, and the worst finding of each identity.
 *
 * Violations are weighed against what the reported errors allow at the same point; of all points the
 * row keeps the one with the largest ratio of the two.  Where the errors allow so much that the identity
 * is not checked, points are kept apart: they can show that it fails, but not that it holds. */
#ifndef STAIR_CHANNEL_DIAGNOSE_H
#define STAIR_CHANNEL_DIAGNOSE_H

#include "channel/moments.h"

typedef enum {
    STAIR_CHECK_FIBRE,
    STAIR_CHECK_COVARIANCE,
    STAIR_CHECK_SLOPE,
    STAIR_CHECK_SECOND,
    STAIR_CHECK_HEAT,
    STAIR_CHECK_MEAN,
    STAIR_CHECK_FISHER,
    STAIR_CHECK_SIGN,
    STAIR_CHECK_TOKENS,
    STAIR_CHECK_ROTATION,
    STAIR_CHECK_HONESTY,
    STAIR_CHECKS
} stair_check;

/* How far a true error may exceed the reported one, which is an estimate itself. */
#define STAIR_ALLOWANCE 3.0

#define STAIR_PORTION 64 /* most points held at a time */
#define STAIR_LEVELS  4  /* steps of differences */

/* Violations are relative or in units of V: where more than this is allowed, an identity is not checked. */
#define STAIR_RESOLVED 0.1

typedef struct {
    double violation, tolerance; /* of the worst */
    size_t count;
} stair_worst;

typedef struct {
    stair_worst resolved, open; /* what was noted where errors are small enough, and where they are not */
    size_t points;
} stair_finding;

/* A portion of points, and what the channel says of them. */
typedef struct {
    double *labels, *omega, *cov;  /* (n, K), (n, P, M), (n, P, P) */
    double *logz, *g, *dg, *error; /* (n), (n, P, M), (n, P*M, P*M), (n) */
} stair_portion;

typedef struct {
    stair_context *context, quiet; /* the caller's, and one with its threads but no progress */
    const stair_model *model;
    const stair_diagnose_options *options;
    stair_channel_options channel;
    int indices, tokens, size, label_size;
    bool sampled;   /* too many dimensions for a deterministic rule */
    bool noisy;     /* no fibre of the model's: a likelihood on all of Z */
    bool fibred;    /* there is something to integrate over; else a formula alone */
    size_t n, most; /* points of this portion, and of the largest */
    uint64_t first;
    double *memory, *z;               /* (n, P, M): the Z behind the labels */
    stair_portion base, other;        /* the points, and their displaced copies */
    double *direction;                /* (n, P*M + P*P): displacement of omega and V */
    double *change;                   /* (LEVELS, n, 1 + 2*P*M + P*P): differences of logz, omega, V, g */
    double *sums;                     /* (3, P*M + P*M*(P*M+1)/2): Monte Carlo sums, squares and errors */
    double *scratch;                  /* (LEVELS, P*M, P*M) */
    stair_integrand f;                /* for distances, and one fibre */
    size_t dishonest, compared, seen; /* errors: false ones, those with a reference worth the name; all */
    double done, total;               /* progress, in evaluations of the channel */
    stair_finding finding[STAIR_CHECKS];
} stair_survey;

/* Channel at the points of `portion`; counts as progress. */
stair_status stair_survey_evaluate(stair_survey *s, const stair_channel_options *options,
                                   stair_portion *portion);

/* One point more of an identity, resolved where no more than STAIR_RESOLVED is allowed; or as the caller
 * says. */
void stair_survey_note(stair_survey *s, stair_check check, double violation, double tolerance);
void stair_survey_note_as(stair_survey *s, stair_check check, bool resolved, double violation,
                          double tolerance);

/* The row of an identity. */
stair_identity stair_survey_conclude(const char *name, const stair_finding *finding);

/* V + prenoise of point i of the base: eigenvalues ascending, axes in columns. */
void stair_survey_axes(const stair_survey *s, size_t i, double *values, double *axes);

double stair_survey_norm(size_t n, const double *x);

/* The identities, each on the current portion. */
stair_status stair_survey_fibre(stair_survey *s);
stair_status stair_survey_covariance(stair_survey *s);
stair_status stair_survey_averages(stair_survey *s); /* adds to the sums */
void stair_survey_average_rows(stair_survey *s);     /* once, after the last portion */
stair_status stair_survey_honesty(stair_survey *s);
stair_status stair_survey_derivatives(stair_survey *s);
stair_status stair_survey_symmetries(stair_survey *s);

#endif
