/* From b and A to the next W and C: a P x P system for every column, the same one for all.
 *
 *   f = (1 + (1-l) A)^-1 (sqrt(l) S + (1-l) b),   F = (1-l) (1 + (1-l) A)^-1
 *
 * Adaptive damping: the self-overlap tr(f f^T/D) and what the variance says of it, tr(1 - F), agree within a
 * few times D^-1/2 per index as long as state evolution holds.  Where they disagree by x more than 5 D^-1/2,
 * the share of the old estimate is at least x^2 / (x^2 + 0.01).  A random start needs this in its first
 * steps: it is all noise, and amplified noise looks like a large estimate. */
#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "gamp/gamp.h"

static const struct {
    double explained;    /* times D^-1/2: disagreement that chance explains, */
    double scale2;       /* square of the rest x of it at which half of the old estimate is kept, */
    double most_damping; /* and never more than this */
    double runaway;      /* self-overlap per index, 1 for the teacher, from which a run has diverged */
} tuning = {.explained = 5, .scale2 = 0.01, .most_damping = 0.95, .runaway = 10};

/* F; and f = on_b b + on_side S. */
static bool solve(const stair_gamp_state *s, const double *a, double *f, double *on_b, double *on_side)
{
    int p = s->p;
    double l = s->problem->side ? s->options->side : 0, system[STAIR_SQUARE], lower[STAIR_SQUARE];
    bool printed = s->variant == STAIR_GAMP_PRINTED_SIDE;
    for (int i = 0; i < p * p; i++) {
        double unit = i % (p + 1) == 0;
        system[i] = printed ? (1 - l) * unit + a[i] : unit + (1 - l) * a[i];
        f[i] = unit;
    }
    if (!stair_matrix_cholesky(p, system, lower)) return false;
    stair_matrix_solve(p, system, p, f, NULL);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            double along = 0; /* F A, which the print applies to S */
            for (int k = 0; k < p; k++) along += f[i * p + k] * a[k * p + j];
            on_b[i * p + j] = (1 - l) * f[i * p + j];
            on_side[i * p + j] = sqrt(l) * (printed ? along : f[i * p + j]);
        }
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++)
            f[i * p + j] = f[j * p + i] = (printed ? 1 : 1 - l) * 0.5 * (f[i * p + j] + f[j * p + i]);
    return true;
}

/* b becomes f. */
static void estimate(stair_gamp_state *s, const double *on_b, const double *on_side)
{
    int p = s->p;
    size_t dim = (size_t)s->dim;
    const double *side = s->problem->side;
    for (size_t d = 0; d < dim; d++) {
        double column[STAIR_MAX_INDICES];
        for (int i = 0; i < p; i++) {
            column[i] = s->b[(size_t)i * dim + d];
            for (int k = 0; k < p; k++) column[i] += s->a[i * p + k] * s->w[(size_t)k * dim + d];
        }
        for (int i = 0; i < p; i++) {
            double sum = 0;
            for (int k = 0; k < p; k++) sum += on_b[i * p + k] * column[k];
            for (int k = 0; side && k < p; k++) sum += on_side[i * p + k] * side[(size_t)k * dim + d];
            s->b[(size_t)i * dim + d] = sum;
        }
    }
}

static double mean_square(const stair_gamp_state *s, const double *w)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)s->p * (size_t)s->dim; i++) sum += w[i] * w[i];
    return sum / ((double)s->one * s->p);
}

static double damping_for(const stair_gamp_state *s, const double *f)
{
    if (!s->options->adaptive) return s->options->damping;
    double said = 1;
    for (int i = 0; i < s->p; i++) said -= f[i * (s->p + 1)] / s->p;
    double x = fmax(0, fabs(mean_square(s, s->b) - said) - tuning.explained * s->scale),
           least = x * x / (x * x + tuning.scale2);
    return fmin(tuning.most_damping, fmax(s->options->damping, least));
}

bool stair_gamp_update(stair_gamp_state *s, double *change)
{
    int p = s->p;
    size_t size = (size_t)p * (size_t)s->dim;
    double f[STAIR_SQUARE], on_b[STAIR_SQUARE], on_side[STAIR_SQUARE], moved = 0;
    if (!solve(s, s->a, f, on_b, on_side)) {
        if (!s->options->adaptive) return false;
        memcpy(s->a, s->gg, sizeof s->a); /* equal to A on average, and never negative */
        if (!solve(s, s->a, f, on_b, on_side)) return false;
    }
    estimate(s, on_b, on_side);
    double d = damping_for(s, f);
    for (size_t i = 0; i < size; i++) {
        double next = (1 - d) * s->b[i] + d * s->w[i];
        moved += (next - s->w[i]) * (next - s->w[i]);
        s->w[i] = next;
    }
    s->cov_change = 0;
    for (int i = 0; i < p * p; i++) {
        double next = (1 - d) * f[i] + d * s->c[i];
        if (i % (p + 1) == 0) s->cov_change = fmax(s->cov_change, fabs(next - s->c[i]) / next);
        s->c[i] = next;
    }
    memcpy(s->f, f, sizeof s->f);
    s->damping = d;
    double *old = s->g;
    s->g = s->next_g;
    s->next_g = old;
    old = s->o;
    s->o = s->next_o;
    s->next_o = old;
    s->iteration++;
    double square = mean_square(s, s->w), floor = s->options->tolerance;
    *change = sqrt(moved / ((double)s->one * p)) / fmax(sqrt(square), floor);
    return isfinite(square) && square < tuning.runaway;
}

stair_status stair_gamp_iterate(stair_context *context, stair_gamp_state *state, double *change, bool *finite)
{
    if (state->variant == STAIR_GAMP_FULL) return stair_gamp_full_step(context, state, change, finite);
    if (state->variant == STAIR_GAMP_BP) return stair_gamp_bp_step(context, state, change, finite);
    const stair_backend *backend = context->backend;
    STAIR_TRY((backend && backend->pass ? backend->pass : stair_gamp_pass)(context, state));
    *finite = stair_gamp_update(state, change);
    return STAIR_OK;
}
