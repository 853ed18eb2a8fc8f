/* Iterated adaptive Gauss-Kronrod integration in two coordinates, and in one where the link has breaks.
 *
 * For what a lattice cannot follow: ridges far thinner than they are long, modes that touch, and
 * integrands with a hole where the mixing is singular.  The outer direction is one that the model
 * knows, if any (ridges are graphs over it).  On each inner line a scan finds the basins of the smooth
 * distance |x|^2, Gauss-Newton finds the peaks and their widths, and panels are laid around them; so a peak
 * of width 1e-6 costs no more than one of width 1.
 *
 * Panels are halved where Kronrod and Gauss sums differ, in both directions, until the sum of the
 * differences is within the precision; that sum is the reported error.
 *
 * A link with noise on y that is not known to be analytic may have kinks and jumps, where the two sums agree
 * by chance: halving until they do would choose the panels in which they do.  They are found along every
 * line, from the link alone, and panels end there.  Along the outer direction those are found that are there
 * for more than one inner coordinate.  Where curves of them turn or cross, lines change less than smoothly
 * from one to the next: there the error of a panel is what its Legendre coefficients of degrees 11 to 14 say,
 * of which some are never small where the integrand is not smooth (null rules, Berntsen and Espelid 1991).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/rules.h"
#include "core/breaks.h"

enum {
    SCAN = 32,        /* points of the first look at a line */
    PEAKS = 6,        /* most of one line */
    LINE_MOST = 256,  /* panels of a line */
    OUTER_MOST = 400, /* panels of the outer integral */
    TRIALS = 8,       /* shortened steps tried at once, one group of lanes */
    CLIMB = 12,       /* steps of the climb to a peak */
    FINEST = 16,      /* places of a look at a line, for each of its scan, at most */
    NULLS = 4,        /* degrees 11 to 14 */
    EDGES = 2,        /* places between the outermost nodes of a panel and its ends */
    OUTER_BREAKS = 3 * STAIR_MOST_MODES + 2 + 2 * STAIR_MOST_BREAKS + 3 * STAIR_MOST_MODES
};

static const struct {
    double hopeless;      /* below the cut, and by a part of where a climb starts: no bend of x will help */
    double hopeless_part; /* that part */
    double beyond;        /* added to the cutoff, since panels end where a lattice would go on */
    double step;          /* of differences along a line, in eighths of its reach */
    double close;         /* a step below this part of a peak's width is the last */
    double shorten;       /* a step that does not climb is made so much shorter, again and again */
    double line_share;    /* part of the error that lines may use up */
    double panel_share;   /* part of a line's tolerance that one panel may */
    double blunt;         /* part of the precision: what bends residuals by less is no kink */
    double jumps_hide; /* part of a posterior that two jumps between neighbours of a scan hide where curves of
                          jumps turn: it falls with the third power of the distance of neighbours; */
    double kinks_hide; /* two kinks hide less */
    double half;       /* between two places of a look residuals are thought not to fall below this part */
    double within;     /* part of the reach within which breaks across the outer direction are looked for, */
    double beside;     /* parts of the reach: next to such a break, */
    double next;       /* and to the line on which it was found */
    double same;       /* part of a break that is still there on that line */
    double left;  /* of what degrees 11 to 14 have of a panel with a jump, a kink or a root in it, at most so
                     much is the error: 0.19 to 0.3 for 99 of 100 places */
    double edge;  /* a place of a panel beyond its nodes, next to its end */
    double noise; /* least on y: measured on 2 000 samples of one layer at 1e-6, docs/channel.md */
} tuning = {.hopeless = 20,
            .hopeless_part = 0.3,
            .beyond = 5,
            .step = 1e-5,
            .close = 0.1,
            .shorten = 0.25,
            .line_share = 0.25,
            .panel_share = 0.3,
            .blunt = 0.1,
            .jumps_hide = 4e-2,
            .kinks_hide = 5e-4,
            .half = 0.5,
            .within = 0.7,
            .beside = 1e-4,
            .next = 0.01,
            .same = 0.5,
            .left = 0.3,
            .edge = 0.9995,
            .noise = 0.003};

/* Gauss-Kronrod 7-15 on [-1, 1]: nodes, Kronrod weights, Gauss weights (0 where not a Gauss node). */
static const double gk_node[15] = {-0.991455371120812639206854697526329, -0.949107912342758524526189684047851,
                                   -0.864864423359769072789712788640926, -0.741531185599394439863864773280788,
                                   -0.586087235467691130294144691258727, -0.405845151377397166906606412076961,
                                   -0.207784955007898467600689403773245, 0.0,
                                   0.207784955007898467600689403773245,  0.405845151377397166906606412076961,
                                   0.586087235467691130294144691258727,  0.741531185599394439863864773280788,
                                   0.864864423359769072789712788640926,  0.949107912342758524526189684047851,
                                   0.991455371120812639206854697526329};
