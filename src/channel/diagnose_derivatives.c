/* Derivatives of the channel against differences of it.
 *
 *   d log Z = g . d omega + 1/2 sum_m tr dV (dg_mm + g_m g_m^T),     d g = dg d omega
 *
 * omega moves along an axis of V by a part of its standard deviation, V by a part of itself between two
 * of its axes.  What is differentiated is the residual of the identity, with the displacements that
 * were really represented, so rounding of omega and V does not count.  Of four steps, each half of the
 * last, three extrapolate to order six: the three whose truncation and amplified errors are least. */
#include "channel/diagnose.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

static const struct {
    double omega_step; /* largest step, in standard deviations, for an error of one; */
    double cov_step;   /* the same of V, relative; */
    double fall;       /* both shrink with this power of the error, where order six balances it */
    double slope;      /* the tolerances where the errors reported are negligible: of first derivatives */
    double second;     /* and of second ones */
    double moved;      /* share of the distance to the limit of longer steps that a limit may be wrong by */
} tuning = {.omega_step = 4, .cov_step = 1, .fall = 1.0 / 7, .slope = 1e-6, .second = 1e-7, .moved = 0.1};

typedef struct {
    double value, uncertain; /* truncation and amplified errors */
} limit;

/* Limit of residuals at h, h/2, h/4 whose values have the given error; what the last order changed
 * stands for what the next would. */
static limit extrapolate_three(const double *r, double h, double error)
{
    double coarse = (4 * r[1] - r[0]) / 3, fine = (4 * r[2] - r[1]) / 3, best = (16 * fine - coarse) / 15;
    double truncation = fmax(fabs(best - fine), 0.02 * fabs(fine - r[2]));
    return (limit){best, truncation + STAIR_ALLOWANCE * 1.65 * error / (h / 4)};
}

/* Where the first steps reach over a place at which a posterior goes from one mode to another, no order holds
 * yet, and three steps may agree by chance: their limit and that of shorter ones then do not.  The distance
 * of the two is what the first is wrong by, and a part of it the second. */
static limit extrapolate(const double r[STAIR_LEVELS], double h, double error)
{
    limit best = extrapolate_three(r, h, error), before = best;
    for (int from = 1; from + 3 <= STAIR_LEVELS; from++) {
        limit next = extrapolate_three(r + from, ldexp(h, -from), error);
        double moved = fabs(next.value - before.value);
        before = next;
        next.uncertain += tuning.moved * moved;
        best.uncertain += moved;
        if (next.uncertain < best.uncertain) best = next;
    }
    return best;
}

static size_t row_size(const stair_survey *s)
{
    return 1 + 2 * (size_t)s->size + (size_t)(s->indices * s->indices);
}

static double *change_row(const stair_survey *s, int level, size_t i)
{
    return s->change + ((size_t)level * s->most + i) * row_size(s);
}

static double *direction_of(const stair_survey *s, size_t i)
{
    return s->direction + i * ((size_t)s->size + (size_t)(s->indices * s->indices));
}

/* Along axis (sample mod P), with random shares of the tokens; returns the first step. */
static double aim_omega(stair_survey *s, size_t i)
{
    int p = s->indices, m = s->tokens, size = s->size, k = (int)((s->first + i) % (uint64_t)p);
    double values[STAIR_MAX_INDICES], axes[STAIR_SQUARE], share[STAIR_MAX_TOKENS];
    double *d = direction_of(s, i), bend = 1;
    const double *dg = s->base.dg + i * (size_t)(size * size);
    stair_survey_axes(s, i, values, axes);
    stair_rng_normals(s->options->seed, STAIR_RNG_INIT, s->first + i, m, share);
    double length = stair_survey_norm((size_t)m, share);
    memset(d, 0, sizeof(double) * (size_t)(size + p * p));
    for (int r = 0; r < p; r++)
        for (int t = 0; t < m; t++) d[r * m + t] = sqrt(values[k]) * axes[r * p + k] * share[t] / length;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++) bend += d[a] * dg[a * size + b] * d[b];
    return fmin(1, tuning.omega_step * pow(s->base.error[i], tuning.fall)) / sqrt(fmax(1, bend));
}

/* The symmetric product of axes (sample mod P) and the next, in units of V. */
static double aim_cov(stair_survey *s, size_t i)
{
    int p = s->indices, size = s->size, j = (int)((s->first + i) % (uint64_t)p);
    int k = (int)((s->first + i) / (uint64_t)p % (uint64_t)p);
    double values[STAIR_MAX_INDICES], axes[STAIR_SQUARE], *d = direction_of(s, i);
    stair_survey_axes(s, i, values, axes);
    memset(d, 0, sizeof(double) * (size_t)(size + p * p));
    for (int a = 0; a < p; a++)
        for (int b = 0; b < p; b++)
            d[size + a * p + b] = 0.5 * sqrt(values[j] * values[k]) *
                                  (axes[a * p + j] * axes[b * p + k] + axes[a * p + k] * axes[b * p + j]);
    return fmin(0.3, tuning.cov_step * pow(s->base.error[i], tuning.fall));
}

/* other = base displaced by t times its direction */
static void displace(stair_survey *s, size_t i, double t)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices), labels = (size_t)s->label_size;
    const double *d = direction_of(s, i);
    for (size_t k = 0; k < size; k++) s->other.omega[i * size + k] = s->base.omega[i * size + k] + t * d[k];
    for (size_t k = 0; k < square; k++)
        s->other.cov[i * square + k] = s->base.cov[i * square + k] + t * d[size + k];
    memcpy(s->other.labels + i * labels, s->base.labels + i * labels, labels * sizeof(double));
}

