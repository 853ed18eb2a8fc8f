/* stair amp --data: weights from the user's samples, and predictions at new ones. */
#include "amp_data.h"
#include "amp_job.h"
#include "columns.h"
#include "progress.h"
#include "training.h"

#include <stdio.h>
#include <stdlib.h>

enum { P_SAMPLE, P_MEAN, P_DEVIATION, P_PLUGIN, P_FIXED };

static stair_status open_predictions(cli_request *request, cli_report **report)
{
    static cli_column c[P_FIXED];
    int k = stair_model_describe(request->model).label_size;
    c[P_SAMPLE] = column_int("sample", "sample");
    c[P_MEAN] = column_array("mean", "|mean|", k);
    c[P_MEAN].digits = 5; /* significant */
    c[P_DEVIATION] = column_array("deviation", "|deviation|", k);
    c[P_DEVIATION].digits = 3;
    c[P_PLUGIN] = column_array("plugin", NULL, k);
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

/* Rows without theory: it knows teachers only. */
static stair_status write_fit(amp_job *job, const stair_gamp_result *result)
{
    stair_gamp_expectation *none;
    STAIR_TRY(stair_gamp_expect(job->request->context, job->request->model, &job->how, STAIR_THEORY_NONE,
                                NULL, &none));
    stair_status status = amp_write_rows(job, result, none);
    stair_gamp_expectation_destroy(&none);
    return status;
}

static stair_status fit(amp_job *job, const amp_data *data, const amp_data *fresh)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    stair_gamp_result *result = NULL;
    cli_progress progress;
    progress_start(&progress, request->context, o->quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status status =
        blame(request, stair_gamp_fit(request->context, request->model, &job->how, &data->data, &result));
    if (status == STAIR_OK) {
        status = fresh ? write_predictions(job, result->run, fresh) : write_fit(job, result);
        if (fresh) amp_count_stop(job, result->run->stop);
        if (fresh)
            report_note(job->report, "GAMP: %s after %d iterations\n", stair_stop_name(result->run->stop),
                        result->run->iterations);
        if (status == STAIR_OK) status = amp_save_posterior(job, result->run, result->indices);
    }
    progress_finish(&progress);
    stair_gamp_result_destroy(&result);
    status = report_close(&job->report, status);
    if (status == STAIR_OK) training_forget(request, o->gamp.checkpoint, 1);
    return status;
}

static stair_status tell_need(amp_job *job, const amp_data *data)
{
    stair_gamp_need need;
    STAIR_TRY(amp_open_need(job));
    stair_status status = amp_write_need(job, &job->how, &data->data, &need);
    status = report_close(&job->report, status);
    return status == STAIR_OK ? stair_gamp_fits(job->request->context, &need) : status;
}

stair_status amp_run_data(amp_job *job)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    amp_data data = {0}, fresh = {0};
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
    STAIR_TRY(stair_gamp_check(request->context, &job->how));
    stair_status status = amp_data_open(request, o->pair.items[0], 0, &data);
    if (o->dry_run) {
        if (status == STAIR_OK) status = tell_need(job, &data);
        amp_data_close(&data);
        return status;
    }
    if (status == STAIR_OK) status = amp_data_labels(request, o->pair.items[1], o->log_labels, &data);
    if (status == STAIR_OK && o->predict) status = amp_data_open(request, o->predict, data.data.dim, &fresh);
    if (status == STAIR_OK) status = amp_open_save(job, data.data.dim);
    if (status == STAIR_OK)
        status = o->predict ? open_predictions(request, &job->report) : amp_open_report(job);
    if (status == STAIR_OK) status = fit(job, &data, o->predict ? &fresh : NULL);
    amp_data_close(&data);
    amp_data_close(&fresh);
    return status;
}

/* No option of a fit has a meaning here. */
static stair_status refuse_fit(cli_request *request)
{
    static const char *const of_fit[] = {
        "dim",          "alpha",      "seeds",    "start",          "start-overlap",
        "side",         "damping",    "adaptive", "max-iterations", "tolerance",
        "perfect",      "precision",  "variant",  "theory",         "samples",
        "test-samples", "regenerate", "wide",     "data",           "logits",
        "save",         "history",    "summary",  "checkpoint",     "checkpoint-every",
        "resume",       NULL};
    request->unused = of_fit;
    for (const char *const *name = of_fit; *name; name++)
        if (option_given(&request->parse, *name))
            return stair_fail(request->context, STAIR_BAD_INPUT, "--%s is for a fit, and --load needs none",
                              *name);
    if (request->options.predict) return STAIR_OK;
    return stair_fail(request->context, STAIR_BAD_INPUT, "--load goes with --predict");
}

stair_status amp_run_loaded(amp_job *job)
{
    cli_request *request = job->request;
    const cli_options *o = &request->options;
    amp_data fresh = {0};
    stair_gamp_result *result = NULL;
    cli_progress progress;
    STAIR_TRY(refuse_fit(request));
    stair_status status = amp_load_posterior(request, &result);
    if (status == STAIR_OK) status = amp_data_open(request, o->predict, result->dim, &fresh);
    if (status == STAIR_OK) status = open_predictions(request, &job->report);
    if (status == STAIR_OK) {
        progress_start(&progress, request->context, o->quiet);
        progress_stage(&progress, 0, 1, 1);
        status = write_predictions(job, result->run, &fresh);
        progress_finish(&progress);
        status = report_close(&job->report, status);
    }
    amp_data_close(&fresh);
    stair_gamp_result_destroy(&result);
    return status;
}
