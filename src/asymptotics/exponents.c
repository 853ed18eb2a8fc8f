/* Information and generative exponents of each index, and leaps.
 *
 *   c_a    = E[y h_a(Z)],   h_a = prod_c He_{a_c}(z_c) / sqrt(a_c!)         information
 *   s_a    = sum_b P(b) E[h_a(Z) | y in b]^2                                generative
 *
 * over standard normal Z and cells b of the label.  The exponent of index i is the least degree |a| of a
 * coefficient that is not zero and has a power of row i.  A leap is the least degree in rows that are not yet
 * known: those of the terms that reach it are known from then on.  Noise changes the size of coefficients,
 * never whether they are zero, and is left out.
 *
 * Shifted lattices, each point with all its changes of sign, so that coefficients which a symmetry of signs
 * forbids are zero to rounding; the error is the spread of shifts.  s_a is the product of two independent
 * estimates, so that nothing is added by noise.  Labels are seen through at most CELLS cells: s_a is a lower
 * bound.
 *
 * References: Ben Arous, Gheissari and Jagannath, JMLR 22 (2021); Abbe, Boix-Adsera and Misiakiewicz,
 * arXiv:2302.11055; Damian, Pillaud-Vivien, Lee and Bruna, arXiv:2403.05529. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/limits.h"
#include "core/qmc.h"
#include "core/ranks.h"
#include "core/rng.h"
#include "model/model.h"

#define MOST_DIM    8    /* numbers of Z: 2^8 changes of sign */
#define MOST_TERMS  3003 /* Hermite polynomials: degree 6 of eight numbers */
#define MOST_DEGREE 8    /* of them */
#define CELLS       64   /* of the label */
#define REPLICATES  32   /* shifts of the lattice, in pairs */
#define PILOT       4096 /* labels that cells are made of */

static const struct {
    double work;       /* additions in all */
    double least_size; /* a coefficient below is zero, */
    double sigmas;     /* or one within so many of its errors */
} tuning = {.work = 6e8, .least_size = 1e-9, .sigmas = 6};

typedef struct {
    int power[MOST_DIM], degree;
    unsigned odd, rows;
} term;

typedef struct {
    const stair_model *model;
    int p, m, n, labels, seen, cuts; /* seen: outputs that cells are made of, each with so many cuts */
    int cells, terms, degree;
    uint64_t points, seed;
    double cut[MOST_DIM][CELLS];
    term *list;
    double *share;   /* (REPLICATES, terms, cells): E[h 1(y in b)] */
    double *plain;   /* (REPLICATES, terms, labels) */
    double *weight;  /* (REPLICATES, cells): P(b) */
    double *scratch; /* (REPLICATES, terms) */
} survey;

/* ---- terms -------------------------------------------------------------------------------------- */

static bool add_terms(survey *s, int cell, int left, term *now)
{
    if (cell == s->n) {
        if (!now->degree) return true;
        if (s->terms == MOST_TERMS) return false;
        s->list[s->terms++] = *now;
        return true;
    }
    for (int power = 0; power <= left; power++) {
        term next = *now;
        next.power[cell] = power;
        next.degree += power;
        if (power & 1) next.odd |= 1u << cell;
        if (power) next.rows |= 1u << (cell / s->m);
        if (!add_terms(s, cell + 1, left - power, &next)) return false;
    }
    return true;
}

static void write_term(const survey *s, const term *t, char *text, size_t size)
{
    size_t used = 0;
    for (int c = 0; c < s->n && used < size; c++) {
        if (!t->power[c]) continue;
        used += (size_t)snprintf(text + used, size - used, "%sz%d", used ? " " : "", c / s->m + 1);
        if (s->m > 1 && used < size) used += (size_t)snprintf(text + used, size - used, "_%d", c % s->m + 1);
        if (t->power[c] > 1 && used < size)
            used += (size_t)snprintf(text + used, size - used, "^%d", t->power[c]);
    }
}

/* ---- cells of the label --------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cuts between quantiles of output k, between values where there are few of them. */
static void cut_output(survey *s, int k, double *values)
{
    int distinct = 0;
    qsort(values, PILOT, sizeof *values, by_size);
    for (int i = 1; i < PILOT && distinct <= s->cuts; i++) {
        if (values[i] - values[i - 1] <= 1e-9 * (1 + fabs(values[i]))) continue;
        if (distinct < s->cuts) s->cut[k][distinct] = 0.5 * (values[i] + values[i - 1]);
        distinct++;
    }
    for (int i = distinct; i < s->cuts; i++) s->cut[k][i] = INFINITY;
    if (distinct > s->cuts)
        for (int i = 0; i < s->cuts; i++) s->cut[k][i] = values[(i + 1) * PILOT / (s->cuts + 1)];
}

