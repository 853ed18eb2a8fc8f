/* State evolution of the algorithm as it is run, for any start and damping: a population of samples with
 * D infinite.
 *
 * omega^0, omega^1, ... and Z are jointly Gaussian per token, with covariances M_t = E[W^t W*^T] and G_ts =
 * E[W^t W^sT] (P x P).  What the next estimate is made of follows from averages over the population:
 *
 *   A_t  = -alpha E sum_m dg_mm,   S_ts = alpha E sum_m g^t_m g^s_m^T
 *   mu_t = alpha E sum_m g^t_m Z_m^T + A_t M_t                  (Stein)
 *   b^t  = mu_t W* + e_t,  E e_t e_s^T = S_ts;   f = F b^t + H S,   W^(t+1) = (1-d) f + d W^t
 *
 * with alpha times H where the embedding has H blocks, which a row sees one of, and entries between rows of
 * different blocks zero throughout; S is the side information, F and H as in step.c.  On the Nishimori line
 * (a start that is a posterior mean, no damping) M_t = G_tt = 1 - V_t and this is the recursion for Q of the
 * paper; a random start or damping leaves the line, and the past of omega enters through G.  Reference:
 * Javanmard, Montanari, Information and Inference 2 (2013).
 *
 * Z and the first noise are points of a randomly shifted lattice; independent replicates give the error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"
#include "core/spectral.h"
#include "core/stats.h"
#include "gamp/gamp.h"

static const struct {
    double known; /* conditional variance, relative, below which omega^t is known from its past */
} tuning = {.known = 1e-11};

typedef struct {
    const stair_model *model;
    const stair_gamp_options *options;
    stair_channel_options channel;
    int p, m, count, n;      /* count: of iterations; n: samples */
    double side, damping;    /* l, d */
    double v[STAIR_SQUARE];  /* V of the present iteration */
    double a[STAIR_SQUARE];  /* A_t */
    double mu[STAIR_SQUARE]; /* mu_t */
    double h[STAIR_SQUARE];  /* H = sqrt(l) (1 + (1-l) A)^-1 */
    bool past;               /* the past of omega matters: with damping */
    double *z, *labels;      /* (n, P, M), (n, K) */
    double *noise, *g;       /* (count, n, P, M): what omega^t adds to its past, and g^t */
    double *omega, *dg;      /* (n, P, M), (n, PM, PM) */
    double *big_g, *s;       /* (count, count, P, P): G, S */
    double *mm, *r, *sig;    /* (count, P, P): M_t; E[e_t W^uT] for the present t; E[S W^uT] */
    double *root;            /* (count, count, P, P): omega^t = M_t Z + sum_k root_tk noise_k */
    double *inverse, *f;     /* (count, P, P): of root_tt; F of every step */
} population;

/* Matrix (t, u) of a (count, count, P, P), and t of a (count, P, P). */
static double *at(const population *x, double *a, int t, int u)
{
    return a + ((size_t)t * (size_t)x->count + (size_t)u) * (size_t)(x->p * x->p);
}
static double *of(const population *x, double *a, int t)
{
    return a + (size_t)t * (size_t)(x->p * x->p);
}

/* out (P, P) += scale * a b, or a b^T */
static void multiply(int p, double scale, const double *a, const double *b, bool transposed, double *out)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            for (int k = 0; k < p; k++)
                out[i * p + j] += scale * a[i * p + k] * (transposed ? b[j * p + k] : b[k * p + j]);
}

/* root_tk for k <= t and the inverse of root_tt, by Cholesky in blocks: the covariance of omega^t and omega^k
 * given Z is G_tk - M_t M_k^T, and that of omega^t given its past as well is root_tt^2. */
static void condition(population *x, int t)
{
    int p = x->p, first = x->past ? 0 : t;
    size_t size = sizeof(double) * (size_t)(p * p);
    double rest[STAIR_SQUARE];
    for (int k = first; k <= t; k++) {
        memcpy(rest, at(x, x->big_g, t, k), size);
        multiply(p, -1, of(x, x->mm, t), of(x, x->mm, k), true, rest);
        for (int j = first; j < k; j++)
            multiply(p, -1, at(x, x->root, t, j), at(x, x->root, k, j), true, rest);
        if (k == t) break;
        memset(at(x, x->root, t, k), 0, size);
        multiply(p, 1, rest, of(x, x->inverse, k), false, at(x, x->root, t, k));
    }
    stair_spectral_roots(p, rest, 0, tuning.known, at(x, x->root, t, t), of(x, x->inverse, t));
}

