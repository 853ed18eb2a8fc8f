/* Identities of the posterior at the points themselves: the fibre reproduces its label, Cov(Z|y) is a
 * covariance, g and dg + g g^T average to zero over labels, and errors are what they are said to be. */
#include "channel/diagnose.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

enum { NODES = 8 }; /* of each chart of a fibre */

static const struct {
    double fibre;    /* gap of a label from that of its fibre, relative to the label */
    double far;      /* |Z| beyond which nodes of a fibre do not count: the mixing is close to singular */
    double negative; /* eigenvalue of a covariance that is still rounding, of V */
    double nothing;  /* variance, in units of V, that is rounding */
    double chance;   /* that a true identity fails a z-score */
    double finer;    /* precision of the reference, relative to the requested one, */
    double sampled;  /* and when sampled, */
    int more;        /* with so many more nodes */
} tuning = {.fibre = 1e-12,
            .far = 8,
            .negative = 1e-12,
            .nothing = 1e-24,
            .chance = 1e-6,
            .finer = 1e-3,
            .sampled = 0.1,
            .more = 4};

/* ---- forward(fibre(y)) = y --------------------------------------------------------------------- */

/* Largest difference of the label of node i from y, relative; mirror: +1 or -1.  Negative: node skipped. */
static double label_gap(stair_survey *s, const double *label, int node, int mirror)
{
    int m = s->tokens, free = s->f.fibre.free_rows * m;
    double z[STAIR_MAX_CELLS], found[STAIR_MAX_LABEL], gap = 0, scale = 1;
    for (int k = 0; k < s->size; k++) {
        double value =
            k < free ? s->f.nodes.u[k * STAIR_BLOCK + node] : mirror * s->f.nodes.z[k * STAIR_BLOCK + node];
        if (!(fabs(value) < tuning.far)) return -1;
        z[s->model->order[k / m] * m + k % m] = value;
    }
    stair_model_forward(&s->quiet, s->model, 1, z, found);
    for (int k = 0; k < s->label_size; k++) {
        gap = fmax(gap, fabs(found[k] - label[k]));
        scale = fmax(scale, fabs(label[k]));
    }
    return gap / scale;
}

/* Coordinates around omega, as spread as V; those that are not rows of Z standard normal. */
static void scatter(stair_survey *s, size_t i)
{
    int p = s->indices, m = s->tokens;
    double normal[STAIR_MAX_DIM];
    const double *omega = s->base.omega + i * (size_t)s->size, *cov = s->base.cov + i * (size_t)(p * p);
    for (int node = 0; node < NODES; node++) {
        stair_rng_normals(s->options->seed + 2 + (uint64_t)node, STAIR_RNG_INIT, s->first + i, s->f.fibre.dim,
                          normal);
        for (int k = 0; k < s->f.fibre.dim; k++) {
            s->f.nodes.u[k * STAIR_BLOCK + node] = normal[k];
            if (k >= s->f.fibre.free_rows * m) continue;
            int row = s->model->order[k / m];
            s->f.nodes.u[k * STAIR_BLOCK + node] =
                omega[row * m + k % m] + sqrt(cov[row * (p + 1)]) * normal[k];
        }
    }
}

stair_status stair_survey_fibre(stair_survey *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double *label = s->base.labels + i * (size_t)s->label_size;
        double worst = -1;
        STAIR_TRY(stair_fibre_open(s->context, label, s->base.omega + i * (size_t)s->size, &s->f.fibre));
        scatter(s, i);
        for (int chart = 0; chart < s->f.fibre.charts; chart++) {
            stair_fibre_map(&s->f.fibre, chart, NODES, s->f.nodes.u, s->f.nodes.z, s->f.nodes.weight);
            for (int node = 0; node < NODES; node++)
                for (int mirror = s->f.fibre.mirrored ? -1 : 1; mirror <= 1; mirror += 2)
                    worst = fmax(worst, label_gap(s, label, node, mirror));
        }
        if (worst >= 0) stair_survey_note(s, STAIR_CHECK_FIBRE, worst, tuning.fibre);
    }
    return STAIR_OK;
}

/* ---- Cov(Z|y) and averages, along the axes of V and in its units ------------------------------- */

/* x (P, M) <- V^(1/2) rows of x, in the axes of V */
static void to_axes(const stair_survey *s, const double *values, const double *axes, const double *x,
                    double *out)
{
    int p = s->indices, m = s->tokens;
    for (int k = 0; k < p; k++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int a = 0; a < p; a++) sum += axes[a * p + k] * x[a * m + t];
            out[k * m + t] = sqrt(values[k]) * sum;
        }
}

/* out = V^(1/2) dg V^(1/2) in the axes of V; half: room for as much */
static void square_to_axes(const stair_survey *s, const double *values, const double *axes, const double *dg,
                           double *half, double *out)
{
    size_t size = (size_t)s->size;
    double column[STAIR_MAX_CELLS], turned[STAIR_MAX_CELLS];
    for (size_t a = 0; a < size; a++) to_axes(s, values, axes, dg + a * size, half + a * size);
    for (size_t b = 0; b < size; b++) {
        for (size_t a = 0; a < size; a++) column[a] = half[a * size + b];
        to_axes(s, values, axes, column, turned);
        for (size_t a = 0; a < size; a++) out[a * size + b] = turned[a];
    }
}

