/* The identities every channel must satisfy, on random points of any model.
 *
 * Nothing here knows a model: labels come from its forward map, fibres through its interface, and
 * symmetries are used only after the forward map has been seen to have them.  Points are taken in
 * portions, so memory does not grow with their number, and every point is a function of (seed, its
 * number), so the table is the same for any number of threads.
 *
 * Up to two hidden dimensions, all of them rows of Z, the channel is asked for the requested precision;
 * otherwise for 1e-4 at best and with a limit on nodes, and the errors it reports set the tolerances. */
#include "channel/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"

static const struct {
    size_t doubles;    /* most of a portion */
    double sampled;    /* finest precision asked of what has to be sampled, */
    int sampled_nodes; /* and nodes per sample */
    double dishonest;  /* share of errors that may be false */
    int evaluations;   /* of the channel, per portion, for the progress that is shown */
} tuning = {.doubles = (size_t)1 << 22,
            .sampled = 1e-4,
            .sampled_nodes = 1 << 18,
            .dishonest = 0.01,
            .evaluations = 5 + 4 * STAIR_LEVELS};

static const char *const check_names[STAIR_CHECKS] = {
    [STAIR_CHECK_FIBRE] = "forward(fibre(y)) = y",
    [STAIR_CHECK_COVARIANCE] = "Cov(Z|y) = V + V dg V is symmetric and not negative",
    [STAIR_CHECK_SLOPE] = "d log Z / d omega = g",
    [STAIR_CHECK_SECOND] = "d g / d omega = dg",
    [STAIR_CHECK_HEAT] = "d Z / d V = 1/2 d^2 Z / d omega^2",
    [STAIR_CHECK_MEAN] = "E[g] = 0 (Monte Carlo, z-score)",
    [STAIR_CHECK_FISHER] = "E[dg + g g^T] = 0 (Monte Carlo, z-score)",
    [STAIR_CHECK_SIGN] = "omega -> -omega: g -> -g, dg and log Z stay",
    [STAIR_CHECK_TOKENS] = "permuted tokens permute g and dg",
    [STAIR_CHECK_ROTATION] = "rotated indices of a layer rotate g and dg",
    [STAIR_CHECK_HONESTY] = "true error above 3 times the reported one (fraction of points)",
};

const char *stair_verdict_name(stair_verdict verdict)
{
    static const char *const names[STAIR_VERDICTS] = {"holds", "fails", "not resolved"};
    return verdict >= 0 && verdict < STAIR_VERDICTS ? names[verdict] : NULL;
}

void stair_survey_note_as(stair_survey *s, stair_check check, bool resolved, double violation,
                          double tolerance)
{
    stair_finding *f = &s->finding[check];
    stair_worst *w = resolved ? &f->resolved : &f->open;
    if (!isfinite(tolerance)) { /* an infinite error claims nothing, so nothing can contradict it */
        violation = 0;
        tolerance = INFINITY;
    }
    bool worse = !(violation * w->tolerance <= w->violation * tolerance); /* by ratio; a NaN is the worst */
    if (isnan(w->violation)) worse = false;
    f->points++;
    if (!w->count++ || worse) {
        w->violation = violation;
        w->tolerance = tolerance;
    }
}

void stair_survey_note(stair_survey *s, stair_check check, double violation, double tolerance)
{
    stair_survey_note_as(s, check, tolerance <= STAIR_RESOLVED, violation, tolerance);
}

void stair_survey_axes(const stair_survey *s, size_t i, double *values, double *axes)
{
    int p = s->indices;
    double v[STAIR_SQUARE];
    const double *cov = s->base.cov + i * (size_t)(p * p);
    for (int k = 0; k < p * p; k++) v[k] = cov[k] + (k % (p + 1) ? 0 : s->model->info.prenoise);
    stair_matrix_eigen(p, v, values, axes);
}

double stair_survey_norm(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

stair_status stair_survey_evaluate(stair_survey *s, const stair_channel_options *options,
                                   stair_portion *portion)
{
    stair_channel_result result = {
        .logz = portion->logz, .g = portion->g, .dg = portion->dg, .error = portion->error};
    stair_status status =
        stair_channel_evaluate(&s->quiet, s->model, options, s->first, s->n, portion->labels, portion->omega,
                               s->n, portion->cov, &result);
    if (status != STAIR_OK) return stair_fail(s->context, status, "%s", s->quiet.message);
    s->done += (double)s->n;
    if (!stair_context_progress(s->context, fmin(s->done, s->total), s->total))
        return stair_fail(s->context, STAIR_FAILED, "stopped on request");
    return STAIR_OK;
}

/* Doubles of one portion entry, and of what exists once. */
static size_t portion_size(const stair_survey *s)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    return (size_t)s->label_size + 2 * size + square + size * size + 2;
}

static void place_portion(const stair_survey *s, double *at, stair_portion *portion)
{
    size_t n = s->most, size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    portion->labels = at;
    portion->omega = portion->labels + n * (size_t)s->label_size;
    portion->cov = portion->omega + n * size;
    portion->logz = portion->cov + n * square;
    portion->g = portion->logz + n;
    portion->dg = portion->g + n * size;
    portion->error = portion->dg + n * size * size;
}

