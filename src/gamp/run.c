/* stair_gamp: runs one after the other, each on all threads, with its history and its checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/stage.h"
#include "core/clock.h"
#include "core/matrix.h"
#include "core/text.h"
#include "gamp/gamp.h"
#include "gamp/run.h"
#include "io/checkpoint.h"

enum { GOES_ON = STAIR_STOPS };

static const struct {
    double settled; /* relative change of a variance that is none: towards perfect recovery they change by
                       more */
    double zero;    /* mean square of W that counts as zero */
    double small;   /* bytes of X that every rank has room for */
} tuning = {.settled = 0.01, .zero = 1e-12, .small = 0x1p28};

/* Turns the progress of one pass into that of the whole request. */
typedef struct {
    stair_context *outer;
    double done, total;
} relay;

static bool relay_progress(void *user, double done, double total)
{
    relay *r = user;
    (void)done, (void)total;
    return stair_context_progress(r->outer, r->done, r->total);
}

typedef struct {
    const stair_structure *structure;
    stair_context *context; /* its progress is that of the whole request */
    stair_context whole;    /* the same without ranks: for variants that every rank runs by itself */
    stair_gamp_state state;
    stair_gamp_run *out;
    double t[STAIR_SQUARE]; /* W* W*^T / D */
    double *normals;        /* behind the errors of prediction */
    int stop;               /* a stair_stop, or GOES_ON */
    uint64_t fingerprint;
    const char *file; /* of its checkpoint, or NULL */
    double saved;     /* when, by stair_seconds() */
} one_run;

static stair_status grow(stair_context *context, stair_gamp_run *run, int p)
{
    size_t n = (size_t)run->count + 1, square = (size_t)(p * p);
    stair_gamp_record *history = realloc(run->history, n * sizeof *history);
    if (history) run->history = history;
    double **arrays[] = {&run->q, &run->m, &run->v, &run->cosine};
    bool failed = !history;
    for (int k = 0; k < 4; k++) {
        double *array = realloc(*arrays[k], n * (k == 3 ? (size_t)p : square) * sizeof(double));
        if (array) *arrays[k] = array;
        failed |= !array;
    }
    if (failed) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    run->count++;
    return STAIR_OK;
}

/* The record of the iteration just done; errors of prediction take a while and are made where asked for. */
static void fill_record(one_run *run, double change, bool with_errors)
{
    stair_gamp_state *s = &run->state;
    stair_gamp_run *out = run->out;
    int p = s->p, last = out->count - 1;
    size_t square = (size_t)(p * p);
    double *q = out->q + (size_t)last * square, *m = out->m + (size_t)last * square,
           *v = out->v + (size_t)last * square;
    double *cosine = out->cosine + (size_t)last * (size_t)p, trace = 0;
    stair_gamp_errors errors = {NAN, NAN, NAN, NAN};
    memcpy(v, s->c, square * sizeof(double));
    stair_gamp_overlap(s->model, s->dim, s->w, s->w, q);
    for (int i = 0; i < p; i++) trace += q[i * (p + 1)] - 1 + v[i * (p + 1)];
    for (size_t i = 0; i < square; i++) m[i] = NAN;
    for (int i = 0; i < p; i++) cosine[i] = NAN;
    if (s->problem->teacher) {
        stair_gamp_overlap(s->model, s->dim, s->w, s->problem->teacher, m);
        if (with_errors)
            stair_gamp_errors_at(s->model, s->options->test, run->normals, run->t, m, q, v, &errors);
        stair_gamp_align(run->structure, q, m);
        for (int i = 0; i < p; i++) {
            double norm = sqrt(fmax(0, q[i * (p + 1)]) * run->t[i * (p + 1)]);
            cosine[i] = norm > 0 ? m[i * (p + 1)] / norm : 0;
        }
    }
    out->history[last] = (stair_gamp_record){.change = change,
                                             .damping = s->damping,
                                             .mismatch = fabs(trace) / p,
                                             .bayes = errors.bayes,
                                             .plugin = errors.plugin,
                                             .bayes_error = errors.bayes_error,
                                             .plugin_error = errors.plugin_error,
                                             .channel_error = s->channel_error};
}

