/* The levels themselves: each goes through its intervals, nodes or roots and hands on to the next. */
#include "channel/lines.h"

#include <math.h>
#include <string.h>

#include "channel/normal.h"

#define MOST_NODES  400 /* of an outer level between two breaks: nested ones have theirs on the stack */
#define MOST_BREAKS 40  /* of an outer level */

static const struct {
    double step;             /* of equidistant nodes, in standard deviations, before it is halved */
    double exponential;      /* of double-exponential ones */
    double panel, end_panel; /* width of panels between, and of those nodes */
    double reach;            /* of those: beyond, nodes are nearer to an end than rounding */
    int halvings;            /* to find where the number of roots changes */
    double wide; /* roots are looked for up to here, or so many standard deviations from their mean */
    double deviations;
    double same;        /* relative difference of labels of a flat output that are the same */
    int panels;         /* halvings of a panel of the noisy level */
    double panel_error; /* of a panel, relative to what has been found */
    double visible;     /* logarithm below the largest at which a panel matters */
} tuning = {.step = 0.6,
            .exponential = 0.25,
            .reach = 3.4,
            .panel = 1.5,
            .end_panel = 2,
            .halvings = 60,
            .wide = 32,
            .deviations = 16,
            .same = 1e-9,
            .panels = 40,
            .panel_error = 1e-10,
            .visible = 60};

static void descend(stair_lines *s, int level);

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

static void add_leaf(stair_lines *s, double log_weight)
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

/* Outputs that no level has seen to: log of their likelihood, -infinity where a label differs. */
static double judge(const stair_lines *s)
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

static void leaf(stair_lines *s)
{
    double likelihood = judge(s);
    s->visited++;
    if (isinf(likelihood) || isnan(likelihood)) return;
    s->sums.leaves++;
    if (!s->dry) add_leaf(s, s->log_weight + likelihood);
}

/* Prior mean of the cell of a level, given those before. */
static double centre(const stair_lines *s, int level)
{
    double mean = s->mean[level];
    for (int k = 0; k < level; k++) mean += s->lower[level * s->n + k] * s->x[k];
    return mean;
}

/* One node: x at this level, log of its share. */
static void go_on(stair_lines *s, int level, double x, double log_share)
{
    double before = s->log_weight;
    s->x[level] = x;
    s->spread[level] = 0;
    s->log_weight += log_share;
    descend(s, level + 1);
    s->log_weight = before;
}

/* The interval (from, to) of the cell of this level, in closed form. */
static void over_interval(stair_lines *s, int level, double mean, double from, double to)
{
    double sd = s->lower[level * (s->n + 1)], a = (from - mean) / sd, b = (to - mean) / sd;
    double before = s->log_weight;
    if (!(b > a)) return;
    stair_truncated t = stair_normal_between(a, b);
    if (!isfinite(t.logmass)) return;
    s->z[s->cell[level]] = isinf(from) ? (isinf(to) ? 0 : to - 1) : isinf(to) ? from + 1 : 0.5 * (from + to);
    s->x[level] = t.mean;
    s->spread[level] = t.variance;
    s->log_weight += t.logmass;
    descend(s, level + 1);
    s->log_weight = before;
}

static void box_level(stair_lines *s, int level)
{
    int c = s->cell[level], count = s->cuts[c];
    for (int k = 0; k <= count; k++)
        over_interval(s, level, centre(s, level), k ? s->cut[c][k - 1] : -INFINITY,
                      k < count ? s->cut[c][k] : INFINITY);
}

static void limits(const stair_lines *s, int level, double mean, double *low, double *high)
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
    double mean = centre(s, level), low, high, end[STAIR_LINE_MOST + 1];
    limits(s, level, mean, &low, &high);
    int count = jumps(s, level, low, high, end);
    for (int k = 0; k <= count; k++)
        over_interval(s, level, mean, k ? end[k - 1] : -INFINITY, k < count ? end[k] : INFINITY);
}

