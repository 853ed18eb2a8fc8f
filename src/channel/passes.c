/* How steps shrink from pass to pass, and what the error of the last one is. */
#include "channel/passes.h"

#include <math.h>
#include <string.h>

static const struct {
    double deficit; /* first guess how far the largest exponent is below zero */
    double least;   /* ratio of the steps of two passes, */
    double most; /* and the most: of two lattices, where the number of nodes grows with its fourth power, */
    double most_one;   /* and of one */
    double trust;      /* of what is allowed: a likely error this small is checked by a coarser pass */
    double spare;      /* of what is allowed that the next pass aims at */
    double by_halves;  /* error of one pass, by the difference of its halves, */
    double by_odd;     /* and the squares of those of even and odd nodes of each lattice */
    double likely;     /* part of the difference of halves that is the usual error of two lattices */
    double rough;      /* most of an error that is left by the next pass */
    double lesser;     /* a lattice that much better than the other is refined no more than it must */
    double cut;        /* of the worst case that lattices leave out beyond the cutoff */
    double left;       /* times exp(-cutoff) of the precision, for that: 0.3 by default */
    double coarse;     /* precision beyond which no more is left out */
    double worst;      /* sensitivity that the first cutoff allows for */
    double nine;       /* error of an exponent for each unit of the offset, where a map has nine digits, */
    double nine_share; /* and the part of the precision that it may take */
} tuning = {.deficit = 6,
            .least = 1.2,
            .most = 1.6,
            .most_one = 1.6,
            .trust = 3,
            .spare = 0.8,
            .by_halves = 0.5,
            .by_odd = 0.1,
            .likely = 0.15,
            .rough = 0.9,
            .lesser = 0.4,
            .cut = 0.6,
            .left = 27,
            .coarse = 3e-3,
            .worst = 4,
            .nine = 1e-9,
            .nine_share = 0.02};

double stair_passes_left(const stair_passes *p, double energy)
{
    return p->cutoff + energy - fmax(p->top, p->floor);
}

/* What follows from moments of Z, two tokens, counted from zero: by way of those of x = L^{-1} (Z - omega).
 */
static void finish(stair_integrand *f, const stair_moments *z, double log_cell, stair_posterior *out)
{
    enum { SIZE = 6 };
    const int size = f->size, rows = f->shape.rows;
    double mean[SIZE], x[SIZE], half[SIZE][SIZE], sums[STAIR_PASS_COUNT] = {1};
    const double *second = z->sum + 1 + size, *w = f->whiten;
    for (int i = 0; i < size; i++) mean[i] = z->sum[1 + i] / z->sum[0];
    for (int i = 0; i < size; i++) {
        x[i] = -f->offset[i];
        for (int p = 0; p <= i / 2; p++) x[i] += w[(i / 2) * rows + p] * mean[2 * p + i % 2];
        for (int j = 0; j < size; j++) {
            half[i][j] = 0;
            for (int p = 0; p <= i / 2; p++) {
                int k = 2 * p + i % 2, high = k > j ? k : j, low = k > j ? j : k;
                half[i][j] += w[(i / 2) * rows + p] *
                              (second[high * (high + 1) / 2 + low] / z->sum[0] - mean[k] * mean[j]);
            }
        }
    }
    for (int i = 0, k = 1 + size; i < size; i++) {
        sums[1 + i] = x[i];
        for (int j = 0; j <= i; j++, k++) {
            sums[k] = x[i] * x[j];
            for (int p = 0; p <= j / 2; p++) sums[k] += half[i][2 * p + j % 2] * w[(j / 2) * rows + p];
        }
    }
    stair_moments_finish(f, &(stair_moments){.top = z->top + log(z->sum[0]) + log_cell, .sum = sums}, out);
}

/* One pass over all that is visible. */
static bool pass_over(stair_passes *p)
{
    for (;; p->floor = p->top - 1) {
        p->top = -1e300;
        for (int k = 0; k < STAIR_PARTS; k++) stair_moments_clear(&p->w->f, &p->part[k]);
        if (!p->sum(p)) return false;
        if (p->top >= p->floor) break;
    }
    p->floor = p->top - 1; /* the next pass will not be far from this */
    return true;
}

