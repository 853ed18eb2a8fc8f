/* stair amp: GAMP on a synthetic teacher, or on the user's own data. */
#include "amp_job.h"
#include "amp_rows.h"
#include "progress.h"
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void defaults(cli_options *o)
{
    stair_gamp_theory_options theory = stair_gamp_theory_defaults();
    o->theory = "fixed";
    o->samples = theory.points * theory.replicates;
}

static stair_status write_beside_theory(amp_job *job, const stair_gamp_options *how,
                                        const stair_gamp_result *result)
{
    const cli_options *o = &job->request->options;
    stair_gamp_theory_options points = stair_gamp_theory_defaults();
    stair_gamp_expectation *theory;
    points.points = (int)(o->samples / points.replicates);
    STAIR_TRY(
        stair_gamp_expect(job->request->context, job->request->model, how, job->theory, &points, &theory));
    stair_status status = amp_write_rows(job, result, theory);
    if (status == STAIR_OK && o->alpha.count < 2 && !o->summary && !o->history)
        status = amp_note_runs(job->report, result, theory);
    stair_gamp_expectation_destroy(&theory);
    return status;
}

/* Theory, in the progress of one alpha: runs take most of the time. */
#define THEORY_SHARE 0.1

static stair_status one_alpha(amp_job *job, stair_gamp_options how, const char *checkpoint, size_t number,
                              cli_progress *progress)
{
    double theory = job->theory == STAIR_THEORY_NONE ? 0 : THEORY_SHARE;
    char *file = NULL;
    stair_gamp_result *result = NULL;
    if (checkpoint) {
        file = malloc(strlen(checkpoint) + 24);
        if (!file) return stair_fail(job->request->context, STAIR_NO_MEMORY, "out of memory");
        sprintf(file, "%s.%zu", checkpoint, number);
        how.checkpoint = file;
    }
    progress_stage(progress, (double)number, 1 - theory, progress->total);
    stair_status status = stair_gamp(job->request->context, job->request->model, &how, &result);
    progress_stage(progress, (double)number + 1 - theory, 0, progress->total);
    if (status == STAIR_OK) status = write_beside_theory(job, &how, result);
    if (status == STAIR_OK) status = amp_save_posterior(job, &result->run[0], result->indices);
    stair_gamp_result_destroy(&result);
    free(file);
    return status;
}

static void remove_checkpoints(const cli_request *request, const char *checkpoint, size_t alphas, int seeds)
{
    for (size_t i = 0; checkpoint && i < alphas; i++) {
        char *file = malloc(strlen(checkpoint) + 24);
        if (!file) return;
        sprintf(file, "%s.%zu", checkpoint, i);
        training_forget(request, file, seeds);
        free(file);
    }
}

/* All rows, then whether the largest of them fits. */
static stair_status tell_needs(amp_job *job, size_t count)
{
    const option_list *alpha = &job->request->options.alpha;
    stair_gamp_options how = job->how;
    stair_gamp_need need, worst = {.device_room = 1, .room = 1};
    STAIR_TRY(amp_open_need(job));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        if (alpha->count) how.alpha = alpha->values[i];
        status = amp_write_need(job, &how, NULL, &need);
        if (need.bytes + need.device_bytes >= worst.bytes + worst.device_bytes) worst = need;
    }
    status = report_close(&job->report, status);
    return status == STAIR_OK ? stair_gamp_fits(job->request->context, &worst) : status;
}

static stair_status run_synthetic(amp_job *job)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    stair_gamp_options how = job->how;
    cli_progress progress;
    size_t count = o->alpha.count ? o->alpha.count : 1;
    if (o->predict)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--predict goes with --data or --load");
    if (o->log_labels) return stair_fail(request->context, STAIR_BAD_INPUT, "--logits goes with --data");
    if (o->save && (count > 1 || how.seeds > 1))
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "--save keeps one posterior: one --alpha, one seed");
    for (size_t i = 0; i < count; i++) {
        how.alpha = o->alpha.count ? o->alpha.values[i] : how.alpha;
        STAIR_TRY(stair_gamp_check(request->context, &how));
    }
    if (o->dry_run) return tell_needs(job, count);
    STAIR_TRY(amp_open_save(job, how.dim));
    STAIR_TRY(amp_open_report(job));
    progress_start(&progress, request->context, o->quiet);
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        how.alpha = o->alpha.count ? o->alpha.values[i] : how.alpha;
        progress.total = (double)count;
        status = one_alpha(job, how, o->gamp.checkpoint, i, &progress);
    }
    progress_finish(&progress);
    status = report_close(&job->report, status);
    if (status == STAIR_OK) remove_checkpoints(request, o->gamp.checkpoint, count, how.seeds);
    return status;
}

