/* Programs: every step once, constants folded, and what it takes for exact structure to be seen:
 *
 *   sign(a b) = sign(a) sign(b),  sign(a / b) the same,  sign(-a) = -sign(a),  sign(a^k), sign(c)
 *
 * hold at every a, b, and make the sign of a product jump at places that do not depend on other cells.
 * sign(f(a)) = sign(a) for f = tanh, erf and odd powers; a < b is where b - a has a sign. */
#include "model/expr.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double power_of(double a, double exponent, bool whole)
{
    if (!whole) return a < 0 ? NAN : pow(a, exponent); /* pow(-inf, -1.5) is 0 */
    double result = 1, base = a;
    for (int k = abs((int)exponent); k; k /= 2, base *= base)
        if (k & 1) result *= base;
    return exponent < 0 ? 1 / result : result;
}

/* What is not defined stays so: a sign of it is no label. */
double stair_positive_exp(double x)
{
    return isfinite(x) ? fmax(DBL_MIN, exp(x)) : exp(x);
}

double stair_step_value(const stair_step_of *step, double a, double b)
{
    switch (step->op) {
    case STAIR_OP_ADD:
        return a + b;
    case STAIR_OP_SUB:
        return a - b;
    case STAIR_OP_MUL:
        return a * b;
    case STAIR_OP_DIV:
        return a / b;
    case STAIR_OP_MIN:
        return b < a || isnan(b) ? b : a;
    case STAIR_OP_MAX:
        return b > a || isnan(b) ? b : a;
    case STAIR_OP_LESS:
        return a < b ? 1 : a >= b ? 0 : NAN;
    case STAIR_OP_NEG:
        return -a;
    case STAIR_OP_POWER:
        return power_of(a, step->value, step->whole);
    case STAIR_OP_SIGN:
        return a > 0 ? 1 : a < 0 ? -1 : a + 0.0; /* no -0, which would be a label of its own */
    case STAIR_OP_ABS:
        return fabs(a);
    case STAIR_OP_SQRT:
        return sqrt(a);
    case STAIR_OP_EXP:
        return stair_positive_exp(a);
    case STAIR_OP_LOG:
        return log(a);
    case STAIR_OP_TANH:
        return tanh(a);
    case STAIR_OP_ERF:
        return erf(a);
    case STAIR_OP_SIN:
        return sin(a);
    case STAIR_OP_COS:
        return cos(a);
    case STAIR_OP_RELU:
        return a < 0 ? 0 : a + 0.0;
    case STAIR_OP_CONST:
    case STAIR_OP_CELL:
        break;
    }
    return step->value;
}

void stair_step_slopes(const stair_step_of *step, double a, double b, double y, double *da, double *db)
{
    *da = *db = 0;
    switch (step->op) {
    case STAIR_OP_ADD:
        *da = *db = 1;
        break;
    case STAIR_OP_SUB:
        *da = 1;
        *db = -1;
        break;
    case STAIR_OP_MUL:
        *da = b;
        *db = a;
        break;
    case STAIR_OP_DIV:
        *da = 1 / b;
        *db = -y / b;
        break;
    case STAIR_OP_MIN:
        *(b < a ? db : da) = 1;
        break;
    case STAIR_OP_MAX:
        *(b > a ? db : da) = 1;
        break;
    case STAIR_OP_NEG:
        *da = -1;
        break;
    case STAIR_OP_POWER:
        *da = step->value == 0 ? 0 : step->value * power_of(a, step->value - 1, step->whole);
        break;
    case STAIR_OP_ABS:
        *da = (a > 0) - (a < 0);
        break;
    case STAIR_OP_SQRT:
        *da = 0.5 / y;
        break;
    case STAIR_OP_EXP:
        *da = y;
        break;
    case STAIR_OP_LOG:
        *da = 1 / a;
        break;
    case STAIR_OP_TANH:
        *da = 1 / (cosh(a) * cosh(a)); /* 1 - y^2 loses its digits where y is near one */
        break;
    case STAIR_OP_ERF:
        *da = M_2_SQRTPI * exp(-a * a);
        break;
    case STAIR_OP_SIN:
        *da = cos(a);
        break;
    case STAIR_OP_COS:
        *da = -sin(a);
        break;
    case STAIR_OP_RELU:
        *da = a > 0;
        break;
    case STAIR_OP_LESS:
    case STAIR_OP_SIGN:
    case STAIR_OP_CONST:
    case STAIR_OP_CELL:
        break;
    }
}

/* ---- making ------------------------------------------------------------------------------------- */

static bool jumps_only(stair_op op)
{
    return op == STAIR_OP_SIGN || op == STAIR_OP_LESS;
}

