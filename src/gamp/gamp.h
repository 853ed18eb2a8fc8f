/* One run of GAMP: what it knows, and the steps it takes.
 *
 *   V^t = C^t,  omega^t = X W^t / sqrt(D) - o^t,  g^t = g_out(y, omega^t, V^t)
 *   A^t = -(1/D) sum_mu sum_m [dg_out]_mm,        b^t = X^T g^t / sqrt(D) + A^t W^t
 *   f   = (1 + (1-l) A)^-1 (sqrt(l) S + (1-l) b),  F = (1-l) (1 + (1-l) A)^-1
 *   W^(t+1) = (1-d) f + d W^t,  C^(t+1) = (1-d) F + d C^t,  o^(t+1) = (1-d) F g^t + d o^t
 *
 * with side information S = sqrt(l) W* + sqrt(1-l) n of strength l, and damping d.  D is the dimension of a
 * row: that of one block where the embedding has several (model/blocks.h).  W, S and b are zero outside of
 * the blocks of their rows, A and C between rows of different blocks.
 *
 * The memory o makes damping exact: W^t is a weighted sum of past f, each of which has its own Onsager term,
 * and o is the sum of these.  Without damping o^(t+1) = C^(t+1) g^t.  Reference: Algorithm 1 of the paper,
 * corrected in docs/errata.md; in general, Gerbelot, Berthier, Information and Inference 12 (2023). */
#ifndef STAIR_GAMP_GAMP_H
#define STAIR_GAMP_GAMP_H

#include "gamp/tiles.h"
#include "model/blocks.h"
#include "model/structure.h"

typedef enum {
    STAIR_GAMP_PLAIN,
    STAIR_GAMP_FULL,            /* a variance for every entry: full.c */
    STAIR_GAMP_BP,              /* belief propagation: relaxed_bp.c */
    STAIR_GAMP_NO_ONSAGER,      /* o = 0 */
    STAIR_GAMP_PRINTED_ONSAGER, /* as the paper prints them; docs/errata.md has why they fail: o with g^t, */
    STAIR_GAMP_PRINTED_G,       /* E[Z|y] for g, */
    STAIR_GAMP_PRINTED_SIDE     /* the update with side information */
} stair_gamp_variant;

int stair_gamp_variant_of(const char *name); /* or -1 */
/* Every rank needs all of X. */
bool stair_gamp_is_whole(const stair_gamp_options *options);

/* What is inferred from: X, labels, side information.  A rank has its own samples only: arrays of all samples
 * have room for all, which takes no memory where nothing is written. */
typedef struct {
    stair_tiles tiles;
    void *stored;                                     /* X when it is this run's own */
    double *own_labels;                               /* likewise */
    const double *labels;                             /* (N, K) */
    double *teacher;                                  /* (P, D), or NULL */
    double *side;                                     /* S (P, D), or NULL */
    void (*release)(struct stair_resident *resident); /* of tiles.resident */
} stair_gamp_problem;

typedef struct stair_gamp_state {
    const stair_model *model;
    const stair_gamp_options *options;
    stair_channel_options channel;
    stair_gamp_variant variant;
    const stair_gamp_problem *problem;
    int p, m;
    int dim; /* of the embedding, */
    int one; /* and D, of a row of W: of one block */
    size_t samples;
    double scale; /* 1/sqrt(D) */
    int iteration;
    double *w;               /* (P, D) */
    double c[STAIR_SQUARE];  /* C, which is V */
    double f[STAIR_SQUARE];  /* F of the last step */
    double damping;          /* d of the last step */
    double cov_change;       /* largest relative change of a variance in it */
    double *g, *o;           /* (N, P, M): last g, and the memory o before the last step */
    double *next_g, *next_o; /* where a pass writes */
    double *b;               /* (stair_gamp_sum_size): X^T g / sqrt(D) (P, D), then what else a pass sums */
    double a[STAIR_SQUARE];  /* A */
    double gg[STAIR_SQUARE]; /* (1/D) sum g g^T, which A equals on average */
    double channel_error;
    double *room; /* of the sums of a pass */
    size_t room_size;
    double seconds[3]; /* pass, drawing, channel: processor time */
    double *full;      /* state of the variants that keep variances per entry */
} stair_gamp_state;

/* ---- problem.c --------------------------------------------------------------------------------- */
stair_status stair_gamp_problem_draw(stair_context *context, const stair_model *model,
                                     const stair_gamp_options *options, uint64_t seed,
                                     stair_gamp_problem *problem);
