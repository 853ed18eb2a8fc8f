/* Modes by Gauss-Newton from many starts.
 *
 * The integrand is exp(-|x(u)|^2/2) weight(u) with x the whitened residual, so Gauss-Newton is the
 * natural step and J^T J the natural width.  When V is small in some direction the distance |x|^2
 * is steep but still smooth on the scale of one, so a coarse pilot sees every basin; its local
 * maxima are the starts.  Full steps of bounded length come first: they follow a narrow bent valley
 * which a descent would have to crawl along.  Damped steps, several to a block of nodes, finish what
 * does not settle that way. */
#include "channel/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/pilot.h"
#include "core/matrix.h"

enum {
    DAMPINGS = 8, /* trial steps per iteration: one group of lanes */
    STARTS = 48   /* kept for climbs */
};

static const struct {
    int iterations;  /* damped steps of one climb, */
    int full_steps;  /* after so many full ones */
    double stride;   /* longest full step, in prior standard deviations */
    double bent;     /* part of |x|^2 / 2 that bends of x may take away along a climb */
    double faint;    /* this far below the floor there is nothing to gain */
    double close;    /* a full step below this many standard deviations is the last */
    int scattered;   /* starts from scattered points */
    int ring;        /* starts around each mode, on two circles */
    double step;     /* of differences, in prior standard deviations */
    double singular; /* determinant of two coordinates, relative, below which a step is none */
} tuning = {.iterations = 24,
            .full_steps = 14,
            .stride = 0.4,
            .bent = 0.3,
            .faint = 20,
            .close = 0.1,
            .scattered = 10,
            .ring = 4,
            .step = 1e-5,
            .singular = 1e-14};

stair_status stair_modes_create(stair_context *context, const stair_integrand *f, stair_modes *modes)
{
    const stair_model *model = f->fibre.model;
    size_t most = (size_t)stair_integrand_most(f), each = most + 2 * most * most;
    modes->count = 0;
    size_t rows = (size_t)f->size + (model->info.output_noisy ? (size_t)model->info.label_size : 0);
    size_t before = each * STAIR_MOST_MODES + 2 * most * STAIR_PILOT_MOST + most * rows;
    size_t starts = STARTS * (most + 2) + 1;
    /* zeros, since groups of lanes reach past the last pilot point: weight zero, but zero times NaN is NaN */
    modes->memory = calloc(before + 2 * most * most + starts, sizeof(double));
    if (!modes->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t k = 0; k < STAIR_MOST_MODES; k++) {
        modes->mode[k].u = modes->memory + each * k;
        modes->mode[k].precision = modes->mode[k].u + most;
        modes->mode[k].lower = modes->mode[k].precision + most * most;
        modes->mode[k].jacobian = modes->memory + each * STAIR_MOST_MODES + 2 * most * STAIR_PILOT_MOST;
        modes->mode[k].scratch = modes->memory + before;
    }
    modes->scratch = modes->memory + before;
    modes->starts = modes->scratch + 2 * most * most;
    modes->pilot = modes->memory + each * STAIR_MOST_MODES;
    modes->pilot_t = modes->pilot + most * STAIR_PILOT_MOST;
    return STAIR_OK;
}

void stair_modes_destroy(stair_modes *modes)
{
    free(modes->memory);
    modes->memory = NULL;
}

double stair_mode_distance2(int dim, const stair_mode *mode, const double *x)
{
    double sum = 0;
    if (dim == 2) {
        double a = x[0] - mode->u[0], b = x[1] - mode->u[1];
        return mode->precision[0] * a * a + 2 * mode->precision[1] * a * b + mode->precision[3] * b * b;
    }
    for (int i = 0; i < dim; i++) {
        double row = 0;
        for (int j = 0; j < dim; j++) row += mode->precision[i * dim + j] * (x[j] - mode->u[j]);
        sum += row * (x[i] - mode->u[i]);
    }
    return sum;
}

/* log of the integrand of one sign at node i of the block evaluated last */
static double log_value(const stair_integrand *f, int sign, int i)
{
    return (sign > 0 ? f->nodes.plus[i] : f->nodes.minus[i]) + log(f->nodes.weight[i]);
}

static double residual(const stair_integrand *f, int sign, int k, int i)
{
    if (k >= f->size) return f->nodes.z[(size_t)k * STAIR_BLOCK + i];
    double a = f->nodes.a[(size_t)k * STAIR_BLOCK + i];
    if (k < f->shape.free_rows * f->shape.tokens) return a;
    return a + sign * f->nodes.b[(size_t)k * STAIR_BLOCK + i];
}

