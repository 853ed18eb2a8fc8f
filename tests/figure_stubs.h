/* A library that answers at once, for figures: what takes minutes is replaced by functions that tell numbers
 * of known places, and note what they were asked.  To be included by one file of a program that is linked
 * with -Wl,--allow-multiple-definition: these come before the library's. */
#ifndef STAIR_TESTS_FIGURE_STUBS_H
#define STAIR_TESTS_FIGURE_STUBS_H

#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/stats.h"
#include "figure.h"

/* ---- what the library is asked, and what it answers --------------------------------------------------- */

#define CALLS 4096
typedef struct {
    const char *of; /* the function */
    char spec[160], path[256];
    stair_asymptotics_options how;
    stair_gamp_options gamp;
    stair_sgd_options sgd;
    stair_train_options train;
    stair_starts starts;
    double alpha, q[9];
    int steps, capacity, between;
    size_t alphas;
} call_record;
static call_record asked[CALLS];
static stair_status answers[CALLS]; /* of call 0, 1, ...: STAIR_OK unless a test says otherwise */
static int calls, alive;            /* alive: results that are not destroyed */

static inline void forget(void)
{
    memset(asked, 0, (size_t)calls * sizeof *asked);
    for (int k = 0; k < CALLS; k++) answers[k] = STAIR_OK;
    calls = 0;
}

static inline call_record *note(const char *of, const stair_model *model)
{
    if (calls == CALLS) fail_msg("more than %d calls", CALLS);
    call_record *c = &asked[calls++];
    c->of = of;
    snprintf(c->spec, sizeof c->spec, "%s", model ? stair_model_spec(model) : "");
    return c;
}

static inline stair_status answer(const call_record *c)
{
    stair_status status = answers[c - asked];
    return status == STAIR_OK ? STAIR_OK : stair_fail(context, status, "as the test wants it");
}

/* A number of its own for each quantity `what`, argument x and place k. */
static inline double told(int what, double x, int k)
{
    return what + 0.01 * x + 1e-4 * k;
}
enum { Q = 1, Q_ERROR, BAYES, BAYES_ERROR, PLUGIN, PLUGIN_ERROR, WEIGHTS, WEIGHTS_ERROR, OTHER, OTHER_ERROR };

static inline stair_errors told_errors(double x)
{
    return (stair_errors){.bayes = told(BAYES, x, 0),
                          .bayes_error = told(BAYES_ERROR, x, 0),
                          .plugin = told(PLUGIN, x, 0),
                          .plugin_error = told(PLUGIN_ERROR, x, 0),
                          .weights = told(WEIGHTS, x, 0),
                          .weights_error = told(WEIGHTS_ERROR, x, 0)};
}

static int (*steps_of)(const char *spec, stair_step *list);

/* Behind the end of each list stands one more that looks like the others. */
static inline void beyond(stair_step *list, int count, int capacity)
{
    for (int k = count; k < capacity; k++)
        list[k] = (stair_step){.alpha = 0.0123, .error = 50, .learn_count = 1, .learns = {1}};
}

stair_status stair_threshold(stair_context *c, const stair_model *model, const stair_asymptotics_options *how,
                             int steps, int capacity, stair_step *list, int *count)
{
    stair_step all[8] = {0};
    (void)c;
    call_record *r = note("threshold", model);
    r->how = *how;
    r->steps = steps;
    r->capacity = capacity;
    *count = steps_of(stair_model_spec(model), all);
    if (*count > capacity) *count = capacity;
    memcpy(list, all, (size_t)*count * sizeof *list);
    beyond(list, *count, capacity);
    return answer(r);
}

struct stair_sweep {
    int indices;
    size_t count, next;
    double alpha[512];
};

static inline double worst_at(double alpha)
{
    return 0.5 / (1 + alpha);
}

static inline void told_point(int indices, double alpha, stair_sweep_point *at)
{
    at->alpha = alpha;
    for (int k = 0; k < indices * indices; k++) {
        at->q[k] = told(Q, alpha, k);
        at->q_error[k] = told(Q_ERROR, alpha, k);
    }
    at->errors = told_errors(alpha);
    at->worst = worst_at(alpha);
    at->status = STAIR_OK;
}

