/* The fixed points at one alpha, and which of them is the Bayes-optimal one.
 *
 * State evolution is followed from no knowledge (where message passing ends), from full knowledge and from
 * two overlaps between.  The Bayes-optimal overlap maximises the free entropy S(Q) over all fixed points;
 * where it is not the one from no knowledge, learning is possible but hard for message passing.  An entropy
 * that is larger by less than tuning.doubt errors does not count as larger. */
#include "asymptotics/branch.h"
#include "core/context.h"
#include "core/matrix.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARTS STAIR_PHASE_STARTS

static const struct {
    double nothing;   /* an overlap below this counts as none */
    double doubt;     /* errors by which the entropy of one fixed point has to exceed another's to say so */
    double look;      /* precision at which the starts between are first followed */
    int same;         /* errors, */
    int close_enough; /* or precisions, by which two fixed points may differ and be the same; */
    double apart;     /* overlaps further apart than this are not the same however coarse the precision is */
} tuning = {.nothing = 1e-3, .doubt = 3.0, .look = 1e-2, .same = 4, .close_enough = 3, .apart = 0.05};

static const double between[STARTS] = {0, 1, 0.3, 0.7};

typedef struct {
    stair_context *context;
    const stair_model *model;
    const stair_asymptotics_options *options;
    double alpha;
    size_t cells;                      /* P * P */
    double *q[STARTS], *error[STARTS]; /* (P, P) each */
    int same[STARTS];                  /* the first start that leads to the same fixed point */
} phase_job;

static double most_of(size_t n, const double *a)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, a[i]);
    return most;
}

static double apart(size_t n, const double *a, const double *b)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* The fixed point from start s, with its error, whatever that is. */
static stair_status follow(phase_job *job, int s, double precision)
{
    stair_asymptotics_options how = *job->options;
    stair_evolution result = {.q = job->q[s], .q_error = job->error[s]};
    double from[STAIR_SQUARE] = {0};
    int p = job->model->info.indices;
    for (int i = 0; i < p; i++) from[i * (p + 1)] = between[s];
    how.precision = precision;
    stair_status status =
        stair_evolve(job->context, job->model, &how, job->alpha, s == 1, s > 1 ? from : NULL, &result);
    return status == STAIR_NOT_CONVERGED && result.stop != STAIR_STOP_ITERATIONS ? STAIR_OK : status;
}

/* Which earlier start leads to the same fixed point, s itself if none. */
static int known_as(const phase_job *job, int s, double noise)
{
    for (int k = 0; k < s; k++)
        if (apart(job->cells, job->q[k], job->q[s]) <= noise) return k;
    return s;
}

/* dS/dalpha at the fixed point of start s: S has its extremum in Q there, and alpha only stands before
 * E log Z_out. */
static double slope_at(const phase_job *job, int s, double entropy)
{
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE];
    int p = job->model->info.indices;
    stair_matrix_eigen(p, job->q[s], values, vectors);
    return (entropy - stair_entropy_of_prior(job->model, values)) / job->alpha;
}

/* Starts between lead to one of the two ends nearly always: a look tells, and only what is new is solved in
 * full. */
static stair_status find_all(phase_job *job, stair_phase *phase)
{
    double wanted = job->options->precision;
    for (int s = 0; s < STARTS; s++) {
        double precision = s > 1 ? fmax(tuning.look, wanted) : wanted;
        STAIR_TRY(follow(job, s, precision));
        int same = job->same[s] = known_as(job, s,
                                           fmax(tuning.same * most_of(job->cells, job->error[s]),
                                                fmin(tuning.close_enough * precision, tuning.apart)));
        if (same == s && s > 1) STAIR_TRY(follow(job, s, wanted));
        if (same == s)
            STAIR_TRY(stair_entropy_at(job->context, job->model, job->options, job->alpha, job->q[s],
                                       &phase->entropy[s], &phase->entropy_error[s]));
        phase->entropy[s] = phase->entropy[same];
        phase->entropy_error[s] = phase->entropy_error[same];
        phase->slope[s] = slope_at(job, same, phase->entropy[same]);
    }
    return STAIR_OK;
}

static int largest(const phase_job *job, const stair_phase *phase)
{
    int best = 0;
    for (int s = 1; s < STARTS; s++)
        if (job->same[s] == s &&
            phase->entropy[s] > phase->entropy[best] +
                                    tuning.doubt * hypot(phase->entropy_error[s], phase->entropy_error[best]))
            best = s;
    return best;
}

stair_status stair_phase_at(stair_context *context, const stair_model *model,
                            const stair_asymptotics_options *options, double alpha, stair_phase *phase)
{
    size_t cells = (size_t)model->info.indices * (size_t)model->info.indices, size = cells * sizeof(double);
    phase_job job = {.context = context, .model = model, .options = options, .alpha = alpha, .cells = cells};
    STAIR_TRY(stair_asymptotics_check(context, options));
    double *room = calloc(2 * STARTS, size);
    if (!room) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int s = 0; s < STARTS; s++) {
        job.q[s] = room + (size_t)s * cells;
        job.error[s] = job.q[s] + STARTS * cells;
    }
    phase->alpha = alpha;
    stair_status status = find_all(&job, phase);
    if (status == STAIR_OK) {
        phase->best = largest(&job, phase);
        phase->hard = phase->best != 0;
        memcpy(phase->bayes_q, job.q[phase->best], size);
        memcpy(phase->bayes_q_error, job.error[phase->best], size);
        memcpy(phase->amp_q, job.q[0], size);
        memcpy(phase->amp_q_error, job.error[0], size);
    }
    free(room);
    return status;
}

double stair_phase_worst(int indices, const stair_phase *phase)
{
    size_t cells = (size_t)indices * (size_t)indices;
    double overlaps = fmax(most_of(cells, phase->bayes_q_error), most_of(cells, phase->amp_q_error));
    return fmax(phase->entropy_error[phase->best], overlaps);
}

/* Below: the largest alpha without an overlap; above: the smallest with one. */
static void bracket(int indices, size_t count, const stair_phase *phases, bool bayes, double *range)
{
    size_t cells = (size_t)indices * (size_t)indices;
    double below = -INFINITY, above = INFINITY;
    for (size_t r = 0; r < count; r++) {
        const double *q = bayes ? phases[r].bayes_q : phases[r].amp_q;
        double most = 0;
        for (size_t i = 0; i < cells; i++) most = fmax(most, fabs(q[i]));
        if (most > tuning.nothing)
            above = fmin(above, phases[r].alpha);
        else
            below = fmax(below, phases[r].alpha);
    }
    bool found = below < above && isfinite(below) && isfinite(above);
    range[0] = found ? below : NAN;
    range[1] = found ? above : NAN;
}

void stair_phase_thresholds(int indices, size_t count, const stair_phase *phases, double information[2],
                            double algorithmic[2])
{
    bracket(indices, count, phases, true, information);
    bracket(indices, count, phases, false, algorithmic);
}
