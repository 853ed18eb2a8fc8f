/* stair_threshold: every step of the staircase, self-consistently.
 *
 * From Q = 0 on, each branch of fixed points is walked by the mean v of 1 - Q on what is learned; alpha(v)
 * comes with it.  Where alpha(v) falls again the branch folds: the overlap jumps, at the largest alpha so
 * far, to where the branch regains that alpha.  That is a weak step where something is unstable there, and a
 * spinodal where nothing is.  A step is where alpha times the leading eigenvalue of F on
 * the unlearned rest passes 1; the walk uses the coarse rule, the crossing is then solved with the full one.
 * When everything is learned the last branch is followed to v -> 0: perfect recovery is where Q = 1 becomes
 * stable (perfect.c) unless alpha(v) was larger before. */
#include "asymptotics/branch.h"
#include "asymptotics/crossing.h"
#include "asymptotics/effort.h"
#include "asymptotics/fold.h"
#include "asymptotics/perfect.h"
#include "asymptotics/staircase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECANT 4 /* steps towards a crossing, with either rule */

static const struct {
    double first;       /* v of the first point of a branch, relative to its start, */
    double ratio;       /* and from point to point */
    double new_overlap; /* of a direction that has just been learned */
    double last_mean;   /* where v counts as zero, */
    double no_mean[2];  /* and where it is, for eigenvalues of what is left: they may change like its root */
    double
        committee_mean; /* and with many hidden layers still to come, which leave little doubt of the last */
    double flat_mean;   /* where everything is learned and labels only jump: alpha then grows like a power of
                           1/v */
    int few;            /* numbers of Z up to which averages over discrete labels are cheap, */
    int few_noisy;      /* and up to which jumps are looked for with noise on y */
    size_t cheap;       /* samples of a replicate, at least, with one number of Z */
    double most_alpha;  /* no step is looked for beyond */
    double slack;       /* by which alpha(v) may fall, at least, before it counts as a fold */
    double wide;        /* of log v: slopes of noisy maps are not taken between points closer than that */
    double share;       /* of the precision that they may cost */
    double no_crossing; /* |height| that is no crossing */
    int more;           /* times that the rule at a crossing may be made more careful: */
    double finer;       /* a grid by that part for each halving of its error, */
    double margin;      /* to this part of what is wanted, */
    double finest;      /* and no finer */
    int checks;         /* points of the last branch that the full rule may be asked about, */
    double check;       /* and by samples no finer than this: to 1e-4 they take a hundred times as long */
    int attempts;       /* times, to find the largest alpha of a fold */
    double apart;       /* in log v, of the three points that show it, */
    double inside;      /* within which it has to be */
    double top_error;   /* relative error of what a parabola through them says */
    double stands_out;  /* errors by which a fold is above where perfect recovery is stable, */
    double least;       /* for which errors go down to this part of the precision */
} tuning = {.first = 0.85,
            .ratio = 0.55,
            .new_overlap = 0.1,
            .last_mean = 3e-5,
            .no_mean = {1e-8, 1e-10},
            .committee_mean = 1e-10,
            .flat_mean = 1e-2,
            .few = 3,
            .few_noisy = 1,
            .cheap = 1024,
            .most_alpha = 1e3,
            .slack = 3e-3,
            .wide = 0.02,
            .share = 0.3,
            .no_crossing = 0.3,
            .more = 2,
            .finer = 0.1,
            .margin = 0.7,
            .finest = 2.0,
            .checks = 8,
            .check = 1e-3,
            .attempts = 4,
            .apart = 0.3,
            .inside = 0.7,
            .top_error = 0.3,
            .stands_out = 4,
            .least = 0.3};

