/* The staircase as a curve: steps, and overlaps and errors at alphas between them.
 *
 * The staircase is climbed once.  Its steps say where the points are, and what the overlap is there: nothing
 * below the first, the overlap where a step begins, everything above perfect recovery.  All other points are
 * read off the curve through the same steps (curve.c), or solved one by one where the model has none. */
#include "asymptotics/stage.h"
#include "asymptotics/staircase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    double after_perfect; /* the last point, in units of alpha of perfect recovery, */
    double after_weak;    /* and of the last step where that is not reached or not known */
    double crowded;       /* power of the way from step to step: the curve is steep where it leaves one */
    double steps_share;   /* of the progress */
    int most_between;     /* points between two steps */
} tuning = {
    .after_perfect = 1.15, .after_weak = 1.6, .crowded = 1.5, .steps_share = 0.4, .most_between = 100000};

typedef struct {
    stair_context *context;
    const stair_model *model;
    const stair_asymptotics_options *options;
    int between;
    stair_staircase_curve *out;
    stair_mark *marks;
    stair_curve *curve; /* or NULL: each alpha is solved */
    bool diagonal;      /* by symmetry overlaps of different rows vanish: what a step tells is all of Q */
    stair_stage stage;
} curve_job;

static int most_points(int between)
{
    return STAIR_MOST_STEPS * (between + 2) + 2;
}

static stair_status allocate(stair_context *context, int indices, int between, stair_staircase_curve **curve)
{
    size_t n = (size_t)most_points(between), p = (size_t)indices, steps = STAIR_MOST_STEPS;
    stair_staircase_curve *c = calloc(1, sizeof *c + steps * sizeof *c->step + n * sizeof *c->errors +
                                             n * (1 + 2 * p) * sizeof(double));
    if (!c) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    c->indices = indices;
    c->step = (stair_step *)(c + 1);
    c->errors = (stair_errors *)(c->step + steps);
    c->alpha = (double *)(c->errors + n);
    c->q = c->alpha + n;
    c->q_error = c->q + n * p;
    *curve = c;
    return STAIR_OK;
}

/* The steps themselves, and between two of them points that crowd where the curve leaves the lower one. */
static void choose_alphas(stair_staircase_curve *c, int between)
{
    double *at = c->alpha;
    int n = 0;
    at[n++] = 0;
    for (int k = 0; k < c->steps && isfinite(c->step[k].alpha); k++) {
        double here = c->step[k].alpha, next = k + 1 < c->steps ? c->step[k + 1].alpha : INFINITY;
        if (here > at[n - 1]) at[n++] = here;
        bool last = c->step[k].kind == STAIR_STEP_PERFECT, known = isfinite(next);
        if (!known) next = (last ? tuning.after_perfect : tuning.after_weak) * here;
        for (int i = 1; i <= between && !last && next > here; i++)
            if (i < between || !known)
                at[n++] = here + (next - here) * pow((double)i / between, tuning.crowded);
        if (last) at[n++] = next;
    }
    if (n == 1) at[n++] = 1;
    c->points = n;
}

/* q, error (P, P) where the staircase itself tells them. */
static bool known_overlap(const stair_staircase_curve *c, bool diagonal, double alpha, double *q,
                          double *error)
{
    int p = c->indices;
    const stair_step *last = &c->step[c->steps - 1], *here = NULL;
    bool all = last->kind == STAIR_STEP_PERFECT && alpha >= last->alpha;
    for (int k = 0; k < c->steps && !all; k++)
        if (alpha == c->step[k].alpha && !c->step[k].jump) here = &c->step[k];
    if (!all && !here && alpha > c->step[0].alpha) return false;
    if (here && here != c->step && !diagonal) return false;
    for (int i = 0; i < p * p; i++) {
        q[i] = i % (p + 1) ? 0 : all ? 1 : here ? here->overlap[i / (p + 1)] : 0;
        error[i] = i % (p + 1) == 0 && here ? here->overlap_error[i / (p + 1)] : 0;
    }
    return true;
}