static void posterior_of(const stair_passes *p, unsigned set, double share, stair_posterior *out)
{
    stair_integrand *f = &p->w->f;
    stair_moments_clear(f, &p->w->total);
    for (int k = 0; k < STAIR_PARTS; k++)
        if (set >> k & 1) stair_moments_merge(f, &p->w->total, &p->part[k], 0);
    finish(f, &p->w->total, log(p->cell / share), out);
}

/* How far the posteriors of the two halves of all nodes are apart that the bits of `kinds` tell apart: twice
 * as far as one of them is from all. */
static double difference(const stair_passes *p, int kinds, const stair_posterior *all)
{
    stair_worker *w = p->w;
    unsigned set = 0;
    for (int k = 0; k < STAIR_PARTS; k++)
        set |= (unsigned)(__builtin_popcount((unsigned)(k & kinds)) & 1) << k;
    posterior_of(p, set, 0.5, &w->first);
    return 2 * stair_posterior_distance(&w->f, all, &w->first);
}

/* What is known of the aliases of a pass. */
typedef struct {
    double halves; /* how far apart integer and half-integer nodes are, */
    double odd[2]; /* and even and odd ones of either lattice */
} pass_view;

/* The posterior of a pass, in `out`, and what there is to be seen of its aliases. */
static pass_view look_at(const stair_passes *p, stair_posterior *out)
{
    static const int odd[2] = {STAIR_HEAD_ODD, STAIR_TAIL_ODD};
    posterior_of(p, ~0u, 1, out);
    pass_view view = {.halves = difference(p, STAIR_HALVES, out)};
    for (int k = 0; k < p->lattices && p->lattices > 1; k++)
        view.odd[k] = fmax(difference(p, odd[k], out), difference(p, odd[k] | STAIR_HALVES, out));
    return view;
}

/* The alias of one pass: a bound of what was seen, several times what is usual. */
static double alias_at_once(const pass_view *view)
{
    return tuning.by_halves * view->halves +
           tuning.by_odd * (view->odd[0] * view->odd[0] + view->odd[1] * view->odd[1]);
}

/* A likely error of one pass.  In two dimensions the dual vectors that are left are sqrt 2 longer than those
 * of the halves; in four some of them couple head and tail, and fall off no faster. */
static double likely_at_once(const stair_passes *p, const pass_view *view)
{
    return p->lattices == 1 ? pow(view->halves, M_SQRT2) : tuning.likely * view->halves;
}

/* The error e^ratio at a step that is `ratio` times shorter than one where it was e, from the change e -
 * e^ratio. */
static double error_after(double change, double ratio)
{
    double before = change;
    for (int k = 0; k < 6; k++) before = change + pow(fmin(before, 1), ratio);
    return pow(fmin(before, 1), ratio);
}

/* The alias of a pass by the change from the one before.  That change is the error of the former, and an
 * error falls at least like exp(-const / step) if the integrand is analytic: that of the latter is the change
 * to the power of the ratio of the steps.  The lattice whose nodes differ less has the smaller part of it.
 * Where layers switch within a step nothing falls so fast yet: hence the part that is left of the difference
 * of halves. */
static double alias_by_change(double change, const pass_view *before, const pass_view *view, int lattices,
                              const double *ratio)
{
    double most = fmax(before->odd[0], before->odd[1]),
           rest = fmin(view->halves / before->halves, tuning.rough), share[2] = {1, 1};
    for (int k = 0; k < lattices && lattices > 1; k++) share[k] = sqrt(before->odd[k] / most);
    double alias = change * rest / (1 - rest);
    for (int k = 0; k < lattices; k++) alias = fmax(alias, error_after(change * share[k], ratio[k]));
    return alias;
}

/* Part of E[r^2] of a Gaussian where r^2 / 2 is beyond the cutoff. */
static double beyond(int lattices, double cutoff)
{
    return exp(-cutoff) * (1 + cutoff + (lattices == 2 ? 0.5 * cutoff * cutoff : 0));
}

