/* Importance sampling for any number of coordinates, with an error bar from independent replicates.
 *
 * Proposal: the Laplace Gaussians of the modes, widened, and one component as wide as the prior, so
 * that weights stay bounded where Laplace is wrong.  All components are drawn in fixed shares and
 * weighted by the whole mixture.  Nodes are rank-1 lattice points mapped to Gaussians; replicate r
 * uses its own random shift of the lattice and, for each sample, its own random rotation, which a
 * Gaussian does not notice: so tables are shared by all samples while errors are independent.
 *
 * The error is twice the standard error over replicates.
 */
#include "channel/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/rules.h"
#include "core/isa.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

enum {
    TABLES = STAIR_QMC_SHIFTS, /* replicates of the first round */
    TABLE_SIZE = STAIR_QMC_TABLE,
    MOST_REPLICATES = 256,
    CHARTS = 2 /* most of a fibre: a set and its reflection */
};

static const struct {
    int first;          /* nodes per replicate of the first round */
    double widen;       /* modes are sampled this much wider than Laplace */
    double wide_share;  /* part of the nodes drawn from the prior, */
    double wide_aux;    /* on auxiliary coordinates so many Laplace deviations wide */
    double least_share; /* of a mode, however little Laplace gives it */
    double edge;        /* distance of an angle from the ends of its range */
    double turn;        /* seconds of a usual core that a random rotation takes, by dimensions^3, */
    double density;     /* and the density of a component at a node, by dimensions^2 */
} tuning = {.first = 512,
            .widen = 1.15,
            .wide_share = 0.25,
            .wide_aux = 3,
            .least_share = 0.05,
            .edge = 1e-15,
            .turn = 2e-9,
            .density = 0.1e-9};

STAIR_HOT_TABLE(void, stair_block_density, (const stair_mixture *q, int n, const double *u, double *weight));

/* ---- proposal -------------------------------------------------------------------------------- */

static bool finish_component(int dim, const double *covariance, double share, stair_component *c)
{
    double half_logdet;
    if (!stair_matrix_whiten(dim, covariance, c->lower, c->whiten, &half_logdet)) return false;
    c->share = share;
    c->peak = exp(-half_logdet - 0.5 * dim * log(2 * M_PI));
    return isfinite(c->peak) && c->peak > 0;
}

/* covariance of a mode, widened */
static void mode_covariance(int dim, const stair_mode *mode, double widen, double *covariance)
{
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            double sum = 0;
            for (int k = 0; k < dim; k++) sum += mode->lower[i * dim + k] * mode->lower[j * dim + k];
            covariance[i * dim + j] = widen * widen * sum;
        }
}

/* Prior on the free coordinates; the leading mode, much widened, on the others; all of the angles. */
static void wide_component(const stair_integrand *f, const stair_mode *mode, double *centre,
                           double *covariance)
{
    int dim = f->dim, p = f->shape.rows, m = f->shape.tokens, free = f->shape.free_rows * m;
    mode_covariance(dim, mode, tuning.wide_aux, covariance);
    for (int i = 0; i < dim; i++) {
        centre[i] = i < dim - f->fibre.angles ? mode->u[i] : 0;
        for (int j = 0; j < dim; j++) {
            if (i >= free && j >= free) continue;
            covariance[i * dim + j] = 0;
            if (i >= free || j >= free || i % m != j % m) continue;
            for (int k = 0; k <= i / m && k <= j / m; k++)
                covariance[i * dim + j] +=
                    tuning.widen * tuning.widen * f->lower[(i / m) * p + k] * f->lower[(j / m) * p + k];
        }
        for (int j = 0; j < dim && i >= dim - f->fibre.angles; j++)
            covariance[i * dim + j] = covariance[j * dim + i] = i == j;
        if (i < free) centre[i] = 0;
    }
}

/* memory: room for the components; covariance (dim, dim): scratch */
static bool build_mixture(const stair_integrand *f, const stair_modes *modes, double *memory,
                          double *covariance, stair_mixture *q)
{
    int dim = f->dim;
    size_t square = (size_t)(dim * dim), each = (size_t)dim + 2 * square;
    double total = 0;
    int circles = stair_fibre_circles(&f->fibre);
    q->dim = dim;
    q->count = modes->count + 1;
    for (int k = 0; k < modes->count; k++) total += fmax(modes->mode[k].share, tuning.least_share);
    for (int k = 0; k < q->count; k++) {
        stair_component *c = &q->component[k];
        c->centre = memory + each * (size_t)k;
        c->lower = c->centre + dim;
        c->whiten = c->lower + square;
        double share = tuning.wide_share;
        if (k < modes->count) {
            mode_covariance(dim, &modes->mode[k], tuning.widen, covariance);
            memcpy(c->centre, modes->mode[k].u, sizeof(double) * (size_t)dim);
            share = (1 - tuning.wide_share) * fmax(modes->mode[k].share, tuning.least_share) / total;
        } else
            wide_component(f, &modes->mode[0], c->centre, covariance);
        if (!finish_component(dim, covariance, share, c)) return false;
        c->angles = k < modes->count ? 0 : f->fibre.angles;
        c->circles = circles;
        for (int a = 0; a < c->angles; a++) c->peak *= sqrt(2 * M_PI) / (a < c->circles ? M_PI : 2);
    }
    return true;
}

