/* The levels themselves: each goes through its intervals, nodes or roots and hands on to the next. */
#include "channel/lines_levels.h"

#include <math.h>
#include <string.h>

#include "channel/normal.h"

static const struct {
    double wide; /* roots are looked for up to here, or so many standard deviations from their mean */
    double deviations;
    double same;  /* relative difference of labels of a flat output that are the same */
    double least; /* slope that counts as zero */
} tuning = {.wide = 32, .deviations = 16, .same = 1e-9, .least = 1e-12};

void stair_leaf_clear(stair_leaf_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    sums->top = -INFINITY;
}

static void scale(int n, double factor, stair_leaf_sums *sums)
{
    sums->mass *= factor;
    for (int i = 0; i < n; i++) sums->first[i] *= factor;
    for (int i = 0; i < n * n; i++) sums->second[i] *= factor;
}

/* Brings sums to atoms and scale of a new part; false where that is outweighed. */
static bool make_room(int n, int atoms, double top, stair_leaf_sums *sums)
{
    if (atoms < sums->atoms && sums->mass > 0) return false;
    if (atoms > sums->atoms || !(sums->mass > 0)) {
        long leaves = sums->leaves;
        stair_leaf_clear(sums);
        sums->leaves = leaves;
        sums->atoms = atoms;
    }
    if (top > sums->top) {
        scale(n, isinf(sums->top) ? 0 : exp(sums->top - top), sums);
        sums->top = top;
    }
    return true;
}

void stair_leaf_merge(int n, stair_leaf_sums *into, const stair_leaf_sums *from)
{
    into->leaves += from->leaves;
    if (!(from->mass > 0) || !make_room(n, from->atoms, from->top, into)) return;
    double factor = exp(from->top - into->top);
    into->mass += factor * from->mass;
    for (int i = 0; i < n; i++) into->first[i] += factor * from->first[i];
    for (int i = 0; i < n * n; i++) into->second[i] += factor * from->second[i];
}

void stair_lines_add_leaf(stair_lines *s, double log_weight)
{
    int n = s->n;
    stair_leaf_sums *sums = &s->sums;
    if (!make_room(n, s->atoms, log_weight, sums)) return;
    double mass = exp(log_weight - sums->top);
    sums->mass += mass;
    for (int i = 0; i < n; i++) {
        sums->first[i] += mass * s->x[i];
        for (int j = 0; j <= i; j++) sums->second[i * n + j] += mass * s->x[i] * s->x[j];
        sums->second[i * (n + 1)] += mass * s->spread[i];
    }
}

double stair_lines_judge(const stair_lines *s)
{
    const stair_program *p = &s->formula->program;
    double value[STAIR_MOST_NODES], sum = 0;
    bool any = s->noise > 0;
    for (int k = 0; k < p->outputs; k++) any |= p->step[p->output[k]].flat;
    if (!any) return 0;
    stair_program_values(p, s->z, value);
    for (int k = 0; k < p->outputs; k++) {
        double gap = value[p->output[k]] - s->label[k];
        if (s->noise > 0)
            sum -= 0.5 * gap * gap / s->noise + 0.5 * log(2 * M_PI * s->noise);
        else if (p->step[p->output[k]].flat && !(fabs(gap) <= tuning.same * (1 + fabs(s->label[k]))))
            return -INFINITY;
    }
    return sum;
}

/* Cells of a mask along which output k changes at s->z. */
static uint32_t changes(const stair_lines *s, int k, uint32_t cells)
{
    const stair_program *p = &s->formula->program;
    double value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS], cotangent[STAIR_MOST_OUTPUTS] = {0};
    cotangent[k] = 1;
    stair_program_values(p, s->z, value);
    stair_program_gradient(p, value, cotangent, slope);
    for (int c = 0; c < s->n; c++)
        if (!(fabs(slope[c]) > tuning.least)) cells &= ~(1u << c);
    return cells;
}

static void leaf(stair_lines *s)
{
    if (s->still && changes(s, 0, s->still)) return; /* it has been counted */
    double likelihood = stair_lines_judge(s);
    s->visited++;
    if (isinf(likelihood) || isnan(likelihood)) return;
    s->sums.leaves++;
    if (!s->dry) stair_lines_add_leaf(s, s->log_weight + likelihood);
}

double stair_lines_centre(const stair_lines *s, int level)
{
    double mean = s->mean[level];
    for (int k = 0; k < level; k++) mean += s->lower[level * s->n + k] * s->x[k];
    return mean;
}

void stair_lines_node(stair_lines *s, int level, double x, double log_share)
{
    double before = s->log_weight;
    s->x[level] = x;
    s->spread[level] = 0;
    s->log_weight += log_share;
    stair_lines_descend(s, level + 1);
    s->log_weight = before;
}

/* A point of an interval of a cell. */
static double inside(double from, double to)
{
    return isinf(from) ? (isinf(to) ? 0 : to - 1) : isinf(to) ? from + 1 : 0.5 * (from + to);
}

/* The interval (from, to) of the cell of this level, in closed form. */
static void over_interval(stair_lines *s, int level, double mean, double from, double to)
{
    double sd = s->lower[level * (s->n + 1)], a = (from - mean) / sd, b = (to - mean) / sd;
    double before = s->log_weight;
    if (!(b > a)) return;
    stair_truncated t = stair_normal_between(a, b);
    if (!isfinite(t.logmass)) return;
    s->z[s->cell[level]] = inside(from, to);
    s->x[level] = t.mean;
    s->spread[level] = t.variance;
    s->log_weight += t.logmass;
    stair_lines_descend(s, level + 1);
    s->log_weight = before;
}

