/* Fixed points of state evolution over a list of alphas, from either start.
 *
 * A long list is read off the curve of the model (curve.c), a short one is solved alpha by alpha.  From full
 * knowledge a curve tells the fixed point only where it leads through all steps to perfect recovery, for then
 * there is one fixed point at each alpha.  Solved points from no knowledge begin at the fixed point before
 * them if that lies below: state evolution is monotone, so the start saves steps and misses no fixed point.
 *
 * A point depends on the list, the options and the point before it alone.  A caller who keeps points and
 * tells them again therefore gets the same bytes as one who was never interrupted. */
#include "core/context.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/stage.h"

static const struct {
    size_t curve_from; /* alphas: a curve costs about as much as that many solves */
} tuning = {.curve_from = 12};

struct stair_sweep {
    stair_context *context;
    const stair_model *model;
    stair_asymptotics_options options;
    stair_starts starts;
    size_t alphas, each, next;      /* each: starts at one alpha; next: number of the next point */
    double *alpha;                  /* (alphas) */
    size_t cells;                   /* P * P */
    bool looked;                    /* for a curve */
    stair_curve *curve;             /* or NULL: each alpha is solved */
    char no_curve[256];             /* why, where there might have been one */
    bool usable;                    /* the point below is the last from no knowledge, and converged */
    double before_alpha, *before_q; /* (P, P) */
};

stair_status stair_sweep_create(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *options, stair_starts starts, size_t alphas,
                                const double *alpha, stair_sweep **sweep)
{
    size_t cells = (size_t)model->info.indices * (size_t)model->info.indices;
    *sweep = NULL;
    STAIR_TRY(stair_asymptotics_check(context, options));
    if (starts < STAIR_START_UNINFORMED || starts > STAIR_START_BOTH)
        return stair_fail(context, STAIR_BAD_INPUT, "starts: uninformed, informed or both, not %d", starts);
    stair_sweep *s = *sweep = calloc(1, sizeof *s + (cells + alphas) * sizeof(double));
    if (!s) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *s = (stair_sweep){.context = context,
                       .model = model,
                       .options = *options,
                       .starts = starts,
                       .alphas = alphas,
                       .each = starts == STAIR_START_BOTH ? 2 : 1,
                       .cells = cells,
                       .before_q = (double *)(s + 1),
                       .alpha = (double *)(s + 1) + cells};
    if (alphas) memcpy(s->alpha, alpha, alphas * sizeof *alpha);
    return STAIR_OK;
}

void stair_sweep_destroy(stair_sweep **sweep)
{
    if (!*sweep) return;
    stair_curve_destroy(&(*sweep)->curve);
    free(*sweep);
    *sweep = NULL;
}

size_t stair_sweep_points(const stair_sweep *sweep)
{
    return sweep->alphas * sweep->each;
}

const char *stair_sweep_no_curve(const stair_sweep *sweep)
{
    return sweep->no_curve[0] ? sweep->no_curve : NULL;
}

static bool next_is_informed(const stair_sweep *s)
{
    return s->starts == STAIR_START_INFORMED || s->next % s->each == 1;
}

/* Once, before the first point that has to be computed. */
static stair_status look_for_curve(stair_sweep *s)
{
    double most = 0;
    if (s->looked || s->alphas < tuning.curve_from || s->starts == STAIR_START_INFORMED ||
        s->options.side > 0)
        return STAIR_OK;
    s->looked = true;
    for (size_t a = 0; a < s->alphas; a++) most = fmax(most, s->alpha[a]);
    stair_status status = stair_curve_create(s->context, s->model, &s->options, most, &s->curve);
    if (status != STAIR_UNSUPPORTED) return status;
    strncpy(s->no_curve, stair_context_message(s->context), sizeof s->no_curve - 1);
    return STAIR_OK;
}

