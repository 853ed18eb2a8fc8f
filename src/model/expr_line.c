/* {t : f(t) = y} along one coordinate, with the others fixed.
 *
 * Segments are halved until bounds on them decide: y is not among the values (drop), the slope is zero
 * throughout (an interval, or nothing), the slope has one sign and nothing jumps (at most one point, found by
 * Newton's steps inside a bracket).  Segments are taken from left to right.  What is still undecided at the
 * width of rounding is a jump over y, or a point where f touches y: no sample has such a label, and it is
 * left out.  So no point is missed, and none counted twice.
 *
 * Where f = A + B u with u = t, |t| or t^n, as along any coordinate of a product or of a sum of squares,
 * points are written down instead. */
#include <math.h>

#include "core/qmc.h"
#include "model/expr.h"

static const struct {
    double narrow; /* width, relative to its place, below which a segment is not halved */
    double slack;  /* by which y may lie outside of bounds, relative */
    double same;   /* relative difference of labels that are the same value of a flat function */
    double jump;   /* relative change, from a place to the next number, that is no jump */
    int halvings;  /* of one bracket */
    int most;      /* segments looked at on one line */
} tuning = {.narrow = 3e-16, .slack = 1e-13, .same = 1e-12, .jump = 1e-6, .halvings = 120, .most = 4096};

#define DEPTH 128 /* segments that wait: halvings from the widest line to rounding */

/* Of a step that depends on the cell through step k alone: whether it is linear in that. */
static bool linear_in(const stair_program *p, const stair_step_of *s, int k, uint32_t bit)
{
    bool first = s->a == k, second = s->b == k;
    switch (s->op) {
    case STAIR_OP_NEG:
        return first;
    case STAIR_OP_ADD:
    case STAIR_OP_SUB:
    case STAIR_OP_MUL:
        return first != second && !(p->step[first ? s->b : s->a].needs & bit);
    case STAIR_OP_DIV:
        return first && !second && !(p->step[s->b].needs & bit);
    default:
        return false;
    }
}

/* Steps with at most two inverses, written down in invert(). */
static bool invertible(const stair_step_of *s)
{
    return s->op == STAIR_OP_ABS || s->op == STAIR_OP_ERF || s->op == STAIR_OP_TANH ||
           s->op == STAIR_OP_EXP || (s->op == STAIR_OP_POWER && s->whole && s->value >= 2);
}

static int find_core(const stair_line *line)
{
    const stair_program *p = line->program;
    uint32_t bit = (uint32_t)1 << line->cell;
    int core = 0;
    if (!line->count || p->step[line->order[0]].op != STAIR_OP_CELL) return -1;
    for (int k = 1; k < line->count; k++) {
        const stair_step_of *s = &p->step[line->order[k]];
        if (linear_in(p, s, line->order[k - 1], bit)) continue;
        if (core || s->a != line->order[k - 1] || !invertible(s)) return -1;
        core = k;
    }
    return core;
}

void stair_line_set(stair_line *line, const stair_program *p, int cell, int output)
{
    bool used[STAIR_MOST_NODES] = {false};
    line->program = p;
    line->cell = cell;
    line->output = output;
    line->count = 0;
    used[p->output[output]] = true;
    for (int k = p->output[output]; k >= 0; k--) {
        if (!used[k]) continue;
        if (p->step[k].a >= 0) used[p->step[k].a] = true;
        if (p->step[k].b >= 0) used[p->step[k].b] = true;
    }
    for (int k = 0; k <= p->output[output]; k++)
        if (used[k] && p->step[k].needs >> cell & 1) line->order[line->count++] = k;
    line->core = find_core(line);
}

void stair_line_fix(stair_line *line, const double *z)
{
    const stair_program *p = line->program;
    for (int k = 0; k <= p->output[line->output]; k++) {
        const stair_step_of *s = &p->step[k];
        if (s->needs >> line->cell & 1) continue;
        line->value[k] = s->op == STAIR_OP_CELL ? z[s->cell]
                                                : stair_step_value(s, s->a < 0 ? 0 : line->value[s->a],
                                                                   s->b < 0 ? 0 : line->value[s->b]);
    }
}

