/* fig3-right: a classifier of questions with two attention layers: similarity of each layer to where training
 * leaves it, over epochs; each run thin, their mean strong.
 *
 * Questions that are given (TREC, say) are trained on as in the paper, for 40 epochs at a rate of 5e-5.
 * Without them those that come with the program serve: 201, a 27th of TREC, so the rate is larger. */
#include "figure.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    int quick_seeds, seeds, records; /* records: of an epoch */
    double own_rate;
} tuning = {.quick_seeds = 4, .seeds = 8, .records = 4, .own_rate = 1e-3};

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "epoch similarity1 similarity1_error similarity2 similarity2_error");
}

static int runs_of(const figure_job *job)
{
    return job->quick ? tuning.quick_seeds : tuning.seeds;
}

/* A run goes on one thread: all at once. */
static int parts(const figure_job *job)
{
    (void)job;
    return 1;
}

/* A file that comes with the program: beside the folder it was built in, or where it is installed. */
static stair_status own_file(stair_context *context, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"../data", "../share/stair"};
    char self[PATH_MAX - 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        snprintf(path, PATH_MAX, "%s/%s/%s", slash ? self : ".", places[k], name);
        if (access(path, R_OK) == 0) return STAIR_OK;
    }
    return stair_fail(context, STAIR_BAD_INPUT,
                      "fig3-right: %s is not with the program; give --data and --vocab", name);
}

typedef struct {
    stair_vocab *vocab;
    stair_questions *questions;
    const char *classes;
} question_set;

static void close_set(question_set *set)
{
    stair_questions_destroy(&set->questions);
    stair_vocab_destroy(&set->vocab);
}

static stair_status open_set(const figure_job *job, question_set *set)
{
    stair_context *context = job->context;
    const figure_request *r = job->request;
    stair_questions_options how = stair_questions_defaults();
    char data[PATH_MAX], vocab[PATH_MAX];
    *set = (question_set){.classes = how.classes};
    if (!r->data != !r->vocab) return stair_fail(context, STAIR_BAD_INPUT, "--data and --vocab go together");
    if (!r->data) {
        STAIR_TRY(own_file(context, "questions.label", data));
        STAIR_TRY(own_file(context, "vocab.txt", vocab));
    }
    STAIR_TRY(stair_vocab_load(context, r->vocab ? r->vocab : vocab, &set->vocab));
    stair_status status =
        stair_questions_load(context, set->vocab, r->data ? r->data : data, &how, &set->questions);
    if (status != STAIR_OK) close_set(set);
    return status;
}

static stair_status check(figure_job *job)
{
    question_set set;
    stair_status status = open_set(job, &set);
    if (status == STAIR_OK) close_set(&set);
    return status;
}

static stair_status add_run(figure_job *job, int number, const stair_train_run *run)
{
    for (int i = 0; i < run->snapshots; i++) {
        const stair_train_snapshot *s = &run->snapshot[i];
        double row[] = {s->epoch, s->similarity[0], NAN, s->similarity[1], NAN};
        STAIR_TRY(figure_table_add(job->context, job->table, figure_run_name(number), row));
    }
    return STAIR_OK;
}

static stair_status compute(figure_job *job, int part)
{
    stair_train_options how = stair_train_defaults();
    stair_train_result *result = NULL;
    question_set set;
    (void)part;
    how.runs = runs_of(job);
    how.points = tuning.records;
    how.seed = job->request->how.seed;
    if (!job->request->data) how.rate = tuning.own_rate;
    STAIR_TRY(open_set(job, &set));
    stair_status status =
        stair_train(job->context, set.vocab, set.questions, set.classes, NULL, &how, &result);
    for (int r = 0; status == STAIR_OK && r < result->runs; r++) status = add_run(job, r, &result->run[r]);
    if (status == STAIR_OK) status = figure_add_means(job, result->runs);
    stair_train_result_destroy(&result);
    close_set(&set);
    return status;
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    int runs = runs_of(job);
    snprintf(plot->x_label, FIGURE_TEXT, "epoch");
    snprintf(plot->y_label, FIGURE_TEXT, "similarity $\\mathcal{S}_{\\ell}$ to the last weights");
    plot->x[0] = 0, plot->x[1] = 40;
    plot->y[0] = 0, plot->y[1] = 1.02;
    for (int k = 1; k <= 2; k++) {
        char name[FIGURE_NAME], error[FIGURE_NAME], title[FIGURE_TEXT];
        snprintf(name, sizeof name, "similarity%d", k);
        snprintf(error, sizeof error, "similarity%d_error", k);
        snprintf(title, sizeof title, "layer %d", k);
        for (int r = 0; r < runs; r++)
            figure_plot_curve(plot, FIGURE_THIN, figure_layer_colour(k), figure_run_name(r), "epoch", name,
                              "", "");
        figure_plot_curve(plot, FIGURE_LINE, figure_layer_colour(k), "mean", "epoch", name, "", title);
    }
    plot->key_columns = 2;
    return STAIR_OK;
}

const figure_kind figure_3_right = {
    .name = "fig3-right",
    .group = "fig3-right",
    .text = "Figure 3 right: similarity of the layers of a question classifier to their last weights, over "
            "epochs",
    .takes_data = true,
    .check = check,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