/* Gradient of -log f and J^T J at mode->u by central differences, a block of nodes at a time. */
static void linearise(stair_integrand *f, stair_mode *mode, double *gradient)
{
    int dim = f->dim, rows = f->size + f->shape.residuals, batch = STAIR_BLOCK / 2 - 1;
    double step[STAIR_MAX_DIM], log_weight_slope[STAIR_MAX_DIM], bend[STAIR_MAX_DIM];
    double *jacobian = mode->jacobian;
    double centre[STAIR_MAX_CELLS + STAIR_MAX_LABEL];
    for (int k = 0; k < dim; k++) step[k] = tuning.step * stair_prior_scale(f, k);
    for (int from = 0; from < dim; from += batch) {
        int many = dim - from < batch ? dim - from : batch, n = 1 + 2 * many;
        for (int k = 0; k < dim; k++)
            for (int i = 0; i < n; i++) {
                int axis = from + (i - 1) / 2;
                double move = i && axis == k ? (i % 2 ? step[k] : -step[k]) : 0;
                f->nodes.u[(size_t)k * STAIR_BLOCK + i] = mode->u[k] + move;
            }
        stair_integrand_energies(f, n);
        mode->value = log_value(f, mode->sign, 0);
        for (int r = 0; r < rows; r++) centre[r] = residual(f, mode->sign, r, 0);
        for (int k = from; k < from + many; k++) {
            int up = 1 + 2 * (k - from), down = up + 1;
            double w0 = log(f->nodes.weight[0]), w1 = log(f->nodes.weight[up]),
                   w2 = log(f->nodes.weight[down]);
            log_weight_slope[k] = (w1 - w2) / (2 * step[k]);
            bend[k] = fmax(0, -(w1 - 2 * w0 + w2) / (step[k] * step[k]));
            for (int r = 0; r < rows; r++)
                jacobian[k * rows + r] =
                    (residual(f, mode->sign, r, up) - residual(f, mode->sign, r, down)) / (2 * step[k]);
        }
    }
    for (int i = 0; i < dim; i++) {
        gradient[i] = -log_weight_slope[i];
        for (int r = 0; r < rows; r++) gradient[i] += jacobian[i * rows + r] * centre[r];
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int r = 0; r < rows; r++) sum += jacobian[i * rows + r] * jacobian[j * rows + r];
            /* only the density of auxiliary coordinates confines them */
            if (i == j && i >= f->shape.free_rows * f->shape.tokens) sum += bend[i];
            mode->precision[i * dim + j] = mode->precision[j * dim + i] = sum;
        }
    }
}

/* matrix (dim, dim): scratch */
static bool damped_step(int dim, const double *precision, const double *gradient, double damping,
                        double *matrix, double *step)
{
    if (dim == 2) { /* the usual case, in closed form */
        double a = precision[0] * (1 + damping), b = precision[1], c = precision[3] * (1 + damping),
               det = a * c - b * b;
        step[0] = -(c * gradient[0] - b * gradient[1]) / det;
        step[1] = -(a * gradient[1] - b * gradient[0]) / det;
        return det > tuning.singular * a * c;
    }
    for (int i = 0; i < dim; i++) {
        for (int j = 0; j < dim; j++)
            matrix[i * dim + j] = precision[i * dim + j] * (i == j ? 1 + damping : 1);
        step[i] = -gradient[i];
    }
    return stair_matrix_solve(dim, matrix, 1, step, NULL);
}

/* Moves mode->u to the best of several damped steps; false when it is there already: the full step
 * is short, or no step helps. */
static bool improve(stair_integrand *f, stair_mode *mode, const double *gradient)
{
    static const double dampings[DAMPINGS] = {0, 1e-3, 1e-2, 0.1, 1, 10, 1e3, 1e5};
    int dim = f->dim, best = -1;
    double steps[DAMPINGS][STAIR_MAX_DIM];
    for (int t = 0; t < DAMPINGS; t++) {
        bool solved = damped_step(dim, mode->precision, gradient, dampings[t], mode->scratch, steps[t]);
        for (int k = 0; k < dim; k++)
            f->nodes.u[(size_t)k * STAIR_BLOCK + t] = mode->u[k] + (solved ? steps[t][k] : 0);
    }
    stair_integrand_energies(f, DAMPINGS);
    double value = mode->value;
    for (int t = 0; t < DAMPINGS; t++)
        if (log_value(f, mode->sign, t) > value) {
            value = log_value(f, mode->sign, t);
            best = t;
        }
    if (best < 0) return false;
    for (int k = 0; k < dim; k++) mode->u[k] += steps[best][k];
    double length2 = 0;
    for (int k = 0; k < dim; k++) length2 -= steps[0][k] * gradient[k];
    return !(length2 < tuning.close * tuning.close);
}