static double cutoff_for(int lattices, double wanted)
{
    double cutoff = -log(wanted);
    for (int k = 0; k < 4; k++) cutoff += log(beyond(lattices, cutoff) / wanted);
    return cutoff;
}

static double largest_offset(const stair_integrand *f)
{
    double largest = 1;
    for (int i = 0; i < f->size; i++) largest = fmax(largest, fabs(f->offset[i]));
    return largest;
}

stair_digits stair_passes_digits(const stair_integrand *f, double precision)
{
    bool nine = tuning.nine * largest_offset(f) < tuning.nine_share * precision;
    return nine ? STAIR_NINE_DIGITS : STAIR_ALL_DIGITS;
}

/* Of short exps, and of an exponent that may have been a polynomial beginning with squares of the offset. */
static double rounding(const stair_integrand *f)
{
    double largest = largest_offset(f);
    return (f->digits == STAIR_NINE_DIGITS ? tuning.nine * largest : 0) + 1e-15 * largest * largest;
}

/* How much may be left out: it has a common sign, and would add up in averages over samples that are coarse
 * one by one. */
static double left_out(const stair_channel_options *options)
{
    return tuning.left * exp(-options->cutoff) * options->precision /
           (1 + options->precision / tuning.coarse);
}

/* Ratios by which the steps shrink for the next pass. */
static void choose_ratios(const stair_passes *p, const pass_view *view, double likely, double allowed,
                          double *ratio)
{
    double most = p->lattices == 1 ? tuning.most_one : tuning.most;
    double wanted =
        likely < 0.5 ? fmin(fmax(log(tuning.spare * allowed) / log(likely), tuning.least), most) : most;
    for (int k = 0; k < 2; k++)
        ratio[k] = view->odd[k] >= tuning.lesser * view->odd[1 - k] ? wanted : tuning.least;
}

double stair_passes_run(stair_passes *p, const stair_channel_options *options, stair_posterior *out)
{
    stair_worker *w = p->w;
    stair_integrand *f = &w->f;
    pass_view fine, coarse = {0};
    double error = INFINITY, ratio[2], left = left_out(options);
    bool checked = false;
    for (int k = 0; k < STAIR_PARTS; k++) p->part[k].sum = p->sums[k];
    p->floor = -tuning.deficit;
    p->cutoff = cutoff_for(p->lattices, left / (tuning.cut * tuning.worst));
    if (!pass_over(p)) return error;
    fine = look_at(p, out);
    double alias = p->lattices == 1 ? 1 : alias_at_once(&fine), likely = likely_at_once(p, &fine);
    for (int pass = 1;; pass++) {
        double sensitivity = stair_posterior_sensitivity(f, out);
        double truncation = sensitivity * (tuning.cut * beyond(p->lattices, p->cutoff) + rounding(f));
        double allowed = fmax(options->precision - truncation, truncation);
        error = alias + truncation;
        if (alias <= allowed && (truncation <= options->precision || pass > 1)) return error;
        if (!checked && likely <= tuning.trust * allowed &&
            truncation <= options->precision) { /* only a proof is missing */
            ratio[0] = ratio[1] = tuning.least;
            for (int k = 0; k < 2; k++) p->step[k] *= ratio[k];
            if (!pass_over(p)) return error;
            coarse = look_at(p, &w->coarse);
            for (int k = 0; k < 2; k++) p->step[k] /= ratio[k];
            checked = true;
        } else {
            p->cutoff = cutoff_for(p->lattices, left / (tuning.cut * sensitivity));
            choose_ratios(p, &fine, likely, allowed, ratio);
            for (int k = 0; k < 2; k++) p->step[k] /= ratio[k];
            if (!pass_over(p)) return error;
            stair_posterior_copy(f, out, &w->coarse);
            coarse = fine;
            fine = look_at(p, out);
        }
        likely = alias =
            alias_by_change(stair_posterior_distance(f, out, &w->coarse), &coarse, &fine, p->lattices, ratio);
        if (p->lattices > 1) alias = fmin(alias, alias_at_once(&fine));
    }
}