/* out (P, M) += a (P, P) b (P, M) */
static void add_product(int p, int m, const double *a, const double *b, double *out)
{
    for (int i = 0; i < p; i++)
        for (int k = 0; k < p; k++)
            for (int t = 0; t < m; t++) out[i * m + t] += a[i * p + k] * b[k * m + t];
}

/* omega^t of every sample. */
static void draw_omega(population *x, int t)
{
    size_t cells = (size_t)(x->p * x->m), all = (size_t)x->n * cells;
    memset(x->omega, 0, all * sizeof(double));
    for (int i = 0; i < x->n; i++) {
        double *omega = x->omega + (size_t)i * cells;
        add_product(x->p, x->m, of(x, x->mm, t), x->z + (size_t)i * cells, omega);
        for (int k = x->past ? 0 : t; k <= t; k++) /* without a past one noise serves every iteration */
            add_product(x->p, x->m, at(x, x->root, t, k),
                        x->noise + (x->past ? (size_t)k * all : 0) + (size_t)i * cells, omega);
    }
}

/* g^t, A_t, mu_t and S_tu */
static stair_status denoise(stair_context *context, population *x, int t)
{
    int p = x->p, m = x->m, pm = p * m;
    size_t all = (size_t)x->n * (size_t)pm;
    double *g = x->g + (size_t)t * all, *a = x->a, *mu = x->mu,
           alpha = x->options->alpha * x->model->blocks / x->n;
    stair_channel_result result = {.g = g, .dg = x->dg};
    STAIR_TRY(stair_channel_evaluate(context, x->model, &x->channel, 0, (size_t)x->n, x->labels, x->omega, 1,
                                     x->v, &result));
    memset(a, 0, sizeof(double) * (size_t)(p * p));
    memset(mu, 0, sizeof(double) * (size_t)(p * p));
    for (int u = x->past ? 0 : t; u <= t; u++) memset(at(x, x->s, t, u), 0, sizeof(double) * (size_t)(p * p));
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < p; k++)
            for (int l = 0; l < p; l++)
                for (int c = 0; c < m; c++) {
                    double here = alpha * g[(size_t)i * (size_t)pm + (size_t)(k * m + c)];
                    size_t there = (size_t)i * (size_t)pm + (size_t)(l * m + c);
                    a[k * p + l] -=
                        alpha * x->dg[((size_t)i * (size_t)pm + (size_t)(k * m + c)) * (size_t)pm +
                                      (size_t)(l * m + c)];
                    mu[k * p + l] += here * x->z[there];
                    for (int u = x->past ? 0 : t; u <= t; u++)
                        at(x, x->s, t, u)[k * p + l] += here * x->g[(size_t)u * all + there];
                }
    stair_blocks_keep_pairs(x->model, a);
    stair_blocks_keep_pairs(x->model, mu);
    for (int u = x->past ? 0 : t; u <= t; u++) stair_blocks_keep_pairs(x->model, at(x, x->s, t, u));
    multiply(p, 1, a, of(x, x->mm, t), false, mu);
    return STAIR_OK;
}

/* r_u = E[e_t W^uT] for u = 0 .. t: W^(u+1) has (1-d) F e_u, and what W^u has of it */
static void correlate(population *x, int t)
{
    size_t size = sizeof(double) * (size_t)(x->p * x->p);
    memset(of(x, x->r, 0), 0, size);
    for (int u = 0; u < t && x->past; u++) {
        double *next = of(x, x->r, u + 1);
        for (int i = 0; i < x->p * x->p; i++) next[i] = x->damping * of(x, x->r, u)[i];
        multiply(x->p, 1 - x->damping, at(x, x->s, t, u), of(x, x->f, u), true, next);
    }
}

/* F, H and the next V, as in step.c; false when 1 + (1-l) A is singular. */
static bool solve_step(population *x, int t)
{
    int p = x->p;
    double d = x->damping, l = x->side, system[STAIR_SQUARE], *f = of(x, x->f, t);
    for (int i = 0; i < p * p; i++) {
        system[i] = (i % (p + 1) == 0) + (1 - l) * 0.5 * (x->a[i] + x->a[i % p * p + i / p]);
        x->h[i] = i % (p + 1) == 0;
    }
    if (!stair_matrix_solve(p, system, p, x->h, NULL)) return false;
    for (int i = 0; i < p * p; i++) {
        f[i] = (1 - l) * x->h[i];
        x->h[i] *= sqrt(l);
        x->v[i] = (1 - d) * f[i] + d * x->v[i];
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < i; j++)
            x->v[i * p + j] = x->v[j * p + i] = 0.5 * (x->v[i * p + j] + x->v[j * p + i]);
    return true;
}

