/* stair train: the attention classifier of questions: training, evaluation, prediction. */
#include "columns.h"
#include "progress.h"
#include "training.h"
#include "stair_train.h"
#include "io/npz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the three ways of running share. */
typedef struct {
    cli_request *request;
    stair_vocab *vocab;
    stair_questions *data, *test, *asked;
    stair_classifier *weights; /* loaded ones */
    stair_train_result *result;
} train_job;

static void defaults(cli_options *o)
{
    o->train.points = 1; /* records: one row an epoch */
}

/* ---- training: one row for each snapshot of each run ---------------------------------------------- */

enum {
    SEED,
    STEP,
    EPOCH,
    TRAIN_LOSS,
    TRAIN,
    VALID_LOSS,
    VALID,
    SIMILARITY,
    RANK,
    NORM,
    SETTLED,
    TESTED,
    COLUMNS
};
static void fill_columns(int layers, cli_column *columns)
{
    columns[SEED] = column_natural("seed", "seed");
    columns[STEP] = column_int("step", NULL);
    columns[EPOCH] = column_real("epoch", "epoch", 2);
    columns[TRAIN_LOSS] = column_real("train_loss", "train loss", 4);
    columns[TRAIN] = column_real("train_accuracy", "train acc", 4);
    columns[VALID_LOSS] = column_real("validation_loss", "valid loss", 4);
    columns[VALID] = column_real("validation_accuracy", "valid acc", 4);
    columns[SIMILARITY] = column_decimals(column_line("similarity", "", layers), 4);
    columns[RANK] = column_line("similarity_rank", NULL, layers);
    columns[NORM] = column_line("norm", NULL, layers);
    columns[SETTLED] = column_line("settled", NULL, layers);
    columns[TESTED] = column_real("test_accuracy", NULL, 0);
}

static stair_status write_run(cli_report *report, int layers, const stair_train_run *run)
{
    for (int i = 0; i < run->snapshots; i++) {
        const stair_train_snapshot *s = &run->snapshot[i];
        int at = (int)s->epoch; /* the line of the epoch that ends here, if one does */
        bool ends = at >= 1 && at <= run->epochs && s->epoch == at;
        stair_train_epoch none = {0, NAN, NAN, NAN, NAN}, *e = ends ? &run->epoch[at - 1] : &none;
        cli_cell cells[COLUMNS] = {
            [SEED] = {.natural = run->seed},
            [STEP] = {.integer = s->step},
            [EPOCH] = {.real = s->epoch},
            [TRAIN_LOSS] = {.real = e->train_loss},
            [TRAIN] = {.real = e->train_accuracy},
            [VALID_LOSS] = {.real = e->validation_loss},
            [VALID] = {.real = e->validation_accuracy},
            [SIMILARITY] = {.array = s->similarity},
            [RANK] = {.array = s->similarity_rank},
            [NORM] = {.array = s->norm},
            [SETTLED] = {.array = run->settled},
            [TESTED] = {.real = run->test_accuracy},
        };
        STAIR_TRY(report_row(report, cells));
    }
    for (int l = 0; l < layers; l++)
        report_note(report, "seed %llu: layer %d settled at epoch %.3g\n", (unsigned long long)run->seed,
                    l + 1, run->settled[l]);
    if (!isnan(run->test_accuracy))
        report_note(report, "seed %llu: test accuracy %.4f\n", (unsigned long long)run->seed,
                    run->test_accuracy);
    return STAIR_OK;
}

static stair_status write_history(train_job *job, cli_report *report)
{
    for (int k = 0; k < job->result->runs; k++)
        STAIR_TRY(write_run(report, job->result->layers, &job->result->run[k]));
    return STAIR_OK;
}

/* ---- with weights at hand: accuracy on labelled questions, or labels for new ones ------------------ */

static const cli_column prediction_columns[] = {
    {.name = "line", .heading = "line", .kind = CELL_INT, .where = IN_ALL},
    {.name = "label", .heading = "label", .kind = CELL_TEXT, .where = IN_ALL, .width = 32},
    {.name = "probability", .heading = "probability", .where = IN_ALL, .digits = 4, .fixed = true},
};
static const cli_column accuracy_columns[] = {
    {.name = "questions", .heading = "questions", .kind = CELL_INT, .where = IN_ALL},
    {.name = "correct", .heading = "correct", .kind = CELL_INT, .where = IN_ALL},
    {.name = "accuracy", .heading = "accuracy", .where = IN_ALL, .digits = 4, .fixed = true},
};

static void class_name(const char *names, int k, char *name, size_t size)
{
    for (; k > 0; k--) names += strcspn(names, ",") + 1;
    snprintf(name, size, "%.*s", (int)strcspn(names, ","), names);
}

