/* The rule: levels of channel/lines.h at ever finer steps until they agree, one copy of the formula at a
 * time.
 *
 *   no outer level      exact
 *   one or two          equidistant steps, then their halves; where these differ by more than was asked for,
 *                       adaptive panels of ever smaller tolerance.  The last change is the error
 *   three and more      randomly shifted lattices through the Gaussian: the spread of eight shifts is the
 * error
 */
#include "channel/lines.h"

#include <math.h>
#include <string.h>

#include "core/qmc.h"
#include "core/rng.h"

static const struct {
    double radius;                           /* standard deviations that outer levels cover, */
    double edge;                             /* at least so many beyond the mean of what is found, */
    double most_radius;                      /* and never more */
    int passes;                              /* two with equidistant steps, the others adaptive, */
    int nested_passes;                       /* as many with two outer levels, */
    double first_tolerance, least_tolerance; /* of those */
    double fold;                             /* relative error of moments next to a fold */
    int points;                              /* or points of a shift to begin with, */
    int doublings;                           /* and how often they are doubled */
    double noise;                            /* error of the noisy level, by its panels */
    int noisy_cells; /* with noise on y: cells up to which this is better than sampling all of Z */
} tuning = {.radius = 8,
            .edge = 6,
            .most_radius = 60,
            .passes = 6,
            .nested_passes = 4,
            .first_tolerance = 1e-4,
            .least_tolerance = 1e-13,
            .fold = 3e-8,
            .points = 128,
            .doublings = 6,
            .noise = 1e-9,
            .noisy_cells = 3};

static bool fits(const stair_integrand *f, bool forced)
{
    const stair_model *model = f->fibre.model;
    if (!model->ops->program) return false;
    const stair_formula *formula = model->ops->program(model);
    (void)forced;
    return !model->info.output_noisy || formula->flat || formula->program.cells <= tuning.noisy_cells;
}

/* g and dg of copy t: L^-T E[x] and L^-T (Cov x - 1) L^-1. */
static void finish(const stair_lines *s, int t, const stair_leaf_sums *sums, int size, stair_posterior *out)
{
    enum { MOST = STAIR_FORMULA_CELLS };
    int n = s->n, place[MOST];
    double mean[MOST], cov[MOST * MOST];
    for (int a = 0; a < n; a++) {
        place[a] = stair_formula_cell(s->model, s->formula, t, s->cell[a]);
        mean[a] = sums->first[a] / sums->mass;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++)
            cov[a * n + b] = cov[b * n + a] =
                sums->second[a * n + b] / sums->mass - mean[a] * mean[b] - (a == b);
    for (int a = 0; a < n; a++) {
        double g = 0;
        for (int k = a; k < n; k++) g += s->inverse[k * n + a] * mean[k];
        out->g[place[a]] = g;
        for (int b = 0; b < n; b++) {
            double sum = 0;
            for (int k = a; k < n; k++)
                for (int l = b; l < n; l++)
                    sum += s->inverse[k * n + a] * cov[k * n + l] * s->inverse[l * n + b];
            out->dg[(size_t)place[a] * (size_t)size + (size_t)place[b]] = sum;
        }
    }
    out->logz += sums->top + log(sums->mass);
}

static void clear(const stair_integrand *f, stair_posterior *out)
{
    size_t size = (size_t)f->size;
    out->logz = 0;
    memset(out->g, 0, size * sizeof(double));
    memset(out->dg, 0, size * size * sizeof(double));
}

static stair_status refuse(stair_worker *w, const stair_lines *s)
{
    if (s->singular)
        return stair_fail(w->context, STAIR_BAD_INPUT,
                          "label %g has an infinite density; were labels rounded?", s->label[0]);
    if (s->full)
        return stair_fail(w->context, STAIR_UNSUPPORTED,
                          "the set of Z with label %g was not resolved along a line: more than %d pieces",
                          s->label[0], STAIR_LINE_MOST);
    return stair_fail(w->context, STAIR_BAD_INPUT, "label %g is none that the formula gives", s->label[0]);
}

/* Whether outer levels reach far enough beyond what was found; if not s->radius is raised. */
static bool covers(stair_lines *s)
{
    double most = 0;
    for (int a = 0; a < s->n; a++) {
        if (s->kind[a] != STAIR_LEVEL_OUTER) continue;
        double mean = s->sums.first[a] / s->sums.mass,
               variance = s->sums.second[a * (s->n + 1)] / s->sums.mass - mean * mean;
        most = fmax(most, fabs(mean) + tuning.edge * sqrt(fmax(0, variance)));
    }
    if (most <= s->radius || s->radius >= tuning.most_radius) return true;
    s->radius = fmin(tuning.most_radius, most + 2);
    return false;
}

/* The coordinates of a plan: x = inverse (Z - omega) of its cells. */
typedef struct {
    int n, cell[STAIR_FORMULA_CELLS];
    double inverse[STAIR_FORMULA_CELLS * STAIR_FORMULA_CELLS];
} frame;

