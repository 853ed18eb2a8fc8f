/* Fifty steps of SGD and of AdamW against PyTorch's, from the same start on the same batches.  The
 * fixtures are made by tests/torch/make_fixtures.py, in double precision, with every padded position
 * and every row of the embedding kept. */
#include "fixture.h"
#include "stair_train.h"
#include "io/npz.h"
#include "train/sgd.h"
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double *array(stair_archive *archive, const char *path, const char *name, stair_npy_header *header)
{
    stair_npy_header ignored;
    double *values;
    stair_status status =
        stair_archive_array(context, archive, path, name, header ? header : &ignored, &values);
    if (status != STAIR_OK) fail_msg("%s", stair_context_message(context));
    return values;
}

/* worst distance of the trajectory to PyTorch's */
static double follow_sgd(const char *path, const char *spec, bool double_data)
{
    stair_archive *archive;
    if (stair_archive_open(context, path, &archive)) fail_msg("%s", stair_context_message(context));
    stair_npy_header shape;
    double *setup = array(archive, path, "setup", NULL), *x = array(archive, path, "x", &shape);
    double *y = array(archive, path, "y", NULL), *start = array(archive, path, "start", NULL);
    double *trail = array(archive, path, "path", NULL), worst = 0;
    stair_model *model = model_of(spec);
    stair_sgd_options o = stair_sgd_defaults();
    o.dim = (int)setup[0];
    o.alpha = (double)shape.shape[0] / o.dim;
    o.batch = (int)setup[2];
    o.repeat = (int)setup[3];
    o.rate = setup[4];
    o.weight_decay = setup[5];
    o.double_data = double_data;
    o.test = 8;
    stair_sgd_run run = {0};
    stair_descent d;
    assert_int_equal(stair_descent_open(context, model, &o, 1, &run, &d), STAIR_OK);
    assert_int_equal(d.train.count, shape.shape[0]);
    size_t k = (size_t)d.net.outputs, weights = (size_t)(d.net.indices * o.dim);
    for (size_t i = 0; i < d.train.count; i++) {
        int lane;
        size_t block = stair_samples_block(&d.train, i, &lane);
        stair_samples_set_x(&d.net, &d.train, i, x + i * (size_t)(d.net.tokens * o.dim));
        for (size_t j = 0; j < k; j++) d.train.y[(block * k + j) * STAIR_GROUP + (size_t)lane] = y[i * k + j];
    }
    memcpy(d.weights, start, weights * sizeof(double));
    for (size_t step = 0; step < 50; step++) {
        assert_true(stair_descent_batch(&d));
        for (size_t i = 0; i < weights; i++)
            worst = fmax(worst, fabs(d.weights[i] - trail[step * weights + i]));
    }
    stair_descent_close(&d);
    stair_model_destroy(&model);
    free(setup);
    free(x);
    free(y);
    free(start);
    free(trail);
    stair_archive_close(&archive);
    return worst;
}

static void test_sgd_follows_pytorch(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"tests/torch/sgd_two.npz", "attention:layers=2,tokens=2,rank=1,skip=1"},
        {"tests/torch/sgd_deep.npz", "attention:layers=3,tokens=3,rank=1+2+1,skip=0.5"},
        {"tests/torch/sgd_linear.npz", "attention:layers=2,tokens=3,rank=2+1,skip=0.5,activation=linear"},
    };
    for (size_t i = 0; i < 3; i++) {
        double wide = follow_sgd(cases[i][0], cases[i][1], true),
               single = follow_sgd(cases[i][0], cases[i][1], false);
        print_message("%s: off by %.2g in double, %.2g in single precision\n", cases[i][0], wide, single);
        assert_true(wide < 1e-10);
        assert_true(single < 1e-5);
    }
}

static stair_vocab *make_vocab(int size)
{
    char path[] = "/tmp/stair-vocab-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    static const char *const special[4] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
    stair_vocab *vocab;
    for (int i = 0; i < size; i++) i < 4 ? fprintf(file, "%s\n", special[i]) : fprintf(file, "w%d\n", i);
    fclose(file);
    assert_int_equal(stair_vocab_load(context, path, &vocab), STAIR_OK);
    remove(path);
    return vocab;
}