typedef struct {
    stair_branch *b;
    const stair_asymptotics_options *options;
    stair_branch_point *point;
    stair_branch *other;             /* a copy of the branch, */
    stair_branch_point *other_point; /* for what must not disturb the walk, */
    double other_mean;               /* and its v */
    stair_step *list;
    int capacity, *count;
    stair_walk_point top; /* largest alpha so far */
    bool spent;           /* the last step is known less well than was asked for: more would be too costly */
    bool jumping;         /* alpha(v) is below it */
    stair_mark *marks;    /* (capacity) or NULL: where branches begin */
    bool weak_only;       /* the last branch, which leads to perfect recovery, is not walked */
    bool weak_known;      /* all weak-recovery steps are found */
    stair_fold *last;     /* the last branch, as walked */
} staircase;

static stair_walk_point as_walk(double v, const stair_branch_point *point)
{
    double product = point->alpha * point->leading.value;
    double noise = point->alpha_error / point->alpha;
    return (stair_walk_point){
        .v = v,
        .alpha = point->alpha,
        .height = product > 0 ? log(product) : -INFINITY,
        .alpha_noise = noise,
        .height_noise = hypot(noise, product > 0 ? point->leading.error / point->leading.value : 0)};
}

static stair_status solve_at(stair_branch *b, stair_branch_point *point, double v, bool fine,
                             stair_walk_point *out)
{
    STAIR_TRY(stair_branch_at_mean(b, v, fine, point));
    *out = as_walk(v, point);
    return STAIR_OK;
}

static stair_status walk_to(staircase *s, double v, bool fine, stair_walk_point *out)
{
    return solve_at(s->b, s->point, v, fine, out);
}

/* Layers of the rows along which x (P, P) is not zero; rows themselves where there are no layers. */
static void name_learned(const stair_model *model, const double *x, stair_step *step)
{
    int p = model->info.indices;
    bool layers = model->layer[p - 1] > 0, found[STAIR_MAX_INDICES + 1] = {false};
    double top = 0;
    step->learn_count = 0;
    for (int i = 0; i < p; i++) top = fmax(top, x[i * (p + 1)]);
    for (int i = 0; i < p; i++) found[layers ? model->layer[i] : i] |= x[i * (p + 1)] > 1e-6 * top;
    for (int l = 0; l < p; l++)
        if (found[l]) step->learns[step->learn_count++] = l + 1 + (l ? model->unseen : 0);
}

