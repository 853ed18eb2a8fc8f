/* Posteriors of a committee of exchangeable hidden layers that nothing is known of (two tokens, one last
 * row): the mixing of the last row is
 *
 *   B = 1 + share sum_{l<=n} S_l,   h = B w,
 *
 * and depends on the n hidden rows through two sums, U and V, of known law (committee_law.h).  In the
 * coordinates s = (1 + 2)/sqrt 2, d = (1 - 2)/sqrt 2 of tokens and with k = 1 + n share
 *
 *   d_w = d_h / (k - share U),   s_w = (s_h + share V d_w) / k,   det B = k (k - share U),
 *
 * so that a posterior is a sum over the grid of (U, V): along V a Gaussian of an equidistant variable, along
 * U one factor.  However many layers there are it costs the same, and nothing is random.  Hidden rows are
 * even and exchangeable: they have mean zero, no covariance with each other or the last row, and the same
 * second moments, which the law brings along.
 *
 * A model may stand for n hidden layers with one of them (model->unseen = n - 1): the same posterior with
 * fewer rows. */
#include "posterior/denoiser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"
#include "model/last_row.h"
#include "posterior/exchange_sums.h"

#define EXCHANGE_SAMPLES 64 /* of one piece of work */
#define NEAR             6  /* nodes along an axis that a place between them is interpolated from */

static const struct {
    double step;       /* of the grid in units of the posterior's width, for errors of 1e-6; per fineness */
    double finest;     /* that is asked for */
    double farthest;   /* tokens that far apart still have that many nodes */
    double reach;      /* standard deviations of the last row that are visited */
    double beside;     /* standard deviations more that tokens may be apart than their means */
    double between;    /* step of nodes of the last row, where they are used, in standard deviations, */
    double near_reach; /* and how far they go */
    double moved;      /* labels vary over that part of what the law moves them by, */
    double moved_by;   /* and over no more than this times the number of layers: the law of few is rough */
    double node;       /* seconds of a usual core, */
    double nodes;      /* and how many a sample takes */
} tuning = {.step = 0.4,
            .finest = 1.1,
            .farthest = 4.0,
            .reach = 8.0,
            .beside = 2.0,
            .between = 0.75,
            .near_reach = 5.6,
            .moved = 0.5,
            .moved_by = 0.02,
            .node = 2e-9,
            .nodes = 4e3};

STAIR_HOT_TABLE(void, stair_exchange_row,
                (int n, int columns, const double *table, double x, double step, double half_inverse,
                 double *sums));

typedef struct {
    const stair_model *model;
    int p, layers;                          /* rows; hidden layers */
    double share, whole;                    /* k */
    double v;                               /* variance of the last row, prenoise included */
    double anchor[STAIR_MAX_CELLS], mix[4]; /* hidden rows at the anchor, and B there, */
    double weight;                          /* times det B: weight of the fibre where det B is one */
    double step;                            /* of the grid that is fine enough for tokens one apart */
    double moved;                           /* over which labels vary, for tokens one apart */
    stair_committee_law law;
} exchange;

/* Step of the grid that resolves posteriors whose last row has variance v, its tokens being d apart. */
static double step_for(int layers, double share, double v, double d, double fineness)
{
    double mean, du, dv;
    stair_committee_moments(&mean, &du, &dv);
    double width = sqrt(v) * (1 + layers * share * (1 - mean)) / (share * d);
    return tuning.step * width / fmax(1, fineness);
}

static bool fits(const stair_structure *structure, const double *cov)
{
    const stair_model *model = structure->model;
    int p = model->info.indices, layers;
    double share;
    if (!structure->committee || !stair_matrix_is_diagonal(p, cov)) return false;
    for (int i = 0; i < p - 1; i++)
        if (cov[i * (p + 1)] != 1) return false;
    model->ops->committee(model, &layers, &share);
    return stair_committee_law_fits(layers,
                                    step_for(layers, share, cov[p * p - 1], tuning.farthest, tuning.finest));
}

/* B at the anchor: each row stands for as many layers. */
static void mix_at_anchor(exchange *x)
{
    double a, b, u = 0, v = 0, layers = (double)x->layers / (x->p - 1);
    for (int r = 0; r < x->p - 1; r++) {
        const double *z = x->anchor + 2 * r;
        stair_committee_layer(M_SQRT1_2 * (z[0] + z[1]), M_SQRT1_2 * (z[0] - z[1]), &a, &b);
        u += layers * a;
        v += layers * b;
    }
    x->mix[0] = x->whole - x->share * u;
    x->mix[1] = x->share * u;
    x->mix[2] = x->share * v;
    x->mix[3] = x->whole - x->share * v;
}