/* change += sign (log Z, omega, V, g) of the displaced point */
static void add_change(stair_survey *s, int level, size_t i, double sign)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    double *row = change_row(s, level, i);
    *row++ += sign * s->other.logz[i];
    for (size_t k = 0; k < size; k++) *row++ += sign * s->other.omega[i * size + k];
    for (size_t k = 0; k < square; k++) *row++ += sign * s->other.cov[i * square + k];
    for (size_t k = 0; k < size; k++) *row++ += sign * s->other.g[i * size + k];
}

/* Differences of all points; step and error (most): the first step, the largest error met. */
static stair_status difference(stair_survey *s, double (*aim)(stair_survey *, size_t), double *step,
                               double *error)
{
    memset(s->change, 0, sizeof(double) * STAIR_LEVELS * s->most * row_size(s));
    for (size_t i = 0; i < s->n; i++) {
        step[i] = aim(s, i);
        error[i] = s->base.error[i];
    }
    for (int level = 0; level < STAIR_LEVELS; level++)
        for (int sign = -1; sign <= 1; sign += 2) {
            for (size_t i = 0; i < s->n; i++) displace(s, i, sign * ldexp(step[i], -level));
            STAIR_TRY(stair_survey_evaluate(s, &s->channel, &s->other));
            for (size_t i = 0; i < s->n; i++) {
                add_change(s, level, i, sign);
                error[i] = fmax(error[i], s->other.error[i]);
            }
        }
    return STAIR_OK;
}

/* What the identity says of d log Z for a change of omega and V. */
static double predicted(const stair_survey *s, size_t i, const double *omega, const double *cov)
{
    int p = s->indices, m = s->tokens, size = s->size;
    const double *g = s->base.g + i * (size_t)size, *dg = s->base.dg + i * (size_t)(size * size);
    double sum = 0;
    for (int k = 0; k < size; k++) sum += g[k] * omega[k];
    for (int a = 0; a < p; a++)
        for (int b = 0; b < p; b++)
            for (int t = 0; t < m; t++)
                sum +=
                    0.5 * cov[a * p + b] * (dg[(a * m + t) * size + b * m + t] + g[a * m + t] * g[b * m + t]);
    return sum;
}

static void note_slope(stair_survey *s, stair_check check, size_t i, double step, double error)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    double residual[STAIR_LEVELS];
    const double *d = direction_of(s, i);
    for (int level = 0; level < STAIR_LEVELS; level++) {
        const double *row = change_row(s, level, i);
        residual[level] = (row[0] - predicted(s, i, row + 1, row + 1 + size)) / ldexp(step, 1 - level);
    }
    limit at = extrapolate(residual, step, error);
    double g = stair_survey_norm(size, s->base.g + i * size),
           dg = stair_survey_norm(size * size, s->base.dg + i * size * size);
    double along = stair_survey_norm(size, d), across = stair_survey_norm(square, d + size);
    double answer = error * (g * along + across * (0.5 * sqrt(s->tokens) * dg + g * g));
    double scale = 1 + fabs(predicted(s, i, d, d + size));
    stair_survey_note(s, check, fabs(at.value) / scale,
                      tuning.slope + (at.uncertain + STAIR_ALLOWANCE * answer) / scale);
}

/* Along each axis of V, in its units: an error of g relative to |g| matters least where V is small. */
static void note_second(stair_survey *s, size_t i, double step, double error)
{
    int p = s->indices, m = s->tokens, size = s->size;
    double values[STAIR_MAX_INDICES], axes[STAIR_SQUARE];
    double *residual = s->scratch; /* (STAIR_LEVELS, size) */
    const double *dg = s->base.dg + i * (size_t)(size * size), *d = direction_of(s, i);
    stair_survey_axes(s, i, values, axes);
    for (int level = 0; level < STAIR_LEVELS; level++) {
        const double *omega = change_row(s, level, i) + 1, *g = omega + size + p * p;
        for (int a = 0; a < size; a++) {
            double sum = g[a];
            for (int b = 0; b < size; b++) sum -= dg[a * size + b] * omega[b];
            residual[level * size + a] = sum / ldexp(step, 1 - level);
        }
    }
    double noise = error * stair_survey_norm((size_t)size, s->base.g + i * (size_t)size);
    double answer = error * stair_survey_norm((size_t)(size * size), dg) * stair_survey_norm((size_t)size, d);
    for (int k = 0; k < p; k++)
        for (int t = 0; t < m; t++) {
            double r[STAIR_LEVELS] = {0}, unit = sqrt(values[k]);
            for (int level = 0; level < STAIR_LEVELS; level++)
                for (int a = 0; a < p; a++)
                    r[level] += unit * axes[a * p + k] * residual[level * size + a * m + t];
            limit at = extrapolate(r, step, unit * noise);
            stair_survey_note(s, STAIR_CHECK_SECOND, fabs(at.value),
                              tuning.second + at.uncertain + STAIR_ALLOWANCE * unit * answer);
        }
}

stair_status stair_survey_derivatives(stair_survey *s)
{
    double step[STAIR_PORTION], error[STAIR_PORTION];
    size_t before = s->finding[STAIR_CHECK_SECOND].points;
    STAIR_TRY(difference(s, aim_omega, step, error));
    for (size_t i = 0; i < s->n; i++) {
        note_slope(s, STAIR_CHECK_SLOPE, i, step[i], error[i]);
        note_second(s, i, step[i], error[i]);
    }
    s->finding[STAIR_CHECK_SECOND].points = before + s->n;
    STAIR_TRY(difference(s, aim_cov, step, error));
    for (size_t i = 0; i < s->n; i++) note_slope(s, STAIR_CHECK_HEAT, i, step[i], error[i]);
    return STAIR_OK;
}
