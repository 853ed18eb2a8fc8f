/* The benchmark of the staircase: what a user waits for, with the error that was reached.
 *
 * A row is one job of the promise in docs/staircase.md; `limit` is its wall time on two cores. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/clock.h"
#include "model/model.h"

typedef struct {
    const char *model;
    int steps;
    double precision, limit;
} staircase_case;

typedef struct {
    const char *model;
    int points; /* of alpha, up to `most` */
    double most, precision, limit;
} curve_case;

static const staircase_case cases[] = {
    {"attention:layers=1,tokens=2", 0, 1e-3, 0},
    {"attention:layers=2,tokens=2,skip=1", 1, 1e-6, 0},
    {"attention:layers=2,tokens=2,skip=1", 0, 1e-2, 0},
    {"attention:layers=2,tokens=2,skip=1", 2, 1e-3, 0},
    {"attention:layers=2,tokens=2,skip=1", 2, 1e-4, 0},
    {"attention:layers=2,tokens=2,skip=1", 0, 1e-3, 20},
    {"attention:layers=2,tokens=2,skip=1", 0, 1e-4, 60},
    {"attention:layers=2,tokens=2,rank=1+2", 0, 1e-2, 60},
    {"attention:layers=2,tokens=2,rank=2", 0, 1e-2, 120},
    {"attention:layers=2,tokens=3,skip=1", 2, 1e-2, 0},
    {"attention:layers=3,tokens=2,skip=1", 2, 1e-2, 0},
    {"attention:layers=3,tokens=2,skip=1", 3, 1e-2, 0},
};

static const curve_case curves[] = {
    {"attention:layers=2,tokens=2,skip=1", 48, 1.2, 1e-2, 0},
    {"attention:layers=2,tokens=2,skip=1", 48, 1.2, 1e-3, 60},
    {"attention:layers=2,tokens=2,skip=1,prenoise=0.001", 48, 1.6, 1e-2, 0},
    {"attention:layers=3,tokens=2,skip=1", 49, 3.0, 1e-2, 0},
    {"attention:layers=3,tokens=2,skip=1", 49, 3.0, 3e-3, 600},
};

static stair_status time_case(stair_context *context, const staircase_case *c, stair_staircase_row *row)
{
    stair_model *model;
    enum { STEPS = 16 };
    stair_step steps[STEPS];
    int count = 0;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = c->precision;
    STAIR_TRY(stair_model_create(context, c->model, &model));
    double start = stair_seconds();
    stair_status status = stair_threshold(context, model, &how, c->steps, STEPS, steps, &count);
    *row = (stair_staircase_row){
        .precision = c->precision, .steps = count, .limit = c->limit, .seconds = stair_seconds() - start};
    snprintf(row->model, sizeof row->model, "%s", c->model);
    for (int k = 0; k < count; k++)
        if (isfinite(steps[k].alpha) && steps[k].alpha > 0)
            row->error = fmax(row->error, steps[k].error / steps[k].alpha);
    row->passed = (c->limit == 0 || row->seconds <= c->limit) && row->error <= c->precision;
    stair_model_destroy(&model);
    return status;
}

/* Overlaps and errors of prediction at every alpha. */
static stair_status read_curve(stair_context *context, const stair_model *model,
                               const stair_asymptotics_options *how, const curve_case *c,
                               const stair_curve *curve, double *worst)
{
    int cells = model->info.indices * model->info.indices;
    double q[STAIR_SQUARE], error[STAIR_SQUARE];
    stair_errors errors;
    for (int k = 0; k < c->points; k++) {
        stair_curve_at(curve, c->most * (k + 1) / c->points, q, error);
        STAIR_TRY(stair_errors_at(context, model, how, q, NULL, &errors));
        for (int i = 0; i < cells; i++) *worst = fmax(*worst, error[i]);
    }
    return STAIR_OK;
}

static stair_status time_curve(stair_context *context, const curve_case *c, stair_staircase_row *row)
{
    stair_model *model;
    stair_curve *curve;
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.precision = c->precision;
    STAIR_TRY(stair_model_create(context, c->model, &model));
    *row = (stair_staircase_row){.precision = c->precision, .steps = c->points, .limit = c->limit};
    snprintf(row->model, sizeof row->model, "%s", c->model);
    double start = stair_seconds();
    stair_status status = stair_curve_create(context, model, &how, c->most, &curve);
    if (status == STAIR_OK) {
        status = read_curve(context, model, &how, c, curve, &row->error);
        stair_curve_destroy(&curve);
    }
    row->seconds = stair_seconds() - start;
    row->passed = (c->limit == 0 || row->seconds <= c->limit) && row->error <= c->precision;
    stair_model_destroy(&model);
    return status;
}

stair_status stair_bench_staircase(stair_context *context, bool only_curves, int capacity,
                                   stair_staircase_row *rows, int *count)
{
    int size = only_curves ? (int)(sizeof curves / sizeof *curves) : (int)(sizeof cases / sizeof *cases);
    *count = 0;
    for (int k = 0; k < size && k < capacity; k++) {
        STAIR_TRY(only_curves ? time_curve(context, &curves[k], &rows[k])
                              : time_case(context, &cases[k], &rows[k]));
        *count = k + 1;
    }
    return STAIR_OK;
}