static frame frame_of(const stair_lines *s)
{
    frame f = {.n = s->n};
    memcpy(f.cell, s->cell, sizeof f.cell);
    memcpy(f.inverse, s->inverse, sizeof f.inverse);
    return f;
}

/* Sums in the coordinates of the plan that s has now to those of another. */
static void change_frame(const stair_lines *s, const frame *to, stair_leaf_sums *sums)
{
    enum { MOST = STAIR_FORMULA_CELLS };
    int n = s->n;
    double t[MOST * MOST] = {0}, half[MOST * MOST] = {0}, first[MOST] = {0};
    for (int a = 0; a < n; a++) /* t = inverse of the one, times lower of the other */
        for (int b = 0; b < n; b++)
            for (int k = 0; k < n; k++)
                for (int l = b; l < n; l++)
                    if (s->cell[l] == to->cell[k])
                        t[a * n + b] += to->inverse[a * n + k] * s->lower[l * n + b];
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            first[a] += t[a * n + b] * sums->first[b];
            for (int k = 0; k < n; k++)
                half[a * n + k] += t[a * n + b] * sums->second[b >= k ? b * n + k : k * n + b];
        }
    memcpy(sums->first, first, sizeof(double) * (size_t)n);
    memset(sums->second, 0, sizeof(double) * (size_t)(n * n));
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++)
            for (int k = 0; k < n; k++) sums->second[a * n + b] += half[a * n + k] * t[b * n + k];
}

/* The levels of one plan, as far out as it takes; what was open before is in s->open. */
static void run_plan(stair_lines *s, int fine)
{
    double open = s->open;
    s->fine = fine;
    s->radius = tuning.radius;
    do {
        stair_leaf_clear(&s->sums);
        s->open = open;
        stair_lines_run(s);
        if (!(s->sums.mass > 0) && s->outers && s->radius < tuning.most_radius) {
            s->radius = tuning.most_radius; /* far out in the tails */
            stair_lines_run(s);
        }
    } while (s->outers && s->sums.mass > 0 && !covers(s));
}

/* All copies at one fineness. */
static stair_status nested(stair_worker *w, stair_lines *s, int fine, stair_posterior *out)
{
    const stair_integrand *f = &w->f;
    clear(f, out);
    s->open = 0;
    for (int t = 0; t < s->formula->copies; t++) {
        s->still = 0;
        STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
        s->singular = s->full = false;
        run_plan(s, fine);
        if (stair_lines_other(s)) {
            frame first = frame_of(s);
            stair_leaf_sums all = s->sums;
            do {
                STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
                run_plan(s, fine);
                change_frame(s, &first, &s->sums);
                stair_leaf_merge(s->n, &all, &s->sums);
            } while (stair_lines_other(s));
            s->still = 0;
            STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
            s->sums = all;
        }
        if (!(s->sums.mass > 0) || (s->singular && !s->sums.atoms)) return refuse(w, s);
        finish(s, t, &s->sums, f->size, out);
    }
    return STAIR_OK;
}

static stair_status by_passes(stair_worker *w, stair_lines *s, const stair_channel_options *options,
                              stair_posterior *out, double *error)
{
    s->tolerance = tuning.first_tolerance;
    s->folded = false;
    STAIR_TRY(nested(w, s, 0, out));
    *error = s->full ? INFINITY : 0;
    if (!s->outers) return STAIR_OK;
    for (int pass = 1; pass < (s->outers > 1 ? tuning.nested_passes : tuning.passes); pass++) {
        stair_posterior_copy(&w->f, out, &w->first);
        STAIR_TRY(nested(w, s, pass, out));
        /* a smaller tolerance may find nothing to halve: then halves tell what is open */
        *error = fmax(stair_posterior_distance(&w->f, out, &w->first),
                      s->open * stair_posterior_sensitivity(&w->f, out));
        if (s->full) *error = INFINITY;
        double fold = s->folded ? tuning.fold * stair_posterior_sensitivity(&w->f, out) : 0;
        bool enough = *error <= fmax(options->precision, fold); /* no pass gets below */
        *error += fold;
        if (enough) return STAIR_OK;
        if (pass >= 2)
            s->tolerance =
                fmax(tuning.least_tolerance, fmin(1e-2, options->precision / *error) * s->tolerance);
    }
    return STAIR_OK;
}