/* G_(t+1)u and its transpose for u <= t; fmu is F mu_t, `with` becomes E[f W^tT]. */
static void advance_past(population *x, int t, const double *fmu, double *with)
{
    int p = x->p;
    double d = x->damping;
    for (int u = 0; u <= t; u++) {
        double *next = at(x, x->big_g, t + 1, u), *mirror = at(x, x->big_g, u, t + 1);
        memset(with, 0, sizeof(double) * (size_t)(p * p)); /* E[f W^uT] */
        multiply(p, 1, fmu, of(x, x->mm, u), true, with);
        multiply(p, 1, of(x, x->f, t), of(x, x->r, u), false, with);
        multiply(p, 1, x->h, of(x, x->sig, u), false, with);
        for (int i = 0; i < p * p; i++) next[i] = (1 - d) * with[i] + d * at(x, x->big_g, t, u)[i];
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++) mirror[j * p + i] = next[i * p + j];
    }
}

/* self = E[f f^T] = F (mu mu^T + S) F^T + sqrt(l) (F mu H^T + H mu^T F^T) + H H^T */
static void square_of_step(const population *x, int t, const double *fmu, double *self)
{
    int p = x->p;
    const double *f = of(x, x->f, t);
    double half[STAIR_SQUARE] = {0}, l = x->side;
    memset(self, 0, sizeof(double) * (size_t)(p * p));
    multiply(p, 1, fmu, fmu, true, self);
    multiply(p, 1, f, at(x, x->s, t, t), false, half);
    multiply(p, 1, half, f, true, self);
    multiply(p, sqrt(l), fmu, x->h, true, self);
    multiply(p, sqrt(l), x->h, fmu, true, self);
    multiply(p, 1, x->h, x->h, true, self);
}

/* Everything of iteration t + 1; false when it does not exist. */
static bool advance(population *x, int t)
{
    int p = x->p;
    double d = x->damping, l = x->side;
    double fmu[STAIR_SQUARE] = {0}, with[STAIR_SQUARE], self[STAIR_SQUARE];
    if (!solve_step(x, t)) return false;
    multiply(p, 1, of(x, x->f, t), x->mu, false, fmu);
    correlate(x, t);
    advance_past(x, t, fmu, with);
    square_of_step(x, t, fmu, self);
    const double *sig = of(x, x->sig, t), *mm = of(x, x->mm, t), *now = at(x, x->big_g, t, t);
    double *next_sig = of(x, x->sig, t + 1), *next_mm = of(x, x->mm, t + 1),
           *next = at(x, x->big_g, t + 1, t + 1);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            int k = i * p + j, turned = j * p + i;
            next[k] = (1 - d) * (1 - d) * self[k] + (1 - d) * d * (with[k] + with[turned]) + d * d * now[k];
            next_mm[k] = (1 - d) * (fmu[k] + sqrt(l) * x->h[k]) + d * mm[k];
            next_sig[k] = (1 - d) * (sqrt(l) * fmu[turned] + x->h[turned]) + d * sig[k];
        }
    return true;
}

static stair_status allocate(stair_context *context, population *x, double **memory)
{
    size_t n = (size_t)x->n, cells = (size_t)(x->p * x->m), count = (size_t)x->count,
           square = (size_t)(x->p * x->p);
    size_t k = (size_t)x->model->info.label_size, history = x->past ? count : 1;
    double *next = *memory = calloc(n * (2 * cells + k + cells * cells) + n * cells * (history + count) +
                                        square * (3 * count * count + 5 * count),
                                    sizeof(double));
    if (!next) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    x->z = next;
    x->omega = x->z + n * cells;
    x->labels = x->omega + n * cells;
    x->dg = x->labels + n * k;
    x->noise = x->dg + n * cells * cells;
    x->g = x->noise + history * n * cells;
    x->big_g = x->g + count * n * cells;
    x->s = x->big_g + count * count * square;
    x->root = x->s + count * count * square;
    x->mm = x->root + count * count * square;
    x->r = x->mm + count * square;
    x->sig = x->r + count * square;
    x->inverse = x->sig + count * square;
    x->f = x->inverse + count * square;
    return STAIR_OK;
}