static void box_level(stair_lines *s, int level)
{
    int c = s->cell[level], count = s->cuts[c];
    for (int k = 0; k <= count; k++)
        over_interval(s, level, stair_lines_centre(s, level), k ? s->cut[c][k - 1] : -INFINITY,
                      k < count ? s->cut[c][k] : INFINITY);
}

void stair_lines_limits(const stair_lines *s, int level, double mean, double *low, double *high)
{
    double reach = tuning.deviations * s->lower[level * (s->n + 1)];
    *low = fmin(-tuning.wide, mean - reach);
    *high = fmax(tuning.wide, mean + reach);
}

/* Places where flat outputs jump along this cell: its own cuts where it is boxed, else found by bounds. */
static int jumps(stair_lines *s, int level, double low, double high, double *end)
{
    const stair_program *p = &s->formula->program;
    int c = s->cell[level], count = 0;
    double part[STAIR_LINE_MOST + 1], value[STAIR_LINE_MOST];
    if (s->boxed[c]) {
        memcpy(end, s->cut[c], sizeof(double) * (size_t)s->cuts[c]);
        return s->cuts[c];
    }
    for (int k = 0; k < p->outputs; k++) {
        if (!(p->step[p->output[k]].needs >> c & 1)) continue;
        stair_line *line = &s->line[level];
        if (line->output != k) stair_line_set(line, p, c, k);
        stair_line_fix(line, s->z);
        int pieces = stair_line_pieces(line, low, high, s->cuts[c], s->cut[c], STAIR_LINE_MOST, part, value);
        s->full |= !pieces;
        for (int i = 1; i < pieces; i++) {
            int at = count;
            if (count == STAIR_LINE_MOST) {
                s->full = true;
                break;
            }
            for (; at > 0 && end[at - 1] > part[i]; at--) end[at] = end[at - 1];
            end[at] = part[i];
            count++;
        }
    }
    return count;
}

static void pieces_level(stair_lines *s, int level)
{
    double mean = stair_lines_centre(s, level), low, high, end[STAIR_LINE_MOST + 1];
    stair_lines_limits(s, level, mean, &low, &high);
    bool full = s->full;
    int count = jumps(s, level, low, high, end);
    if (s->full && !full) { /* too many: those that can be seen are enough */
        double reach = tuning.deviations * s->lower[level * (s->n + 1)];
        s->full = false;
        count = jumps(s, level, mean - reach, mean + reach, end);
    }
    for (int k = 0; k <= count; k++)
        over_interval(s, level, mean, k ? end[k - 1] : -INFINITY, k < count ? end[k] : INFINITY);
}

/* Intervals on which the output is the label throughout.  They count if it does not change along any other
 * cell either: else this is a line that happens to lie in the level set, as z1 < y with z2 = y for max(z1,
 * z2). */
static void flat_intervals(stair_lines *s, int level, double mean, double low, double high)
{
    const stair_level_set *set = &s->set[level];
    uint32_t before = 0;
    for (int k = 0; k <= level; k++) before |= 1u << s->cell[k];
    for (int k = 0; k < set->intervals && !s->still; k++) { /* of all directions the first finds them */
        double from = set->from[k] <= low ? -INFINITY : set->from[k],
               to = set->to[k] >= high ? INFINITY : set->to[k];
        s->z[s->cell[level]] = inside(from, to);
        if (changes(s, s->output[level], before)) continue;
        s->atoms++;
        over_interval(s, level, mean, from, to);
        s->atoms--;
    }
}

static void solve_level(stair_lines *s, int level)
{
    int c = s->cell[level];
    double mean = stair_lines_centre(s, level), sd = s->lower[level * (s->n + 1)], low, high;
    stair_level_set *set = &s->set[level];
    stair_line_fix(&s->line[level], s->z);
    stair_lines_limits(s, level, mean, &low, &high);
    stair_line_solve(&s->line[level], s->label[s->output[level]], low, high, s->cuts[c], s->cut[c], set);
    s->full |= set->full;
    s->visited += 4;
    flat_intervals(s, level, mean, low, high);
    for (int k = 0; k < set->points; k++) {
        double x = (set->at[k] - mean) / sd, slope = fabs(set->slope[k]);
        if (!(slope > 0)) { /* of a node of an outer level this is rounding, next to a fold */
            s->singular |= !s->outers && !set->intervals;
            continue;
        }
        s->z[c] = set->at[k];
        stair_lines_node(s, level, x, -0.5 * x * x - 0.5 * log(2 * M_PI) - log(slope * sd));
    }
}

void stair_lines_descend(stair_lines *s, int level)
{
    if (level == s->n) {
        leaf(s);
        return;
    }
    switch (s->kind[level]) {
    case STAIR_LEVEL_BOX:
        box_level(s, level);
        return;
    case STAIR_LEVEL_OUTER:
        stair_lines_outer(s, level);
        return;
    case STAIR_LEVEL_SOLVE:
        solve_level(s, level);
        return;
    case STAIR_LEVEL_PIECES:
        pieces_level(s, level);
        return;
    case STAIR_LEVEL_NOISY:
        stair_lines_noisy(s, level);
        return;
    }
}

static void begin(stair_lines *s)
{
    s->log_weight = 0;
    s->atoms = 0;
    s->dry = false;
    memset(s->x, 0, sizeof s->x);
    memset(s->spread, 0, sizeof s->spread);
}

void stair_lines_run(stair_lines *s)
{
    begin(s);
    s->point = NULL;
    stair_lines_descend(s, 0);
}

void stair_lines_run_at(stair_lines *s, const double *outer, double log_weight)
{
    begin(s);
    s->point = outer;
    s->log_weight = log_weight;
    stair_lines_descend(s, 0);
}
