/* A link written as a formula: y_k = f_k(z), a program of elementary steps over the numbers of Z it names.
 *
 *   expr_parse.c     text to program: the grammar, its limits, errors with their column
 *   expr_program.c   what a program is made of: steps are shared, constants folded, signs of products split;
 *                    on which cells each depends, whether it only jumps; values and gradients of one point
 *   expr_block.c     values of a block of points
 *   expr_round.c     whether an output is a sum of equal squares
 *   expr_interval.c  bounds of a value and of its slope over a segment of one coordinate
 *   expr_line.c      {t : f(t) = y} along one coordinate: points and intervals, none missed
 *
 * A program names cells: number (row, token) of Z.  Where the formula names no token it is applied to each
 * token by itself, and its cells are rows. */
#ifndef STAIR_MODEL_EXPR_H
#define STAIR_MODEL_EXPR_H

#include "core/context.h"
#include "core/limits.h"

typedef enum {
    STAIR_OP_CONST,
    STAIR_OP_CELL,
    STAIR_OP_ADD,
    STAIR_OP_SUB,
    STAIR_OP_MUL,
    STAIR_OP_DIV,
    STAIR_OP_MIN,
    STAIR_OP_MAX,
    STAIR_OP_LESS, /* 1 where a < b, else 0 */
    STAIR_OP_NEG,
    STAIR_OP_POWER, /* a^value, an integer if whole */
    STAIR_OP_SIGN,  /* 0 at 0 */
    STAIR_OP_ABS,
    STAIR_OP_SQRT,
    STAIR_OP_EXP,
    STAIR_OP_LOG,
    STAIR_OP_TANH,
    STAIR_OP_ERF,
    STAIR_OP_SIN,
    STAIR_OP_COS,
    STAIR_OP_RELU,
} stair_op;

typedef struct {
    stair_op op;
    int a, b;       /* steps before it, or -1 */
    double value;   /* constant, exponent */
    int cell;       /* of STAIR_OP_CELL */
    uint32_t needs; /* bit c: depends on cell c */
    bool flat;      /* only jumps: its slope is zero wherever it has one */
    bool whole;     /* exponent that is an integer */
} stair_step_of;

typedef struct stair_program {
    int count, outputs, cells;
    int row[STAIR_FORMULA_CELLS], token[STAIR_FORMULA_CELLS]; /* of each cell */
    int rows, tokens;                                         /* the largest named; tokens 0: none is named */
    int output[STAIR_MOST_OUTPUTS];
    stair_step_of step[STAIR_MOST_NODES];
} stair_program;

/* Reads a formula; a failure names the column, from 1. */
stair_status stair_program_parse(stair_context *context, const char *text, stair_program *program);

/* Adds a step, or finds the one that is there; -1 where there is no room.  b = -1: of one argument. */
int stair_program_constant(stair_program *program, double value);
int stair_program_cell(stair_program *program, int row, int token);
int stair_program_add(stair_program *program, stair_op op, int a, int b);
int stair_program_power(stair_program *program, int a, double exponent);

/* Values of all steps (count) at z (cells), and y (outputs); either may be NULL but not both. */
void stair_program_values(const stair_program *program, const double *z, double *value);
/* gradient (cells) of sum_k cotangent_k y_k from the values of all steps. */
void stair_program_gradient(const stair_program *program, const double *value, const double *cotangent,
                            double *gradient);
double stair_step_value(const stair_step_of *step, double a, double b);
/* exp(x), positive for every number x: a sign of it does not get lost below the smallest double. */
double stair_positive_exp(double x);
/* Slopes of a step of value y in its arguments a, b. */
void stair_step_slopes(const stair_step_of *step, double a, double b, double y, double *da, double *db);

/* Whether an output is shift + scale sum_c z_c^2 over all cells, by its steps: + - * / of constants and
 * squares.
 */
bool stair_program_round(const stair_program *program, int output, double *shift, double *scale);

/* value (count, STAIR_BLOCK) of n points z (cells, STAIR_BLOCK). */
void stair_program_block(const stair_program *program, int n, const double *z, double *value);

/* ---- along one coordinate ----------------------------------------------------------------------- */

typedef struct {
    double low, high;
} stair_range;

typedef struct {
    stair_range value, slope;
    bool broken; /* jumps, has a pole or is not defined somewhere inside */
    bool bent;   /* abs, relu, min or max change over inside: it may be flat on one side */
    bool empty;  /* is defined nowhere */
    bool flat;   /* only jumps: the ends of its range may be taken throughout, not at single places alone, */
    bool rests;  /* as they may by what relu, min or max make of it */
} stair_bound;

/* One coordinate of a program with the others fixed. */
typedef struct {
    const stair_program *program;
    int cell, output;
    int count, order[STAIR_MOST_NODES]; /* steps of this output that depend on the cell */
    int core; /* f = A + B u(C + D t): u is the step order[core], 0 where f is linear; -1: it has no such form
               */
    double value[STAIR_MOST_NODES]; /* of all others */
    stair_bound bound[STAIR_MOST_NODES];
} stair_line;

/* Chooses cell and output. */
void stair_line_set(stair_line *line, const stair_program *program, int cell, int output);
/* Fixes the other cells: z (cells). */
void stair_line_fix(stair_line *line, const double *z);
stair_bound stair_line_bound(stair_line *line, double low, double high);
double stair_line_value(stair_line *line, double at, double *slope); /* slope may be NULL */

/* bound (count): of the values of all steps where every cell has a range; slopes mean nothing. */
void stair_program_ranges(const stair_program *program, const stair_range *cell, stair_bound *bound);

#define STAIR_LINE_MOST 64 /* points, and intervals, of one line */
typedef struct {
    int points, intervals;
    double at[STAIR_LINE_MOST], slope[STAIR_LINE_MOST]; /* f = y, f' there */
    double from[STAIR_LINE_MOST], to[STAIR_LINE_MOST];  /* f = y throughout; ends of [low, high] included */
    bool full;                                          /* there are more than these */
} stair_level_set;

/* Where f = y in [low, high].  cuts: places, rising, at which it is sensible to begin, or NULL. */
void stair_line_solve(stair_line *line, double y, double low, double high, int count, const double *cuts,
                      stair_level_set *set);
/* Pieces of a line on which f only jumps: ends (pieces + 1), value of each.  Number of pieces, 0 where there
 * are more than `most` or f is not flat. */
int stair_line_pieces(stair_line *line, double low, double high, int count, const double *cuts, int most,
                      double *end, double *value);

/* Places at which a step that depends on this cell alone jumps or bends; rising.  Their number, -1 where
 * there are more than `most`. */
int stair_program_cuts(const stair_program *program, int cell, double low, double high, int most,
                       double *cut);
/* Whether every output depends on the cell through such jumps alone: only the interval between cuts that it
 * is in matters. */
bool stair_program_boxed(const stair_program *program, int cell);

#endif