double stair_line_value(stair_line *line, double at, double *slope)
{
    const stair_program *p = line->program;
    double speed[STAIR_MOST_NODES];
    uint32_t bit = (uint32_t)1 << line->cell;
    for (int k = 0; k < line->count; k++) {
        int here = line->order[k];
        const stair_step_of *s = &p->step[here];
        if (s->op == STAIR_OP_CELL) {
            line->value[here] = at;
            speed[here] = 1;
            continue;
        }
        double a = line->value[s->a], b = s->b < 0 ? 0 : line->value[s->b], da, db;
        line->value[here] = stair_step_value(s, a, b);
        if (!slope) continue;
        stair_step_slopes(s, a, b, line->value[here], &da, &db);
        speed[here] = (p->step[s->a].needs & bit ? da * speed[s->a] : 0) +
                      (s->b >= 0 && p->step[s->b].needs & bit ? db * speed[s->b] : 0);
    }
    int last = p->output[line->output];
    if (slope) *slope = p->step[last].needs & bit ? speed[last] : 0;
    return line->value[last];
}

static bool narrow(double low, double high)
{
    return high - low <= tuning.narrow * fmax(fabs(low), fabs(high)) || high - low < 1e-300;
}

/* f at the end of a segment, seen from inside: it may jump right there. */
static double value_at_end(stair_line *line, double end, double other)
{
    double there = stair_line_value(line, end, NULL),
           next = stair_line_value(line, nextafter(end, other), NULL);
    return isfinite(there) && fabs(next - there) <= tuning.jump * (1 + fabs(there)) ? there : next;
}

/* The one root of a monotone f in [low, high]: Newton's steps, halving where they leave the bracket or do not
 * halve it in time.  A root at `high` belongs to the next segment.  False: none. */
static bool bracketed(stair_line *line, double y, double low, double high, double *root, double *slope)
{
    double below = value_at_end(line, low, high) - y, above = value_at_end(line, high, low) - y;
    if (isnan(below) || isnan(above) || above == 0 || (below > 0 && above > 0) || (below < 0 && above < 0))
        return false;
    double at = below == 0 ? low : 0.5 * (low + high), before = INFINITY;
    if (below == 0) {
        *root = low;
        stair_line_value(line, low, slope);
        return true;
    }
    for (int k = 0; k < tuning.halvings; k++) {
        double here = stair_line_value(line, at, slope) - y;
        if (here == 0) break;
        *((here < 0) == (below < 0) ? &low : &high) = at;
        if (narrow(low, high)) break;
        double next = at - here / *slope, step = fabs(next - at);
        if (!(next > low && next < high) || !(step < 0.5 * before)) {
            next = 0.5 * (low + high);
            step = INFINITY;
        }
        before = step;
        if (fabs(next - at) <= tuning.narrow * fabs(at)) {
            at = next;
            stair_line_value(line, at, slope);
            break;
        }
        at = next;
    }
    *root = at;
    return true;
}

static void add_point(stair_level_set *set, double at, double slope)
{
    if (set->points == STAIR_LINE_MOST) {
        set->full = true;
        return;
    }
    set->at[set->points] = at;
    set->slope[set->points++] = slope;
}

static void add_interval(stair_level_set *set, double from, double to)
{
    int last = set->intervals - 1;
    if (last >= 0 && set->to[last] == from) {
        set->to[last] = to;
        return;
    }
    if (set->intervals == STAIR_LINE_MOST) {
        set->full = true;
        return;
    }
    set->from[set->intervals] = from;
    set->to[set->intervals++] = to;
}

static bool same(double a, double b)
{
    return fabs(a - b) <= tuning.same * (1 + fabs(b));
}

/* Decides one segment; false: it has to be halved. */
static bool decide(stair_line *line, double y, double low, double high, stair_level_set *set)
{
    stair_bound b = stair_line_bound(line, low, high);
    double slack = tuning.slack * (fmin(1e300, fabs(b.value.low)) + fmin(1e300, fabs(b.value.high)));
    if (b.empty || y < b.value.low - slack || y > b.value.high + slack) {
        bool flat = !b.empty && b.slope.low == 0 && b.slope.high == 0 && !b.broken;
        if (!flat || !same(stair_line_value(line, 0.5 * (low + high), NULL), y)) return true;
    }
    if (b.slope.low == 0 && b.slope.high == 0 && !b.broken) {
        if (same(stair_line_value(line, 0.5 * (low + high), NULL), y)) add_interval(set, low, high);
        return true;
    }
    /* a slope that is zero at single places at most */
    if (!b.broken &&
        (b.slope.low > 0 || b.slope.high < 0 || ((b.slope.low >= 0 || b.slope.high <= 0) && !b.bent))) {
        double root, slope;
        if (bracketed(line, y, low, high, &root, &slope)) add_point(set, root, slope);
        return true;
    }
    return narrow(low, high);
}

