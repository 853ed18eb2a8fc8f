/* stair amp: GAMP on a synthetic teacher, or on the user's own data. */
#include "amp_data.h"
#include "amp_rows.h"
#include "progress.h"
#include "training.h"
#include "core/npz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void defaults(cli_options *o)
{
    stair_gamp_theory_options theory = stair_gamp_theory_defaults();
    o->theory = "fixed";
    o->samples = theory.points * theory.replicates;
}

typedef struct {
    cli_request *request;
    cli_report *report;
    stair_npz *save; /* posterior of W, or NULL */
    int members[2];
    int runs, diverged, unfinished;
} amp_job;

/* Whether theory is given for each iteration, not for the fixed point. */
static bool follows_iterations(const cli_options *o)
{
    return !strcmp(o->theory, "trajectory") || (o->gamp.start_overlap > 0 && strcmp(o->theory, "none") != 0);
}

/* The fixed point from no knowledge, or, when the start or the trajectory matters, iteration by iteration. */
static stair_status predict(amp_job *job, const stair_gamp_options *how, amp_theory *theory)
{
    cli_request *request = job->request;
    bool none = !strcmp(request->options.theory, "none");
    int p = stair_model_describe(request->model).indices,
        count = follows_iterations(&request->options) ? how->max_iterations + 1 : 1;
    size_t size = (size_t)count * (size_t)(p * p);
    *theory = (amp_theory){.errors = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};
    if (none) return STAIR_OK;
    double *memory = calloc(4 * size, sizeof(double));
    if (!memory) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    *theory = (amp_theory){.count = count, .q = memory, .q_error = memory + size, .memory = memory};
    stair_asymptotics_options asymptotics = stair_asymptotics_defaults();
    asymptotics.side = how->side;
    asymptotics.seed = how->seed;
    stair_evolution result = {.q = theory->q, .q_error = theory->q_error};
    stair_status status = STAIR_OK;
    if (count == 1) {
        status =
            stair_evolve(request->context, request->model, &asymptotics, how->alpha, false, NULL, &result);
        theory->errors = result.errors;
        return status == STAIR_NOT_CONVERGED ? STAIR_OK : status;
    }
    stair_gamp_theory_options points = stair_gamp_theory_defaults();
    points.points = request->options.samples / points.replicates;
    points.seed = how->seed;
    status = stair_gamp_theory(request->context, request->model, how, &points, count, memory, memory + size,
                               memory + 2 * size, memory + 3 * size);
    /* what is compared with theory is the overlap with the teacher */
    theory->q = memory + 2 * size;
    theory->q_error = memory + 3 * size;
    if (status == STAIR_OK)
        status = stair_errors_at(request->context, request->model, &asymptotics,
                                 theory->q + size - (size_t)(p * p), theory->q_error + size - (size_t)(p * p),
                                 &theory->errors);
    return status;
}

static void count_stop(amp_job *job, stair_stop stop)
{
    job->runs++;
    job->diverged += stop == STAIR_STOP_DIVERGED;
    job->unfinished += stop == STAIR_STOP_ITERATIONS;
}

static stair_status write_rows(amp_job *job, const stair_gamp_result *result, const amp_theory *theory)
{
    const cli_options *o = &job->request->options;
    for (int k = 0; k < result->runs; k++) count_stop(job, result->run[k].stop);
    return (o->summary   ? amp_write_summary
            : o->history ? amp_write_history
                         : amp_write_runs)(job->report, result, theory);
}

static stair_status save_posterior(amp_job *job, const stair_gamp_run *run, int p)
{
    if (!job->save) return STAIR_OK;
    stair_context *context = job->request->context;
    STAIR_TRY(stair_npz_append(context, job->save, job->members[0], run->weights, (size_t)p));
    STAIR_TRY(stair_npz_append(context, job->save, job->members[1], run->cov, (size_t)p));
    return stair_npz_commit(context, job->save);
}

