/* The density of y = f(z) is smooth but at values of f where its level sets change their shape: at critical
 * points, grad f = 0, also of f restricted to coordinates z_c next to one of its bends and jumps (at either
 * side), and at the values it tends to far out.
 *
 * Critical points are found by Newton's method from random Z, with the Hessian by differences of the
 * gradient.  Of many cells only the corners next to Z = 0 are looked at. */
#include "average/label_places.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"

#define CUTS 8 /* bends and jumps of one cell that are looked at */

static const struct {
    int cells;        /* up to which critical points are looked for */
    int starts;       /* random Z for each choice of fixed coordinates, */
    double spread;    /* of so many standard deviations */
    int steps;        /* of Newton's method, */
    double most;      /* each at most that long in every coordinate */
    double closed;    /* steps shorter than that are the last */
    double by;        /* difference for second derivatives */
    double next_to;   /* distance from a bend or jump */
    int most_corners; /* choices of fixed coordinates, at most */
} tuning = {.cells = 3,
            .starts = 12,
            .spread = 2,
            .steps = 40,
            .most = 0.7,
            .closed = 1e-9,
            .by = 1e-5,
            .next_to = 1e-11,
            .most_corners = 400};

void stair_label_insert(double at, double same, int most, int *count, double *list)
{
    int k = *count;
    for (int i = 0; i < *count; i++)
        if (fabs(list[i] - at) <= same * (1 + fabs(at))) return;
    if (*count == most || !isfinite(at)) return;
    for (; k > 0 && list[k - 1] > at; k--) list[k] = list[k - 1];
    list[k] = at;
    ++*count;
}

typedef struct {
    const stair_program *program;
    double wide, same, low, high;
    int *count;
    double *place;
    int cuts[STAIR_FORMULA_CELLS];
    double cut[STAIR_FORMULA_CELLS][CUTS];
} search;

static double value_at(const search *s, const double *z, double *slope)
{
    double value[STAIR_MOST_NODES], one = 1;
    stair_program_values(s->program, z, value);
    if (slope) stair_program_gradient(s->program, value, &one, slope);
    return value[s->program->output[0]];
}

static void keep(const search *s, const double *z)
{
    double y = value_at(s, z, NULL);
    if (y > s->low && y < s->high) stair_label_insert(y, s->same, STAIR_LABEL_PLACES, s->count, s->place);
}

/* x = a^-1 b by elimination, n <= 3; false where a is singular. */
static bool solve(int n, double *a, double *b)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        if (!(fabs(a[best * n + k]) > 1e-12)) return false;
        for (int j = 0; j < n && best != k; j++) {
            double kept = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = kept;
        }
        double kept = b[k];
        b[k] = b[best];
        b[best] = kept;
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

/* From z to a critical point in the free cells; whether there is one inside. */
static bool climb(const search *s, int n, const int *cell, double *z)
{
    double slope[STAIR_FORMULA_CELLS], more[STAIR_FORMULA_CELLS], less[STAIR_FORMULA_CELLS], hessian[9],
        step[3];
    for (int k = 0; k < tuning.steps; k++) {
        value_at(s, z, slope);
        for (int j = 0; j < n; j++) {
            double at = z[cell[j]];
            z[cell[j]] = at + tuning.by;
            value_at(s, z, more);
            z[cell[j]] = at - tuning.by;
            value_at(s, z, less);
            z[cell[j]] = at;
            step[j] = slope[cell[j]];
            for (int i = 0; i < n; i++)
                hessian[i * n + j] = (more[cell[i]] - less[cell[i]]) / (2 * tuning.by);
        }
        if (!solve(n, hessian, step)) return false;
        double longest = 0;
        for (int j = 0; j < n; j++) {
            double move = fmax(-tuning.most, fmin(tuning.most, step[j]));
            if (!isfinite(move) || fabs(z[cell[j]] - move) > s->wide) return false;
            z[cell[j]] -= move;
            longest = fmax(longest, fabs(move));
        }
        if (longest < tuning.closed) return true;
    }
    return false;
}

/* Critical points with all other cells where they are. */
static void look_from(const search *s, int n, const int *cell, double *z)
{
    double start[STAIR_FORMULA_CELLS], fixed[STAIR_FORMULA_CELLS];
    memcpy(fixed, z, sizeof fixed);
    for (int k = 0; k < tuning.starts * n; k++) {
        stair_rng_normals(13, STAIR_RNG_POINTS, (uint64_t)k, n, start);
        memcpy(z, fixed, sizeof fixed);
        for (int j = 0; j < n; j++) z[cell[j]] = tuning.spread * start[j];
        if (climb(s, n, cell, z)) keep(s, z);
    }
    memcpy(z, fixed, sizeof fixed);
}

/* Cell c free, or next to each of its cuts; then the cells after it. */
static void choose(const search *s, int c, int n, int *cell, int *left, double *z)
{
    int cells = s->program->cells;
    bool many = cells > tuning.cells;
    if (*left <= 0) return;
    if (c == cells) {
        --*left;
        if (n)
            look_from(s, n, cell, z);
        else
            keep(s, z);
        return;
    }
    if (!many) {
        cell[n] = c;
        choose(s, c + 1, n + 1, cell, left, z);
    }
    for (int k = 0; k < (many ? 1 : s->cuts[c]); k++)
        for (int side = -1; side <= 1; side += 2) {
            z[c] = (many ? 0 : s->cut[c][k]) + side * tuning.next_to;
            choose(s, c + 1, n, cell, left, z);
        }
}

static void find_cuts(search *s)
{
    for (int c = 0; c < s->program->cells; c++) {
        double cut[CUTS] = {0};
        int found = stair_program_cuts(s->program, c, -s->wide, s->wide, CUTS - 1, cut), at = 0;
        s->cuts[c] = 0;
        for (; at < found; at++) stair_label_insert(cut[at], s->same, CUTS, &s->cuts[c], s->cut[c]);
        stair_label_insert(0, s->same, CUTS, &s->cuts[c], s->cut[c]);
    }
}

void stair_label_places(const stair_program *program, double wide, double same, double low, double high,
                        int *count, double *place)
{
    search s = {.program = program,
                .wide = wide,
                .same = same,
                .low = low,
                .high = high,
                .count = count,
                .place = place};
    double z[STAIR_FORMULA_CELLS] = {0};
    int cell[STAIR_FORMULA_CELLS], left = tuning.most_corners;
    find_cuts(&s);
    choose(&s, 0, 0, cell, &left, z);
    for (int i = 0; i < 1 << program->cells; i++) {
        for (int c = 0; c < program->cells; c++) z[c] = i >> c & 1 ? wide : -wide;
        keep(&s, z);
    }
}