static stair_status weigh_anchor(stair_context *context, exchange *x)
{
    const double w[] = {1.5, 0.3};
    double there[2];
    stair_fibre fibre;
    STAIR_TRY(stair_fibre_create(context, x->model, &fibre));
    stair_status status = stair_last_row_open_at(context, x->model, x->anchor, w, &fibre);
    if (status == STAIR_OK)
        x->weight =
            stair_last_row_one(&fibre, 2, x->anchor, there) * (x->mix[0] * x->mix[3] - x->mix[1] * x->mix[2]);
    stair_fibre_destroy(&fibre);
    return status;
}

static void destroy(void **state)
{
    exchange *x = *state;
    stair_committee_law_destroy(&x->law);
    free(x);
    *state = NULL;
}

/* What the law moves labels by, tokens being one apart. */
static double find_moved(const exchange *x)
{
    double mean, du, dv;
    stair_committee_moments(&mean, &du, &dv);
    return x->share * fmin(du, dv) * sqrt(x->layers) / x->whole *
           fmin(tuning.moved, tuning.moved_by * x->layers);
}

static stair_status create(stair_context *context, const stair_structure *structure, const double *cov,
                           const stair_denoiser_effort *effort, void **state)
{
    const stair_model *model = structure->model;
    exchange *x = *state = calloc(1, sizeof *x);
    if (!x) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    x->model = model;
    x->p = model->info.indices;
    model->ops->committee(model, &x->layers, &x->share);
    x->whole = 1 + x->layers * x->share;
    x->v = cov[x->p * x->p - 1] + model->info.prenoise;
    stair_last_row_anchor(x->p - 1, 2, x->anchor);
    mix_at_anchor(x);
    x->step = step_for(x->layers, x->share, x->v, 1, effort->fineness);
    x->moved = find_moved(x);
    stair_status status = weigh_anchor(context, x);
    if (status == STAIR_OK)
        status = stair_committee_law_create(context, x->layers, x->step / tuning.farthest, &x->law);
    if (status != STAIR_OK) destroy(state);
    return status;
}

/* ---- samples ---------------------------------------------------------------------------------- */

/* Sums of one sample: of the law's numbers, and of the deviations of s and d from their means. */
enum { OF_S = COMMITTEE_NUMBERS, OF_D, OF_SS, OF_DD, OF_SD, OF_ALL };

typedef struct {
    double s, d, mean_s, mean_d; /* h, and the mean of w */
    const stair_committee_grid *grid;
} sample;

/* The coarsest that is fine enough, or the finest. */
static const stair_committee_grid *choose_grid(const exchange *x, double d)
{
    const stair_committee_grid *grid = x->law.grid, *last = grid + x->law.grids - 1;
    double apart = fabs(d) + tuning.beside * sqrt(x->v);
    while (grid < last && grid->step > x->step / apart) grid++;
    return grid;
}

/* Columns where s_w is near its mean: the first, a multiple of 8, and how many. */
static int columns_near(const exchange *x, const sample *a, double slope, int *first)
{
    double reach = tuning.reach * sqrt(x->v), centre = a->mean_s - a->s / x->whole;
    int most = a->grid->columns;
    *first = 0;
    if (slope == 0) return fabs(centre) < reach ? most : 0;
    double middle = centre / slope - a->grid->v, half = fabs(reach / slope);
    double low = fmax(0, floor((middle - half) / a->grid->step)),
           high = fmin(most, ceil((middle + half) / a->grid->step));
    if (high <= low) return 0;
    *first = (int)low / 8 * 8;
    int count = ((int)high - *first + 7) / 8 * 8;
    return count;
}

