/* stair sgd: gradient descent on the teacher of a model, several seeds. */
#include "columns.h"
#include "progress.h"
#include "training.h"
#include "stair_train.h"

#include <math.h>
#include <string.h>

enum { ALPHA, SEED, BATCHES, STEPS, EPOCH, TRAIN, TEST, COSINE, NORM, SETTLED, COLUMNS };

static void fill_columns(int layers, cli_column *columns)
{
    columns[ALPHA] = column_given("alpha", "alpha");
    columns[SEED] = column_natural("seed", "seed");
    columns[BATCHES] = column_int("batches", "batches");
    columns[STEPS] = column_int("steps", NULL);
    columns[EPOCH] = column_real("epoch", "epoch", 2);
    columns[TRAIN] = column_real("errors.train", "train error", 5);
    columns[TEST] = column_real("errors.test", "test error", 5);
    columns[COSINE] = column_decimals(column_line("cosine", "", layers), 4);
    columns[NORM] = column_line("norm", NULL, layers);
    columns[SETTLED] = column_line("settled", NULL, layers);
}

static stair_status write_run(cli_report *report, double alpha, int layers, const stair_sgd_run *run)
{
    for (int i = 0; i < run->count; i++) {
        const stair_sgd_record *h = &run->history[i];
        cli_cell cells[COLUMNS] = {
            [ALPHA] = {.real = alpha},           [SEED] = {.natural = run->seed},
            [BATCHES] = {.integer = h->batches}, [STEPS] = {.integer = h->steps},
            [EPOCH] = {.real = h->epoch},        [TRAIN] = {.real = h->train},
            [TEST] = {.real = h->test},          [COSINE] = {.array = h->cosine},
            [NORM] = {.array = h->norm},         [SETTLED] = {.array = run->settled},
        };
        STAIR_TRY(report_row(report, cells));
    }
    for (int l = 0; l < layers; l++)
        if (isfinite(run->settled[l]))
            report_note(report, "seed %llu: layer %d learned at epoch %.3g\n", (unsigned long long)run->seed,
                        l + 1, run->settled[l]);
    if (run->diverged)
        report_note(report, "seed %llu: diverged at epoch %.3g\n", (unsigned long long)run->seed,
                    run->count ? run->history[run->count - 1].epoch : 0);
    return STAIR_OK;
}

static stair_status descend(cli_request *request, cli_report *report, double alpha, int layers, int *diverged)
{
    stair_sgd_options how = request->options.sgd;
    stair_sgd_result *result;
    how.alpha = alpha;
    STAIR_TRY(stair_sgd(request->context, request->model, &how, &result));
    stair_status status = STAIR_OK;
    for (int k = 0; k < result->runs && status == STAIR_OK; k++) {
        status = write_run(report, alpha, layers, &result->run[k]);
        *diverged += result->run[k].diverged;
    }
    stair_sgd_result_destroy(&result);
    return status;
}

static stair_status run(cli_request *request)
{
    cli_options *o = &request->options;
    if (o->alpha.count <= 1) STAIR_TRY(training_checkpoint(request, &o->sgd.checkpoint));
    stair_sgd_options how = o->sgd;
    int layers = stair_model_describe(request->model).row_layers;
    size_t count = o->alpha.count ? o->alpha.count : 1;
    int diverged = 0;
    const double *alphas = o->alpha.count ? o->alpha.values : &how.alpha;
    STAIR_TRY(stair_sgd_check(request->context, &how));
    if (count > 1 && how.checkpoint)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--checkpoint goes with one --alpha");
    cli_column columns[COLUMNS];
    fill_columns(layers, columns);
    cli_report *report;
    cli_progress progress;
    STAIR_TRY(report_open(request, columns, COLUMNS, &report));
    progress_start(&progress, request->context, o->quiet);
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < count && status == STAIR_OK; i++) {
        progress_stage(&progress, (double)i, 1, (double)count);
        status = descend(request, report, alphas[i], layers, &diverged);
    }
    progress_finish(&progress);
    status = report_close(&report, status);
    if (status == STAIR_OK) training_forget(request, how.checkpoint, how.seeds);
    if (status == STAIR_OK && diverged)
        return stair_fail(request->context, STAIR_NOT_CONVERGED,
                          "%d of %zu runs diverged: steps are too long for this model; try --rate %.2g",
                          diverged, count * (size_t)how.seeds, how.rate / 10);
    return status;
}

static const char *const tables[] = {"sgd", NULL};
static const char *const names[] = {"dim",
                                    "alpha",
                                    "epochs",
                                    "batch",
                                    "repeat",
                                    "rate",
                                    "weight-decay",
                                    "decay",
                                    "start",
                                    "shuffle",
                                    "wide",
                                    "seeds",
                                    "test-samples",
                                    "records",
                                    "settle",
                                    "checkpoint",
                                    "checkpoint-every",
                                    "resume",
                                    COMMON_OPTIONS,
                                    NULL};

const cli_command command_sgd = {
    .name = "sgd",
    .words = "MODEL",
    .summary = "Gradient descent on the same teacher: errors and cosines over training time",
    .details =
        "Squared loss on the labels of N = alpha D samples, batches used several times in a row.  The\n"
        "defaults are those of the paper's figure on SGD.  One row for each record of each seed, records\n"
        "being evenly spaced in the logarithm of training time; `cosine` is per layer, and `settled`\n"
        "the epoch from which it stays above --settle.  --decay torch takes rate*decay off the weights\n"
        "at each step, --decay paper takes decay off.  With --out FILE the state is kept in FILE.state.*\n"
        "until the results are written; --resume goes on from there.  Descent amplifies rounding: on\n"
        "another instruction set (STAIR_ISA) a run takes another, equally likely trajectory.  Exit 3 where "
        "a\n"
        "run diverged: the default rate is for labels of attention, which are at most 1.\n",
    .examples = "stair sgd attention:layers=2,tokens=2,skip=1\n"
                "stair sgd attention:layers=3 --dim 200 --alpha 30 --epochs 300 --seeds 4 --csv\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .run = run,
};
