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
 */
#ifndef STAIR_MODEL_MODEL_H
#define STAIR_MODEL_MODEL_H

#include <stdatomic.h>

#include "core/context.h"
#include "core/limits.h"

/* Nodes are handled in blocks of fixed size, structure of arrays: coordinate k of node i is at
 * [k*STAIR_BLOCK + i].  The order of every sum is fixed by this block, not by the machine. */

typedef struct stair_fibre {
    const struct stair_model *model;
    int dim;         /* coordinates */
    int free_rows;   /* rows of Z that are coordinates */
    int charts;      /* disjoint pieces that need a chart of their own (reflections) */
    int angles;      /* trailing coordinates that chart a compact set, */
    int circles;     /* the first of them with density sech(u), the others with sech(u)^2 or higher powers */
    int residuals;   /* rows after Z: standardised residuals of a noisy output */
    bool mirrored;   /* (free rows, -other rows) lies on the fibre as well */
    bool rough;      /* the density is singular on or next to its domain: a lattice misjudges its error */
    double outer[2]; /* two coordinates: unit direction over which narrow ridges are graphs */
    bool brief;      /* the caller is content with nine digits of the map, where that is cheaper */
    int head_rows;   /* leading free rows that only mix the tokens of all others, see fibre_head; 0: no such
                        split */
    double *data;    /* per-sample numbers of the model, `fibre_size` of them */
} stair_fibre;

typedef struct stair_model_ops {
    const char *name, *summary;
    const stair_model_key *keys; /* ended by a NULL key */
    /* `values` follow `keys`, defaults filled in; fills the common part and model->state. */
    stair_status (*create)(stair_context *context, struct stair_model *model, const char *const *values);
    void (*destroy)(struct stair_model *model);
    /* y and carried labels of one Z (P, M); either output may be NULL. */
    void (*forward)(const struct stair_model *model, const double *z, double *y, double *label);
    stair_status (*label_from_output)(stair_context *context, const struct stair_model *model,
                                      const double *y, double *label);
    void (*gradient)(const struct stair_model *model, const double *z, const double *cotangent,
                     double *gradient);
    /* Checks the label and prepares the fibre; omega (P, M) only helps to centre its charts.  The
     * message of a failure names the reason; the caller adds the sample. */
    stair_status (*fibre_open)(stair_context *context, const struct stair_model *model, const double *label,
                               const double *omega, stair_fibre *fibre);
    /* The dependent rows of Z and the weight (STAIR_BLOCK) at the first n nodes of a block (whole lanes
     * are computed).  z has P*M + residuals rows; the free rows are the caller's to copy. */
    void (*fibre_map)(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight);
    /* Where fibre->head_rows > 0: the other rows are Z[p] = A(head) t[p], t a function of coordinates v of
     * its own. head: A (M*M, STAIR_BLOCK) and its share of the density in (head, v), at nodes u of the head
     * rows. tail: dependent rows of t ((P - head_rows)*M, STAIR_BLOCK), its other rows being v, and the rest
     * of the density. */
    void (*fibre_head)(const stair_fibre *fibre, int n, const double *u, double *mix, double *weight);
    void (*fibre_tail)(const stair_fibre *fibre, int chart, int n, const double *v, double *t,
                       double *weight);
    /* Symmetries, which the channel uses to make equivalent samples give the same bytes.  even: g(-Z) = g(Z).
     * permute: label of the tokens order[0], order[1] ..., or NULL when tokens are not exchangeable. */
    bool even;
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
    int fibre_size; /* doubles of stair_fibre.data */
    int fibre_dim;  /* coordinates of a fibre, at most; without output noise */
    void *state;
    char *spec;
    stair_model_known *known;
};

extern const stair_model_ops *const stair_model_registry[]; /* ended by NULL */

/* The fibre of a sample of any model: its own, or with output noise the likelihood of noisy.c. */
stair_status stair_fibre_create(stair_context *context, const stair_model *model, stair_fibre *fibre);
stair_status stair_fibre_open(stair_context *context, const double *label, const double *omega,
                              stair_fibre *fibre);
void stair_fibre_map(const stair_fibre *fibre, int chart, int n, const double *u, double *z, double *weight);
void stair_fibre_destroy(stair_fibre *fibre);

/* Closest of the candidates to `word` ("did you mean"), or NULL when none is close. */
const char *stair_closest(const char *word, const char *const *candidates);

#endif