/* Haar rotation of (sample, replicate, component) by Gram-Schmidt of normals. */
static void random_rotation(int dim, uint64_t seed, uint64_t sample, int stream, double *rotation)
{
    stair_rng_normals(seed + 1 + (uint64_t)stream, STAIR_RNG_SHIFT, sample, dim * dim, rotation);
    stair_matrix_orthonormalise(dim, rotation);
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct stair_sampler {
    stair_worker *w;
    const stair_channel_options *options;
    const double *table;
    stair_mixture mixture[CHARTS];            /* one per chart, */
    double *parts;                            /* and what their components point into */
    double *rotation, *turned;                /* (dim, dim) */
    stair_moments replicate[MOST_REPLICATES]; /* sums follow */
    double memory[];
} sampler;

void stair_sampler_destroy(struct stair_sampler *s)
{
    free(s);
}

/* Numbers that the components of one mixture take. */
static size_t mixture_size(size_t dim)
{
    return (dim + 2 * dim * dim) * (STAIR_MOST_MODES + 1);
}

/* Room for any sample of a worker. */
static sampler *create(const stair_integrand *f)
{
    size_t dim = (size_t)stair_integrand_most(f), count = (size_t)f->count;
    size_t doubles = CHARTS * mixture_size(dim) + 2 * dim * dim + MOST_REPLICATES * count;
    sampler *s = malloc(sizeof *s + doubles * sizeof(double));
    if (!s) return NULL;
    s->parts = s->memory;
    s->rotation = s->parts + CHARTS * mixture_size(dim);
    s->turned = s->rotation + dim * dim;
    for (size_t r = 0; r < MOST_REPLICATES; r++) s->replicate[r].sum = s->turned + dim * dim + r * count;
    return s;
}

/* Nodes of component k when a replicate has n nodes: whole blocks. */
static int component_nodes(const stair_component *c, int n)
{
    int blocks = (int)ceil(c->share * n / STAIR_BLOCK);
    return (blocks < TABLE_SIZE / STAIR_BLOCK ? blocks : TABLE_SIZE / STAIR_BLOCK) * STAIR_BLOCK;
}

/* Standard normals to coordinates of angles: uniform rotations, or nearly so beyond three dimensions.  The
 * shift makes their errors independent from sample to sample, as the rotation does for the other coordinates.
 */
static void spread_angle(bool circle, double shift, double *u)
{
    for (int i = 0; i < STAIR_BLOCK; i++) {
        double part = 0.5 * erfc(-u[i] * M_SQRT1_2) + shift;
        part = fmin(fmax(part - floor(part), tuning.edge), 1 - tuning.edge);
        u[i] = circle ? asinh(tan(M_PI * (part - 0.5))) : atanh(2 * part - 1);
    }
}

static void sum_replicate(sampler *s, int r, int n)
{
    stair_worker *w = s->w;
    stair_integrand *f = &w->f;
    int dim = f->dim;
    stair_moments_clear(f, &s->replicate[r]);
    double *rotation = s->rotation, *turned = s->turned, shift[STAIR_MAX_DIM];
    for (int chart = 0; chart < f->fibre.charts; chart++) {
        stair_mixture *q = &s->mixture[chart];
        f->chart = chart;
        for (int k = 0; k < q->count; k++) {
            stair_component *c = &q->component[k];
            /* angles stay apart from what is rotated, so that they remain standard normals */
            int plain = dim - c->angles, stream = (r * 2 + chart) * (STAIR_MOST_MODES + 1) + k;
            random_rotation(plain, s->options->seed, w->sample, stream, rotation);
            if (c->angles)
                stair_rng_uniforms(s->options->seed + 1 + (uint64_t)stream, STAIR_RNG_ANGLES, w->sample,
                                   c->angles, shift);
            memset(turned, 0, sizeof(double) * (size_t)(dim * dim));
            for (int i = 0; i < dim; i++) {
                for (int j = 0; j < plain && i < plain; j++)
                    for (int l = 0; l <= i; l++)
                        turned[i * dim + j] += c->lower[i * dim + l] * rotation[l * plain + j];
                if (i >= plain) turned[i * (dim + 1)] = 1;
            }
            const double *table = s->table + (size_t)(r % TABLES) * (size_t)dim * TABLE_SIZE;
            w->work +=
                tuning.turn * dim * dim * dim + tuning.density * q->count * dim * dim * component_nodes(c, n);
            for (int at = 0; at < component_nodes(c, n); at += STAIR_BLOCK) {
                stair_affine(dim, turned, c->centre, table + at, TABLE_SIZE, f->nodes.u);
                for (int a = 0; a < c->angles; a++)
                    spread_angle(a < c->circles, shift[a], f->nodes.u + (size_t)(plain + a) * STAIR_BLOCK);
                double top = stair_integrand_energies(f, STAIR_BLOCK);
                stair_block_density_table[stair_isa()](q, STAIR_BLOCK, f->nodes.u, f->nodes.weight);
                stair_integrand_add(f, STAIR_BLOCK, NULL, top, &s->replicate[r]);
            }
        }
    }
}

/* Weights are against the nodes really drawn, so rounding shares to blocks does not bias. */
static void set_heights(sampler *s, int n)
{
    for (int chart = 0; chart < s->w->f.fibre.charts; chart++) {
        stair_mixture *q = &s->mixture[chart];
        for (int k = 0; k < q->count; k++) {
            stair_component *c = &q->component[k];
            c->height = c->peak * component_nodes(c, n);
        }
    }
}

/* Total of the replicates, and twice the standard error of their mean. */
static double combine(sampler *s, int replicates, stair_posterior *out)
{
    stair_worker *w = s->w;
    double square = 0;
    stair_moments_clear(&w->f, &w->total);
    for (int r = 0; r < replicates; r++)
        stair_moments_merge(&w->f, &w->total, &s->replicate[r], -log(replicates));
    stair_moments_finish(&w->f, &w->total, out);
    for (int r = 0; r < replicates; r++) {
        stair_moments_finish(&w->f, &s->replicate[r], &w->first);
        double distance = stair_posterior_distance(&w->f, out, &w->first);
        square += distance * distance;
    }
    return 2 * sqrt(square / (replicates * (replicates - 1.0)));
}

/* The posterior by either half of the replicates. */
static void split(sampler *s, int replicates)
{
    stair_worker *w = s->w;
    for (int half = 0; half < 2; half++) {
        int from = half * (replicates / 2), to = from + replicates / 2;
        stair_moments_clear(&w->f, &w->total);
        for (int r = from; r < to; r++)
            stair_moments_merge(&w->f, &w->total, &s->replicate[r], -log(to - from));
        stair_moments_finish(&w->f, &w->total, &w->half[half]);
    }
    w->halved = true;
}

/* The table of nodes, and a mixture for every chart. */
static bool prepare(sampler *s)
{
    stair_worker *w = s->w;
    stair_integrand *f = &w->f;
    s->table = stair_qmc_normals(f->dim);
    if (!s->table) return false;
    for (int chart = 0; chart < f->fibre.charts; chart++) {
        double *parts = s->parts + mixture_size((size_t)f->dim) * (size_t)chart;
        f->chart = chart;
        stair_modes_find(f, s->options->cutoff - log(s->options->precision), &w->modes);
        if (!w->modes.count || !build_mixture(f, &w->modes, parts, s->turned, &s->mixture[chart]))
            return false;
        if (!chart) stair_rule_origin(w);
    }
    return true;
}

/* Where nested fits it leaves nothing to this one, unless there is noise on y. */
static bool fits(const stair_integrand *f, bool forced)
{
    return f->dim > 0 && f->fibre.charts <= CHARTS &&
           (forced || f->shape.residuals || !stair_rule_nested.fits(f, false));
}

/* Rounds: 512 nodes per replicate doubling to the size of the table, then more replicates. */
static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    int64_t start = w->f.visited;
    if (!w->sampler && !(w->sampler = create(&w->f))) return result;
    sampler *s = w->sampler;
    s->w = w;
    s->options = options;
    if (!prepare(s)) return result;
    for (int n = tuning.first, replicates = TABLES;;) {
        set_heights(s, n);
        for (int r = 0; r < replicates; r++) sum_replicate(s, r, n);
        result.error = combine(s, replicates, out);
        result.converged = result.error <= fmax(options->precision, options->noise);
        bool last = n >= TABLE_SIZE && replicates * 2 > MOST_REPLICATES;
        if (result.converged || w->f.visited - start > options->max_nodes / 3 || last) {
            split(s, replicates);
            return result;
        }
        if (n < TABLE_SIZE)
            n *= 2;
        else
            replicates *= 2;
    }
}

const stair_channel_rule stair_rule_sampling = {
    .name = "sampling", .number = STAIR_RULE_SAMPLING, .random = true, .fits = fits, .evaluate = evaluate};