/* The Laplace approximation at mode->u; false when it is not a proper maximum. */
static bool settle(stair_integrand *f, stair_mode *mode)
{
    int dim = f->dim;
    double *covariance = mode->scratch, *factor = covariance + dim * dim, half_logdet;
    static const double tau = 6.283185307179586;
    if (!isfinite(mode->value)) return false;
    if (!stair_matrix_whiten(dim, mode->precision, factor, mode->lower, &half_logdet)) return false;
    for (int i = 0; i < dim; i++) /* inverse = whiten^T whiten */
        for (int j = 0; j < dim; j++) {
            covariance[i * dim + j] = 0;
            for (int k = 0; k < dim; k++)
                covariance[i * dim + j] += mode->lower[k * dim + i] * mode->lower[k * dim + j];
        }
    if (!stair_matrix_cholesky(dim, covariance, mode->lower)) return false;
    mode->log_mass = mode->value - half_logdet + 0.5 * dim * log(tau);
    return isfinite(mode->log_mass);
}

typedef enum { SETTLED, ASTRAY, HOPELESS } follow_end;

/* Full Gauss-Newton steps.  Hopeless: even if x were straight from here, the top would be far below `floor`,
 * and by the part `bent` of the way from here, so that no bend of x will help. */
static follow_end follow(stair_integrand *f, stair_mode *mode, double floor, double bent, double *gradient)
{
    for (int t = 0; t < tuning.full_steps; t++) {
        double step[STAIR_MAX_DIM], decrement = 0, length2 = 0;
        linearise(f, mode, gradient);
        if (!damped_step(f->dim, mode->precision, gradient, 0, mode->scratch, step)) return ASTRAY;
        for (int k = 0; k < f->dim; k++) {
            double scaled = step[k] / stair_prior_scale(f, k);
            decrement -= step[k] * gradient[k];
            length2 += scaled * scaled;
        }
        if (!isfinite(length2)) return ASTRAY;
        if (decrement < tuning.close * tuning.close) return SETTLED;
        if (mode->value + 0.5 * decrement < floor - tuning.faint + bent * mode->value) return HOPELESS;
        double shorten = length2 > tuning.stride * tuning.stride ? tuning.stride / sqrt(length2) : 1;
        for (int k = 0; k < f->dim; k++) mode->u[k] += shorten * step[k];
    }
    return ASTRAY;
}

/* False when there is no proper maximum, or none above `floor`. */
static bool climb(stair_integrand *f, const double *start, int sign, double floor, double bent,
                  stair_mode *mode)
{
    double gradient[STAIR_MAX_DIM];
    mode->sign = sign;
    memcpy(mode->u, start, sizeof(double) * (size_t)f->dim);
    follow_end end = follow(f, mode, floor, bent, gradient);
    if (end != ASTRAY) return end == SETTLED && settle(f, mode);
    bool lost = false;
    for (int k = 0; k < f->dim; k++) lost |= !isfinite(mode->u[k]);
    if (lost) memcpy(mode->u, start, sizeof(double) * (size_t)f->dim);
    for (int t = 0; t < tuning.iterations; t++) {
        linearise(f, mode, gradient);
        if (!improve(f, mode, gradient)) break;
    }
    linearise(f, mode, gradient);
    return settle(f, mode);
}

/* A start is a row of 2 + dim numbers: its value, its sign, and where it is, whitened. */
enum { START_VALUE, START_SIGN, START_T };

static double *start_at(const stair_modes *modes, int dim, int s)
{
    return modes->starts + (size_t)s * (size_t)(START_T + dim);
}