stair_status stair_sweep_create(stair_context *c, const stair_model *model,
                                const stair_asymptotics_options *how, stair_starts starts, size_t alphas,
                                const double *alpha, stair_sweep **sweep)
{
    (void)c;
    call_record *r = note("sweep", model);
    r->how = *how;
    r->starts = starts;
    r->alphas = alphas;
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    assert_true(alphas <= 512);
    stair_sweep *s = *sweep = calloc(1, sizeof *s);
    s->indices = stair_model_describe(model).indices;
    s->count = alphas;
    memcpy(s->alpha, alpha, alphas * sizeof *alpha);
    alive++;
    return STAIR_OK;
}

void stair_sweep_destroy(stair_sweep **sweep)
{
    alive -= *sweep != NULL;
    free(*sweep);
    *sweep = NULL;
}

static double flat_from = INFINITY, zero_below = -INFINITY; /* alphas: overlaps are diagonal there */
static double missed_at = NAN;                              /* alpha of a point that is known less well */

stair_status stair_sweep_next(stair_sweep *s, stair_sweep_point *at)
{
    call_record *r = note("next", NULL);
    assert_true(s->next < s->count);
    told_point(s->indices, s->alpha[s->next++], at);
    for (int k = 0; k < s->indices * s->indices; k++)
        if (at->alpha < zero_below || (at->alpha >= flat_from && k + 1 < s->indices * s->indices))
            at->q[k] = 0;
    if (at->alpha == missed_at) at->status = STAIR_NOT_CONVERGED;
    return answer(r);
}

stair_status stair_sweep_all(stair_context *c, const stair_model *model, const stair_asymptotics_options *how,
                             stair_starts starts, size_t alphas, const double *alpha,
                             stair_sweep_point *points, double *q, double *q_error)
{
    (void)c;
    call_record *r = note("sweep all", model);
    int cells = stair_model_describe(model).indices * stair_model_describe(model).indices;
    r->how = *how;
    r->starts = starts;
    r->alphas = alphas;
    for (size_t i = 0; i < alphas; i++) {
        points[i].q = q + i * (size_t)cells;
        points[i].q_error = q_error + i * (size_t)cells;
        told_point(stair_model_describe(model).indices, alpha[i], &points[i]);
    }
    return answer(r);
}

/* A sum in which every entry has its weight. */
stair_status stair_errors_at(stair_context *c, const stair_model *model, const stair_asymptotics_options *how,
                             const double *q, const double *q_error, stair_errors *errors)
{
    (void)c;
    call_record *r = note("errors", model);
    int cells = stair_model_describe(model).indices * stair_model_describe(model).indices;
    r->how = *how;
    *errors = told_errors(-7);
    errors->plugin = errors->plugin_error = 0;
    for (int k = 0; k < cells; k++) {
        errors->plugin += (k + 1) * q[k];
        errors->plugin_error += (k + 1) * q_error[k];
    }
    return answer(r);
}

static double (*information)(double u, double held); /* log of f11 at Q11 = 1/(1 + e^-u) */
static double asked_u[64];

stair_status stair_information_at(stair_context *c, const stair_model *model,
                                  const stair_asymptotics_options *how, const double *q, double *f,
                                  double *error)
{
    (void)c;
    call_record *r = note("information", model);
    r->how = *how;
    memcpy(r->q, q, 4 * sizeof *q);
    double u = log(q[0] / (1 - q[0]));
    if (r - asked < 64) asked_u[r - asked] = u;
    for (int k = 0; k < 4; k++) {
        f[k] = exp(information(u, q[3])) * (1 + k);
        error[k] = 1e-3 * (1 + 10 * k) * f[k];
    }
    return answer(r);
}

stair_status stair_entropy_at(stair_context *c, const stair_model *model,
                              const stair_asymptotics_options *how, double alpha, const double *q,
                              double *entropy, double *error)
{
    (void)c;
    call_record *r = note("entropy", model);
    r->how = *how;
    *entropy = told(OTHER, alpha, 0) * (1 + *q);
    *error = told(OTHER_ERROR, alpha, 0) * (1 + *q);
    return answer(r);
}

static double amp_q, bayes_q; /* told in the hard phase; twice nearer to 1 for each other alpha */