static const double gk_kronrod[15] = {
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
    0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
    0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
    0.204432940075298892414161999234649, 0.190350578064785409913256402421014,
    0.169004726639267902826583426598550, 0.140653259715525918745189590510238,
    0.104790010322250183839876322541518, 0.063092092629978553290700663189204,
    0.022935322010529224963732008058970};
static const double gk_gauss[15] = {
    0, 0.129484966168869693270611432679082, 0, 0.279705391489276667901467771423780,
    0, 0.381830050505118944950369775488975, 0, 0.417959183673469387755102040816327,
    0, 0.381830050505118944950369775488975, 0, 0.279705391489276667901467771423780,
    0, 0.129484966168869693270611432679082, 0};

typedef struct {
    stair_worker *w;
    double top;                 /* log value that all masses are relative to */
    double cutoff, spread;      /* in the exponent, and in standard deviations of a Gaussian */
    double line_tolerance;      /* absolute, per line, in units of exp(top) */
    double centre[2], reach[2]; /* outer, inner: ranges centre +- reach */
    double axis[2];             /* the outer direction, of unit length */
    int64_t budget;
    bool rough;                      /* the link is not known to be analytic, */
    bool broken;                     /* and is seen to have kinks or jumps: */
    int finer;                       /* places of a look at a line for each of its scan */
    double blunt;                    /* those worth looking for bend residuals by this, */
    double null[NULLS + EDGES][15];  /* null rules: Legendre coefficients of values at the nodes of a panel;
                                        and the polynomial through them at places next to its ends */
    int breaks;                      /* and these are there whatever the inner coordinate is */
    double place[STAIR_MOST_BREAKS]; /* along the outer one */
} nested_plan;

typedef struct {
    double low, high, mass, error;
} panel;

static void point(const nested_plan *plan, double outer, double inner, int i)
{
    const double *axis = plan->axis;
    plan->w->f.nodes.u[i] = outer * axis[0] - inner * axis[1];
    plan->w->f.nodes.u[STAIR_BLOCK + i] = outer * axis[1] + inner * axis[0];
}

/* QUADPACK's reading of the difference of the two sums: it overstates a small one by far. */
static double panel_error(double difference, double size)
{
    double raw = fabs(difference);
    if (size <= 0 || raw == 0) return raw;
    return fmin(raw, size * pow(200 * raw / size, 1.5));
}

/* ---- one line ------------------------------------------------------------------------------ */

typedef struct {
    double at, width, value;
} peak;

/* Slope and curvature of |x|^2 / 2, residuals of a noisy y counted among x, along the line at `at`; returns
 * the log integrand there. */
static double look_at(const nested_plan *plan, double outer, double at, int sign, double *slope, double *bend)
{
    stair_integrand *f = &plan->w->f;
    int free = f->shape.free_rows * f->shape.tokens;
    double step = tuning.step * plan->reach[1] / 8;
    *slope = *bend = 0;
    point(plan, outer, at, 0);
    point(plan, outer, at + step, 1);
    point(plan, outer, at - step, 2);
    stair_integrand_energies(f, 3);
    for (int i = 0; i < f->size; i++) {
        const double *a = f->nodes.a + (size_t)i * STAIR_BLOCK, *b = f->nodes.b + (size_t)i * STAIR_BLOCK;
        double s = i < free ? 0 : sign, dx = (a[1] - a[2] + s * (b[1] - b[2])) / (2 * step);
        *slope += (a[0] + s * b[0]) * dx;
        *bend += dx * dx;
    }
    for (int i = 0; i < f->shape.residuals; i++) {
        const double *r = f->nodes.z + (size_t)(f->size + i) * STAIR_BLOCK;
        double dx = (r[1] - r[2]) / (2 * step);
        *slope += r[0] * dx;
        *bend += dx * dx;
    }
    return (sign > 0 ? f->nodes.plus[0] : f->nodes.minus[0]) + log(f->nodes.weight[0]);
}

/* The best of several shortened moves from `at`; `at` itself when none is higher. */
static double shortened(const nested_plan *plan, double outer, double at, double move, int sign, double value)
{
    stair_integrand *f = &plan->w->f;
    double trial[TRIALS], best = at;
    for (int k = 0; k < TRIALS; k++, move *= tuning.shorten) {
        trial[k] = at + move;
        point(plan, outer, trial[k], k);
    }
    stair_integrand_energies(f, TRIALS);
    for (int k = 0; k < TRIALS; k++) {
        double here = (sign > 0 ? f->nodes.plus[k] : f->nodes.minus[k]) + log(f->nodes.weight[k]);
        if (here > value) {
            value = here;
            best = trial[k];
        }
    }
    return best;
}