static void search(stair_line *line, double y, double low, double high, int *left, stair_level_set *set)
{
    double from[DEPTH], to[DEPTH];
    int waiting = 1;
    from[0] = low;
    to[0] = high;
    while (waiting > 0) {
        double a = from[--waiting], b = to[waiting], middle = 0.5 * (a + b);
        if (--*left < 0) {
            set->full = true;
            return;
        }
        if (decide(line, y, a, b, set) || waiting + 2 > DEPTH || !(middle > a && middle < b)) continue;
        from[waiting] = middle;
        to[waiting++] = b;
        from[waiting] = a;
        to[waiting++] = middle;
    }
}

/* A and B of A + B x, x the step order[from], after the step order[to]. */
static void linear_parts(const stair_line *line, int from, int to, double *a, double *b)
{
    const stair_program *p = line->program;
    *a = 0;
    *b = 1;
    for (int k = from + 1; k <= to; k++) {
        const stair_step_of *s = &p->step[line->order[k]];
        bool first = s->a == line->order[k - 1];
        double other = s->op == STAIR_OP_NEG ? -1 : line->value[first ? s->b : s->a];
        if (s->op == STAIR_OP_ADD) *a += other;
        if (s->op == STAIR_OP_SUB) {
            *a = first ? *a - other : other - *a;
            *b = first ? *b : -*b;
        }
        if (s->op == STAIR_OP_MUL || s->op == STAIR_OP_NEG) {
            *a *= other;
            *b *= other;
        }
        if (s->op == STAIR_OP_DIV) {
            *a /= other;
            *b /= other;
        }
    }
}

/* Points x where the core has value u, and its slope there; their number. */
static int invert(const stair_step_of *core, double u, double *x, double *slope)
{
    double power = core->value;
    switch (core->op) {
    case STAIR_OP_CELL:
        x[0] = u;
        slope[0] = 1;
        return 1;
    case STAIR_OP_ERF:
        if (!(fabs(u) < 1)) return 0;
        x[0] = stair_inverse_erf(u);
        slope[0] = 2 / sqrt(M_PI) * exp(-x[0] * x[0]);
        return 1;
    case STAIR_OP_TANH:
        x[0] = atanh(u);
        slope[0] = (1 - u) * (1 + u);
        return fabs(u) < 1;
    case STAIR_OP_EXP:
        x[0] = log(u);
        slope[0] = u;
        return u > 0;
    default:
        break;
    }
    bool even = core->op == STAIR_OP_ABS || fmod(power, 2) == 0;
    if (core->op == STAIR_OP_ABS) power = 1;
    if (even && u < 0) return 0;
    double t = power == 1 ? fabs(u) : power == 2 ? sqrt(fabs(u)) : pow(fabs(u), 1 / power);
    x[0] = even ? -t : copysign(t, u);
    x[1] = t;
    slope[1] = power * (power == 1 ? 1 : pow(t, power - 1));
    slope[0] = even ? -slope[1] : slope[1];
    return even && t > 0 ? 2 : 1;
}

/* Points of A + B u(C + D t) = y inside of [low, high]. */
static void solve_linear(const stair_line *line, double y, double low, double high, stair_level_set *set)
{
    const stair_step_of *core = &line->program->step[line->order[line->core]];
    double a, b, c, d, x[2], slope[2];
    linear_parts(line, 0, line->core - 1, &c, &d);
    linear_parts(line, line->core, line->count - 1, &a, &b);
    if (b == 0 && same(a, y)) add_interval(set, low, high);
    double u = (y - a) / b;
    if (!isfinite(u) || b == 0 || d == 0) return;
    int count = invert(core, u, x, slope);
    for (int k = 0; k < count; k++) {
        int i = d > 0 ? k : count - 1 - k; /* from left to right */
        double at = (x[i] - c) / d;
        if (at >= low && at <= high) add_point(set, at, b * d * slope[i]);
    }
}

void stair_line_solve(stair_line *line, double y, double low, double high, int count, const double *cuts,
                      stair_level_set *set)
{
    int left = tuning.most;
    double at = low;
    set->points = set->intervals = 0;
    set->full = false;
    if (line->core >= 0) {
        solve_linear(line, y, low, high, set);
        return;
    }
    for (int k = 0; k < count; k++) {
        if (!(cuts[k] > at && cuts[k] < high)) continue;
        search(line, y, at, cuts[k], &left, set);
        at = cuts[k];
    }
    search(line, y, at, high, &left, set);
}

/* ---- functions that only jump ------------------------------------------------------------------- */

typedef struct {
    int count, most;
    double *end, *value;
} piece_list;

static bool add_piece(piece_list *list, double to, double value)
{
    if (list->count && same(list->value[list->count - 1], value)) {
        list->end[list->count] = to;
        return true;
    }
    if (list->count == list->most) return false;
    list->value[list->count++] = value;
    list->end[list->count] = to;
    return true;
}