/* Who asks for the way, iteration by iteration, does not ask for its end. */
static stair_status verdict(const amp_job *job)
{
    const cli_options *o = &job->request->options;
    if (job->diverged)
        return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                          "%d of %d runs diverged; --damping may help", job->diverged, job->runs);
    if (job->unfinished && !o->history && job->theory != STAIR_THEORY_TRAJECTORY)
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
    if (o->dry_run && o->load)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--dry-run is for runs, and --load needs none");
    if (o->pair.count > 2) return stair_fail(request->context, STAIR_BAD_INPUT, "--data given twice");
    o->gamp.all_errors = o->history || o->json || o->out;
    if (!o->dry_run) STAIR_TRY(training_checkpoint(request, &o->gamp.checkpoint));
    if (o->gamp.resume && !o->gamp.checkpoint && !o->dry_run)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--resume needs --out or --checkpoint");
    job.how = o->gamp;
    job.theory = stair_gamp_theory_kind(&job.how, !strcmp(o->theory, "none")    ? STAIR_THEORY_NONE
                                                  : !strcmp(o->theory, "fixed") ? STAIR_THEORY_FIXED
                                                                                : STAIR_THEORY_TRAJECTORY);
    stair_status status = o->load         ? amp_run_loaded(&job)
                          : o->pair.count ? amp_run_data(&job)
                                          : run_synthetic(&job);
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
                                    "load",
                                    "history",
                                    "summary",
                                    "checkpoint",
                                    "checkpoint-every",
                                    "resume",
                                    "dry-run",
                                    COMMON_OPTIONS,
                                    NULL};

const cli_command command_amp = {
    .name = "amp",
    .words = "MODEL",
    .summary = "Message passing (GAMP) on a synthetic teacher or on your data, beside state evolution",
    .details =
        "One row for each run: overlaps Q = W W^T/D and M = W W*^T/D with the teacher (turned as the\n"
        "symmetries of the model allow), cosines, errors on fresh data of the Bayes predictor and of the\n"
        "plug-in one; below them, for one alpha, the mean over seeds beside state evolution.  --history\n"
        "gives a row for each iteration, --summary means over seeds with z-scores against state evolution:\n"
        "nan where it says exactly 0, for overlaps of runs are positive and their mean is not 0.\n"
        "With --data the weights are inferred from your samples: --save keeps their posterior mean and\n"
        "covariance, --predict gives the posterior mean of y at new samples and its standard deviation;\n"
        "--load predicts from what was saved, to the same bytes.  X in float32 or float64 is mapped, not\n"
        "read.  X, Y and new samples may each be several files, one after the other: A,B,... or @LIST, a\n"
        "text file with a name on each line.  With --out FILE the state is kept in FILE.state.* until the\n"
        "results are written; --resume goes on from there.\n"
        "--dry-run prints what this would take, bytes of memory and seconds, and computes nothing but a\n"
        "small run to measure times with; exit 1 where there is too little memory.\n"
        "The exit status is 3 when a run diverges, or has not converged after --max-iterations: unless\n"
        "--history, --theory trajectory or theory from --start-overlap asks for the iterations themselves.\n",
    .examples = "stair amp attention:layers=2 --dim 1000 --alpha 1.2 --history\n"
                "stair amp attention:layers=2 --dim 1000 --alpha 0.1:1.5:0.1 --seeds 16 --summary --csv\n"
                "stair amp attention:layers=2 --dim 50000 --alpha 0.5 --regenerate --theory none\n"
                "stair amp attention:layers=2 --dim 50000 --alpha 0.5 --dry-run\n"
                "stair amp attention:layers=2 --data X.npy Y.npy --predict Xnew.npy --out predictions.npz\n"
                "stair amp attention:layers=2 --data X0.npy,X1.npy Y0.npy,Y1.npy --out fit.json\n"
                "stair amp attention:layers=2 --load W.npz --predict Xnew.npy --csv\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
