/* Levels that are integrated over.
 *
 * Where nothing breaks along the level (no cuts, and every node finds the same number of leaves) nodes are
 * equidistant: for smooth integrands that decay this converges exponentially.  Else the level is split at its
 * cuts and where leaves come or go with something to be seen, which is found by halving; its ends are where
 * bounds leave no room for the label.  Panels between are of Gauss and Legendre;
 * those next to a place where leaves come or go have double-exponential nodes, since 1/|f'| is singular at a
 * fold.  When equidistant steps were not enough (s->fine of ADAPTIVE and more) panels are halved until their
 * halves agree with the whole.
 *
 * References: Takahasi and Mori, Publ. RIMS 9, 721 (1974); Trefethen and Weideman, SIAM Rev. 56, 385 (2014).
 */
#include <math.h>

#include "channel/lines_levels.h"

#define MOST_NODES  256 /* of an outer level at once: nested ones have theirs on the stack */
#define MOST_BREAKS 40  /* of an outer level */
#define ADAPTIVE    2   /* fineness from which panels are halved where it takes that */

static const struct {
    double step;        /* of equidistant nodes, in standard deviations, before it is halved */
    double exponential; /* of double-exponential ones */
    double reach;       /* of those: beyond, nodes are nearer to an end than rounding */
    double panel;       /* width of panels */
    double wide;        /* cells are looked at up to here, */
    double unseen;      /* part of the whole that nobody sees, */
    double slack;       /* and labels may be outside of bounds by so much, relative */
    double near;        /* ends are looked for by halves down to here, */
    double end;         /* and known to that */
    double aside;       /* of a zero, to have it between two places */
    int halvings;       /* to find where the number of leaves changes */
    int splits;         /* of a panel, */
    int most_splits;    /* and of all panels of a level */
} tuning = {.step = 0.6,
            .exponential = 0.25,
            .reach = 3.4,
            .panel = 2,
            .wide = 64,
            .unseen = 1e-10,
            .slack = 1e-9,
            .near = 0.25,
            .end = 1e-15,
            .aside = 1e-9,
            .halvings = 60,
            .splits = 30,
            .most_splits = 100};

typedef struct {
    double a, b;
    bool rough_a, rough_b; /* leaves come or go at this end */
} panel;

typedef struct {
    int count;
    double x[MOST_NODES], log_share[MOST_NODES];
    long found[MOST_NODES];                   /* leaves below, */
    double mass[MOST_NODES], top[MOST_NODES]; /* and what they add, times exp(top) */
} node_list;

static void add_node(node_list *list, double x, double log_share)
{
    if (list->count == MOST_NODES || isinf(log_share)) return;
    list->x[list->count] = x;
    list->log_share[list->count++] = log_share;
}

/* Equidistant over all of the level. */
static void plain_nodes(const stair_lines *s, node_list *list)
{
    double h = ldexp(tuning.step, -s->fine);
    int half = (int)fmin(MOST_NODES / 2 - 1, ceil(s->radius / h));
    h = s->radius / half;
    double log_share = log(h);
    for (int k = -half; k <= half; k++) add_node(list, k * h, log_share);
}

/* x = 1 / (1 + exp(-pi sinh u)): any power of the distance from an end may stand there. */
void stair_lines_end_nodes(stair_lines *s)
{
    for (int fine = 0; fine < 2; fine++) {
        stair_end_nodes *ends = &s->ends[fine];
        double h = ldexp(tuning.exponential, -fine);
        int half = (int)floor(tuning.reach / h);
        ends->count = 2 * half + 1;
        for (int k = -half; k <= half; k++) {
            double u = k * h, e = exp(-M_PI * sinh(fabs(u)));
            ends->near[k + half] = e / (1 + e);
            ends->log_weight[k + half] = log(h * M_PI * cosh(u) * e) - 2 * log1p(e);
        }
    }
}

static void end_nodes(const stair_lines *s, double a, double b, node_list *list)
{
    const stair_end_nodes *ends = &s->ends[s->fine > 0];
    double log_width = log(b - a);
    for (int k = 0; k < ends->count; k++) {
        double near = (b - a) * ends->near[k], x = k < ends->count / 2 ? a + near : b - near;
        if (x > a && x < b) add_node(list, x, log_width + ends->log_weight[k]);
    }
}