static stair_status read_curve(const stair_sweep *s, stair_sweep_point *point)
{
    point->stop = stair_curve_at(s->curve, point->alpha, point->q, point->q_error);
    return stair_errors_at(s->context, s->model, &s->options, point->q, point->q_error, &point->errors);
}

static stair_status solve(const stair_sweep *s, stair_sweep_point *point)
{
    bool below = s->usable && !point->informed && s->before_alpha <= point->alpha;
    stair_evolution result = {.q = point->q, .q_error = point->q_error};
    stair_status status = stair_evolve(s->context, s->model, &s->options, point->alpha, point->informed,
                                       below ? s->before_q : NULL, &result);
    point->iterations = result.iterations;
    point->residual = result.residual;
    point->stop = result.stop;
    point->errors = result.errors;
    return status == STAIR_NOT_CONVERGED ? STAIR_OK : status;
}

/* What the point says of itself; it is the one before the next. */
static void finish(stair_sweep *s, stair_sweep_point *point)
{
    point->worst = 0;
    for (size_t i = 0; i < s->cells; i++) point->worst = fmax(point->worst, point->q_error[i]);
    bool missed = point->stop == STAIR_STOP_ITERATIONS || point->worst > s->options.precision;
    point->status = missed ? STAIR_NOT_CONVERGED : STAIR_OK;
    s->next++;
    if (point->informed) return;
    s->usable = point->stop == STAIR_STOP_CONVERGED;
    s->before_alpha = point->alpha;
    memcpy(s->before_q, point->q, s->cells * sizeof(double));
}

stair_status stair_sweep_next(stair_sweep *sweep, stair_sweep_point *point)
{
    if (sweep->next >= stair_sweep_points(sweep))
        return stair_fail(sweep->context, STAIR_BAD_INPUT, "the sweep has only %zu points",
                          stair_sweep_points(sweep));
    *point = (stair_sweep_point){.alpha = sweep->alpha[sweep->next / sweep->each],
                                 .informed = next_is_informed(sweep),
                                 .q = point->q,
                                 .q_error = point->q_error};
    STAIR_TRY(look_for_curve(sweep));
    bool read = sweep->curve && (!point->informed || stair_curve_is_whole(sweep->curve));
    STAIR_TRY(read ? read_curve(sweep, point) : solve(sweep, point));
    finish(sweep, point);
    return STAIR_OK;
}

stair_status stair_sweep_known(stair_sweep *sweep, stair_sweep_point *point)
{
    if (sweep->next >= stair_sweep_points(sweep) || point->alpha != sweep->alpha[sweep->next / sweep->each] ||
        point->informed != next_is_informed(sweep))
        return stair_fail(sweep->context, STAIR_BAD_INPUT, "point %zu of the sweep is another",
                          sweep->next + 1);
    finish(sweep, point);
    return STAIR_OK;
}

stair_status stair_sweep_all(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, stair_starts starts, size_t alphas,
                             const double *alpha, stair_sweep_point *points, double *q, double *q_error)
{
    stair_sweep *sweep;
    stair_stage stage;
    STAIR_TRY(stair_sweep_create(context, model, options, starts, alphas, alpha, &sweep));
    size_t count = stair_sweep_points(sweep), missed = 0;
    stair_status status = STAIR_OK;
    stair_stage_begin(&stage, context);
    for (size_t r = 0; r < count && status == STAIR_OK; r++) {
        stair_stage_set(&stage, (double)r / (double)count, 1 / (double)count);
        points[r].q = q + r * sweep->cells;
        points[r].q_error = q_error + r * sweep->cells;
        status = stair_sweep_next(sweep, &points[r]);
        missed += status == STAIR_OK && points[r].status != STAIR_OK;
    }
    stair_stage_end(&stage);
    stair_sweep_destroy(&sweep);
    if (status != STAIR_OK || !missed) return status;
    return stair_fail(context, STAIR_NOT_CONVERGED, "%zu of %zu points missed the precision %g", missed,
                      count, options->precision);
}