static int why_stop(const one_run *run, double change)
{
    const stair_gamp_state *s = &run->state;
    double values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], square = 0;
    for (int i = 0; i < s->p; i++)
        square +=
            run->out->q[(size_t)(run->out->count - 1) * (size_t)(s->p * s->p) + (size_t)(i * (s->p + 1))];
    stair_matrix_eigen(s->p, s->c, values, vectors);
    if (values[s->p - 1] < s->options->perfect) return STAIR_STOP_PERFECT;
    if (s->iteration && square / s->p < tuning.zero) return STAIR_STOP_ZERO;
    if (s->iteration && change < s->options->tolerance && s->cov_change < tuning.settled)
        return STAIR_STOP_CONVERGED;
    return s->iteration >= s->options->max_iterations ? STAIR_STOP_ITERATIONS : GOES_ON;
}

/* Everything a run goes on from, to the file or from it; a finished run has no use for g and o. */
static stair_status move_state(one_run *run, stair_state *file, bool put)
{
    stair_gamp_state *s = &run->state;
    stair_gamp_run *out = run->out;
    int count = out->count;
    stair_state_move(file, put, &count, sizeof count);
    stair_state_move(file, put, &run->stop, sizeof run->stop);
    stair_state_move(file, put, &s->iteration, sizeof s->iteration);
    stair_state_move(file, put, &s->damping, sizeof s->damping);
    if (!put && !(run->stop >= 0 && run->stop <= GOES_ON && s->iteration >= 0 &&
                  s->iteration <= s->options->max_iterations && count >= 1 &&
                  count <= s->options->max_iterations + 1 && s->damping >= 0 && s->damping <= 1))
        file->failed = true;
    stair_state_move(file, put, s->c, sizeof s->c);
    stair_state_move(file, put, s->f, sizeof s->f);
    stair_state_move(file, put, s->seconds, sizeof s->seconds);
    stair_state_move(file, put, s->w, (size_t)s->p * (size_t)s->dim * sizeof(double));
    size_t cells = run->stop == GOES_ON ? s->samples * (size_t)(s->p * s->m) : 0;
    stair_state_move(file, put, s->g, cells * sizeof(double));
    stair_state_move(file, put, s->o, cells * sizeof(double));
    for (size_t i = 0; !put && run->stop == GOES_ON && i < (size_t)s->p * (size_t)s->dim; i++)
        if (!isfinite(s->w[i])) file->failed = true;
    while (!file->failed && out->count < count) STAIR_TRY(grow(run->context, out, s->p));
    if (file->failed) return STAIR_OK;
    size_t n = (size_t)count, square = (size_t)(s->p * s->p);
    stair_state_move(file, put, out->history, n * sizeof *out->history);
    stair_state_move(file, put, out->q, n * square * sizeof(double));
    stair_state_move(file, put, out->m, n * square * sizeof(double));
    stair_state_move(file, put, out->v, n * square * sizeof(double));
    stair_state_move(file, put, out->cosine, n * (size_t)s->p * sizeof(double));
    return STAIR_OK;
}

/* Rank 0 has the samples of all for that. */
static stair_status save(one_run *run)
{
    stair_state file = {0};
    stair_gamp_state *s = &run->state;
    const stair_backend *backend = run->context->backend;
    if (backend && backend->fetch && run->stop == GOES_ON) STAIR_TRY(backend->fetch(run->context, s));
    size_t cells = (size_t)(s->p * s->m) * sizeof(double);
    double *const arrays[] = {s->g, s->o};
    for (int k = 0; k < 2 && run->stop == GOES_ON; k++)
        STAIR_TRY(stair_tiles_gather(run->context, &s->problem->tiles, cells, arrays[k], 0));
    stair_status status = stair_ranks_first(run->context) ? move_state(run, &file, true) : STAIR_OK;
    if (status == STAIR_OK) status = stair_state_save(run->context, run->file, run->fingerprint, &file);
    stair_state_free(&file);
    run->saved = stair_seconds();
    return status;
}

