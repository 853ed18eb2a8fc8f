/* Values of a block of points, step by step: each step is one loop over the block, which the compiler makes
 * vectors of where the step is arithmetic. */
#include <math.h>
#include <string.h>

#include "model/expr.h"

#define EACH(expression)                                                                                     \
    for (int i = 0; i < n; i++) y[i] = (expression)

static void one_step(const stair_step_of *s, int n, const double *a, const double *b, double *y)
{
    switch (s->op) {
    case STAIR_OP_ADD:
        EACH(a[i] + b[i]);
        return;
    case STAIR_OP_SUB:
        EACH(a[i] - b[i]);
        return;
    case STAIR_OP_MUL:
        EACH(a[i] * b[i]);
        return;
    case STAIR_OP_DIV:
        EACH(a[i] / b[i]);
        return;
    case STAIR_OP_NEG:
        EACH(-a[i]);
        return;
    case STAIR_OP_SIGN:
        EACH(a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i] + 0.0);
        return;
    case STAIR_OP_ABS:
        EACH(fabs(a[i]));
        return;
    case STAIR_OP_SQRT:
        EACH(sqrt(a[i]));
        return;
    case STAIR_OP_RELU:
        EACH(a[i] < 0 ? 0 : a[i] + 0.0);
        return;
    case STAIR_OP_POWER:
        if (s->value == 2) {
            EACH(a[i] * a[i]);
            return;
        }
        break;
    default:
        break;
    }
    EACH(stair_step_value(s, a[i], b ? b[i] : 0));
}

void stair_program_block(const stair_program *p, int n, const double *z, double *value)
{
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        double *y = value + (size_t)k * STAIR_BLOCK;
        if (s->op == STAIR_OP_CELL)
            memcpy(y, z + (size_t)s->cell * STAIR_BLOCK, sizeof(double) * (size_t)n);
        else if (s->op == STAIR_OP_CONST)
            EACH(s->value);
        else
            one_step(s, n, value + (size_t)s->a * STAIR_BLOCK,
                     s->b < 0 ? NULL : value + (size_t)s->b * STAIR_BLOCK, y);
    }
}