/* Inserts into a list of the best starts, dropping those close to a better one. */
static void keep_start(stair_modes *modes, int *count, int dim, const double *t, double value, int sign,
                       double apart)
{
    int place = *count;
    for (int s = 0; s < *count; s++) {
        const double *start = start_at(modes, dim, s);
        double gap = 0;
        for (int k = 0; k < dim; k++) gap += (start[START_T + k] - t[k]) * (start[START_T + k] - t[k]);
        if (start[START_SIGN] == sign && gap < apart * apart) {
            if (value <= start[START_VALUE]) return;
            place = s;
            break;
        }
    }
    if (place == STARTS) {
        place = 0;
        for (int s = 1; s < STARTS; s++)
            if (start_at(modes, dim, s)[START_VALUE] < start_at(modes, dim, place)[START_VALUE]) place = s;
        if (value <= start_at(modes, dim, place)[START_VALUE]) return;
    } else if (place == *count)
        ++*count;
    double *start = start_at(modes, dim, place);
    start[START_VALUE] = value;
    start[START_SIGN] = sign;
    memcpy(start + START_T, t, sizeof(double) * (size_t)dim);
}

static bool is_local_top(int side, const double *value, int i, int j)
{
    for (int x = i > 0 ? i - 1 : 0; x <= i + 1 && x < side; x++)
        for (int y = j > 0 ? j - 1 : 0; y <= j + 1 && y < side; y++)
            if (value[x * side + y] > value[i * side + j]) return false;
    return true;
}

/* Two dimensions: local maxima of the grid. */
static int grid_starts(stair_integrand *f, stair_modes *modes)
{
    int count = 0, side = modes->side;
    for (int s = 0; s < (f->shape.mirrored ? 2 : 1); s++)
        for (int i = 0; i < side * side; i++)
            if (is_local_top(side, modes->pilot_sign[s], i / side, i % side)) {
                double t[2];
                stair_pilot_point(2, modes->pilot_t, i, t);
                keep_start(modes, &count, 2, t, modes->pilot_sign[s][i], s ? -1 : 1, 0.1);
            }
    return count;
}

static int scattered_starts(stair_integrand *f, stair_modes *modes)
{
    int count = 0;
    stair_pilot_scatter(f, modes);
    for (int i = 0; i < STAIR_PILOT; i++)
        for (int s = 0; s < (f->shape.mirrored ? 2 : 1); s++) {
            double t[STAIR_MAX_DIM];
            stair_pilot_point(f->dim, modes->pilot_t, i, t);
            keep_start(modes, &count, f->dim, t, modes->pilot_sign[s][i], s ? -1 : 1, 1.0);
        }
    return count < tuning.scattered ? count : tuning.scattered;
}

static bool known(const stair_modes *modes, int dim, const stair_mode *candidate)
{
    for (int k = 0; k < modes->count; k++)
        if (modes->mode[k].sign == candidate->sign &&
            stair_mode_distance2(dim, &modes->mode[k], candidate->u) < 0.25)
            return true;
    return false;
}

/* Most massive first; what is below exp(-cutoff) of it is dropped. */
static void rank_modes(stair_modes *modes, double cutoff)
{
    for (int i = 0; i < modes->count; i++)
        for (int j = i + 1; j < modes->count; j++)
            if (modes->mode[j].log_mass > modes->mode[i].log_mass) {
                stair_mode swap = modes->mode[i];
                modes->mode[i] = modes->mode[j];
                modes->mode[j] = swap;
            }
    double total = 0;
    int kept = 0;
    while (kept < modes->count && modes->mode[kept].log_mass > modes->mode[0].log_mass - cutoff) kept++;
    modes->count = kept;
    for (int i = 0; i < kept; i++) total += exp(modes->mode[i].log_mass - modes->mode[0].log_mass);
    for (int i = 0; i < kept; i++)
        modes->mode[i].share = exp(modes->mode[i].log_mass - modes->mode[0].log_mass) / total;
}

static void try_start(stair_integrand *f, const double *u, int sign, double cutoff, double bent,
                      stair_modes *modes)
{
    double best = -INFINITY;
    if (modes->count == STAIR_MOST_MODES) return;
    for (int k = 0; k < modes->count; k++) best = fmax(best, modes->mode[k].value);
    stair_mode *mode = &modes->mode[modes->count];
    if (climb(f, u, sign, best - cutoff, bent, mode) && !known(modes, f->dim, mode)) modes->count++;
}