static stair_status open_save(amp_job *job, int dim)
{
    cli_request *request = job->request;
    uint64_t p = (uint64_t)stair_model_describe(request->model).indices, columns = (uint64_t)dim;
    if (!request->options.save) return STAIR_OK;
    STAIR_TRY(stair_npz_create(request->context, request->options.save, request->options.force, &job->save));
    STAIR_TRY(stair_npz_add(request->context, job->save, "weights", "<f8", 8, 2, &columns, &job->members[0]));
    return stair_npz_add(request->context, job->save, "cov", "<f8", 8, 2, &p, &job->members[1]);
}

static stair_status open_report(cli_request *request, cli_report **report)
{
    const cli_options *o = &request->options;
    return (o->summary ? amp_open_summary : o->history ? amp_open_history : amp_open_runs)(request, report);
}

/* ---- synthetic teachers ------------------------------------------------------------------------------ */

static stair_status one_alpha(amp_job *job, stair_gamp_options how, const char *checkpoint, size_t number)
{
    char *file = NULL;
    stair_gamp_result *result = NULL;
    amp_theory theory;
    if (checkpoint) {
        file = malloc(strlen(checkpoint) + 24);
        if (!file) return stair_fail(job->request->context, STAIR_NO_MEMORY, "out of memory");
        sprintf(file, "%s.%zu", checkpoint, number);
        how.checkpoint = file;
    }
    stair_status status = stair_gamp(job->request->context, job->request->model, &how, &result);
    free(file);
    if (status != STAIR_OK) return status;
    status = predict(job, &how, &theory);
    if (status == STAIR_OK) status = write_rows(job, result, &theory);
    const cli_options *o = &job->request->options;
    if (status == STAIR_OK && o->alpha.count < 2 && !o->summary && !o->history)
        status = amp_note_runs(job->report, result, &theory);
    if (status == STAIR_OK) status = save_posterior(job, &result->run[0], result->indices);
    free(theory.memory);
    stair_gamp_result_destroy(&result);
    return status;
}

static void remove_checkpoints(const char *checkpoint, size_t alphas, int seeds)
{
    for (size_t i = 0; checkpoint && i < alphas; i++) {
        char *file = malloc(strlen(checkpoint) + 24);
        if (!file) return;
        sprintf(file, "%s.%zu", checkpoint, i);
        stair_checkpoint_remove(file, seeds);
        free(file);
    }
}

static stair_status run_synthetic(amp_job *job)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    stair_gamp_options how = o->gamp;
    cli_progress progress;
    size_t count = o->alpha.count ? o->alpha.count : 1;
    if (o->predict) return stair_fail(request->context, STAIR_BAD_INPUT, "--predict goes with --data");
    if (o->log_labels) return stair_fail(request->context, STAIR_BAD_INPUT, "--logits goes with --data");
    if (o->save && (count > 1 || how.seeds > 1))
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "--save keeps one posterior: one --alpha, one seed");
    for (size_t i = 0; i < count; i++) {
        how.alpha = o->alpha.count ? o->alpha.values[i] : how.alpha;
        STAIR_TRY(stair_gamp_check(request->context, &how));
    }
    STAIR_TRY(open_save(job, how.dim));
    STAIR_TRY(open_report(request, &job->report));
    progress_start(&progress, request->context, o->quiet);
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        how.alpha = o->alpha.count ? o->alpha.values[i] : how.alpha;
        progress_stage(&progress, (double)i, 1, (double)count);
        status = one_alpha(job, how, o->gamp.checkpoint, i);
    }
    progress_finish(&progress);
    status = report_close(&job->report, status);
    if (status == STAIR_OK) remove_checkpoints(o->gamp.checkpoint, count, how.seeds);
    return status;
}

/* ---- the user's data ----------------------------------------------------------------------------------- */

enum { P_SAMPLE, P_MEAN, P_DEVIATION, P_PLUGIN, P_FIXED };