static stair_status allocate(stair_survey *s)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    size_t direction = size + square, change = STAIR_LEVELS * (1 + 2 * size + square);
    size_t each = 2 * portion_size(s) + size + direction + change;
    size_t once = 3 * (size + size * (size + 1) / 2) + STAIR_LEVELS * size * size;
    s->most = tuning.doubles / each < STAIR_PORTION ? tuning.doubles / each : STAIR_PORTION;
    if (s->most < 1) s->most = 1;
    if (s->most > s->options->points) s->most = s->options->points;
    s->memory = calloc(s->most * each + once, sizeof(double));
    if (!s->memory) return stair_fail(s->context, STAIR_NO_MEMORY, "out of memory");
    place_portion(s, s->memory, &s->base);
    place_portion(s, s->memory + s->most * portion_size(s), &s->other);
    s->z = s->memory + 2 * s->most * portion_size(s);
    s->direction = s->z + s->most * size;
    s->change = s->direction + s->most * direction;
    s->sums = s->change + s->most * change;
    s->scratch = s->sums + 3 * (size + size * (size + 1) / 2);
    return stair_integrand_create(s->context, s->model, &s->f);
}

/* The hidden dimension decides how the channel is asked. */
static stair_status choose_channel(stair_survey *s)
{
    s->channel = stair_channel_defaults();
    s->channel.precision = s->options->precision;
    s->channel.seed = s->options->seed;
    if (!s->fibred) return STAIR_OK;
    STAIR_TRY(stair_fibre_open(s->context, s->base.labels, s->base.omega, &s->f.fibre));
    bool rows_only = s->f.fibre.dim == s->f.fibre.free_rows * s->tokens && s->f.fibre.charts == 1;
    s->sampled = s->f.fibre.dim > 2 || !rows_only || s->noisy;
    if (s->sampled) {
        s->channel.precision = fmax(tuning.sampled, s->options->precision);
        s->channel.max_nodes = tuning.sampled_nodes;
    }
    return STAIR_OK;
}

static stair_status check_portion(stair_survey *s)
{
    stair_points_options points = stair_points_defaults();
    points.cov_low = s->options->cov_low;
    points.seed = s->options->seed;
    STAIR_TRY(stair_points_draw(s->context, s->model, &points, s->first, s->n, s->z, s->base.labels,
                                s->base.omega, s->base.cov));
    if (!s->first) STAIR_TRY(choose_channel(s));
    STAIR_TRY(stair_survey_evaluate(s, &s->channel, &s->base));
    if (s->fibred && !s->noisy) STAIR_TRY(stair_survey_fibre(s));
    STAIR_TRY(stair_survey_covariance(s));
    STAIR_TRY(stair_survey_averages(s));
    STAIR_TRY(stair_survey_derivatives(s));
    STAIR_TRY(stair_survey_symmetries(s));
    return stair_survey_honesty(s);
}

static stair_status check_all(stair_survey *s)
{
    STAIR_TRY(allocate(s));
    for (s->first = 0; s->first < s->options->points; s->first += s->n) {
        size_t left = s->options->points - s->first;
        s->n = left < s->most ? left : s->most;
        STAIR_TRY(check_portion(s));
    }
    stair_survey_average_rows(s);
    stair_worst errors = {.violation = (double)s->dishonest / (double)s->seen, .tolerance = tuning.dishonest};
    s->finding[STAIR_CHECK_HONESTY] = (stair_finding){.resolved = errors, .open = errors, .points = s->seen};
    s->finding[STAIR_CHECK_HONESTY].resolved.count = s->compared;
    s->finding[STAIR_CHECK_HONESTY].open.count = s->seen - s->compared;
    return STAIR_OK;
}

static bool broken(const stair_worst *w)
{
    return w->count && !(w->violation <= w->tolerance);
}

/* A violation beyond what is allowed is one wherever it is found.  For an identity to hold at least half of
 * what was noted must be resolved: a few good points among bad ones say little about a model. */
stair_identity stair_survey_conclude(const char *name, const stair_finding *f)
{
    double share = (double)f->resolved.count / (double)(f->resolved.count + f->open.count);
    stair_verdict verdict = share < 0.5 ? STAIR_NOT_RESOLVED : STAIR_HOLDS;
    const stair_worst *shown = verdict == STAIR_HOLDS ? &f->resolved : &f->open;
    if (broken(&f->resolved) || broken(&f->open)) {
        verdict = STAIR_FAILS;
        shown = broken(&f->resolved) ? &f->resolved : &f->open;
    }
    return (stair_identity){.name = name,
                            .violation = shown->violation,
                            .tolerance = shown->tolerance,
                            .points = f->points,
                            .resolved = (size_t)(share * (double)f->points + 0.5),
                            .verdict = verdict};
}

stair_status stair_diagnose(stair_context *context, const stair_model *model,
                            const stair_diagnose_options *options, int capacity, stair_identity *rows,
                            int *count)
{
    *count = 0;
    STAIR_TRY(stair_diagnose_check(context, options));
    stair_survey *s = calloc(1, sizeof *s);
    if (!s) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *s = (stair_survey){.context = context,
                        .quiet = *context,
                        .model = model,
                        .options = options,
                        .indices = model->info.indices,
                        .tokens = model->info.tokens,
                        .label_size = model->info.label_size,
                        .noisy = model->info.output_noisy,
                        .fibred = stair_fibre_exists(model),
                        .total = tuning.evaluations * (double)options->points};
    s->size = s->indices * s->tokens;
    s->quiet.progress = NULL;
    stair_status status = check_all(s);
    for (int k = 0; k < STAIR_CHECKS && status == STAIR_OK && *count < capacity; k++) {
        if (!s->finding[k].points) continue; /* the model does not have this symmetry, or no fibre */
        rows[(*count)++] = stair_survey_conclude(check_names[k], &s->finding[k]);
    }
    stair_integrand_destroy(&s->f);
    free(s->memory);
    free(s);
    return status;
}