stair_status stair_phase_at(stair_context *c, const stair_model *model, const stair_asymptotics_options *how,
                            double alpha, stair_phase *phase)
{
    (void)c;
    call_record *r = note("phase", model);
    r->how = *how;
    r->alpha = alpha;
    *phase->bayes_q = alpha == 1.1 ? bayes_q : 0.25;
    *phase->amp_q = alpha == 1.1 ? amp_q : alpha > 1.1 ? 1 : 0.125;
    *phase->bayes_q_error = told(Q_ERROR, alpha, 1);
    *phase->amp_q_error = told(Q_ERROR, alpha, 2);
    return answer(r);
}

static int curve_of; /* 0: with an answer that is no success there is no curve */

stair_status stair_staircase_curve_create(stair_context *c, const stair_model *model,
                                          const stair_asymptotics_options *how, int between,
                                          stair_staircase_curve **curve)
{
    (void)c;
    call_record *r = note("staircase", model);
    r->how = *how;
    r->between = between;
    *curve = NULL;
    stair_status status = answer(r);
    if (status != STAIR_OK && !curve_of) return status;
    int p = stair_model_describe(model).indices, points = 2 * between + 3;
    stair_staircase_curve *s = *curve = calloc(1, sizeof *s);
    *s = (stair_staircase_curve){.indices = p, .points = points, .worst = 0.0625};
    s->step = calloc(8, sizeof *s->step);
    s->steps = steps_of(stair_model_spec(model), s->step);
    beyond(s->step, s->steps, 8);
    s->alpha = calloc((size_t)points + 1, sizeof *s->alpha);
    s->q = calloc((size_t)(points * p + p), sizeof *s->q);
    s->q_error = calloc((size_t)(points * p + p), sizeof *s->q_error);
    s->errors = calloc((size_t)points + 1, sizeof *s->errors);
    for (int i = 0; i <= points; i++) {
        s->alpha[i] = 0.03125 * i;
        s->errors[i] = told_errors(s->alpha[i]);
        for (int k = 0; k < p; k++) {
            s->q[i * p + k] = told(Q, s->alpha[i], k);
            s->q_error[i * p + k] = told(Q_ERROR, s->alpha[i], k);
        }
    }
    alive++;
    return status;
}

void stair_staircase_curve_destroy(stair_staircase_curve **curve)
{
    stair_staircase_curve *s = *curve;
    *curve = NULL;
    if (!s) return;
    alive--;
    free(s->step), free(s->alpha), free(s->q), free(s->q_error), free(s->errors), free(s);
}

/* Runs have different lengths, and cosines of either sign. */
static inline int length_of(int run)
{
    return 2 + run % 3;
}

static inline double cosine_of(uint64_t seed, int run, int i, int k)
{
    return (k % 2 ? -1 : 1) * (0.1 + 0.01 * run + 0.125 * i + 0.001 * k + 1e-4 * (double)seed);
}

stair_status stair_gamp(stair_context *c, const stair_model *model, const stair_gamp_options *how,
                        stair_gamp_result **result)
{
    (void)c;
    call_record *r = note("gamp", model);
    r->gamp = *how;
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    int p = stair_model_describe(model).indices;
    stair_gamp_result *g = *result = calloc(1, sizeof *g);
    *g = (stair_gamp_result){.runs = how->seeds, .indices = p, .dim = how->dim};
    g->run = calloc((size_t)how->seeds + 1, sizeof *g->run);
    for (int k = 0; k <= how->seeds; k++) {
        stair_gamp_run *run = &g->run[k];
        int count = length_of(k);
        *run = (stair_gamp_run){
            .seed = how->seed + (uint64_t)k, .alpha = how->alpha + 1e-3 + 0.125 * k, .count = count};
        run->history = calloc((size_t)count + 1, sizeof *run->history);
        run->cosine = calloc((size_t)(count * p + p), sizeof *run->cosine);
        for (int i = 0; i <= count; i++) {
            stair_errors e = told_errors(i + (double)how->seed);
            run->history[i] = (stair_gamp_record){.bayes = e.bayes,
                                                  .bayes_error = e.bayes_error,
                                                  .plugin = e.plugin,
                                                  .plugin_error = e.plugin_error};
            for (int j = 0; j < p; j++) run->cosine[i * p + j] = cosine_of(how->seed, k, i, j);
        }
    }
    alive++;
    return STAIR_OK;
}