/* The step that is there already, or a new one. */
static int place(stair_program *p, stair_step_of step)
{
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        if (s->op == step.op && s->a == step.a && s->b == step.b && s->cell == step.cell &&
            !memcmp(&s->value, &step.value, sizeof step.value))
            return k;
    }
    if (p->count == STAIR_MOST_NODES) return -1;
    if (step.a >= 0) step.needs |= p->step[step.a].needs;
    if (step.b >= 0) step.needs |= p->step[step.b].needs;
    step.flat = jumps_only(step.op) || (step.op != STAIR_OP_CELL && (step.a < 0 || p->step[step.a].flat) &&
                                        (step.b < 0 || p->step[step.b].flat));
    p->step[p->count] = step;
    return p->count++;
}

int stair_program_constant(stair_program *p, double value)
{
    return place(p,
                 (stair_step_of){.op = STAIR_OP_CONST, .a = -1, .b = -1, .cell = -1, .value = value + 0.0});
}

int stair_program_cell(stair_program *p, int row, int token)
{
    int cell = 0;
    while (cell < p->cells && (p->row[cell] != row || p->token[cell] != token)) cell++;
    if (cell == STAIR_FORMULA_CELLS) return -1;
    if (cell == p->cells) {
        p->row[cell] = row;
        p->token[cell] = token;
        p->cells++;
    }
    return place(p, (stair_step_of){
                        .op = STAIR_OP_CELL, .a = -1, .b = -1, .cell = cell, .needs = (uint32_t)1 << cell});
}

static bool constant(const stair_program *p, int a)
{
    return p->step[a].op == STAIR_OP_CONST;
}

/* sign of step a, where that is the sign of something simpler; -2: it is not. */
static int simpler_sign(stair_program *p, int a)
{
    stair_step_of s = p->step[a];
    int left, right;
    switch (s.op) {
    case STAIR_OP_MUL:
    case STAIR_OP_DIV:
        left = stair_program_add(p, STAIR_OP_SIGN, s.a, -1);
        right = left < 0 ? -1 : stair_program_add(p, STAIR_OP_SIGN, s.b, -1);
        return right < 0 ? -1 : stair_program_add(p, STAIR_OP_MUL, left, right);
    case STAIR_OP_NEG:
        left = stair_program_add(p, STAIR_OP_SIGN, s.a, -1);
        return left < 0 ? -1 : stair_program_add(p, STAIR_OP_NEG, left, -1);
    case STAIR_OP_POWER:
        if (!s.whole || (int)s.value % 2 == 0) return -2;
        return stair_program_add(p, STAIR_OP_SIGN, s.a, -1);
    case STAIR_OP_TANH:
    case STAIR_OP_ERF:
        return stair_program_add(p, STAIR_OP_SIGN, s.a, -1);
    case STAIR_OP_SIGN:
        return a;
    default:
        return -2;
    }
}

int stair_program_add(stair_program *p, stair_op op, int a, int b)
{
    stair_step_of step = {.op = op, .a = a, .b = b, .cell = -1};
    if (constant(p, a) && (b < 0 || constant(p, b)))
        return stair_program_constant(
            p, stair_step_value(&step, p->step[a].value, b < 0 ? 0 : p->step[b].value));
    if (op == STAIR_OP_SIGN) {
        int simple = simpler_sign(p, a);
        if (simple != -2) return simple;
    }
    return place(p, step);
}

int stair_program_power(stair_program *p, int a, double exponent)
{
    stair_step_of step = {.op = STAIR_OP_POWER,
                          .a = a,
                          .b = -1,
                          .cell = -1,
                          .value = exponent,
                          .whole = exponent == floor(exponent)};
    if (exponent == 1) return a;
    if (exponent == 0) return stair_program_constant(p, 1);
    if (constant(p, a)) return stair_program_constant(p, stair_step_value(&step, p->step[a].value, 0));
    return place(p, step);
}

/* ---- values -------------------------------------------------------------------------------------- */

void stair_program_values(const stair_program *p, const double *z, double *value)
{
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        value[k] = s->op == STAIR_OP_CELL
                       ? z[s->cell]
                       : stair_step_value(s, s->a < 0 ? 0 : value[s->a], s->b < 0 ? 0 : value[s->b]);
    }
}

void stair_program_gradient(const stair_program *p, const double *value, const double *cotangent,
                            double *gradient)
{
    double back[STAIR_MOST_NODES] = {0}, da, db;
    for (int k = 0; k < p->outputs; k++) back[p->output[k]] += cotangent[k];
    for (int c = 0; c < p->cells; c++) gradient[c] = 0;
    for (int k = p->count - 1; k >= 0; k--) {
        const stair_step_of *s = &p->step[k];
        if (back[k] == 0) continue;
        if (s->op == STAIR_OP_CELL) gradient[s->cell] += back[k];
        if (s->a < 0) continue;
        stair_step_slopes(s, value[s->a], s->b < 0 ? 0 : value[s->b], value[k], &da, &db);
        back[s->a] += back[k] * da;
        if (s->b >= 0) back[s->b] += back[k] * db;
    }
}