static void panel_nodes(const stair_lines *s, panel p, node_list *list)
{
    const stair_panel *rule = &s->rule[s->fine < ADAPTIVE ? s->fine : ADAPTIVE];
    list->count = 0;
    if (p.rough_a || p.rough_b) {
        end_nodes(s, p.a, p.b, list);
        return;
    }
    double middle = 0.5 * (p.a + p.b), half = 0.5 * (p.b - p.a), log_half = log(half);
    for (int i = rule->count - 1; i >= 0; i--)
        add_node(list, middle + half * rule->node[i], log_half + rule->log_weight[i]);
}

static void at_node(stair_lines *s, int level, double x, double log_share)
{
    s->z[s->cell[level]] = stair_lines_centre(s, level) + s->lower[level * (s->n + 1)] * x;
    stair_lines_node(s, level, x, log_share - 0.5 * x * x - 0.5 * log(2 * M_PI));
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

static double log_of(double mass, double top)
{
    return mass > 0 ? top + log(mass) : -INFINITY;
}

static double log_mass(const node_list *list, int k)
{
    return log_of(list->mass[k], list->top[k]);
}

/* Runs nodes; whether all found the same, but where leaves come or go that add nothing to be seen. */
static bool run_nodes(stair_lines *s, int level, node_list *list)
{
    bool same = true;
    for (int k = 0; k < list->count; k++) {
        stair_leaf_sums *sums = &s->sums;
        long before = sums->leaves;
        double top = sums->top, mass = sums->mass;
        at_node(s, level, list->x[k], list->log_share[k]);
        list->found[k] = leaves_below(s, level, sums->leaves - before);
        list->mass[k] = sums->mass - (mass > 0 ? (top == sums->top ? mass : mass * exp(top - sums->top)) : 0);
        list->top[k] = sums->top;
    }
    double least = s->sums.mass > 0 ? s->sums.top + log(s->sums.mass) + log(tuning.unseen) : INFINITY;
    for (int k = 0; k + 1 < list->count; k++)
        same &= list->found[k] == list->found[k + 1] ||
                (log_mass(list, k) < least && log_mass(list, k + 1) < least && !s->dry);
    return same;
}

/* ---- panels ---------------------------------------------------------------------------------------- */

/* Splits (a, b) into panels; those at a rough end are rough there.  Nested levels are not halved panel by
 * panel but all at once: adaptive sums inside of adaptive sums take too long. */
static int lay_panels(const stair_lines *s, panel whole, int count, panel *list)
{
    int narrower = s->outers > 1 && s->fine > ADAPTIVE ? s->fine - ADAPTIVE : 0;
    int pieces = (int)ceil(ldexp((whole.b - whole.a) / tuning.panel, narrower));
    if (whole.rough_a && whole.rough_b && pieces < 2) pieces = 2;
    if (count + pieces > STAIR_LINES_PANELS) pieces = STAIR_LINES_PANELS - count;
    double width = (whole.b - whole.a) / pieces;
    for (int k = 0; k < pieces; k++)
        list[count++] = (panel){.a = whole.a + k * width,
                                .b = k + 1 < pieces ? whole.a + (k + 1) * width : whole.b,
                                .rough_a = k == 0 && whole.rough_a,
                                .rough_b = k + 1 == pieces && whole.rough_b};
    return count;
}

/* Panels of a level; what nodes of each found, where they have been run. */
typedef struct {
    int count;
    panel list[STAIR_LINES_PANELS];
    bool known[STAIR_LINES_PANELS];
    stair_leaf_sums *sums; /* (STAIR_LINES_PANELS) */
} panel_list;

static stair_leaf_sums run_panel(stair_lines *s, int level, panel p, node_list *nodes)
{
    stair_leaf_clear(&s->sums);
    panel_nodes(s, p, nodes);
    run_nodes(s, level, nodes);
    return s->sums;
}

static void add_panels(const stair_lines *s, panel whole, panel_list *panels)
{
    int from = panels->count;
    panels->count = lay_panels(s, whole, from, panels->list);
    for (int k = from; k < panels->count; k++) panels->known[k] = false;
}

/* Two nodes next to each other between which leaves come or go. */
typedef struct {
    double a, b, log_mass; /* the larger of theirs */
    long found;            /* at a */
} doorway;

/* Panels of `whole`, at the end of `panels`, run and known; their doorways, at most MOST_BREAKS. */
static int find_doorways(stair_lines *s, int level, panel whole, panel_list *panels, doorway *door)
{
    node_list nodes;
    struct {
        double a, mass, top;
        long found;
    } last = {0};
    int from = panels->count, count = 0;
    add_panels(s, whole, panels);
    for (int k = from; k < panels->count; k++) {
        panels->sums[k] = run_panel(s, level, panels->list[k], &nodes);
        panels->known[k] = true;
        for (int i = 0; i < nodes.count && count < MOST_BREAKS; i++) {
            if ((k > from || i) && nodes.found[i] != last.found)
                door[count++] = (doorway){.a = last.a,
                                          .b = nodes.x[i],
                                          .log_mass = fmax(log_of(last.mass, last.top), log_mass(&nodes, i)),
                                          .found = last.found};
            last.a = nodes.x[i];
            last.found = nodes.found[i];
            last.mass = nodes.mass[i];
            last.top = nodes.top[i];
        }
    }
    return count;
}

/* Places where leaves come or go and add something to be seen; MOST_BREAKS: all the time.  Panels are then at
 * the end of `panels`, known. */
static int find_breaks(stair_lines *s, int level, panel whole, panel_list *panels, double *place)
{
    doorway door[MOST_BREAKS];
    stair_leaf_sums kept = s->sums, all;
    int from = panels->count, count = find_doorways(s, level, whole, panels, door), breaks = 0;
    stair_leaf_clear(&all);
    for (int k = from; k < panels->count; k++) stair_leaf_merge(s->n, &all, &panels->sums[k]);
    double least = all.mass > 0 ? all.top + log(all.mass) + log(tuning.unseen) : INFINITY;
    for (int k = 0; k < count && count < MOST_BREAKS; k++)
        if (s->dry || !(door[k].log_mass < least))
            place[breaks++] = change(s, level, door[k].a, door[k].found, door[k].b);
    s->sums = kept;
    return breaks;
}

/* Largest difference of two sums in units of the mass of a third. */
static double difference(int n, const stair_leaf_sums *a, const stair_leaf_sums *b,
                         const stair_leaf_sums *total)
{
    double of_a = a->mass > 0 && a->atoms == total->atoms ? exp(a->top - total->top) / total->mass : 0;
    double of_b = b->mass > 0 && b->atoms == total->atoms ? exp(b->top - total->top) / total->mass : 0;
    double most = fabs(of_a * a->mass - of_b * b->mass);
    for (int i = 0; i < n; i++) most = fmax(most, fabs(of_a * a->first[i] - of_b * b->first[i]));
    for (int i = 0; i < n * n; i++) most = fmax(most, fabs(of_a * a->second[i] - of_b * b->second[i]));
    return most;
}

/* What halving the panels of one level has come to. */
typedef struct {
    stair_leaf_sums all;   /* of panels that are done */
    stair_leaf_sums total; /* of all, as far as is known: the measure of differences */
    int left;              /* halvings that are allowed */
} halving;

/* A peak that was missed before makes what is known larger. */
static void raise_total(int n, const stair_leaf_sums *found, halving *h)
{
    if (found->mass > 0 && found->top + log(found->mass) > h->total.top + log(h->total.mass)) {
        stair_leaf_clear(&h->total);
        stair_leaf_merge(n, &h->total, found);
    }
}

/* Adds panel p, known by `whole`, in halves where these say otherwise. */
static void refine(stair_lines *s, int level, panel p, const stair_leaf_sums *whole, int depth, halving *h)
{
    node_list nodes;
    panel half[2] = {p, p};
    stair_leaf_sums part[2], both;
    half[0].b = half[1].a = 0.5 * (p.a + p.b);
    half[0].rough_b = half[1].rough_a = false;
    stair_leaf_clear(&both);
    for (int k = 0; k < 2; k++) {
        part[k] = run_panel(s, level, half[k], &nodes);
        stair_leaf_merge(s->n, &both, &part[k]);
    }
    raise_total(s->n, &both, h);
    double away = difference(s->n, whole, &both, &h->total);
    if (depth == 0 || h->left <= 0 || away <= s->tolerance) {
        s->open += away;
        stair_leaf_merge(s->n, &h->all, &both);
        return;
    }
    h->left--;
    for (int k = 0; k < 2; k++) refine(s, level, half[k], &part[k], depth - 1, h);
}

/* All panels, in halves where it takes that; s->sums gets their sum. */
static void run_panels(stair_lines *s, int level, panel_list *panels)
{
    stair_leaf_sums kept = s->sums;
    node_list nodes;
    halving h = {.left = tuning.most_splits};
    stair_leaf_clear(&h.all);
    stair_leaf_clear(&h.total);
    for (int k = 0; k < panels->count; k++) {
        if (!panels->known[k]) panels->sums[k] = run_panel(s, level, panels->list[k], &nodes);
        stair_leaf_merge(s->n, &h.total, &panels->sums[k]);
    }
    if (s->fine < ADAPTIVE || s->outers > 1 || s->dry || !(h.total.mass > 0))
        h.all = h.total;
    else
        for (int k = 0; k < panels->count; k++)
            refine(s, level, panels->list[k], &panels->sums[k], tuning.splits, &h);
    s->sums = kept;
    stair_leaf_merge(s->n, &s->sums, &h.all);
}

/* By how much bounds exclude the label where this cell is in (a, b) and those after it are anywhere: not
 * positive where there is room. */
static double excess(const stair_lines *s, int level, double a, double b)
{
    const stair_program *p = &s->formula->program;
    stair_range cell[STAIR_FORMULA_CELLS];
    stair_bound bound[STAIR_MOST_NODES];
    double most = -INFINITY;
    for (int k = 0; k < s->n; k++) {
        int c = s->cell[k];
        cell[c] = k < level ? (stair_range){s->z[c], s->z[c]} : (stair_range){-tuning.wide, tuning.wide};
        if (k < level && s->kind[k] == STAIR_LEVEL_BOX) cell[c] = (stair_range){-tuning.wide, tuning.wide};
    }
    cell[s->cell[level]] = (stair_range){fmin(a, b), fmax(a, b)};
    stair_program_ranges(p, cell, bound);
    for (int k = 0; k < p->outputs && !(s->noise > 0); k++) {
        stair_range y = bound[p->output[k]].value;
        double slack = tuning.slack * (1 + fabs(s->label[k]));
        if (bound[p->output[k]].empty) return INFINITY;
        most = fmax(most, fmax(y.low - s->label[k], s->label[k] - y.high) - slack);
    }
    return most;
}

/* One level and the direction in which its end moves: x to its cell. */
typedef struct {
    const stair_lines *s;
    int level;
    double mean, sd;
} scale;

static double excess_between(const scale *c, double from, double to)
{
    return excess(c->s, c->level, c->mean + c->sd * from, c->mean + c->sd * to);
}

/* Moves *from towards `to` over what bounds exclude: steps shrink by halves, down to `least`.  The last. */
static double step_over(const scale *c, double least, double *from, double to)
{
    double width = to - *from;
    for (int k = 0; k < tuning.halvings && *from != to && fabs(width) > least; k++) {
        double next = fabs(width) < fabs(to - *from) ? *from + width : to;
        if (excess_between(c, *from, next) > 0)
            *from = next;
        else
            width *= 0.5;
    }
    return width;
}

/* The same by the zero of what excludes single places, between *from, which is excluded, and `to`; false
 * where it has none there, or what is passed is not excluded as a whole. */
static bool step_to_zero(const scale *c, double *from, double to)
{
    double a = *from, b = to, at_a = excess_between(c, a, a), at_b = excess_between(c, b, b);
    if (!(at_a > 0) || at_b > 0) return false;
    for (int k = 0; k < tuning.halvings && fabs(b - a) > tuning.end; k++) {
        double share = at_a / (at_a - at_b), before = fabs(b - a);
        double at = k % 3 == 2 || !(share > 0 && share < 1) ? 0.5 * (a + b) : a + share * (b - a);
        /* a little beyond the zero, from the nearer end, so that both ends close in */
        if (k % 3 == 1) at += (share < 0.5 ? 1 : -1) * fmin(0.1 * before, tuning.aside) * (b > a ? 1 : -1);
        if (!(at > fmin(a, b) && at < fmax(a, b))) at = 0.5 * (a + b);
        if (at == a || at == b) break;
        double here = excess_between(c, at, at);
        *(here > 0 ? &a : &b) = at;
        *(here > 0 ? &at_a : &at_b) = here;
    }
    if (!(excess_between(c, *from, a) > 0)) return false;
    *from = a;
    return true;
}

/* Moves *from towards `to` over what bounds exclude. */
static void shrink(const stair_lines *s, int level, double mean, double sd, double *from, double to)
{
    scale c = {.s = s, .level = level, .mean = mean, .sd = sd};
    double start = *from, width = step_over(&c, tuning.near, from, to);
    if (*from == to || (*from == start && !(excess_between(&c, start, start) > 0))) return;
    double beyond = *from + 2 * width;
    if (fabs(beyond - *from) > fabs(to - *from)) beyond = to;
    if (!step_to_zero(&c, from, beyond)) step_over(&c, tuning.end, from, to);
}

/* With several outer levels, whether this one has a pole at zero: what is below is like 1/|z| there, or its
 * logarithm, down to scales that no panel resolves. */
static bool has_pole(const stair_lines *s, int cell)
{
    return s->outers > 1 && s->poles >> cell & 1;
}

/* Cuts of the cell, and zero where it is a pole: its place among them, or -1. */
static int all_cuts(const stair_lines *s, int c, int *count, double *cut)
{
    int pole = -1;
    *count = 0;
    for (int k = 0; k <= s->cuts[c]; k++) {
        double at = k < s->cuts[c] ? s->cut[c][k] : INFINITY;
        if (has_pole(s, c) && pole < 0 && at >= 0) {
            pole = *count;
            cut[(*count)++] = 0;
        }
        if (k < s->cuts[c] && !(pole >= 0 && at == 0)) cut[(*count)++] = at;
    }
    return pole;
}

/* Between the cuts of the cell, and where leaves come or go. */
static void cut_level(stair_lines *s, int level, panel_list *panels)
{
    int c = s->cell[level];
    double mean = stair_lines_centre(s, level), sd = s->lower[level * (s->n + 1)], place[MOST_BREAKS];
    double low = -s->radius, high = s->radius;
    shrink(s, level, mean, sd, &low, s->radius);
    shrink(s, level, mean, sd, &high, low);
    panel whole = {.b = low, .rough_b = low > -s->radius};
    double cut[STAIR_LINES_CUTS + 1];
    int cuts, pole = all_cuts(s, c, &cuts, cut);
    for (int k = 0; k <= cuts; k++) {
        double to = k < cuts ? fmin(high, (cut[k] - mean) / sd) : high;
        if (!(to > whole.b)) continue;
        bool rough = (whole.b == low && low > -s->radius) || (pole >= 0 && k == pole + 1);
        whole = (panel){.a = whole.b,
                        .b = to,
                        .rough_a = rough,
                        .rough_b = (to == high && high < s->radius) || (pole >= 0 && k == pole && to < high)};
        /* a cell seen through its cuts alone changes nothing between them */
        int from = panels->count,
            breaks = s->boxed[c] || pole >= 0 ? 0 : find_breaks(s, level, whole, panels, place);
        if (breaks) panels->count = from;
        s->folded |= breaks > 0 || whole.rough_a || whole.rough_b;
        if (panels->count > from) continue; /* nothing breaks, or all does */
        panel part = {.b = whole.a, .rough_b = rough};
        for (int i = 0; i <= breaks; i++) {
            part = (panel){.a = part.b,
                           .b = i < breaks ? place[i] : to,
                           .rough_a = part.rough_b,
                           .rough_b = i < breaks || whole.rough_b};
            if (part.b > part.a) add_panels(s, part, panels);
        }
    }
}

/* At the point that the caller has chosen, with a weight of one. */
static void outer_point(stair_lines *s, int level)
{
    int first = 0;
    while (s->kind[first] != STAIR_LEVEL_OUTER) first++;
    double x = s->point[level - first];
    s->z[s->cell[level]] = stair_lines_centre(s, level) + s->lower[level * (s->n + 1)] * x;
    stair_lines_node(s, level, x, 0);
}

/* Whether bounds leave room for the label next to both ends of the level; where they do not, leaves come or
 * go, and equidistant nodes would be in vain. */
static bool reaches_ends(const stair_lines *s, int level)
{
    double mean = stair_lines_centre(s, level), sd = s->lower[level * (s->n + 1)], r = s->radius,
           near = r - tuning.step;
    return !(excess(s, level, mean - sd * r, mean - sd * near) > 0) &&
           !(excess(s, level, mean + sd * near, mean + sd * r) > 0);
}

void stair_lines_outer(stair_lines *s, int level)
{
    if (s->point) {
        outer_point(s, level);
        return;
    }
    if (!s->cuts[s->cell[level]] && !has_pole(s, s->cell[level]) && s->fine < ADAPTIVE &&
        reaches_ends(s, level)) {
        node_list nodes = {.count = 0};
        stair_leaf_sums kept = s->sums;
        plain_nodes(s, &nodes);
        if (run_nodes(s, level, &nodes) && s->sums.leaves > kept.leaves) return;
        s->sums = kept;
    }
    panel_list panels = {.sums = s->found[level]};
    cut_level(s, level, &panels);
    run_panels(s, level, &panels);
}