static stair_status find_cells(stair_context *context, survey *s)
{
    double z[MOST_DIM], y[STAIR_MAX_LABEL], *values = malloc(PILOT * MOST_DIM * sizeof *values);
    if (!values) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    s->seen = s->labels < 6 ? s->labels : 6;
    s->cuts = (int)floor(pow(CELLS, 1.0 / s->seen) + 1e-9) - 1;
    s->cells = 1;
    for (int k = 0; k < s->seen; k++) s->cells *= s->cuts + 1;
    for (int i = 0; i < PILOT; i++) {
        stair_rng_normals(s->seed, STAIR_RNG_POINTS, (uint64_t)i, s->n, z);
        s->model->ops->forward(s->model, z, y, NULL);
        for (int k = 0; k < s->seen; k++) values[k * PILOT + i] = y[k];
    }
    for (int k = 0; k < s->seen; k++) cut_output(s, k, values + k * PILOT);
    free(values);
    return STAIR_OK;
}

static int cell_of(const survey *s, const double *y)
{
    int cell = 0;
    for (int k = 0; k < s->seen; k++) {
        int at = 0;
        while (at < s->cuts && y[k] > s->cut[k][at]) at++;
        cell = cell * (s->cuts + 1) + at;
    }
    return cell;
}

/* ---- coefficients ---------------------------------------------------------------------------------- */

static void hermite(const survey *s, const double *z, double *h)
{
    double he[MOST_DIM][MOST_DEGREE + 1];
    for (int c = 0; c < s->n; c++) {
        he[c][0] = 1;
        he[c][1] = z[c];
        for (int k = 2; k <= s->degree; k++)
            he[c][k] = (z[c] * he[c][k - 1] - sqrt(k - 1.0) * he[c][k - 2]) / sqrt(k);
    }
    for (int a = 0; a < s->terms; a++) {
        h[a] = 1;
        for (int c = 0; c < s->n; c++) h[a] *= he[c][s->list[a].power[c]];
    }
}

static void add_point(survey *s, int r, const double *base, const double *h)
{
    double z[MOST_DIM], y[STAIR_MAX_LABEL], share = 1 / ((double)s->points * (1 << s->n));
    for (unsigned flips = 0; flips < 1u << s->n; flips++) {
        for (int c = 0; c < s->n; c++) z[c] = flips >> c & 1 ? -base[c] : base[c];
        s->model->ops->forward(s->model, z, y, NULL);
        int cell = cell_of(s, y);
        s->weight[r * s->cells + cell] += share;
        for (int a = 0; a < s->terms; a++) {
            double value = __builtin_parity(flips & s->list[a].odd) ? -share * h[a] : share * h[a];
            size_t row = (size_t)(r * s->terms + a);
            s->share[row * (size_t)s->cells + (size_t)cell] += value;
            for (int k = 0; k < s->labels; k++) s->plain[row * (size_t)s->labels + (size_t)k] += value * y[k];
        }
    }
}

static stair_status run_block(void *user, size_t block, int thread, stair_context *local)
{
    survey *s = user;
    double shift[MOST_DIM], z[MOST_DIM], *h = s->scratch + block * (size_t)s->terms;
    (void)thread;
    (void)local;
    stair_rng_uniforms(s->seed, STAIR_RNG_SHIFT, block, s->n, shift);
    for (uint64_t i = 0; i < s->points; i++) {
        stair_qmc_gaussian(s->n, s->points, i, shift, z);
        hermite(s, z, h);
        add_point(s, (int)block, z, h);
    }
    return STAIR_OK;
}

/* ---- what they mean -------------------------------------------------------------------------------- */

typedef struct {
    double value, error;
} estimate;

static bool is_there(estimate e)
{
    return fabs(e.value) > tuning.least_size && fabs(e.value) > tuning.sigmas * e.error;
}

static estimate of_list(int count, const double *value)
{
    double mean = 0, square = 0;
    for (int i = 0; i < count; i++) mean += value[i] / count;
    for (int i = 0; i < count; i++) square += (value[i] - mean) * (value[i] - mean);
    return (estimate){mean, sqrt(square / (count * (count - 1.0)))};
}

/* The largest coefficient of all outputs. */
static estimate information(const survey *s, int a)
{
    estimate best = {0};
    for (int k = 0; k < s->labels; k++) {
        double value[REPLICATES];
        for (int r = 0; r < REPLICATES; r++)
            value[r] = s->plain[(size_t)(r * s->terms + a) * (size_t)s->labels + (size_t)k];
        estimate e = of_list(REPLICATES, value);
        if (is_there(e) >= is_there(best) && fabs(e.value) > fabs(best.value)) best = e;
    }
    return best;
}

static estimate generative(const survey *s, int a)
{
    double value[REPLICATES / 2] = {0};
    for (int b = 0; b < s->cells; b++) {
        double weight = 0;
        for (int r = 0; r < REPLICATES; r++) weight += s->weight[r * s->cells + b] / REPLICATES;
        for (int r = 0; r < REPLICATES / 2 && weight > 0; r++)
            value[r] += s->share[(size_t)(2 * r * s->terms + a) * (size_t)s->cells + (size_t)b] *
                        s->share[(size_t)((2 * r + 1) * s->terms + a) * (size_t)s->cells + (size_t)b] /
                        weight;
    }
    return of_list(REPLICATES / 2, value);
}

