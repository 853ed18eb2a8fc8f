/* Sums over points of u, and the posterior that they make. */
#include "model/marginal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

enum { LEVELS = 8, TABLES = STAIR_QMC_SHIFTS }; /* of points in a replicate; tables they come from */
_Static_assert(STAIR_MARGINAL_FIRST << (LEVELS - 3) == STAIR_QMC_TABLE, "levels reach the table's end");

/* Sums of one replicate, times exp(top): mass, then of t = (xi, a) first and second moments (i >= j), and of
 * C^T Y^-1 C (i >= j). */
typedef struct {
    double top;
    double *sum; /* (count) */
} replicate_sums;

struct stair_marginal {
    const stair_model *model;
    int p, m, labels;        /* P, M, K */
    int given, linear;       /* rows of u, of v */
    int d, b, q, count;      /* numbers of u, v and both; of the sums */
    double *map;             /* (given + linear, P): A */
    double *omega, *cov;     /* (rows, M), (rows, rows): of A Z */
    double *lower, *inverse; /* (given, given): factor of V_uu, and its inverse */
    double half_logdet;
    double *gain, *rest; /* (linear, given): G; (linear, linear): S */
    double *label;       /* (K) */
    double *even[LEVELS]
                [TABLES]; /* (d, d): makes the second moments of a table's first points those of normals */
    double *rotation, *turned; /* (d, d) */
    double *xi, *u, *mean;     /* (d), (d), (b): a point, rows of u, m(u) */
    double *c, *half;          /* (K, b): C; C S, then Y^-1/2 C */
    double *y, *root, *z;      /* (K, K), (K, K), (K) */
    double *t;                 /* (q): xi and a */
    double *total, *work;      /* (count); (q, q), (rows M, rows M) and more: of finish */
    replicate_sums part[STAIR_MARGINAL_MOST];
    double *memory;
};

