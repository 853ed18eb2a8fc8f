/* What a model is to the rest of the house: a table of functions and one allocation.
 *
 * The channel sees a model only through its *fibre*, the set {Z : g(Z) = y} of one sample, given
 * as a map from Euclidean coordinates u (dim) to Z with a density `weight(u)` and, when the fibre
 * is symmetric under it, a mirror that negates the dependent rows:
 *
 *   Z_out = avg over charts and mirror of  integral du weight(u) N(Z(u); omega, V).
 *
 * The first `free_rows` rows of Z are coordinates themselves: u[r*M + m] = Z[r][m]; the remaining
 * `dim - free_rows*M` coordinates and the label fix the other rows.  dim = 0 is a finite fibre.
 * A noisy output has no fibre but a likelihood on all of Z: free_rows = P, and `residuals` rows
 * r(u) follow Z, adding -|r|^2/2 to the exponent.
 *
 * Operations are required or optional, as each says.  A model needs name, keys, create, forward and
 * label_from_output, and a fibre, a posterior in closed form, or its link as a program.
 */
#ifndef STAIR_MODEL_MODEL_H
#define STAIR_MODEL_MODEL_H

#include <stdatomic.h>

#include "core/context.h"
#include "core/limits.h"

/* Nodes are handled in blocks of STAIR_BLOCK, structure of arrays: coordinate k of node i is at
 * [k*STAIR_BLOCK + i].  The order of every sum is fixed by this block, not by the machine. */

/* Facts about the fibre of one sample.  Before fibre_open they are: a single point, one chart, no mirror. */
typedef struct stair_fibre {
    const struct stair_model *model;
    int dim;       /* coordinates */
    int free_rows; /* rows of Z that are coordinates */
    int charts;    /* disjoint pieces that need a chart of their own (reflections) */
    int angles;    /* trailing coordinates that chart a compact set */
    int residuals; /* rows after Z: standardised residuals of a noisy output */
    bool mirrored; /* (free rows, -other rows) lies on the fibre as well */
    bool rough;    /* the density is singular on or next to its domain: a lattice misjudges its error */
    double *data;  /* per-sample numbers of the model, `fibre_size` of them */
} stair_fibre;

/* What the caller of a map is content with, where fewer digits are cheaper. */
typedef enum { STAIR_ALL_DIGITS, STAIR_NINE_DIGITS } stair_digits;

/* Optional: a fibre whose leading rows, the head, only mix the tokens of all others: Z[p] = A(head) t[p], t a
 * function of coordinates v of its own, the tail. */
typedef struct {
    int (*rows)(const struct stair_model *model); /* of the head; 0: this one has no such split */
    /* A (M*M, STAIR_BLOCK) and its share of the density in (head, v), at nodes u of the head rows. */
    void (*head)(const stair_fibre *fibre, int n, const double *u, double *mix, double *weight);
    /* Dependent rows of t ((P - rows)*M, STAIR_BLOCK), its other rows being v, and the rest of the density.
     */
    void (*tail)(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *v, double *t,
                 double *weight);
} stair_split_ops;

/* Optional: with noise on y a posterior is a tube around a fibre.  Coordinates in which the label depends on
 * the last of them alone: leading rows of Z, then numbers h, as many as the other rows have; (rows, -others)
 * has the same label as (rows, others). */
typedef struct {
    int (*rows)(const struct stair_model *model); /* leading ones; 0: this one has no such coordinates */
    size_t (*scratch)(const struct stair_model *model);
    /* The other rows of Z, the plain outputs y (K, STAIR_BLOCK), and dZ/dh. */
    void (*map)(const struct stair_model *model, double *scratch, int n, const double *u, double *z,
                double *y, double *weight);
} stair_tube_ops;

/* Optional: the posterior of one sample where a formula exists. */
typedef struct {
    bool preferred;                                  /* to the fibre, which a model may have as well */
    bool (*exists)(const struct stair_model *model); /* for the keys of this one */
    bool (*holds)(const struct stair_model *model, const double *cov); /* for this V; NULL: for every one */
    /* log Z, g (P, M) and dg (P*M, P*M) of a label at omega (P, M) and V (P, P), prenoise included.  Refuses
     * labels as fibre_open does. */
    stair_status (*evaluate)(stair_context *context, const struct stair_model *model, const double *label,
                             const double *omega, const double *cov, double *logz, double *g, double *dg);
} stair_closed_ops;

