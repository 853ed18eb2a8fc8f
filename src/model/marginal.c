/* Sums over points of u, and the posterior that they make. */
#include "model/marginal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

enum { LEVELS = 8, TABLES = STAIR_QMC_SHIFTS }; /* of points in a replicate; tables they come from */
_Static_assert(STAIR_MARGINAL_FIRST << (LEVELS - 3) == STAIR_QMC_TABLE, "levels reach the table's end");

STAIR_HOT_TABLE(void, stair_marginal_place,
                (const stair_marginal_shape *s, const double *xi, double *u, double *mean));
STAIR_HOT_TABLE(void, stair_marginal_add,
                (const stair_marginal_shape *s, const double *xi, const double *mean, const double *c,
                 double *work, double *top, double *sums));

/* Sums of one replicate, times exp(top): see stair_marginal_add() in marginal_hot.c. */
typedef struct {
    double top;
    double *sum; /* (count) */
} replicate_sums;

struct stair_marginal {
    const stair_model *model;
    stair_marginal_shape shape;
    int p;                   /* P */
    int d, b, q, count;      /* numbers of u, v and both; of the sums */
    double *map;             /* (given + linear, P): A */
    double *omega, *cov;     /* (rows, M), (rows, rows): of A Z */
    double *lower, *inverse; /* (given, given): factor of V_uu, and its inverse */
    double *gain, *rest, *label;
    double
        *even[LEVELS][TABLES]; /* (d, d): gives the first points of a table the second moments of normals */
    double *rotation, *turned; /* (d, d) */
    double *xi, *u, *mean, *c, *sums, *work, *scratch; /* of a group of points */
    double *total, *second;                            /* (count); (q, q) and more: of finish */
    replicate_sums part[STAIR_MARGINAL_MOST];
    double *memory;
};