bool stair_marginal_exists(const stair_model *model)
{
    return model->ops->marginal && model->info.output_noisy;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static double *take(double **at, int n)
{
    double *here = *at;
    *at += n;
    return here;
}

/* Places all arrays from `at` on; returns how many doubles they are. */
static size_t place(stair_marginal *x, double *at)
{
    double *start = at;
    int rows = x->given + x->linear, k = x->labels, size = x->p * x->m;
    x->map = take(&at, rows * x->p);
    x->omega = take(&at, rows * x->m);
    x->cov = take(&at, rows * rows);
    x->lower = take(&at, x->given * x->given);
    x->inverse = take(&at, x->given * x->given);
    x->gain = take(&at, x->linear * x->given);
    x->rest = take(&at, x->linear * x->linear);
    x->label = take(&at, k);
    x->rotation = take(&at, x->d * x->d);
    x->turned = take(&at, x->d * x->d);
    x->xi = take(&at, x->d);
    x->u = take(&at, x->d);
    x->mean = take(&at, x->b);
    x->c = take(&at, k * x->b);
    x->half = take(&at, k * x->b);
    x->y = take(&at, k * k);
    x->root = take(&at, k * k);
    x->z = take(&at, k);
    x->t = take(&at, x->q);
    x->total = take(&at, x->count);
    x->work = take(&at, x->q * x->q + x->q * size + x->q);
    for (int r = 0; r < STAIR_MARGINAL_MOST; r++) x->part[r].sum = take(&at, x->count);
    return (size_t)(at - start);
}

stair_status stair_marginal_create(stair_context *context, const stair_model *model, stair_marginal **out)
{
    stair_marginal *x = *out = calloc(1, sizeof *x);
    if (!x) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    x->model = model;
    x->p = model->info.indices;
    x->m = model->info.tokens;
    x->labels = model->info.label_size;
    model->ops->marginal->rows(model, &x->given, &x->linear, NULL);
    x->d = x->given * x->m;
    x->b = x->linear * x->m;
    x->q = x->d + x->b;
    x->count = 1 + x->q + x->q * (x->q + 1) / 2 + x->b * (x->b + 1) / 2;
    double none;
    size_t size = place(x, &none); /* pointers that nobody follows */
    x->memory = calloc(size, sizeof(double));
    if (!x->memory) {
        stair_marginal_destroy(out);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    place(x, x->memory);
    model->ops->marginal->rows(model, &x->given, &x->linear, x->map);
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
    int rows = x->given + x->linear, p = x->p;
    for (int i = 0; i < rows; i++) {
        double half[STAIR_MAX_INDICES] = {0};
        for (int k = 0; k < p; k++)
            for (int j = 0; j < p && x->map[i * p + k] != 0; j++)
                half[j] += x->map[i * p + k] * cov[k * p + j];
        for (int j = 0; j < rows; j++) {
            x->cov[i * rows + j] = 0;
            for (int k = 0; k < p; k++) x->cov[i * rows + j] += half[k] * x->map[j * p + k];
        }
        for (int t = 0; t < x->m; t++) {
            x->omega[i * x->m + t] = 0;
            for (int k = 0; k < p; k++) x->omega[i * x->m + t] += x->map[i * p + k] * omega[k * x->m + t];
        }
    }
}

/* G = V_vu V_uu^-1 and S = V_vv - G V_uv */
static void condition(stair_marginal *x)
{
    int n = x->given, l = x->linear, rows = n + l;
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
    int n = x->given, rows = n + x->linear;
    double known[STAIR_SQUARE];
    reduce(x, omega, cov);
    memcpy(x->label, label, sizeof(double) * (size_t)x->labels);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) known[i * n + j] = x->cov[i * rows + j];
    if (!stair_matrix_whiten(n, known, x->lower, x->inverse, &x->half_logdet)) return false;
    condition(x);
    return true;
}

/* ---- one point ------------------------------------------------------------------------------------- */

/* u and m(u) at xi */
static void place_point(stair_marginal *x)
{
    int n = x->given, m = x->m;
    for (int t = 0; t < m; t++) {
        double moved[STAIR_MAX_INDICES];
        for (int i = 0; i < n; i++) {
            moved[i] = 0;
            for (int k = 0; k <= i; k++) moved[i] += x->lower[i * n + k] * x->xi[k * m + t];
            x->u[i * m + t] = x->omega[i * m + t] + moved[i];
        }
        for (int i = 0; i < x->linear; i++) {
            x->mean[i * m + t] = x->omega[(n + i) * m + t];
            for (int k = 0; k < n; k++) x->mean[i * m + t] += x->gain[i * n + k] * moved[k];
        }
    }
}

/* Cholesky factor of y (K, K), in place of the one of core/matrix.h, which is as exact as labels do not need;
 * returns minus the logarithm of its determinant. */
static double factor(int n, const double *y, double *root)
{
    double log_density = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = y[i * n + j];
            for (int k = 0; k < j; k++) sum -= root[i * n + k] * root[j * n + k];
            root[i * n + j] = i == j ? sqrt(sum) : sum / root[j * n + j];
        }
        log_density -= log(root[i * n + i]);
    }
    return log_density;
}

/* Y = C S C^T + D, from C */
static void spread_of_label(stair_marginal *x)
{
    int m = x->m, l = x->linear, b = x->b, n = x->labels;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < l; i++)
            for (int t = 0; t < m; t++) {
                double sum = 0;
                for (int j = 0; j < l; j++) sum += x->c[k * b + j * m + t] * x->rest[j * l + i];
                x->half[k * b + i * m + t] = sum;
            }
    for (int k = 0; k < n; k++)
        for (int j = 0; j <= k; j++) {
            double sum = k == j ? x->model->info.noise : 0;
            for (int i = 0; i < b; i++) sum += x->half[k * b + i] * x->c[j * b + i];
            x->y[k * n + j] = sum;
        }
}

/* Likelihood of u, up to a constant, logarithmic; fills t = (xi, a) and half = Y^-1/2 C. */
static double likelihood(stair_marginal *x)
{
    int b = x->b, n = x->labels;
    place_point(x);
    x->model->ops->marginal->mix(x->model, x->u, x->c);
    spread_of_label(x);
    double energy = factor(n, x->y, x->root);
    for (int k = 0; k < n; k++) {
        double rest = x->label[k], scale = 1 / x->root[k * (n + 1)];
        for (int i = 0; i < b; i++) {
            double value = x->c[k * b + i];
            rest -= value * x->mean[i];
            for (int j = 0; j < k; j++) value -= x->root[k * n + j] * x->half[j * b + i];
            x->half[k * b + i] = value * scale;
        }
        for (int j = 0; j < k; j++) rest -= x->root[k * n + j] * x->z[j];
        x->z[k] = rest * scale;
        energy -= 0.5 * x->z[k] * x->z[k];
    }
    memcpy(x->t, x->xi, sizeof(double) * (size_t)x->d);
    for (int i = 0; i < b; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += x->half[k * b + i] * x->z[k];
        x->t[x->d + i] = sum;
    }
    return energy;
}

