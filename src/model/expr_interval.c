/* Bounds of a program and of its slope over a segment of one coordinate: interval arithmetic, forward.
 *
 * Every step maps bounds of its arguments to bounds that hold everything it can give, and no smaller than
 * rounding: results are widened by a few units in the last place.  Invariant: for every t of the segment
 * where f is defined, f(t) lies in `value`, and where f is smooth f'(t) lies in `slope`, unless `broken` says
 * that it jumps inside. Reference: Moore, Interval Analysis (1966). */
#include <float.h>
#include <math.h>

#include "model/expr.h"

static const stair_range everything = {-INFINITY, INFINITY};

/* Bounds that went through rounding; 0 times infinity counts as anything. */
static stair_range widened(double low, double high)
{
    if (isnan(low) || isnan(high)) return everything;
    return (stair_range){isinf(low) ? low : low - 4 * DBL_EPSILON * fabs(low),
                         isinf(high) ? high : high + 4 * DBL_EPSILON * fabs(high)};
}

static stair_range exactly(double x)
{
    return (stair_range){x, x};
}

static bool is_zero(stair_range x)
{
    return x.low == 0 && x.high == 0;
}

static stair_range add(stair_range a, stair_range b)
{
    if (is_zero(a)) return b;
    if (is_zero(b)) return a;
    if (a.low == a.high && b.low == b.high && a.low == -b.low) return exactly(0);
    return widened(a.low + b.low, a.high + b.high);
}

static stair_range negative(stair_range a)
{
    return (stair_range){-a.high, -a.low};
}

/* 0 times anything is 0: a slope that is zero stays so next to a pole, where the bound is marked as broken.
 */
static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static stair_range multiply(stair_range a, stair_range b)
{
    if (is_zero(a) || is_zero(b)) return exactly(0);
    if (a.low == a.high && fabs(a.low) == 1) return a.low > 0 ? b : negative(b); /* so that slopes cancel */
    if (b.low == b.high && fabs(b.low) == 1) return b.low > 0 ? a : negative(a);
    double p = times(a.low, b.low), q = times(a.low, b.high), r = times(a.high, b.low),
           s = times(a.high, b.high);
    return widened(fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)));
}

/* 1 / a; a range with zero inside has a pole. */
static stair_range inverse(stair_range a, bool *pole)
{
    if (a.low < 0 && a.high > 0) {
        *pole = true;
        return everything;
    }
    if (is_zero(a)) {
        *pole = true;
        return everything;
    }
    return widened(a.high == 0 ? -INFINITY : 1 / a.high, a.low == 0 ? INFINITY : 1 / a.low);
}

