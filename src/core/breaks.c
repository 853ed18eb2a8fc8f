/* Kinks and jumps of y(x), from values of y alone.
 *
 * Where y is analytic, differences at ever shorter steps h fall like a power of h: fourth ones like h^4,
 * second ones less their trend like h^3.  At a kink both fall like h, at a jump not at all.  So fourth
 * differences of a coarse look tell which intervals to look at, finer ones which of those stay suspect, and
 * second ones lead to the place: by halves, until lines from both sides of a kink meet, or a jump is between
 * two neighbours. What is left on both sides is searched in turn.
 *
 * Two breaks between two neighbours of the first look that undo each other are not seen. */
#include "core/breaks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINE = 9, TRIAL = 6, DEPTH = 12 };

static const struct {
    double falls;  /* fourth differences of a four times finer look: 1/256 where smooth, 1/4 of a kink times
                      up to 3 for its place within a step */
    double smooth; /* second ones after TRIAL halves: 1/4096 where smooth, 1/64 of a kink, half or twice, */
    double jump;   /* and 1 of a jump; 1/8 of a square root */
    double kink;   /* step at which lines from both sides of a kink meet: their error is its square, */
    double least;  /* and the least, where they do not: what is left of an integral is the square again */
    double aside;  /* part of an interval around a kink, or a root, that is not searched again */
    double over; /* part of a step by which searches reach over their ends, where a kink would show in none */
    double rounding; /* of a fourth difference, of the largest value */
} tuning = {.falls = 1.0 / 32,
            .smooth = 1.0 / 512,
            .jump = 1.0 / 6,
            .kink = 1e-5,
            .least = 1e-8,
            .aside = 1e-3,
            .over = 0.07,
            .rounding = 64 * DBL_EPSILON};

typedef struct {
    const stair_values *curve;
    double span; /* of the first look: what steps are short against */
    double *place;
    int count;
} search;

static double value_at(const search *s, double x)
{
    double y;
    s->curve->values(s->curve->user, 1, &x, &y);
    return y;
}

static double second(const double *y)
{
    return y[0] - 2 * y[1] + y[2];
}

/* |fourth difference|; 0 where it is within what the caller is content with. */
static double fourth(const search *s, const double *y)
{
    double size = 0, difference = fabs(y[0] - 4 * y[1] + 6 * y[2] - 4 * y[3] + y[4]);
    for (int i = 0; i < 5; i++) size = fmax(size, fabs(y[i]));
    return difference > s->curve->tolerance + tuning.rounding * size ? difference : 0;
}

/* The jump between a and b, between neighbours or nearly so: the half that changes more. */
static double bisect(const search *s, double a, double at_a, double b, double at_b)
{
    while (b - a > 4 * DBL_EPSILON * fmax(fabs(a), fabs(b)) && b - a > DBL_EPSILON * s->span) {
        double middle = 0.5 * (a + b), here = value_at(s, middle);
        bool left = fabs(here - at_a) > fabs(at_b - here);
        *(left ? &b : &a) = middle;
        *(left ? &at_b : &at_a) = here;
    }
    return 0.5 * (a + b);
}

/* Where lines through the two outer places on either side of five meet; false if not between them. */
static bool meet(const search *s, const double *y, double x, double h, double *place)
{
    double left = y[0] - value_at(s, x - h), right = value_at(s, x + 5 * h) - y[4];
    *place = (y[4] - 4 * right - y[0]) / (left - right); /* in steps from x */
    bool between = *place > 0 && *place < 4;
    *place = x + h * *place;
    return between;
}

/* The break among five values at x + i h, less whose trend second differences stand out; false where they
 * fall as they do of smooth functions. */