static void solve_level(stair_lines *s, int level)
{
    int c = s->cell[level];
    double mean = centre(s, level), sd = s->lower[level * (s->n + 1)], low, high;
    stair_level_set *set = &s->set[level];
    stair_line_fix(&s->line[level], s->z);
    limits(s, level, mean, &low, &high);
    stair_line_solve(&s->line[level], s->label[s->output[level]], low, high, s->cuts[c], s->cut[c], set);
    s->full |= set->full;
    s->visited += 4;
    for (int k = 0; k < set->intervals; k++) {
        s->atoms++;
        over_interval(s, level, mean, set->from[k] <= low ? -INFINITY : set->from[k],
                      set->to[k] >= high ? INFINITY : set->to[k]);
        s->atoms--;
    }
    for (int k = 0; k < set->points; k++) {
        double x = (set->at[k] - mean) / sd, slope = fabs(set->slope[k]);
        if (!(slope > 0)) { /* of a node of an outer level this is rounding, next to a fold */
            s->singular |= !s->outers && !set->intervals;
            continue;
        }
        s->z[c] = set->at[k];
        go_on(s, level, x, -0.5 * x * x - 0.5 * log(2 * M_PI) - log(slope * sd));
    }
}

/* ---- noise on y: the likelihood along the last cell ------------------------------------------------ */

/* Log of the integrand at x without its share of the panel; z is set. */
static double energy(stair_lines *s, int level, double mean, double x)
{
    s->z[s->cell[level]] = mean + s->lower[level * (s->n + 1)] * x;
    s->visited++;
    return judge(s) - 0.5 * x * x - 0.5 * log(2 * M_PI);
}

static double panel(stair_lines *s, int level, double mean, double a, double b, double *at, double *value)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < STAIR_LINES_PANEL; i++) {
        at[i] = 0.5 * (a + b) + 0.5 * (b - a) * s->panel.node[i];
        value[i] = energy(s, level, mean, at[i]);
        if (isnan(value[i])) value[i] = -INFINITY;
        value[i] += log(0.5 * (b - a) * s->panel.weight[i]);
        top = fmax(top, value[i]);
    }
    if (isinf(top)) return -INFINITY;
    for (int i = 0; i < STAIR_LINES_PANEL; i++) sum += exp(value[i] - top);
    return top + log(sum);
}

static double log_add(double a, double b)
{
    double top = fmax(a, b);
    return isinf(top) ? top : top + log(exp(a - top) + exp(b - top));
}

/* Halves (a, b) until both halves together agree with the whole, or are too small to matter. */
static void add_panel(stair_lines *s, int level, double mean, double a, double b, double whole, int depth,
                      double *total)
{
    double at[2][STAIR_LINES_PANEL], value[2][STAIR_LINES_PANEL], middle = 0.5 * (a + b);
    double left = panel(s, level, mean, a, middle, at[0], value[0]),
           right = panel(s, level, mean, middle, b, at[1], value[1]), both = log_add(left, right);
    double gap = fabs(exp(both - *total) - exp(whole - *total));
    if (depth > 0 && gap > tuning.panel_error && middle > a && middle < b) {
        if (both > *total) *total = both;
        add_panel(s, level, mean, a, middle, left, depth - 1, total);
        add_panel(s, level, mean, middle, b, right, depth - 1, total);
        return;
    }
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < STAIR_LINES_PANEL; i++) {
            if (isinf(value[h][i])) continue;
            s->x[level] = at[h][i];
            s->spread[level] = 0;
            if (!s->dry) add_leaf(s, s->log_weight + value[h][i]);
        }
}

/* Places to begin: cuts, and where the output is the label: thin likelihoods are there. */
static int seeds(stair_lines *s, int level, double mean, double *at)
{
    int c = s->cell[level], count = 0;
    double sd = s->lower[level * (s->n + 1)], low, high;
    stair_level_set *set = &s->set[level];
    limits(s, level, mean, &low, &high);
    for (int k = 0; k < s->cuts[c]; k++) at[count++] = (s->cut[c][k] - mean) / sd;
    for (int k = 0; k < s->formula->program.outputs && k < 2; k++) {
        if (s->line[level].output != k) stair_line_set(&s->line[level], &s->formula->program, c, k);
        stair_line_fix(&s->line[level], s->z);
        stair_line_solve(&s->line[level], s->label[k], low, high, s->cuts[c], s->cut[c], set);
        for (int i = 0; i < set->points && count < MOST_BREAKS - 2; i++)
            at[count++] = (set->at[i] - mean) / sd;
    }
    return count;
}

static void sort(int count, double *at)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && at[k - 1] > at[k]; k--) {
            double swap = at[k];
            at[k] = at[k - 1];
            at[k - 1] = swap;
        }
}