static stair_questions read_questions(stair_archive *archive, const char *path, int longest, int classes)
{
    stair_npy_header shape;
    double *ids = array(archive, path, "ids", &shape), *length = array(archive, path, "length", NULL);
    double *label = array(archive, path, "label", NULL);
    int count = (int)shape.shape[0];
    stair_questions q = {.count = count, .longest = longest, .classes = classes};
    q.ids = malloc((size_t)(count * longest) * sizeof *q.ids);
    q.length = malloc((size_t)count * sizeof *q.length);
    q.label = malloc((size_t)count * sizeof *q.label);
    for (int i = 0; i < count * longest; i++) q.ids[i] = (int32_t)ids[i];
    for (int i = 0; i < count; i++) {
        q.length[i] = (int)length[i];
        q.label[i] = (int)label[i];
    }
    free(ids);
    free(length);
    free(label);
    return q;
}

/* Walks over all weights in the order of the fixture: read (into = true) or compare. */
static double walk(stair_classifier *c, double *flat, bool into)
{
    double worst = 0;
    double *parts[] = {c->embedding, NULL, NULL, stair_classifier_readout(c, c->parameters),
                       stair_classifier_readout(c, c->parameters) + c->classes * c->dim8};
    int rows[] = {c->vocab, c->layers * c->rank, c->layers, c->classes, 1};
    int columns[] = {c->dim, c->dim, c->rank, c->dim, c->classes};
    for (int part = 0; part < 5; part++)
        for (int r = 0; r < rows[part]; r++) {
            double *row = parts[part] + (parts[part] ? r * c->dim8 : 0);
            if (part == 1) row = stair_classifier_w(c, c->parameters, r / c->rank) + r % c->rank * c->dim8;
            if (part == 2) row = stair_classifier_b(c, c->parameters, r);
            for (int i = 0; i < columns[part]; i++, flat++) {
                if (into) row[i] = *flat;
                worst = fmax(worst, fabs(row[i] - *flat));
            }
        }
    return worst;
}

static double follow_adamw(const char *path)
{
    stair_archive *archive;
    if (stair_archive_open(context, path, &archive)) fail_msg("%s", stair_context_message(context));
    stair_npy_header shape;
    double *s = array(archive, path, "setup", NULL), *start = array(archive, path, "start", &shape);
    double *trail = array(archive, path, "path", NULL), *order = array(archive, path, "order", NULL);
    double *loss = array(archive, path, "loss", NULL), worst = 0;
    size_t weights = shape.shape[0];
    stair_vocab *vocab = make_vocab((int)s[0]);
    stair_questions q = read_questions(archive, path, (int)s[5], (int)s[4]);
    stair_train_options o = stair_train_defaults();
    o.dim = (int)s[1];
    o.rank = (int)s[2];
    o.layers = (int)s[3];
    o.bias = s[6] != 0;
    o.scale_rank = fabs(s[7] - s[1]) > 1e-9;
    o.rate = s[8];
    o.weight_decay = s[9];
    o.epsilon = s[10];
    o.batch = (int)s[11];
    o.epochs = 50;
    o.validation = 0;
    stair_train_run run = {0};
    stair_training t;
    assert_int_equal(stair_training_open(context, vocab, &q, "A,B,C,D", &o, 1, &run, &t), STAIR_OK);
    assert_close(t.c->scale, s[7], 1e-12);
    walk(t.c, start, true);
    static const int kept[] = {1, 10, 25, 50};
    for (int step = 1, k = 0; step <= 50; step++) {
        t.ordered = t.step / t.per_epoch; /* the fixture's order in place of a drawn one */
        for (int i = 0; i < q.count; i++) t.order[i] = (int)order[t.ordered * q.count + i];
        double before = t.loss;
        int seen = t.seen;
        stair_training_step(&t);
        worst = fmax(worst, fabs((t.loss - before) / (t.seen - seen) - loss[step - 1]));
        if (step != kept[k]) continue;
        stair_training_finish(&t); /* rows at rest are brought to now, as dense AdamW has them */
        worst = fmax(worst, walk(t.c, trail + (size_t)k++ * weights, false));
    }
    stair_training_close(&t);
    free(run.epoch);
    free(run.snapshot);
    stair_vocab_destroy(&vocab);
    free(q.ids);
    free(q.length);
    free(q.label);
    free(s);
    free(start);
    free(trail);
    free(order);
    free(loss);
    stair_archive_close(&archive);
    return worst;
}

static void test_adamw_follows_pytorch(void **state)
{
    (void)state;
    static const char *const cases[] = {"tests/torch/adamw_paper.npz", "tests/torch/adamw_bias.npz"};
    for (size_t i = 0; i < 2; i++) {
        double worst = follow_adamw(cases[i]);
        print_message("%s: off by %.2g\n", cases[i], worst);
        assert_true(worst < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_follows_pytorch),
        cmocka_unit_test(test_adamw_follows_pytorch),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
