/* Noise on y: the likelihood along the last cell, by adaptive panels of Gauss and Legendre.
 *
 *   int dx N(x) prod_k N(y_k; f_k(z(x)), noise)
 *
 * Panels begin at cuts and at the roots of f = y, where a thin likelihood has its peaks, and are halved until
 * their halves agree with the whole. */
#include <math.h>

#include "channel/lines_levels.h"

#define MOST_PLACES (STAIR_LINES_CUTS + 24) /* of cuts and roots */
#define GRID        16                      /* panels of the prior */

static const struct {
    int halvings;   /* of a panel */
    double error;   /* of a panel, relative to what has been found */
    double visible; /* logarithm below the largest at which a panel matters */
} tuning = {.halvings = 40, .error = 1e-10, .visible = 60};

/* Log of the integrand at x without its share of the panel; z is set. */
static double energy(stair_lines *s, int level, double mean, double x)
{
    s->z[s->cell[level]] = mean + s->lower[level * (s->n + 1)] * x;
    s->visited++;
    return stair_lines_judge(s) - 0.5 * x * x - 0.5 * log(2 * M_PI);
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
    if (depth > 0 && gap > tuning.error && middle > a && middle < b) {
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
            if (!s->dry) stair_lines_add_leaf(s, s->log_weight + value[h][i]);
        }
}

/* Places to begin: cuts, and where the output is the label: thin likelihoods are there. */
static int seeds(stair_lines *s, int level, double mean, double *at)
{
    int c = s->cell[level], count = 0;
    double sd = s->lower[level * (s->n + 1)], low, high;
    stair_level_set *set = &s->set[level];
    stair_lines_limits(s, level, mean, &low, &high);
    for (int k = 0; k < s->cuts[c]; k++) at[count++] = (s->cut[c][k] - mean) / sd;
    for (int k = 0; k < s->formula->program.outputs && k < 2; k++) {
        if (s->line[level].output != k) stair_line_set(&s->line[level], &s->formula->program, c, k);
        stair_line_fix(&s->line[level], s->z);
        stair_line_solve(&s->line[level], s->label[k], low, high, s->cuts[c], s->cut[c], set);
        for (int i = 0; i < set->points && count < MOST_PLACES - 2; i++)
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

void stair_lines_noisy(stair_lines *s, int level)
{
    double mean = stair_lines_centre(s, level), place[MOST_PLACES + GRID + 8], at[STAIR_LINES_PANEL],
           value[STAIR_LINES_PANEL], whole[MOST_PLACES + GRID + 8], total = -INFINITY;
    int count = seeds(s, level, mean, place), used = 0;
    for (double x = -s->radius; x <= s->radius + 1e-9; x += 2 * s->radius / GRID) place[count++] = x;
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
            add_panel(s, level, mean, place[k], place[k + 1], whole[k], tuning.halvings, &total);
}