/* Modes can lie closer to each other than the pilot is fine. */
static void try_ring(stair_integrand *f, const stair_mode *mode, double cutoff, stair_modes *modes)
{
    for (int i = 0; i < 2 * tuning.ring; i++) {
        double radius = i < tuning.ring ? 0.25 : 0.5,
               angle = 2 * M_PI * (i % tuning.ring + (i < tuning.ring ? 0 : 0.5)) / tuning.ring;
        double u[2] = {mode->u[0] + radius * stair_prior_scale(f, 0) * cos(angle),
                       mode->u[1] + radius * stair_prior_scale(f, 1) * sin(angle)};
        try_start(f, u, mode->sign, cutoff, tuning.bent, modes);
    }
}

/* Links are often even in each row, so that only the prior tells a mode from its images. */
static void try_images(stair_integrand *f, const stair_mode *mode, double cutoff, stair_modes *modes)
{
    int m = f->shape.tokens;
    for (int row = 0; row < f->shape.free_rows; row++)
        for (int sign = f->shape.mirrored ? -1 : 1; sign <= 1; sign += 2) {
            double u[STAIR_MAX_DIM];
            memcpy(u, mode->u, sizeof(double) * (size_t)f->dim);
            for (int t = 0; t < m; t++) u[row * m + t] = -u[row * m + t] - 2 * f->mean[row * m + t];
            try_start(f, u, sign, cutoff, 0, modes); /* the link is as flat here as at the mode */
        }
}

static int compare_starts(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[START_VALUE] > y[START_VALUE] ? -1 : x[START_VALUE] < y[START_VALUE];
}

static void climb_all(stair_integrand *f, double cutoff, stair_modes *modes)
{
    int count = stair_pilot_is_grid(f) ? grid_starts(f, modes) : scattered_starts(f, modes);
    modes->count = 0;
    qsort(modes->starts, (size_t)count, sizeof(double) * (size_t)(START_T + f->dim), compare_starts);
    for (int s = 0; s < count; s++) {
        const double *start = start_at(modes, f->dim, s);
        double u[STAIR_MAX_DIM];
        stair_prior_point(f, start + START_T, u);
        try_start(f, u, (int)start[START_SIGN], cutoff, tuning.bent, modes);
    }
    for (int k = 0, found = modes->count; k < found; k++) try_images(f, &modes->mode[k], cutoff, modes);
    rank_modes(modes, cutoff);
    for (int k = 0, found = modes->count; k < found && stair_pilot_is_grid(f); k++)
        try_ring(f, &modes->mode[k], cutoff, modes);
    rank_modes(modes, cutoff);
}

void stair_modes_find(stair_integrand *f, double cutoff, stair_modes *modes)
{
    stair_pilot_look(f, cutoff, modes);
    climb_all(f, cutoff, modes);
}

static bool on_border(int side, int i)
{
    int row = i / side, column = i % side;
    return row == 0 || column == 0 || row == side - 1 || column == side - 1;
}

/* Whether the weaker sign has a visible mode that the pilot did not see: far out in the prior, but fitting
 * the label so well that it counts. */
static bool has_hidden_mode(stair_integrand *f, double cutoff, stair_modes *modes)
{
    int best[2] = {0, 0};
    if (!f->shape.mirrored) return false;
    for (int s = 0; s < 2; s++)
        for (int i = 1; i < modes->pilots; i++)
            if (modes->pilot_sign[s][i] > modes->pilot_sign[s][best[s]]) best[s] = i;
    double tops[2] = {modes->pilot_sign[0][best[0]], modes->pilot_sign[1][best[1]]};
    int weaker = tops[0] < tops[1] ? 0 : 1;
    double floor = tops[1 - weaker] - cutoff;
    stair_mode *mode = &modes->mode[modes->count];
    if (tops[weaker] > floor) return false; /* in sight */
    if (stair_pilot_is_grid(f) && !on_border(modes->side, best[weaker]))
        return false; /* its mode is in the window, and below the floor */
    double start[STAIR_MAX_DIM];
    stair_pilot_point(f->dim, modes->pilot, best[weaker], start);
    if (!climb(f, start, weaker ? -1 : 1, floor, tuning.bent, mode)) return false;
    return mode->value - log(f->nodes.weight[0]) > floor;
}

void stair_modes_frame(stair_integrand *f, double cutoff, stair_modes *modes)
{
    stair_pilot_look(f, cutoff, modes);
    if (modes->stiff || !stair_pilot_moments(f, modes) || has_hidden_mode(f, cutoff, modes))
        climb_all(f, cutoff, modes);
}