static void add_row(const exchange *x, const sample *a, int i, double sign, double *sums)
{
    double det = x->whole - x->share * (a->grid->u + i * a->grid->step), d = a->d / det, off = d - a->mean_d,
           slope = x->share * d / x->whole, row[EXCHANGE_SUMS];
    if (!(fabs(off) < tuning.reach * sqrt(x->v))) return;
    int first, n = columns_near(x, a, slope, &first);
    if (!n) return;
    const double *table = a->grid->table + (long)i * COMMITTEE_NUMBERS * a->grid->columns + first;
    stair_exchange_row_table[stair_isa()](n, a->grid->columns, table,
                                          a->s / x->whole + slope * (a->grid->v + first * a->grid->step) -
                                              a->mean_s,
                                          slope * a->grid->step, 0.5 / x->v, row);
    double weight = exp(-0.5 * off * off / x->v) / (x->whole * det);
    for (int k = 0; k < COMMITTEE_NUMBERS; k++) sums[k] += weight * row[k];
    sums[OF_S] += sign * weight * row[EXCHANGE_FIRST];
    sums[OF_D] += sign * weight * row[COMMITTEE_MASS] * off;
    sums[OF_SS] += weight * row[EXCHANGE_SECOND];
    sums[OF_DD] += weight * row[COMMITTEE_MASS] * off * off;
    sums[OF_SD] += weight * row[EXCHANGE_FIRST] * off;
}

/* Shares of the six nodes from *first on in the value at x, in steps (Lagrange). */
static void interpolate(double x, int *first, double *share)
{
    *first = (int)floor(x) - 2;
    for (int k = 0; k < NEAR; k++) {
        share[k] = 1;
        for (int l = 0; l < NEAR; l++)
            if (l != k) share[k] *= (x - *first - l) / (k - l);
    }
}

/* The law's numbers at a place between the nodes of a grid, as densities. */
static bool law_at(const stair_committee_grid *grid, double u, double v, double *numbers)
{
    int i0, j0;
    double along[NEAR], across[NEAR], i = (u - grid->u) / grid->step, j = (v - grid->v) / grid->step;
    if (!(i > NEAR && j > NEAR && i < grid->rows - NEAR && j < grid->columns - NEAR)) return false;
    interpolate(i, &i0, along);
    interpolate(j, &j0, across);
    memset(numbers, 0, sizeof(double) * COMMITTEE_NUMBERS);
    for (int a = 0; a < NEAR; a++)
        for (int k = 0; k < COMMITTEE_NUMBERS; k++) {
            const double *row = grid->table + ((long)(i0 + a) * COMMITTEE_NUMBERS + k) * grid->columns + j0;
            double sum = 0;
            for (int b = 0; b < NEAR; b++) sum += across[b] * row[b];
            numbers[k] += along[a] * sum / (grid->step * grid->step);
        }
    return true;
}

/* A posterior narrower than the grid: equidistant nodes of the last row around its mean, and the law between
 * its nodes; dU dV / det B = ds dd / (share d)^2. */
static void add_between(const exchange *x, const sample *a, double sign, double *sums)
{
    double step = tuning.between * sqrt(x->v), numbers[COMMITTEE_NUMBERS];
    int reach = (int)ceil(tuning.near_reach / tuning.between);
    for (int i = -reach; i <= reach; i++)
        for (int j = -reach; j <= reach; j++) {
            double off_d = i * step, off_s = j * step, d = a->mean_d + off_d, s = a->mean_s + off_s;
            double u = (x->whole - a->d / d) / x->share, v = (x->whole * s - a->s) / (x->share * d);
            if (!law_at(a->grid, u, v, numbers)) continue;
            double weight = step * step * exp(-0.5 * (off_d * off_d + off_s * off_s) / x->v) /
                            (x->share * x->share * d * d);
            for (int k = 0; k < COMMITTEE_NUMBERS; k++) sums[k] += weight * numbers[k];
            double mass = weight * numbers[COMMITTEE_MASS];
            sums[OF_S] += sign * mass * off_s;
            sums[OF_D] += sign * mass * off_d;
            sums[OF_SS] += mass * off_s * off_s;
            sums[OF_DD] += mass * off_d * off_d;
            sums[OF_SD] += mass * off_s * off_d;
        }
}

/* A symmetric matrix of s and d as one of the two tokens, into rows `row` of dg. */
static void set_block(int pm, int row, double ss, double dd, double sd, double *dg)
{
    double *at = dg + (long)row * pm + row;
    at[0] = 0.5 * (ss + dd) + sd;
    at[1] = at[pm] = 0.5 * (ss - dd);
    at[pm + 1] = 0.5 * (ss + dd) - sd;
}