static void noisy_level(stair_lines *s, int level)
{
    double mean = centre(s, level), place[MOST_BREAKS + 2 * 20], at[STAIR_LINES_PANEL],
           value[STAIR_LINES_PANEL], whole[MOST_BREAKS + 2 * 20], total = -INFINITY;
    int count = seeds(s, level, mean, place), used = 0;
    for (double x = -s->radius; x <= s->radius + 1e-9; x += s->radius / 8) place[count++] = x;
    sort(count, place);
    double beyond = fmax(s->radius, fmax(fabs(place[0]), fabs(place[count - 1])) + 2);
    place[count++] = -beyond;
    place[count++] = beyond;
    sort(count, place);
    for (int k = 0; k + 1 < count; k++) { /* no two alike */
        if (place[k + 1] > place[k] + 1e-14 * (1 + fabs(place[k]))) place[used++] = place[k];
    }
    place[used] = place[count - 1];
    for (int k = 0; k < used; k++) {
        whole[k] = panel(s, level, mean, place[k], place[k + 1], at, value);
        total = log_add(total, whole[k]);
    }
    s->sums.leaves++;
    for (int k = 0; k < used; k++)
        if (whole[k] > total - tuning.visible)
            add_panel(s, level, mean, place[k], place[k + 1], whole[k], tuning.panels, &total);
}

/* ---- outer levels ----------------------------------------------------------------------------------- */

typedef struct {
    int count;
    double x[MOST_NODES], log_share[MOST_NODES];
    long found[MOST_NODES]; /* leaves below */
} node_list;

static void add_node(node_list *list, double x, double share)
{
    if (list->count == MOST_NODES || !(share > 0)) return;
    list->x[list->count] = x;
    list->log_share[list->count++] = log(share);
}

/* Equidistant over (a, b), whose ends do not matter. */
static void plain_nodes(const stair_lines *s, double a, double b, node_list *list)
{
    double h = ldexp(tuning.step, -s->fine);
    int half = (int)fmin(MOST_NODES / 2 - 1, ceil(0.5 * (b - a) / h));
    h = 0.5 * (b - a) / half;
    for (int k = -half; k <= half; k++) add_node(list, 0.5 * (a + b) + k * h, h);
}

/* x = a + (b - a) / (1 + exp(-pi sinh u)): any power of the distance from an end may stand there. */
static void end_nodes(const stair_lines *s, double a, double b, node_list *list)
{
    double h = ldexp(tuning.exponential, -s->fine);
    int half = (int)floor(tuning.reach / h);
    for (int k = -half; k <= half; k++) {
        double u = k * h, e = exp(-M_PI * sinh(fabs(u))), near = (b - a) * e / (1 + e);
        double x = u < 0 ? a + near : b - near;
        if (x > a && x < b) add_node(list, x, h * (b - a) * M_PI * cosh(u) * e / ((1 + e) * (1 + e)));
    }
}

/* Gauss-Legendre panels over (a, b), where the integrand is smooth up to both ends. */
static void panel_nodes(const stair_lines *s, double a, double b, node_list *list)
{
    int panels = (int)ceil((b - a) / tuning.panel), fine = s->fine < 3 ? s->fine : 3;
    panels <<= s->fine - fine;
    double width = (b - a) / panels;
    for (int k = 0; k < panels; k++)
        for (int i = s->rule[fine].count - 1; i >= 0; i--)
            add_node(list, a + width * (k + 0.5 + 0.5 * s->rule[fine].node[i]),
                     0.5 * width * s->rule[fine].weight[i]);
}

/* Ends where the number of leaves changes may be singular. */
static void piece_nodes(const stair_lines *s, double a, double b, bool rough_a, bool rough_b, node_list *list)
{
    double width = fmin(tuning.end_panel, (b - a) / (rough_a && rough_b ? 2 : 1));
    double from = rough_a ? a + width : a, to = rough_b ? b - width : b;
    if (rough_a) end_nodes(s, a, from, list);
    if (to - from > 1e-12 * (b - a)) panel_nodes(s, from, to, list);
    if (rough_b) end_nodes(s, to, b, list);
}

static void at_node(stair_lines *s, int level, double x, double log_share)
{
    s->z[s->cell[level]] = centre(s, level) + s->lower[level * (s->n + 1)] * x;
    go_on(s, level, x, log_share - 0.5 * x * x - 0.5 * log(2 * M_PI));
}