void stair_gamp_result_destroy(stair_gamp_result **result)
{
    stair_gamp_result *g = *result;
    *result = NULL;
    if (!g) return;
    alive--;
    for (int k = 0; k <= g->runs; k++) free(g->run[k].history), free(g->run[k].cosine);
    free(g->run), free(g);
}

stair_status stair_gamp_summary_create(stair_context *c, const stair_gamp_result *result,
                                       const stair_gamp_expectation *expectation,
                                       stair_gamp_summary **summary)
{
    (void)c;
    call_record *r = note("summary", NULL);
    assert_null(expectation);
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    stair_errors e = told_errors(result->run[0].alpha);
    *summary = calloc(1, sizeof **summary);
    **summary = (stair_gamp_summary){.runs = result->runs,
                                     .bayes = e.bayes,
                                     .bayes_error = e.bayes_error,
                                     .plugin = e.plugin,
                                     .plugin_error = e.plugin_error};
    alive++;
    return STAIR_OK;
}

void stair_gamp_summary_destroy(stair_gamp_summary **summary)
{
    alive -= *summary != NULL;
    free(*summary);
    *summary = NULL;
}

/* Of run 1 (from 0) the last record is missing: it diverged. */
static inline int records_of(int run)
{
    return run == 1 ? 3 : 4;
}

stair_status stair_sgd(stair_context *c, const stair_model *model, const stair_sgd_options *how,
                       stair_sgd_result **result)
{
    (void)c;
    call_record *r = note("sgd", model);
    r->sgd = *how;
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    stair_sgd_result *g = *result = calloc(1, sizeof *g);
    *g = (stair_sgd_result){.runs = how->seeds, .layers = stair_model_describe(model).layers};
    g->run = calloc((size_t)how->seeds + 1, sizeof *g->run);
    for (int k = 0; k <= how->seeds; k++) {
        stair_sgd_run *run = &g->run[k];
        *run = (stair_sgd_run){.count = records_of(k), .diverged = records_of(k) < 4};
        run->history = calloc((size_t)run->count + 1, sizeof *run->history);
        for (int i = 0; i <= run->count; i++) {
            stair_sgd_record *h = &run->history[i];
            h->epoch = 0.25 * i;
            h->train = told(BAYES, i, k);
            h->test = told(PLUGIN, i, k);
            for (int j = 0; j < 16; j++) h->cosine[j] = cosine_of(how->seed, k, i, 2 * j);
        }
    }
    alive++;
    return STAIR_OK;
}

void stair_sgd_result_destroy(stair_sgd_result **result)
{
    stair_sgd_result *g = *result;
    *result = NULL;
    if (!g) return;
    alive--;
    for (int k = 0; k <= g->runs; k++) free(g->run[k].history);
    free(g->run), free(g);
}

struct stair_vocab {
    int none;
};

stair_status stair_vocab_load(stair_context *c, const char *path, stair_vocab **vocab)
{
    (void)c;
    call_record *r = note("vocab", NULL);
    snprintf(r->path, sizeof r->path, "%s", path);
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    *vocab = calloc(1, sizeof **vocab);
    alive++;
    return STAIR_OK;
}

void stair_vocab_destroy(stair_vocab **vocab)
{
    alive -= *vocab != NULL;
    free(*vocab);
    *vocab = NULL;
}

stair_status stair_questions_load(stair_context *c, const stair_vocab *vocab, const char *path,
                                  const stair_questions_options *how, stair_questions **questions)
{
    (void)c;
    call_record *r = note("questions", NULL);
    snprintf(r->path, sizeof r->path, "%s", path);
    assert_non_null(vocab);
    assert_string_equal(how->classes, stair_questions_defaults().classes);
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    *questions = calloc(1, sizeof **questions);
    alive++;
    return STAIR_OK;
}

void stair_questions_destroy(stair_questions **questions)
{
    alive -= *questions != NULL;
    free(*questions);
    *questions = NULL;
}