static stair_status open_predictions(cli_request *request, cli_report **report)
{
    static cli_column c[P_FIXED];
    int k = stair_model_describe(request->model).label_size;
    c[P_SAMPLE] = (cli_column){.name = "sample", .heading = "sample", .kind = CELL_INT, .where = IN_ALL};
    c[P_MEAN] = (cli_column){
        .name = "mean", .heading = "|mean|", .where = IN_ALL, .rank = 1, .shape = {k}, .digits = 5};
    c[P_DEVIATION] = (cli_column){
        .name = "deviation", .heading = "|deviation|", .where = IN_ALL, .rank = 1, .shape = {k}, .digits = 3};
    c[P_PLUGIN] = (cli_column){.name = "plugin", .where = IN_DATA, .rank = 1, .shape = {k}};
    return report_open(request, c, P_FIXED, report);
}

static stair_status write_predictions(amp_job *job, const stair_gamp_run *run, const amp_data *fresh)
{
    cli_request *request = job->request;
    size_t n = fresh->data.samples, k = (size_t)stair_model_describe(request->model).label_size;
    double *memory = malloc((3 * n * k + 1) * sizeof(double)), *mean = memory;
    if (!memory) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    double *deviation = mean + n * k, *plugin = deviation + n * k;
    stair_status status =
        stair_gamp_predict(request->context, request->model, run, &fresh->data, mean, deviation, plugin);
    for (size_t i = 0; i < n && status == STAIR_OK; i++)
        status = report_row(job->report, (cli_cell[]){{.integer = (int64_t)i},
                                                      {.array = mean + i * k},
                                                      {.array = deviation + i * k},
                                                      {.array = plugin + i * k}});
    free(memory);
    report_note(job->report, "GAMP: %s after %d iterations\n", stair_stop_name(run->stop), run->iterations);
    return status;
}

/* Labels that no weights could give are only found out by the channel; the file is named here. */
static stair_status blame(cli_request *request, stair_status status)
{
    char message[400];
    if (status != STAIR_BAD_INPUT && status != STAIR_UNSUPPORTED) return status;
    snprintf(message, sizeof message, "%s", stair_context_message(request->context));
    return stair_fail(request->context, status, "%s: %s", request->options.pair.items[1], message);
}

static stair_status fit(amp_job *job, const amp_data *data, const amp_data *fresh)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    stair_gamp_options how = o->gamp;
    stair_gamp_result *result = NULL;
    cli_progress progress;
    progress_start(&progress, request->context, o->quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status status =
        blame(request, stair_gamp_fit(request->context, request->model, &how, &data->data, &result));
    if (status == STAIR_OK) {
        status =
            fresh ? write_predictions(job, result->run, fresh) : write_rows(job, result, &(amp_theory){0});
        if (fresh) count_stop(job, result->run->stop);
        if (status == STAIR_OK) status = save_posterior(job, result->run, result->indices);
    }
    progress_finish(&progress);
    stair_gamp_result_destroy(&result);
    status = report_close(&job->report, status);
    if (status == STAIR_OK && o->gamp.checkpoint) stair_checkpoint_remove(o->gamp.checkpoint, 1);
    return status;
}

static stair_status run_data(amp_job *job)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    amp_data data = {.x.fd = -1}, fresh = {.x.fd = -1};
    static const char *const synthetic[] = {"dim",           "alpha",      "seeds",        "side",
                                            "start-overlap", "regenerate", "wide",         "theory",
                                            "summary",       "samples",    "test-samples", NULL};
    request->unused = synthetic;
    for (const char *const *name = synthetic; *name; name++)
        if (option_given(&request->parse, *name))
            return stair_fail(request->context, STAIR_BAD_INPUT,
                              "--%s is for a synthetic teacher, and --data gives the samples", *name);
    if (o->predict && o->history)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--predict and --history both want the rows");
    stair_gamp_options how = o->gamp;
    STAIR_TRY(stair_gamp_check(request->context, &how));
    stair_status status = amp_data_open(request, o->pair.items[0], 0, &data);
    if (status == STAIR_OK) status = amp_data_labels(request, o->pair.items[1], o->log_labels, &data);
    if (status == STAIR_OK && o->predict) status = amp_data_open(request, o->predict, data.data.dim, &fresh);
    if (status == STAIR_OK) status = open_save(job, data.data.dim);
    if (status == STAIR_OK)
        status = o->predict ? open_predictions(request, &job->report) : open_report(request, &job->report);
    if (status == STAIR_OK) status = fit(job, &data, o->predict ? &fresh : NULL);
    amp_data_close(&data);
    amp_data_close(&fresh);
    return status;
}