/* Point i, q (P, P).  from: the fixed point before it, or NULL; usable: whether q may be that of the next. */
static stair_status one_point(curve_job *job, int i, const double *from, double *q, bool *usable)
{
    stair_staircase_curve *c = job->out;
    int p = c->indices;
    double error[STAIR_SQUARE];
    stair_evolution result = {.q = q, .q_error = error};
    bool known = known_overlap(c, job->diagonal, c->alpha[i], q, error);
    if (!known && job->curve) stair_curve_at(job->curve, c->alpha[i], q, error);
    stair_status status =
        known || job->curve
            ? stair_errors_at(job->context, job->model, job->options, q, error, &result.errors)
            : stair_evolve(job->context, job->model, job->options, c->alpha[i], false, from, &result);
    if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) return status;
    *usable = !known && !job->curve && result.stop == STAIR_STOP_CONVERGED;
    for (int k = 0; k < p; k++) {
        c->q[i * p + k] = q[k * (p + 1)];
        c->q_error[i * p + k] = error[k * (p + 1)];
        c->worst = fmax(c->worst, error[k * (p + 1)]);
    }
    c->errors[i] = result.errors;
    return STAIR_OK;
}

/* Through the weak-recovery steps; a model without a curve has its alphas solved. */
static stair_status make_curve(curve_job *job)
{
    const stair_staircase_curve *c = job->out;
    int weak = 0;
    while (weak < c->steps && c->step[weak].kind == STAIR_STEP_WEAK) weak++;
    stair_status status =
        stair_curve_from_steps(job->context, job->model, job->options, c->alpha[c->points - 1], weak, c->step,
                               job->marks, &job->curve);
    return status == STAIR_UNSUPPORTED ? STAIR_OK : status;
}

static stair_status look_at_model(curve_job *job)
{
    const stair_structure *structure;
    STAIR_TRY(stair_structure_find(job->context, job->model, &structure));
    job->diagonal = true;
    for (int i = 0; i < job->out->indices * job->out->indices; i++)
        if (i % (job->out->indices + 1) && structure->symmetry.pair[i] >= 0) job->diagonal = false;
    return STAIR_OK;
}

static stair_status compute(curve_job *job)
{
    stair_staircase_curve *c = job->out;
    double q[2][STAIR_SQUARE];
    bool usable = false, weak_known;
    stair_stage_set(&job->stage, 0, tuning.steps_share);
    stair_status status = stair_staircase_whole(job->context, job->model, job->options, STAIR_MOST_STEPS,
                                                c->step, job->marks, &c->steps, &weak_known);
    if (status != STAIR_OK && !(status == STAIR_NOT_CONVERGED && weak_known)) return status;
    choose_alphas(c, job->between);
    STAIR_TRY(look_at_model(job));
    STAIR_TRY(make_curve(job));
    for (int i = 0; i < c->points; i++) {
        stair_stage_set(&job->stage, tuning.steps_share + (1 - tuning.steps_share) * i / c->points,
                        (1 - tuning.steps_share) / c->points);
        STAIR_TRY(one_point(job, i, usable ? q[(i + 1) % 2] : NULL, q[i % 2], &usable));
    }
    return STAIR_OK;
}

stair_status stair_staircase_curve_create(stair_context *context, const stair_model *model,
                                          const stair_asymptotics_options *options, int between,
                                          stair_staircase_curve **curve)
{
    curve_job job = {.context = context, .model = model, .options = options, .between = between};
    *curve = NULL;
    STAIR_TRY(stair_asymptotics_check(context, options));
    if (options->side > 0)
        return stair_fail(context, STAIR_UNSUPPORTED, "with side information there are no steps");
    if (between < 1 || between > tuning.most_between)
        return stair_fail(context, STAIR_BAD_INPUT, "between must be from 1 to %d, not %d",
                          tuning.most_between, between);
    STAIR_TRY(allocate(context, model->info.indices, between, &job.out));
    job.marks = calloc(STAIR_MOST_STEPS, sizeof *job.marks);
    stair_status status = job.marks ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        stair_stage_begin(&job.stage, context);
        status = compute(&job);
        stair_stage_end(&job.stage);
    }
    stair_curve_destroy(&job.curve);
    free(job.marks);
    if (status != STAIR_OK) stair_staircase_curve_destroy(&job.out);
    *curve = job.out;
    if (status == STAIR_OK && job.out->worst > options->precision)
        return stair_fail(context, STAIR_NOT_CONVERGED,
                          "an overlap has an error of %.2g, above the precision %g", job.out->worst,
                          options->precision);
    return status;
}

void stair_staircase_curve_destroy(stair_staircase_curve **curve)
{
    free(*curve);
    *curve = NULL;
}