bool stair_marginal_exists(const stair_model *model)
{
    return model->ops->marginal && model->info.output_noisy;
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Memory as it is handed out; without a base it is only counted. */
typedef struct {
    double *base;
    size_t used;
} pool;

static double *take(pool *at, size_t n)
{
    double *here = at->base ? at->base + at->used : NULL;
    at->used += (n + 7) / 8 * 8; /* whole cache lines */
    return here;
}

/* Places all arrays; returns how many doubles they are. */
static size_t place(stair_marginal *x, double *base)
{
    pool at = {.base = base};
    size_t m = (size_t)x->shape.m, k = (size_t)x->shape.labels, p = (size_t)x->p, d = (size_t)x->d,
           b = (size_t)x->b, q = (size_t)x->q, given = (size_t)x->shape.given,
           linear = (size_t)x->shape.linear, rows = given + linear;
    x->map = take(&at, rows * p);
    x->omega = take(&at, rows * m);
    x->cov = take(&at, rows * rows);
    x->lower = take(&at, given * given);
    x->inverse = take(&at, given * given);
    x->gain = take(&at, linear * given);
    x->rest = take(&at, linear * linear);
    x->label = take(&at, k);
    x->rotation = take(&at, d * d);
    x->turned = take(&at, d * d);
    x->xi = take(&at, STAIR_GROUP * d);
    x->u = take(&at, STAIR_GROUP * d);
    x->mean = take(&at, STAIR_GROUP * b);
    x->c = take(&at, STAIR_GROUP * k * b);
    x->sums = take(&at, STAIR_GROUP * (size_t)x->count);
    x->work = take(&at, STAIR_GROUP * (2 * k * b + 2 * k * k + 3 * k + q));
    x->scratch = take(&at, x->model->ops->marginal->scratch(x->model));
    x->total = take(&at, (size_t)x->count);
    x->second = take(&at, q * q + q * p * m + q);
    for (int r = 0; r < STAIR_MARGINAL_MOST; r++) x->part[r].sum = take(&at, (size_t)x->count);
    return at.used;
}

stair_status stair_marginal_create(stair_context *context, const stair_model *model, stair_marginal **out)
{
    stair_marginal *x = *out = calloc(1, sizeof *x);
    if (!x) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    const stair_model_info *info = &model->info;
    int given, linear;
    model->ops->marginal->rows(model, &given, &linear, NULL);
    x->model = model;
    x->p = info->indices;
    x->d = given * info->tokens;
    x->b = linear * info->tokens;
    x->q = x->d + x->b;
    x->count = 1 + x->q + x->q * (x->q + 1) / 2 + x->b * (x->b + 1) / 2;
    x->shape = (stair_marginal_shape){.m = info->tokens,
                                      .labels = info->label_size,
                                      .given = given,
                                      .linear = linear,
                                      .noise = info->noise};
    x->memory = aligned_alloc(64, place(x, NULL) * sizeof(double));
    if (!x->memory) {
        stair_marginal_destroy(out);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    place(x, x->memory);
    x->shape.omega = x->omega;
    x->shape.lower = x->lower;
    x->shape.gain = x->gain;
    x->shape.rest = x->rest;
    x->shape.label = x->label;
    model->ops->marginal->rows(model, &given, &linear, x->map);
    return STAIR_OK;
}

void stair_marginal_destroy(stair_marginal **out)
{
    stair_marginal *x = *out;
    if (!x) return;
    for (int level = 0; level < LEVELS; level++)
        for (int table = 0; table < TABLES; table++) free(x->even[level][table]);
    free(x->memory);
    free(x);
    *out = NULL;
}

/* ---- the sample ---------------------------------------------------------------------------------- */

/* omega and V of A Z. */
static void reduce(stair_marginal *x, const double *omega, const double *cov)
{
    int rows = x->shape.given + x->shape.linear, p = x->p;
    for (int i = 0; i < rows; i++) {
        double half[STAIR_MAX_INDICES] = {0};
        for (int k = 0; k < p; k++)
            for (int j = 0; j < p && x->map[i * p + k] != 0; j++)
                half[j] += x->map[i * p + k] * cov[k * p + j];
        for (int j = 0; j < rows; j++) {
            x->cov[i * rows + j] = 0;
            for (int k = 0; k < p; k++) x->cov[i * rows + j] += half[k] * x->map[j * p + k];
        }
        for (int t = 0; t < x->shape.m; t++) {
            x->omega[i * x->shape.m + t] = 0;
            for (int k = 0; k < p; k++)
                x->omega[i * x->shape.m + t] += x->map[i * p + k] * omega[k * x->shape.m + t];
        }
    }
}

/* G = V_vu V_uu^-1 and S = V_vv - G V_uv */
static void condition(stair_marginal *x)
{
    int n = x->shape.given, l = x->shape.linear, rows = n + l;
    for (int i = 0; i < l; i++) {
        double half[STAIR_MAX_INDICES]; /* V_vu lower^-T */
        for (int j = 0; j < n; j++) {
            half[j] = 0;
            for (int k = 0; k <= j; k++) half[j] += x->cov[(n + i) * rows + k] * x->inverse[j * n + k];
        }
        for (int j = 0; j < n; j++) {
            x->gain[i * n + j] = 0;
            for (int k = j; k < n; k++) x->gain[i * n + j] += half[k] * x->inverse[k * n + j];
        }
    }
    for (int i = 0; i < l; i++)
        for (int j = 0; j < l; j++) {
            x->rest[i * l + j] = x->cov[(n + i) * rows + n + j];
            for (int k = 0; k < n; k++) x->rest[i * l + j] -= x->gain[i * n + k] * x->cov[k * rows + n + j];
        }
}

bool stair_marginal_set(stair_marginal *x, const double *label, const double *omega, const double *cov)
{
    int n = x->shape.given, rows = n + x->shape.linear;
    double known[STAIR_SQUARE], unused;
    reduce(x, omega, cov);
    memcpy(x->label, label, sizeof(double) * (size_t)x->shape.labels);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) known[i * n + j] = x->cov[i * rows + j];
    if (!stair_matrix_whiten(n, known, x->lower, x->inverse, &unused)) return false;
    condition(x);
    return true;
}

/* ---- a replicate ------------------------------------------------------------------------------------ */

/* even (d, d) with even (1/n) sum xi xi^T even^T = 1 over the first n points of a table. */
static const double *even_points(stair_marginal *x, const double *table, int which, int n)
{
    int level = 0, d = x->d;
    while (STAIR_MARGINAL_FIRST << level < n) level++;
    double **kept = &x->even[level][which], *even = *kept;
    if (even) return even;
    even = malloc(sizeof(double) * 3 * (size_t)(d * d));
    if (!even) return NULL;
    double *second = even + d * d, *lower = second + d * d, unused;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += table[i * STAIR_QMC_TABLE + k] * table[j * STAIR_QMC_TABLE + k];
            second[i * d + j] = second[j * d + i] = sum / n;
        }
    if (!stair_matrix_whiten(d, second, lower, even, &unused)) { /* fewer points than coordinates */
        for (int i = 0; i < d * d; i++) even[i] = i % (d + 1) == 0;
    }
    return *kept = even;
}

/* Points k .. k + 7 of a table, turned, into xi (d, 8); and the same mirrored. */
static void turn_points(stair_marginal *x, const double *table, int k)
{
    int d = x->d;
    memset(x->xi, 0, sizeof(double) * STAIR_GROUP * (size_t)d);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            for (int s = 0; s < STAIR_GROUP; s++)
                x->xi[i * STAIR_GROUP + s] += x->turned[i * d + j] * table[j * STAIR_QMC_TABLE + k + s];
}

static void add_group(stair_marginal *x, double *top)
{
    stair_marginal_place_table[stair_isa()](&x->shape, x->xi, x->u, x->mean);
    x->model->ops->marginal->mix(x->model, x->u, x->scratch, x->c);
    stair_marginal_add_table[stair_isa()](&x->shape, x->xi, x->mean, x->c, x->work, top, x->sums);
}