static bool locate(const search *s, double *y, double x, double h, double trend, double *place, bool *jumps)
{
    double first = 0;
    *jumps = false;
    for (int halved = 0;; halved++) {
        double most = -1, wide[5];
        int at = 0;
        for (int k = 0; k < 3; k++)
            if (fabs(second(y + k) - trend) > most) {
                most = fabs(second(y + k) - trend);
                at = k;
            }
        if (halved == 0) first = most;
        if (!(most > 0)) return false;
        if (halved && halved % TRIAL == 0) {
            if (most < tuning.smooth * first) return false;
            *jumps = most > tuning.jump * first;
            first = most;
        }
        if (*jumps) {
            int cell = at;
            for (int k = at; k < at + 2; k++)
                if (fabs(y[k + 1] - y[k]) > fabs(y[cell + 1] - y[cell])) cell = k;
            *place = bisect(s, x + cell * h, y[cell], x + (cell + 1) * h, y[cell + 1]);
            return true;
        }
        if (halved >= 2 * TRIAL && h <= tuning.kink * s->span && meet(s, y, x, h, place)) return true;
        if (h <= tuning.least * s->span) {
            *place = x + (at + 1) * h;
            return true;
        }
        double between[2] = {x + (at + 0.5) * h, x + (at + 1.5) * h}, found[2];
        s->curve->values(s->curve->user, 2, between, found);
        for (int k = 0; k < 3; k++) wide[2 * k] = y[at + k];
        for (int k = 0; k < 2; k++) wide[2 * k + 1] = found[k];
        memcpy(y, wide, sizeof wide);
        x += at * h;
        h *= 0.5;
        trend *= 0.25;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The middle one of the second differences of a fine look: a break touches two of them. */
static double trend_of(const double *y)
{
    double bend[FINE - 2];
    for (int k = 0; k < FINE - 2; k++) bend[k] = second(y + k);
    qsort(bend, FINE - 2, sizeof *bend, compare);
    return bend[(FINE - 2) / 2];
}

/* Breaks between a and b, where fourth differences of a coarser look were `before`. */
static void look_between(search *s, double a, double b, double before, int depth)
{
    double x[FINE], y[FINE], h = (b - a) / (FINE - 1), most = 0, place, window[5];
    int at = 0;
    if (s->count == STAIR_MOST_BREAKS || depth == DEPTH || !(b - a > tuning.least * s->span)) return;
    for (int i = 0; i < FINE; i++) x[i] = i + 1 < FINE ? a + i * h : b;
    s->curve->values(s->curve->user, FINE, x, y);
    for (int k = 0; k + 4 < FINE; k++)
        if (fourth(s, y + k) > most) {
            most = fourth(s, y + k);
            at = k;
        }
    if (!(most > tuning.falls * before)) return;
    memcpy(window, y + at, sizeof window);
    bool jumps;
    if (!locate(s, window, x[at], h, trend_of(y), &place, &jumps)) return;
    s->place[s->count++] = place;
    double aside = jumps ? tuning.least * s->span : tuning.aside * (b - a);
    look_between(s, a, place - aside, 0, depth + 1);
    look_between(s, place + aside, b, 0, depth + 1);
}

int stair_breaks_find(const stair_values *curve, int n, double low, double step, const double *y,
                      const bool *skip, double *place)
{
    search s = {.curve = curve, .span = (n - 1) * step, .place = place};
    double suspect[STAIR_BREAKS_SCAN] = {0}; /* intervals */
    for (int i = 0; i + 4 < n; i++)
        for (int k = i; k < i + 4; k++) suspect[k] = fmax(suspect[k], fourth(&s, y + i));
    for (int i = 0, many; i + 1 < n; i += many) {
        many = 1;
        if (!(suspect[i] > 0) || (skip && skip[i])) continue;
        if (i + 2 < n && suspect[i + 1] > 0 && !(skip && skip[i + 1])) many = 2;
        look_between(&s, low + (i - tuning.over) * step, low + (i + many + tuning.over) * step,
                     fmax(suspect[i], suspect[i + many - 1]), 0);
    }
    qsort(place, (size_t)s.count, sizeof *place, compare);
    int kept = 0;
    if (s.count == STAIR_MOST_BREAKS) return s.count;
    for (int i = 0; i < s.count; i++)
        if (!kept || place[i] > place[kept - 1] + 2 * tuning.least * s.span) place[kept++] = place[i];
    return kept;
}