stair_status stair_survey_covariance(stair_survey *s)
{
    size_t size = (size_t)s->size;
    double values[STAIR_MAX_INDICES], axes[STAIR_SQUARE], spectrum[STAIR_MAX_CELLS];
    double *cov = s->scratch, *half = cov + size * size, *vectors = half;
    if (s->size > 128) return STAIR_OK; /* more than the small eigenvalue routine takes */
    for (size_t i = 0; i < s->n; i++) {
        const double *dg = s->base.dg + i * size * size;
        double skew = 0;
        stair_survey_axes(s, i, values, axes);
        square_to_axes(s, values, axes, dg, half, cov);
        for (size_t a = 0; a < size; a++) {
            cov[a * size + a] += 1;
            for (size_t b = 0; b < a; b++)
                skew = fmax(skew, fabs(dg[a * size + b] - dg[b * size + a]) * values[0]);
        }
        stair_matrix_eigen(s->size, cov, spectrum, vectors);
        /* dg is carried in doubles: rounding of its largest entry shows along the widest axis, that of the
         * distance between modes along all */
        double largest = values[s->indices - 1] / values[0] + spectrum[size - 1];
        double rounding = 4 * DBL_EPSILON * (double)size * largest;
        stair_survey_note(s, STAIR_CHECK_COVARIANCE, fmax(skew, -spectrum[0]), tuning.negative + rounding);
    }
    return STAIR_OK;
}

/* One component of an average: value, and what the reported error leaves open of it. */
static void add_average(stair_survey *s, size_t k, double value, double open)
{
    size_t size = (size_t)s->size, count = size + size * (size + 1) / 2;
    s->sums[k] += value;
    s->sums[count + k] += value * value;
    s->sums[2 * count + k] += open;
}

stair_status stair_survey_averages(stair_survey *s)
{
    size_t size = (size_t)s->size, m = (size_t)s->tokens;
    double values[STAIR_MAX_INDICES], axes[STAIR_SQUARE], g[STAIR_MAX_CELLS];
    double *dg = s->scratch, *half = dg + size * size;
    for (size_t i = 0; i < s->n; i++) {
        double first = s->base.error[i] * stair_survey_norm(size, s->base.g + i * size);
        double second = s->base.error[i] * stair_survey_norm(size * size, s->base.dg + i * size * size);
        stair_survey_axes(s, i, values, axes);
        to_axes(s, values, axes, s->base.g + i * size, g);
        square_to_axes(s, values, axes, s->base.dg + i * size * size, half, dg);
        for (size_t a = 0, k = size; a < size; a++) {
            double unit = sqrt(values[a / m]);
            add_average(s, a, g[a], unit * first);
            for (size_t b = 0; b <= a; b++, k++) {
                double other = sqrt(values[b / m]);
                double open = unit * other * second + unit * first * fabs(g[b]) + other * first * fabs(g[a]);
                add_average(s, k, dg[a * size + b] + g[a] * g[b], open);
            }
        }
    }
    s->seen += s->n;
    return STAIR_OK;
}

static void average_row(stair_survey *s, stair_check check, size_t from, size_t to)
{
    size_t size = (size_t)s->size, count = size + size * (size + 1) / 2;
    double n = (double)s->seen, most = sqrt(2 * log(2 * (double)(to - from) / tuning.chance));
    if (s->seen < 30) return; /* too few for a z-score */
    for (size_t k = from; k < to; k++) {
        double mean = s->sums[k] / n, spread = s->sums[count + k] / n - mean * mean;
        double open = STAIR_ALLOWANCE * s->sums[2 * count + k] / n, excess = fabs(mean) - open;
        double error = sqrt(fmax(spread, tuning.nothing) / (n - 1));
        bool resolved =
            open <= fmax(STAIR_RESOLVED, most * error); /* chance leaves more open than errors do */
        stair_survey_note_as(s, check, resolved, excess <= 0 ? 0 : excess / error, most);
    }
    s->finding[check].points = s->seen;
}

void stair_survey_average_rows(stair_survey *s)
{
    size_t size = (size_t)s->size;
    average_row(s, STAIR_CHECK_MEAN, 0, size);
    average_row(s, STAIR_CHECK_FISHER, size, size + size * (size + 1) / 2);
}

/* ---- errors ------------------------------------------------------------------------------------ */

stair_status stair_survey_honesty(stair_survey *s)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    stair_channel_options finer = s->channel;
    finer.precision = fmax(1e-13, (s->sampled ? tuning.sampled : tuning.finer) * s->channel.precision);
    finer.max_nodes *= tuning.more;
    finer.seed += 1;
    memcpy(s->other.labels, s->base.labels, s->n * (size_t)s->label_size * sizeof(double));
    memcpy(s->other.omega, s->base.omega, s->n * size * sizeof(double));
    memcpy(s->other.cov, s->base.cov, s->n * square * sizeof(double));
    STAIR_TRY(stair_survey_evaluate(s, &finer, &s->other));
    for (size_t i = 0; i < s->n; i++) {
        stair_posterior said = {
            .logz = s->base.logz[i], .g = s->base.g + i * size, .dg = s->base.dg + i * size * size};
        stair_posterior reference = {
            .logz = s->other.logz[i], .g = s->other.g + i * size, .dg = s->other.dg + i * size * size};
        stair_integrand_set(&s->f, s->base.omega + i * size, s->base.cov + i * square);
        double error = stair_posterior_distance(&s->f, &reference, &said);
        s->dishonest += !(error <= STAIR_ALLOWANCE * s->base.error[i] + s->other.error[i]);
        /* a reference with a larger error tells nothing, and an infinite error claims nothing */
        s->compared += isfinite(s->base.error[i]) && s->other.error[i] <= STAIR_ALLOWANCE * s->base.error[i];
    }
    return STAIR_OK;
}
