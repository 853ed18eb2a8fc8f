/* stair amp --dry-run: what runs would take, a row for each alpha, and nothing is run. */
#include "amp_data.h"
#include "amp_job.h"
#include "columns.h"

#include <math.h>

enum { ALPHA, SAMPLES, X, BYTES, FREE, CARD, CARD_FREE, DRAW, ITERATION, SECONDS, COLUMNS };

stair_status amp_open_need(amp_job *job)
{
    static cli_column columns[COLUMNS]; /* as long as the report is open */
    columns[ALPHA] = column_given("alpha", "alpha");
    columns[SAMPLES] = column_int("samples", "samples");
    columns[X] = column_real("x_bytes", "bytes of X", 0);
    columns[BYTES] = column_real("bytes", "memory", 0);
    columns[FREE] = column_real("free", "free", 0);
    columns[CARD] = column_real("card_bytes", "on a card", 0);
    columns[CARD_FREE] = column_real("card_free", "free", 0);
    columns[DRAW] = column_real("draw_seconds", NULL, 0);
    columns[ITERATION] = column_real("iteration_seconds", "s/iteration", 0);
    columns[SECONDS] = column_real("seconds", "s in all", 0);
    for (int k = X; k < COLUMNS; k++) columns[k].digits = 3;
    return report_open(job->request, columns, COLUMNS, &job->report);
}

stair_status amp_write_need(amp_job *job, const stair_gamp_options *how, const stair_gamp_data *data,
                            stair_gamp_need *need)
{
    stair_context *context = job->request->context;
    STAIR_TRY(stair_gamp_needs(context, job->request->model, how, data, need));
    double alpha = data ? (double)data->samples / data->dim : how->alpha;
    return report_row(job->report, (cli_cell[]){{.real = alpha},
                                                {.integer = (int64_t)need->samples},
                                                {.real = need->x_bytes},
                                                {.real = need->bytes},
                                                {.real = isfinite(need->room) ? need->room : NAN},
                                                {.real = need->device_bytes},
                                                {.real = need->device_room},
                                                {.real = need->draw},
                                                {.real = need->iteration},
                                                {.real = need->seconds}});
}