/* Points from `from` to `to` of every shift of copy t. */
static void add_points(stair_worker *w, stair_lines *s, uint64_t seed, int t, uint64_t count,
                       stair_leaf_sums *sums)
{
    double x[STAIR_FORMULA_CELLS], u[STAIR_FORMULA_CELLS], shift[STAIR_FORMULA_CELLS];
    for (int r = 0; r < STAIR_LINES_SHIFTS; r++) {
        stair_rng_uniforms(seed, STAIR_RNG_SHIFT,
                           (w->sample * STAIR_LINES_SHIFTS + (uint64_t)r) * STAIR_MAX_TOKENS + (uint64_t)t,
                           s->outers, shift);
        stair_leaf_clear(&s->sums);
        for (uint64_t i = 0; i < count; i++) {
            stair_qmc_point(s->outers, count, i, shift, u);
            for (int k = 0; k < s->outers; k++) x[k] = stair_qmc_normal(u[k]);
            stair_lines_run_at(s, x, -log((double)count));
        }
        sums[r] = s->sums;
    }
}

/* Spread of the shifts of one copy, twice the standard error, relative as stair_posterior_distance(). */
static stair_status by_shifts(stair_worker *w, stair_lines *s, const stair_channel_options *options,
                              uint64_t count, stair_posterior *out, double *error)
{
    const stair_integrand *f = &w->f;
    stair_leaf_sums sums[STAIR_LINES_SHIFTS], all;
    *error = 0;
    clear(f, out);
    clear(f, &w->half[0]);
    clear(f, &w->half[1]);
    for (int t = 0; t < s->formula->copies; t++) {
        s->still = 0;
        STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
        s->singular = s->full = false;
        add_points(w, s, options->seed, t, count, sums);
        frame first = frame_of(s);
        while (stair_lines_other(s)) {
            stair_leaf_sums more[STAIR_LINES_SHIFTS];
            STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
            add_points(w, s, options->seed, t, count, more);
            for (int r = 0; r < STAIR_LINES_SHIFTS; r++) {
                change_frame(s, &first, &more[r]);
                stair_leaf_merge(s->n, &sums[r], &more[r]);
            }
        }
        s->still = 0;
        STAIR_TRY(stair_lines_plan(w->context, s, t, w->label, f->mean, f->variance));
        stair_leaf_clear(&all);
        for (int r = 0; r < STAIR_LINES_SHIFTS; r++) stair_leaf_merge(s->n, &all, &sums[r]);
        if (!(all.mass > 0)) return refuse(w, s);
        double square = 0;
        clear(f, &w->second);
        finish(s, t, &all, f->size, &w->second);
        for (int r = 0; r < STAIR_LINES_SHIFTS; r++) {
            clear(f, &w->first);
            if (!(sums[r].mass > 0)) {
                square = INFINITY;
                continue;
            }
            finish(s, t, &sums[r], f->size, &w->first);
            w->first.logz += log(STAIR_LINES_SHIFTS);
            double away = stair_posterior_distance(f, &w->first, &w->second);
            square += away * away;
        }
        *error += 2 * sqrt(square / (STAIR_LINES_SHIFTS * (STAIR_LINES_SHIFTS - 1)));
        finish(s, t, &all, f->size, out);
        out->logz -= log(STAIR_LINES_SHIFTS);
        for (int h = 0; h < 2; h++) {
            stair_leaf_clear(&all);
            for (int r = h; r < STAIR_LINES_SHIFTS; r += 2) stair_leaf_merge(s->n, &all, &sums[r]);
            if (!(all.mass > 0)) return refuse(w, s);
            finish(s, t, &all, f->size, &w->half[h]);
            w->half[h].logz -= log(STAIR_LINES_SHIFTS / 2);
        }
    }
    w->halved = true;
    return STAIR_OK;
}

static stair_status by_lattices(stair_worker *w, stair_lines *s, const stair_channel_options *options,
                                stair_posterior *out, double *error)
{
    double wanted = fmax(options->precision, options->noise);
    for (int k = 0; k < tuning.doublings; k++) {
        STAIR_TRY(by_shifts(w, s, options, (uint64_t)tuning.points << k, out, error));
        if (*error <= wanted) break;
    }
    return STAIR_OK;
}

static stair_status integrate(stair_worker *w, const stair_channel_options *options, stair_posterior *out,
                              double *error)
{
    if (!w->lines) STAIR_TRY(stair_lines_create(w->context, w->f.fibre.model, &w->lines));
    stair_lines *s = w->lines;
    s->visited = 0;
    s->still = 0;
    STAIR_TRY(stair_lines_plan(w->context, s, 0, w->label, w->f.mean, w->f.variance));
    stair_status status = (s->outers < 3 ? by_passes : by_lattices)(w, s, options, out, error);
    w->f.visited += s->visited;
    if (s->noise > 0 && !s->formula->flat) *error += tuning.noise;
    return status;
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {0};
    result.status = integrate(w, options, out, &result.error);
    if (result.status != STAIR_OK) return result;
    result.converged = result.error <= options->precision;
    result.error += stair_integrand_rounding(&w->f) * stair_posterior_sensitivity(&w->f, out);
    return result;
}

const stair_channel_rule stair_rule_lines = {
    .name = "lines", .number = STAIR_RULE_LINES, .fits = fits, .evaluate = evaluate, .cost = 6};
