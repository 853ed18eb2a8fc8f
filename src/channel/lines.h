/* The posterior of a link written as a program, coordinate after coordinate.
 *
 * Whitened coordinates x = L^-1 (Z - omega) of the cells a formula names, in an order of its own; each is a
 * level of a nested sum:
 *
 *   box     the formula sees only between which cuts the cell is, and V does not couple it: Gaussian moments
 *           of each interval, exact
 *   outer   integrated over: equidistant nodes where nothing breaks, double-exponential ones between the
 *           places where it does
 *   solve   one output fixes the cell given those before: its roots, each with 1/|f'|; where the output is
 *           constant over an interval and equal to the label, that interval
 *   pieces  the last cell, where all outputs only jump along it: intervals with their Gaussian moments
 *   noisy   the last cell, with noise on y: its likelihood, by adaptive panels
 *
 * One output that does not change along the cell it is solved for, in places, but does along another, as
 * max(z1, z2), has a part of its level set parallel to those lines.  It is then solved for the other cell,
 * too, and of that counts what does not change along the first (`still`), and so on.
 *
 * MATH: Z_out = int prod_k dx_k N(x_k) delta(y - f) becomes a sum over leaves, each with a weight, a mean of
 * x and a variance of the coordinates that were integrated in closed form. */
#ifndef STAIR_CHANNEL_LINES_H
#define STAIR_CHANNEL_LINES_H

#include "channel/rules.h"
#include "model/formula.h"

#define STAIR_LINES_CUTS   48  /* of one cell */
#define STAIR_LINES_PANEL  16  /* nodes of a panel of the noisy level */
#define STAIR_LINES_ENDS   64  /* double-exponential nodes */
#define STAIR_LINES_PANELS 64  /* of an outer level, to begin with */
#define STAIR_LINES_TRIALS 256 /* random Z that slopes are looked at */
#define STAIR_LINES_SHIFTS 8   /* of the lattice, where three or more levels are outer ones */

typedef enum {
    STAIR_LEVEL_BOX,
    STAIR_LEVEL_OUTER,
    STAIR_LEVEL_SOLVE,
    STAIR_LEVEL_PIECES,
    STAIR_LEVEL_NOISY
} stair_level_kind;

/* Sums over leaves, all times exp(top). */
typedef struct {
    double top, mass;
    int atoms; /* levels that were fixed to an interval by a constant output: more of them outweigh any
                  density */
    long leaves;
    double first[STAIR_FORMULA_CELLS], second[STAIR_FORMULA_CELLS * STAIR_FORMULA_CELLS];
} stair_leaf_sums;

/* Nodes of Gauss and Legendre on (-1, 1). */
typedef struct {
    int count;
    double node[STAIR_LINES_PANEL], weight[STAIR_LINES_PANEL], log_weight[STAIR_LINES_PANEL];
} stair_panel;

/* Double-exponential nodes on (0, 1): their distance from the nearer end, the lower one for the first half.
 */
typedef struct {
    int count;
    double near[STAIR_LINES_ENDS], log_weight[STAIR_LINES_ENDS];
} stair_end_nodes;

typedef struct stair_lines {
    const stair_model *model;
    const stair_formula *formula;
    /* fixed for the model */
    int cuts[STAIR_FORMULA_CELLS];
    double cut[STAIR_FORMULA_CELLS][STAIR_LINES_CUTS];
    bool boxed[STAIR_FORMULA_CELLS];
    double steep[STAIR_MOST_OUTPUTS][STAIR_FORMULA_CELLS];    /* mean of log |df_k/dz_c| at random Z */
    uint32_t factor[STAIR_MOST_OUTPUTS][STAIR_FORMULA_CELLS]; /* bit c: df_k/dz_d vanishes where z_c does, as
                                                                 of products */
    uint32_t
        level[STAIR_LINES_TRIALS]; /* bit c: at that random Z the first output does not change along cell c */
    stair_panel panel, rule[3];    /* of the noisy level, and of outer ones by fineness */
    stair_end_nodes ends[2];       /* of the coarse ones, and of all others */
    /* of one sample */
    int n, cell[STAIR_FORMULA_CELLS]; /* level to cell */
    stair_level_kind kind[STAIR_FORMULA_CELLS];
    int output[STAIR_FORMULA_CELLS]; /* of a solve level */
    int outers;
    uint32_t still; /* cells along which the output must not change: others have seen to where it does */
    uint32_t poles; /* bit c: 1/|f'| is singular where z_c = 0 */
    double mean[STAIR_FORMULA_CELLS], lower[STAIR_FORMULA_CELLS * STAIR_FORMULA_CELLS],
        inverse[STAIR_FORMULA_CELLS * STAIR_FORMULA_CELLS];
    const double *label;
    double noise;
    /* on the way down */
    double z[STAIR_FORMULA_CELLS], x[STAIR_FORMULA_CELLS], spread[STAIR_FORMULA_CELLS], log_weight;
    int atoms;
    const double *point; /* of the outer levels, where the caller chooses it, or NULL */
    bool dry;            /* leaves are counted, not added */
    bool singular;       /* an infinite density was met */
    bool full;           /* a line had more roots than fit, or was not resolved */
    double radius;       /* of outer levels, */
    int fine;            /* how fine their nodes are, */
    double tolerance;    /* what halves of panels may differ by, */
    double open;         /* and what those that were not halved again did, in all */
    bool folded; /* leaves came or went: places of folds are known to rounding, their roots to its root */
    long visited;
    stair_leaf_sums sums;
    stair_line line[STAIR_FORMULA_CELLS];
    stair_level_set set[STAIR_FORMULA_CELLS];
    stair_leaf_sums found[STAIR_FORMULA_CELLS][STAIR_LINES_PANELS]; /* of panels of outer levels */
} stair_lines;

stair_status stair_lines_create(stair_context *context, const stair_model *model, stair_lines **lines);
void stair_lines_destroy(stair_lines **lines);

/* Chooses the levels for means and covariance of copy t of the formula, for what does not change along the
 * cells s->still; not OK: its labels cannot be solved one coordinate at a time. */
stair_status stair_lines_plan(stair_context *context, stair_lines *s, int t, const double *label,
                              const double *omega, const double *variance);

/* After a plan: whether labels have parts that do not change along the cell that was solved for, nor those of
 * s->still; then it is added to these. */
bool stair_lines_other(stair_lines *s);

/* Runs all levels once and adds to s->sums. */
void stair_lines_run(stair_lines *s);
/* The same at one point x of the outer levels, in their order, with a weight. */
void stair_lines_run_at(stair_lines *s, const double *outer, double log_weight);

/* An empty sum; into += from. */
void stair_leaf_clear(stair_leaf_sums *sums);
void stair_leaf_merge(int n, stair_leaf_sums *into, const stair_leaf_sums *from);

#endif