static void finish(const exchange *x, const double *sums, double *logz, double *g, double *dg)
{
    int pm = 2 * x->p, last = pm - 2;
    double mass = sums[COMMITTEE_MASS], v = x->v;
    memset(g, 0, sizeof(double) * (size_t)pm);
    memset(dg, 0, sizeof(double) * (size_t)(pm * pm));
    *logz = -1e3; /* a label that does not occur */
    if (!(mass > 1e-300)) return;
    *logz = log(0.5 * x->weight * mass / (2 * M_PI * v));
    double s = sums[OF_S] / mass, d = sums[OF_D] / mass;
    g[last] = M_SQRT1_2 * (s + d) / v;
    g[last + 1] = M_SQRT1_2 * (s - d) / v;
    set_block(pm, last, (sums[OF_SS] / mass - s * s) / (v * v) - 1 / v,
              (sums[OF_DD] / mass - d * d) / (v * v) - 1 / v, (sums[OF_SD] / mass - s * d) / (v * v), dg);
    for (int row = 0; row < last; row += 2)
        set_block(pm, row, sums[COMMITTEE_SS] / mass, sums[COMMITTEE_DD] / mass, sums[COMMITTEE_SD] / mass,
                  dg);
}

typedef struct {
    const exchange *rule;
    size_t n;
    const double *labels, *omega;
    stair_denoised *result;
} exchange_job;

static stair_status evaluate_one(stair_context *local, const exchange_job *job, stair_fibre *fibre, size_t i)
{
    const exchange *x = job->rule;
    size_t pm = (size_t)(2 * x->p);
    const double *mean = job->omega + (i + 1) * pm - 2;
    double w[2], nothing[STAIR_MAX_CELLS] = {0}, sums[OF_ALL] = {0};
    STAIR_TRY(stair_fibre_open(local, job->labels + i * (size_t)x->model->info.label_size, nothing, fibre));
    stair_last_row_one(fibre, 2, x->anchor, w);
    double h[] = {x->mix[0] * w[0] + x->mix[1] * w[1], x->mix[2] * w[0] + x->mix[3] * w[1]};
    for (int sign = 1; sign >= -1; sign -= 2) { /* -w has the same label */
        sample a = {.s = M_SQRT1_2 * (h[0] + h[1]),
                    .d = M_SQRT1_2 * (h[0] - h[1]),
                    .mean_s = sign * M_SQRT1_2 * (mean[0] + mean[1]),
                    .mean_d = sign * M_SQRT1_2 * (mean[0] - mean[1])};
        a.grid = choose_grid(x, a.mean_d);
        if (a.grid->step > x->step / fabs(a.mean_d))
            add_between(x, &a, sign, sums);
        else
            for (int row = 0; row < a.grid->rows; row++) add_row(x, &a, row, sign, sums);
    }
    finish(x, sums, job->result->logz + i, job->result->g + i * pm, job->result->dg + i * pm * pm);
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    const exchange_job *job = user;
    size_t end = (block + 1) * EXCHANGE_SAMPLES < job->n ? (block + 1) * EXCHANGE_SAMPLES : job->n;
    stair_fibre fibre;
    (void)thread;
    stair_status status = stair_fibre_create(local, job->rule->model, &fibre);
    for (size_t i = block * EXCHANGE_SAMPLES; i < end && status == STAIR_OK; i++)
        status = evaluate_one(local, job, &fibre, i);
    stair_fibre_destroy(&fibre);
    return status;
}

static stair_status evaluate(stair_context *context, void *state, uint64_t first, size_t n,
                             const double *labels, const double *omega, const double *drawn,
                             stair_denoised *result)
{
    exchange_job job = {.rule = state, .n = n, .labels = labels, .omega = omega, .result = result};
    (void)first;
    (void)drawn;
    context->work += (double)n * tuning.node * tuning.nodes;
    STAIR_TRY(
        stair_denoised_share(context, job.rule->model, EXCHANGE_SAMPLES, 1, evaluate_block, &job, n, result));
    memset(result->error, 0, n * sizeof *result->error);
    return STAIR_OK;
}

/* That of the last row, and what the law moves it by. */
static double label_width(const void *state, const double *mean)
{
    const exchange *x = state;
    return hypot(sqrt(x->v) / x->whole, x->moved * M_SQRT1_2 * (mean[0] - mean[1]));
}

const stair_denoiser_rule stair_denoiser_exchange = {.name = "exchange",
                                                     .fits = fits,
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .label_width = label_width,
                                                     .evaluate = evaluate,
                                                     .whole = true};