static stair_range hull(stair_range a, stair_range b)
{
    return (stair_range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static stair_range square(stair_range a)
{
    double low = a.low * a.low, high = a.high * a.high;
    if (a.low <= 0 && a.high >= 0) return widened(0, fmax(low, high));
    return widened(fmin(low, high), fmax(low, high));
}

static stair_range power(stair_range a, int k, bool *pole)
{
    if (k == 0) return exactly(1);
    if (k < 0) return inverse(power(a, -k, pole), pole);
    double low = pow(a.low, k), high = pow(a.high, k);
    if (k % 2) return widened(low, high);
    if (a.low <= 0 && a.high >= 0) return widened(0, fmax(low, high));
    return widened(fmin(low, high), fmax(low, high));
}

/* cos over a range: does it hold a multiple of 2 pi, or an odd one of pi? */
static stair_range cosine(stair_range a)
{
    if (!(a.high - a.low < 2 * M_PI) || !(fabs(a.low) < 1e8)) return (stair_range){-1, 1};
    double x = cos(a.low), y = cos(a.high), low = fmin(x, y), high = fmax(x, y), slack = 1e-7;
    if (floor((a.high + slack) / (2 * M_PI)) > floor((a.low - slack) / (2 * M_PI))) high = 1;
    if (floor((a.high + slack - M_PI) / (2 * M_PI)) > floor((a.low - slack - M_PI) / (2 * M_PI))) low = -1;
    double off = 2 * DBL_EPSILON * (2 + fabs(a.low) + fabs(a.high)); /* of the argument, which was rounded */
    return (stair_range){fmax(-1, low - off), fmin(1, high + off)};
}

/* Next to zero it has its sign to the last digit: else sign(sin(x)) would jump in every neighbourhood of 0.
 */
static stair_range sine(stair_range a)
{
    if (a.low >= -1.5 && a.high <= 1.5) return widened(sin(a.low), sin(a.high));
    return cosine((stair_range){a.low - M_PI_2, a.high - M_PI_2});
}

/* The part of a where a function is defined: x >= 0.  False: nowhere. */
static bool not_negative(stair_range *a, stair_bound *out)
{
    if (a->high < 0) return false;
    if (a->low < 0) {
        out->broken = true;
        a->low = 0;
    }
    return true;
}

/* Slope of something whose value goes from its value at the ends, f' between `slope`. */
static void chain(stair_range value, stair_range slope, stair_range inner, stair_bound *out)
{
    out->value = value;
    out->slope = multiply(slope, inner);
}

/* f rises. */
static stair_range rising(stair_range a, double (*f)(double))
{
    double low = f(a.low);
    return widened(low, a.high == a.low ? low : f(a.high));
}

/* A slope that falls on both sides of 0, of what changes as `inner` does: exp(-x^2) and the like. */
static stair_range bell(stair_range a, double (*f)(double), stair_range inner)
{
    if (is_zero(inner)) return inner;
    double x = f(a.low), y = f(a.high);
    return widened(fmin(x, y), a.low <= 0 && a.high >= 0 ? f(0) : fmax(x, y));
}

static double slope_of_tanh(double x)
{
    return fabs(x) > 350 ? 0 : 1 / (cosh(x) * cosh(x));
}

static double slope_of_erf(double x)
{
    return M_2_SQRTPI * exp(-x * x);
}

static void bend(stair_range a, stair_range below, stair_range above, stair_range value, stair_range inner,
                 stair_bound *out)
{
    out->bent |= a.low < 0 && a.high > 0;
    chain(value, a.low >= 0 ? above : a.high <= 0 ? below : hull(below, above), inner, out);
}

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static void of_one(const stair_step_of *s, const stair_bound *x, stair_bound *out)
{
    stair_range a = x->value;
    switch (s->op) {
    case STAIR_OP_NEG:
        chain(negative(a), exactly(-1), x->slope, out);
        return;
    case STAIR_OP_SIGN:
        out->value = x->flat || x->rests
                         ? (stair_range){sign(a.low), sign(a.high)}
                         : (stair_range){sign(a.low < 0 ? a.low : a.high), sign(a.high > 0 ? a.high : a.low)};
        out->broken |= out->value.low < out->value.high;
        out->slope = exactly(0);
        return;
    case STAIR_OP_ABS:
        bend(a, exactly(-1), exactly(1),
             a.low >= 0    ? a
             : a.high <= 0 ? negative(a)
                           : (stair_range){0, fmax(-a.low, a.high)},
             x->slope, out);
        return;
    case STAIR_OP_RELU:
        out->rests |= x->flat || a.low < 0;
        bend(a, exactly(0), exactly(1), (stair_range){fmax(0, a.low), fmax(0, a.high)}, x->slope, out);
        return;
    case STAIR_OP_SQRT:
        out->empty |= !not_negative(&a, out);
        if (!out->empty)
            chain(widened(sqrt(a.low), sqrt(a.high)),
                  widened(a.high > 0 ? 0.5 / sqrt(a.high) : 0, a.low > 0 ? 0.5 / sqrt(a.low) : INFINITY),
                  x->slope, out);
        return;
    case STAIR_OP_LOG:
        out->empty |= !not_negative(&a, out); /* log 0 is -infinity, and 0^z = exp(z log 0) a number */
        if (!out->empty) {
            bool pole = false;
            chain(widened(a.low > 0 ? log(a.low) : -INFINITY, a.high > 0 ? log(a.high) : -INFINITY),
                  inverse(a, &pole), x->slope, out);
        }
        return;
    case STAIR_OP_EXP:
        out->rests |= isinf(a.low); /* exp(-inf) is 0 */
        chain(widened(stair_positive_exp(a.low), stair_positive_exp(a.high)),
              widened(stair_positive_exp(a.low), stair_positive_exp(a.high)), x->slope, out);
        return;
    case STAIR_OP_TANH:
        chain(rising(a, tanh), bell(a, slope_of_tanh, x->slope), x->slope, out);
        return;
    case STAIR_OP_ERF:
        chain(rising(a, erf), bell(a, slope_of_erf, x->slope), x->slope, out);
        return;
    case STAIR_OP_SIN:
        chain(sine(a), cosine(a), x->slope, out);
        return;
    case STAIR_OP_COS:
        chain(cosine(a), cosine((stair_range){a.low + M_PI_2, a.high + M_PI_2}), x->slope, out);
        return;
    default:
        break;
    }
}

static void of_power(const stair_step_of *s, const stair_bound *x, stair_bound *out)
{
    stair_range a = x->value;
    bool pole = false;
    if (s->whole) {
        int k = (int)s->value;
        stair_range value = k == 2 ? square(a) : power(a, k, &pole);
        chain(value, multiply(exactly(k), power(a, k - 1, &pole)), x->slope, out);
        out->broken |= pole;
        return;
    }
    out->empty |= !not_negative(&a, out);
    if (out->empty) return;
    double low = pow(a.low, s->value), high = pow(a.high, s->value), at_low = pow(a.low, s->value - 1),
           at_high = pow(a.high, s->value - 1);
    chain(widened(fmin(low, high), fmax(low, high)),
          multiply(exactly(s->value), widened(fmin(at_low, at_high), fmax(at_low, at_high))), x->slope, out);
}

static void of_two(const stair_step_of *s, const stair_bound *x, const stair_bound *y, stair_bound *out)
{
    stair_range a = x->value, b = y->value, gap;
    switch (s->op) {
    case STAIR_OP_ADD:
        out->value = add(a, b);
        out->slope = add(x->slope, y->slope);
        return;
    case STAIR_OP_SUB:
        out->value = add(a, negative(b));
        out->slope = add(x->slope, negative(y->slope));
        return;
    case STAIR_OP_MUL:
        out->value = multiply(a, b);
        out->slope = add(multiply(x->slope, b), multiply(a, y->slope));
        return;
    case STAIR_OP_DIV: {
        bool pole = false;
        stair_range one = inverse(b, &pole);
        out->broken |= pole;
        out->value = pole ? everything : multiply(a, one);
        out->slope =
            pole ? everything
                 : add(multiply(x->slope, one), negative(multiply(multiply(a, y->slope), square(one))));
        return;
    }
    case STAIR_OP_LESS:
        gap = add(a, negative(b));
        out->value = (stair_range){gap.high < 0 ||
                                       (gap.high <= 0 && gap.low < 0 && !(x->flat && y->flat) && !out->rests),
                                   gap.low < 0};
        out->broken |= out->value.low < out->value.high;
        out->slope = exactly(0);
        return;
    case STAIR_OP_MIN:
    case STAIR_OP_MAX: {
        gap = add(a, negative(b));
        bool first = s->op == STAIR_OP_MIN ? gap.high <= 0 : gap.low >= 0,
             second = s->op == STAIR_OP_MIN ? gap.low >= 0 : gap.high <= 0;
        out->bent |= !first && !second;
        out->rests |= (!second && x->flat) || (!first && y->flat);
        double (*pick)(double, double) = s->op == STAIR_OP_MIN ? fmin : fmax;
        out->value = (stair_range){pick(a.low, b.low), pick(a.high, b.high)};
        out->slope = first ? x->slope : second ? y->slope : hull(x->slope, y->slope);
        return;
    }
    default:
        break;
    }
}

static stair_bound fixed(double value)
{
    return (stair_bound){.value = exactly(value), .slope = exactly(0), .empty = isnan(value), .flat = true};
}

/* The bound of one step from those of its arguments. */
static stair_bound bound_step(const stair_step_of *s, const stair_bound *a, const stair_bound *b)
{
    stair_bound out = {.broken = a->broken || b->broken,
                       .bent = a->bent || b->bent,
                       .rests = a->rests || b->rests,
                       .empty = a->empty || b->empty,
                       .flat = s->flat};
    if (out.empty) return out;
    if (s->op == STAIR_OP_POWER)
        of_power(s, a, &out);
    else if (s->b < 0)
        of_one(s, a, &out);
    else
        of_two(s, a, b, &out);
    return out;
}

stair_bound stair_line_bound(stair_line *line, double low, double high)
{
    static const stair_bound none;
    const stair_program *p = line->program;
    uint32_t bit = (uint32_t)1 << line->cell;
    int last = p->output[line->output];
    for (int k = 0; k < line->count; k++) {
        const stair_step_of *s = &p->step[line->order[k]];
        stair_bound *out = &line->bound[line->order[k]], a, b;
        if (s->op == STAIR_OP_CELL) {
            *out = (stair_bound){.value = {low, high}, .slope = exactly(1)};
            continue;
        }
        a = p->step[s->a].needs & bit ? line->bound[s->a] : fixed(line->value[s->a]);
        b = s->b < 0 ? none : p->step[s->b].needs & bit ? line->bound[s->b] : fixed(line->value[s->b]);
        *out = bound_step(s, &a, &b);
    }
    return line->count ? line->bound[last] : fixed(line->value[last]);
}

void stair_program_ranges(const stair_program *p, const stair_range *cell, stair_bound *bound)
{
    static const stair_bound none;
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        if (s->op == STAIR_OP_CELL)
            bound[k] = (stair_bound){.value = cell[s->cell], .slope = exactly(0)};
        else if (s->op == STAIR_OP_CONST)
            bound[k] = fixed(s->value);
        else
            bound[k] = bound_step(s, &bound[s->a], s->b < 0 ? &none : &bound[s->b]);
    }
}