static stair_step *new_step(staircase *s, stair_step_kind kind)
{
    if (*s->count == s->capacity) return NULL;
    stair_step *step = &s->list[(*s->count)++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    return step;
}

static void describe(staircase *s, stair_step *step)
{
    int p = s->b->model->info.indices;
    step->eigenvalue = s->point->leading.value;
    step->eigenvalue_error = s->point->leading.error;
    name_learned(s->b->model, s->point->leading.x, step);
    for (int i = 0; i < p; i++) {
        step->overlap[i] = s->point->q[i * (p + 1)];
        step->overlap_error[i] = s->point->q_error[i * (p + 1)];
        step->direction[i] = s->point->leading.x[i * (p + 1)];
    }
}

/* Step 0: what the label tells by itself is learned at any alpha > 0. */
static void begin_at_zero(staircase *s, stair_step *step)
{
    int p = s->b->model->info.indices;
    name_learned(s->b->model, s->point->drift, step);
    step->alpha = step->error = 0;
    step->eigenvalue = step->eigenvalue_error = NAN; /* nothing loses its stability */
    double trace = 0;
    for (int i = 0; i < p; i++) trace += s->point->drift[i * (p + 1)];
    for (int i = 0; i < p; i++) step->direction[i] = s->point->drift[i * (p + 1)] / trace;
}

/* What was solved last stays a result where a more careful rule turns out to be too costly. */
static void keep(staircase *s)
{
    *s->other = *s->b;
    *s->other_point = *s->point;
}

static stair_status go_back(staircase *s)
{
    *s->b = *s->other;
    *s->point = *s->other_point;
    s->spent = true;
    return STAIR_OK;
}

static stair_status first_step(staircase *s)
{
    stair_step *step = new_step(s, STAIR_STEP_WEAK);
    memset(s->point, 0, sizeof *s->point);
    stair_average_effort rule = s->b->fine;
    stair_status status;
    for (int more = 0;; more++) {
        keep(s);
        status = stair_branch_at_zero(s->b, fmax(1e-9, 1e-3 * s->options->precision), s->point);
        if (status == STAIR_COSTLY && more) status = go_back(s);
        double relative = s->point->leading.error / s->point->leading.value;
        if (status != STAIR_OK || more == tuning.more || s->options->points || s->spent ||
            !stair_branch_sharpen(s->b, s->point, relative, s->options->precision))
            break;
    }
    s->b->fine = rule;
    if (status != STAIR_OK) *s->count = 0;
    STAIR_TRY(status);
    double value = s->point->leading.value;
    if (step) describe(s, step);
    bool never = !(value > 1 / tuning.most_alpha);
    if (s->point->drifts) {
        if (step) begin_at_zero(s, step);
        s->top = (stair_walk_point){.v = 1};
        return STAIR_OK;
    }
    if (step) {
        step->alpha = never ? INFINITY : 1 / value;
        step->error = never ? 0 : s->point->leading.error / (value * value);
    }
    s->top = (stair_walk_point){.v = 1, .alpha = never ? INFINITY : 1 / value};
    return STAIR_OK;
}

/* Finer grids, or more samples; false where the error is good enough or the rule cannot be bettered. */
static bool sharpen(stair_branch *b, const stair_branch_point *point, double error, double wanted)
{
    if (point->random || !point->rule->refines) return stair_branch_sharpen(b, point, error, wanted);
    if (!(error > wanted) || b->fine.fineness >= tuning.finest) return false;
    b->fine.fineness *= 1 + tuning.finer * log2(error / (tuning.margin * wanted));
    b->fine.fineness = fmin(b->fine.fineness, tuning.finest);
    return true;
}

/* Closes in on the crossing between two walk points, on the coarse rule; leaves slopes. */
static stair_status close_in(staircase *s, stair_walk_point *above, stair_walk_point *below,
                             stair_crossing *c)
{
    stair_walk_point seen[SECANT + 2], next;
    int count = 0;
    if (isfinite(above->height)) seen[count++] = *above;
    seen[count++] = *below;
    for (int k = 0; k < SECANT; k++) {
        double share = isfinite(above->height) ? above->height / (above->height - below->height) : 0.5;
        share = fmin(0.95, fmax(0.05, share));
        double v = exp(log(above->v) + share * log(below->v / above->v));
        STAIR_TRY(walk_to(s, v, false, &next));
        *(next.height < 0 ? above : below) = next;
        if (isfinite(next.height)) seen[count++] = next;
        if (fabs(next.height) < 0.02 && isfinite(above->height)) break;
    }
    stair_crossing_slopes(count, seen, c);
    return STAIR_OK;
}

/* Newton's steps from v on with the full rule, which gets more samples if it misses the error asked for. */
static stair_status solve_crossing(staircase *s, double v, stair_crossing *c)
{
    stair_walk_point before = {0};
    double precision = s->options->precision;
    for (int k = 0, more = 0;; k++) {
        stair_crossing known = *c;
        stair_status status = walk_to(s, v, true, &c->at);
        if (status == STAIR_COSTLY && more) {
            *c = known;
            return go_back(s);
        }
        STAIR_TRY(status);
        if (before.v > 0 && fabs(log(c->at.v / before.v)) > (s->point->random ? tuning.wide : 1e-6))
            stair_crossing_slopes(2, (stair_walk_point[]){before, c->at}, c);
        before = c->at;
        stair_crossing_errors(s->point, c);
        if (k >= SECANT || c->doubt <= tuning.share * fmax(precision, c->error)) {
            if (!(fabs(c->at.height) < tuning.no_crossing))
                return stair_fail(s->b->context, STAIR_NOT_CONVERGED,
                                  "no crossing near alpha = %.4g; log(alpha eigenvalue) = %.2g", c->at.alpha,
                                  c->at.height);
            if (more++ == tuning.more || s->options->points) return STAIR_OK;
            if (!sharpen(s->b, s->point, c->error, precision)) return STAIR_OK;
            keep(s);
            before.v = 0; /* of another rule */
        }
        v = stair_crossing_mean(c);
    }
}

/* Part of row i that is in the learned directions, where V is to shrink: 1 where these are rows. */
static double learned_part(const stair_branch *b, int i)
{
    double sum = 0;
    for (int k = 0; k < b->learned; k++) sum += b->axes[i * b->learned + k] * b->axes[i * b->learned + k];
    return fabs(sum - 1) < 1e-9 ? 1 : sum;
}

/* Solves the crossing and writes the step, from the last point along the slopes. */
static stair_status cross(staircase *s, double start, stair_walk_point above, stair_walk_point below)
{
    stair_crossing c = {.start = start};
    STAIR_TRY(close_in(s, &above, &below, &c));
    stair_average_effort rule = s->b->fine;
    double share =
        isfinite(above.height) ? above.height / (above.height - below.height) : 0.5; /* next to the start */
    stair_status status = solve_crossing(s, exp(log(above.v) + share * log(below.v / above.v)), &c);
    s->b->fine = rule;
    STAIR_TRY(status);
    if (!(c.error < 1))
        return stair_fail(
            s->b->context, STAIR_NOT_CONVERGED,
            "after %d steps the next, near alpha = %.3g, has an error larger than itself; raise %s",
            *s->count, c.at.alpha, s->options->points ? "--samples" : "--patience");
    stair_walk_point here = {.v = stair_crossing_mean(&c),
                             .alpha = exp(log(c.at.alpha) - c.alpha_slope / c.slope * c.at.height)};
    stair_step *step = new_step(s, STAIR_STEP_WEAK);
    if (step) {
        describe(s, step);
        step->alpha = here.alpha;
        step->error = step->alpha * c.error;
        step->eigenvalue = 1 / step->alpha; /* at the crossing, a little beside the point just solved */
        step->eigenvalue_error = c.error / step->alpha;
        for (int i = 0; i < s->b->model->info.indices; i++)
            if (step->overlap[i] > 0) {
                double part = learned_part(s->b, i);
                step->overlap[i] = part - (part - step->overlap[i]) * here.v / c.at.v;
                step->overlap_error[i] = hypot(step->overlap_error[i], (part - step->overlap[i]) * c.v_error);
            }
    }
    s->top = here;
    return STAIR_OK;
}

/* Three points of the fold around log v = middle, the middle one solved last.  False where their parabola has
 * its top elsewhere, and `middle` is then nearer to it. */
static stair_status look_for_top(staircase *s, double *middle, bool *found, stair_walk_point *top,
                                 double *doubt)
{
    static const int order[3] = {-1, 1, 0};
    double value[3];
    stair_walk_point here;
    for (int k = 0; k < 3; k++) {
        STAIR_TRY(solve_at(s->other, s->other_point, exp(*middle + order[k] * tuning.apart), true, &here));
        value[order[k] + 1] = log(here.alpha);
    }
    s->other_mean = here.v;
    double slope = 0.5 * (value[2] - value[0]), bend = value[2] - 2 * value[1] + value[0];
    double move = bend < 0 ? fmax(-2, fmin(2, -slope / bend)) : slope > 0 ? 2 : -2;
    double gain = slope * move + 0.5 * bend * move * move;
    *found = fabs(move) <= tuning.inside;
    *top = (stair_walk_point){.v = exp(*middle + tuning.apart * move), .alpha = exp(value[1] + gain)};
    *doubt =
        tuning.top_error * fabs(gain) + 0.1 * fabs(bend) * fabs(move); /* a parabola is not all there is */
    *middle = log(top->v);
    return STAIR_OK;
}

/* The largest alpha of the fold that the walk met, with the full rule; error is relative.  Close above
 * `limit` it is wanted better, for it to be told from that. */
static stair_status refine_top(staircase *s, double limit, double *error)
{
    double middle = log(s->top.v), doubt = 0;
    bool found = false;
    *s->other = *s->b;
    for (int k = 0, more = 0; k < tuning.attempts; k++) {
        STAIR_TRY(look_for_top(s, &middle, &found, &s->top, &doubt));
        const stair_branch_point *point = s->other_point;
        *error = hypot(point->alpha_error / point->alpha, doubt);
        if (!found) continue;
        double above = s->top.alpha / limit - 1, wanted = s->options->precision;
        if (above > 0) wanted = fmin(wanted, fmax(above / tuning.stands_out, tuning.least * wanted));
        if (more++ == tuning.more || s->options->points || *error <= wanted) return STAIR_OK;
        if (!sharpen(s->other, point, *error, wanted)) return STAIR_OK;
    }
    return found ? STAIR_OK
                 : stair_fail(s->b->context, STAIR_NOT_CONVERGED,
                              "the top of the fold near alpha = %.4g was not found", s->top.alpha);
}

/* The step begins at the top of the fold.  Alpha is flat there, and where on the branch that is is not known
 * as well. */
static void begin_at_top(const staircase *s, double error, stair_step *step)
{
    int p = s->b->model->info.indices;
    step->jump = true;
    step->alpha = s->top.alpha;
    step->error = error * step->alpha;
    for (int i = 0; i < p; i++) {
        double q = s->other_point->q[i * (p + 1)], part = learned_part(s->other, i),
               rest = (part - q) * s->top.v / s->other_mean;
        step->overlap[i] = q > 0 ? part - rest : 0;
        step->overlap_error[i] = q > 0 ? tuning.top_error * tuning.apart * rest : 0;
    }
}

/* A jump lands where more is already unstable: that is learned at the same alpha. */
static stair_status land(staircase *s)
{
    double error;
    STAIR_TRY(refine_top(s, 0, &error));
    stair_step *step = new_step(s, STAIR_STEP_WEAK);
    if (!step) return STAIR_OK;
    describe(s, step);
    begin_at_top(s, error, step);
    return STAIR_OK;
}

/* A jump lands where nothing is unstable: a step of its own, of all that is learned, and the branch goes on.
 */
static stair_status pass_spinodal(staircase *s, stair_walk_point now)
{
    double error, q[STAIR_SQUARE];
    stair_status status = refine_top(s, 0, &error);
    if (status == STAIR_NOT_CONVERGED) return STAIR_OK; /* it was noise */
    STAIR_TRY(status);
    stair_step *step = new_step(s, STAIR_STEP_SPINODAL);
    if (step) {
        stair_branch_overlap(s->b, q);
        name_learned(s->b->model, q, step);
        step->eigenvalue = step->eigenvalue_error = NAN;
        begin_at_top(s, error, step);
    }
    s->top = now;
    return STAIR_OK;
}

/* Walks until the next step, or to the end; `found` tells which. */
static stair_status walk(staircase *s, double start, bool *found)
{
    stair_walk_point before = {.v = start, .alpha = s->top.alpha, .height = -INFINITY}, now;
    double end = s->b->kernel && s->b->structure->committee ? tuning.committee_mean : tuning.last_mean;
    if (!s->b->kernel && s->b->structure->rank == 0) end = tuning.flat_mean;
    bool fresh = true; /* no point of this branch has a larger alpha than the step that it begins at */
    *found = false;
    s->jumping = false;
    for (double v = start * tuning.first; v > end; v *= tuning.ratio) {
        STAIR_TRY(walk_to(s, v, false, &now));
        if (s->point->stop == STAIR_STOP_ITERATIONS)
            return stair_fail(s->b->context, STAIR_NOT_CONVERGED,
                              "no fixed point with mean 1 - Q = %g; residual %.2g", v, s->point->residual);
        if (!s->b->kernel) stair_fold_note(s->last, v, s->point);
        bool was = s->jumping;
        double noise = fmax(tuning.slack, s->point->alpha_error / s->point->alpha);
        s->jumping = now.alpha < s->top.alpha * (1 - noise) || (was && now.alpha < s->top.alpha);
        if (was && !s->jumping && fresh) { /* the step itself jumps: alpha falls from it on */
            s->list[*s->count - 1].jump = true;
            was = false;
            s->top = now;
        }
        fresh &= now.alpha < s->top.alpha;
        if (was && !s->jumping && !(now.height > 0)) STAIR_TRY(pass_spinodal(s, now));
        bool lands = was && !s->jumping && now.height > 0; /* the fold that is left behind is wanted still */
        if (now.alpha > s->top.alpha && !lands) s->top = now;
        if (!s->jumping && now.height > 0) {
            *found = true;
            stair_status status = was ? land(s) : STAIR_NOT_CONVERGED;
            return status == STAIR_NOT_CONVERGED ? cross(s, start, before, now)
                                                 : status; /* no fold, or it was noise */
        }
        if (now.alpha > tuning.most_alpha) return STAIR_OK;
        before = now;
    }
    if (s->jumping && fresh) s->list[*s->count - 1].jump = true;
    return STAIR_OK;
}

/* The fold that the walk met, or that a check found, against where perfect recovery is stable.  False where
 * there is none, or none that stands out. */
static stair_status fold_before(staircase *s, const stair_perfect *limit, stair_step *step, bool *found)
{
    double error;
    *found = false;
    stair_status status = refine_top(s, limit->alpha, &error);
    if (status == STAIR_NOT_CONVERGED) return STAIR_OK; /* it was noise */
    STAIR_TRY(status);
    *found = s->top.alpha * (1 - 3 * error) > limit->alpha;
    if (*found)
        begin_at_top(s, error, step);
    else
        step->error = fmax(step->error, s->top.alpha * (1 + error) - limit->alpha);
    return STAIR_OK;
}

/* No fold was seen: points that may hide one are solved with more samples, the worst first.  With one
 * direction the full rule costs no more; with several the error of the step may stay above the precision. */
static stair_status check_last_branch(staircase *s, const stair_perfect *limit, stair_step *step)
{
    double doubt;
    int worst;
    stair_walk_point here;
    *s->other = *s->b;
    if (s->b->learned > 1) {
        stair_asymptotics_options modest = *s->options;
        modest.precision = fmax(modest.precision, tuning.check);
        s->other->fine = stair_effort_fine(&modest);
        s->other->fine.rule = s->b->coarse.rule;
    }
    for (int k = 0;; k++) {
        doubt = stair_fold_doubt(s->last, limit->alpha, &worst);
        if (k == tuning.checks || worst < 0 || doubt <= s->options->precision) break;
        if (s->last->point[worst].known_noise > 0) break;
        stair_status status = solve_at(s->other, s->other_point, s->last->point[worst].v, true, &here);
        if (status == STAIR_COSTLY || status == STAIR_NOT_CONVERGED) break;
        STAIR_TRY(status);
        stair_fold_solved(s->last, worst, s->other_point);
        if (here.alpha * (1 - 3 * here.alpha_noise) > limit->alpha) {
            bool found;
            s->top = here;
            STAIR_TRY(fold_before(s, limit, step, &found));
            if (found) return STAIR_OK;
        }
    }
    step->error = fmax(step->error, doubt * limit->alpha);
    return STAIR_OK;
}

/* Everything is learned: the last branch ends in perfect recovery. */
static stair_status last_step(staircase *s, double end_alpha)
{
    const stair_model *model = s->b->model;
    stair_perfect limit;
    STAIR_TRY(stair_perfect_find(s->b->context, s->b->structure, 512, 8, s->options->seed, &limit));
    stair_step *step = new_step(s, STAIR_STEP_PERFECT);
    if (!step) return STAIR_OK;
    step->alpha = limit.alpha;
    step->error = limit.error;
    double identity[STAIR_SQUARE] = {0};
    for (int i = 0; i < model->info.indices; i++) identity[i * (model->info.indices + 1)] = 1;
    name_learned(model, identity, step);
    for (int i = 0; i < model->info.indices; i++) step->overlap[i] = 1;
    bool found = false;
    if (s->top.alpha > end_alpha * (1 + tuning.slack) && s->top.v > 10 * tuning.last_mean)
        STAIR_TRY(fold_before(s, &limit, step, &found));
    return found || !isfinite(limit.alpha) ? STAIR_OK : check_last_branch(s, &limit, step);
}

/* What is learned was recovered in full and the rest is still stable: it loses that where alpha times the
 * eigenvalue with Q = 1 there, which no longer changes with alpha, is one.  False: never. */
static stair_status beyond_perfect(staircase *s, bool *found)
{
    stair_walk_point here;
    double start = s->point->alpha;
    *found = false;
    if (s->b->model->info.prenoise > 0 || s->b->model->info.output_noisy || !(s->point->leading.value > 0))
        return STAIR_OK;
    STAIR_TRY(walk_to(s, tuning.no_mean[0], true, &here));
    double before = s->point->leading.value;
    STAIR_TRY(walk_to(s, tuning.no_mean[1], true, &here));
    double value = s->point->leading.value, error = hypot(s->point->leading.error, value - before);
    if (!(value > 1 / tuning.most_alpha) || !(value > 3 * error) || !(1 / value > start)) return STAIR_OK;
    *found = true;
    stair_step *step = new_step(s, STAIR_STEP_WEAK);
    if (!step) return STAIR_OK;
    describe(s, step);
    step->alpha = 1 / value;
    step->error = error / (value * value);
    return STAIR_OK;
}

static stair_status never_learned(staircase *s)
{
    stair_step *step = new_step(s, STAIR_STEP_WEAK);
    int p = s->b->model->info.indices, k = s->b->kernel;
    double x[STAIR_SQUARE];
    if (!step) return STAIR_OK;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            x[i * p + j] = 0;
            for (int a = 0; a < k; a++) x[i * p + j] += s->b->rest[i * k + a] * s->b->rest[j * k + a];
        }
    describe(s, step);
    name_learned(s->b->model, x, step);
    step->alpha = INFINITY;
    return STAIR_OK;
}

