/* A branch of fixed points of state evolution: some directions learned, the others exactly at zero.
 *
 *   Qhat = alpha f(Q) + lambda/(1-lambda),  Q = Qhat (1 + Qhat)^-1,  f(Q) = H E sum_m g_m g_m^T
 *
 * H: blocks of the embedding, model->blocks.  alpha counts samples per dimension of all of it, while a row
 * has the dimension of one block: it sees H times as many.
 *
 * either at given alpha, or at a given mean v of the eigenvalues of 1 - Q on what is learned, in which
 * case alpha follows: a branch that folds back is walked along without noticing. */
#ifndef STAIR_ASYMPTOTICS_BRANCH_H
#define STAIR_ASYMPTOTICS_BRANCH_H

#include "asymptotics/operator.h"

/* Which rule averaged last, or NULL, and how often another one did.  A map that changes on the way has no
 * fixed point and no slopes: beyond `most` changes it is samples. */
typedef struct {
    const stair_average_rule *rule;
    int changes, most;
} stair_branch_served;

typedef struct {
    stair_context *context;
    const stair_model *model;
    const stair_structure *structure;
    stair_average_effort fine, coarse;
    double side;      /* lambda: side information */
    double tolerance; /* of log Qhat */
    double perfect;   /* eigenvalues of 1 - Q below this are recovery in full */
    double patience;  /* seconds of one core that a solve at given alpha, or a node of a curve, may take */
    int most_steps;
    size_t calls;                        /* samples asked of the channel so far */
    stair_branch_served coarsely, fully; /* of this solve, with the coarse rule and the full one */
    bool rising; /* Q comes from below: what is unstable on the way is so at the end */

    int learned, kernel;       /* dimensions: together P */
    double axes[STAIR_SQUARE]; /* (P, learned), orthonormal columns */
    double rest[STAIR_SQUARE]; /* (P, kernel) */
    double y[STAIR_SQUARE];    /* (learned, learned): log Qhat */
} stair_branch;

/* Outcome of a solve. */
typedef struct {
    int replicates;
    const stair_average_rule *rule; /* that served */
    bool random;                    /* replicates are independent, see average.h */
    double bias;                    /* relative error that all replicates may share, of f */
    double doubt;                   /* and of alpha, from the slopes it was settled with */
    double f_error;                 /* at given alpha: relative error of f, on average over what is learned */
    double alpha, alpha_error, alpha_by_replicate[STAIR_MOST_REPLICATES];
    double q[STAIR_SQUARE], q_error[STAIR_SQUARE]; /* (P, P) */
    stair_leading leading;                         /* of F on what is not learned */
    bool drifts;                /* f does not vanish there: more is learned at any alpha > 0, */
    double drift[STAIR_SQUARE]; /* along the range of this, (P, P) */
    int steps;
    double residual;
    stair_stop stop;
    bool shrinking; /* a learned direction goes back to zero and has to be let go */
    bool growing;   /* more was found to be unstable on the way here: q is no fixed point */
} stair_branch_point;

/* Efforts, tolerances and structure; nothing learned yet. */
stair_status stair_branch_prepare(stair_branch *b, stair_context *context, const stair_model *model,
                                  const stair_asymptotics_options *options);

void stair_branch_start(stair_branch *b); /* nothing learned */
/* Adds the range of x (P, P) >= 0 to what is learned, with overlap `amount` along it. */
void stair_branch_learn(stair_branch *b, const double *x, double amount);
void stair_branch_overlap(const stair_branch *b, double *q); /* (P, P) */
/* Puts the branch at q (P, P); directions with less than 1e-6 of the largest overlap are unlearned. */
void stair_branch_place(stair_branch *b, const double *q);
double stair_branch_least(const stair_branch *b);   /* least eigenvalue of 1 - Q on what is learned, */
double stair_branch_largest(const stair_branch *b); /* the largest */
double stair_branch_mean(const stair_branch *b);    /* mean of them: v */

/* f(Q) (P, P) by replicate r of an average, or by their mean for r < 0. */
void stair_branch_f(const stair_branch *b, const stair_average *average, int r, double *f);

stair_status stair_branch_at_alpha(stair_branch *b, double alpha, stair_branch_point *point);
stair_status stair_branch_at_mean(stair_branch *b, double v, bool fine, stair_branch_point *point);

/* Makes the full rule as careful as it takes to bring the relative error of `point`, part of which is its
 * bias, from `error` to `wanted`.  False where it is good enough already, or cannot be bettered. */
bool stair_branch_sharpen(stair_branch *b, const stair_branch_point *point, double error, double wanted);

/* Whether symmetries leave room for a drift of what is not learned. */
bool stair_branch_may_drift(const stair_branch *b);

/* Only the operator and the drift at Q = 0: on a grid of labels where that fits, else by sampling. */
stair_status stair_branch_at_zero(stair_branch *b, double precision, stair_branch_point *point);

/* 1/(2H) [log det(1 - Q) + Tr Q] by the eigenvalues of Q: the part of S that does not know alpha. */
double stair_entropy_of_prior(const stair_model *model, const double *values);

#endif