/* Z, labels and noise of one replicate */
static void draw_population(population *x, uint64_t seed, uint64_t replicate)
{
    const stair_model_info *info = &x->model->info;
    int cells = x->p * x->m;
    double shift[2 * STAIR_MAX_CELLS], u[2 * STAIR_MAX_CELLS], other[STAIR_MAX_CELLS + STAIR_MAX_LABEL];
    stair_rng_uniforms(seed, STAIR_RNG_SHIFT, (uint64_t)3 << 40 | replicate, 2 * cells, shift);
    for (int i = 0; i < x->n; i++) {
        double *z = x->z + i * cells, *label = x->labels + i * info->label_size;
        uint64_t sample = replicate << 32 | (uint64_t)i;
        stair_qmc_point(2 * cells, (uint64_t)x->n, (uint64_t)i, shift, u);
        stair_rng_normals(seed, STAIR_RNG_NOISE, sample, cells + info->label_size, other);
        for (int k = 0; k < cells; k++) {
            z[k] = stair_qmc_normal(u[k]);
            x->noise[i * cells + k] = stair_qmc_normal(u[cells + k]);
        }
        stair_gamp_label(x->model, z, other, label);
        for (int t = 1; t < x->count && x->past; t++)
            stair_rng_normals(seed + (uint64_t)t, STAIR_RNG_POINTS, sample, cells,
                              x->noise + ((size_t)t * (size_t)x->n + (size_t)i) * (size_t)cells);
    }
}

/* M, G, V at the start, as in state.c. */
static void begin(population *x)
{
    const stair_gamp_options *o = x->options;
    double q = x->side > 0 ? x->side : o->start_overlap, one = stair_blocks_dim(x->model, o->dim),
           spread = o->start > 0 ? o->start : 1 / sqrt(one);
    for (int i = 0; i < x->p * x->p; i++) {
        double unit = i % (x->p + 1) == 0;
        x->mm[i] = unit * (q > 0 ? q : spread / sqrt(one)); /* the size a random overlap has */
        x->big_g[i] = unit * (q > 0 ? q : spread * spread);
        x->sig[i] = unit * sqrt(x->side);
        x->v[i] = unit * (1 - q);
    }
}

/* The whole trajectory of one replicate. */
static stair_status follow(stair_context *context, population *x, uint64_t seed, uint64_t replicate)
{
    draw_population(x, seed, replicate);
    begin(x);
    for (int t = 0; t + 1 < x->count; t++) {
        condition(x, t);
        draw_omega(x, t);
        STAIR_TRY(denoise(context, x, t));
        if (!advance(x, t))
            return stair_fail(context, STAIR_NOT_CONVERGED,
                              "state evolution: 1 + A is singular at iteration %d", t);
    }
    return STAIR_OK;
}

/* Mean and standard error over replicates of tables (replicates, size). */
static void average(int replicates, size_t size, const double *tables, double *mean, double *error)
{
    double values[STAIR_MOST_REPLICATES];
    for (size_t i = 0; i < size; i++) {
        mean[i] = 0;
        for (int r = 0; r < replicates; r++)
            mean[i] += (values[r] = tables[(size_t)r * size + i]) / replicates;
        error[i] = stair_replicate_error(replicates, values);
    }
}

stair_status stair_gamp_theory(stair_context *context, const stair_model *model,
                               const stair_gamp_options *options, const stair_gamp_theory_options *how,
                               int count, double *q, double *q_error, double *m, double *m_error)
{
    STAIR_TRY(stair_gamp_check(context, options));
    STAIR_TRY(stair_gamp_theory_check(context, how));
    STAIR_TRY(stair_blocks_check(context, model, options->dim));
    if (count < 1) return stair_fail(context, STAIR_BAD_INPUT, "a trajectory needs a count of 1");
    population x = {.model = model,
                    .options = options,
                    .channel = stair_channel_defaults(),
                    .p = model->info.indices,
                    .m = model->info.tokens,
                    .count = count,
                    .n = how->points,
                    .side = options->side,
                    .damping = options->damping,
                    .past = options->damping > 0};
    size_t square = (size_t)(x.p * x.p), size = (size_t)count * square;
    double *memory = NULL, *tables = malloc(2 * (size_t)how->replicates * size * sizeof(double));
    x.channel.precision = options->precision;
    stair_status status =
        tables ? allocate(context, &x, &memory) : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int r = 0; r < how->replicates && status == STAIR_OK; r++) {
        status = follow(context, &x, how->seed, (uint64_t)r);
        for (int t = 0; t < count && status == STAIR_OK; t++) {
            memcpy(tables + (size_t)r * size + (size_t)t * square, at(&x, x.big_g, t, t),
                   square * sizeof(double));
            memcpy(tables + (size_t)(how->replicates + r) * size + (size_t)t * square, of(&x, x.mm, t),
                   square * sizeof(double));
        }
    }
    if (status == STAIR_OK) {
        average(how->replicates, size, tables, q, q_error);
        average(how->replicates, size, tables + (size_t)how->replicates * size, m, m_error);
    }
    free(memory);
    free(tables);
    return status;
}