/* What drifts once the new directions are known is learned with them, at the same alpha. */
static stair_status absorb_drift(staircase *s)
{
    stair_step *step = &s->list[*s->count - 1];
    while (s->b->kernel && stair_branch_may_drift(s->b)) {
        stair_walk_point here;
        double x[STAIR_SQUARE];
        STAIR_TRY(walk_to(s, tuning.first * stair_branch_mean(s->b), false, &here));
        if (!s->point->drifts) return STAIR_OK;
        stair_branch_overlap(s->b, x);
        for (int i = 0; i < s->b->model->info.indices * s->b->model->info.indices; i++)
            x[i] = (step->alpha == 0 ? x[i] : 0) + s->point->drift[i];
        name_learned(s->b->model, x, step);
        stair_branch_learn(s->b, s->point->drift, tuning.new_overlap);
    }
    return STAIR_OK;
}

/* Discrete labels of one row: a sum over them costs less than samples. */
static bool cheap(const stair_model *model, const stair_structure *structure)
{
    return structure->rank == 0 && model->info.indices * model->info.tokens <= tuning.few;
}

static stair_status climb(staircase *s, int steps)
{
    STAIR_TRY(first_step(s));
    if (!isfinite(s->top.alpha)) return STAIR_OK;
    double mean = 1, q[STAIR_SQUARE];
    for (int done = 1; done < steps || steps == 0; done++) {
        bool found;
        int learned = s->b->learned;
        stair_branch_overlap(s->b, q);
        stair_branch_learn(s->b, s->point->drifts ? s->point->drift : s->point->leading.x,
                           tuning.new_overlap);
        STAIR_TRY(absorb_drift(s));
        double start = (learned * mean + (s->b->learned - learned)) / s->b->learned;
        if (s->marks) {
            s->marks[*s->count - 1] = (stair_mark){.branch = *s->b, .v = start};
            memcpy(s->marks[*s->count - 1].q, q, sizeof q);
        }
        s->weak_known = !s->b->kernel;
        if (s->weak_known && s->weak_only) return STAIR_OK;
        int before = *s->count;
        bool noisy = s->b->model->info.prenoise > 0 || s->b->model->info.output_noisy;
        if (s->weak_known && noisy && s->b->model->info.indices * s->b->model->info.tokens > tuning.few_noisy)
            return STAIR_OK; /* nothing is recovered perfectly */
        if (!s->b->kernel && !cheap(s->b->model, s->b->structure))
            s->b->coarse.rule = &stair_average_samples; /* all that is asked is whether alpha falls */
        if (!s->b->kernel && s->b->model->info.indices * s->b->model->info.tokens == 1 &&
            !s->options->points && s->b->coarse.points < tuning.cheap)
            s->b->coarse.points = tuning.cheap;
        STAIR_TRY(walk(s, start, &found));
        if (!found && s->b->kernel) {
            STAIR_TRY(beyond_perfect(s, &found));
            return found ? STAIR_OK : never_learned(s);
        }
        if (!found && noisy) return STAIR_OK; /* nothing is recovered perfectly */
        if (!found) return last_step(s, s->point->alpha);
        if (*s->count == before) return STAIR_OK; /* no room */
        mean = stair_branch_mean(s->b);
    }
    return STAIR_OK;
}