static stair_status restore(one_run *run, bool *found)
{
    stair_state file;
    STAIR_TRY(stair_state_load(run->context, run->file, run->fingerprint, &file, found));
    stair_status status = *found ? move_state(run, &file, false) : STAIR_OK;
    if (*found && status == STAIR_OK && (file.failed || file.at != file.size))
        status = stair_fail(run->context, STAIR_FAILED, "%s: checkpoint cannot be read", run->file);
    stair_state_free(&file);
    return status;
}

/* The verification variants keep no checkpoint: their problems are small, so they start again.  Ranks do not
 * share them either. */
static bool resumable(const one_run *run)
{
    return !stair_gamp_is_whole(run->state.options);
}

/* Whether it is time for a checkpoint: by the clock of rank 0. */
static stair_status is_due(const one_run *run, bool *due)
{
    unsigned char says = stair_seconds() - run->saved > run->state.options->checkpoint_every;
    STAIR_TRY(stair_ranks_copy(run->context, STAIR_OK, &says, 1));
    *due = says;
    return STAIR_OK;
}

static stair_status iterate(one_run *run, relay *progress)
{
    stair_gamp_state *s = &run->state;
    double done = progress->done;
    while (run->stop == GOES_ON) {
        double change;
        progress->done = done + (double)s->iteration / (s->options->max_iterations + 1);
        bool finite = true, due = false;
        stair_context *context = resumable(run) ? run->context : &run->whole;
        stair_status status = stair_gamp_iterate(context, s, &change, &finite);
        if (status == STAIR_UNSUPPORTED && s->iteration) { /* no label fits such means and variances */
            status = STAIR_OK;
            finite = false;
        }
        if (status != STAIR_OK) {
            if (context != run->context) stair_fail(run->context, status, "%s", context->message);
            if (run->file && status == STAIR_FAILED && resumable(run))
                STAIR_TRY(save(run)); /* stopped on request */
            return status;
        }
        STAIR_TRY(grow(run->context, run->out, s->p));
        fill_record(run, change, s->options->all_errors);
        run->stop = finite ? why_stop(run, change) : STAIR_STOP_DIVERGED;
        if (run->stop != GOES_ON && !s->options->all_errors) fill_record(run, change, true);
        if (run->file && resumable(run) && run->stop == GOES_ON) STAIR_TRY(is_due(run, &due));
        if (due) STAIR_TRY(save(run));
    }
    return STAIR_OK;
}

static stair_status begin(one_run *run)
{
    bool found = false;
    if (run->state.options->resume) STAIR_TRY(restore(run, &found));
    if (found) return STAIR_OK;
    stair_gamp_state_start(&run->state, run->out->seed);
    STAIR_TRY(grow(run->context, run->out, run->state.p));
    fill_record(run, INFINITY, true);
    run->stop = why_stop(run, INFINITY);
    return STAIR_OK;
}

static stair_status finish(one_run *run, double begun)
{
    stair_gamp_state *s = &run->state;
    stair_gamp_run *out = run->out;
    size_t square = (size_t)(s->p * s->p);
    if (run->file) STAIR_TRY(save(run));
    out->cov = malloc(square * sizeof(double));
    if (!out->cov) return stair_fail(run->context, STAIR_NO_MEMORY, "out of memory");
    memcpy(out->cov, s->c, square * sizeof(double));
    out->weights = s->w;
    s->w = NULL;
    out->iterations = s->iteration;
    out->stop = (stair_stop)run->stop;
    out->pass_seconds = s->seconds[0];
    out->draw_seconds = s->seconds[1];
    out->channel_seconds = s->seconds[2];
    out->rest_seconds =
        fmax(0, stair_process_seconds() - begun - s->seconds[0] - s->seconds[1] - s->seconds[2]);
    return STAIR_OK;
}

