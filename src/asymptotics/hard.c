/* Hard phases: ranges of alpha where more can be known than message passing finds.
 *
 * Such a range ends where the overlap of message passing jumps (steps of the staircase that do), or never,
 * where a direction is not learned at any alpha.  It begins where another fixed point gets the larger free
 * entropy: the information-theoretic threshold.  For a jump to perfect recovery that is where Q = 1 becomes
 * stable (perfect.c): S then grows without bound towards it.  For all others it is where the difference of
 * entropies D(alpha), over the fixed points of stair_phase_at(), passes zero: by Newton's steps, with the
 * errors of D for its error.  Reference: Barbier, Krzakala, Macris, Miolane and Zdeborova, Optimal
 * errors and phase transitions in high-dimensional generalized linear models, PNAS 116 (2019). */
#include "asymptotics/perfect.h"
#include "asymptotics/staircase.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    double inside;    /* below a jump, relative, where a hard phase that ends there is looked at */
    double first, up; /* alpha from which one without an end is looked for, and the factor from try to try, */
    double most_alpha; /* up to */
    int tries;         /* to close in, */
    double bend;       /* share of Newton's last step that counts as its error, */
    double sharper;    /* and factor of the precision where noise is all that is left, */
    int most_sharper;  /* so often */
} tuning = {.inside = 0.01,
            .first = 1,
            .up = 1.6,
            .most_alpha = 50,
            .tries = 12,
            .bend = 0.5,
            .sharper = 0.3,
            .most_sharper = 2};

#define MOST_STEPS 32 /* of one staircase: more than indices there are */

typedef struct {
    stair_context *context;
    const stair_model *model;
    stair_asymptotics_options options;
    stair_phase phase; /* of the last alpha */
    double *room;      /* its overlaps */
} hard_job;

typedef struct {
    double alpha;
    bool hard;
    double gain, error, slope; /* D, of the best other fixed point over that of message passing, and
                                  dD/dalpha; NaN: there is none */
} probe;

static stair_status look(hard_job *job, double alpha, probe *out)
{
    STAIR_TRY(stair_phase_at(job->context, job->model, &job->options, alpha, &job->phase));
    *out = (probe){.alpha = alpha, .hard = job->phase.hard, .gain = NAN};
    for (int s = 1; s < STAIR_PHASE_STARTS; s++) {
        double gain = job->phase.entropy[s] - job->phase.entropy[0];
        if (job->phase.entropy[s] == job->phase.entropy[0] || gain <= out->gain) continue; /* the same one */
        out->gain = gain;
        out->slope = job->phase.slope[s] - job->phase.slope[0];
        out->error = hypot(job->phase.entropy_error[s], job->phase.entropy_error[0]);
    }
    return STAIR_OK;
}

/* The same with more samples where noise leaves it open which fixed point wins. */
static stair_status look_sharply(hard_job *job, double alpha, probe *out)
{
    double goal = job->options.precision;
    stair_status status = look(job, alpha, out);
    for (int k = 0; k < tuning.most_sharper && status == STAIR_OK; k++) {
        if (!(out->gain > 0) || out->hard) break;
        job->options.precision *= tuning.sharper;
        status = look(job, alpha, out);
    }
    job->options.precision = goal;
    return status;
}

/* Where Q = 1 becomes stable. */
static stair_status before_perfect(hard_job *job, stair_hard_phase *out)
{
    const stair_structure *structure;
    stair_perfect limit;
    STAIR_TRY(stair_structure_find(job->context, job->model, &structure));
    STAIR_TRY(stair_perfect_find(job->context, structure, 512, 8, job->options.seed, &limit));
    out->information = limit.alpha;
    out->information_error = limit.error;
    return STAIR_OK;
}

/* The information-theoretic threshold: Newton's steps in D, down from a probe that is hard.  Below the
 * threshold the other fixed point loses, and further down it ends: where a step leads that far, halfway. */