/* Optional, with noise on y: rows that the label is linear in once others are given.  Both are rows of A Z,
 * fewer than those of Z where only sums of rows matter: y = C(u) v + noise.  model/marginal.h integrates v
 * out. */
typedef struct {
    /* Numbers of rows of u and of v, and A (given + linear, P), independent rows, u first; a may be NULL. */
    void (*rows)(const struct stair_model *model, int *given, int *linear, double *a);
    size_t (*scratch)(const struct stair_model *model); /* doubles */
    /* c (K, linear*M, 8) at u (given, M, 8): STAIR_GROUP points at once, the lanes of every array */
    void (*mix)(const struct stair_model *model, const double *u, double *scratch, double *c);
} stair_marginal_ops;

/* Optional: outputs, loss and gradient of STAIR_GROUP samples at once; samples are the lanes of every array.
 */
typedef struct {
    size_t (*scratch)(const struct stair_model *model); /* doubles */
    /* z (P, M, 8); y (K, 8) plain outputs; loss (8) = weight |y - target|^2, target (K, 8) and weight (8).
     * grad_z (P, M, 8), or NULL: the gradient of loss, or of sum_k cotangent_k y_k where cotangent (K, 8) is
     * given; target, weight and loss may then be NULL.  Without target and cotangent: y alone. */
    void (*run)(const struct stair_model *model, const double *z, const double *target, const double *weight,
                const double *cotangent, double *scratch, double *y, double *loss, double *grad_z);
} stair_batch_ops;

typedef struct stair_model_ops {
    const char *name, *summary;
    const char *formula; /* one line: y as a function of Z */
    const char *example; /* a MODEL string worth trying */
    /* Ended by a NULL key; STAIR_KEY_TOKENS and the like of model/keys.h among them are the common ones that
     * this model takes, read before create. */
    const stair_model_key *keys;
    bool positional; /* the first item of a MODEL string is the value of keys[0] and needs no key */
    /* `values` follow `keys`, defaults filled in; fills the common part and model->state.  It may put another
     * table of the same keys in place of model->ops: a variant with a file of its own. */
    stair_status (*create)(stair_context *context, struct stair_model *model, const char *const *values);
    void (*destroy)(struct stair_model *model); /* optional: what is behind state, which is freed by itself */
    /* y and carried labels of one Z (P, M); either output may be NULL. */
    void (*forward)(const struct stair_model *model, const double *z, double *y, double *label);
    stair_status (*label_from_output)(stair_context *context, const struct stair_model *model,
                                      const double *y, double *label);
    bool label_is_output; /* label_from_output only checks and copies */
    /* Optional, for models whose rows are in the usual order: y (K, STAIR_BLOCK) of the first n points of Z
     * (PM, STAIR_BLOCK); the same numbers as `forward`. */
    void (*block)(const struct stair_model *model, int n, const double *z, double *y);
    /* Training needs one of these two; batch is the faster. */
    void (*gradient)(const struct stair_model *model, const double *z, const double *cotangent,
                     double *gradient);
    const stair_batch_ops *batch;
    /* Checks the label and prepares the fibre; omega (P, M) only helps to centre its charts.  The
     * message of a failure names the reason; the caller adds the sample.  NULL: there is `closed`. */
    stair_status (*fibre_open)(stair_context *context, const struct stair_model *model, const double *label,
                               const double *omega, stair_fibre *fibre);
    /* The dependent rows of Z and the weight (STAIR_BLOCK) at the first n nodes of a block (whole lanes
     * are computed).  z has P*M + residuals rows; the free rows are the caller's to copy. */
    void (*fibre_map)(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                      double *z, double *weight);
    /* Optional, two free coordinates: the unit direction over which narrow ridges of a posterior are graphs.
     * NULL: the first coordinate. */
    void (*ridges)(const stair_fibre *fibre, double direction[2]);
    /* Optional: the density of angle coordinate k falls like sech(u)^power; those of power one come first.
     * NULL: power one throughout, which no density of a compact set falls slower than. */
    int (*angle_power)(const stair_fibre *fibre, int k);
    const stair_split_ops *split;       /* NULL: no head and tail */
    const stair_tube_ops *tube;         /* NULL: with noise on y all rows of Z are coordinates */
    const stair_closed_ops *closed;     /* NULL: no formula */
    const stair_marginal_ops *marginal; /* NULL: no rows that the label is known to be linear in */
    /* Optional: the link as a program (model/formula.h).  The channel then finds the set of Z with a label
     * along one coordinate after the other, and neither a fibre nor a formula is needed. */
    const struct stair_formula *(*program)(const struct stair_model *model);
    /* Optional: exact averages over labels when nothing is known, Q = 0: of log Z_out, and tensor (P, P, P,
     * P) E sum_ab G_ik,ab G_jl,ab of G = dg_out(y, 0, 1), the weak-recovery operator.  False: not with these
     * keys. */
    bool (*ignorant)(const struct stair_model *model, double *logz, double *tensor);
    /* Optional, two tokens: hidden layers of one row each that act by the sum of their mixings alone, B = 1 +
     * share sum_l S_l, S_l = softmax of products of row l by rows, on the one row of the last layer.  False:
     * not with these keys. */
    bool (*committee)(const struct stair_model *model, int *layers, double *share);
    /* Optional, two tokens: hidden layers of one row each that mix them by B_l = c 1 + S_l, S_l = softmax (or
     * the identity, linear) of h_l h_l^T by rows (or its transpose, literal), h_l = B_{l-1} ... B_1 u_l.
     * False: not with these keys. */
    bool (*mixing)(const struct stair_model *model, double *skip, bool *linear, bool *literal);
    /* Symmetries, which the channel uses to make equivalent samples give the same bytes.  even: g(-Z) = g(Z).
     * permute: label of the tokens order[0], order[1] ..., or NULL when tokens are not exchangeable. */
    bool even;
    bool smooth; /* g is analytic: lattices through noisy labels converge faster than any power */
    void (*permute)(const struct stair_model *model, const int *order, const double *label, double *out);
} stair_model_ops;