/* Gauss-Newton along the line from a scan maximum; width = 1 / |dx/d inner|.  A full step that does not climb
 * is shortened; a start from which even a straight x would stay far below the cut is given up. */
static peak refine_peak(const nested_plan *plan, double outer, double start, double bracket, int sign)
{
    peak best = {.at = start, .width = bracket, .value = -INFINITY};
    double next = start, last = 0;
    for (int t = 0; t < CLIMB; t++) {
        double slope, bend, value = look_at(plan, outer, next, sign, &slope, &bend);
        if (t && !(value > best.value)) {
            next = shortened(plan, outer, best.at, tuning.shorten * (next - best.at), sign, best.value);
            if (next == best.at) break;
            value = look_at(plan, outer, next, sign, &slope, &bend);
        }
        last = next - best.at;
        best.at = next;
        best.value = value;
        if (!(bend > 0)) break;
        best.width = 1 / sqrt(bend);
        if (value + 0.5 * slope * slope / bend <
            plan->top - plan->cutoff - tuning.hopeless + tuning.hopeless_part * value)
            break;
        double move = fmax(-bracket, fmin(bracket, -slope / bend));
        if (fabs(move) < tuning.close * best.width || (t && fabs(last) < tuning.close * best.width)) break;
        next = best.at + move;
    }
    return best;
}

typedef struct {
    double low, spacing, value[2][SCAN]; /* log integrand along the line, by sign */
    int breaks;
    double place[STAIR_MOST_BREAKS];
} line_scan;

/* A line on which one coordinate is fixed. */
typedef struct {
    const nested_plan *plan;
    double fixed;
    bool outwards; /* the outer coordinate runs */
} fixed_line;

/* The residuals of the first n nodes as one number each, in which none hides another. */
static void residuals_of(const stair_integrand *f, int n, double *y)
{
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int k = 0; k < f->shape.residuals; k++)
        for (int i = 0; i < n; i++)
            y[i] += (1 + 0.3 * sin(k)) * f->nodes.z[(size_t)(f->size + k) * STAIR_BLOCK + i];
}

static void along_line(void *user, int n, const double *x, double *y)
{
    const fixed_line *line = user;
    for (int i = 0; i < n; i++)
        point(line->plan, line->outwards ? x[i] : line->fixed, line->outwards ? line->fixed : x[i], i);
    stair_integrand_energies(&line->plan->w->f, n);
    residuals_of(&line->plan->w->f, n, y);
}

/* skip (n - 1): whether prior and residuals of the first n nodes, neighbours on a line, leave nothing to be
 * seen between two of them. */
static void hidden_between(const nested_plan *plan, int n, bool *skip)
{
    const stair_integrand *f = &plan->w->f;
    double prior[STAIR_BLOCK] = {0};
    for (int k = 0; k < f->size; k++)
        for (int i = 0; i < n; i++) prior[i] += pow(f->nodes.a[(size_t)k * STAIR_BLOCK + i], 2);
    for (int i = 0; i + 1 < n; i++) {
        double least = fmin(prior[i], prior[i + 1]);
        for (int k = 0; k < f->shape.residuals; k++) {
            const double *r = f->nodes.z + (size_t)(f->size + k) * STAIR_BLOCK + i;
            if (r[0] * r[1] > 0) least += pow(tuning.half * fmin(fabs(r[0]), fabs(r[1])), 2);
        }
        skip[i] = -0.5 * least < plan->top - plan->cutoff;
    }
}

/* Breaks of the link along the line that the first n nodes are on. */
static int find_breaks(const nested_plan *plan, fixed_line line, int n, double low, double spacing,
                       double *place)
{
    bool skip[STAIR_BLOCK];
    double y[STAIR_BLOCK];
    stair_values curve = {.values = along_line, .user = &line, .tolerance = plan->blunt};
    residuals_of(&plan->w->f, n, y);
    hidden_between(plan, n, skip);
    return stair_breaks_find(&curve, n, low, spacing, y, skip, place);
}

/* The same by a finer look at all between the first and the last of n nodes that anything can be seen next
 * to: two jumps next to each other are seen where a node is between them. */