static void rescale(int count, replicate_sums *part, double top)
{
    double factor = part->top == -INFINITY ? 0 : exp(part->top - top);
    for (int i = 0; i < count; i++) part->sum[i] *= factor;
    part->top = top;
}

static void add_point(stair_marginal *x, replicate_sums *part)
{
    double energy = likelihood(x), *at = part->sum;
    if (!(energy > -INFINITY)) return; /* a point where the likelihood is zero, or no number */
    if (energy > part->top) rescale(x->count, part, energy);
    double mass = exp(energy - part->top);
    *at++ += mass;
    for (int i = 0; i < x->q; i++) *at++ += mass * x->t[i];
    for (int i = 0; i < x->q; i++)
        for (int j = 0; j <= i; j++) *at++ += mass * x->t[i] * x->t[j];
    for (int i = 0; i < x->b; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < x->labels; k++) sum += x->half[k * x->b + i] * x->half[k * x->b + j];
            *at++ += mass * sum;
        }
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

bool stair_marginal_sum(stair_marginal *x, uint64_t seed, uint64_t sample, int r, int n)
{
    int d = x->d, which = r % TABLES;
    const double *tables = stair_qmc_normals(d);
    if (!tables) return false;
    const double *table = tables + (size_t)which * (size_t)d * STAIR_QMC_TABLE,
                 *even = even_points(x, table, which, n);
    if (!even) return false;
    replicate_sums *part = &x->part[r];
    part->top = -INFINITY;
    memset(part->sum, 0, sizeof(double) * (size_t)x->count);
    stair_rng_normals(seed + 1 + (uint64_t)r, STAIR_RNG_SHIFT, sample, d * d, x->rotation);
    stair_matrix_orthonormalise(d, x->rotation);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            x->turned[i * d + j] = 0;
            for (int k = j; k < d; k++) x->turned[i * d + j] += x->rotation[i * d + k] * even[k * d + j];
        }
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < d; i++) {
            x->xi[i] = 0;
            for (int j = 0; j < d; j++) x->xi[i] += x->turned[i * d + j] * table[j * STAIR_QMC_TABLE + k];
        }
        add_point(x, part);
        for (int i = 0; i < d; i++) x->xi[i] = -x->xi[i];
        add_point(x, part);
    }
    for (int i = 0; i < x->count; i++) part->sum[i] /= 2 * n;
    return true;
}

/* ---- the posterior ---------------------------------------------------------------------------------- */

/* s (rows, M) from t = (xi, a): s_u = lower^-T xi - G^T a, s_v = a; in place. */
static void unwhiten(const stair_marginal *x, double *t)
{
    int n = x->given, m = x->m;
    for (int token = 0; token < m; token++) {
        double out[STAIR_MAX_INDICES];
        for (int i = 0; i < n; i++) {
            out[i] = 0;
            for (int k = i; k < n; k++) out[i] += x->inverse[k * n + i] * t[k * m + token];
            for (int k = 0; k < x->linear; k++) out[i] -= x->gain[k * n + i] * t[(n + k) * m + token];
        }
        for (int i = 0; i < n; i++) t[i * m + token] = out[i];
    }
}

/* out (P, M) = A^T s */
static void lift(const stair_marginal *x, const double *s, double *out)
{
    int m = x->m;
    for (int i = 0; i < x->p; i++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int k = 0; k < x->given + x->linear; k++) sum += x->map[k * x->p + i] * s[k * m + t];
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
    int q = x->q, size = x->p * x->m;
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
    double top = add_replicates(x, from, to), mass = x->total[0], *mean = x->total + 1, *second = x->work;
    const double *moment = mean + q, *inner = moment + q * (q + 1) / 2;
    *logz = log(mass) + top - 0.5 * x->labels * log(2 * M_PI);
    for (int i = 0; i < q; i++) mean[i] /= mass;
    for (int i = 0; i < q; i++)
        for (int j = 0; j <= i; j++) {
            double value = *moment++ / mass - mean[i] * mean[j];
            if (i == j && i < d) value -= 1;
            if (j >= d) value -= *inner++ / mass;
            second[i * q + j] = second[j * q + i] = value;
        }
    memcpy(x->t, mean, sizeof(double) * (size_t)q);
    unwhiten(x, x->t);
    lift(x, x->t, g);
    lift_square(x, second, dg);
}
