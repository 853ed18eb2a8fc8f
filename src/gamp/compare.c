/* Runs of GAMP beside state evolution: which theory belongs to them, and statistics over seeds.
 *
 * Without a start to speak of, a run ends at the fixed point of state evolution from no knowledge
 * (stair_evolve).  A run from a given overlap may end elsewhere, and one that is watched on its way is
 * compared with the trajectory (theory.c).  What is compared is M = W W*^T / D, the overlap with the teacher;
 * at the fixed point Q is the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "gamp/gamp.h"

/* ---- theory ------------------------------------------------------------------------------------ */

stair_theory_kind stair_gamp_theory_kind(const stair_gamp_options *options, stair_theory_kind kind)
{
    return kind == STAIR_THEORY_FIXED && options->start_overlap > 0 ? STAIR_THEORY_TRAJECTORY : kind;
}

/* Overlaps of a run spread by about 1/sqrt(D): state evolution beside it need not be far better. */
static const struct {
    double share, coarsest; /* of that spread; and the most, whatever the dimension */
} tuning = {.share = 0.2, .coarsest = 1e-2};

static stair_status allocate(stair_context *context, int indices, int count,
                             stair_gamp_expectation **expectation)
{
    size_t size = (size_t)(count ? count : 1) * (size_t)indices * (size_t)indices;
    stair_gamp_expectation *e = *expectation = calloc(1, sizeof *e + 2 * size * sizeof(double));
    if (!e) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    e->count = count;
    e->indices = indices;
    e->q = (double *)(e + 1);
    e->q_error = e->q + size;
    for (size_t i = 0; i < 2 * size; i++) e->q[i] = NAN;
    e->errors = (stair_errors){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return STAIR_OK;
}

static stair_status fixed_point(stair_context *context, const stair_model *model,
                                const stair_asymptotics_options *how, double alpha, stair_gamp_expectation *e)
{
    stair_evolution result = {.q = e->q, .q_error = e->q_error};
    stair_status status = stair_evolve(context, model, how, alpha, false, NULL, &result);
    e->errors = result.errors;
    return status == STAIR_NOT_CONVERGED ? STAIR_OK : status;
}

static stair_status trajectory(stair_context *context, const stair_model *model,
                               const stair_gamp_options *options, const stair_asymptotics_options *how,
                               const stair_gamp_theory_options *given, stair_gamp_expectation *e)
{
    size_t square = (size_t)(e->indices * e->indices), size = (size_t)e->count * square;
    stair_gamp_theory_options points = given ? *given : stair_gamp_theory_defaults();
    points.seed = options->seed;
    double *self = malloc(2 * size * sizeof(double)); /* W W^T / D, which is not asked for */
    if (!self) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status =
        stair_gamp_theory(context, model, options, &points, e->count, self, self + size, e->q, e->q_error);
    free(self);
    STAIR_TRY(status);
    return stair_errors_at(context, model, how, e->q + size - square, e->q_error + size - square, &e->errors);
}

stair_status stair_gamp_expect(stair_context *context, const stair_model *model,
                               const stair_gamp_options *options, stair_theory_kind kind,
                               const stair_gamp_theory_options *points, stair_gamp_expectation **expectation)
{
    kind = stair_gamp_theory_kind(options, kind);
    int count = kind == STAIR_THEORY_NONE ? 0 : kind == STAIR_THEORY_FIXED ? 1 : options->max_iterations + 1;
    *expectation = NULL;
    STAIR_TRY(stair_gamp_check(context, options));
    STAIR_TRY(allocate(context, model->info.indices, count, expectation));
    stair_asymptotics_options how = stair_asymptotics_defaults();
    how.side = options->side;
    how.seed = options->seed;
    how.precision = fmin(tuning.coarsest, fmax(how.precision, tuning.share / sqrt((double)options->dim)));
    stair_status status = kind == STAIR_THEORY_NONE ? STAIR_OK
                          : count == 1 ? fixed_point(context, model, &how, options->alpha, *expectation)
                                       : trajectory(context, model, options, &how, points, *expectation);
    if (status != STAIR_OK) stair_gamp_expectation_destroy(expectation);
    return status;
}

void stair_gamp_expectation_destroy(stair_gamp_expectation **expectation)
{
    free(*expectation);
    *expectation = NULL;
}

static const double *row_of(const stair_gamp_expectation *e, const double *rows, int i)
{
    int row = i < e->count ? i : e->count ? e->count - 1 : 0;
    return rows + (size_t)row * (size_t)(e->indices * e->indices);
}

const double *stair_gamp_expected_q(const stair_gamp_expectation *expectation, int i)
{
    return row_of(expectation, expectation->q, i);
}

const double *stair_gamp_expected_q_error(const stair_gamp_expectation *expectation, int i)
{
    return row_of(expectation, expectation->q_error, i);
}

/* ---- statistics over runs ------------------------------------------------------------------------ */

static void moments(int n, const double *values, double *mean, double *error, double *spread)
{
    double sum = 0, square = 0;
    for (int k = 0; k < n; k++) sum += values[k] / n;
    for (int k = 0; k < n; k++) square += (values[k] - sum) * (values[k] - sum);
    *mean = sum;
    *error = n > 1 ? stair_replicate_error(n, values) : NAN;
    if (spread) *spread = n > 1 ? sqrt(square / (n - 1)) : NAN;
}

/* Moments over the runs of what they ended with: the last row, (size), of the history that `rows` returns. */
static void moments_of_rows(const stair_gamp_result *result, size_t size,
                            const double *(*rows)(const stair_gamp_run *), double *values, double *mean,
                            double *error, double *spread)
{
    for (size_t i = 0; i < size; i++) {
        for (int k = 0; k < result->runs; k++)
            values[k] = rows(&result->run[k])[(size_t)(result->run[k].count - 1) * size + i];
        moments(result->runs, values, &mean[i], &error[i], spread ? &spread[i] : NULL);
    }
}

static const double *rows_q(const stair_gamp_run *run)
{
    return run->q;
}
static const double *rows_m(const stair_gamp_run *run)
{
    return run->m;
}
static const double *rows_cosine(const stair_gamp_run *run)
{
    return run->cosine;
}

static void moments_of_errors(const stair_gamp_result *result, double *values, stair_gamp_summary *s)
{
    for (int which = 0; which < 2; which++) {
        for (int k = 0; k < result->runs; k++) {
            const stair_gamp_record *last = &result->run[k].history[result->run[k].count - 1];
            values[k] = which ? last->plugin : last->bayes;
        }
        moments(result->runs, values, which ? &s->plugin : &s->bayes,
                which ? &s->plugin_error : &s->bayes_error, NULL);
    }
}

static double z_score(double mean, double error, double theory, double theory_error)
{
    return (mean - theory) / hypot(error, theory_error);
}

/* Overlaps of runs are positive, Q as a square and M by its alignment with the teacher: where theory says
 * exactly 0 their mean cannot be, and a z-score tells nothing. */
static double z_of_overlap(const stair_gamp_expectation *e, int d, double mean, double error)
{
    if (!e || !e->count) return NAN;
    double q = stair_gamp_expected_q(e, e->count)[d], q_error = stair_gamp_expected_q_error(e, e->count)[d];
    return q == 0 && q_error == 0 ? NAN : z_score(mean, error, q, q_error);
}

static void compare(const stair_gamp_expectation *e, stair_gamp_summary *s)
{
    const stair_errors *theory = e && e->count ? &e->errors : NULL;
    for (int i = 0; i < s->indices; i++) {
        int d = i * (s->indices + 1);
        s->z_q[i] = z_of_overlap(e, d, s->q[d], s->q_error[d]);
        s->z_m[i] = z_of_overlap(e, d, s->m[d], s->m_error[d]);
    }
    s->z_bayes = theory ? z_score(s->bayes, s->bayes_error, theory->bayes, theory->bayes_error) : NAN;
    s->z_plugin = theory ? z_score(s->plugin, s->plugin_error, theory->plugin, theory->plugin_error) : NAN;
}

stair_status stair_gamp_summary_create(stair_context *context, const stair_gamp_result *result,
                                       const stair_gamp_expectation *expectation,
                                       stair_gamp_summary **summary)
{
    size_t p = (size_t)result->indices, square = p * p;
    stair_gamp_summary *s = *summary = calloc(1, sizeof *s + (6 * square + 4 * p) * sizeof(double));
    double *values = malloc((size_t)result->runs * sizeof(double));
    if (!s || !values) {
        free(values);
        stair_gamp_summary_destroy(summary);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    double *at = (double *)(s + 1),
           **squares[] = {&s->q, &s->q_error, &s->q_spread, &s->m, &s->m_error, &s->m_spread},
           **lines[] = {&s->cosine, &s->cosine_error, &s->z_q, &s->z_m};
    for (int k = 0; k < 6; k++, at += square) *squares[k] = at;
    for (int k = 0; k < 4; k++, at += p) *lines[k] = at;
    s->runs = result->runs;
    s->indices = result->indices;
    for (int k = 0; k < s->runs; k++) s->diverged += result->run[k].stop == STAIR_STOP_DIVERGED;
    moments_of_rows(result, square, rows_q, values, s->q, s->q_error, s->q_spread);
    moments_of_rows(result, square, rows_m, values, s->m, s->m_error, s->m_spread);
    moments_of_rows(result, p, rows_cosine, values, s->cosine, s->cosine_error, NULL);
    moments_of_errors(result, values, s);
    compare(expectation, s);
    free(values);
    return STAIR_OK;
}

void stair_gamp_summary_destroy(stair_gamp_summary **summary)
{
    free(*summary);
    *summary = NULL;
}