stair_status stair_train(stair_context *c, const stair_vocab *vocab, const stair_questions *questions,
                         const char *classes, const stair_questions *test, const stair_train_options *how,
                         stair_train_result **result)
{
    (void)c;
    call_record *r = note("train", NULL);
    r->train = *how;
    assert_true(vocab && questions && !test);
    assert_string_equal(classes, stair_questions_defaults().classes);
    stair_status status = answer(r);
    if (status != STAIR_OK) return status;
    stair_train_result *g = *result = calloc(1, sizeof *g);
    *g = (stair_train_result){.runs = how->runs, .layers = 2};
    g->run = calloc((size_t)how->runs + 1, sizeof *g->run);
    for (int k = 0; k <= how->runs; k++) {
        stair_train_run *run = &g->run[k];
        run->snapshots = records_of(k);
        run->snapshot = calloc((size_t)run->snapshots + 1, sizeof *run->snapshot);
        for (int i = 0; i <= run->snapshots; i++) {
            run->snapshot[i].epoch = 0.25 * i;
            for (int j = 0; j < 2; j++) run->snapshot[i].similarity[j] = cosine_of(how->seed, k, i, 2 * j);
        }
    }
    alive++;
    return STAIR_OK;
}

void stair_train_result_destroy(stair_train_result **result)
{
    stair_train_result *g = *result;
    *result = NULL;
    if (!g) return;
    alive--;
    for (int k = 0; k <= g->runs; k++) free(g->run[k].snapshot);
    free(g->run), free(g);
}

/* The program is said to be here: what comes with it is looked for beside it. */
static char folder[] = "/tmp/stair-stubs-XXXXXX";
static bool no_program;

ssize_t readlink(const char *restrict path, char *restrict text, size_t size)
{
    char self[128];
    assert_string_equal(path, "/proc/self/exe");
    if (no_program) return -1;
    int length = snprintf(self, sizeof self, "%s/bin/stair", folder);
    assert_true((size_t)length < size);
    memcpy(text, self, (size_t)length); /* without an end, as it is */
    return length;
}

/* ---- figures ------------------------------------------------------------------------------------------ */

static figure_request request;

static inline const figure_kind *kind_of(const char *name)
{
    for (const figure_kind *const *k = figure_kinds; *k; k++)
        if (!strcmp((*k)->name, name)) return *k;
    fail_msg("no figure %s", name);
    return NULL;
}

/* MODEL: NULL for that of the figure, as make.c would have it. */
static inline figure_job open_figure(const char *name, const char *model, bool quick)
{
    const figure_kind *kind = kind_of(name);
    forget();
    flat_from = INFINITY, zero_below = -INFINITY, missed_at = NAN;
    request = (figure_request){
        .context = context, .quick = quick, .model = model, .how = stair_asymptotics_defaults()};
    request.how.seed = 77;
    request.how.replicates = 5;
    request.how.patience = 3;
    figure_job job = {.request = &request, .context = context, .kind = kind, .quick = quick};
    if (model || kind->model) {
        snprintf(job.spec, sizeof job.spec, "%s%s", model ? model : kind->model,
                 kind->prenoise ? ",prenoise=1e-3" : "");
        job.model = model_of(job.spec);
        job.info = stair_model_describe(job.model);
    }
    char names[2048] = "";
    kind->columns(&job, names, sizeof names);
    assert_int_equal(figure_table_create(context, names, &job.table), STAIR_OK);
    for (int k = 0; k < FIGURE_MARKS; k++)
        job.table->mark[k] = (figure_mark){.name = "weak", .text = "1", .value = 0.0123};
    return job;
}

static inline void close_figure(figure_job *job)
{
    for (int k = 0; k < job->overlays; k++) figure_table_destroy(&job->overlay[k]);
    figure_table_destroy(&job->table);
    stair_model_destroy(&job->model);
    assert_int_equal(alive, 0);
}

/* The first row of the part. */
static inline int add(figure_job *job, int part)
{
    int before = job->table->rows;
    if (job->kind->compute(job, part) != STAIR_OK)
        fail_msg("%s: %s", job->kind->name, stair_context_message(context));
    assert_int_equal(alive, 0);
    return before;
}

/* A failure at call number `at` is the failure of the part, and nothing is left behind. */
static inline void expect_status(figure_job *job, int part, int at, stair_status status, stair_status wanted)
{
    forget();
    answers[at] = status;
    stair_status found = job->kind->compute(job, part);
    if (found != wanted || alive)
        fail_msg("%s, part %d: status %d, not %d; %d left", job->kind->name, part, found, wanted, alive);
    assert_true(calls > at);
}

static inline double at(const figure_job *job, int row, const char *name)
{
    assert_true(figure_table_column(job->table, name) >= 0);
    return figure_table_at(job->table, row, name);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-14 * fabs(b);
}