/* What is found out about a model when it is first asked for: model/structure.h. */
struct stair_structure;
typedef struct {
    struct stair_structure *_Atomic structure;
} stair_model_known;

struct stair_model {
    const stair_model_ops *ops;
    stair_model_info info;
    int ranks[STAIR_MAX_LAYERS];
    /* Of each row of Z; filled with what is usual before create, which may say otherwise. */
    int layer[STAIR_MAX_INDICES]; /* it belongs to; usual: `ranks` rows after each other */
    int order[STAIR_MAX_INDICES]; /* row k of a fibre is row order[k] of Z: free rows need not come first;
                                     models with `closed`, `tube` or `marginal` keep the usual one */
    int sign[STAIR_MAX_INDICES];  /* rows of one number > 0 change sign together; usual: nothing said */
    int block[STAIR_MAX_INDICES]; /* of the embedding that it acts on: rows of two blocks do not overlap */
    int blocks;                   /* of equal dimension; usual: one */
    int unseen; /* hidden layers of a committee that the first row stands for, besides its own; usual: none */
    int fibre_size; /* doubles of stair_fibre.data */
    int fibre_dim;  /* coordinates of a fibre, at most; without output noise */
    void *state;
    char *spec;
    stair_model_known *known;
};

extern const stair_model_ops *const stair_model_registry[]; /* ended by NULL */

/* A model of this table, registered or not; items: what follows the colon of a MODEL string, or NULL. */
stair_status stair_model_make(stair_context *context, const stair_model_ops *ops, const char *items,
                              stair_model **model);

/* Whether samples of this model have a fibre, its own or that of noise on y, which stair_fibre_open() can
 * open; else there is only the posterior in closed form. */
bool stair_fibre_exists(const stair_model *model);

/* The fibre of a sample of any model: its own, or with output noise the likelihood on all of Z. */
stair_status stair_fibre_create(stair_context *context, const stair_model *model, stair_fibre *fibre);
stair_status stair_fibre_open(stair_context *context, const double *label, const double *omega,
                              stair_fibre *fibre);
void stair_fibre_destroy(stair_fibre *fibre);

/* All digits; or as many as the caller says. */
void stair_fibre_map(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight);
void stair_fibre_map_to(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                        double *z, double *weight);

/* Optional facts with their defaults: ridges, leading angles of power one, split or NULL. */
void stair_fibre_ridges(const stair_fibre *fibre, double direction[2]);
int stair_fibre_circles(const stair_fibre *fibre);
const stair_split_ops *stair_fibre_split(const stair_fibre *fibre);

/* BAD_INPUT when an entry is not finite. */
stair_status stair_label_check(stair_context *context, const stair_model *model, const double *label);

/* UNSUPPORTED where the first row stands for other layers: single samples have every layer. */
stair_status stair_model_has_all_rows(stair_context *context, const stair_model *model);

/* The posterior in closed form, or NULL. */
const stair_closed_ops *stair_model_closed(const stair_model *model);

#endif