/* Degree of a term in rows outside of `known`. */
static int degree_outside(const survey *s, const term *t, unsigned known)
{
    int degree = 0;
    for (int c = 0; c < s->n; c++)
        if (!(known >> (c / s->m) & 1)) degree += t->power[c];
    return degree;
}

static void find_leaps(const survey *s, const estimate *e, stair_exponent_of **of)
{
    unsigned known = 0;
    for (int stage = 1; stage <= s->p; stage++) {
        int least = MOST_DEGREE + 1;
        unsigned found = 0;
        for (int a = 0; a < s->terms; a++) {
            int degree = degree_outside(s, &s->list[a], known);
            if (!degree || degree > least || !is_there(e[a])) continue;
            if (degree < least) found = 0;
            least = degree;
            found |= s->list[a].rows & ~known;
        }
        for (int i = 0; i < s->p; i++)
            if (found >> i & 1) {
                of[i]->leap = least;
                of[i]->stage = stage;
            }
        known |= found;
    }
}

static void find_exponents(const survey *s, const estimate *e, stair_exponent_of **of)
{
    for (int i = 0; i < s->p; i++) {
        *of[i] = (stair_exponent_of){0};
        for (int a = 0; a < s->terms; a++) {
            const term *t = &s->list[a];
            if (!(t->rows >> i & 1) || !is_there(e[a])) continue;
            if (of[i]->exponent && t->degree > of[i]->exponent) continue;
            if (t->degree == of[i]->exponent && fabs(e[a].value) <= fabs(of[i]->coefficient)) continue;
            of[i]->exponent = t->degree;
            of[i]->coefficient = e[a].value;
            of[i]->error = e[a].error;
            write_term(s, t, of[i]->term, sizeof of[i]->term);
        }
    }
    find_leaps(s, e, of);
}

static stair_status measure(stair_context *context, survey *s, stair_exponent *list)
{
    estimate *e = malloc(sizeof *e * (size_t)s->terms);
    stair_exponent_of *of[MOST_DIM];
    if (!e) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int kind = 0; kind < 2; kind++) {
        for (int a = 0; a < s->terms; a++) e[a] = kind ? generative(s, a) : information(s, a);
        for (int i = 0; i < s->p; i++) of[i] = kind ? &list[i].generative : &list[i].information;
        find_exponents(s, e, of);
    }
    free(e);
    return STAIR_OK;
}

static stair_status make_room(stair_context *context, survey *s)
{
    size_t rows = (size_t)REPLICATES * (size_t)s->terms;
    s->share = calloc(rows * (size_t)s->cells, sizeof(double));
    s->plain = calloc(rows * (size_t)s->labels, sizeof(double));
    s->weight = calloc((size_t)(REPLICATES * s->cells), sizeof(double));
    s->scratch = malloc(rows * sizeof(double));
    return s->share && s->plain && s->weight && s->scratch
               ? STAIR_OK
               : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

/* A power of two, as many as the work allows. */
static uint64_t points_for(const survey *s)
{
    double most = tuning.work / ((double)REPLICATES * (1 << s->n) * s->terms * (1 + s->labels));
    return (uint64_t)1 << (int)fmin(14, fmax(6, floor(log2(most))));
}

static stair_status run_all(stair_context *context, survey *s)
{
    size_t one = sizeof(double), share = (size_t)(s->terms * s->cells) * one,
           plain = (size_t)(s->terms * s->labels) * one, weight = (size_t)s->cells * one;
    stair_filled arrays[] = {{s->share, share, REPLICATES * share},
                             {s->plain, plain, REPLICATES * plain},
                             {s->weight, weight, REPLICATES * weight}};
    return stair_parallel_shared(context, REPLICATES, run_block, s, arrays, 3);
}

stair_status stair_exponents(stair_context *context, const stair_model *model, int degree, uint64_t seed,
                             stair_exponent *list)
{
    survey s = {.model = model,
                .p = model->info.indices,
                .m = model->info.tokens,
                .labels = model->info.label_size,
                .degree = degree,
                .seed = seed};
    term none = {0};
    s.n = s.p * s.m;
    if (degree < 1 || degree > MOST_DEGREE)
        return stair_fail(context, STAIR_BAD_INPUT, "degree %d is not 1 to %d", degree, MOST_DEGREE);
    if (s.n > MOST_DIM)
        return stair_fail(context, STAIR_UNSUPPORTED, "exponents are for at most %d numbers of Z, not %d",
                          MOST_DIM, s.n);
    s.list = malloc(sizeof *s.list * MOST_TERMS);
    stair_status status = s.list ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK && !add_terms(&s, 0, degree, &none))
        status = stair_fail(context, STAIR_UNSUPPORTED, "degree %d has more than %d Hermite polynomials",
                            degree, MOST_TERMS);
    if (status == STAIR_OK) status = find_cells(context, &s);
    if (status == STAIR_OK) status = make_room(context, &s);
    s.points = status == STAIR_OK ? points_for(&s) : 0;
    if (status == STAIR_OK) status = run_all(context, &s);
    if (status == STAIR_OK) status = measure(context, &s, list);
    free(s.list);
    free(s.share);
    free(s.plain);
    free(s.weight);
    free(s.scratch);
    return status;
}