static int find_more_breaks(const nested_plan *plan, fixed_line line, int n, double low, double spacing,
                            double *place)
{
    bool hidden[STAIR_BLOCK], skip[STAIR_BREAKS_SCAN];
    double x[STAIR_BREAKS_SCAN], y[STAIR_BREAKS_SCAN];
    stair_values curve = {.values = along_line, .user = &line, .tolerance = plan->blunt};
    int first = 0, last = n - 2, m = plan->finer;
    hidden_between(plan, n, hidden);
    while (first <= last && hidden[first]) first++;
    while (last > first && hidden[last]) last--;
    if (first > last) return 0;
    int count = (last - first + 1) * m + 1;
    for (int i = 0; i < count; i++) {
        x[i] = low + (first + (double)i / m) * spacing;
        skip[i] = i + 1 < count && hidden[first + i / m];
    }
    for (int i = 0; i < count; i += STAIR_BLOCK)
        along_line(&line, count - i < STAIR_BLOCK ? count - i : STAIR_BLOCK, x + i, y + i);
    return stair_breaks_find(&curve, count, x[0], spacing / m, y, skip, place);
}

static int find_peaks(const nested_plan *plan, double outer, line_scan *scan, peak *peaks)
{
    stair_integrand *f = &plan->w->f;
    double low = plan->centre[1] - plan->reach[1], spacing = 2 * plan->reach[1] / (SCAN - 1),
           (*value)[SCAN] = scan->value;
    int count = 0;
    scan->breaks = 0;
    scan->low = low;
    scan->spacing = spacing;
    for (int i = 0; i < SCAN; i++) point(plan, outer, low + i * spacing, i);
    stair_integrand_energies(f, SCAN);
    for (int i = 0; i < SCAN; i++) {
        double log_weight = log(f->nodes.weight[i]);
        value[0][i] = f->nodes.plus[i] + log_weight;
        value[1][i] = f->nodes.minus[i] + log_weight;
    }
    if (plan->broken)
        scan->breaks = (plan->finer > 1 ? find_more_breaks : find_breaks)(
            plan, (fixed_line){.plan = plan, .fixed = outer}, SCAN, low, spacing, scan->place);
    for (int s = 0; s < (f->shape.mirrored ? 2 : 1); s++)
        for (int i = 0; i < SCAN && count < PEAKS; i++) {
            if ((i > 0 && value[s][i - 1] > value[s][i]) || (i + 1 < SCAN && value[s][i + 1] > value[s][i]))
                continue;
            peak found = refine_peak(plan, outer, low + i * spacing, spacing, s ? -1 : 1);
            if (found.value > plan->top - plan->cutoff) peaks[count++] = found;
        }
    return count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Breaks around peaks of the given widths, sorted, clipped to the range, and thinned: a panel need not be
 * shorter than the narrowest peak near it. */
static int lay_breaks(int peaks, const double *at, const double *width, double spread, double low,
                      double high, double *breaks)
{
    int count = 0, kept = 0;
    breaks[count++] = low;
    breaks[count++] = high;
    for (int k = 0; k < peaks; k++)
        for (int s = -1; s <= 1; s++) breaks[count++] = fmax(low, fmin(high, at[k] + s * spread * width[k]));
    qsort(breaks, (size_t)count, sizeof *breaks, compare_doubles);
    for (int i = 0; i < count; i++) {
        double scale = 1e-13 * (high - low), nearest = INFINITY;
        for (int k = 0; k < peaks; k++) /* widths grow with the distance from their peak */
            nearest = fmin(nearest, fmax(width[k], 0.2 * fabs(breaks[i] - at[k])));
        if (peaks) scale = fmax(scale, 1.2 * nearest);
        if (kept && breaks[i] < breaks[kept - 1] + scale && i + 1 < count) continue;
        if (kept && breaks[i] <= breaks[kept - 1]) continue;
        breaks[kept++] = breaks[i];
    }
    return kept;
}

/* Puts the 15 nodes of each of up to four panels into the block and measures their masses. */
static void measure_panels(const nested_plan *plan, double outer, int many, panel *panels, double *mass)
{
    stair_integrand *f = &plan->w->f;
    for (int k = 0; k < many; k++) {
        double middle = 0.5 * (panels[k].low + panels[k].high), half = 0.5 * (panels[k].high - panels[k].low);
        for (int i = 0; i < 15; i++) point(plan, outer, middle + half * gk_node[i], 15 * k + i);
    }
    stair_integrand_energies(f, 15 * many);
    stair_mass(15 * many, f->nodes.plus, f->shape.mirrored ? f->nodes.minus : NULL, plan->top,
               f->nodes.weight, mass);
    for (int k = 0; k < many; k++) {
        double half = 0.5 * (panels[k].high - panels[k].low), kronrod = 0, gauss = 0;
        for (int i = 0; i < 15; i++) {
            kronrod += gk_kronrod[i] * mass[15 * k + i];
            gauss += gk_gauss[i] * mass[15 * k + i];
        }
        panels[k].mass = half * kronrod;
        panels[k].error = panel_error(half * (kronrod - gauss), half * kronrod);
    }
}

/* Adds the panels of the block that are accepted, with their Kronrod weights. */
static void add_panels(const nested_plan *plan, int many, const panel *panels, const bool *accepted,
                       stair_moments *into)
{
    stair_integrand *f = &plan->w->f;
    bool any = false;
    for (int k = 0; k < many; k++) {
        double half = 0.5 * (panels[k].high - panels[k].low);
        any |= accepted[k] && panels[k].mass > 0;
        for (int i = 0; i < 15; i++) f->nodes.weight[15 * k + i] *= accepted[k] ? half * gk_kronrod[i] : 0;
    }
    if (any) stair_integrand_add(f, 15 * many, NULL, plan->top, into);
}

/* The places in (low, high), with both ends, as ends of sections; how many sections. */
static int lay_sections(int places, const double *place, double low, double high, double *end)
{
    int sections = 0;
    end[0] = low;
    for (int i = 0; i < places; i++)
        if (place[i] > end[sections] && place[i] < high) end[++sections] = place[i];
    end[++sections] = high;
    return sections;
}

/* Whether anything above the cut was seen in a panel, or may be next to a break. */
static bool visible(const nested_plan *plan, const line_scan *scan, int count, const peak *peaks, double low,
                    double high)
{
    for (int k = 0; k < scan->breaks; k++)
        if (low == scan->place[k] || high == scan->place[k]) return true;
    for (int k = 0; k < count; k++)
        if (low < peaks[k].at + 0.99 * plan->spread * peaks[k].width &&
            high > peaks[k].at - 0.99 * plan->spread * peaks[k].width)
            return true;
    int first = (int)floor((low - scan->low) / scan->spacing),
        last = (int)ceil((high - scan->low) / scan->spacing);
    for (int s = 0; s < (plan->w->f.shape.mirrored ? 2 : 1); s++)
        for (int i = first < 0 ? 0 : first; i <= last && i < SCAN; i++)
            if (scan->value[s][i] > plan->top - plan->cutoff) return true;
    return false;
}

/* Moments of one line; returns its error. */
static double integrate_line(const nested_plan *plan, double outer, stair_moments *into)
{
    peak peaks[PEAKS];
    line_scan scan;
    double breaks[3 * PEAKS + 2], at[PEAKS], width[PEAKS], end[STAIR_MOST_BREAKS + 2], error = 0;
    double low = plan->centre[1] - plan->reach[1], high = plan->centre[1] + plan->reach[1];
    int count = find_peaks(plan, outer, &scan, peaks), waiting = 0;
    panel stack[LINE_MOST];
    stair_moments_clear(&plan->w->f, into);
    if (!count && !scan.breaks) return 0;
    for (int k = 0; k < count; k++) {
        at[k] = peaks[k].at;
        width[k] = peaks[k].width;
    }
    for (int s = lay_sections(scan.breaks, scan.place, low, high, end); s > 0; s--)
        for (int i = lay_breaks(count, at, width, plan->spread, end[s - 1], end[s], breaks) - 1; i > 0; i--)
            if (visible(plan, &scan, count, peaks, breaks[i - 1], breaks[i]))
                stack[waiting++] = (panel){.low = breaks[i - 1], .high = breaks[i]};
    while (waiting) {
        int many = waiting < 4 ? waiting : 4;
        panel batch[4];
        bool accepted[4];
        double mass[STAIR_BLOCK];
        for (int k = 0; k < many; k++) batch[k] = stack[--waiting];
        measure_panels(plan, outer, many, batch, mass);
        for (int k = 0; k < many; k++) {
            double length = batch[k].high - batch[k].low;
            double allowed = fmax(plan->line_tolerance * tuning.panel_share, 1e-15 * batch[k].mass);
            accepted[k] = batch[k].error <= allowed || length < 1e-13 * (high - low) ||
                          waiting + 2 * (many - k) + 2 > LINE_MOST || plan->w->f.visited > plan->budget;
            if (accepted[k]) error += batch[k].error;
        }
        add_panels(plan, many, batch, accepted, into);
        for (int k = 0; k < many; k++)
            if (!accepted[k]) {
                double middle = 0.5 * (batch[k].low + batch[k].high);
                stack[waiting++] = (panel){.low = middle, .high = batch[k].high};
                stack[waiting++] = (panel){.low = batch[k].low, .high = middle};
            }
    }
    if (scan.breaks < STAIR_MOST_BREAKS) return error;
    stair_integrand_flush(&plan->w->f); /* some breaks are not known: nothing is */
    return error + into->sum[0] * exp(into->top - plan->top);
}

/* ---- the outer integral -------------------------------------------------------------------- */

typedef struct {
    double low, high, error;
    double *kronrod; /* (count): moments of the panel, relative to exp(top) */
} outer_panel;

/* Mass and spread, the two sizes an error is measured against. */
static double spread_of(const stair_integrand *f, const double *sum)
{
    double trace = sum[0];
    for (int i = 0, k = 1 + f->size; i < f->size; k += ++i + 1) trace += fabs(sum[k]);
    return trace;
}

/* The largest over all moments of what is left of degrees 11 to 14: null (NULLS, count) are their
 * coefficients times the half length. */
static double last_degrees(int count, const double *null)
{
    double most = 0;
    for (int k = 0; k < count; k++) {
        double sum = 0;
        for (int j = 0; j < NULLS; j++) sum += null[j * count + k] * null[j * count + k];
        most = fmax(most, sum);
    }
    return sqrt(most);
}

/* Runs the line at this place of a panel, moments to w->part[0]; its error, and what times their sums are in
 * units of exp(top), times the half length of the panel. */
static double outer_node(const nested_plan *plan, const outer_panel *p, double at, double *scale)
{
    stair_worker *w = plan->w;
    double middle = 0.5 * (p->low + p->high), half = 0.5 * (p->high - p->low),
           error = integrate_line(plan, middle + half * at, &w->part[0]);
    stair_integrand_flush(&w->f);
    *scale = w->part[0].top == -INFINITY ? 0 : half * exp(w->part[0].top - plan->top);
    return error;
}

/* Where the integrand may not be smooth: what the panel may hide next to its ends, from values there and from
 * those that its nodes let expect (EDGES, count). */
static double hidden_at_edges(const nested_plan *plan, const outer_panel *p, const double *expected)
{
    int count = plan->w->f.count;
    double hidden = 0;
    for (int j = 0; j < EDGES; j++) {
        double most = 0, scale;
        outer_node(plan, p, j ? tuning.edge : -tuning.edge, &scale);
        for (int k = 0; k < count; k++)
            most = fmax(most, fabs(scale * plan->w->part[0].sum[k] - expected[j * count + k]));
        hidden += most * (1 - gk_node[14]);
    }
    return hidden;
}

/* scratch (1 + NULLS + EDGES, count) */
static void integrate_outer_panel(const nested_plan *plan, outer_panel *p, double *scratch)
{
    const stair_integrand *f = &plan->w->f;
    const double *sum = plan->w->part[0].sum;
    int count = f->count;
    double half = 0.5 * (p->high - p->low), lines = 0, scale, *gauss = scratch, *null = gauss + count;
    memset(p->kronrod, 0, sizeof(double) * (size_t)count);
    memset(scratch, 0, sizeof(double) * (size_t)((1 + NULLS + EDGES) * count));
    for (int i = 0; i < 15; i++) {
        lines += half * gk_kronrod[i] * outer_node(plan, p, gk_node[i], &scale);
        for (int k = 0; k < count && scale > 0; k++) {
            p->kronrod[k] += gk_kronrod[i] * scale * sum[k];
            gauss[k] += gk_gauss[i] * scale * sum[k];
            for (int j = 0; j < NULLS + EDGES && plan->rough; j++)
                null[j * count + k] += plan->null[j][i] * scale * sum[k];
        }
    }
    double difference = fabs(p->kronrod[0] - gauss[0]), size = spread_of(f, p->kronrod);
    for (int k = 1; k < count; k++) difference = fmax(difference, fabs(p->kronrod[k] - gauss[k]));
    p->error = lines + (plan->rough ? fmax(difference, tuning.left * last_degrees(count, null))
                                    : panel_error(difference, size));
    if (plan->broken) p->error += hidden_at_edges(plan, p, null + NULLS * count);
}

/* Standard deviation of the prior along a unit direction.  The coordinates are two tokens of one row, which
 * have the same, or one token of two rows, which have not. */
static double prior_deviation(const stair_integrand *f, const double *direction)
{
    const double *v = f->variance, *d = direction;
    if (f->shape.tokens == 2 || f->dim == 1) return f->lower[0];
    return sqrt(v[0] * d[0] * d[0] + 2 * v[1] * d[0] * d[1] + v[f->shape.rows + 1] * d[1] * d[1]);
}

/* By the recursion of Legendre polynomials, and by Lagrange's formula. */
static void set_null_rules(nested_plan *plan)
{
    for (int i = 0; i < 15; i++) {
        double before = 1, here = gk_node[i];
        for (int n = 1; n < 11 + NULLS; n++) {
            double next = ((2 * n + 1) * gk_node[i] * here - n * before) / (n + 1);
            if (n >= 11) plan->null[n - 11][i] = (n + 0.5) * gk_kronrod[i] * here;
            before = here;
            here = next;
        }
        for (int j = 0; j < EDGES; j++) {
            double at = j ? tuning.edge : -tuning.edge, *weight = &plan->null[NULLS + j][i];
            *weight = 1;
            for (int k = 0; k < 15; k++)
                if (k != i) *weight *= (at - gk_node[k]) / (gk_node[i] - gk_node[k]);
        }
    }
}

static void set_plan(stair_worker *w, const stair_channel_options *options, nested_plan *plan)
{
    stair_integrand *f = &w->f;
    const stair_mode *mode = &w->modes.mode[0];
    const stair_model_ops *ops = f->fibre.model->ops;
    double best = -INFINITY;
    for (int k = 0; k < w->modes.count; k++) best = fmax(best, w->modes.mode[k].value);
    plan->w = w;
    stair_fibre_ridges(&f->fibre, plan->axis);
    if (f->dim == 1) { /* the inner coordinate is the only one */
        plan->axis[0] = 0;
        plan->axis[1] = -1;
    }
    plan->broken = f->structure->broken; /* of a program all are seen */
    plan->rough = f->shape.residuals && !ops->smooth && (plan->broken || !ops->program);
    set_null_rules(plan);
    double hides = f->structure->jumps ? tuning.jumps_hide : tuning.kinks_hide;
    plan->finer = (int)fmin(FINEST, ceil(cbrt(hides / options->precision)));
    plan->blunt = tuning.blunt * options->precision;
    plan->top = best;
    plan->spread = sqrt(2 * plan->cutoff);
    plan->centre[0] = plan->centre[1] = 0;
    double radius = sqrt(2 * (plan->cutoff + fmax(0, -best))), across[2] = {-plan->axis[1], plan->axis[0]};
    plan->reach[0] = radius * prior_deviation(f, plan->axis);
    plan->reach[1] = radius * prior_deviation(f, across);
    plan->line_tolerance = tuning.line_share * options->precision * exp(mode->log_mass - plan->top) /
                           (f->dim == 1 ? 1 : 2 * plan->reach[0]);
}

/* How far from straight the link is at outer coordinates x - h, x, x + h. */
static double bend_at(fixed_line *line, double x, double h)
{
    double at[3] = {x - h, x, x + h}, y[3];
    along_line(line, 3, at, y);
    return fabs(y[0] - 2 * y[1] + y[2]);
}

/* Breaks along one line of the outer direction that are there on the line next to it, too. */
static void add_lasting_breaks(nested_plan *plan, double inner)
{
    enum { N = STAIR_BLOCK };
    fixed_line line = {.plan = plan, .fixed = inner, .outwards = true}, next = line;
    double place[STAIR_MOST_BREAKS], low = plan->centre[0] - plan->reach[0],
                                     spacing = 2 * plan->reach[0] / (N - 1),
                                     h = tuning.beside * plan->reach[0];
    for (int i = 0; i < N; i++) point(plan, low + i * spacing, inner, i);
    stair_integrand_energies(&plan->w->f, N);
    int count = find_breaks(plan, line, N, low, spacing, place);
    next.fixed += tuning.next * plan->reach[1];
    for (int k = 0; k < count && plan->breaks < STAIR_MOST_BREAKS; k++) {
        int at = 0;
        while (at < plan->breaks && plan->place[at] < place[k] - h) at++;
        if (at < plan->breaks && plan->place[at] <= place[k] + h) continue; /* known */
        if (bend_at(&next, place[k], h) < tuning.same * bend_at(&line, place[k], h)) continue;
        memmove(plan->place + at + 1, plan->place + at, sizeof(double) * (size_t)(plan->breaks - at));
        plan->place[at] = place[k];
        plan->breaks++;
    }
}

/* Breaks of the link across the outer direction: at inner coordinates of modes, and throughout the prior. */
static void find_lasting_breaks(nested_plan *plan)
{
    enum { LINES = 6 };
    const stair_modes *modes = &plan->w->modes;
    plan->breaks = 0;
    if (!plan->broken) return;
    for (int k = 0; k < LINES; k++)
        add_lasting_breaks(plan,
                           plan->centre[1] + tuning.within * plan->reach[1] * ((2 * k + 1.0) / LINES - 1));
    for (int k = 0; k < modes->count && k < LINES; k++)
        add_lasting_breaks(plan, modes->mode[k].u[1] * plan->axis[0] - modes->mode[k].u[0] * plan->axis[1]);
}

static int outer_breaks(const nested_plan *plan, double *breaks)
{
    const stair_worker *w = plan->w;
    double at[STAIR_MOST_MODES], width[STAIR_MOST_MODES];
    for (int k = 0; k < w->modes.count; k++) {
        const stair_mode *mode = &w->modes.mode[k];
        const double *axis = plan->axis;
        double variance = 0;
        at[k] = mode->u[0] * axis[0] + mode->u[1] * axis[1];
        for (int i = 0; i < 2; i++) {
            double part = mode->lower[i] * axis[0] + mode->lower[2 + i] * axis[1];
            variance += part * part;
        }
        width[k] = sqrt(variance);
    }
    double end[STAIR_MOST_BREAKS + 2], low = plan->centre[0] - plan->reach[0];
    int count = 1, sections = lay_sections(plan->breaks, plan->place, low, low + 2 * plan->reach[0], end);
    for (int s = 0; s < sections; s++) /* they share their ends */
        count +=
            lay_breaks(w->modes.count, at, width, plan->spread, end[s], end[s + 1], breaks + count - 1) - 1;
    return count;
}

/* Panels halved until the sum of their errors is `precision` of the mass; returns that ratio. */
static double integrate(const nested_plan *plan, double precision, double *memory)
{
    stair_worker *w = plan->w;
    stair_integrand *f = &w->f;
    size_t count = (size_t)f->count;
    double breaks[OUTER_BREAKS], *scratch = memory + count * OUTER_MOST, *sum = w->total.sum;
    outer_panel panels[OUTER_MOST];
    int used = outer_breaks(plan, breaks) - 1;
    for (int i = 0; i < used; i++) {
        panels[i] =
            (outer_panel){.low = breaks[i], .high = breaks[i + 1], .kronrod = memory + count * (size_t)i};
        integrate_outer_panel(plan, &panels[i], scratch);
    }
    w->total.top = plan->top;
    for (;;) {
        double error = 0;
        int worst = 0;
        memset(sum, 0, sizeof(double) * count);
        for (int i = 0; i < used; i++) {
            error += panels[i].error;
            if (panels[i].error > panels[worst].error) worst = i;
            for (size_t k = 0; k < count; k++) sum[k] += panels[i].kronrod[k];
        }
        if (error <= precision * sum[0] || used == OUTER_MOST || f->visited > plan->budget)
            return error / sum[0];
        outer_panel *left = &panels[worst], *right = &panels[used];
        *right = (outer_panel){.low = 0.5 * (left->low + left->high),
                               .high = left->high,
                               .kronrod = memory + count * (size_t)used};
        left->high = right->low;
        integrate_outer_panel(plan, left, scratch);
        integrate_outer_panel(plan, right, scratch);
        used++;
    }
}

/* The same of one line, which is all there is. */
static double integrate_alone(const nested_plan *plan)
{
    stair_worker *w = plan->w;
    double error = integrate_line(plan, 0, &w->total);
    stair_integrand_flush(&w->f);
    return error / (w->total.sum[0] * exp(w->total.top - plan->top));
}

/* With noise on y only where there is enough of it for the errors to be what they are said to be. */
static bool fits(const stair_integrand *f, bool forced)
{
    (void)forced;
    bool line = f->dim == 1 && f->structure->broken;
    return stair_rule_euclidean(f) && (f->dim == 2 || line) && stair_rule_noise(f) >= tuning.noise;
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    stair_integrand *f = &w->f;
    stair_channel_options goal = *options;
    nested_plan plan = {.budget = f->visited + options->max_nodes};
    if (!w->panels) w->panels = malloc(sizeof(double) * (size_t)f->count * (OUTER_MOST + 1 + NULLS + EDGES));
    if (!w->panels) return result;
    do {
        plan.cutoff = goal.cutoff - log(goal.precision) + tuning.beyond;
        stair_modes_find(f, plan.cutoff, &w->modes); /* a mode that is dropped would be stepped over */
        if (!w->modes.count) break;
        stair_rule_origin(w);
        set_plan(w, &goal, &plan);
        if (f->dim == 2) find_lasting_breaks(&plan);
        double error =
            f->dim == 1 ? integrate_alone(&plan) : integrate(&plan, 0.5 * goal.precision, w->panels);
        stair_moments_finish(f, &w->total, out);
        result.error =
            error * stair_posterior_sensitivity(f, out) + stair_posterior_truncation(f, out, plan.cutoff);
    } while (!stair_rule_accept(f, options, out, &goal, &result));
    return result;
}

const stair_channel_rule stair_rule_nested = {
    .name = "nested", .number = STAIR_RULE_NESTED, .fits = fits, .evaluate = evaluate};