static bool split(stair_line *line, double low, double high, int *left, piece_list *list)
{
    double from[DEPTH], to[DEPTH];
    int waiting = 1;
    from[0] = low;
    to[0] = high;
    while (waiting > 0) {
        double a = from[--waiting], b = to[waiting], middle = 0.5 * (a + b);
        stair_bound bound = stair_line_bound(line, a, b);
        if (--*left < 0) return false;
        if (!bound.broken && !bound.empty) {
            if (bound.slope.low != 0 || bound.slope.high != 0) return false;
            if (!add_piece(list, b, 0.5 * (bound.value.low + bound.value.high))) return false;
        } else if (narrow(a, b) || waiting + 2 > DEPTH || !(middle > a && middle < b)) {
            if (list->count) list->end[list->count] = b; /* a jump: it goes to the piece before */
        } else {
            from[waiting] = middle;
            to[waiting++] = b;
            from[waiting] = a;
            to[waiting++] = middle;
        }
    }
    return true;
}

int stair_line_pieces(stair_line *line, double low, double high, int count, const double *cuts, int most,
                      double *end, double *value)
{
    piece_list list = {.most = most, .end = end, .value = value};
    int left = tuning.most;
    double at = low;
    end[0] = low;
    for (int k = 0; k < count; k++) {
        if (!(cuts[k] > at && cuts[k] < high)) continue;
        if (!split(line, at, cuts[k], &left, &list)) return 0;
        at = cuts[k];
    }
    return split(line, at, high, &left, &list) ? list.count : 0;
}

/* ---- cuts ---------------------------------------------------------------------------------------- */

/* Inserts a place into a rising list; false where it is full. */
static bool insert(double at, int most, int *count, double *cut)
{
    int k = *count;
    for (int i = 0; i < *count; i++)
        if (cut[i] == at) return true;
    if (*count == most) return false;
    for (; k > 0 && cut[k - 1] > at; k--) cut[k] = cut[k - 1];
    cut[k] = at;
    (*count)++;
    return true;
}

/* What changes its sign where step k jumps, bends or has a pole: a step of its own, or a - b. */
static bool critical(const stair_step_of *s)
{
    return s->op == STAIR_OP_SIGN || s->op == STAIR_OP_LESS || s->op == STAIR_OP_ABS ||
           s->op == STAIR_OP_RELU || s->op == STAIR_OP_MIN || s->op == STAIR_OP_MAX ||
           s->op == STAIR_OP_DIV || (s->op == STAIR_OP_POWER && s->value < 0);
}

int stair_program_cuts(const stair_program *p, int cell, double low, double high, int most, double *cut)
{
    static const double nothing[STAIR_FORMULA_CELLS];
    uint32_t bit = (uint32_t)1 << cell;
    stair_program part = *p;
    stair_line line;
    stair_level_set set;
    int count = 0;
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        if (s->needs != bit || !critical(s)) continue;
        bool two = s->op == STAIR_OP_LESS || s->op == STAIR_OP_MIN || s->op == STAIR_OP_MAX;
        int inner = two                     ? stair_program_add(&part, STAIR_OP_SUB, s->a, s->b)
                    : s->op == STAIR_OP_DIV ? s->b
                                            : s->a;
        if (inner < 0) return -1;
        if (part.step[inner].needs != bit) continue;
        part.output[0] = inner;
        stair_line_set(&line, &part, cell, 0);
        stair_line_fix(&line, nothing);
        stair_line_solve(&line, 0, low, high, count, cut, &set);
        if (set.full) return -1;
        for (int i = 0; i < set.points; i++)
            if (!insert(set.at[i], most, &count, cut)) return -1;
        for (int i = 0; i < set.intervals; i++)
            if (!insert(set.from[i], most, &count, cut) || !insert(set.to[i], most, &count, cut)) return -1;
    }
    return count;
}

/* A step of this cell alone that only jumps hides the cell from those after it. */
bool stair_program_boxed(const stair_program *p, int cell)
{
    uint32_t bit = (uint32_t)1 << cell;
    bool seen[STAIR_MOST_NODES] = {false};
    for (int k = 0; k < p->count; k++) {
        const stair_step_of *s = &p->step[k];
        if (!(s->needs & bit)) continue;
        seen[k] = s->op == STAIR_OP_CELL || (s->a >= 0 && seen[s->a]) || (s->b >= 0 && seen[s->b]);
        if (s->needs == bit && s->flat) seen[k] = false;
    }
    for (int k = 0; k < p->outputs; k++)
        if (seen[p->output[k]]) return false;
    return true;
}