void stair_gamp_problem_destroy(stair_gamp_problem *problem);
/* Lets the device of the context hold X, where it has one that does and the run is one for it. */
stair_status stair_gamp_hold(stair_context *context, const stair_model *model,
                             const stair_gamp_options *options, stair_gamp_problem *problem);
/* Whether a run is one for that. */
bool stair_gamp_goes_to_card(const stair_context *context, const stair_gamp_options *options, bool single);
void stair_gamp_let_go(stair_gamp_problem *problem);
/* label (K) of Z (P, M); noise (PM + K): standard normals, not looked at where the model has no noise */
void stair_gamp_label(const stair_model *model, const double *z, const double *noise, double *label);

/* ---- state.c ----------------------------------------------------------------------------------- */
stair_status stair_gamp_state_create(stair_context *context, const stair_model *model,
                                     const stair_gamp_options *options, const stair_gamp_problem *problem,
                                     stair_gamp_state *state);
void stair_gamp_state_destroy(stair_gamp_state *state);
void stair_gamp_state_start(stair_gamp_state *state, uint64_t seed);

/* ---- pass.c: one pass over X ------------------------------------------------------------------- */
/* Fills next_g, next_o, b, a and gg from the rest; when it fails the run is where it was. */
size_t stair_gamp_sum_size(const stair_gamp_state *state); /* doubles that a pass sums over the samples */
stair_status stair_gamp_pass(stair_context *context, stair_gamp_state *state);
/* What is left to do once state->b holds the sums of a pass over all samples: (P, D) of X^T g / sqrt(D), (P,
 * P) of -dg/D, (P, P) of g g^T/D, errors, seconds of pass, drawing and channel. */
void stair_gamp_take_sums(stair_gamp_state *state);
/* z (N, P, M) = X w^T / sqrt(D), w (P, dim); of this rank's samples */
stair_status stair_gamp_project(stair_context *context, const stair_tiles *tiles, const stair_model *model,
                                const double *w, double *z);

/* ---- step.c ------------------------------------------------------------------------------------ */
/* The new W and C.  False when the run has diverged: 1 + A is not positive, or W runs away. */
bool stair_gamp_update(stair_gamp_state *state, double *change);
/* Pass and update, whatever the variant. */
stair_status stair_gamp_iterate(stair_context *context, stair_gamp_state *state, double *change,
                                bool *finite);

/* ---- full.c, relaxed_bp.c: whole iterations of the verification variants ------------------------- */
/* doubles of state->full that they ask for */
size_t stair_gamp_full_size(const stair_gamp_state *state);
void stair_gamp_full_start(stair_gamp_state *state);
stair_status stair_gamp_full_step(stair_context *context, stair_gamp_state *state, double *change,
                                  bool *finite);
size_t stair_gamp_bp_size(const stair_gamp_state *state);
void stair_gamp_bp_start(stair_gamp_state *state);
stair_status stair_gamp_bp_step(stair_context *context, stair_gamp_state *state, double *change,
                                bool *finite);
/* C (P, P) = (1 + a)^-1, w (P) = C b; false when 1 + a is not positive. */
bool stair_gamp_column(int p, const double *a, const double *b, double *cov, double *w);
/* n samples of a tile as doubles */
void stair_gamp_widen(const stair_tiles *tiles, const void *x, size_t n, double *out);

/* ---- measure.c ------------------------------------------------------------------------------------ */
/* out (P, P) = a b^T / D for a, b (P, dim) */
void stair_gamp_overlap(const stair_model *model, int dim, const double *a, const double *b, double *out);
/* Turns rows of m and rows and columns of q as the symmetries of the model allow, so that m is as close to
 * diagonal and positive as it gets; q may be NULL. */
void stair_gamp_align(const stair_structure *structure, double *q, double *m);
typedef struct {
    double bayes, plugin, bayes_error, plugin_error;
} stair_gamp_errors;
/* The normals behind them, the same at every iteration: at least `points` points; NULL without memory, else
 * to be freed. */
double *stair_gamp_error_normals(const stair_model *model, int points, uint64_t seed);
/* Errors of prediction given the overlaps: t = W* W*^T/D, m = W W*^T/D, q = W W^T/D, v = C. */
void stair_gamp_errors_at(const stair_model *model, int points, const double *normals, const double *t,
                          const double *m, const double *q, const double *v, stair_gamp_errors *errors);

#endif