/* Leaves below a node; of an outer level above another only whether there are any. */
static long leaves_below(const stair_lines *s, int level, long count)
{
    return level + 1 < s->n && s->kind[level + 1] == STAIR_LEVEL_OUTER ? count > 0 : count;
}

static long count_at(stair_lines *s, int level, double x)
{
    long before = s->sums.leaves;
    bool dry = s->dry;
    s->dry = true;
    at_node(s, level, x, 0);
    long found = leaves_below(s, level, s->sums.leaves - before);
    s->sums.leaves = before;
    s->dry = dry;
    return found;
}

/* Where the number of leaves changes between a and b, to rounding. */
static double change(stair_lines *s, int level, double a, long at_a, double b)
{
    for (int k = 0; k < tuning.halvings; k++) {
        double middle = 0.5 * (a + b);
        if (!(middle > a && middle < b)) break;
        *(count_at(s, level, middle) == at_a ? &a : &b) = middle;
    }
    return 0.5 * (a + b);
}

/* Runs nodes; whether all found the same. */
static bool run_nodes(stair_lines *s, int level, node_list *list)
{
    bool same = true;
    for (int k = 0; k < list->count; k++) {
        long before = s->sums.leaves;
        at_node(s, level, list->x[k], list->log_share[k]);
        list->found[k] = leaves_below(s, level, s->sums.leaves - before);
        same &= list->found[k] == list->found[0];
    }
    return same;
}

/* A piece of an outer level: `open` is all of it, ends are rough where leaves come or go. */
typedef struct {
    double a, b;
    bool open, rough_a, rough_b;
} piece;

/* Where the number of leaves changes inside it is split there, and done again. */
static void outer_piece(stair_lines *s, int level, piece p, int depth)
{
    node_list list;
    double place[MOST_BREAKS + 1];
    int count = 0;
    stair_leaf_sums kept = s->sums;
    list.count = 0;
    if (p.open)
        plain_nodes(s, p.a, p.b, &list);
    else
        piece_nodes(s, p.a, p.b, p.rough_a, p.rough_b, &list);
    if (run_nodes(s, level, &list) || depth == 0) return;
    for (int k = 0; k + 1 < list.count && count < MOST_BREAKS; k++)
        if (list.found[k] != list.found[k + 1])
            place[count++] = change(s, level, list.x[k], list.found[k], list.x[k + 1]);
    if (count == MOST_BREAKS) return; /* it changes all the time: nodes as they are, with their error */
    s->sums = kept;
    piece part = {.b = p.a, .rough_b = p.rough_a};
    for (int k = 0; k <= count; k++) {
        part.a = part.b;
        part.rough_a = part.rough_b;
        part.b = k < count ? place[k] : p.b;
        part.rough_b = k < count || p.rough_b;
        if (part.b > part.a) outer_piece(s, level, part, depth - 1);
    }
}

/* At the point that the caller has chosen, with a weight of one. */
static void outer_point(stair_lines *s, int level)
{
    int first = 0;
    while (s->kind[first] != STAIR_LEVEL_OUTER) first++;
    double x = s->point[level - first];
    s->z[s->cell[level]] = centre(s, level) + s->lower[level * (s->n + 1)] * x;
    go_on(s, level, x, 0);
}

/* Between the cuts of the cell; without any, over the whole line. */
static void outer_level(stair_lines *s, int level)
{
    int c = s->cell[level];
    double mean = centre(s, level), sd = s->lower[level * (s->n + 1)], from = -s->radius;
    bool whole = true;
    for (int k = 0; k <= s->cuts[c]; k++) {
        double to = k < s->cuts[c] ? (s->cut[c][k] - mean) / sd : s->radius;
        if (!(to > from)) continue;
        if (to >= s->radius) to = s->radius;
        whole &= to == s->radius;
        outer_piece(s, level, (piece){.a = from, .b = to, .open = whole}, 2);
        from = to;
    }
}

static void descend(stair_lines *s, int level)
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
        (s->point ? outer_point : outer_level)(s, level);
        return;
    case STAIR_LEVEL_SOLVE:
        solve_level(s, level);
        return;
    case STAIR_LEVEL_PIECES:
        pieces_level(s, level);
        return;
    case STAIR_LEVEL_NOISY:
        noisy_level(s, level);
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
    descend(s, 0);
}

void stair_lines_run_at(stair_lines *s, const double *outer, double log_weight)
{
    begin(s);
    s->point = outer;
    s->log_weight = log_weight;
    descend(s, 0);
}