stair_status stair_gamp_run_one(stair_context *context, const stair_model *model,
                                const stair_gamp_options *options, const stair_gamp_problem *problem,
                                size_t number, int runs, uint64_t fingerprint, stair_gamp_run *out)
{
    relay progress = {.outer = context, .done = (double)number, .total = runs};
    stair_context inner = {.threads = context->threads,
                           .link = context->link,
                           .backend = context->backend,
                           .device = context->device,
                           .progress = relay_progress,
                           .progress_user = &progress};
    one_run run = {.context = &inner, .out = out, .fingerprint = fingerprint, .saved = stair_seconds()};
    char *file = options->checkpoint ? stair_state_name(options->checkpoint, number) : NULL;
    double begun = stair_process_seconds();
    run.file = file;
    run.whole = inner;
    run.whole.link = NULL;
    stair_status status = stair_gamp_state_create(&inner, model, options, problem, &run.state);
    if (status == STAIR_OK) status = stair_structure_find(&inner, model, &run.structure);
    if (status == STAIR_OK && problem->teacher) {
        stair_gamp_overlap(model, run.state.dim, problem->teacher, problem->teacher, run.t);
        run.normals = stair_gamp_error_normals(model, options->test, out->seed);
        if (!run.normals) status = stair_fail(&inner, STAIR_NO_MEMORY, "out of memory");
    }
    if (status == STAIR_OK) status = begin(&run);
    if (status == STAIR_OK) status = iterate(&run, &progress);
    if (status == STAIR_OK) status = finish(&run, begun);
    stair_gamp_state_destroy(&run.state);
    free(run.normals);
    free(file);
    if (status != STAIR_OK) return stair_fail(context, status, "%s", inner.message);
    return STAIR_OK;
}

uint64_t stair_gamp_fingerprint(const stair_model *model, const stair_gamp_options *o, size_t samples)
{
    char text[640]; /* numbers: at most 25 bytes each */
    uint64_t mark = stair_mark_text(stair_mark_begin("gamp"), stair_model_spec(model));
    snprintf(text, sizeof text, "%d %.17g %zu %.17g %.17g %.17g %.17g %d %d %.17g %.17g %.17g %d %d %d %llu",
             o->dim, o->alpha, samples, o->start, o->start_overlap, o->side, o->damping, o->adaptive,
             o->max_iterations, o->tolerance, o->perfect, o->precision, o->wide, o->test, o->all_errors,
             (unsigned long long)o->seed);
    return stair_mark_text(stair_mark_text(mark, o->variant), text);
}