static stair_status close_in(hard_job *job, double below, probe at, stair_hard_phase *out)
{
    int sharper = 0;
    double goal = job->options.precision;
    if (isinf(at.gain)) return before_perfect(job, out);
    for (int k = 0; k < tuning.tries; k++) {
        if (!(at.slope > 0)) /* more knowledge tells more of a label */
            return stair_fail(job->context, STAIR_NOT_CONVERGED,
                              "fixed points at alpha = %g are too close to each other", at.alpha);
        double move = at.gain / at.slope, noise = at.error / at.slope;
        double bend = fmin(tuning.bend * fabs(move), 0.5 * fmax(0, at.alpha - below));
        out->information = fmax(below, at.alpha - move);
        out->information_error = hypot(noise, bend);
        if (!(out->information_error > goal * out->information)) break;
        if (fabs(move) < noise) {
            if (sharper++ == tuning.most_sharper) break;
            job->options.precision *= tuning.sharper;
        }
        probe next;
        double alpha = out->information > below ? out->information : 0.5 * (below + at.alpha);
        stair_status status = look(job, alpha, &next);
        if (status == STAIR_NOT_CONVERGED) break; /* at the very end of the other branch */
        STAIR_TRY(status);
        if (isnan(next.gain))
            below = alpha;
        else
            at = next;
    }
    job->options.precision = goal;
    return STAIR_OK;
}

/* A jump that is not to perfect recovery: hard just below it, or not at all. */
static stair_status below_jump(hard_job *job, double least, const stair_step *step, stair_hard_phase *out)
{
    probe above;
    STAIR_TRY(look_sharply(job, step->alpha * (1 - tuning.inside), &above));
    return above.hard ? close_in(job, least, above, out) : STAIR_OK;
}

/* Directions that message passing never finds. */
static stair_status without_end(hard_job *job, double least, stair_hard_phase *out)
{
    probe above;
    for (double alpha = fmax(tuning.first, least * tuning.up); alpha < tuning.most_alpha;
         alpha *= tuning.up) {
        STAIR_TRY(look_sharply(job, alpha, &above));
        if (above.hard) return close_in(job, least, above, out);
        if (isnan(above.gain)) least = alpha;
    }
    return STAIR_OK;
}

/* The hard phase that ends with a step; information is NaN where there is none. */
static stair_status ending_at(hard_job *job, double least, const stair_step *step, stair_hard_phase *out)
{
    *out = (stair_hard_phase){
        .information = NAN, .algorithmic = step->alpha, .algorithmic_error = step->error, .kind = step->kind};
    if (step->kind == STAIR_STEP_PERFECT) return before_perfect(job, out);
    return isinf(step->alpha) ? without_end(job, least, out) : below_jump(job, least, step, out);
}

static stair_status find(hard_job *job, int steps, const stair_step *step, int capacity,
                         stair_hard_phase *list, int *count)
{
    double least = 0;
    for (int k = 0; k < steps; k++) {
        bool never = isinf(step[k].alpha) && step[k].kind == STAIR_STEP_WEAK;
        if (never || (step[k].jump && isfinite(step[k].alpha))) {
            stair_hard_phase phase;
            STAIR_TRY(ending_at(job, least, &step[k], &phase));
            if (phase.information < phase.algorithmic && *count < capacity) list[(*count)++] = phase;
        }
        if (isfinite(step[k].alpha)) least = step[k].alpha;
    }
    return STAIR_OK;
}

static stair_status check_errors(const hard_job *job, int count, const stair_hard_phase *list)
{
    double goal = job->options.precision;
    for (int k = 0; k < count; k++)
        if (list[k].information_error > goal * list[k].information)
            return stair_fail(job->context, STAIR_NOT_CONVERGED,
                              "the information-theoretic threshold %.4g has a relative error of %.2g, above "
                              "the precision %.2g",
                              list[k].information, list[k].information_error / list[k].information, goal);
    return STAIR_OK;
}

stair_status stair_hard_phases(stair_context *context, const stair_model *model,
                               const stair_asymptotics_options *options, int capacity, stair_hard_phase *list,
                               int *count)
{
    size_t cells = (size_t)model->info.indices * (size_t)model->info.indices;
    hard_job job = {.context = context, .model = model, .options = *options};
    stair_step *step = malloc(MOST_STEPS * sizeof *step);
    int steps = 0;
    *count = 0;
    job.room = calloc(4 * cells, sizeof(double));
    stair_status status = step && job.room ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job.phase = (stair_phase){.bayes_q = job.room,
                              .bayes_q_error = job.room + cells,
                              .amp_q = job.room + 2 * cells,
                              .amp_q_error = job.room + 3 * cells};
    if (status == STAIR_OK) status = stair_threshold(context, model, options, 0, MOST_STEPS, step, &steps);
    if (status == STAIR_OK || (status == STAIR_NOT_CONVERGED && steps)) {
        stair_status found = find(&job, steps, step, capacity, list, count);
        if (found != STAIR_OK) status = found;
        if (status == STAIR_OK) status = check_errors(&job, *count, list);
    }
    free(job.room);
    free(step);
    return status;
}