/* turned (d, d): a random rotation of this sample and replicate, times even */
static void choose_rotation(stair_marginal *x, uint64_t seed, uint64_t sample, const double *even)
{
    int d = x->d;
    stair_rng_normals(seed, STAIR_RNG_SHIFT, sample, d * d, x->rotation);
    stair_matrix_orthonormalise(d, x->rotation);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            x->turned[i * d + j] = 0;
            for (int k = j; k < d; k++) x->turned[i * d + j] += x->rotation[i * d + k] * even[k * d + j];
        }
}

bool stair_marginal_sum(stair_marginal *x, uint64_t seed, uint64_t sample, int r, int n)
{
    int d = x->d, which = r % TABLES;
    const double *tables = stair_qmc_normals(d);
    if (!tables) return false;
    const double *table = tables + (size_t)which * (size_t)d * STAIR_QMC_TABLE,
                 *even = even_points(x, table, which, n);
    if (!even) return false;
    double top = -INFINITY, *sum = x->part[r].sum;
    choose_rotation(x, seed + 1 + (uint64_t)r, sample, even);
    memset(x->sums, 0, sizeof(double) * STAIR_GROUP * (size_t)x->count);
    for (int k = 0; k < n; k += STAIR_GROUP) {
        turn_points(x, table, k);
        add_group(x, &top);
        for (int i = 0; i < STAIR_GROUP * d; i++) x->xi[i] = -x->xi[i];
        add_group(x, &top);
    }
    x->part[r].top = top;
    for (int i = 0; i < x->count; i++) {
        sum[i] = 0;
        for (int s = 0; s < STAIR_GROUP; s++) sum[i] += x->sums[i * STAIR_GROUP + s] / (2 * n);
    }
    return true;
}

/* ---- the posterior ---------------------------------------------------------------------------------- */

/* s (rows, M) from t = (xi, a): s_u = lower^-T xi - G^T a, s_v = a; in place. */
static void unwhiten(const stair_marginal *x, double *t)
{
    int n = x->shape.given, m = x->shape.m;
    for (int token = 0; token < m; token++) {
        double out[STAIR_MAX_INDICES];
        for (int i = 0; i < n; i++) {
            out[i] = 0;
            for (int k = i; k < n; k++) out[i] += x->inverse[k * n + i] * t[k * m + token];
            for (int k = 0; k < x->shape.linear; k++) out[i] -= x->gain[k * n + i] * t[(n + k) * m + token];
        }
        for (int i = 0; i < n; i++) t[i * m + token] = out[i];
    }
}

/* out (P, M) = A^T s */
static void lift(const stair_marginal *x, const double *s, double *out)
{
    int m = x->shape.m;
    for (int i = 0; i < x->p; i++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int k = 0; k < x->shape.given + x->shape.linear; k++)
                sum += x->map[k * x->p + i] * s[k * m + t];
            out[i * m + t] = sum;
        }
}

/* Mean over replicates, and the scale that it is times exp of. */
static double add_replicates(stair_marginal *x, int from, int to)
{
    double top = -INFINITY;
    for (int r = from; r < to; r++) top = fmax(top, x->part[r].top);
    memset(x->total, 0, sizeof(double) * (size_t)x->count);
    for (int r = from; r < to; r++) {
        double factor = exp(x->part[r].top - top) / (to - from);
        for (int i = 0; i < x->count && x->part[r].top > -INFINITY; i++)
            x->total[i] += factor * x->part[r].sum[i];
    }
    return top;
}

/* dg (PM, PM) from second (q, q), the second derivative of log Z in the coordinates t. */
static void lift_square(stair_marginal *x, double *second, double *dg)
{
    int q = x->q, size = x->p * x->shape.m;
    double *rows = second + q * q, *column = rows + q * size; /* (q, PM), (q) */
    for (int i = 0; i < q; i++) {
        unwhiten(x, second + i * q);
        lift(x, second + i * q, rows + i * size);
    }
    for (int j = 0; j < size; j++) {
        double out[STAIR_MAX_CELLS];
        for (int i = 0; i < q; i++) column[i] = rows[i * size + j];
        unwhiten(x, column);
        lift(x, column, out);
        for (int i = 0; i < size; i++) dg[i * size + j] = out[i];
    }
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++)
            dg[i * size + j] = dg[j * size + i] = 0.5 * (dg[i * size + j] + dg[j * size + i]);
}

void stair_marginal_finish(stair_marginal *x, int from, int to, double *logz, double *g, double *dg)
{
    int q = x->q, d = x->d;
    double top = add_replicates(x, from, to), mass = x->total[0], *mean = x->total + 1, *second = x->second;
    const double *moment = mean + q, *inner = moment + q * (q + 1) / 2;
    *logz = log(mass) + top - 0.5 * x->shape.labels * log(2 * M_PI);
    for (int i = 0; i < q; i++) mean[i] /= mass;
    for (int i = 0; i < q; i++)
        for (int j = 0; j <= i; j++) {
            double value = *moment++ / mass - mean[i] * mean[j];
            if (i == j && i < d) value -= 1;
            if (j >= d) value -= *inner++ / mass;
            second[i * q + j] = second[j * q + i] = value;
        }
    unwhiten(x, mean);
    lift(x, mean, g);
    lift_square(x, second, dg);
}