stair_status stair_gamp_result_create(stair_context *context, const stair_model *model, int runs, int dim,
                                      size_t samples, stair_gamp_result **result)
{
    *result = calloc(1, sizeof **result);
    if (*result) (*result)->run = calloc((size_t)runs, sizeof *(*result)->run);
    if (!*result || !(*result)->run) {
        free(*result);
        *result = NULL;
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    (*result)->runs = runs;
    (*result)->indices = model->info.indices;
    (*result)->dim = dim;
    (*result)->samples = samples;
    return STAIR_OK;
}

void stair_gamp_result_destroy(stair_gamp_result **result)
{
    if (!*result) return;
    for (int k = 0; k < (*result)->runs; k++) {
        stair_gamp_run *run = &(*result)->run[k];
        free(run->history);
        free(run->q);
        free(run->m);
        free(run->v);
        free(run->cosine);
        free(run->weights);
        free(run->cov);
    }
    free((*result)->run);
    free(*result);
    *result = NULL;
}

/* ---- runs on ranks: each of them whole, where they are small and many ------------------------------ */

static void move_run(const stair_gamp_result *r, stair_gamp_run *out, stair_state *state, bool put)
{
    size_t p = (size_t)r->indices, n = 0;
    stair_gamp_run is = *out;
    if (put)
        stair_state_put(state, &is, sizeof is);
    else
        stair_state_get(state, &is, sizeof is);
    if (state->failed) return;
    n = (size_t)is.count;
    void *arrays[] = {out->history, out->q, out->m, out->v, out->cosine, out->weights, out->cov};
    size_t each = sizeof(double),
           bytes[] = {
               n * sizeof *out->history,  n * p * p * each, n * p * p * each, n * p * p * each, n * p * each,
               p * (size_t)r->dim * each, p * p * each};
    for (int k = 0; k < 7; k++) stair_state_array(state, put, &arrays[k], bytes[k], 1);
    is.history = arrays[0];
    is.q = arrays[1];
    is.m = arrays[2];
    is.v = arrays[3];
    is.cosine = arrays[4];
    is.weights = arrays[5];
    is.cov = arrays[6];
    *out = is;
}

typedef struct {
    const stair_model *model;
    const stair_gamp_options *options;
    stair_gamp_result *result;
    uint64_t fingerprint;
} runs_job;

/* Draws run k and runs it. */
static stair_status one_of_all(void *user, size_t k, int thread, stair_context *context)
{
    const runs_job *job = user;
    const stair_gamp_options *o = job->options;
    stair_gamp_run *run = &job->result->run[k];
    stair_gamp_problem problem;
    stair_stage stage; /* drawing is no progress: the run counts its iterations */
    stair_context alone = *context, *draws = stair_gamp_is_whole(o) ? &alone : context;
    (void)thread;
    run->seed = o->seed + (uint64_t)k;
    run->alpha = o->alpha;
    alone.link = NULL;
    stair_stage_begin(&stage, draws);
    stair_stage_set(&stage, (double)k / o->seeds, 0);
    stair_status status = stair_gamp_problem_draw(draws, job->model, o, run->seed, &problem);
    stair_stage_end(&stage);
    if (status != STAIR_OK && draws != context) stair_fail(context, status, "%s", alone.message);
    STAIR_TRY(status);
    status = stair_gamp_run_one(context, job->model, o, &problem, k, o->seeds, job->fingerprint, run);
    stair_gamp_problem_destroy(&problem);
    return status;
}

static stair_status pack_run(void *user, size_t k, stair_context *context, void **bytes, size_t *size)
{
    const runs_job *job = user;
    stair_state state = {0};
    move_run(job->result, &job->result->run[k], &state, true);
    return stair_state_bytes(context, &state, bytes, size);
}

static stair_status unpack_run(void *user, size_t k, stair_context *context, const void *bytes, size_t size)
{
    const runs_job *job = user;
    stair_state state = stair_state_over(bytes, size);
    stair_gamp_run run = {0};
    move_run(job->result, &run, &state, false);
    job->result->run[k] = run;
    return state.failed ? stair_fail(context, STAIR_NO_MEMORY, "out of memory") : STAIR_OK;
}

/* Whether ranks take whole runs: there is one for each, and X fits into the memory of one. */
static bool run_by_run(const stair_context *context, const stair_model *model, const runs_job *job)
{
    const stair_gamp_options *o = job->options;
    double bytes = (double)job->result->samples * model->info.tokens * o->dim * (o->wide ? 8 : 4);
    return stair_ranks_many(context) && o->seeds >= stair_context_ranks(context) &&
           (o->regenerate || bytes <= tuning.small);
}

stair_status stair_gamp(stair_context *context, const stair_model *model, const stair_gamp_options *options,
                        stair_gamp_result **result)
{
    *result = NULL;
    STAIR_TRY(stair_gamp_check(context, options));
    STAIR_TRY(stair_blocks_check(context, model, options->dim));
    STAIR_TRY(stair_state_probe_runs(context, options->checkpoint, options->seeds));
    STAIR_TRY(stair_gamp_result_create(context, model, options->seeds, options->dim,
                                       (size_t)llround(options->alpha * options->dim), result));
    runs_job job = {model, options, *result, stair_gamp_fingerprint(model, options, (*result)->samples)};
    stair_points_shared how = {.points = (size_t)options->seeds,
                               .wide = true,
                               .body = one_of_all,
                               .pack = pack_run,
                               .unpack = unpack_run};
    stair_status status = STAIR_OK;
    if (run_by_run(context, model, &job))
        status = stair_share_points(context, &how, &job);
    else
        for (size_t k = 0; k < how.points && status == STAIR_OK; k++)
            status = one_of_all(&job, k, 0, context);
    if (status != STAIR_OK) stair_gamp_result_destroy(result);
    return status;
}