/* The whole row, in the order of the columns. */
static inline void expect_row(const figure_job *job, int row, const char *series, int count,
                              const double *values)
{
    const figure_table *t = job->table;
    assert_true(row < t->rows);
    assert_int_equal(t->columns, count);
    assert_string_equal(t->series[row], series);
    for (int k = 0; k < count; k++)
        if (!same(t->cell[row * count + k], values[k]))
            fail_msg("%s, row %d, %s: %.17g, not %.17g", job->kind->name, row, t->column[k],
                     t->cell[row * count + k], values[k]);
}
#define EXPECT_ROW(job, row, series, ...)                                                                    \
    expect_row(job, row, series, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)),                      \
               (double[]){__VA_ARGS__})

static inline void expect_how(const stair_asymptotics_options *how, double precision, double patience)
{
    assert_true(how->precision == precision && how->patience == patience);
    assert_true(how->seed == 77 && how->replicates == 5);
}

static inline void expect_asked(int call, const char *of, const char *spec)
{
    assert_true(call < calls);
    assert_string_equal(asked[call].of, of);
    if (!strstr(asked[call].spec, spec)) fail_msg("%s: asked %s", spec, asked[call].spec);
}

static inline void expect_gamp(const stair_gamp_options *how, int dim, double alpha, int iterations,
                               int seeds, uint64_t seed, double start_overlap)
{
    stair_gamp_options usual = stair_gamp_defaults();
    assert_true(how->dim == dim && how->alpha == alpha && how->max_iterations == iterations);
    assert_true(how->seeds == seeds && how->seed == seed && how->start_overlap == start_overlap);
    assert_true(how->all_errors && how->start == usual.start && how->side == usual.side);
    assert_true(how->damping == usual.damping && how->test == usual.test && !how->checkpoint);
    assert_string_equal(how->variant, usual.variant);
}

static inline figure_plot *drawn(figure_job *job)
{
    figure_plot *plot = calloc(1, sizeof *plot);
    figure_table *t = job->table;
    for (int row = t->rows; row < t->room; row++)
        for (int k = 0; k < t->columns; k++) t->cell[row * t->columns + k] = 1e6;
    *plot = (figure_plot){.table = t, .x = {NAN, NAN}, .y = {NAN, NAN}, .key_columns = 4};
    assert_int_equal(job->kind->draw(job, plot), STAIR_OK);
    return plot;
}

static inline stair_step a_step(stair_step_kind kind, double alpha, double error, int first, int second)
{
    return (stair_step){.kind = kind,
                        .alpha = alpha,
                        .error = error,
                        .learn_count = (first > 0) + (second > 0),
                        .learns = {first, second}};
}

static inline double number_in(const char *spec, const char *key)
{
    const char *found = strstr(spec, key);
    assert_non_null(found);
    return strtod(found + strlen(key), NULL);
}

static inline double to_six_decimals(double x)
{
    return round(x * 1e6) / 1e6;
}

static inline int usual_steps(const char *spec, stair_step *list)
{
    (void)spec;
    list[0] = a_step(STAIR_STEP_WEAK, 0.25, 0.004, 2, 0);
    list[1] = a_step(STAIR_STEP_WEAK, 0.5, 0.03, 1, 0);
    list[2] = a_step(STAIR_STEP_PERFECT, 1, 1e-5, 1, 2);
    return 3;
}

/* ---- folders --------------------------------------------------------------------------------------------
 */

static inline int open_folder(void **state)
{
    char path[256];
    static const char *const inside[] = {"bin", "data", "share", "share/stair", "published"};
    if (!mkdtemp(folder)) return 1;
    for (size_t k = 0; k < sizeof inside / sizeof *inside; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, inside[k]);
        if (mkdir(path, 0777)) return 1;
    }
    return open_context(state);
}

static inline int close_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || close_context(state);
}

/* log f11 - u is held - u/2: it falls to zero at u = 2 held. */
static inline double straight(double u, double held)
{
    return held + u / 2;
}

static inline void make_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static inline void remove_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* Setup of a test. */
static inline int usual(void **state)
{
    (void)state;
    steps_of = usual_steps;
    information = straight;
    alive = 0;
    return 0;
}

#endif
