/* Sums of equal squares, told by the steps of a program: each step is a constant plus multiples of squares,
 * or a multiple of one cell, or something else. */
#include <stdlib.h>

#include "model/expr.h"

typedef struct {
    bool known; /* constant + sum_c square[c] z_c^2 */
    int cell;   /* or times z_cell, alone; -1: no */
    double times, constant, square[STAIR_FORMULA_CELLS];
} quadratic;

static bool is_constant(const stair_program *p, int k)
{
    return p->step[k].op == STAIR_OP_CONST;
}

/* a + factor b */
static void combine(const quadratic *a, double factor, const quadratic *b, quadratic *out)
{
    out->known = a->known && b->known;
    out->constant = a->constant + factor * b->constant;
    for (int c = 0; c < STAIR_FORMULA_CELLS; c++) out->square[c] = a->square[c] + factor * b->square[c];
}

/* factor a */
static void stretch(double factor, const quadratic *a, quadratic *out)
{
    const quadratic zero = {.known = true};
    combine(&zero, factor, a, out);
    out->cell = a->cell;
    out->times = factor * a->times;
}

static void multiply(const quadratic *a, const quadratic *b, quadratic *out)
{
    if (a->cell < 0 || a->cell != b->cell) return;
    out->known = true;
    out->square[a->cell] = a->times * b->times;
}

static void look_at(const stair_program *p, int k, quadratic *q)
{
    const stair_step_of *s = &p->step[k];
    const quadratic *a = &q[s->a < 0 ? k : s->a], *b = &q[s->b < 0 ? k : s->b];
    quadratic *out = &q[k];
    *out = (quadratic){.cell = -1};
    switch (s->op) {
    case STAIR_OP_CONST:
        out->known = true;
        out->constant = s->value;
        return;
    case STAIR_OP_CELL:
        out->cell = s->cell;
        out->times = 1;
        return;
    case STAIR_OP_ADD:
    case STAIR_OP_SUB:
        combine(a, s->op == STAIR_OP_ADD ? 1 : -1, b, out);
        return;
    case STAIR_OP_NEG:
        stretch(-1, a, out);
        return;
    case STAIR_OP_MUL:
        if (is_constant(p, s->a))
            stretch(a->constant, b, out);
        else if (is_constant(p, s->b))
            stretch(b->constant, a, out);
        else
            multiply(a, b, out);
        return;
    case STAIR_OP_DIV:
        if (is_constant(p, s->b)) stretch(1 / b->constant, a, out);
        return;
    case STAIR_OP_POWER:
        if (s->value == 2) multiply(a, a, out);
        return;
    default:
        return;
    }
}

bool stair_program_round(const stair_program *p, int output, double *shift, double *scale)
{
    quadratic *q = malloc(sizeof *q * STAIR_MOST_NODES);
    if (!q) return false; /* a closed form is left out: other rules serve */
    for (int k = 0; k <= p->output[output]; k++) look_at(p, k, q);
    const quadratic *y = &q[p->output[output]];
    bool round = y->known && p->cells > 0 && y->square[0] != 0;
    for (int c = 1; c < p->cells && round; c++) round = y->square[c] == y->square[0];
    *shift = round ? y->constant : 0;
    *scale = round ? y->square[0] : 0;
    free(q);
    return round;
}