/* Who asks for the way, iteration by iteration, does not ask for its end. */
static stair_status verdict(const amp_job *job)
{
    const cli_options *o = &job->request->options;
    if (job->diverged)
        return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                          "%d of %d runs diverged; --damping may help", job->diverged, job->runs);
    if (job->unfinished && !o->history && !follows_iterations(o))
        return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                          "%d of %d runs had not converged after %d iterations; raise --max-iterations",
                          job->unfinished, job->runs, o->gamp.max_iterations);
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    amp_job job = {.request = request};
    cli_options *o = &request->options;
    if (o->history && o->summary)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--history and --summary both want the rows");
    if (o->pair.count > 2) return stair_fail(request->context, STAIR_BAD_INPUT, "--data given twice");
    o->gamp.all_errors = o->history || o->json || o->out;
    STAIR_TRY(training_checkpoint(request, &o->gamp.checkpoint));
    if (o->gamp.resume && !o->gamp.checkpoint)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--resume needs --out or --checkpoint");
    stair_status status = o->pair.count ? run_data(&job) : run_synthetic(&job);
    stair_npz_destroy(&job.save);
    return status == STAIR_OK ? verdict(&job) : status;
}

static const char *const tables[] = {"gamp", NULL};
static const char *const names[] = {"dim",
                                    "alpha",
                                    "seeds",
                                    "start",
                                    "start-overlap",
                                    "side",
                                    "damping",
                                    "adaptive",
                                    "max-iterations",
                                    "tolerance",
                                    "perfect",
                                    "precision",
                                    "variant",
                                    "theory",
                                    "samples",
                                    "test-samples",
                                    "regenerate",
                                    "wide",
                                    "data",
                                    "logits",
                                    "predict",
                                    "save",
                                    "history",
                                    "summary",
                                    "checkpoint",
                                    "checkpoint-every",
                                    "resume",
                                    COMMON_OPTIONS,
                                    NULL};

const cli_command command_amp = {
    .name = "amp",
    .words = "MODEL",
    .summary = "Message passing (GAMP) on a synthetic teacher or on your data, beside state evolution",
    .details =
        "One row for each run: overlaps Q = W W^T/D and M = W W*^T/D with the teacher (turned as the "
        "symmetries of\n"
        "the model allow), cosines, errors on fresh data of the Bayes predictor and of the plug-in one; "
        "below "
        "them, for\n"
        "one alpha, the mean over seeds beside state evolution.  --history gives a row for each iteration,\n"
        "--summary means over seeds with z-scores against state evolution: nan where it says exactly 0, for\n"
        "overlaps of runs are positive and their mean is not 0.\n"
        "With --data the weights are inferred from your samples: --save keeps their posterior mean and "
        "covariance,\n"
        "--predict gives the posterior mean of y at new samples and its standard deviation.  X in float32 "
        "or\n"
        "float64 is mapped, not read.  With --out FILE the state is kept in FILE.state.* until the results "
        "are\n"
        "written; --resume goes on from there.\n"
        "The exit status is 3 when a run diverges, or has not converged after --max-iterations: unless "
        "--history,\n"
        "--theory trajectory or theory from --start-overlap asks for the iterations themselves.\n",
    .examples = "stair amp attention:layers=2 --dim 1000 --alpha 1.2 --history\n"
                "stair amp attention:layers=2 --dim 1000 --alpha 0.1:1.5:0.1 --seeds 16 --summary --csv\n"
                "stair amp attention:layers=2 --dim 50000 --alpha 0.5 --regenerate --theory none\n"
                "stair amp attention:layers=2 --data X.npy Y.npy --predict Xnew.npy --out predictions.npz\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