static stair_status write_predictions(train_job *job, const stair_classifier *c, cli_report *report)
{
    const stair_questions *q = job->asked ? job->asked : job->data;
    stair_classifier_info info = stair_classifier_describe(c);
    int *label = malloc((size_t)q->count * sizeof *label), right = 0;
    double *p = malloc((size_t)q->count * (size_t)info.classes * sizeof *p);
    stair_status status = label && p ? stair_classifier_predict(job->request->context, c, q, label, p)
                                     : stair_fail(job->request->context, STAIR_NO_MEMORY, "out of memory");
    for (int i = 0; i < q->count && status == STAIR_OK; i++) {
        char name[64];
        right += label[i] == q->label[i];
        if (!job->asked) continue;
        class_name(info.names, label[i], name, sizeof name);
        status = report_row(report,
                            (cli_cell[]){{.integer = i + 1},
                                         {.text = name},
                                         {.real = p[(size_t)i * (size_t)info.classes + (size_t)label[i]]}});
    }
    if (status == STAIR_OK && !job->asked)
        status = report_row(
            report,
            (cli_cell[]){{.integer = q->count}, {.integer = right}, {.real = (double)right / q->count}});
    free(label);
    free(p);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------------- */

static stair_status load(train_job *job)
{
    const cli_options *o = &job->request->options;
    stair_context *context = job->request->context;
    stair_questions_options how = o->questions;
    if (!o->vocab || !(o->data || (o->weights && o->predict)))
        return stair_fail(context, STAIR_BAD_INPUT,
                          "train needs --data and --vocab, or --weights, --vocab and --predict");
    STAIR_TRY(stair_vocab_load(context, o->vocab, &job->vocab));
    if (o->weights) {
        STAIR_TRY(stair_classifier_load(context, o->weights, &job->weights));
        stair_classifier_info info = stair_classifier_describe(job->weights);
        how = (stair_questions_options){.longest = info.longest, .classes = info.names};
        if (info.vocab != stair_vocab_size(job->vocab))
            return stair_fail(context, STAIR_BAD_INPUT, "%s has %d tokens, %s has %d", o->weights, info.vocab,
                              o->vocab, stair_vocab_size(job->vocab));
    }
    if (o->data) STAIR_TRY(stair_questions_load(context, job->vocab, o->data, &how, &job->data));
    if (o->test) STAIR_TRY(stair_questions_load(context, job->vocab, o->test, &how, &job->test));
    if (!o->predict) return STAIR_OK;
    how.classes = NULL; /* labels of new questions, if they have any, are not looked at */
    return stair_questions_load(context, job->vocab, o->predict, &how, &job->asked);
}

/* Refuses what cannot be saved before anything is computed. */
static stair_status check(train_job *job, const stair_train_options *how)
{
    const cli_options *o = &job->request->options;
    stair_npz *probe = NULL;
    STAIR_TRY(stair_train_check(job->request->context, how));
    if (!o->save) return STAIR_OK;
    if (how->runs > 1 || o->weights)
        return stair_fail(job->request->context, STAIR_BAD_INPUT, "--save goes with training and one seed");
    STAIR_TRY(stair_npz_create(job->request->context, o->save, o->force, &probe));
    stair_npz_destroy(&probe);
    return STAIR_OK;
}

static stair_status train(train_job *job, const stair_train_options *how)
{
    const cli_options *o = &job->request->options;
    cli_progress progress;
    progress_start(&progress, job->request->context, o->quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status status = stair_train(job->request->context, job->vocab, job->data, o->questions.classes,
                                      job->test, how, &job->result);
    progress_finish(&progress);
    if (status == STAIR_OK && o->save)
        status =
            stair_classifier_save(job->request->context, job->result->run[0].classifier, o->save, o->force);
    return status;
}

static stair_status work(train_job *job)
{
    cli_options *o = &job->request->options;
    if (!o->weights) STAIR_TRY(training_checkpoint(job->request, &o->train.checkpoint));
    stair_train_options how = o->train;
    cli_column columns[COLUMNS];
    cli_report *report;
    STAIR_TRY(load(job));
    STAIR_TRY(check(job, &how));
    if (job->asked)
        STAIR_TRY(report_open(job->request, prediction_columns, 3, &report));
    else if (job->weights)
        STAIR_TRY(report_open(job->request, accuracy_columns, 3, &report));
    else {
        fill_columns(how.layers, columns);
        STAIR_TRY(report_open(job->request, columns, COLUMNS, &report));
    }
    stair_status status = job->weights ? STAIR_OK : train(job, &how);
    if (status == STAIR_OK && (job->asked || job->weights))
        status = write_predictions(job, job->weights ? job->weights : job->result->run[0].classifier, report);
    else if (status == STAIR_OK)
        status = write_history(job, report);
    status = report_close(&report, status);
    if (status == STAIR_OK) training_forget(job->request, how.checkpoint, how.runs);
    return status;
}

static stair_status run(cli_request *request)
{
    train_job job = {.request = request};
    stair_status status = work(&job);
    stair_train_result_destroy(&job.result);
    stair_classifier_destroy(&job.weights);
    stair_questions_destroy(&job.data);
    stair_questions_destroy(&job.test);
    stair_questions_destroy(&job.asked);
    stair_vocab_destroy(&job.vocab);
    return status;
}

static const char *const tables[] = {"train", "questions", NULL};
static const char *const names[] = {"data",         "vocab",        "test",       "classes",
                                    "longest",      "weights",      "predict",    "save",
                                    "dim",          "rank",         "layers",     "scale",
                                    "bias",         "padding",      "start",      "rate",
                                    "weight-decay", "beta1",        "beta2",      "epsilon",
                                    "batch",        "epochs",       "validation", "seeds",
                                    "records",      "settle",       "checkpoint", "checkpoint-every",
                                    "resume",       COMMON_OPTIONS, NULL};

const cli_command command_train = {
    .name = "train",
    .words = "",
    .summary = "Attention classifier of questions by AdamW: accuracy, and when each layer settles",
    .details =
        "One row for each snapshot of each run: losses and accuracies where an epoch ends, and for every\n"
        "layer the similarity of w^T w to its final value.  --save keeps the weights as NPZ; with\n"
        "--weights they are not trained again but measured on --data, or used to --predict.\n"
        "With --out FILE the state is kept in FILE.state.* until the results are written; --resume goes on\n"
        "from there.\n",
    .examples = "stair train --data data/questions.label --vocab data/vocab.txt --rate 1e-3 --epochs 20\n"
                "stair train --data trec.label --vocab vocab.txt --seeds 4 --records 10 --out run.csv\n"
                "stair train --weights w.npz --vocab vocab.txt --predict new.txt\n",
    .options = names,
    .tables = tables,
    .defaults = defaults,
    .run = run,
};
