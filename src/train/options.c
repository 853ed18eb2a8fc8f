/* Options of gradient training: descent on a teacher, question files, the classifier. */
#include "core/context.h"
#include "core/options.h"
#include "train/sgd.h"

#define SGD(name, kind, field)       STAIR_OPTION(name, kind, stair_sgd_options, field)
#define QUESTIONS(name, kind, field) STAIR_OPTION(name, kind, stair_questions_options, field)
#define TRAIN(name, kind, field)     STAIR_OPTION(name, kind, stair_train_options, field)

/* What false and true are called. */
static const char *const decays[] = {"paper", "torch", NULL}, *const scales[] = {"dim", "rank", NULL},
                         *const paddings[] = {"full", "batch", NULL};

static const stair_option sgd_options[] = {
    {SGD("dim", INT, dim), .value = "D", .text = "dimension of a token", .low = 1,
     .high = STAIR_MOST_DATA_DIM},
    {SGD("alpha", DOUBLE, alpha), .value = "X", .text = "samples per dimension, N = alpha D", .low = 0,
     .high = 1e9},
    {SGD("epochs", INT, epochs), .value = "N", .text = "passes over the data", .low = 0, .high = 1 << 30},
    {SGD("batch", INT, batch), .value = "N", .text = "samples in a batch", .low = 1, .high = 1 << 30},
    {SGD("repeat", INT, repeat), .value = "N", .text = "consecutive steps on each batch", .low = 1,
     .high = 1 << 30},
    {SGD("rate", DOUBLE, rate), .value = "X", .text = "learning rate", .low = 0, .high = 1e9},
    {SGD("weight-decay", DOUBLE, weight_decay), .value = "X", .text = "weight decay (sgd: -1 is 0.07/D)",
     .low = -1, .high = 1e9},
    {SGD("decay", EITHER, coupled), .value = "NAME",
     .text = "a step takes torch: rate*decay, paper: decay off the weights", .choices = decays},
    {SGD("start", DOUBLE, start), .value = "X", .text = "standard deviation of the first weights", .low = 0,
     .high = 1e6},
    {SGD("shuffle", FLAG, shuffle), .text = "a new order of samples in each epoch"},
    {SGD("wide", FLAG, double_data), .text = "keep the samples in double precision"},
    {SGD("seeds", INT, seeds), .value = "K", .text = "runs, with seeds N, N+1, ...", .low = 1,
     .high = 100000},
    {SGD("test-samples", INT, test), .value = "N", .text = "fresh samples for the test error", .low = 0,
     .high = 1 << 30},
    {SGD("records", INT, points), .value = "N",
     .text = "records per factor of 10 of training time (sgd), per epoch (train)", .low = 1, .high = 10000},
    {SGD("settle", DOUBLE, settle), .value = "X", .text = "similarity above which a layer counts as learned",
     .low = 0, .high = 1, .above = true, .below = true},
    {SGD("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {SGD("checkpoint", PATH, checkpoint), .value = "FILE",
     .text = "keep the state of run k in FILE.k [OUT.state]", .how = true},
    {SGD("checkpoint-every", DOUBLE, checkpoint_every), .value = "S", .text = "seconds between checkpoints",
     .low = 0, .high = 1e9, .how = true},
    {SGD("resume", FLAG, resume), .text = "go on from the checkpoint, to the same result", .how = true},
    {0},
};

static const stair_option questions_options[] = {
    {QUESTIONS("classes", TEXT, classes), .value = "NAMES", .text = "the labels there are, commas between",
     .optional = true},
    {QUESTIONS("longest", INT, longest), .value = "N",
     .text = "most ids of a question, [CLS] and [SEP] included", .low = 2, .high = STAIR_MOST_IDS},
    {0},
};

static const stair_option train_options[] = {
    {TRAIN("dim", INT, dim), .value = "D", .text = "dimension of a token", .low = 1, .high = 65536},
    {TRAIN("rank", INT, rank), .value = "P", .text = "rank of an attention layer", .low = 1, .high = 65536},
    {TRAIN("layers", INT, layers), .value = "L", .text = "attention layers", .low = 1,
     .high = STAIR_MAX_LAYERS},
    {TRAIN("scale", EITHER, scale_rank), .value = "NAME",
     .text = "scores are divided by dim: D, rank: sqrt(P)", .choices = scales},
    {TRAIN("bias", FLAG, bias), .text = "attention layers have biases"},
    {TRAIN("padding", EITHER, pad_batch), .value = "NAME",
     .text = "pad questions to full: --longest, batch: the longest of a batch", .choices = paddings},
    {TRAIN("start", DOUBLE, start), .value = "X", .text = "standard deviation of the first weights", .low = 0,
     .high = 1e6},
    {TRAIN("rate", DOUBLE, rate), .value = "X", .text = "learning rate", .low = 0, .high = 1e9},
    {TRAIN("weight-decay", DOUBLE, weight_decay), .value = "X", .text = "weight decay (sgd: -1 is 0.07/D)",
     .low = 0, .high = 1e9},
    {TRAIN("beta1", DOUBLE, beta1), .value = "X", .text = "AdamW: memory of the first moment", .low = 0,
     .high = 1, .below = true},
    {TRAIN("beta2", DOUBLE, beta2), .value = "X", .text = "AdamW: memory of the second moment", .low = 0,
     .high = 1, .below = true},
    {TRAIN("epsilon", DOUBLE, epsilon), .value = "X", .text = "AdamW: added to the root of the second moment",
     .low = 0, .high = 1, .above = true, .below = true},
    {TRAIN("batch", INT, batch), .value = "N", .text = "samples in a batch", .low = 1, .high = 1 << 20},
    {TRAIN("epochs", INT, epochs), .value = "N", .text = "passes over the data", .low = 0, .high = 1 << 20},
    {TRAIN("validation", DOUBLE, validation), .value = "X", .text = "share of the questions held out",
     .low = 0, .high = 1, .below = true},
    {TRAIN("seeds", INT, runs), .value = "K", .text = "runs, with seeds N, N+1, ...", .low = 1,
     .high = 100000},
    {TRAIN("records", INT, points), .value = "N",
     .text = "records per factor of 10 of training time (sgd), per epoch (train)", .low = 1, .high = 10000},
    {TRAIN("settle", DOUBLE, settle), .value = "X",
     .text = "similarity above which a layer counts as learned", .low = 0, .high = 1, .above = true,
     .below = true},
    {TRAIN("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {TRAIN("checkpoint", PATH, checkpoint), .value = "FILE",
     .text = "keep the state of run k in FILE.k [OUT.state]", .how = true},
    {TRAIN("checkpoint-every", DOUBLE, checkpoint_every), .value = "S", .text = "seconds between checkpoints",
     .low = 0, .high = 1e9, .how = true},
    {TRAIN("resume", FLAG, resume), .text = "go on from the checkpoint, to the same result", .how = true},
    {0},
};

stair_sgd_options stair_sgd_defaults(void)
{
    return (stair_sgd_options){.dim = 500,
                               .alpha = 15,
                               .rate = 15,
                               .weight_decay = -1,
                               .coupled = true,
                               .start = 0.9,
                               .batch = 200,
                               .repeat = 3,
                               .epochs = 1700,
                               .test = 2000,
                               .points = 8,
                               .settle = 0.5,
                               .seeds = 1,
                               .seed = 1,
                               .checkpoint_every = 30};
}

stair_questions_options stair_questions_defaults(void)
{
    return (stair_questions_options){.longest = 32, .classes = "ABBR,DESC,ENTY,HUM,LOC,NUM"};
}

stair_train_options stair_train_defaults(void)
{
    return (stair_train_options){.dim = 128,
                                 .rank = 64,
                                 .layers = 2,
                                 .start = 1e-4,
                                 .rate = 5e-5,
                                 .beta1 = 0.9,
                                 .beta2 = 0.999,
                                 .epsilon = 1e-8,
                                 .weight_decay = 0.01,
                                 .batch = 16,
                                 .epochs = 40,
                                 .validation = 0.2,
                                 .points = 10,
                                 .settle = 0.9,
                                 .runs = 1,
                                 .seed = 1,
                                 .checkpoint_every = 60};
}

static void fill_sgd(void *o)
{
    *(stair_sgd_options *)o = stair_sgd_defaults();
}

static void fill_questions(void *o)
{
    *(stair_questions_options *)o = stair_questions_defaults();
}

static void fill_train(void *o)
{
    *(stair_train_options *)o = stair_train_defaults();
}

const stair_options_table stair_sgd_table = {"sgd", "stair_sgd_options", sizeof(stair_sgd_options),
                                             sgd_options, fill_sgd};
const stair_options_table stair_questions_table = {"questions", "stair_questions_options",
                                                   sizeof(stair_questions_options), questions_options,
                                                   fill_questions};
const stair_options_table stair_train_table = {"train", "stair_train_options", sizeof(stair_train_options),
                                               train_options, fill_train};

stair_status stair_sgd_check(stair_context *context, const stair_sgd_options *o)
{
    STAIR_TRY(stair_options_check(context, &stair_sgd_table, o));
    if (stair_sgd_samples(o) > UINT32_MAX)
        return stair_fail(context, STAIR_BAD_INPUT, "alpha * dim must be below 2^32, not %.15g",
                          o->alpha * o->dim);
    if (o->resume && !o->checkpoint)
        return stair_fail(context, STAIR_BAD_INPUT, "resume needs a checkpoint file");
    return STAIR_OK;
}

stair_status stair_questions_check(stair_context *context, const stair_questions_options *o)
{
    return stair_options_check(context, &stair_questions_table, o);
}

stair_status stair_train_check(stair_context *context, const stair_train_options *o)
{
    STAIR_TRY(stair_options_check(context, &stair_train_table, o));
    if (o->rate * o->weight_decay >= 1) /* a step would turn the weights around */
        return stair_fail(context, STAIR_BAD_INPUT, "weight-decay must be below 1/rate, not %.15g",
                          o->weight_decay);
    if ((int64_t)o->epochs * o->points > STAIR_MOST_SNAPSHOTS)
        return stair_fail(context, STAIR_BAD_INPUT, "epochs * records must be at most %d, not %.15g",
                          STAIR_MOST_SNAPSHOTS, (double)o->epochs * o->points);
    if (o->resume && !o->checkpoint)
        return stair_fail(context, STAIR_BAD_INPUT, "resume needs a checkpoint file");
    return STAIR_OK;
}