/* A step whose error is larger than what was asked for is a result all the same, and the status says so. */
static stair_status judge(const staircase *s)
{
    for (int k = 0; k < *s->count; k++) {
        const stair_step *step = &s->list[k];
        if (isfinite(step->alpha) && step->error > s->options->precision * step->alpha)
            return stair_fail(s->b->context, STAIR_NOT_CONVERGED,
                              "step %d has a relative error of %.2g, above --precision %g; %s", k + 1,
                              step->error / step->alpha, s->options->precision,
                              s->options->points ? "raise --samples"
                              : s->spent         ? "raise --patience, or take a larger one"
                                                 : "take a larger one, or set --samples");
    }
    return STAIR_OK;
}

/* As s tells; its list, marks and how far to go are the caller's. */
static stair_status find(stair_context *context, const stair_model *model, int steps, staircase *s)
{
    *s->count = 0;
    STAIR_TRY(stair_asymptotics_check(context, s->options));
    s->b = malloc(2 * sizeof *s->b);
    s->point = malloc(2 * sizeof *s->point);
    s->last = calloc(1, sizeof *s->last);
    stair_status status =
        s->b && s->point && s->last ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        s->other = s->b + 1;
        s->other_point = s->point + 1;
        status = stair_branch_prepare(s->b, context, model, s->options);
    }
    if (status == STAIR_OK) status = climb(s, steps);
    if ((status == STAIR_COSTLY || status == STAIR_UNSUPPORTED) &&
        *s->count) { /* what was found is a result */
        char reason[400];
        snprintf(reason, sizeof reason, "%.390s", stair_context_message(context));
        status = stair_fail(context, STAIR_NOT_CONVERGED, "after %d steps %s", *s->count, reason);
    }
    if (status == STAIR_OK) s->weak_known = true;
    if (status == STAIR_OK && !s->weak_only) status = judge(s);
    free(s->b);
    free(s->point);
    free(s->last);
    return status;
}

stair_status stair_threshold(stair_context *context, const stair_model *model,
                             const stair_asymptotics_options *options, int steps, int capacity,
                             stair_step *list, int *count)
{
    staircase s = {.options = options, .list = list, .capacity = capacity, .count = count};
    return find(context, model, steps, &s);
}

stair_status stair_staircase_marks(stair_context *context, const stair_model *model,
                                   const stair_asymptotics_options *options, int capacity, stair_step *list,
                                   stair_mark *marks, int *count)
{
    staircase s = {.options = options,
                   .list = list,
                   .marks = marks,
                   .capacity = capacity,
                   .count = count,
                   .weak_only = true};
    return find(context, model, 0, &s);
}

stair_status stair_staircase_whole(stair_context *context, const stair_model *model,
                                   const stair_asymptotics_options *options, int capacity, stair_step *list,
                                   stair_mark *marks, int *count, bool *weak_known)
{
    staircase s = {.options = options, .list = list, .marks = marks, .capacity = capacity, .count = count};
    stair_status status = find(context, model, 0, &s);
    *weak_known = s.weak_known;
    return status;
}
