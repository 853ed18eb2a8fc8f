/* Which table the rows go to, and where the posterior is kept. */
#include "amp_job.h"
#include "amp_rows.h"

#include <string.h>

void amp_count_stop(amp_job *job, stair_stop stop)
{
    job->runs++;
    job->diverged += stop == STAIR_STOP_DIVERGED;
    job->unfinished += stop == STAIR_STOP_ITERATIONS;
}

stair_status amp_write_rows(amp_job *job, const stair_gamp_result *result,
                            const stair_gamp_expectation *theory)
{
    const cli_options *o = &job->request->options;
    for (int k = 0; k < result->runs; k++) amp_count_stop(job, result->run[k].stop);
    return (o->summary   ? amp_write_summary
            : o->history ? amp_write_history
                         : amp_write_runs)(job->report, result, theory);
}

stair_status amp_save_posterior(amp_job *job, const stair_gamp_run *run, int p)
{
    if (!job->save) return STAIR_OK;
    stair_context *context = job->request->context;
    STAIR_TRY(stair_npz_append(context, job->save, job->members[0], run->weights, (size_t)p));
    STAIR_TRY(stair_npz_append(context, job->save, job->members[1], run->cov, (size_t)p));
    STAIR_TRY(stair_npz_append(context, job->save, job->members[2], &run->seed, 1));
    const char *model = stair_model_spec(job->request->model);
    STAIR_TRY(stair_npz_append(context, job->save, job->members[3], model, strlen(model)));
    return stair_npz_commit(context, job->save);
}

stair_status amp_open_save(amp_job *job, int dim)
{
    cli_request *request = job->request;
    uint64_t p = (uint64_t)stair_model_describe(request->model).indices, columns = (uint64_t)dim;
    if (!request->options.save) return STAIR_OK;
    STAIR_TRY(stair_npz_create(request->context, request->options.save, request->options.force, &job->save));
    STAIR_TRY(stair_npz_add(request->context, job->save, "weights", "<f8", 8, 2, &columns, &job->members[0]));
    STAIR_TRY(stair_npz_add(request->context, job->save, "cov", "<f8", 8, 2, &p, &job->members[1]));
    STAIR_TRY(stair_npz_add(request->context, job->save, "seed", "<u8", 8, 1, NULL, &job->members[2]));
    return stair_npz_add(request->context, job->save, "model", "|u1", 1, 1, NULL, &job->members[3]);
}

stair_status amp_open_report(amp_job *job)
{
    const cli_options *o = &job->request->options;
    return (o->summary   ? amp_open_summary
            : o->history ? amp_open_history
                         : amp_open_runs)(job->request, &job->report);
}
